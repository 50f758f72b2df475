//! What is sent and what must arrive.
//!
//! Contributions are small whole numbers, so that sums are exact in every datatype and every
//! order of combining gives the same bits.

use exec::{Bytes, Call};
use wire::{Datatype, Operator};

/// Contributions repeat after as many elements: what all ranks give is known from the first ones.
const PERIOD: u64 = 101;

/// Rank's contribution to element `index`.
fn contribution(rank: u32, index: u64) -> u32 {
    ((u64::from(rank) * 31 + index * 7) % PERIOD) as u32
}

/// The buffer that a rank contributes; the root's vector in a broadcast.
pub(crate) fn input(call: &Call, rank: u32) -> Bytes {
    fill(call, |index| contribution(rank, index))
}

/// The result that every rank with a result must have. Takes time: once a cell is enough.
pub(crate) fn expected(call: &Call, ranks: u32) -> Bytes {
    let first: Vec<u32> = (0..PERIOD)
        .map(|index| match call.operator {
            None => contribution(call.root, index),
            Some(Operator::Sum) => (0..ranks).map(|rank| contribution(rank, index)).sum(),
            Some(Operator::Max) => (0..ranks)
                .map(|rank| contribution(rank, index))
                .max()
                .unwrap_or(0),
        })
        .collect();
    fill(call, |index| first[(index % PERIOD) as usize])
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

#[cfg(test)]
mod tests {
    use super::{expected, input};
    use exec::Call;
    use schedule::Collective;
    use wire::{Datatype, Operator};

    /// Compares with combining the ranks' inputs one by one; more elements than one period.
    fn check(collective: Collective, operator: Option<Operator>, ranks: u32, root: u32) {
        let call = Call {
            collective,
            bytes: 4 * 250,
            datatype: Datatype::Int32,
            operator,
            root,
        };
        let inputs: Vec<Vec<i32>> = (0..ranks)
            .map(|rank| elements(input(&call, rank).as_slice()))
            .collect();
        let combined: Vec<i32> = (0..250)
            .map(|index| match operator {
                None => inputs[root as usize][index],
                Some(Operator::Sum) => inputs.iter().map(|input| input[index]).sum(),
                Some(Operator::Max) => inputs.iter().map(|input| input[index]).max().unwrap_or(0),
            })
            .collect();
        assert_eq!(elements(expected(&call, ranks).as_slice()), combined);
    }

    fn elements(bytes: &[u8]) -> Vec<i32> {
        bytes
            .chunks_exact(4)
            .map(|element| i32::from_ne_bytes([element[0], element[1], element[2], element[3]]))
            .collect()
    }

    #[test]
    fn the_expected_result_is_what_the_inputs_give() {
        for ranks in [1, 2, 7, 130] {
            check(Collective::Allreduce, Some(Operator::Sum), ranks, 0);
            check(Collective::Reduce, Some(Operator::Max), ranks, 0);
            check(Collective::Bcast, None, ranks, ranks - 1);
        }
    }
}
