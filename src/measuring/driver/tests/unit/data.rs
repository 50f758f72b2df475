//! The expected results, computed according to the text of the standard.

use super::{PERIOD, compose_functions, contributed_element, expected_output, input_buffer};
use exec::{Bytes, Call};
use schedule::Collective;
use vocabulary::{Datatype, Operator};

const SIZE: usize = 4;

/// One element's contributions in the order of ranks.
fn in_order(call: &Call, column: impl Iterator<Item = i32>) -> i32 {
    match call.operator {
        Some(Operator::Max) => column.max().unwrap_or(0),
        Some(Operator::Noncommutative) => {
            let functions: Vec<(u16, u16)> = column
                .map(|bits| (bits as u16, ((bits as u32) >> 16) as u16))
                .collect();
            // The composition "a * (b * (c * ...))" applies its functions to x, the last one first.
            let of = |x: u16| {
                let apply =
                    |value: u16, (a, b): &(u16, u16)| a.wrapping_mul(value).wrapping_add(*b);
                functions.iter().rev().fold(x, apply)
            };
            let added = of(0);
            let factor = of(1).wrapping_sub(added);
            (u32::from(factor) | (u32::from(added) << 16)) as i32
        }
        _ => column.sum(),
    }
}

/// All ranks' results according to the text of the standard, from the inputs of all ranks, element by element.
fn results(call: &Call, ranks: u32, inputs: &[Vec<i32>]) -> Vec<Vec<i32>> {
    let root = call.root as usize;
    let ranks = ranks as usize;
    let length = call.bytes as usize / SIZE;
    let combined: Vec<i32> = (0..inputs.iter().map(Vec::len).max().unwrap_or(0))
        .map(|index| {
            let column = inputs.iter().filter_map(|input| input.get(index).copied());
            in_order(call, column)
        })
        .collect();
    let everything = || inputs.concat();
    let column = |contributing: usize, index: usize| {
        let column = inputs[..contributing].iter().map(|input| input[index]);
        in_order(call, column)
    };
    let at_root = |rank, result: Vec<i32>| if rank == root { result } else { Vec::new() };
    let mut rest = &combined[..];
    (0..ranks)
        .map(|rank| match call.collective {
            Collective::Bcast => (0..length as u64)
                .map(|index| contributed_element(call, call.root, index) as i32)
                .collect(),
            Collective::Reduce => at_root(rank, combined.clone()),
            Collective::Allreduce => combined.clone(),
            Collective::Gather | Collective::Gatherv => at_root(rank, everything()),
            Collective::Allgather | Collective::Allgatherv => everything(),
            Collective::Scatter => inputs[root][rank * length..][..length].to_vec(),
            // Parts are as even as possible, the longer ones first.
            Collective::Scatterv => {
                let start = |part: usize| part * (length / ranks) + part.min(length % ranks);
                inputs[root][start(rank)..start(rank + 1)].to_vec()
            }
            // "The jth block sent from process i is received by process j and is placed in the
            // ith block of recvbuf" (MPI 4.0, 6.8).
            Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => inputs
                .iter()
                .flat_map(|input| input[rank * length..][..length].to_vec())
                .collect(),
            Collective::Barrier => Vec::new(),
            // "In the receive buffer of the process with rank i, the reduction of the values in
            // the send buffers of processes with ranks 0, ..., i (inclusive)" (MPI 4.0, 6.11).
            Collective::Scan => (0..length).map(|index| column(rank + 1, index)).collect(),
            // The same "with ranks 0, ..., i - 1"; on rank 0 it is undefined (MPI 4.0, 6.11.2).
            Collective::Exscan if rank == 0 => Vec::new(),
            Collective::Exscan => (0..length).map(|index| column(rank, index)).collect(),
            Collective::ReduceScatterBlock => combined[rank * length..][..length].to_vec(),
            Collective::ReduceScatter => {
                let (part, after) = rest.split_at(rest.len().div_ceil(ranks - rank));
                rest = after;
                part.to_vec()
            }
        })
        .collect()
}

