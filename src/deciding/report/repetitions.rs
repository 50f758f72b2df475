//! Notes and warnings about repetitions.

use results::{OFTEN_INVALID, OftenInvalid, RepetitionCounts};
use vocabulary::Candidate;
use vocabulary::units::{format_count, format_counted};

use crate::markdown::format_interval;

/// The most biased cells that are named.
const MOST_CELLS: usize = 10;

/// Paragraphs about unusual repetitions; empty if there are none.
pub(crate) fn describe_unusual(about: &RepetitionCounts) -> Vec<String> {
    let mut paragraphs = Vec::new();
    if about.batched_cells > 0 {
        let cells = format_counted(format_count(about.batched_cells as u64), "cell");
        paragraphs.push(format!(
            "Calls in {cells} were too short for the clock: there, up to {} calls were timed together\n\
             and the time was divided by their number.",
            format_count(about.most_calls.into()),
        ));
    }
    if about.other_batches > 0 {
        paragraphs.push(format!(
            "Measurements left out because another number of calls was timed together than in most\n\
             launches of the cell, so that the times cannot be compared: {}.",
            format_count(about.other_batches),
        ));
    }
    paragraphs.extend(describe_placebos(about));
    paragraphs
}

/// A paragraph about the placebo's time beside the default's.
fn describe_placebos(about: &RepetitionCounts) -> Option<String> {
    let medians = || about.placebos.iter().map(|(_, ratio)| ratio.median);
    let (least, most) = (medians().reduce(f64::min)?, medians().reduce(f64::max)?);
    let text = format!(
        "`{}`, the default under another name, took {least:.2} to {most:.2} times as long as the\n\
         default; cells with it: {}.",
        Candidate::PLACEBO,
        about.placebos.len()
    );
    let cells = about.biased_cells().take(MOST_CELLS);
    let cells: Vec<String> = cells
        .map(|(cell, ratio)| format!("{cell} ({:.2}, {})", ratio.median, format_interval(ratio)))
        .collect();
    Some(match about.biased_cells().count() {
        0 => text,
        biased => format!(
            "{text} In {biased} of them the difference is significant: measurements there are biased,\n\
             and other ratios are wrong by the same factor: {}.",
            cells.join("; ")
        ),
    })
}

/// The warnings about invalid repetitions, each with its candidates.
pub(crate) fn invalid_warnings(about: &RepetitionCounts) -> [(String, &[OftenInvalid]); 2] {
    let often = format!(
        "more than {:.0} % of these candidates' repetitions were invalid, so the others may\nnot be typical",
        OFTEN_INVALID * 100.0
    );
    let never = "these candidates have no valid repetition and take part in no decision;\n\
                 give each rank a core of its own, or use `synchronisation: barrier`";
    [
        (often, &about.often_invalid),
        (never.to_owned(), &about.never_valid),
    ]
}
