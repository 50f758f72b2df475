//! A report as Markdown that is readable as plain text.

use printable::Plain;
use results::{BlockComparison, CellDecision};
use statistics::PairedRatio;
use table::{Lacks, Operators, Rule};
use vocabulary::Candidate;
use vocabulary::units::{format_bytes, format_counted, format_seconds};

use crate::directions::direction_sentences;
use crate::expected::model_section;
use crate::grid::{TextTable, text_table};
use crate::measuring::measuring_section;
use crate::pairs::pairs_section;
use crate::summary::{comparison_line, loss_headline};
use crate::text::{
    NONE, comparison_title, format_factor, format_percent, format_quantity, inline_code,
    markdown_prose, or_none, short_name, without_collective,
};
use crate::view::{Basis, Comparison, View};

/// The notice in a report on a table alone.
pub(crate) const TABLE_ALONE: &str = "\
This report is made from a table alone: it has the table's rules, and the median times of the default\n\
and of the table's choices. Intervals, other candidates, block sizes, the machine and failures are in\n\
the store that the table was made from.";

/// Renders a report, with a line end at its end.
pub fn render_markdown(view: &View) -> String {
    let found: &[fn(&View) -> String] = match view.basis {
        Basis::TableAlone => &[],
        Basis::Measurements => &[
            pairs_section,
            blocks_section,
            model_section,
            machine_section,
            failures_section,
        ],
    };
    let first: [fn(&View) -> String; 3] = [header_section, summary_section, decisions_section];
    let sections = first.iter().chain(found);
    let text: String = sections.map(|section| section(view)).collect();
    // Names that are not passed through `markdown_prose` or `inline_code` may have unprintable characters, too.
    Plain((text + &measuring_section(view)).trim_end()).to_string() + "\n"
}

fn header_section(view: &View) -> String {
    let provenance = &view.provenance;
    let library = provenance.library.to_string();
    let subject = if provenance.hosts.is_empty() {
        format!("For {library}")
    } else {
        format!("{library} on {}", provenance.hosts.join(", "))
    };
    let mut text = format!(
        "# colltune report: {}\n\n{}, {}, colltune {}.\n\n",
        markdown_prose(&view.name),
        markdown_prose(&subject),
        markdown_prose(&provenance.date),
        markdown_prose(&provenance.colltune),
    );
    if view.basis == Basis::TableAlone {
        text += &format!("{TABLE_ALONE}\n\n");
    }
    for warning in &provenance.warnings {
        text += &format!(
            "> **Warning:** {}.\n>\n",
            markdown_prose(warning).trim_end_matches('.')
        );
    }
    text.trim_end_matches(">\n").trim_end().to_owned() + "\n\n"
}

fn summary_section(view: &View) -> String {
    let mut text = format!("## Summary\n\n{}\n\n", markdown_prose(&loss_headline(view)));
    for comparison in &view.comparisons {
        text += &format!("- {}.\n", markdown_prose(&comparison_line(comparison)));
    }
    for cost in &view.numerics {
        text += &format!("- {}.\n", markdown_prose(&cost.to_string()));
    }
    if !view.failures.is_empty() {
        let failures = format_counted(view.failures.len(), "failure");
        text += &format!("- {failures}: see below.\n");
    }
    text + "\n"
}

/// The explanation of the tables of decisions.
pub(crate) const DECISIONS: &str = "\
Times are medians over launches of the slowest rank's completion time. The speed-up is\n\
the default's time divided by the candidate's, paired inside launches: the median and its\n\
interval over launches.\n\n\
The default is called faster where the interval lies below 1, and as fast within noise where\n\
it includes 1. The gain is immaterial where the interval lies above 1 but the median gain is\n\
less than the campaign asks for. A candidate chosen instead of the best one beats the\n\
default and is about as fast as the fastest that does.\n\n\
Where choices are confirmed, the times shown are from fresh launches, in the campaign's own pattern of\n\
calls; the speed-up of a confirmed candidate is that in the pattern in which it gains least.\n\n\
By default, rules that are not confirmed or have low confidence are not deployed: the default stays\n\
there, in programs and in exported files.\n\n\
For reductions, `bits` says what decides how contributions are bracketed, and so the last bits of a\n\
rounded result, and the depth: a sum's rounding error is at most about depth times epsilon times the\n\
sum of the absolute values. It is unknown for what the library carries out.";

