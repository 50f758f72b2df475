//! Where the library's default loses, and by how much.

use table::OperatorClass;
use vocabulary::units::format_seconds;

use crate::cells::Basis;
use crate::measuring::search;
use crate::text::{factor, size_range, title};
use crate::view::{Best, Comparison, SizeRow, View};

/// A few plain lines for a terminal: one for the whole, one a comparison.
pub fn render_summary(view: &View) -> String {
    let mut lines = vec![headline(view)];
    lines.extend(
        view.comparisons
            .iter()
            .map(|comparison| format!("  {}", line(comparison))),
    );
    // On one line, as all others are.
    lines.extend(search(view).map(|text| text.replace('\n', " ")));
    lines.join("\n") + "\n"
}

/// A replaced default and what replaces it.
struct Loss<'a> {
    row: &'a SizeRow,
    best: &'a Best,
}

fn losses(comparison: &Comparison) -> Vec<Loss<'_>> {
    let replaced = comparison
        .sizes
        .iter()
        .filter(|row| row.verdict.replaces_default());
    replaced
        .filter_map(|row| row.best.as_ref().map(|best| Loss { row, best }))
        .collect()
}

/// The greatest loss; the smallest size of equal ones.
fn worst<'a, 'b>(losses: &'b [Loss<'a>]) -> Option<&'b Loss<'a>> {
    losses
        .iter()
        .rev()
        .max_by(|a, b| a.best.speedup.value.total_cmp(&b.best.speedup.value))
}

/// How often the default loses in all, and by how much.
pub(crate) fn headline(view: &View) -> String {
    let library = &view.provenance.library;
    // A cell decided for two operator classes was measured once.
    let once = |comparison: &&Comparison| comparison.operators.cover(OperatorClass::Commutative);
    let comparisons: Vec<_> = view.comparisons.iter().filter(once).collect();
    let points: usize = comparisons
        .iter()
        .map(|comparison| comparison.sizes.len())
        .sum();
    let all: Vec<_> = comparisons.into_iter().flat_map(losses).collect();
    if points == 0 && view.basis == Basis::TableAlone {
        return format!("The table shows no times beside those of the default of {library}.");
    }
    if points == 0 {
        return format!("Nothing has been compared with the default of {library} yet.");
    }
    if all.is_empty() {
        return format!(
            "The default of {library} was not beaten at any of {points} measured points."
        );
    }
    let logarithms: f64 = all.iter().map(|loss| loss.best.speedup.value.ln()).sum();
    let mean = (logarithms / all.len() as f64).exp();
    format!(
        "The default of {library} loses at {} of {points} measured points, there by {} on \
         geometric average.",
        all.len(),
        factor(mean),
    )
}

/// One comparison in a line.
pub(crate) fn line(comparison: &Comparison) -> String {
    let title = title(comparison);
    let count = comparison.sizes.len();
    if count == 0 {
        return format!("{title}: no times are known");
    }
    let all = losses(comparison);
    let has_sizes = comparison.collective.has_data();
    let Some(Loss { row, best }) = worst(&all) else {
        let holds = format!("{title}: the default holds");
        return match has_sizes {
            true => format!("{holds} at all {count} sizes"),
            false => holds,
        };
    };
    let place = match has_sizes {
        true => format!(
            " at {} of {count} sizes ({}), most at {}",
            all.len(),
            ranges(comparison).join(", "),
            size_range(row.bytes, row.bytes),
        ),
        false => String::new(),
    };
    format!(
        "{title}: the default loses{place}: {} the time of {} ({} instead of {})",
        factor(best.speedup.value),
        best.candidate,
        format_seconds(row.default_seconds),
        format_seconds(best.seconds),
    )
}

/// The runs of neighbouring sizes at which the default loses.
fn ranges(comparison: &Comparison) -> Vec<String> {
    comparison
        .sizes
        .chunk_by(|a, b| a.verdict.replaces_default() == b.verdict.replaces_default())
        .filter(|run| run[0].verdict.replaces_default())
        .map(|run| size_range(run[0].bytes, run[run.len() - 1].bytes))
        .collect()
}
