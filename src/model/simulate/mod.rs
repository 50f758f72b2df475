//! Schedules on the clocks of a machine: a discrete-event simulation of the very rounds that are
//! executed.
//!
//! - A message starts when both ends have reached its round, and the sender's port for sending and
//!   the receiver's for receiving are free. One of at most [`crate::Link::eager_limit`] bytes does
//!   not wait for the receiver to reach its round. Others that the executor would receive a round ahead
//!   ([`vocabulary::is_posted_ahead`], [`crate::Machine::post_ahead`]) may start when the receiver has reached the
//!   round before, but not before its port is free; the ends still meet when both have reached their
//!   rounds, and ports that a node's ranks share are granted in that order.
//! - Both ports are busy for `overhead + beta n`, and the sender is done then; the receiver has the
//!   data at `alpha + beta n` from the start. Ranks are full duplex: the two ports are independent.
//! - A port that is wanted by several is granted to the one that was ready first; then by sender,
//!   receiver, and order in the sender's program. A message whose other port is busy does not hold
//!   the port.
//! - Combining and copying are done by the rank's processor, one after the other from the beginning
//!   of the round, beside the ports. A round ends when all of it has ended.
//! - Whether a message is priced as [`crate::Level::Node`] or [`crate::Level::Network`] depends on
//!   the [`Placement`] of its ends. Where the machine has an `injection_beta` or an `injection_gap`, messages between nodes
//!   pass the shared port of the sender's node, and that of the receiver's node, in the order in which
//!   they start: a byte takes `injection_beta` there, and the message is over when its last byte has
//!   passed both. So `k` ranks that send at once share a node's bandwidth, and notice it only where
//!   `k injection_beta` is more than `beta`. After each message the port is busy for another
//!   `injection_gap`. Of its `rails` a message passes the one that is free first.
//!
//! - Where the machine has lines by size and factors of patterns, they change what a message costs by what
//!   its ends do in their rounds: whether one of them has messages both ways, with the same rank or
//!   another, whether there are several to send or to receive, and whether the sender has received or
//!   combined something before. So the order of messages has no part in it.
//! - Where it has a cache, the bytes of a call whose buffers it does not hold take longer within nodes.
//!
//! The closed forms are the case of one level, `overhead = alpha`, no eager limit, and no shared
//! ports.

mod agenda;
mod ahead;
mod best;
mod carrying;
mod course;
mod engine;
mod meeting;
mod offers;
mod placement;
mod ports;
mod prices;
mod process;
mod size;
mod trace;

use schedule::{Rank, Schedule, Unsupported};
use thiserror::Error;

pub use best::{BestBlocks, BlocksBy, best_blocks};
pub use course::{simulate_from, simulate_repeated};
pub use placement::{Placement, Topology};
pub use size::expected_messages;
pub use trace::{Event, Labour, Message, Segment, Trace, Work};

use crate::{InvalidMachine, Level, Machine};
use course::Course;
use engine::{Engine, Halt, Order};
use prices::Prices;
use trace::Unobserved;

/// Where a schedule is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// What messages and work cost.
    pub machine: &'a Machine,
    /// Where the ranks are.
    pub topology: Topology,
    /// Bytes of a unit of the schedule's vector: of an element in reductions, 1 elsewhere.
    pub unit_bytes: u64,
}

/// What came of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// When the last rank has ended its program, in seconds from the common start.
    pub seconds: f64,
    /// When each rank has.
    pub finished: Vec<f64>,
    /// Messages sent, empty ones that signal included.
    pub messages: u64,
}

/// Why a schedule cannot be simulated.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SimulationError {
    /// The algorithm cannot serve the call.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The machine makes no sense.
    #[error(transparent)]
    Machine(#[from] InvalidMachine),
    /// More ranks than the nodes hold.
    #[error("there are {ranks} ranks, and room for {room} on the nodes")]
    NoRoom {
        /// Ranks in the communicator.
        ranks: u32,
        /// Ranks that the nodes hold.
        room: u64,
    },
    /// Messages on a level of which the machine says nothing.
    #[error("the machine `{machine}` does not say what messages cost: there is no `{}`", level.name())]
    NoLink {
        /// The name of the machine.
        machine: String,
        /// The level.
        level: Level,
    },
    /// Combinations on a machine that does not say what they cost.
    #[error("the machine `{machine}` does not say what combining costs: there is no `gamma`")]
    NoGamma {
        /// The name of the machine.
        machine: String,
    },
    /// Ranks that wait for each other. No verified schedule does.
    #[error("rank {rank} waits for ever in round {round}")]
    Stuck {
        /// The lowest of them.
        rank: Rank,
        /// Its round.
        round: u64,
    },
    /// More messages and work than was to be recorded.
    #[error("there are more than {limit} messages, combinations and copies")]
    TooMuch {
        /// The limit that was given.
        limit: usize,
    },
}

/// Simulates a schedule.
///
/// Takes time proportional to the actions, and memory proportional to the ranks, whatever the length
/// of their programs.
///
/// # Errors
/// Any [`SimulationError`] but [`SimulationError::TooMuch`].
pub fn simulate(schedule: &Schedule, setting: &Setting<'_>) -> Result<Simulation, SimulationError> {
    let prices = Prices::new(schedule, setting)?;
    run(schedule, &prices, &Course::ONCE, || Unobserved).map(|(simulation, _)| simulation)
}

/// Simulates a schedule and records everything that happens.
///
/// # Errors
/// Any [`SimulationError`]; [`SimulationError::TooMuch`] if there are more than `limit` messages,
/// combinations and copies.
pub fn trace(
    schedule: &Schedule,
    setting: &Setting<'_>,
    limit: usize,
) -> Result<(Simulation, Trace), SimulationError> {
    let prices = Prices::new(schedule, setting)?;
    run(schedule, &prices, &Course::ONCE, || {
        Trace::new(schedule.shape().ranks, limit)
    })
}

/// Tries the order that needs no agenda, and starts over if there is an eager message: that may
/// meet others at its receiver's port whatever the rounds look like.
fn run<O: trace::Observer>(
    schedule: &Schedule,
    prices: &Prices,
    course: &Course<'_>,
    observer: impl Fn() -> O,
) -> Result<(Simulation, O), SimulationError> {
    let orders = match prices.shares_ports_of_nodes() {
        true => &[Order::Time][..],
        false => &[Order::Dependency, Order::Time],
    };
    for order in orders {
        let mut engine = Engine::new(schedule, prices, course, *order, observer());
        match engine.run() {
            Ok(simulation) => return Ok((simulation, engine.into_observer())),
            Err(Halt::Eager) => {}
            Err(Halt::Error(error)) => return Err(error),
        }
    }
    unreachable!("in the order of time eager messages are no reason to stop")
}
