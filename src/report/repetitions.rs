//! Repetitions that are to be read with care.

use results::{OFTEN_INVALID, OftenInvalid, Repetitions};
use vocabulary::units::format_count;

/// What is unusual of some; nothing where all is as usual.
pub(crate) fn paragraphs(about: &Repetitions) -> Vec<String> {
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
    paragraphs
}

/// What warns of candidates, each with those that it is about.
pub(crate) fn warnings(about: &Repetitions) -> [(String, &[OftenInvalid]); 2] {
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
