//! The program that the tests of `runtime` start on several ranks: it compares the Rust interface with expected
//! results.

use std::path::PathBuf;

use mpi::collective::{SystemOperation, UnsafeUserOperation};
use mpi::ffi::MPI_Datatype;
use mpi::topology::{Color, InterCommunicator};
use mpi::traits::*;
use runtime::{Runtime, RuntimeError, Settings, SliceBlocks};
use schedule::Collective;
use table::{Deployment, OperatorClass, Query};
use vocabulary::{CommShape, RankOrder};

const COUNT: usize = 300;

fn main() -> Result<(), RuntimeError> {
    let universe = mpi::initialize().expect("MPI starts");
    let world = universe.world();
    let path = PathBuf::from(std::env::args_os().nth(1).unwrap_or_default());
    refuse(&world, &path);
    let runtime = Runtime::load(
        &path,
        &world,
        Settings {
            timed: true,
            attach_after_bytes: Some(0),
            ..Settings::default()
        },
    )?;
    let decision = runtime.decide(&Query {
        collective: Collective::Bcast,
        shape: CommShape { nodes: 1, ppn: 4 },
        order: RankOrder::Block,
        bytes: 1200,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Colltune,
    });
    assert!(decision.candidate.algorithm().starts_with("bcast/"));
    for _ in 0..2 {
        combine(&runtime, &world)?;
        scatter_sums(&runtime, &world)?;
        pass(&runtime, &world)?;
        pass_unevenly(&runtime, &world)?;
    }
    let half = world.split_by_color(Color::with_value(world.rank() % 2));
    let half = half.expect("every rank has a colour");
    combine(&runtime, &half)?;
    pass(&runtime, &half)?;
    pass_unevenly(&runtime, &half)?;
    mistakes(&runtime, &world);
    refuse_groups(&runtime, &world, &half);
    let summary = runtime.summary();
    if world.rank() == 0 {
        println!("{summary}");
        // The types of an alltoallw's blocks have no counterpart in slices.
        let of_slices = Collective::ALL.into_iter();
        for collective in of_slices.filter(|known| *known != Collective::Alltoallw) {
            let mut rows = summary.rows.iter();
            assert!(rows.any(|row| row.collective == collective && row.is_ours() && row.calls > 0));
        }
        println!("the runtime does what MPI does");
    }
    Ok(())
}

/// A table that is missing on all ranks, and on one.
fn refuse(world: &impl runtime::Communicating, path: &std::path::Path) {
    let missing = PathBuf::from("/nowhere/table.yaml");
    let settings = Settings::default();
    let error = Runtime::load(&missing, world, settings).expect_err("there is none");
    assert!(matches!(error, RuntimeError::Table(_)), "{error}");
    let own = if world.rank() == 1 { &*missing } else { path };
    let partial_error = Runtime::load(own, world, settings).expect_err("not everywhere");
    assert_eq!(
        matches!(partial_error, RuntimeError::Differs),
        world.rank() != 1,
        "{partial_error}"
    );
}

/// A communicator between two groups: the slices would have to be as long as the other group says.
fn refuse_groups(
    runtime: &Runtime,
    world: &impl runtime::Communicating,
    half: &impl runtime::Communicating,
) {
    // SAFETY: both communicators are valid; the leaders are the first two ranks of the world. The new one is written by
    // the call, and valid.
    let between = unsafe {
        let mut between = mpi::ffi::RSMPI_COMM_NULL;
        let leader_of_others = 1 - world.rank() % 2;
        let code = mpi::ffi::MPI_Intercomm_create(
            half.as_raw(),
            0,
            world.as_raw(),
            leader_of_others,
            7,
            &mut between,
        );
        assert_eq!(code, 0);
        InterCommunicator::from_raw(between)
    };
    let sent = vec![1; half.size() as usize];
    let mut received = sent.clone();
    let refused = runtime.alltoall(&between, &sent, &mut received);
    assert!(matches!(refused, Err(RuntimeError::Intercommunicator)));
    let refused_too = runtime.barrier(&between);
    assert!(matches!(refused_too, Err(RuntimeError::Intercommunicator)));
}

