//! What was decided and done, counted.

use std::fmt;

use schedule::Collective;

/// The calls of one kind, as one rank has seen them.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was called.
    pub collective: Collective,
    /// The algorithm that carried it out, with its parameters, or why it was the library's own.
    pub decision: String,
    /// Whether one of our algorithms carried it out.
    pub is_ours: bool,
    /// How often.
    pub calls: u64,
    /// How long all of them took, in seconds, waiting for other ranks included; 0 if not timed.
    pub seconds: f64,
    /// How much longer the library's default would have taken by the table's times, in seconds: waiting for
    /// other ranks counts for nothing. 0 where the table has no times, or calls are not timed.
    pub gain_seconds: f64,
}

/// All calls that one rank has made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// By collective and decision, in the order of first calls.
    pub rows: Vec<Row>,
}

impl Summary {
    /// Calls of any kind.
    pub fn calls(&self) -> u64 {
        self.rows.iter().map(|row| row.calls).sum()
    }

    /// The row of a decision, made if it is not there.
    pub(crate) fn row(&mut self, collective: Collective, decision: &str, is_ours: bool) -> usize {
        let found = self
            .rows
            .iter()
            .position(|row| row.collective == collective && row.decision == decision);
        found.unwrap_or_else(|| {
            self.rows.push(Row {
                collective,
                decision: decision.to_owned(),
                is_ours,
                calls: 0,
                seconds: 0.0,
                gain_seconds: 0.0,
            });
            self.rows.len() - 1
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<21} {:>10} {:>12} {:>12}  carried out by",
            "collective", "calls", "seconds", "gain"
        )?;
        for row in &self.rows {
            writeln!(
                f,
                "{:<21} {:>10} {:>12.6} {:>12.6}  {}",
                row.collective.name(),
                row.calls,
                row.seconds,
                row.gain_seconds,
                row.decision
            )?;
        }
        let sum = |of: fn(&Row) -> f64| {
            self.rows
                .iter()
                .map(of)
                .fold(0.0, |sum, seconds| sum + seconds)
        };
        write!(
            f,
            "{:<21} {:>10} {:>12.6} {:>12.6}",
            "together",
            self.calls(),
            sum(|row| row.seconds),
            sum(|row| row.gain_seconds)
        )
    }
}
