//! A half of the vector down each of the two subtrees of a binary tree, then pairs exchange halves.

use crate::program::{Program, Sequence};
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::Rotation;
use crate::tree::relay::{Node, Spreading};
use crate::{Buffer, Collective, Parameter, Partition, Rank, Round, Shape, Span};

/// About `(2 log2 p + 2b) (alpha + beta m/(2b)) + alpha + beta m/2`: one and a half times the vector, where
/// `binary_pipelined` moves it twice.
///
/// Numbered from the root, odd ranks are below its first child and even ones below its second: ranks `2i - 1` and `2i`
/// are at the same place of the two subtrees, and exchange halves in the end. A last rank without such a partner gets
/// the other half from the root. `b` is the number of blocks of each half.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "split_binary",
    summary: "pipeline of a half of the vector down each half of a binary tree, then pairs of ranks exchange halves",
    source: "Open MPI's split binary tree",
    formula: "about (2 log2 p + 2b) (alpha + beta m/(2b)) + alpha + beta m/2",
    parameters: &[Parameter::Blocks],
    pieces: |_| 2,
    program,
    ..PLAIN
};

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape {
        ranks,
        root,
        blocks,
        ..
    } = *shape;
    let blocks = u64::from(blocks);
    let partition = Partition::Even(2 * shape.blocks);
    let halves = [0, blocks].map(|first| Span::blocks(Buffer::Output, partition, first, blocks));
    let rotation = Rotation { root, ranks };
    let number = rotation.node(rank);
    let at = |place: u32| rotation.rank(place);
    if number == 0 {
        return Box::new(Root {
            halves,
            children: [Some(at(1)), (ranks > 2).then(|| at(2))],
            last: ranks.is_multiple_of(2).then(|| at(ranks - 1)),
        });
    }
    let [own, other] = match number % 2 {
        1 => halves,
        _ => [halves[1], halves[0]],
    };
    let exchange = match number % 2 {
        1 if number + 1 == ranks => Exchange {
            sends: None,
            receives: (root, other),
        },
        parity => {
            let pair = at(number + 2 * parity - 1);
            Exchange {
                sends: Some((pair, own)),
                receives: (pair, other),
            }
        }
    };
    let node = node(number, ranks, at);
    let spreading = Spreading { node, passing: own };
    Box::new(Sequence(Box::new(spreading), Box::new(exchange)))
}

/// The neighbours of a number other than 0 in a binary tree that is numbered level by level from the root: the children
/// of a number on a level of `n` numbers are `n` and `2n` further.
fn node(number: u32, ranks: u32, at: impl Fn(u32) -> Rank) -> Node {
    // The level has the numbers from width - 1 on.
    let width = 1 << (number + 1).ilog2();
    let above = number - width / 2;
    let parent = if above + 1 < width {
        above
    } else {
        number - width
    };
    let mut children = [width, 2 * width]
        .into_iter()
        .filter_map(|distance| number.checked_add(distance).filter(|child| *child < ranks))
        .map(&at);
    Node {
        parent: Some(at(parent)),
        children: [children.next(), children.next(), None],
    }
}

/// The root sends a block of each half at once.
struct Root {
    halves: [Span; 2],
    children: [Option<Rank>; 2],
    /// The rank without a partner.
    last: Option<Rank>,
}

impl Program for Root {
    fn rounds(&self) -> u64 {
        self.halves[0].blocks.count + u64::from(self.last.is_some())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let [left, right] = self.halves;
        match self.last {
            Some(last) if index == left.blocks.count => round.send(last, right),
            _ => {
                for (child, half) in self.children.into_iter().zip(self.halves) {
                    if let Some(child) = child {
                        round.send(child, half.nth_block(index));
                    }
                }
            }
        }
    }
}

/// A rank gets the half that it lacks.
struct Exchange {
    sends: Option<(Rank, Span)>,
    receives: (Rank, Span),
}

impl Program for Exchange {
    fn rounds(&self) -> u64 {
        1
    }

    fn round(&self, _: u64, round: &mut Round) {
        if let Some((to, span)) = self.sends {
            round.send(to, span);
        }
        let (from, span) = self.receives;
        round.recv(from, span);
    }
}