/// Rank r has r + 1 elements for each rank, with gaps between blocks.
fn pass_unevenly(runtime: &Runtime, on: &impl runtime::Communicating) -> Result<(), RuntimeError> {
    let (rank, ranks) = (on.rank(), on.size());
    let root = ranks - 1;
    let counts: Vec<i32> = (1..=ranks).collect();
    let own = vec![rank + 1; ranks as usize];
    let apart: Vec<i32> = (0..ranks).map(|other| other * (ranks + 1)).collect();
    let length = (ranks * (ranks + 1)) as usize;
    let place = |other: i32, number: i32| (other * (ranks + 1) + number) as usize;
    // What a rank has for another one.
    let value = |from: i32, to: i32, number: i32| from * 1000 + to * 100 + number;
    let filled = |of: &dyn Fn(i32) -> (i32, i32), count: &dyn Fn(i32) -> i32| {
        let mut data = vec![-1; length];
        for other in 0..ranks {
            let (from, to) = of(other);
            for number in 0..count(other) {
                data[place(other, number)] = value(from, to, number);
            }
        }
        data
    };
    let blocks = |of_ranks| SliceBlocks {
        counts: of_ranks,
        displacements: &apart,
    };
    let sent = filled(&|other| (rank, other), &|_| rank + 1);
    let mut got = vec![-1; length];
    runtime.alltoallv(on, &sent, blocks(&own), &mut got, blocks(&counts))?;
    assert_eq!(got, filled(&|other| (other, rank), &|other| other + 1));
    let mine: Vec<i32> = (0..=rank).map(|number| value(rank, 0, number)).collect();
    let all = filled(&|other| (other, 0), &|other| other + 1);
    let mut collected = vec![-1; length];
    runtime.allgatherv(on, &mine, &mut collected, blocks(&counts))?;
    assert_eq!(collected, all);
    let mut at_root = vec![-1; length];
    runtime.gatherv(on, &mine, &mut at_root, blocks(&counts), root)?;
    assert_eq!(at_root == all, rank == root);
    let mut back = vec![-1; mine.len()];
    runtime.scatterv(on, &at_root, blocks(&counts), &mut back, root)?;
    assert_eq!(back, mine);
    let none = vec![0; ranks as usize - 1];
    let too_few = runtime.alltoallv(on, &sent, blocks(&none), &mut got, blocks(&counts));
    assert!(matches!(too_few, Err(RuntimeError::Length { .. })));
    Ok(())
}

fn combine(runtime: &Runtime, on: &impl runtime::Communicating) -> Result<(), RuntimeError> {
    let (rank, ranks) = (on.rank(), on.size());
    let root = ranks - 1;
    let sum = SystemOperation::sum;
    let mine: Vec<i32> = (0..COUNT as i32).map(|place| place + rank).collect();
    let total = |place: usize| ranks * place as i32 + ranks * (ranks - 1) / 2;
    let expected: Vec<i32> = (0..COUNT).map(total).collect();
    let mut all = vec![0; COUNT];
    runtime.allreduce(on, &mine, &mut all, sum())?;
    assert_eq!(all, expected);
    let mut data = mine.clone();
    runtime.allreduce_in_place(on, &mut data, sum())?;
    assert_eq!(data, expected);
    let mut at_root = (rank == root).then(|| vec![0; COUNT]);
    runtime.reduce(on, &mine, at_root.as_deref_mut(), sum(), root)?;
    assert!(at_root.is_none_or(|sums| sums == expected));
    let mut prefix = vec![-1; COUNT];
    runtime.scan(on, &mine, &mut prefix, sum())?;
    let up_to = |end: i32, place: usize| end * place as i32 + end * (end - 1) / 2;
    let expected_prefix: Vec<i32> = (0..COUNT).map(|place| up_to(rank + 1, place)).collect();
    assert_eq!(prefix, expected_prefix);
    let mut before = vec![-1; COUNT];
    runtime.exscan(on, &mine, &mut before, sum())?;
    // The first rank's output stays as it is.
    let expected_before: Vec<i32> = if rank == 0 {
        vec![-1; COUNT]
    } else {
        (0..COUNT).map(|place| up_to(rank, place)).collect()
    };
    assert_eq!(before, expected_before);
    runtime.barrier(on)?;
    Ok(())
}

/// An operator that returns the right operand unless it is zero: associative, but not commutative.
unsafe extern "C" fn second(
    left: *mut std::ffi::c_void,
    right: *mut std::ffi::c_void,
    length: *mut i32,
    _: *mut MPI_Datatype,
) {
    // SAFETY: MPI gives as many elements of the call's datatype, which is this one.
    unsafe {
        let left = std::slice::from_raw_parts(left.cast::<i32>(), *length as usize);
        let right = std::slice::from_raw_parts_mut(right.cast::<i32>(), *length as usize);
        for (left_element, right_element) in left.iter().zip(right) {
            // No rank contributes zero.
            *right_element = if *right_element == 0 {
                *left_element
            } else {
                *right_element
            };
        }
    }
}

