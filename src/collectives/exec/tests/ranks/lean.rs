//! A second call of the same shape allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use exec::{ApplicationCall, Arguments, Communicator, Elements, ExecError, Wait};
use schedule::{ALGORITHMS, Algorithm, Collective, Parameter, Unsupported};
use vocabulary::{Parameters, Through};

use crate::doing;
use crate::kind::{Kind, kinds};
use crate::memory::Memory;
use crate::shared;

/// Counts the allocations of this process; the library's own are not among them.
struct Counting;

pub(crate) static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller promises that the size of the layout is not zero, as `GlobalAlloc::alloc` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller promises that `memory` comes from this allocator, thus from the system's, with this
        // layout, and is in use.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, length: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(length as u64, Ordering::Relaxed);
        // SAFETY: the caller promises that `memory` comes from this allocator, thus from the system's, with this
        // layout, and is in use, and that `length` is a valid size for it, not zero.
        unsafe { System.realloc(memory, layout, length) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Elements of a call, or of a part.
const COUNT: u64 = 3000;

/// Returns the number of failures on this rank.
pub(crate) fn run(world: &mut Communicator) -> Result<u32, ExecError> {
    shared::connect(world, |_| 0, shared::LIMIT)?;
    let kinds = kinds()?;
    let (mut calls, mut failures) = (0, 0);
    for algorithm in ALGORITHMS.iter().filter(|a| !a.collective.is_irregular()) {
        for kind in &kinds {
            for blocks in blocks(algorithm) {
                let ways = [
                    (Wait::Block, Through::Mpi),
                    (Wait::Yield, Through::Mpi),
                    (Wait::Yield, Through::Shared),
                ];
                for way @ (wait, through) in ways {
                    doing(format!("{algorithm} of {}, {blocks:?} blocks", kind.name));
                    let parameters = parameters(blocks, through);
                    let Some(count) = second_call(algorithm, kind, &parameters, wait, world)?
                    else {
                        continue;
                    };
                    calls += 1;
                    if count > 0 {
                        eprintln!(
                            "{algorithm} of {}, {blocks:?} blocks, {way:?}: {count} allocations",
                            kind.name
                        );
                        failures += 1;
                    }
                }
            }
        }
    }
    if world.rank() == 0 {
        println!("{calls} second calls looked at");
    }
    // Two ranks need not wait for a core.
    let pair = world.subset(world.rank() < 2)?;
    if let (Some(pair), Some(kind)) = (pair, kinds.first()) {
        failures += constant_memory(kind, &pair)?;
    }
    world.sleeping_barrier(Duration::from_millis(1))?;
    Ok(failures + u32::from(calls == 0))
}

/// A million blocks must not take more memory than two thousand, which are already too many to be resolved in advance.
fn constant_memory(kind: &Kind, world: &Communicator) -> Result<u32, ExecError> {
    let (mut compared, mut failures) = (0, 0);
    let regular = ALGORITHMS.iter().filter(|a| !a.collective.is_irregular());
    for algorithm in regular.filter(|a| a.takes(Parameter::Blocks)) {
        let mut needed = [0; 2];
        for (allocated, blocks) in needed.iter_mut().zip([2000, 1_000_000]) {
            doing(format!("{algorithm}, {blocks} blocks"));
            let before = BYTES.load(Ordering::Relaxed);
            let parameters = parameters(Some(blocks), Through::Mpi);
            let Some(_) = second_call(algorithm, kind, &parameters, Wait::Block, world)? else {
                continue;
            };
            *allocated = BYTES.load(Ordering::Relaxed) - before;
        }
        compared += u32::from(needed[0] > 0);
        if needed[1] > needed[0] {
            eprintln!("{algorithm} allocates {needed:?} bytes for 2000 and a million blocks");
            failures += 1;
        }
    }
    if world.rank() == 0 {
        println!("{compared} algorithms have had a million blocks");
    }
    Ok(failures + u32::from(compared == 0))
}

/// Few blocks, and more than are resolved in advance.
fn blocks(algorithm: &Algorithm) -> Vec<Option<u32>> {
    if algorithm.takes(Parameter::Blocks) {
        vec![Some(3), Some(1200)]
    } else {
        vec![None]
    }
}

fn parameters(blocks: Option<u32>, through: Through) -> Parameters {
    Parameters {
        blocks,
        through,
        ..Parameters::default()
    }
}

/// The number of allocations of a second call; `None` if the call is not possible.
fn second_call(
    algorithm: &'static Algorithm,
    kind: &Kind,
    parameters: &Parameters,
    wait: Wait,
    communicator: &Communicator,
) -> Result<Option<u64>, ExecError> {
    let ranks = u64::from(communicator.size());
    let counts = vec![COUNT; ranks as usize];
    let Some(arguments) = arguments(algorithm, kind, &counts) else {
        return Ok(None);
    };
    let prepared =
        ApplicationCall::new(algorithm, parameters, &arguments, false, communicator, wait);
    let mut call = match prepared {
        Err(ExecError::Unsupported(
            Unsupported::Unordered { .. } | Unsupported::OddRanks { .. },
        )) => return Ok(None),
        other => other?,
    };
    let mut send = Memory::new(kind, COUNT * ranks);
    let mut recv = Memory::new(kind, COUNT * ranks);
    send.fill(0, COUNT * ranks, |number| (number % 100) as i32);
    recv.fill(0, COUNT * ranks, |number| (number % 100) as i32);
    let mut before = 0;
    for _ in 0..2 {
        before = ALLOCATIONS.load(Ordering::Relaxed);
        // SAFETY: the memory is at least as long as the arguments say.
        unsafe { call.call(communicator, send.address().cast(), recv.address().cast())? };
    }
    Ok(Some(ALLOCATIONS.load(Ordering::Relaxed) - before))
}

/// The arguments of a call; `None` for a reduction if the kind has no operator.
fn arguments<'a>(algorithm: &Algorithm, kind: &Kind, counts: &'a [u64]) -> Option<Arguments<'a>> {
    let data = Elements {
        count: COUNT,
        datatype: kind.datatype,
    };
    let operator = kind.operators.first().map(|(_, operator)| *operator);
    Some(match (algorithm.collective, operator) {
        (Collective::Bcast, _) => Arguments::Bcast { data, root: 0 },
        (Collective::Gather, _) => Arguments::Gather {
            send: data,
            recv: data,
            root: 0,
        },
        (Collective::Scatter, _) => Arguments::Scatter {
            send: data,
            recv: data,
            root: 0,
        },
        (Collective::Allgather, _) => Arguments::Allgather {
            send: data,
            recv: data,
        },
        (Collective::Alltoall, _) => Arguments::Alltoall {
            send: data,
            recv: data,
        },
        (Collective::Barrier, _) => Arguments::Barrier,
        (_, None)
        | (
            Collective::Alltoallv
            | Collective::Alltoallw
            | Collective::Allgatherv
            | Collective::Gatherv
            | Collective::Scatterv,
            _,
        ) => return None,
        (Collective::Reduce, Some(operator)) => Arguments::Reduce {
            data,
            operator,
            root: 0,
        },
        (Collective::Allreduce, Some(operator)) => Arguments::Allreduce { data, operator },
        (Collective::ReduceScatter, Some(operator)) => Arguments::ReduceScatter {
            counts,
            datatype: kind.datatype,
            operator,
        },
        (Collective::ReduceScatterBlock, Some(operator)) => Arguments::ReduceScatterBlock {
            part: data,
            operator,
        },
        (Collective::Scan, Some(operator)) => Arguments::Scan { data, operator },
        (Collective::Exscan, Some(operator)) => Arguments::Exscan { data, operator },
    })
}
