//! Statistics of calls.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schedule::Collective;
use vocabulary::Through;

use crate::{FallbackReason, UnservedRow};

/// The kind of rule that chose the algorithm, or the reason why the library carried out the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// An algorithm of ours, by a rule for the communicator's shape.
    Table,
    /// An algorithm of ours, by a rule for the nearest shape that was measured.
    Nearest,
    /// The library.
    Library(FallbackReason),
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table => f.write_str("by the table's rules"),
            Self::Nearest => f.write_str("by rules of the nearest measured shape"),
            Self::Library(reason) => reason.fmt(f),
        }
    }
}

/// The calls of one kind on one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRow {
    /// The collective.
    pub collective: Collective,
    /// Whether the calls are nonblocking ones, such as of `MPI_Ibcast`. Others have rows of their own.
    pub is_nonblocking: bool,
    /// The algorithm with its parameters and, if the rule is the nearest shape's, that shape; or the reason why the
    /// library carried out the calls.
    pub decision: String,
    /// The kind of rule that chose it, or the library.
    pub by: By,
    /// The transport of messages within nodes, if one of our algorithms carried out the calls.
    pub through: Through,
    /// The number of calls.
    pub calls: u64,
    /// The total time, including waiting for other ranks, but of nonblocking calls only that in their steps; 0 if calls are
    /// not timed.
    pub time: Duration,
    /// The expected additional time of the library's default for these calls in seconds, from the table's times, not
    /// from measuring these calls. 0 if the table has no times for the shape, or calls are not timed.
    ///
    /// There is no measured gain, because each call is carried out in only one way.
    pub expected_gain_seconds: f64,
}

impl SummaryRow {
    /// The collective's name, as in `bcast` or `ibcast`.
    pub fn name(&self) -> Cow<'static, str> {
        let name = self.collective.name();
        if self.is_nonblocking {
            Cow::Owned(format!("i{name}"))
        } else {
            Cow::Borrowed(name)
        }
    }

    /// Whether one of our algorithms carried it out.
    pub const fn is_ours(&self) -> bool {
        !matches!(self.by, By::Library(_))
    }
}

/// All calls of one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallSummary {
    /// The rows by collective and decision, in the order of first calls.
    pub rows: Vec<SummaryRow>,
    /// The calls of collectives that tables do not decide about, in the order of first calls; empty unless MPI is
    /// intercepted and calls are timed.
    pub unserved: Vec<UnservedRow>,
}

impl CallSummary {
    /// The total number of calls.
    pub fn total_calls(&self) -> u64 {
        self.rows.iter().map(|row| row.calls).sum()
    }

    /// The numbers of calls by what carried them out, in the order of first calls.
    pub fn calls_by(&self) -> Vec<(By, u64)> {
        let mut all: Vec<(By, u64)> = Vec::new();
        for row in &self.rows {
            match all.iter_mut().find(|(by, _)| *by == row.by) {
                Some((_, calls)) => *calls += row.calls,
                None => all.push((row.by, row.calls)),
            }
        }
        all
    }

    /// The number of calls of our algorithms that used shared memory within nodes.
    pub fn shared_calls(&self) -> u64 {
        let shared = self.rows.iter();
        let shared = shared.filter(|row| row.through == Through::Shared);
        shared.map(|row| row.calls).sum()
    }

    /// The row of a decision, added if necessary.
    pub(crate) fn find_or_add_row(
        &mut self,
        collective: Collective,
        decision: &str,
        by: By,
        through: Through,
    ) -> usize {
        self.find_or_add(collective, false, decision, by, through)
    }

    /// The row of a nonblocking collective that an algorithm of ours carries out, added if necessary.
    pub(crate) fn find_or_add_nonblocking_row(
        &mut self,
        collective: Collective,
        decision: &str,
        by: By,
    ) -> usize {
        self.find_or_add(collective, true, decision, by, Through::Mpi)
    }

    fn find_or_add(
        &mut self,
        collective: Collective,
        is_nonblocking: bool,
        decision: &str,
        by: By,
        through: Through,
    ) -> usize {
        let found = self.rows.iter().position(|row| {
            (row.collective, row.is_nonblocking) == (collective, is_nonblocking)
                && row.decision == decision
        });
        found.unwrap_or_else(|| {
            self.rows.push(SummaryRow {
                collective,
                is_nonblocking,
                decision: decision.to_owned(),
                by,
                through,
                calls: 0,
                time: Duration::ZERO,
                expected_gain_seconds: 0.0,
            });
            self.rows.len() - 1
        })
    }
}

impl fmt::Display for CallSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<21} {:>10} {:>12} {:>17}  carried out by",
            "collective", "calls", "seconds", "expected gain (s)"
        )?;
        for row in &self.rows {
            writeln!(
                f,
                "{:<21} {:>10} {:>12.6} {:>17.6}  {}",
                row.name(),
                row.calls,
                row.time.as_secs_f64(),
                row.expected_gain_seconds,
                row.decision
            )?;
        }
        let time: Duration = self.rows.iter().map(|row| row.time).sum();
        write!(
            f,
            "{:<21} {:>10} {:>12.6} {:>17.6}",
            "together",
            self.total_calls(),
            time.as_secs_f64(),
            add_up(self.rows.iter().map(|row| row.expected_gain_seconds))
        )?;
        for (place, (by, calls)) in self.calls_by().into_iter().enumerate() {
            let mark = if place == 0 { "\ncalls: " } else { ", " };
            write!(f, "{mark}{calls} {by}")?;
        }
        match self.shared_calls() {
            0 => {}
            calls => write!(f, "; {calls} of them through shared memory")?,
        }
        if self.unserved.is_empty() {
            return Ok(());
        }
        f.write_str("\n")?;
        self.write_unserved(f, time)
    }
}

