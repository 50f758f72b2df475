//! Messages through shared memory.

use std::rc::Rc;
use std::time::{Duration, Instant};

use exec::{
    Bytes, Call, Communicator, ExecError, NoChannels, NodeChannels, ScheduleExecutor, Wait,
};
use schedule::Collective;
use vocabulary::{Datatype, Operator, Parameters, Through};

use crate::conformance::{Score, try_all};
use crate::kind::kinds;
use crate::{doing, runners};

/// The limit of shared memory.
pub(crate) const LIMIT: u64 = 64 << 20;

/// The pretended node of a rank.
type Node = fn(u32) -> u32;

/// The pretended nodes of ranks, and their limit of shared memory.
struct Place {
    name: &'static str,
    node: Node,
    limit: u64,
}

const PLACES: [Place; 4] = [
    Place {
        name: "one node",
        node: |_| 0,
        limit: LIMIT,
    },
    Place {
        name: "nodes of two",
        node: |rank| rank / 2,
        limit: LIMIT,
    },
    Place {
        name: "one in three elsewhere",
        node: |rank| u32::from(rank % 3 == 2),
        limit: LIMIT,
    },
    Place {
        name: "little memory",
        node: |_| 0,
        limit: 1 << 20,
    },
];

/// Tries algorithms on few and on all ranks, and the other properties of channels. Returns the number of failures on
/// this rank.
pub(crate) fn run(world: &Communicator) -> Result<u32, ExecError> {
    let start = Instant::now();
    let kinds = kinds()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let mut score = Score::default();
    for size in (2..=5.min(world.size())).chain((world.size() > 5).then_some(world.size())) {
        if let Some(part) = world.subset(world.rank() < size)? {
            for Place { name, node, limit } in PLACES {
                doing(format!("{name}, {size} ranks"));
                // The memory of the previous channels is free again.
                let mut part = part.duplicate()?;
                connect(&mut part, node, limit)?;
                try_all(&mut part, &kinds, size > cores, Through::Shared, &mut score)?;
                if size <= 3 {
                    score.failed += runners::check(&part, Through::Shared)?;
                }
                if part.rank() == 0 {
                    let seconds = start.elapsed().as_secs_f64();
                    println!("{size} ranks, {name}: {seconds:.1} s");
                }
            }
        }
        // Those that have nothing to do leave the cores to the others.
        world.sleeping_barrier(Duration::from_millis(1))?;
    }
    score.failed += reasons(world)? + limits(world)?;
    if let Some(mut part) = world.subset(world.rank() < 3)? {
        score.failed += lost(&mut part)?;
        // Its messages may still arrive, and must not be taken for those of another communicator.
        std::mem::forget(part);
    }
    world.sleeping_barrier(Duration::from_millis(1))?;
    if world.rank() == 0 {
        score.report();
        score.failed += score.missing();
    }
    Ok(score.failed)
}

/// Opens channels on pretended nodes. Collective.
pub(crate) fn open(
    communicator: &Communicator,
    node: Node,
    limit: u64,
) -> Result<Result<Rc<NodeChannels>, NoChannels>, ExecError> {
    let (rank, ranks) = (communicator.rank(), communicator.size());
    let mut mine = None;
    for which in 0..=(0..ranks).map(node).max().unwrap_or(0) {
        let part = communicator.subset(node(rank) == which)?;
        mine = mine.or(part);
    }
    let Some(mine) = mine else {
        return Ok(Err(NoChannels::Alone));
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    NodeChannels::open(communicator, &mine, limit, ranks > cores)
}

/// Gives a communicator channels on pretended nodes. Collective.
pub(crate) fn connect(
    communicator: &mut Communicator,
    node: Node,
    limit: u64,
) -> Result<(), ExecError> {
    let channels = open(communicator, node, limit)?;
    communicator.set_channels(channels.map_err(|_| ExecError::NoChannels)?);
    Ok(())
}

/// All ranks get the same reason why there are no channels.
fn reasons(world: &Communicator) -> Result<u32, ExecError> {
    let mut failures = 0;
    let off_here = if world.rank() == world.size() - 1 {
        0
    } else {
        LIMIT
    };
    let mut check = |node: Node, limit, expected: NoChannels| {
        doing(format!("no channels: {expected}"));
        let found = open(world, node, limit)?.err();
        if found != Some(expected) {
            eprintln!("rank {}: {found:?} and not {expected}", world.rank());
            failures += 1;
        }
        Ok::<(), ExecError>(())
    };
    check(|rank| rank, LIMIT, NoChannels::Alone)?;
    check(|_| 0, 0, NoChannels::SwitchedOff)?;
    check(|rank| rank / 2, off_here, NoChannels::SwitchedOff)?;
    check(|_| 0, 100, NoChannels::Limit)?;
    Ok(failures)
}

/// Many communicators share the limit, and release their memory.
fn limits(world: &Communicator) -> Result<u32, ExecError> {
    let mut failures = 0;
    for _ in 0..2 {
        let mut all = Vec::new();
        let refused = loop {
            doing(format!("channels of {} communicators", all.len()));
            match open(world, |_| 0, LIMIT)? {
                Ok(channels) => all.push(channels),
                Err(reason) => break reason,
            }
        };
        let bytes: u64 = all.iter().map(|channels| channels.memory_bytes()).sum();
        if refused != NoChannels::Limit || all.len() < 3 || bytes > LIMIT {
            eprintln!(
                "rank {}: {refused} after {} communicators, {bytes} bytes",
                world.rank(),
                all.len()
            );
            failures += 1;
        }
    }
    Ok(failures)
}

/// A call that failed leaves a communicator that is not used again, and ends although a receive through MPI gets no
/// message: the third rank, on another node, does not call.
fn lost(ranks: &mut Communicator) -> Result<u32, ExecError> {
    if ranks.size() < 3 {
        return Ok(0);
    }
    doing("a message of another length".to_owned());
    connect(ranks, |rank| rank / 2, LIMIT)?;
    if ranks.rank() == 2 {
        return Ok(0);
    }
    let new_executor = |bytes, through| {
        let (call, parameters) = (allreduce(bytes), Parameters::default());
        let parameters = Parameters {
            radix: Some(3),
            ..parameters
        };
        let name = "allreduce/recursive_multiplying";
        let schedule = call.schedule_with(name, &parameters, ranks.nodes())?;
        ScheduleExecutor::new(&schedule, &call, ranks, through, Wait::Block)
    };
    let bytes = 8 << (3 * ranks.rank());
    let mut executors = [
        new_executor(bytes, Through::Shared)?,
        new_executor(bytes, Through::Mpi)?,
    ];
    let input = Bytes::zeroed(bytes as usize);
    let mut output = Bytes::zeroed(bytes as usize);
    let found = executors
        .each_mut()
        .map(|executor| executor.call(ranks, input.as_slice(), output.as_mut_slice()));
    let expected = [
        Err(ExecError::MessageLength),
        Err(ExecError::CommunicatorLost),
    ];
    if found != expected {
        eprintln!("{found:?} and not {expected:?}");
    }
    Ok(u32::from(found != expected))
}

/// The sum of a vector of numbers on all ranks.
pub(crate) fn allreduce(bytes: u64) -> Call {
    Call {
        collective: Collective::Allreduce,
        bytes,
        datatype: Datatype::Int64,
        operator: Some(Operator::Sum),
        root: 0,
        in_place: false,
        distribution: schedule::Distribution::Uniform,
    }
}
