//! The expected size of a simulation.

use schedule::{Rank, Round, Schedule};

/// Ranks that are examined besides the root.
const SAMPLES: u32 = 64;
/// Rounds that are examined of each rank.
const ROUNDS: u64 = 4;

/// The approximate number of messages of a schedule, from samples of ranks and rounds: a fast check whether a
/// simulation would take very long.
pub fn expected_messages(schedule: &Schedule) -> f64 {
    let (ranks, root) = (schedule.shape().ranks, schedule.shape().root);
    let samples = SAMPLES.min(ranks);
    let sample = |index: u32| (u64::from(index) * u64::from(ranks) / u64::from(samples)) as Rank;
    let others = (0..samples).map(sample).filter(|rank| *rank != root);
    let (mut counted, mut actions) = (0_u32, 0.0);
    for rank in others {
        counted += 1;
        actions += expected_actions(schedule, rank);
    }
    let actions_of_others = actions / f64::from(counted.max(1)) * f64::from(ranks - 1);
    // Every message has two ends.
    (expected_actions(schedule, root) + actions_of_others) / 2.0
}

/// The approximate number of actions of a rank's program.
fn expected_actions(schedule: &Schedule, rank: Rank) -> f64 {
    let program = schedule.program(rank);
    let rounds = program.rounds();
    let looked_at = rounds.min(ROUNDS);
    let mut round = Round::default();
    (0..looked_at).for_each(|index| program.round(index * rounds / looked_at, &mut round));
    round.actions().len() as f64 / looked_at.max(1) as f64 * rounds as f64
}
