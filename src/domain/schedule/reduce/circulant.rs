//! The circulant broadcast run backwards.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::tree::circulant::Timetable;
use crate::tree::relay::Arrivals;
use crate::{
    BracketedBy, Buffer, Collective, Cost, Parameter, Partition, Rank, Room, Round, Shape, Span,
};

/// `L - 1 + b` steps with `L = ceil(log2 p)`, for every p, and as many combinations; not in rank order.
///
/// A rank receives the blocks that it would send in the broadcast, and sends those that it would receive: each one
/// once, after everything that it receives of that block has been combined.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "circulant",
    summary: "pipeline over a circulant graph, in the fewest rounds for any number of ranks",
    source: "Träff 2024, arXiv 2407.18004",
    formula: "(L-1 + b) (alpha + beta m/b + gamma m/b)",
    parameters: &[Parameter::Blocks],
    ordered: false,
    ordered_at_ends: false,
    brackets_by: &[BracketedBy::Element, BracketedBy::Root],
    cost: |ranks| {
        let fill = i64::from(log2_ceil(ranks)) - 1;
        Some(Cost::pipelined([fill, 1], [fill, 1]))
    },
    scratch,
    program: |shape, rank| {
        let timetable = Timetable::new(shape, rank);
        Box::new(Circulant {
            sent_again: timetable.sent_again(),
            timetable,
            is_root: rank == shape.root,
            partition: Partition::Even(shape.blocks),
        })
    },
    ..PLAIN
};

/// On all ranks but the root, the blocks that are being combined, then arriving ones. The broadcast sends a block
/// within `2L` rounds after its arrival.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let in_work = shape.blocks.min(2 * log2_ceil(shape.ranks));
    let partial = Room::window(Partition::Even(shape.blocks), in_work);
    let partial = (rank != shape.root).then_some(partial);
    let arrivals = Arrivals::rooms(shape.blocks, 2);
    partial.into_iter().chain(arrivals).collect()
}

struct Circulant {
    timetable: Timetable,
    sent_again: Vec<[[bool; 2]; 2]>,
    is_root: bool,
    partition: Partition,
}

impl Circulant {
    fn partial(&self) -> (Buffer, Arrivals) {
        if self.is_root {
            (Buffer::Output, Arrivals { first: 0 })
        } else {
            (Buffer::Scratch(0), Arrivals { first: 1 })
        }
    }
}

impl Program for Circulant {
    fn rounds(&self) -> u64 {
        2 * self.timetable.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        let turn = index / 2;
        let mirrored = self.timetable.rounds() - 1 - turn;
        // The broadcast's sends become receives.
        let [arriving, leaving] = self.timetable.round(mirrored);
        let (step, is_last) = self.timetable.step_of_round(mirrored);
        let combined = self.sent_again[step][usize::from(!is_last)];
        let (partial, arrivals) = self.partial();
        let held = |is_combined: bool| if is_combined { partial } else { Buffer::Input };
        let block = |buffer, number| Span::block(buffer, self.partition, number);
        let arrives = arriving.map(|(from, number)| (from, block(arrivals.buffer(turn), number)));
        if index.is_multiple_of(2) {
            if let Some((to, number)) = leaving {
                round.send(to, block(held(combined[1]), number));
            }
            if let Some((from, span)) = arrives {
                round.recv(from, span);
            }
        } else if let Some((_, span)) = arrives {
            let own = span.in_buffer(held(combined[0]));
            round.combine(own, span, span.in_buffer(partial));
        }
    }
}
