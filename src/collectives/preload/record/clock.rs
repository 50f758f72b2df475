//! The clocks of nodes, and the global time: the clock of the first rank's node.
//!
//! The ranks of a node read the same clock. The first ranks of nodes compare theirs when the program starts and when it
//! ends, by the shortest of some exchanges with the node before in a tree, and the difference in between is taken from a
//! straight line: so a clock that runs slower or faster does no harm, however long the program takes.

use std::ffi::c_int;

use exec::ExecError;
use exec::constants::MPI_Comm;

use super::library::{receive_bytes, send_bytes};

/// The exchanges of a pair of nodes; the shortest one counts.
const EXCHANGES: usize = 20;

/// The time of the node's clock in nanoseconds.
#[inline(always)]
pub(super) fn node_now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the time is written by the call, which cannot fail with this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What has to be added to the node's clock at a moment to get the global time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClockOffset {
    /// The moment, by the node's clock.
    pub(super) at: u64,
    pub(super) nanoseconds: i64,
}

/// The offsets at the start and at the end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GlobalClock {
    pub(super) start: ClockOffset,
    pub(super) end: ClockOffset,
}

impl GlobalClock {
    /// The global time at a time of the node's clock.
    pub(super) fn global_time(&self, local: u64) -> i64 {
        let Self { start, end } = self;
        let length = end.at.saturating_sub(start.at);
        let elapsed = i128::from(local) - i128::from(start.at);
        let difference = i128::from(end.nanoseconds) - i128::from(start.nanoseconds);
        let drifted = if length == 0 {
            0
        } else {
            difference * elapsed / i128::from(length)
        };
        let global = i128::from(local) + i128::from(start.nanoseconds) + drifted;
        i64::try_from(global).unwrap_or(i64::MAX)
    }
}

/// Compares the clocks of the first ranks of nodes. Collective over the communicator of these.
///
/// # Safety
///
/// The communicator is a valid intracommunicator with these ranks, of which this one is `rank`.
pub(super) unsafe fn compare_clocks(
    on: MPI_Comm,
    rank: c_int,
    ranks: c_int,
) -> Result<ClockOffset, ExecError> {
    let lowest = if rank == 0 { c_int::MAX } else { rank & -rank };
    let mut own = ClockOffset {
        at: node_now(),
        nanoseconds: 0,
    };
    if rank != 0 {
        // SAFETY: the caller promises a valid communicator; the rank without its lowest bit answers.
        own = unsafe { ask_for_time(on, rank - lowest)? };
    }
    // The ranks of the largest subtrees are first, since they have others to serve.
    let steps = (0..c_int::BITS - 1).rev().map(|bit| 1 << bit);
    for step in steps.filter(|step| *step < lowest && *step < ranks - rank) {
        for _ in 0..EXCHANGES {
            let mut question = [0; 8];
            // SAFETY: the caller promises a valid communicator, and this rank has as many messages as are exchanged.
            unsafe {
                receive_bytes(on, rank + step, &mut question)?;
                let now = node_now() as i64 + own.nanoseconds;
                send_bytes(on, rank + step, &now.to_ne_bytes())?;
            }
        }
    }
    Ok(own)
}

/// Asks another rank for the global time.
///
/// # Safety
///
/// The communicator is valid, and the other rank answers as often.
unsafe fn ask_for_time(on: MPI_Comm, other: c_int) -> Result<ClockOffset, ExecError> {
    let mut shortest = u64::MAX;
    let mut offset = ClockOffset::default();
    for _ in 0..EXCHANGES {
        let mut answer = [0; 8];
        let sent = node_now();
        // SAFETY: the caller promises a valid communicator on which the other rank answers.
        unsafe {
            send_bytes(on, other, &[0; 8])?;
            receive_bytes(on, other, &mut answer)?;
        }
        let received = node_now();
        let length = received.saturating_sub(sent);
        if length < shortest {
            shortest = length;
            let middle = sent + length / 2;
            offset = ClockOffset {
                at: middle,
                nanoseconds: i64::from_ne_bytes(answer) - middle as i64,
            };
        }
    }
    Ok(offset)
}
