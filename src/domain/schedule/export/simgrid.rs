//! Time-independent traces, which SimGrid replays (`smpirun -replay`).

use std::fmt::Write;

use super::{ScheduleExport, Step, Transfer, for_each_step, most_if_uneven};
use crate::{Rank, text};

impl ScheduleExport<'_> {
    /// A comment that describes the time-independent traces.
    pub fn simgrid_head(&self) -> String {
        let Self { schedule, scale } = self;
        format!(
            "# {}\n# {}{} units of {} bytes; combining a byte takes {} flops; signals have one byte\n",
            text::schedule_headline(schedule),
            most_if_uneven(schedule),
            schedule.vector_units(),
            scale.unit_bytes,
            scale.combine_cost
        )
    }

    /// The time-independent trace of one rank. A transfer that is alone in its round blocks, as in the execution; those
    /// of wider rounds are started together, then the work is done, and then all are completed. Combining becomes a
    /// `compute` of `Scale::combine_cost` flops per byte.
    pub fn simgrid_of_rank(&self, rank: Rank) -> String {
        // After a plain `init` lengths are in bytes.
        let mut text = format!("{rank} init\n");
        let mut line = |words: std::fmt::Arguments<'_>| {
            let _ = writeln!(text, "{rank} {words}");
        };
        for_each_step(self.schedule, self.scale, rank, |step| {
            let is_alone = step.sends.len() + step.recvs.len() == 1 && step.work.is_none();
            let start = if is_alone { "" } else { "i" };
            let Step { sends, recvs, work } = step;
            for Transfer { peer, bytes, tag } in recvs {
                line(format_args!("{start}recv {peer} {tag} {bytes}"));
            }
            for Transfer { peer, bytes, tag } in sends {
                line(format_args!("{start}send {peer} {tag} {bytes}"));
            }
            if let Some(work) = work {
                line(format_args!("compute {work}"));
            }
            if !is_alone && sends.len() + recvs.len() > 0 {
                line(format_args!("waitall"));
            }
        });
        line(format_args!("finalize"));
        text
    }
}
