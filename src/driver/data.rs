//! What is sent and what must arrive.
//!
//! Contributions are small whole numbers, so that sums are exact in every datatype and every
//! order of combining gives the same bits.

use exec::{Bytes, Call};
use wire::{Datatype, Operator};

/// Rank's contribution to element `index`.
fn contribution(rank: u32, index: u64) -> u32 {
    ((u64::from(rank) * 31 + index * 7) % 101) as u32
}

/// The buffer that a rank contributes; the root's vector in a broadcast.
pub(crate) fn input(call: &Call, rank: u32) -> Bytes {
    fill(call, |index| contribution(rank, index))
}

/// The result that every rank with a result must have.
pub(crate) fn expected(call: &Call, ranks: u32) -> Bytes {
    fill(call, |index| match call.operator {
        None => contribution(call.root, index),
        Some(Operator::Sum) => (0..ranks).map(|rank| contribution(rank, index)).sum(),
        Some(Operator::Max) => (0..ranks)
            .map(|rank| contribution(rank, index))
            .max()
            .unwrap_or(0),
    })
}

/// Whether a rank has a result.
pub(crate) fn has_result(call: &Call, rank: u32) -> bool {
    !call.collective.has_result_only_at_root() || rank == call.root
}

/// The first element in which two results differ.
pub(crate) fn first_difference(call: &Call, found: &[u8], expected: &[u8]) -> Option<usize> {
    let size = call.datatype.size_bytes() as usize;
    found
        .chunks(size)
        .zip(expected.chunks(size))
        .position(|(found, expected)| found != expected)
}

fn fill(call: &Call, value: impl Fn(u64) -> u32) -> Bytes {
    let size = call.datatype.size_bytes() as usize;
    let mut bytes = Bytes::zeroed(call.bytes as usize);
    for (index, element) in (0..).zip(bytes.as_mut_slice().chunks_exact_mut(size)) {
        let value = value(index);
        match call.datatype {
            Datatype::Byte => element.copy_from_slice(&[value as u8]),
            Datatype::Int32 => element.copy_from_slice(&value.to_ne_bytes()),
            Datatype::Int64 => element.copy_from_slice(&i64::from(value).to_ne_bytes()),
            Datatype::Float32 => element.copy_from_slice(&(value as f32).to_ne_bytes()),
            Datatype::Float64 => element.copy_from_slice(&f64::from(value).to_ne_bytes()),
        }
    }
    bytes
}
