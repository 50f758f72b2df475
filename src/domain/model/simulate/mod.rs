//! Discrete-event simulation of schedules on a machine, in the rounds that are executed.
//!
//! - A message starts when both ends have reached its round, and the sender's port for sending and the receiver's for
//!   receiving are free. A message of at most [`crate::Link::eager_limit`] bytes does not wait for the receiver to
//!   reach its round. Messages that the executor would receive one round ahead ([`vocabulary::is_posted_ahead`],
//!   [`crate::Machine::post_ahead`]) may start when the receiver has reached the round before and its port is free. The
//!   ends still meet when both have reached their rounds, and ports that a node's ranks share are granted in that
//!   order.
//! - Both ports are busy for `overhead + beta n`, after which the sender is done; the receiver has the data `alpha +
//!   beta n` after the start. Ranks are full duplex: the two ports are independent.
//! - A port that several messages need is granted to the one that was ready first; ties go by the sender's place on its
//!   node, its round, order in the round, sender, and receiver. A message does not hold a port while it waits for the
//!   other one.
//! - The rank's processor combines and copies, one action after the other from the beginning of the round,
//!   independently of the ports. A round ends when all its actions have ended.
//! - The [`vocabulary::Placement`] of a message's ends determines whether it is priced as [`crate::Level::Node`] or
//!   [`crate::Level::Network`]. If the machine has an `injection_beta` or an `injection_gap`, messages between nodes
//!   pass the shared port of the sender's node and that of the receiver's node in the order in which they start: a byte
//!   takes `injection_beta` there, and the message ends when its last byte has passed both. So `k` ranks that send at
//!   once share a node's bandwidth, which matters only if `k injection_beta` is more than `beta`. After each message
//!   the port is busy for another `injection_gap`. A message passes the one of its `rails` that is free first.
//!
//! - If the machine has lines by size and factors of patterns, the cost of a message depends on the other actions of
//!   its ends in their rounds: whether one of them has messages in both directions, with the same rank or another,
//!   whether there are several to send or to receive, and whether the sender has received or combined data before. So
//!   the cost does not depend on the order of messages.
//! - If it has a cache, the bytes of a call whose buffers exceed it take longer within nodes.
//! - If the same happens on all nodes, only one is simulated (`symmetry.rs`); [`simulate_traced`] simulates all ranks.
//!
//! The closed forms are the case of one level, `overhead = alpha`, no eager limit, and no shared
//! ports. Those of messages that a rank sends at once ([`schedule::Cost::AtOnce`]) hold for any overhead.
//!
//! # Memory and time
//!
//! A suspended rank is its program, a round's number and a few clocks. Where nodes share no ports, it exists only from
//! the first message to that rank until the rank ends. So a million ranks fit into a gigabyte at most, and mostly into
//! much less (`engine.rs`). Where each port serves the messages of one rank only, messages need no common order of
//! time, for messages of any length and any number of blocks (`flows.rs`). The caller may stop a simulation
//! ([`simulate_while`]).
//!
//! The simulator is compared with a slow, plain event queue on random shapes, with the closed forms on flat machines,
//! and with SimGrid on exported traces.

mod agenda;
mod ahead;
mod best;
mod carrying;
mod course;
mod engine;
mod flows;
mod meeting;
mod offers;
mod placement;
mod ports;
mod prices;
mod process;
mod size;
mod symmetry;
mod trace;

use explained::Explained;
use schedule::{Rank, Schedule, Unsupported};
use thiserror::Error;

pub use best::{BestBlocks, BlocksBy, best_blocks, best_blocks_while};
pub use course::{simulate_from, simulate_repeated};
pub use placement::Topology;
pub use size::{ExpectedSize, expected_messages, expected_size};
pub use trace::{Event, Labour, Message, Segment, Trace, Work};

use crate::{InvalidMachine, Level, Machine};
use course::Course;
use engine::{Engine, Halt, Order};
use prices::Prices;
use symmetry::Symmetry;
use trace::Unobserved;

/// The setting of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The costs of messages and local work.
    pub machine: &'a Machine,
    /// The placement of the ranks.
    pub topology: Topology,
    /// Bytes of a unit of the schedule's vector: of an element in reductions, 1 elsewhere.
    pub unit_bytes: u64,
}

/// The result of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The time at which the last rank has ended its program, in seconds from the common start.
    pub seconds: f64,
    /// The time at which each rank has ended its program.
    pub finished: Vec<f64>,
    /// Messages sent, including empty ones.
    pub messages: u64,
}

