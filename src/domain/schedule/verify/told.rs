//! Whether what ranks are told of sizes is enough for their programs.

use crate::fault::{Fault, Misdeed};
use crate::program::{Program, SIZE_ROUNDS};
use crate::{Action, OwnCounts, Rank, Round, Schedule};

/// Checks that every rank but the root, which knows all sizes, finds the places of its data from its own size and those
/// that it is told.
///
/// The programs have been run, so all messages that tell sizes arrive.
pub(super) fn check_told_sizes(
    schedule: &Schedule,
    programs: &dyn Fn(Rank) -> Box<dyn Program>,
) -> Result<(), Fault> {
    let ranks = schedule.shape().ranks;
    if !schedule.algorithm().tells_sizes || ranks == 1 {
        return Ok(());
    }
    let told: Vec<Vec<Rank>> = (0..ranks)
        .map(|rank| awaited_ranks(&*programs(rank)))
        .collect();
    for rank in (0..ranks).filter(|rank| *rank != schedule.shape().root) {
        let others = told[rank as usize].iter();
        let others: Vec<_> = others
            .map(|child| (*child, told_size(schedule, &told, *child)))
            .collect();
        let counts = OwnCounts::Told {
            own: schedule.part_units(rank),
            others: &others,
        };
        let complete = schedule.layout(rank);
        let own = schedule.layout_with_counts(rank, counts);
        let program = programs(rank);
        let mut round = Round::default();
        for index in 0..program.rounds() {
            round.clear();
            program.round(index, &mut round);
            for action in round.actions() {
                let mut is_known = true;
                let mut compared = *action;
                compared.spans_mut(|span| {
                    let place = own.as_ref().and_then(|layout| layout.locate(span));
                    is_known &= place == complete.locate(span);
                });
                if !is_known {
                    return Err(Fault::At {
                        rank,
                        round: index,
                        action: action.to_string(),
                        why: Misdeed::UnknownSize,
                    });
                }
            }
        }
    }
    Ok(())
}

/// The ranks that tell a rank sizes.
fn awaited_ranks(program: &dyn Program) -> Vec<Rank> {
    let mut round = Round::default();
    for index in 0..program.rounds().min(SIZE_ROUNDS) {
        program.round(index, &mut round);
    }
    let awaited = round.actions().iter().filter_map(|action| match action {
        Action::Await { from } => Some(*from),
        _ => None,
    });
    awaited.collect()
}

/// What a rank tells: its own size and what it was told.
fn told_size(schedule: &Schedule, told: &[Vec<Rank>], rank: Rank) -> u64 {
    let others = told[rank as usize].iter();
    let others: u64 = others.map(|other| told_size(schedule, told, *other)).sum();
    schedule.part_units(rank) + others
}
