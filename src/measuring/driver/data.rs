//! Input data and expected results.
//!
//! Contributions to commutative operators are small whole numbers, so sums are exact in every datatype, and every
//! order of combining gives the same bits. Contributions to the operator that does not commute are functions; the
//! compositions of those of two ranks differ in the two orders.

use exec::{Bytes, Call};
use schedule::Collective;
use vocabulary::{Datatype, Operator};

/// The period of contributions. The combination of all ranks is computed for one period.
const PERIOD: u64 = 101;

/// A rank's contribution to element `index`: a number, or the bits of a function.
fn contributed_element(call: &Call, rank: u32, index: u64) -> u64 {
    match call.operator {
        Some(Operator::Noncommutative) => function_bits(call, rank, index % PERIOD),
        _ => (u64::from(rank) * 31 + index * 7) % PERIOD,
    }
}

/// The function `a x + b`: `a` is the lower half of an element and depends on the rank, `b` is the upper half.
/// Functions with different odd `a` and the same odd `b` do not commute.
fn function_bits(call: &Call, rank: u32, index: u64) -> u64 {
    let half_bits = 4 * call.datatype.size_bytes();
    (2 * u64::from(rank) + 3) | ((2 * index + 1) << half_bits)
}

/// A rank's input buffer; empty if it contributes nothing, and in a broadcast.
pub(crate) fn input_buffer(call: &Call, rank: u32, ranks: u32) -> Bytes {
    fill_buffer(call, call.input_bytes(rank, ranks), |index| {
        contributed_element(call, rank, index)
    })
}

/// A rank's expected output, if it has one. Slow; computed once per cell.
pub(crate) fn expected_output(call: &Call, rank: u32, ranks: u32) -> Option<Bytes> {
    let is_root = rank == call.root;
    if call.collective.has_result_only_at_root() && !is_root {
        return None;
    }
    let bytes = call.output_bytes(rank, ranks);
    let elements = call.bytes / call.datatype.size_bytes();
    Some(match call.collective {
        Collective::Barrier => return None,
        Collective::Exscan if rank == 0 => return None,
        Collective::Bcast => fill_buffer(call, bytes, |index| {
            contributed_element(call, call.root, index)
        }),
        Collective::Scatter => fill_buffer(call, bytes, |index| {
            contributed_element(call, call.root, u64::from(rank) * elements + index)
        }),
        Collective::Gather | Collective::Allgather => fill_buffer(call, bytes, |index| {
            // An empty vector has no elements, so this does not divide by zero.
            contributed_element(call, (index / elements) as u32, index % elements)
        }),
        Collective::Gatherv | Collective::Allgatherv => {
            let parts = (0..ranks).flat_map(|owner| {
                let part = 0..call.part_elements(owner, ranks);
                part.map(move |index| contributed_element(call, owner, index))
            });
            fill_in_order(call, bytes, parts)
        }
        Collective::Scatterv => {
            let first: u64 = (0..rank)
                .map(|other| call.part_elements(other, ranks))
                .sum();
            fill_buffer(call, bytes, |index| {
                contributed_element(call, call.root, first + index)
            })
        }
        // The blocks that all ranks send to this one.
        Collective::Alltoallv | Collective::Alltoallw => {
            let blocks = (0..ranks).flat_map(|sender| {
                let length = |to| call.block_elements(ranks, sender, to, true);
                // In the sender's input the blocks for the ranks before this one come first.
                let first: u64 = (0..rank).map(length).sum();
                let block = 0..length(rank);
                block.map(move |index| contributed_element(call, sender, first + index))
            });
            fill_in_order(call, bytes, blocks)
        }
        Collective::Alltoall => fill_buffer(call, bytes, |index| {
            let block = u64::from(rank) * elements;
            contributed_element(call, (index / elements) as u32, block + index % elements)
        }),
        Collective::Scan => {
            let combined = combine_contributions(call, rank + 1);
            fill_buffer(call, bytes, |index| combined[(index % PERIOD) as usize])
        }
        Collective::Exscan => {
            let combined = combine_contributions(call, rank);
            fill_buffer(call, bytes, |index| combined[(index % PERIOD) as usize])
        }
        Collective::Reduce
        | Collective::Allreduce
        | Collective::ReduceScatter
        | Collective::ReduceScatterBlock => {
            let combined = combine_contributions(call, ranks);
            // The start of the rank's part: the sum of the outputs before it.
            let before: u64 = match call.collective {
                Collective::Reduce | Collective::Allreduce => 0,
                _ => (0..rank).map(|other| call.output_bytes(other, ranks)).sum(),
            };
            let first = before / call.datatype.size_bytes();
            fill_buffer(call, bytes, |index| {
                combined[((first + index) % PERIOD) as usize]
            })
        }
    })
}

/// The combination of the first [`PERIOD`] elements of the first `ranks` ranks.
fn combine_contributions(call: &Call, ranks: u32) -> Vec<u64> {
    let of_all = |index| (0..ranks).map(move |rank| contributed_element(call, rank, index));
    (0..PERIOD)
        .map(|index| match call.operator {
            Some(Operator::Max) => of_all(index).max().unwrap_or(0),
            Some(Operator::Sum) | None => of_all(index).sum(),
            Some(Operator::Noncommutative) => compose_functions(call, of_all(index)),
        })
        .collect()
}

/// The composition of functions, the last one applied first.
fn compose_functions(call: &Call, functions: impl Iterator<Item = u64>) -> u64 {
    let half_bits = 4 * call.datatype.size_bytes();
    let mask = (1 << half_bits) - 1;
    let halves = functions.map(|function| (function & mask, function >> half_bits));
    let (factor, added) = halves.fold((1, 0), |(a, b): (u64, u64), (c, d)| {
        let added = a.wrapping_mul(d).wrapping_add(b);
        (a.wrapping_mul(c) & mask, added & mask)
    });
    factor | (added << half_bits)
}

/// The first element in which two results differ.
pub(crate) fn first_difference(call: &Call, found: &[u8], expected: &[u8]) -> Option<usize> {
    let size = call.datatype.size_bytes() as usize;
    found
        .chunks(size)
        .zip(expected.chunks(size))
        .position(|(found, expected)| found != expected)
}

/// A buffer with these elements.
fn fill_in_order(call: &Call, bytes: u64, mut elements: impl Iterator<Item = u64>) -> Bytes {
    fill_buffer(call, bytes, |_| elements.next().unwrap_or_default())
}

/// A buffer with the value of each element, which are asked for in their order.
fn fill_buffer(call: &Call, bytes: u64, mut value: impl FnMut(u64) -> u64) -> Bytes {
    let size = call.datatype.size_bytes() as usize;
    let mut bytes = Bytes::zeroed(bytes as usize);
    for (index, element) in (0..).zip(bytes.as_mut_slice().chunks_exact_mut(size)) {
        let value = value(index);
        let are_bits = call.operator == Some(Operator::Noncommutative);
        match call.datatype {
            Datatype::Byte | Datatype::Int8 => element.copy_from_slice(&[value as u8]),
            Datatype::Float32 if !are_bits => {
                element.copy_from_slice(&(value as f32).to_ne_bytes());
            }
            Datatype::Float64 if !are_bits => {
                element.copy_from_slice(&(value as f64).to_ne_bytes());
            }
            Datatype::Int32 | Datatype::Float32 => {
                element.copy_from_slice(&(value as u32).to_ne_bytes());
            }
            Datatype::Int64 | Datatype::Float64 => element.copy_from_slice(&value.to_ne_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
#[path = "tests/unit/data.rs"]
mod tests;
