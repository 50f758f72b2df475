//! GOAL, the language of LogGOPSim (Hoefler, Schneider, Lumsdaine 2010).
//!
//! GOAL has one statement per line, without indentation, as its scanner requires. The statements of a rank run
//! concurrently unless one `requires` another. Every statement of a round requires all statements of the previous
//! one; if both rounds are wide, through a `calc 0` between them.

use std::fmt::Write;

use super::{ScheduleExport, Step, Transfer, for_each_step, most_if_uneven};
use crate::{Rank, text};

impl ScheduleExport<'_> {
    /// The text in GOAL before all ranks.
    pub fn goal_head(&self) -> String {
        let Self { schedule, scale } = self;
        format!(
            "// {}\n// {}{} units of {} bytes; combining a byte takes {} units of time; signals have \
             one byte\nnum_ranks {}\n",
            text::schedule_headline(schedule),
            most_if_uneven(schedule),
            schedule.vector_units(),
            scale.unit_bytes,
            scale.combine_cost,
            schedule.shape().ranks
        )
    }

    /// The text in GOAL of one rank. Combining becomes a `calc` of `Scale::combine_cost` units of time per byte, in the
    /// unit of LogGOPSim's parameters.
    pub fn goal_of_rank(&self, rank: Rank) -> String {
        let mut writer = Writer {
            text: format!("\nrank {rank} {{\n"),
            labels: 0,
            before: Vec::new(),
        };
        for_each_step(self.schedule, self.scale, rank, |step| {
            writer.write_step(step)
        });
        if writer.labels == 0 {
            // The scanner may reject a rank without statements.
            writer.write_statement("calc 0");
        }
        writer.text.push_str("}\n");
        writer.text
    }
}

/// The statements of one rank.
struct Writer {
    text: String,
    /// The number of labels: `l1`, `l2`, ...
    labels: u64,
    /// The labels that the next round requires.
    before: Vec<u64>,
}

impl Writer {
    fn write_step(&mut self, step: &Step) {
        let width = step.sends.len() + step.recvs.len() + usize::from(step.work.is_some());
        if self.before.len() > 1 && width > 1 {
            let join = self.write_requiring("calc 0");
            self.before = vec![join];
        }
        let mut labels = Vec::with_capacity(width);
        for Transfer { peer, bytes, tag } in &step.recvs {
            labels.push(self.write_requiring(&format!("recv {bytes}b from {peer} tag {tag}")));
        }
        for Transfer { peer, bytes, tag } in &step.sends {
            labels.push(self.write_requiring(&format!("send {bytes}b to {peer} tag {tag}")));
        }
        if let Some(work) = step.work {
            labels.push(self.write_requiring(&format!("calc {work}")));
        }
        self.before = labels;
    }

    /// Adds a statement that requires the previous round.
    fn write_requiring(&mut self, statement: &str) -> u64 {
        let label = self.write_statement(statement);
        for before in &self.before {
            let _ = writeln!(self.text, "l{label} requires l{before}");
        }
        label
    }

    fn write_statement(&mut self, statement: &str) -> u64 {
        self.labels += 1;
        let _ = writeln!(self.text, "l{}: {statement}", self.labels);
        self.labels
    }
}