/// The length exceeds one period and is not a multiple of the ranks.
fn check(collective: Collective, operator: Operator, ranks: u32, root: u32) {
    let elements_of_call = if collective.has_data() { 250 } else { 0 };
    let call = Call {
        collective,
        bytes: elements_of_call * SIZE as u64,
        datatype: Datatype::Int32,
        operator: collective.is_reduction().then_some(operator),
        root,
        in_place: false,
        distribution: schedule::Distribution::Uniform,
    };
    let inputs: Vec<Vec<i32>> = (0..ranks)
        .map(|rank| {
            let input = match collective {
                // Every rank receives the root's data.
                Collective::Bcast => expected_output(&call, rank, ranks),
                _ => Some(input_buffer(&call, rank, ranks)),
            };
            input.as_ref().map(elements).unwrap_or_default()
        })
        .collect();
    for (rank, result) in (0..).zip(results(&call, ranks, &inputs)) {
        let expected = expected_output(&call, rank, ranks);
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
fn the_expected_result_follows_from_the_inputs() {
    for collective in Collective::ALL {
        for ranks in [1, 2, 7, 130] {
            check(collective, Operator::Sum, ranks, 0);
            check(collective, Operator::Max, ranks, 0);
            if collective.is_reduction() {
                check(collective, Operator::Noncommutative, ranks, 0);
            }
            if collective.is_rooted() {
                check(collective, Operator::Sum, ranks, ranks - 1);
            }
        }
    }
}

/// The wrong orders: exchanged neighbours, one rank moved to the end, a rotation, and the reverse.
#[test]
fn a_wrong_order_of_combining_changes_every_element() {
    for datatype in [Datatype::Int32, Datatype::Float64] {
        let call = Call {
            collective: Collective::Allreduce,
            bytes: 8,
            datatype,
            operator: Some(Operator::Noncommutative),
            root: 0,
            in_place: false,
            distribution: schedule::Distribution::Uniform,
        };
        for ranks in [2_u32, 3, 4, 7, 16, 65, 200] {
            for index in [0, 1, PERIOD - 1] {
                let right: Vec<u64> = (0..ranks)
                    .map(|rank| contributed_element(&call, rank, index))
                    .collect();
                let expected = compose_functions(&call, right.iter().copied());
                let mut wrong: Vec<Vec<u64>> = vec![right.iter().rev().copied().collect()];
                for at in 1..right.len() {
                    let (mut swapped, mut turned, mut moved) =
                        (right.clone(), right.clone(), right.clone());
                    swapped.swap(at - 1, at);
                    turned.rotate_left(at);
                    moved[at - 1..].rotate_left(1);
                    wrong.extend([swapped, turned, moved]);
                }
                for order in wrong {
                    let found = compose_functions(&call, order.into_iter());
                    assert_ne!(
                        found, expected,
                        "{datatype:?}, {ranks} ranks, element {index}"
                    );
                }
            }
        }
    }
}

/// Each rank gets from each sender the block that the sender has for it, of the length that the distribution says.
#[test]
fn blocks_of_irregular_alltoalls_come_from_their_senders() {
    for distribution in schedule::Distribution::ALL {
        for ranks in [2_u32, 5, 9, 16] {
            let call = Call {
                collective: Collective::Alltoallv,
                bytes: 12 * SIZE as u64,
                datatype: Datatype::Int32,
                operator: None,
                root: 0,
                in_place: false,
                distribution,
            };
            let mut expected: Vec<Vec<i32>> = vec![Vec::new(); ranks as usize];
            for sender in 0..ranks {
                let mut rest = &elements(&input_buffer(&call, sender, ranks))[..];
                for (to, received) in (0..).zip(&mut expected) {
                    let length = distribution.block_count(12, ranks, sender, to);
                    let (block, after) = rest.split_at(length as usize);
                    received.extend(block);
                    rest = after;
                }
                assert!(rest.is_empty(), "{call:?}: sender {sender}");
            }
            for (rank, received) in (0..).zip(expected) {
                let found = expected_output(&call, rank, ranks).as_ref().map(elements);
                assert_eq!(found, Some(received), "{call:?}: rank {rank} of {ranks}");
            }
        }
    }
}
