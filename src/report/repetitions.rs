//! Repetitions that are to be read with care.

use results::{OFTEN_INVALID, OftenInvalid, Repetitions};
use vocabulary::Candidate;
use vocabulary::units::format_count;

use crate::markdown::interval;

/// Paragraphs; nothing where all is as usual.
pub(crate) fn repetitions(about: &Repetitions) -> String {
    let mut text = String::new();
    if about.batched_cells > 0 {
        let cells = match about.batched_cells {
            1 => "a cell".to_owned(),
            many => format!("{} cells", format_count(many as u64)),
        };
        text += &format!(
            "Calls in {cells} were too short for the clock: times there are those of up to {} calls\n\
             in a row, divided by their number.\n\n",
            format_count(about.most_calls.into()),
        );
    }
    if about.other_batches > 0 {
        text += &format!(
            "{} times a launch of a candidate in a cell was left out, as another number of calls\n\
             was timed together than in most launches of the cell: such times do not compare.\n\n",
            format_count(about.other_batches),
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
    text + &placebos(about)
}

fn placebos(about: &Repetitions) -> String {
    let medians = || about.placebos.iter().map(|(_, ratio)| ratio.median);
    let (Some(least), Some(most)) = (medians().reduce(f64::min), medians().reduce(f64::max)) else {
        return String::new();
    };
    let mut text = format!(
        "`{}`, the default under another name, took {least:.2} to {most:.2} times as long as the default,\n\
         in {} cells.\n\n",
        Candidate::PLACEBO,
        about.placebos.len()
    );
    let biased: Vec<String> = about
        .biased()
        .map(|(cell, ratio)| format!("> - {cell}: {:.2} {}\n", ratio.median, interval(ratio)))
        .collect();
    if !biased.is_empty() {
        text += "> **Warning:** in these cells it did not take as long as the default for certain: the\n\
                 > measurement is biased, and other ratios are wrong by as much:\n>\n";
        text += &(biased.concat() + "\n");
    }
    text
}

fn list(found: &[OftenInvalid]) -> String {
    let line = |found: &OftenInvalid| {
        format!(
            "> - {} in {}: {} of {}\n",
            found.candidate,
            found.cell,
            format_count(found.invalid),
            format_count(found.repetitions)
        )
    };
    found.iter().map(line).collect::<String>() + "\n"
}
