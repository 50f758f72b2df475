//! Any reduce to rank 0 followed by any broadcast from it.

use crate::program::{Program, Renamed, Sequence};
use crate::registry::{Algorithm, no_closed_form, one_block};
use crate::{Collective, Parameter, Rank, Scratch, Shape};

/// Costs the sum of its parts. The parameter `blocks` goes to the parts that are pipelined.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "reduce_broadcast",
    summary: "a reduce to rank 0, then a broadcast from it",
    source: "composition",
    parameters: &[Parameter::Reduce, Parameter::Bcast, Parameter::Blocks],
    ordered: true,
    cost: no_closed_form,
    fixed_blocks: one_block,
    scratch,
    program,
};

fn scratch(shape: &Shape) -> Vec<Scratch> {
    let shape = shape.rooted_at_zero();
    let mut scratch = (shape.parts.reduce.scratch)(&shape);
    scratch.extend((shape.parts.bcast.scratch)(&shape));
    scratch
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let shape = shape.rooted_at_zero();
    let [reduce, bcast] = [shape.parts.reduce, shape.parts.bcast];
    let scratch_before = (reduce.scratch)(&shape).len() as u8;
    // In place concerns every rank here, but only the root in the reduce.
    let reduce = Renamed {
        program: (reduce.program)(&shape, rank),
        input: shape.source(),
        scratch_before: 0,
    };
    let bcast = Renamed {
        program: (bcast.program)(&shape, rank),
        input: shape.source(),
        scratch_before,
    };
    Box::new(Sequence(Box::new(reduce), Box::new(bcast)))
}