fn decisions_section(view: &View) -> String {
    let mut text = "## Decisions\n\n".to_owned();
    if view.basis == Basis::Measurements {
        text += &format!("{DECISIONS}\n\n");
    }
    for comparison in &view.comparisons {
        text += &format!("### {}\n\n", comparison_title(comparison));
        text += &format!("{}\n\n", measured_with(comparison));
        if !comparison.sizes.is_empty() {
            text += &sizes_table(view, &comparison.sizes).to_markdown();
        }
        text += "Rules:\n\n";
        text += &rules_table(comparison, &comparison.rules, &comparison.lacks).to_markdown();
        for of_library in &comparison.library_rules {
            let title = library_rules_title(of_library.operators, comparison);
            text += &format!("Rules {title}:\n\n");
            text += &rules_table(comparison, &of_library.rules, &of_library.lacks).to_markdown();
        }
    }
    text
}

/// The title of rules for the library's own settings, without its first word.
pub(crate) fn library_rules_title(operators: Operators, comparison: &Comparison) -> String {
    let text = "for the library's own settings";
    match operators {
        _ if operators == comparison.operators => text.to_owned(),
        Operators::Any => format!("{text}, all operators"),
        class => format!("{text}, {class} operators"),
    }
}

/// The meaning of sizes, the datatype and operator, and the coverage of the intervals of a comparison.
pub(crate) fn measured_with(comparison: &Comparison) -> String {
    let mut text = format!("Size: {}", table::message_size(comparison.collective));
    if let Some(operator) = comparison.operator {
        let datatype = comparison.datatype.name();
        text += &format!("; measured with {datatype} {}", operator.name());
    }
    let sizes = comparison.sizes.iter();
    let coverages = sizes
        .filter_map(|row| row.best_rival()?.speedup)
        .map(|speedup| speedup.interval.coverage);
    let least = coverages.min_by(f64::total_cmp);
    match least.filter(|least| *least > 0.0) {
        Some(least) => text + &format!("; intervals cover {} or more.", format_percent(least)),
        None => text + ".",
    }
}

pub(crate) fn sizes_table(view: &View, rows: &[CellDecision]) -> TextTable {
    let columns = "bytes> | default> | best other candidate | its time> | speed-up> | \
                   interval> | verdict";
    let rows = rows.iter().map(|row| {
        let best = row
            .best_rival()
            .and_then(|rival| Some((rival, rival.speedup?)));
        let [candidate, time, speedup, interval] = match best {
            Some((rival, speedup)) => [
                short_name(&rival.candidate),
                format_seconds(rival.median_seconds),
                format_factor(speedup.median),
                format_interval(&speedup),
            ],
            None => [NONE; 4].map(str::to_owned),
        };
        [
            format_bytes(row.cell.bytes),
            or_none(row.ranked_default(), |default| {
                format_seconds(default.median_seconds)
            }),
            candidate,
            time,
            speedup,
            interval,
            view.full_verdict(row),
        ]
    });
    text_table(columns, rows)
}

/// The interval of a ratio, if there is one.
pub(crate) fn format_interval(ratio: &PairedRatio) -> String {
    or_none(ratio.interval.known_ends(), |ends| {
        ends.map(format_factor).join(" .. ")
    })
}

/// A table of rules for the calls of a comparison, with the requirements that they fail.
pub(crate) fn rules_table(comparison: &Comparison, rules: &[Rule], lacks: &Lacks) -> TextTable {
    let columns = "from> | below> | candidate | bits? | speed-up> | confidence | deployed";
    let ends = rules
        .iter()
        .skip(1)
        .map(|rule| format_bytes(rule.from_bytes));
    let rows = rules
        .iter()
        .zip(ends.chain([NONE.to_owned()]))
        .map(|(rule, end)| {
            [
                format_bytes(rule.from_bytes),
                end,
                short_name(&rule.candidate),
                bits_of_rule(comparison, &rule.candidate),
                or_none(rule.speedup, format_factor),
                if rule.confirmed {
                    format!("{}, confirmed", rule.confidence)
                } else {
                    rule.confidence.to_string()
                },
                match (lacks.get(&rule.from_bytes), &rule.candidate) {
                    (_, Candidate::Default) => NONE.to_owned(),
                    (None, _) => "yes".to_owned(),
                    (Some(lack), _) => format!("no: {}", lack.reason()),
                },
            ]
        });
    text_table(columns, rows)
}

