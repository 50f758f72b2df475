//! Schedules as text: one line per action.

use std::fmt::Write;

use crate::{Action, Parameter, Phase, Rank, Round, Schedule};

/// A line that names the algorithm, the communicator and the parameters.
pub fn schedule_headline(schedule: &Schedule) -> String {
    let (algorithm, shape) = (schedule.algorithm(), schedule.shape());
    let mut line = format!("{algorithm} on {}", count_with_noun(shape.ranks, "rank"));
    if algorithm.knows_nodes() {
        let _ = write!(
            line,
            " of {}",
            count_with_noun(shape.nodes.node_count(), "node")
        );
    }
    if algorithm.collective.is_rooted() {
        let _ = write!(line, ", root {}", shape.root);
    }
    for parameter in algorithm.parameters {
        let _ = match parameter {
            Parameter::Blocks => write!(line, ", {}", count_with_noun(shape.blocks, "block")),
            Parameter::Radix => write!(line, ", radix {}", shape.radix),
            Parameter::Reduce => write!(line, ", {}", shape.parts.reduce),
            Parameter::Bcast => write!(line, ", {}", shape.parts.bcast),
            Parameter::Leaders => write!(line, ", {}", count_with_noun(shape.leaders, "leader")),
            Parameter::MaxRequests => {
                let requests = count_with_noun(shape.max_requests, "request");
                write!(line, ", at most {requests} at once")
            }
            Parameter::Node | Parameter::Network => {
                let named = |(phase, _): &(&Phase, _)| phase.named_by == Some(*parameter);
                let parts = shape.parts.phases().filter(named);
                let parts: Vec<String> = parts.map(|(_, part)| part.name()).collect();
                write!(line, ", {parameter} {}", parts.join(" and "))
            }
        };
    }
    if shape.in_place {
        line.push_str(", in place");
    }
    line
}

fn count_with_noun(number: u32, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// The rounds of one rank, or of all, under a headline.
///
/// Empty rounds are skipped; empty blocks are shown like others.
pub fn render_text(schedule: &Schedule, only: Option<Rank>) -> String {
    let mut text = schedule_headline(schedule) + "\n";
    let mut round = Round::default();
    let ranks = match only {
        Some(rank) => rank..rank + 1,
        None => 0..schedule.shape().ranks,
    };
    for rank in ranks {
        let program = schedule.program(rank);
        let _ = writeln!(text, "rank {rank}");
        for index in 0..program.rounds() {
            round.clear();
            program.round(index, &mut round);
            let mut head = format!("{index:>5}");
            // If a part of a composition finds its data in place, its copies do nothing.
            let copies_itself =
                |action: &&Action| matches!(action, Action::Copy { from, into } if from == into);
            for action in round
                .actions()
                .iter()
                .filter(|action| !copies_itself(action))
            {
                let _ = writeln!(text, "{head}  {action}");
                head = " ".repeat(head.len());
            }
        }
    }
    text
}
