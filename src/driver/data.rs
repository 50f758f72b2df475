//! What is sent and what must arrive.
//!
//! Contributions are small whole numbers, so that sums are exact in every datatype and every
//! order of combining gives the same bits.

use exec::{Bytes, Call};
use schedule::Collective;
use vocabulary::{Datatype, Operator};

/// Contributions repeat after as many elements: what all ranks give is known from the first ones.
const PERIOD: u64 = 101;

/// Rank's contribution to element `index`.
fn contribution(rank: u32, index: u64) -> u32 {
    ((u64::from(rank) * 31 + index * 7) % PERIOD) as u32
}

/// The buffer that a rank contributes; empty where it has none, and in a broadcast.
pub(crate) fn input(call: &Call, rank: u32, ranks: u32) -> Bytes {
    fill(call, call.input_bytes(rank, ranks), |index| {
        contribution(rank, index)
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
        Collective::Bcast => fill(call, bytes, |index| contribution(call.root, index)),
        Collective::Scatter => fill(call, bytes, |index| {
            contribution(call.root, u64::from(rank) * elements + index)
        }),
        Collective::Gather | Collective::Allgather => fill(call, bytes, |index| {
            // An empty vector has no element to ask for.
            contribution((index / elements) as u32, index % elements)
        }),
        // Every rank's block for this one.
        Collective::Alltoall => fill(call, bytes, |index| {
            let block = u64::from(rank) * elements;
            contribution((index / elements) as u32, block + index % elements)
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
fn combined(call: &Call, ranks: u32) -> Vec<u32> {
    let of_all = |index| (0..ranks).map(move |rank| contribution(rank, index));
    (0..PERIOD)
        .map(|index| match call.operator {
            Some(Operator::Max) => of_all(index).max().unwrap_or(0),
            Some(Operator::Sum) | None => of_all(index).sum(),
        })
        .collect()
}

/// The first element in which two results differ.
pub(crate) fn first_difference(call: &Call, found: &[u8], expected: &[u8]) -> Option<usize> {
    let size = call.datatype.size_bytes() as usize;
    found
        .chunks(size)
        .zip(expected.chunks(size))
        .position(|(found, expected)| found != expected)
}

fn fill(call: &Call, bytes: u64, value: impl Fn(u64) -> u32) -> Bytes {
    let size = call.datatype.size_bytes() as usize;
    let mut bytes = Bytes::zeroed(bytes as usize);
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
    use super::{contribution, expected, input};
    use exec::{Bytes, Call};
    use schedule::Collective;
    use vocabulary::{Datatype, Operator};

    const SIZE: usize = 4;

    /// All ranks' results by the words of the standard, from all ranks' inputs, one by one.
    fn results(call: &Call, ranks: u32, inputs: &[Vec<i32>]) -> Vec<Vec<i32>> {
        let root = call.root as usize;
        let ranks = ranks as usize;
        let length = call.bytes as usize / SIZE;
        let combined: Vec<i32> = (0..inputs.iter().map(Vec::len).max().unwrap_or(0))
            .map(|index| {
                let column = inputs.iter().filter_map(|input| input.get(index).copied());
                match call.operator {
                    Some(Operator::Max) => column.max().unwrap_or(0),
                    _ => column.sum(),
                }
            })
            .collect();
        let everything = || inputs.concat();
        let column = |rank: usize, index: usize| {
            let column = inputs[..=rank].iter().map(|input| input[index]);
            match call.operator {
                Some(Operator::Max) => column.max().unwrap_or(0),
                _ => column.sum(),
            }
        };
        let at_root = |rank, result: Vec<i32>| if rank == root { result } else { Vec::new() };
        let mut rest = &combined[..];
        (0..ranks)
            .map(|rank| match call.collective {
                Collective::Bcast => (0..length as u64)
                    .map(|index| contribution(call.root, index) as i32)
                    .collect(),
                Collective::Reduce => at_root(rank, combined.clone()),
                Collective::Allreduce => combined.clone(),
                Collective::Gather => at_root(rank, everything()),
                Collective::Allgather => everything(),
                Collective::Scatter => inputs[root][rank * length..][..length].to_vec(),
                // "The jth block sent from process i is received by process j and is placed in the
                // ith block of recvbuf" (MPI 4.0, 6.8).
                Collective::Alltoall => inputs
                    .iter()
                    .flat_map(|input| input[rank * length..][..length].to_vec())
                    .collect(),
                Collective::Barrier => Vec::new(),
                // "In the receive buffer of the process with rank i, the reduction of the values in
                // the send buffers of processes with ranks 0, ..., i (inclusive)" (MPI 4.0, 6.11).
                Collective::Scan => (0..length).map(|index| column(rank, index)).collect(),
                Collective::ReduceScatterBlock => combined[rank * length..][..length].to_vec(),
                Collective::ReduceScatter => {
                    let (part, after) = rest.split_at(rest.len().div_ceil(ranks - rank));
                    rest = after;
                    part.to_vec()
                }
            })
            .collect()
    }

    /// More elements than one period, not a multiple of the ranks.
    fn check(collective: Collective, operator: Operator, ranks: u32, root: u32) {
        let elements_of_call = if collective.has_data() { 250 } else { 0 };
        let call = Call {
            collective,
            bytes: elements_of_call * SIZE as u64,
            datatype: Datatype::Int32,
            operator: collective.is_reduction().then_some(operator),
            root,
            in_place: false,
        };
        let inputs: Vec<Vec<i32>> = (0..ranks)
            .map(|rank| {
                let input = match collective {
                    // What the root sends is what everybody gets.
                    Collective::Bcast => expected(&call, rank, ranks),
                    _ => Some(input(&call, rank, ranks)),
                };
                input.as_ref().map(elements).unwrap_or_default()
            })
            .collect();
        for (rank, result) in (0..).zip(results(&call, ranks, &inputs)) {
            let expected = expected(&call, rank, ranks);
            let found = expected.as_ref().map(elements).unwrap_or_default();
            assert_eq!(found, result, "{call:?}: rank {rank} of {ranks}");
        }
    }

    fn elements(bytes: &Bytes) -> Vec<i32> {
        let elements = bytes.as_slice().chunks_exact(SIZE);
        elements
            .map(|element| i32::from_ne_bytes([element[0], element[1], element[2], element[3]]))
            .collect()
    }

    #[test]
    fn the_expected_result_is_what_the_inputs_give() {
        for collective in Collective::MEASURED {
            for ranks in [1, 2, 7, 130] {
                check(collective, Operator::Sum, ranks, 0);
                check(collective, Operator::Max, ranks, 0);
                if collective.is_rooted() {
                    check(collective, Operator::Sum, ranks, ranks - 1);
                }
            }
        }
    }
}
