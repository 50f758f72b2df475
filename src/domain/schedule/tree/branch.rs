//! Trees whose subtrees are cyclic ranges of ranks. So data for or from a subtree are one message, for every root.

use crate::Rank;

/// A subtree: a cyclic range of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subtree {
    /// The root of the subtree.
    pub(crate) root: Rank,
    /// The first rank of the range.
    pub(crate) first: Rank,
    /// The number of ranks.
    pub(crate) count: u32,
}

/// One rank's place in a tree.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    /// The parent, unless this is the root.
    pub(crate) parent: Option<Rank>,
    /// The rank's own subtree.
    pub(crate) own: Subtree,
    /// Its children's, in the order in which a broadcast serves them: the deepest first.
    pub(crate) children: Vec<Subtree>,
}

/// A tree over all ranks towards any root: a rank's place, from the rank, the root and the number of ranks.
pub(crate) trait Tree: Fn(Rank, Rank, u32) -> Branch {}

impl<T: Fn(Rank, Rank, u32) -> Branch> Tree for T {}

/// Node `v` of a tree over `0..ranks` is rank `v + root`, cyclically.
#[derive(Clone, Copy)]
pub(crate) struct Rotation {
    pub(crate) root: Rank,
    pub(crate) ranks: u32,
}

impl Rotation {
    pub(crate) fn node(self, rank: Rank) -> u32 {
        match rank.checked_sub(self.root) {
            Some(node) => node,
            None => rank + (self.ranks - self.root),
        }
    }

    pub(crate) fn rank(self, node: u32) -> Rank {
        // Avoids a sum that might overflow.
        let before_the_turn = self.ranks - self.root;
        match node.checked_sub(before_the_turn) {
            Some(rank) => rank,
            None => node + self.root,
        }
    }

    /// The subtree of a node, which covers `count` nodes from itself on.
    fn subtree(self, node: u32, count: u32) -> Subtree {
        let root = self.rank(node);
        Subtree {
            root,
            first: root,
            count,
        }
    }
}

/// The binomial tree.
pub(crate) fn binomial(rank: Rank, root: Rank, ranks: u32) -> Branch {
    knomial(2)(rank, root, ranks)
}

/// The tree in which the parent of a node is the node without its lowest non-zero digit in base `radix`. The subtree
/// of a node with `t` trailing zeros covers the nodes up to `radix^t` further.
pub(crate) fn knomial(radix: u32) -> impl Tree {
    move |rank, root, ranks| knomial_place(radix, rank, root, ranks)
}

fn knomial_place(radix: u32, rank: Rank, root: Rank, ranks: u32) -> Branch {
    let rotation = Rotation { root, ranks };
    let node = rotation.node(rank);
    let end = u64::from(ranks);
    // Called for up to a million ranks: few divisions, and none of 64 bits.
    let (mut place, mut zeros, mut digits) = (1_u64, 0_u32, node);
    while place < end && digits.is_multiple_of(radix) {
        place *= u64::from(radix);
        zeros += 1;
        digits /= radix;
    }
    let parent = (node > 0).then(|| {
        let digit = u64::from(digits % radix);
        rotation.rank((u64::from(node) - digit * place) as u32)
    });
    let reach = |from: u64, most: u64| (most.min(end - from)) as u32;
    let own = rotation.subtree(node, reach(node.into(), place));
    let mut children = Vec::with_capacity((zeros * (radix - 1)) as usize);
    for exponent in (0..zeros).rev() {
        let power = u64::from(radix).pow(exponent);
        let heads = (1..u64::from(radix)).map(|digit| u64::from(node) + digit * power);
        let heads = heads.take_while(|head| *head < end);
        children.extend(heads.map(|head| rotation.subtree(head as u32, reach(head, power))));
    }
    Branch {
        parent,
        own,
        children,
    }
}

/// The complete binary tree, heap-shaped, numbered in pre-order from the root.
pub(crate) fn binary(rank: Rank, root: Rank, ranks: u32) -> Branch {
    let rotation = Rotation { root, ranks };
    let target = rotation.node(rank);
    let (mut node, mut count, mut parent) = (0, ranks, None);
    loop {
        let left = left_size(count);
        let right = count - 1 - left;
        if node == target {
            let children = [(node + 1, left), (node + 1 + left, right)];
            let children = children.into_iter().filter(|(_, size)| *size > 0);
            return Branch {
                parent,
                own: rotation.subtree(node, count),
                children: children
                    .map(|(head, size)| rotation.subtree(head, size))
                    .collect(),
            };
        }
        parent = Some(rotation.rank(node));
        (node, count) = if target <= node + left {
            (node + 1, left)
        } else {
            (node + 1 + left, right)
        };
    }
}

/// Size of the left subtree of a complete binary tree of `count` nodes: all levels but the last are
/// full, and the last is filled from the left.
fn left_size(count: u32) -> u32 {
    if count <= 1 {
        return 0;
    }
    let full = 1 << count.ilog2();
    // Half of the nodes above the last level except the root, and the left share of the last level.
    (full / 2 - 1) + (count - (full - 1)).min(full / 2)
}

/// The chain of ranks, cyclically from the root.
pub(crate) fn chain(rank: Rank, root: Rank, ranks: u32) -> Branch {
    let rotation = Rotation { root, ranks };
    let node = rotation.node(rank);
    let next = node + 1;
    Branch {
        parent: node.checked_sub(1).map(|node| rotation.rank(node)),
        own: rotation.subtree(node, ranks - node),
        children: (next < ranks)
            .then(|| rotation.subtree(next, ranks - next))
            .into_iter()
            .collect(),
    }
}