fn scatter_sums(runtime: &Runtime, on: &impl runtime::Communicating) -> Result<(), RuntimeError> {
    let (rank, ranks) = (on.rank(), on.size());
    let sum = SystemOperation::sum;
    let all: Vec<i32> = (0..COUNT as i32 * ranks).collect();
    let mut part = vec![0; COUNT];
    runtime.reduce_scatter_block(on, &all, &mut part, sum())?;
    let first = rank as usize * COUNT;
    let expected = |begin: usize, count: usize| -> Vec<i32> {
        (begin..begin + count)
            .map(|place| place as i32 * ranks)
            .collect()
    };
    assert_eq!(part, expected(first, COUNT));
    // Uneven parts: rank r has r elements more than rank 0.
    let counts: Vec<i32> = (0..ranks).map(|owner| 10 + owner).collect();
    let length = counts.iter().sum::<i32>() as usize;
    let before = counts[..rank as usize].iter().sum::<i32>() as usize;
    let mut uneven_part = vec![0; 10 + rank as usize];
    runtime.reduce_scatter(on, &all[..length], &mut uneven_part, &counts, sum())?;
    assert_eq!(uneven_part, expected(before, uneven_part.len()));
    // SAFETY: the function meets MPI's requirements for operators.
    let last = unsafe { UnsafeUserOperation::associative(second) };
    let mine = vec![rank + 1; 50];
    let mut received = vec![0; 50];
    runtime.allreduce(on, &mine, &mut received, &last)?;
    assert_eq!(received, vec![ranks; 50]);
    Ok(())
}

fn pass(runtime: &Runtime, on: &impl runtime::Communicating) -> Result<(), RuntimeError> {
    let (rank, ranks) = (on.rank(), on.size());
    let root = ranks - 1;
    let whole: Vec<f64> = (0..COUNT * ranks as usize)
        .map(|place| place as f64)
        .collect();
    let mut data = if rank == root {
        whole.clone()
    } else {
        vec![0.0; whole.len()]
    };
    runtime.bcast(on, &mut data, root)?;
    assert_eq!(data, whole);
    let mut part = vec![0.0; COUNT];
    runtime.scatter(on, (rank == root).then_some(&whole[..]), &mut part, root)?;
    assert_eq!(part, whole[rank as usize * COUNT..][..COUNT]);
    let mut at_root = (rank == root).then(|| vec![0.0; whole.len()]);
    runtime.gather(on, &part, at_root.as_deref_mut(), root)?;
    assert!(at_root.is_none_or(|gathered| gathered == whole));
    let mut everywhere = vec![0.0; whole.len()];
    runtime.allgather(on, &part, &mut everywhere)?;
    assert_eq!(everywhere, whole);
    let blocks: Vec<f64> = whole
        .iter()
        .map(|number| number + f64::from(rank))
        .collect();
    let mut received = vec![0.0; whole.len()];
    runtime.alltoall(on, &blocks, &mut received)?;
    for (sender, block) in (0..).zip(received.chunks(COUNT)) {
        let mine = whole[rank as usize * COUNT..].iter();
        let expected = mine.map(|number| number + f64::from(sender));
        assert!(block.iter().copied().eq(expected.take(COUNT)));
    }
    Ok(())
}

/// Lengths that would exceed a buffer are refused before MPI is called.
fn mistakes(runtime: &Runtime, on: &impl runtime::Communicating) {
    let sum = SystemOperation::sum;
    let check = |outcome: Result<(), RuntimeError>| {
        let error = outcome.expect_err("a mistake");
        let is_seen = matches!(
            error,
            RuntimeError::Length { .. } | RuntimeError::Root { .. }
        );
        assert!(is_seen, "{error}");
    };
    check(runtime.allreduce(on, &[1, 2], &mut [0], sum()));
    check(runtime.bcast(on, &mut [0], on.size()));
    check(runtime.bcast(on, &mut [0], -1));
    check(runtime.allgather(on, &[1], &mut [0]));
    check(runtime.scatter(on, Some(&[1][..]), &mut [0], on.rank()));
    check(runtime.reduce(on, &[1], None, sum(), on.rank()));
    check(runtime.reduce_scatter_block(on, &[1], &mut [0], sum()));
    check(runtime.reduce_scatter(on, &[1], &mut [0], &[1], sum()));
    check(runtime.gather(on, &[1], Some(&mut []), on.rank()));
    check(runtime.alltoall(on, &[1], &mut [0, 0]));
    check(runtime.alltoall(on, &[1], &mut [0]));
    check(runtime.scan(on, &[1, 2], &mut [0], sum()));
    check(runtime.exscan(on, &[1], &mut [], sum()));
}
