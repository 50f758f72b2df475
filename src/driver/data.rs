//! What is sent and what must arrive.
//!
//! Contributions to operators that commute are small whole numbers, so that sums are exact in every datatype
//! and every order of combining gives the same bits. Contributions to the one that does not are functions
//! of which no two of different ranks give the same in either order.

use exec::{Bytes, Call};
use schedule::Collective;
use vocabulary::{Datatype, Operator};

/// Contributions repeat after as many elements: what all ranks give is known from the first ones.
const PERIOD: u64 = 101;

/// Rank's contribution to element `index`: a number, or the bits of a function.
fn contribution(call: &Call, rank: u32, index: u64) -> u64 {
    match call.operator {
        Some(Operator::Noncommutative) => function(call, rank, index % PERIOD),
        _ => (u64::from(rank) * 31 + index * 7) % PERIOD,
    }
}

/// `a x + b` with a factor of the rank's own, `b` in the upper half of an element. Functions with other odd
/// factors and the same odd `b` do not commute.
fn function(call: &Call, rank: u32, index: u64) -> u64 {
    let half_bits = 4 * call.datatype.size_bytes();
    (2 * u64::from(rank) + 3) | ((2 * index + 1) << half_bits)
}

/// The buffer that a rank contributes; empty where it has none, and in a broadcast.
pub(crate) fn input(call: &Call, rank: u32, ranks: u32) -> Bytes {
    fill(call, call.input_bytes(rank, ranks), |index| {
        contribution(call, rank, index)
    })
}

/// The result that a rank must have, if it has one. Takes time: once a cell is enough.
pub(crate) fn expected(call: &Call, rank: u32, ranks: u32) -> Option<Bytes> {
    let is_root = rank == call.root;
    if call.collective.has_result_only_at_root() && !is_root {
        return None;
    }
    let bytes = call.output_bytes(rank, ranks);
    let elements = call.bytes / call.datatype.size_bytes();
    Some(match call.collective {
        Collective::Barrier => return None,
        Collective::Bcast => fill(call, bytes, |index| contribution(call, call.root, index)),
        Collective::Scatter => fill(call, bytes, |index| {
            contribution(call, call.root, u64::from(rank) * elements + index)
        }),
        Collective::Gather | Collective::Allgather => fill(call, bytes, |index| {
            // An empty vector has no element to ask for.
            contribution(call, (index / elements) as u32, index % elements)
        }),
        // Every rank's block for this one.
        Collective::Alltoall => fill(call, bytes, |index| {
            let block = u64::from(rank) * elements;
            contribution(call, (index / elements) as u32, block + index % elements)
        }),
        Collective::Scan => {
            let combined = combined(call, rank + 1);
            fill(call, bytes, |index| combined[(index % PERIOD) as usize])
        }
        Collective::Reduce
        | Collective::Allreduce
        | Collective::ReduceScatter
        | Collective::ReduceScatterBlock => {
            let combined = combined(call, ranks);
            // Where the rank's part begins: the parts before it are as long as their results.
            let before: u64 = match call.collective {
                Collective::Reduce | Collective::Allreduce => 0,
                _ => (0..rank).map(|other| call.output_bytes(other, ranks)).sum(),
            };
            let first = before / call.datatype.size_bytes();
            fill(call, bytes, |index| {
                combined[((first + index) % PERIOD) as usize]
            })
        }
    })
}

/// The combination of the first elements of the first `ranks` ranks.
fn combined(call: &Call, ranks: u32) -> Vec<u64> {
    let of_all = |index| (0..ranks).map(move |rank| contribution(call, rank, index));
    (0..PERIOD)
        .map(|index| match call.operator {
            Some(Operator::Max) => of_all(index).max().unwrap_or(0),
            Some(Operator::Sum) | None => of_all(index).sum(),
            Some(Operator::Noncommutative) => composed(call, of_all(index)),
        })
        .collect()
}

/// What functions are one after the other, the last one first.
fn composed(call: &Call, functions: impl Iterator<Item = u64>) -> u64 {
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

fn fill(call: &Call, bytes: u64, value: impl Fn(u64) -> u64) -> Bytes {
    let size = call.datatype.size_bytes() as usize;
    let mut bytes = Bytes::zeroed(bytes as usize);
    for (index, element) in (0..).zip(bytes.as_mut_slice().chunks_exact_mut(size)) {
        let value = value(index);
        let are_bits = call.operator == Some(Operator::Noncommutative);
        match call.datatype {
            Datatype::Byte => element.copy_from_slice(&[value as u8]),
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
