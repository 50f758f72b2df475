//! The summary: the sizes at which the library's default loses, and the factors.

use std::fmt;

use results::{CellDecision, Ranked, Verdict};
use statistics::geometric_mean;
use table::OperatorClass;
use vocabulary::units::{format_counted, format_seconds};

use crate::measuring::{detectable_sentence, launching_sentence, search_sentence};
use crate::text::{comparison_title, format_factor, format_percent, size_range};
use crate::view::{Basis, Comparison, View};

/// A few lines of plain text for a terminal: one for all comparisons together, then one for each.
pub fn render_summary(view: &View) -> String {
    let mut lines = vec![loss_headline(view)];
    lines.extend(
        view.comparisons
            .iter()
            .map(|comparison| format!("  {}", comparison_line(comparison))),
    );
    lines.extend(view.numerics.iter().map(|cost| format!("{cost}.")));
    lines.extend(time_sentences(view));
    // The other texts are single lines too.
    let sentences = [detectable_sentence(view), search_sentence(view)]
        .into_iter()
        .flatten();
    lines.extend(sentences.map(|text| text.replace('\n', " ")));
    lines.join("\n") + "\n"
}

/// Sentences about the measuring time, its part that confirmed choices and the time of launches beside it; `None` if
/// there was neither.
fn time_sentences(view: &View) -> Option<String> {
    let cost = view.cost;
    let confirming = (cost.confirming_seconds > 0.0).then(|| {
        let share = format_percent(cost.confirming_seconds / cost.seconds);
        format!(", {share} of that to confirm choices in fresh launches")
    });
    let launching = launching_sentence(view).map(|text| format!(" {}", text.replace('\n', " ")));
    (confirming.is_some() || launching.is_some()).then(|| {
        format!(
            "Measuring took {}{}.{}",
            format_seconds(cost.seconds),
            confirming.unwrap_or_default(),
            launching.unwrap_or_default()
        )
    })
}

/// A size at which the default loses, with the best candidate that beats it.
struct DefaultLoss<'a> {
    row: &'a CellDecision,
    best: &'a Ranked,
    /// The default's time divided by that of the best candidate.
    by: f64,
}

/// The numbers of sizes at which the default stays although nothing shows that it is the best.
struct OpenSizes {
    /// Another candidate may be faster, but was not measured in enough fresh launches.
    undecided: usize,
    /// No other candidate was measured.
    alone: usize,
}

impl OpenSizes {
    fn from_decisions<'a>(sizes: impl IntoIterator<Item = &'a CellDecision>) -> Self {
        let (mut undecided, mut alone) = (0, 0);
        for row in sizes {
            match row.verdict {
                Verdict::Unconfirmed | Verdict::TooFewLaunches => undecided += 1,
                Verdict::NoRival | Verdict::DefaultNotMeasured => alone += 1,
                _ => {}
            }
        }
        Self { undecided, alone }
    }
}

/// Shows the numbers above 0 in brackets, after a blank.
impl fmt::Display for OpenSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            ("not decided", self.undecided),
            ("only the default measured", self.alone),
        ];
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        let words: Vec<String> = counts
            .map(|(name, count)| format!("{name}: {count}"))
            .collect();
        if words.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", words.join(", "))
        }
    }
}

fn losses_of_default(comparison: &Comparison) -> Vec<DefaultLoss<'_>> {
    let replaced = comparison.sizes.iter().filter(|row| row.replaces_default());
    let loss = |row| {
        let best = CellDecision::best_rival(row)?;
        let by = best.speedup?.median;
        Some(DefaultLoss { row, best, by })
    };
    replaced.filter_map(loss).collect()
}

/// The greatest loss; of equal ones, that of the smallest size.
fn greatest_loss<'a, 'b>(losses: &'b [DefaultLoss<'a>]) -> Option<&'b DefaultLoss<'a>> {
    losses.iter().rev().max_by(|a, b| a.by.total_cmp(&b.by))
}

/// A sentence about the number of points at which the default loses, and the mean factor.
pub(crate) fn loss_headline(view: &View) -> String {
    let library = &view.provenance.library;
    // In a table, two classes of operators may rest on one measurement.
    let once = |comparison: &&Comparison| {
        view.basis != Basis::TableAlone || comparison.operators.hold_for(OperatorClass::Commutative)
    };
    let comparisons: Vec<_> = view.comparisons.iter().filter(once).collect();
    let points: usize = comparisons
        .iter()
        .map(|comparison| comparison.sizes.len())
        .sum();
    let all: Vec<_> = comparisons
        .into_iter()
        .flat_map(losses_of_default)
        .collect();
    if points == 0 && view.basis == Basis::TableAlone {
        return format!("The table has no times to compare with the default of {library}.");
    }
    if points == 0 {
        return format!("Nothing has been compared with the default of {library} yet.");
    }
    let Some(mean) = geometric_mean(all.iter().map(|loss| loss.by)) else {
        let compared = view.comparisons.iter().filter(once);
        let open = OpenSizes::from_decisions(compared.flat_map(|comparison| &comparison.sizes));
        let points = match points {
            1 => "the one measured point".to_owned(),
            _ => format!("any of {points} measured points"),
        };
        return format!("The default of {library} was not beaten at {points}{open}.");
    };
    format!(
        "The default of {library} loses at {} of {}, there by {} on geometric average.",
        all.len(),
        format_counted(points, "measured point"),
        format_factor(mean),
    )
}

/// A line about one comparison.
pub(crate) fn comparison_line(comparison: &Comparison) -> String {
    let title = comparison_title(comparison);
    let count = comparison.sizes.len();
    if count == 0 {
        return format!("{title}: no times are known");
    }
    let all = losses_of_default(comparison);
    let has_sizes = comparison.collective.has_data();
    let Some(DefaultLoss { row, best, by }) = greatest_loss(&all) else {
        let open = OpenSizes::from_decisions(&comparison.sizes);
        let holding = count - open.undecided - open.alone;
        return match has_sizes {
            true => {
                let sizes = format_counted(count, "size");
                format!("{title}: the default holds at {holding} of {sizes}{open}")
            }
            false if open.undecided > 0 => format!("{title}: not decided"),
            false if open.alone > 0 => format!("{title}: only the default was measured"),
            false => format!("{title}: the default holds"),
        };
    };
    let place = if has_sizes {
        format!(
            " at {} of {} ({}), most at {}",
            all.len(),
            format_counted(count, "size"),
            losing_ranges(comparison).join(", "),
            size_range(row.cell.bytes, row.cell.bytes),
        )
    } else {
        String::new()
    };
    // Tables alone do not say how many launches were compared, or whether in pairs.
    let paired = match best.counts.launches {
        0 => "",
        _ => "median of paired ratios; ",
    };
    format!(
        "{title}: the default loses{place}: {} the time of {} ({paired}medians {} and {})",
        format_factor(*by),
        best.candidate,
        row.ranked_default()
            .map_or_else(String::new, |d| format_seconds(d.median_seconds)),
        format_seconds(best.median_seconds),
    )
}

/// The runs of neighbouring sizes at which the default loses.
fn losing_ranges(comparison: &Comparison) -> Vec<String> {
    comparison
        .sizes
        .chunk_by(|a, b| a.replaces_default() == b.replaces_default())
        .filter(|run| run[0].replaces_default())
        .map(|run| size_range(run[0].cell.bytes, run[run.len() - 1].cell.bytes))
        .collect()
}