impl CallSummary {
    /// Writes the calls of collectives that tables do not decide about, with their share of the time in all collectives,
    /// of which the others took `served`.
    fn write_unserved(&self, f: &mut fmt::Formatter<'_>, served: Duration) -> fmt::Result {
        let unserved: Duration = self.unserved.iter().map(|row| row.time).sum();
        let share_of_all = |part: Duration| {
            let whole = served + unserved;
            let share = if whole.is_zero() {
                0.0
            } else {
                part.div_duration_f64(whole)
            };
            format!("{:.1} %", share * 100.0)
        };
        writeln!(
            f,
            "{:<21} {:>10} {:>12} {:>17}  carried out by",
            "collective", "calls", "seconds", "share of the time"
        )?;
        for row in &self.unserved {
            let name = row.collective.name;
            // Some names are wider than their column.
            let width = (21_usize + 10).saturating_sub(name.len());
            writeln!(
                f,
                "{name} {:>width$} {:>12.6} {:>17}  the library: not served ({})",
                row.calls,
                row.time.as_secs_f64(),
                share_of_all(row.time),
                row.collective.reason
            )?;
        }
        write!(
            f,
            "{:<21} {:>10} {:>12.6} {:>17}  of the time in all collectives is not served",
            "together",
            self.unserved.iter().map(|row| row.calls).sum::<u64>(),
            unserved.as_secs_f64(),
            share_of_all(unserved)
        )
    }
}

/// The sum, which is 0 and not -0 without summands.
fn add_up(seconds: impl Iterator<Item = f64>) -> f64 {
    seconds.fold(0.0, |sum, seconds| sum + seconds)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use schedule::Collective;
    use vocabulary::Through;

    use super::{By, CallSummary};
    use crate::{FallbackReason, UnservedCollective, UnservedReason, UnservedRow};

    #[test]
    fn calls_are_counted_by_who_carried_them_out() {
        let mut summary = CallSummary::default();
        assert!(!summary.to_string().contains("calls:"), "{summary}");
        let shape = By::Library(FallbackReason::Shape);
        let mut count = |collective, decision: &str, by, calls| {
            let row = summary.find_or_add_row(collective, decision, by, Through::Mpi);
            summary.rows[row].calls += calls;
            summary.rows[row].expected_gain_seconds += 0.5;
        };
        count(Collective::Bcast, "bcast/linear", By::Table, 3);
        count(Collective::Bcast, "default (shape not measured)", shape, 4);
        count(Collective::Reduce, "reduce/linear", By::Table, 5);
        count(
            Collective::Gather,
            "gather/linear (nearest 1x2)",
            By::Nearest,
            6,
        );
        let text = summary.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].contains(" expected gain (s)  carried out by"),
            "{text}"
        );
        assert!(lines[5].ends_with("     2.000000"), "{text}");
        assert_eq!(
            lines[6],
            "calls: 8 by the table's rules, 4 default (shape not measured), 6 by rules of the nearest measured \
             shape"
        );
        assert_eq!(summary.total_calls(), 18);
        let mut count_through = |through| {
            let row = summary.find_or_add_row(
                Collective::Bcast,
                &format!("bcast/{through:?}"),
                By::Table,
                through,
            );
            summary.rows[row].calls += 2;
        };
        count_through(Through::Mpi);
        count_through(Through::Shared);
        let with_shared = summary.to_string();
        assert!(
            with_shared
                .ends_with(" of the nearest measured shape; 2 of them through shared memory"),
            "{with_shared}"
        );
    }

    #[test]
    fn collectives_that_are_not_served_have_rows_with_their_share() {
        let mut summary = CallSummary::default();
        let row =
            summary.find_or_add_row(Collective::Bcast, "bcast/linear", By::Table, Through::Mpi);
        summary.rows[row].time = Duration::from_secs(1);
        let without = summary.to_string();
        assert!(!without.contains("not served"), "{without}");
        let mut add = |name, reason, calls, milliseconds| {
            summary.unserved.push(UnservedRow {
                collective: UnservedCollective { name, reason },
                calls,
                time: Duration::from_millis(milliseconds),
            });
        };
        add("neighbor_alltoallv", UnservedReason::Neighbourhood, 3, 2500);
        add(
            "reduce_scatter_block_init",
            UnservedReason::Persistent,
            1234567,
            500,
        );
        let text = summary.to_string();
        let added = text.strip_prefix(&without).expect("the same rows before");
        // Columns are apart by any number of spaces.
        let rows = added.lines().map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.join(" ")
        });
        let rows: Vec<String> = rows.collect();
        assert_eq!(
            rows,
            [
                "",
                "collective calls seconds share of the time carried out by",
                "neighbor_alltoallv 3 2.500000 62.5 % the library: not served (neighbourhood collective)",
                "reduce_scatter_block_init 1234567 0.500000 12.5 % the library: not served (persistent)",
                "together 1234570 3.000000 75.0 % of the time in all collectives is not served",
            ]
        );
    }
}