/// A reason why a schedule cannot be simulated.
#[derive(Clone, Debug, PartialEq, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum SimulationError {
    /// The algorithm cannot serve the call.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A parameter of the machine is invalid.
    #[error(transparent)]
    Machine(#[from] InvalidMachine),
    /// More ranks than the nodes hold.
    #[error("there are {ranks} ranks, and room for {room} on the nodes")]
    NoRoom { ranks: u32, room: u64 },
    /// Messages on a level without parameters.
    #[error("the machine `{machine}` has no `{}`: the cost of messages there is unknown", level.name())]
    #[help("tuning/machines/reference.yaml explains every key of a machine")]
    NoLink { machine: String, level: Level },
    /// Combinations on a machine without `gamma`.
    #[error("the machine `{machine}` has no `gamma`: the cost of combining is unknown")]
    #[help("tuning/machines/reference.yaml explains every key of a machine")]
    NoGamma { machine: String },
    /// Ranks that wait for each other, which no verified schedule has.
    #[error("rank {rank} waits forever in round {round}")]
    Stuck { rank: Rank, round: u64 },
    /// The caller wanted no more of it.
    #[error("the simulation was stopped")]
    Stopped,
    /// More messages and work than the limit for recording.
    #[error("there are more than {limit} messages, combinations and copies")]
    #[help("ask for fewer ranks or blocks")]
    TooMuch { limit: usize },
}

/// Simulates a schedule.
///
/// Takes time proportional to the actions, and memory proportional to the ranks, for programs of any length. Takes less
/// if the same happens on all nodes.
///
/// # Errors
/// Any [`SimulationError`] but [`SimulationError::TooMuch`] and [`SimulationError::Stopped`].
pub fn simulate(schedule: &Schedule, setting: &Setting<'_>) -> Result<Simulation, SimulationError> {
    simulate_while(schedule, setting, &|| true)
}

/// An answer to the question whether to go on with a simulation, which is asked every few milliseconds.
pub type GoOn<'a> = &'a dyn Fn() -> bool;

/// Simulates a schedule as [`simulate()`] does, and stops when `go_on` says so.
///
/// # Errors
/// Any [`SimulationError`] but [`SimulationError::TooMuch`].
pub fn simulate_while(
    schedule: &Schedule,
    setting: &Setting<'_>,
    go_on: GoOn<'_>,
) -> Result<Simulation, SimulationError> {
    let prices = Prices::new(schedule, setting)?;
    let found = run_while(schedule, &prices, &Course::ONCE, || Unobserved, go_on);
    found.map(|(simulation, _)| simulation)
}

/// Simulates a schedule and records everything that happens.
///
/// # Errors
/// Any [`SimulationError`] but [`SimulationError::Stopped`]; [`SimulationError::TooMuch`] if there are more than `limit` messages,
/// combinations and copies.
pub fn simulate_traced(
    schedule: &Schedule,
    setting: &Setting<'_>,
    limit: usize,
) -> Result<(Simulation, Trace), SimulationError> {
    let prices = Prices::new(schedule, setting)?;
    run_to_end(schedule, &prices, &Course::ONCE, || {
        Trace::new(schedule.shape().ranks, limit)
    })
}

/// Runs a schedule to its end.
fn run_to_end<O: trace::Observer>(
    schedule: &Schedule,
    prices: &Prices<'_>,
    course: &Course<'_>,
    observer: impl Fn() -> O,
) -> Result<(Simulation, O), SimulationError> {
    run_while(schedule, prices, course, observer, &|| true)
}

/// Tries the order that needs no agenda, and starts over if messages of different rounds may compete for a port.
fn run_while<O: trace::Observer>(
    schedule: &Schedule,
    prices: &Prices<'_>,
    course: &Course<'_>,
    observer: impl Fn() -> O,
    go_on: GoOn<'_>,
) -> Result<(Simulation, O), SimulationError> {
    let symmetry = if O::OBSERVES_MESSAGES {
        Symmetry::without_groups(schedule)
    } else {
        Symmetry::of_alike_groups(schedule, prices, course, go_on)
    };
    let by_nodes = symmetry
        .numbers_by_nodes()
        .then(|| prices.numbered_by_nodes(symmetry.ranks));
    let numbered = by_nodes.as_ref().unwrap_or(prices);
    // Of groups that are alike only one is simulated, which is fast, and its ports stand for those of many nodes.
    let is_timed = prices.shares_ports_of_nodes() && (O::OBSERVES_MESSAGES || symmetry.groups > 1);
    let orders = if is_timed {
        &[Order::Time][..]
    } else {
        &[Order::Dependency, Order::Time]
    };
    for order in orders {
        let observer = (observer(), go_on);
        let mut engine = Engine::new(schedule, numbered, course, symmetry, *order, observer);
        match engine.run_programs() {
            Ok(simulation) => return Ok((simulation, engine.into_observer())),
            Err(Halt::Competition) => {}
            Err(Halt::Error(error)) => return Err(error),
        }
    }
    unreachable!("in the order of time competition is no reason to stop")
}
