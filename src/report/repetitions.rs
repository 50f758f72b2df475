//! Repetitions that are to be read with care.

use results::{OFTEN_INVALID, OftenInvalid, RepetitionCounts};
use vocabulary::Candidate;
use vocabulary::units::format_count;

use crate::markdown::interval;

/// Biased cells that are named.
const MOST_CELLS: usize = 10;

/// What is unusual of some; nothing where all is as usual.
pub(crate) fn paragraphs(about: &RepetitionCounts) -> Vec<String> {
    let mut paragraphs = Vec::new();
    if about.batched_cells > 0 {
        let cells = match about.batched_cells {
            1 => "a cell".to_owned(),
            many => format!("{} cells", format_count(many as u64)),
        };
        paragraphs.push(format!(
            "Calls in {cells} were too short for the clock: times there are those of up to {} calls\n\
             in a row, divided by their number.",
            format_count(about.most_calls.into()),
        ));
    }
    if about.other_batches > 0 {
        paragraphs.push(format!(
            "{} times a launch of a candidate in a cell was left out, as another number of calls\n\
             was timed together than in most launches of the cell: such times do not compare.",
            format_count(about.other_batches),
        ));
    }
    paragraphs.extend(placebos(about));
    paragraphs
}

/// How the default compares with itself.
fn placebos(about: &RepetitionCounts) -> Option<String> {
    let medians = || about.placebos.iter().map(|(_, ratio)| ratio.median);
    let (least, most) = (medians().reduce(f64::min)?, medians().reduce(f64::max)?);
    let text = format!(
        "`{}`, the default under another name, took {least:.2} to {most:.2} times as long as the\n\
         default; cells with it: {}.",
        Candidate::PLACEBO,
        about.placebos.len()
    );
    let cells = about.biased().take(MOST_CELLS);
    let cells: Vec<String> = cells
        .map(|(cell, ratio)| format!("{cell} ({:.2}, {})", ratio.median, interval(ratio)))
        .collect();
    Some(match about.biased().count() {
        0 => text,
        biased => format!(
            "{text} In {biased} it did not take as long for certain, so that the measurement is\n\
             biased there, and other ratios are wrong by as much: {}.",
            cells.join("; ")
        ),
    })
}

/// What warns of candidates, each with those that it is about.
pub(crate) fn warnings(about: &RepetitionCounts) -> [(String, &[OftenInvalid]); 2] {
    let often = format!(
        "more than {:.0} % of these repetitions were invalid, so that those left may\nnot be typical",
        OFTEN_INVALID * 100.0
    );
    let never = "no repetition of these was valid, so that nothing is known of them and\n\
                 no decision rests on them; give each rank a core of its own, or use\n\
                 `synchronisation: barrier`";
    [
        (often, &about.often_invalid),
        (never.to_owned(), &about.never_valid),
    ]
}
