//! What executing a schedule costs over the same algorithm written by hand against MPI.
//!
//! Run on two ranks by `make bench-overhead`; each launch prints one line a case, the medians of
//! both and their difference. The two take turns in batches within one launch, so that what slows
//! the launch slows both.

use std::time::Instant;

use exec::{Call, Communicator, ExecError, Operands, Runner, Universe, combine};
use schedule::Collective;
use wire::{Candidate, Datatype, Operator, Parameters};

/// Calls timed together: the clock costs about as much as what is to be seen.
const BATCH: u32 = 100;
/// Batches of each of the two.
const BATCHES: usize = 600;

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
    drop(communicator);
    universe.finish()
}

type ByHand = fn(&Communicator, &[u8], &mut [u8], &mut [u8]) -> Result<(), ExecError>;

/// A binomial tree on any number of ranks, root 0, as one would write it.
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

/// Recursive doubling on a power of two, as one would write it.
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
        combine(
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
    };
    let candidate = Candidate::Ours {
        algorithm: algorithm.to_owned(),
        parameters: Parameters::default(),
    };
    let mut ours = Runner::new(&candidate, &call, communicator)?;
    let input = 1.0_f64.to_ne_bytes();
    let (mut output, mut received) = ([0; 8], [0; 8]);
    let (mut schedule, mut hand) = (Vec::new(), Vec::new());
    for batch in 0..2 * BATCHES {
        communicator.dissemination_barrier()?;
        let start = Instant::now();
        for _ in 0..BATCH {
            match batch % 2 {
                0 => ours.call(communicator, &input, &mut output)?,
                _ => by_hand(communicator, &input, &mut output, &mut received)?,
            }
            // A broadcast must not run ahead of its receiver: every call is answered.
            if collective == Collective::Bcast {
                communicator.dissemination_barrier()?;
            }
        }
        let seconds = start.elapsed().as_secs_f64() / f64::from(BATCH);
        if batch % 2 == 0 {
            schedule.push(seconds)
        } else {
            hand.push(seconds)
        };
    }
    communicator.maximum(&mut schedule)?;
    communicator.maximum(&mut hand)?;
    if communicator.rank() == 0 {
        let median = |times: &[f64]| statistics::median(times).unwrap_or(f64::NAN) * 1e9;
        let (schedule, hand) = (median(&schedule), median(&hand));
        println!(
            "{algorithm:<30} schedule {schedule:>7.1} ns  by hand {hand:>7.1} ns  \
             ratio {:.3}  difference {:+.1} ns",
            schedule / hand,
            schedule - hand
        );
    }
    Ok(())
}
