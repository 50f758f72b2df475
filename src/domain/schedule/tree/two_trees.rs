//! Two binary trees over the same positions: an inner position of one is a leaf of the other.
//!
//! Every position has an edge from above in each tree and edges to its children in the tree in which
//! it is inner. In even rounds messages pass along the edges of one colour, in odd rounds along
//! those of the other, so that no rank sends or receives two at once: a position's two edges from
//! above differ in colour, and so do its two edges downwards (Sanders, Speck, Träff 2009).
//!
//! The first tree is the in-order tree of positions `1..=n`, in which even numbers are inner. For
//! even `n` the second is its mirror image. For odd `n` the mirror image has the same inner
//! positions; then
//! - if `n = 4k + 1`, the second is the mirror image of the first `n - 1` positions, with the last position inserted
//!   between the position before it and its parent;
//! - if `n = 4k + 3`, the second is the in-order tree of `n + 2` numbers without its two ends.
//!
//! Subtrees are ranges of positions in both trees. An edge's colour is the parity of the round in which the first
//! message passes it, the *arrival*. On the way down between inner positions, the colour changes with every step to
//! one side and stays the same with every step to the other; `n mod 4` determines which side. A leaf's edge has the
//! other colour than its edge in the other tree.

/// The in-order tree of the numbers `1..=size`: a number with `h` trailing zero bits has height `h`, and its children
/// are `2^(h-1)` away; if the right one does not exist, the next existing one takes its place.
#[derive(Clone, Copy, Debug)]
struct InOrder {
    size: u32,
}

impl InOrder {
    fn edges(self, number: u32) -> Edges {
        Edges {
            parent: self.parent(number),
            children: self.children(number),
        }
    }

    fn parent(self, number: u32) -> Option<u32> {
        let height = number.trailing_zeros();
        if number == 1 << self.size.ilog2() {
            None
        } else if number >> (height + 1) & 1 == 1 || number + (1 << height) > self.size {
            Some(number - (1 << height))
        } else {
            Some(number + (1 << height))
        }
    }

    fn children(self, number: u32) -> [Option<u32>; 2] {
        let mut steps = (0..number.trailing_zeros()).rev().map(|level| 1 << level);
        let left = steps.clone().next().map(|step| number - step);
        let right = steps.find(|step| number + step <= self.size);
        [left, right.map(|step| number + step)]
    }

    /// The arrival at an inner number if that at the root is `first`: a step to the side on which
    /// the colour changes takes a round, one to the other side two.
    fn arrival(self, number: u32, first: u32, changes_to_the_right: bool) -> u32 {
        let (mut number, mut arrival) = (number, first);
        while let Some(parent) = self.parent(number) {
            let right = number > parent;
            arrival += if right == changes_to_the_right { 1 } else { 2 };
            number = parent;
        }
        arrival
    }
}

/// The construction of the second tree from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    Mirror,
    MirrorAndLast,
    Shifted,
}

/// Two trees over positions `1..=size`, below a common root outside of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TwoTrees {
    size: u32,
}

/// A position's edges in one of two trees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edges {
    /// The position above; none at the root of the tree.
    pub(crate) parent: Option<u32>,
    /// The positions below; none of a leaf.
    pub(crate) children: [Option<u32>; 2],
}

impl Edges {
    fn renamed(self, name: impl Fn(u32) -> u32) -> Self {
        Self {
            parent: self.parent.map(&name),
            children: self.children.map(|child| child.map(&name)),
        }
    }
}

impl TwoTrees {
    /// The trees over `size` positions, at least 1.
    pub(crate) fn new(size: u32) -> Self {
        Self { size }
    }

    fn second_construction(self) -> Second {
        match self.size % 4 {
            1 => Second::MirrorAndLast,
            3 => Second::Shifted,
            _ => Second::Mirror,
        }
    }

    /// The position at the root of the first or of the second tree.
    pub(crate) fn root_position(self, second: bool) -> u32 {
        let root = |size: u32| 1 << size.ilog2();
        match (second, self.second_construction()) {
            (false, _) => root(self.size),
            (true, Second::Mirror) => self.size + 1 - root(self.size),
            (true, Second::MirrorAndLast) => match self.size {
                1 => 1,
                size => size - root(size - 1),
            },
            (true, Second::Shifted) => root(self.size + 2) - 1,
        }
    }

    /// A position's edges in the first or in the second tree.
    pub(crate) fn edges_at(self, second: bool, position: u32) -> Edges {
        if !second {
            InOrder { size: self.size }.edges(position)
        } else {
            self.second_edges(position)
        }
    }

    fn second_edges(self, position: u32) -> Edges {
        let whole = self.size;
        let mirrored = |size: u32, place: u32| {
            let mirror = |number: u32| size + 1 - number;
            InOrder { size }.edges(mirror(place)).renamed(mirror)
        };
        let (last, before) = (whole, whole.saturating_sub(1));
        match self.second_construction() {
            Second::Mirror => mirrored(whole, position),
            Second::MirrorAndLast if whole == 1 => Edges {
                parent: None,
                children: [None, None],
            },
            Second::MirrorAndLast if position == last => Edges {
                children: [Some(before), None],
                ..mirrored(before, before)
            },
            Second::MirrorAndLast if position == before => Edges {
                parent: Some(last),
                children: [None, None],
            },
            Second::MirrorAndLast => {
                let edges = mirrored(before, position);
                let below = |child: u32| if child == before { last } else { child };
                Edges {
                    children: edges.children.map(|child| child.map(below)),
                    ..edges
                }
            }
            Second::Shifted => {
                let edges = InOrder { size: whole + 2 }.edges(position + 1);
                let inside = |child: &u32| (2..=whole + 1).contains(child);
                Edges {
                    children: edges.children.map(|child| child.filter(inside)),
                    ..edges
                }
                .renamed(|number| number - 1)
            }
        }
    }

    /// The round in which the first message of the root reaches a position in the first or in the second tree.
    pub(crate) fn arrival(self, second: bool, position: u32) -> u32 {
        let is_inner = position.is_multiple_of(2) != second;
        if is_inner && !(second && position == self.size && position % 4 == 1) {
            return self.inner_arrival(second, position);
        }
        // A leaf, or the inserted position, which has the colour of the leaf below it.
        let Some(parent) = self.edges_at(second, position).parent else {
            return u32::from(second);
        };
        let other = if is_inner {
            self.inner_arrival(false, position - 1)
        } else {
            self.arrival(!second, position)
        };
        let above = self.arrival(second, parent);
        above + if above % 2 == other % 2 { 1 } else { 2 }
    }

    fn inner_arrival(self, second: bool, position: u32) -> u32 {
        let size = self.size;
        match (self.second_construction(), second) {
            (Second::Shifted, false) => InOrder { size }.arrival(position, 0, true),
            (Second::Shifted, true) => InOrder { size: size + 2 }.arrival(position + 1, 1, false),
            (kind, _) => {
                let mirrored = size - u32::from(kind == Second::MirrorAndLast);
                let tree = InOrder { size: mirrored };
                let changes_to_the_right = !mirrored.is_multiple_of(4);
                if !second {
                    tree.arrival(position, 0, changes_to_the_right)
                } else {
                    tree.arrival(mirrored + 1 - position, 1, changes_to_the_right)
                }
            }
        }
    }
}