/// What decides the bits of a reduction's result, and the depth; empty if nothing is combined.
fn bits_of_rule(comparison: &Comparison, candidate: &Candidate) -> String {
    if !comparison.collective.is_reduction() {
        return String::new();
    }
    let Some(by) = candidate.bracketed_by() else {
        return "unknown".to_owned();
    };
    let commutes = comparison.operators != Operators::Noncommutative;
    let depth = candidate.combining_depth(comparison.shape, comparison.order, commutes);
    let depth = depth.map_or_else(String::new, |depth| format!("; depth {depth}"));
    [&["ranks"], &by[..]].concat().join(", ") + &depth
}

fn blocks_section(view: &View) -> String {
    let head = "## Block sizes: predicted against measured\n\n";
    let compared = view.comparisons.iter().filter(|of| !of.blocks.is_empty());
    let tables = compared.map(|of| {
        let rows = blocks_table(&of.blocks).to_markdown();
        format!("### {}: blocks\n\n{rows}", comparison_title(of))
    });
    match &*tables.collect::<String>() {
        "" => {
            format!("{head}No pipelined algorithm was measured with more than one block size.\n\n")
        }
        tables => format!(
            "{head}Predicted by the pipelining lemma from the machine parameters below. The loss is the extra\n\
             time when following the prediction.\n\n{tables}"
        ),
    }
}

pub(crate) fn blocks_table<'r>(rows: impl IntoIterator<Item = &'r BlockComparison>) -> TextTable {
    let columns = "algorithm | bytes> | predicted block> | measured best block> | \
                   time at predicted> | time at measured> | loss>";
    let rows = rows.into_iter().map(|row| {
        let at_predicted = row.seconds_at_predicted();
        let loss = at_predicted.map(|time| time / row.measured.seconds - 1.0);
        [
            without_collective(&row.algorithm),
            format_bytes(row.cell.bytes),
            or_none(row.predicted, |block| format_bytes(block.block_bytes)),
            format_bytes(row.measured.block_bytes),
            at_predicted.map_or_else(|| "not measured".to_owned(), format_seconds),
            format_seconds(row.measured.seconds),
            or_none(loss, format_percent),
        ]
    });
    text_table(columns, rows)
}

fn machine_section(view: &View) -> String {
    let mut text = "## Machine parameters\n\n".to_owned();
    if view.parameters.is_empty() {
        return text + "None were fitted.\n\n";
    }
    text += "Values are medians over launches, each of which is fitted separately. The interval of the median\n\
             covers 96.9 % from 6 launches, 75 % from 3 and 50 % from 2; a single launch has none. The\n\
             residual is the typical relative error at the measured points.\n\n";
    let identified = identified_table(view);
    if !identified.rows.is_empty() {
        text += &identified.to_markdown();
    }
    for line in list_reservations(view).chain(direction_sentences(view)) {
        text += &format!("- {line}\n");
    }
    text.trim_end().to_owned() + "\n\n"
}

/// The parameters that the measurements do not determine, with reasons, and the sizes at which parameters do not hold.
pub(crate) fn list_reservations(view: &View) -> impl Iterator<Item = String> {
    let open = view
        .parameters
        .iter()
        .filter(|known| known.value().is_none());
    let open = open.map(|known| format!("{}: not identified: {}.", known.name, known.status));
    open.chain(view.poor_predictions.iter().map(|poor| format!("{poor}.")))
}

/// The parameters that the measurements determine.
pub(crate) fn identified_table(view: &View) -> TextTable {
    let columns = "parameter | value> | interval> | residual>";
    let rows = view.parameters.iter().filter_map(|parameter| {
        let known = parameter.estimate.filter(|_| parameter.value().is_some())?;
        let text = |value| format_quantity(value, parameter.unit);
        let interval = if known.low < known.high {
            [known.low, known.high].map(text).join(" .. ")
        } else {
            NONE.to_owned()
        };
        Some([
            parameter.name.clone(),
            text(known.value),
            interval,
            format_percent(known.residual),
        ])
    });
    text_table(columns, rows)
}

fn failures_section(view: &View) -> String {
    let mut text = "## Failures\n\n".to_owned();
    if view.failures.is_empty() {
        return text + "No candidate failed.\n\n";
    }
    text += "Tables do not use these candidates in these cells, and they are not measured there again\n\
             without `--retry-failed`.\n\n";
    for failure in &view.failures {
        text += &format!(
            "- {} in {}, launch {}: {}: {}\n",
            markdown_prose(&failure.candidate.to_string()),
            failure.subject,
            failure.launch,
            failure.kind.name(),
            inline_code(&failure.message)
        );
    }
    text + "\n"
}
