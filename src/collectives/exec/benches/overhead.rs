//! The cost of executing a schedule compared with the same algorithm written by hand with MPI.
//!
//! Run on two ranks by `make bench`; each launch prints one line for each case: both medians, their ratio and their
//! difference. The two take turns in batches within one launch, so that a slow launch slows both. The last line shows
//! the cost of a block in a schedule that is too long to be resolved in advance.

use std::time::Instant;

use exec::{
    Bytes, Call, Communicator, ExecError, Operands, Runner, Universe, Wait, combine_vectors,
};
use schedule::Collective;
use vocabulary::{Candidate, Datatype, Operator, Parameters};

/// Calls timed together, because a reading of the clock takes about as long as the measured difference.
const BATCH: u32 = 100;
/// Batches of each of the two.
const BATCHES: u32 = 600;
/// Blocks of the long schedule.
const BLOCKS: u32 = 2048;

fn main() -> Result<(), ExecError> {
    let universe = Universe::start()?;
    let world = universe.world();
    if world.size() != 2 {
        if world.rank() == 0 {
            println!("overhead: run on 2 ranks, not {}", world.size());
        }
        return universe.finish();
    }
    let communicator = world.duplicate()?;
    compare(
        "bcast/binomial",
        Collective::Bcast,
        None,
        &communicator,
        bcast_by_hand,
    )?;
    compare(
        "allreduce/recursive_doubling",
        Collective::Allreduce,
        Some(Operator::Sum),
        &communicator,
        allreduce_by_hand,
    )?;
    time_blocks("allreduce/dual_root", &communicator)?;
    drop(communicator);
    universe.finish()
}

type ByHand = fn(&Communicator, &[u8], &mut [u8], &mut [u8]) -> Result<(), ExecError>;

/// A binomial tree on any number of ranks with root 0, as usually written.
fn bcast_by_hand(
    communicator: &Communicator,
    _: &[u8],
    output: &mut [u8],
    _: &mut [u8],
) -> Result<(), ExecError> {
    let (rank, size) = (communicator.rank(), communicator.size());
    let mut mask = 1;
    while mask < size {
        if rank & mask != 0 {
            communicator.recv_bytes(output, rank - mask)?;
            break;
        }
        mask <<= 1;
    }
    mask >>= 1;
    while mask > 0 {
        if rank + mask < size {
            communicator.send_bytes(output, rank + mask)?;
        }
        mask >>= 1;
    }
    Ok(())
}

/// Recursive doubling on a power of two, as usually written.
fn allreduce_by_hand(
    communicator: &Communicator,
    input: &[u8],
    output: &mut [u8],
    received: &mut [u8],
) -> Result<(), ExecError> {
    output.copy_from_slice(input);
    let mut mask = 1;
    while mask < communicator.size() {
        let partner = communicator.rank() ^ mask;
        communicator.exchange_bytes(output, partner, received, partner)?;
        combine_vectors(
            Datatype::Float64,
            Operator::Sum,
            Operands::IntoLeft(output, received),
        )?;
        mask <<= 1;
    }
    Ok(())
}

fn compare(
    algorithm: &str,
    collective: Collective,
    operator: Option<Operator>,
    communicator: &Communicator,
    by_hand: ByHand,
) -> Result<(), ExecError> {
    let call = Call {
        collective,
        bytes: 8,
        datatype: Datatype::Float64,
        operator,
        root: 0,
        in_place: false,
        distribution: schedule::Distribution::Uniform,
    };
    let candidate = Candidate::Ours {
        algorithm: algorithm.to_owned(),
        parameters: Parameters::default(),
    };
    let mut ours = Runner::new(&candidate, &call, communicator, Wait::Block)?;
    let input = Bytes::filled(8, 0x3f);
    let (mut output, mut received) = (input.clone(), input.clone());
    // A broadcast must not run ahead of its receiver: every call is answered.
    let answer = || match collective {
        Collective::Bcast => communicator.dissemination_barrier(),
        _ => Ok(()),
    };
    let (mut schedule, mut hand, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        schedule.push(time(communicator, BATCH, || {
            ours.call_once(communicator, input.as_slice(), output.as_mut_slice())?;
            answer()
        })?);
        hand.push(time(communicator, BATCH, || {
            let (output, received) = (output.as_mut_slice(), received.as_mut_slice());
            by_hand(communicator, input.as_slice(), output, received)?;
            answer()
        })?);
        answers.push(time(communicator, BATCH, answer)?);
    }
    let answer_nanoseconds = median_nanoseconds(communicator, answers)?;
    let schedule = median_nanoseconds(communicator, schedule)? - answer_nanoseconds;
    let hand = median_nanoseconds(communicator, hand)? - answer_nanoseconds;
    if communicator.rank() == 0 {
        println!(
            "{algorithm:<30} schedule {schedule:>7.1} ns  by hand {hand:>7.1} ns  \
             ratio {:.3}  difference {:+.1} ns",
            schedule / hand,
            schedule - hand
        );
    }
    Ok(())
}

/// Times an allreduce of 64 KiB in [`BLOCKS`] blocks, which resolves its rounds in every call.
fn time_blocks(algorithm: &str, communicator: &Communicator) -> Result<(), ExecError> {
    let call = Call {
        collective: Collective::Allreduce,
        bytes: 64 << 10,
        datatype: Datatype::Float64,
        operator: Some(Operator::Sum),
        root: 0,
        in_place: false,
        distribution: schedule::Distribution::Uniform,
    };
    let candidate = Candidate::Ours {
        algorithm: algorithm.to_owned(),
        parameters: Parameters {
            blocks: Some(BLOCKS),
            ..Parameters::default()
        },
    };
    let mut ours = Runner::new(&candidate, &call, communicator, Wait::Block)?;
    let input = Bytes::filled(call.bytes as usize, 0x3f);
    let mut output = input.clone();
    let mut times = Vec::new();
    for _ in 0..BATCHES {
        times.push(time(communicator, 1, || {
            ours.call_once(communicator, input.as_slice(), output.as_mut_slice())
        })?);
    }
    let block = median_nanoseconds(communicator, times)? / f64::from(BLOCKS);
    if communicator.rank() == 0 {
        println!("{algorithm:<30} {BLOCKS} blocks of 64 KiB in all  {block:>7.1} ns a block");
    }
    Ok(())
}

/// The time in seconds of one of `calls` calls on this rank.
fn time(
    communicator: &Communicator,
    calls: u32,
    mut call: impl FnMut() -> Result<(), ExecError>,
) -> Result<f64, ExecError> {
    communicator.dissemination_barrier()?;
    let start = Instant::now();
    for _ in 0..calls {
        call()?;
    }
    Ok(start.elapsed().as_secs_f64() / f64::from(calls))
}

/// The median of the slower rank's times.
fn median_nanoseconds(
    communicator: &Communicator,
    mut seconds: Vec<f64>,
) -> Result<f64, ExecError> {
    communicator.maximum_over_ranks(&mut seconds)?;
    Ok(statistics::median(&seconds).unwrap_or(f64::NAN) * 1e9)
}
