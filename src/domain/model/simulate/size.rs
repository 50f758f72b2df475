//! The expected size of a simulation.

use schedule::{Action, Rank, Round, Schedule};

use super::Setting;
use super::prices::Prices;
use super::symmetry::Symmetry;

/// Ranks that are examined besides the root.
const SAMPLES: u32 = 64;
/// Ranks that are examined of a group that stands for all.
const SAMPLES_OF_GROUP: u32 = 4;
/// Rounds that are examined of each rank.
const ROUNDS: u64 = 4;
/// The time for a combination or a copy, compared with that for a message.
const LOCAL_WORK: f64 = 1.0 / 32.0;

/// The approximate size of a simulation, from samples of ranks and rounds: a fast check whether it would take very long,
/// or too much memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExpectedSize {
    /// Messages that are carried, those of the ranks that are simulated; combinations and copies count a little.
    pub messages: f64,
    /// The most messages that are under way at once, which take memory.
    pub at_once: f64,
}

/// The approximate number of messages of a schedule, as [`ExpectedSize::messages`] if all ranks are simulated.
pub fn expected_messages(schedule: &Schedule) -> f64 {
    size_of_all(schedule).messages
}

/// The approximate size of a simulation on a machine. Where the schedule says that the same happens on all nodes
/// ([`Schedule::translation`]), only one is simulated. The simulation also examines whether their messages are matched,
/// which takes too long here; a test shows that they are.
pub fn expected_size(schedule: &Schedule, setting: &Setting<'_>) -> ExpectedSize {
    let prices = Prices::new(schedule, setting).ok();
    let symmetry = prices.and_then(|prices| Symmetry::by_translation(schedule, &prices));
    let Some(symmetry) = symmetry else {
        return size_of_all(schedule);
    };
    let samples = SAMPLES_OF_GROUP.min(symmetry.ranks);
    let numbers = sample_evenly(symmetry.ranks, samples);
    let sizes = numbers.map(|number| size_of_rank(schedule, symmetry.rank_of(number)));
    sum_sizes(sizes).scaled_by(f64::from(symmetry.ranks) / f64::from(samples))
}

fn size_of_all(schedule: &Schedule) -> ExpectedSize {
    let (ranks, root) = (schedule.shape().ranks, schedule.shape().root);
    let others = sample_evenly(ranks, SAMPLES.min(ranks)).filter(|rank| *rank != root);
    let sampled = others.clone().count().max(1);
    let of_others = sum_sizes(others.map(|rank| size_of_rank(schedule, rank)));
    let of_others = of_others.scaled_by(f64::from(ranks - 1) / sampled as f64);
    sum_sizes([size_of_rank(schedule, root), of_others].into_iter())
}

/// `samples` of the numbers below `all`, which is at least as many.
fn sample_evenly(all: u32, samples: u32) -> impl Iterator<Item = u32> + Clone {
    (0..samples).map(move |index| (u64::from(index) * u64::from(all) / u64::from(samples)) as u32)
}

fn sum_sizes(sizes: impl Iterator<Item = ExpectedSize>) -> ExpectedSize {
    sizes.fold(ExpectedSize::default(), |sum, size| ExpectedSize {
        messages: sum.messages + size.messages,
        at_once: sum.at_once + size.at_once,
    })
}

impl ExpectedSize {
    fn scaled_by(self, factor: f64) -> Self {
        Self {
            messages: self.messages * factor,
            at_once: self.at_once * factor,
        }
    }
}

/// A rank's share: every message has two ends.
fn size_of_rank(schedule: &Schedule, rank: Rank) -> ExpectedSize {
    let program = schedule.program(rank);
    let rounds = program.rounds();
    let looked_at = rounds.min(ROUNDS);
    let mut round = Round::default();
    let mut size = ExpectedSize::default();
    for index in 0..looked_at {
        round.clear();
        program.round(index * rounds / looked_at, &mut round);
        let is_local =
            |action: &&Action| matches!(action, Action::Combine { .. } | Action::Copy { .. });
        let local = round.actions().iter().filter(is_local).count();
        let messages = (round.actions().len() - local) as f64 / 2.0;
        size.messages += messages + local as f64 * LOCAL_WORK;
        size.at_once = size.at_once.max(messages);
    }
    ExpectedSize {
        messages: size.messages / looked_at.max(1) as f64 * rounds as f64,
        ..size
    }
}
