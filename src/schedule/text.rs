//! Schedules as text for people: one line an action.

use std::fmt::Write;

use crate::{Rank, Round, Schedule};

/// The rounds of one rank, or of all.
///
/// Empty rounds are passed over; blocks that hold no units are shown as any other.
pub fn render(schedule: &Schedule, only: Option<Rank>) -> String {
    let shape = schedule.shape();
    let mut text = format!("{} on {} ranks", schedule.algorithm(), shape.ranks);
    if schedule.algorithm().collective.is_rooted() {
        let _ = write!(text, ", root {}", shape.root);
    }
    if schedule.algorithm().takes(crate::Parameter::Blocks) {
        let _ = write!(text, ", {} blocks", shape.blocks);
    }
    text.push('\n');
    let mut round = Round::default();
    for rank in (0..shape.ranks).filter(|rank| only.is_none_or(|only| only == *rank)) {
        let program = schedule.program(rank);
        let _ = writeln!(text, "rank {rank}");
        for index in 0..program.rounds() {
            round.clear();
            program.round(index, &mut round);
            let mut head = format!("{index:>5}");
            for action in round.actions() {
                let _ = writeln!(text, "{head}  {action}");
                head = " ".repeat(head.len());
            }
        }
    }
    text
}
