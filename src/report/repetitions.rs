//! Repetitions that are to be read with care.

use vocabulary::{Candidate, Cell};

use crate::text::grouped;

/// Where a larger share of a candidate's repetitions is invalid, the reader is warned.
pub const OFTEN_INVALID: f64 = 0.1;

/// What to know of the repetitions in cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repetitions {
    /// Cells in which several calls made a repetition, as one was too short for the clock.
    pub batched_cells: usize,
    /// The most calls in one of these repetitions.
    pub most_calls: u32,
    /// Launches of a candidate in a cell that were left out, as another number of calls made a
    /// repetition than in most launches of the cell.
    pub other_batches: u64,
    /// Candidates with a share of more than [`OFTEN_INVALID`] of invalid repetitions, by cell.
    pub often_invalid: Vec<OftenInvalid>,
    /// Candidates of which no repetition is valid, so that nothing is known of them, by cell.
    pub never_valid: Vec<OftenInvalid>,
}

/// A candidate of which many repetitions are invalid, or all.
#[derive(Clone, Debug, PartialEq)]
pub struct OftenInvalid {
    /// Which.
    pub candidate: Candidate,
    /// Where.
    pub cell: Cell,
    /// How many repetitions are invalid.
    pub invalid: u64,
    /// Of how many, these included.
    pub repetitions: u64,
}

/// Paragraphs; nothing where all is as usual.
pub(crate) fn repetitions(about: &Repetitions) -> String {
    let mut text = String::new();
    if about.batched_cells > 0 {
        let cells = match about.batched_cells {
            1 => "a cell".to_owned(),
            many => format!("{} cells", grouped(many as u64)),
        };
        text += &format!(
            "Calls in {cells} were too short for the clock: times there are those of up to {} calls\n\
             in a row, divided by their number.\n\n",
            grouped(about.most_calls.into()),
        );
    }
    if about.other_batches > 0 {
        text += &format!(
            "{} times a launch of a candidate in a cell was left out, as another number of calls\n\
             was timed together than in most launches of the cell: such times do not compare.\n\n",
            grouped(about.other_batches),
        );
    }
    if !about.often_invalid.is_empty() {
        text += &format!(
            "> **Warning:** more than {:.0} % of these repetitions were invalid, so that those left may\n\
             > not be typical:\n>\n",
            OFTEN_INVALID * 100.0
        );
        text += &list(&about.often_invalid);
    }
    if !about.never_valid.is_empty() {
        text += "> **Warning:** no repetition of these was valid, so that nothing is known of them and\n\
                 > no decision rests on them; give each rank a core of its own, or use\n\
                 > `synchronisation: barrier`:\n>\n";
        text += &list(&about.never_valid);
    }
    text
}

fn list(found: &[OftenInvalid]) -> String {
    let line = |found: &OftenInvalid| {
        format!(
            "> - {} in {}: {} of {}\n",
            found.candidate,
            found.cell,
            grouped(found.invalid),
            grouped(found.repetitions)
        )
    };
    found.iter().map(line).collect::<String>() + "\n"
}
