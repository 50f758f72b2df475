//! The text of a table, laid out for review: one line per rule, evidence in columns.

use std::fmt::{self, Write as _};

use vocabulary::Candidate;
use vocabulary::units::format_bytes;

use crate::decimal::format_scaled;
use crate::parse::FORMAT_NAME;
use crate::repair::merge_cut_rules;
use crate::{
    Confidence, Deployments, MeasuredPoint, Operators, Provenance, Rule, RuleSource, ShapeRules,
    Table,
};
use crate::{candidate_times, message_size, scalar::yaml_scalar, verdicts};

const HEADER: &str = "\
# A decision table of colltune: which candidate to use for which messages.
# A rule holds from its size up to where the next rule starts; `default` is the library's choice.
# Speed-ups and `default_microseconds` refer to that default; between the measured sizes, times
# are interpolated. Ask it with `colltune lookup`. Entries with `deployment: library` choose among the
# library's own algorithms alone, for `colltune export`; `any` is for both.
";

const SECTION_HEADER: &str = "\
# For nonblocking calls such as MPI_Ibcast; `default` is the library's nonblocking one.
nonblocking:
";

/// The width at which lists are wrapped.
const LINE_WIDTH: usize = 100;

impl Table {
    /// The text of the table. Equal tables have equal texts, and the text is read back as an equal table if this table
    /// obeys the rules of [`Table`], as [`Table::save`] ensures.
    pub fn to_yaml(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{HEADER}format: {FORMAT_NAME} {}\nname: {}\n",
            self.format_version(),
            yaml_scalar(&self.name)
        )?;
        Body(self).fmt(f)?;
        if let Some(section) = &self.nonblocking {
            f.write_str(SECTION_HEADER)?;
            for line in Body(section).to_string().lines() {
                writeln!(f, "  {line}")?;
            }
        }
        verdicts::write_verdicts(f, &self.verdicts)
    }
}

/// The provenance and the rules of a table.
struct Body<'t>(&'t Table);

impl fmt::Display for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(table) = self;
        write_provenance(f, &table.provenance)?;
        if table.collectives.is_empty() {
            return f.write_str("collectives: {}\n");
        }
        f.write_str("collectives:\n")?;
        for (collective, entries) in &table.collectives {
            writeln!(
                f,
                "  {collective}:\n    message_size: {}",
                message_size(*collective)
            )?;
            if entries.is_empty() {
                f.write_str("    shapes: []\n")?;
                continue;
            }
            f.write_str("    shapes:\n")?;
            for entry in entries {
                // Collectives that combine nothing have no class of operators.
                let combines = collective.is_reduction() || entry.operators != Operators::Any;
                write_shape_rules(f, entry, combines)?;
            }
        }
        Ok(())
    }
}

fn write_provenance(f: &mut fmt::Formatter<'_>, provenance: &Provenance) -> fmt::Result {
    let Provenance {
        campaign,
        store,
        library,
        colltune,
        date,
        hosts,
        cpu,
        networks,
        launches,
        pattern,
        distributions,
        min_confidence,
        numerics,
        warnings,
    } = provenance;
    writeln!(f, "provenance:")?;
    writeln!(f, "  campaign: {}", yaml_scalar(campaign))?;
    writeln!(f, "  store: {}", yaml_scalar(store))?;
    let (name, version) = (yaml_scalar(&library.name), yaml_scalar(&library.version));
    writeln!(f, "  library: {{name: {name}, version: {version}}}")?;
    writeln!(f, "  colltune: {}", yaml_scalar(colltune))?;
    writeln!(f, "  date: {}", yaml_scalar(date))?;
    let hosts: Vec<_> = hosts
        .iter()
        .map(|host| yaml_scalar(host).into_owned())
        .collect();
    write_wrapped_list(f, "  hosts: [", &hosts, "]\n")?;
    writeln!(f, "  cpu: {}", yaml_scalar(cpu))?;
    if !networks.is_empty() {
        let networks: Vec<_> = networks
            .iter()
            .map(|text| yaml_scalar(text).into_owned())
            .collect();
        write_wrapped_list(f, "  networks: [", &networks, "]\n")?;
    }
    writeln!(f, "  launches: {launches}")?;
    if !pattern.is_together() {
        writeln!(f, "  pattern: {pattern}")?;
    }
    if !distributions.is_empty() {
        let names: Vec<_> = distributions.iter().map(|known| known.name()).collect();
        writeln!(f, "  distributions: [{}]", names.join(", "))?;
    }
    if *min_confidence != Confidence::default() {
        writeln!(f, "  min_confidence: {min_confidence}")?;
    }
    if !numerics.is_none() {
        writeln!(f, "  numerics: {numerics}")?;
    }
    if warnings.is_empty() {
        return writeln!(f, "  warnings: []");
    }
    writeln!(f, "  warnings:")?;
    warnings
        .iter()
        .try_for_each(|warning| writeln!(f, "    - {}", yaml_scalar(warning)))
}

fn write_shape_rules(
    f: &mut fmt::Formatter<'_>,
    entry: &ShapeRules,
    combines: bool,
) -> fmt::Result {
    let ShapeRules {
        shape,
        order,
        operators,
        deployments,
        source,
        rules,
        measured,
        candidates,
    } = entry;
    writeln!(
        f,
        "      - nodes: {}\n        ppn: {}",
        shape.nodes, shape.ppn
    )?;
    if let Some(order) = order.if_known() {
        writeln!(f, "        order: {order}")?;
    }
    if combines {
        writeln!(f, "        operators: {operators}")?;
    }
    if *source != RuleSource::Measured {
        writeln!(f, "        source: {source}")?;
    }
    if *deployments != Deployments::Colltune {
        writeln!(f, "        deployment: {deployments}")?;
    }
    let rules = &merge_cut_rules(rules);
    if rules.is_empty() {
        writeln!(f, "        rules: []")?;
    } else {
        writeln!(f, "        rules:")?;
    }
    let sizes: Vec<_> = rules
        .iter()
        .map(|rule| format_bytes(rule.from_bytes))
        .collect();
    let width = sizes.iter().map(String::len).max().unwrap_or(0) + 1;
    for (rule, size) in rules.iter().zip(sizes) {
        writeln!(
            f,
            "          - {{from: {:<width$} {}}}",
            format!("{size},"),
            choice_text(rule)?
        )?;
    }
    write_measured_columns(f, measured)?;
    let measured_sizes: Vec<u64> = measured.iter().map(|point| point.bytes).collect();
    candidate_times::write_candidate_times(f, candidates, &measured_sizes)
}

fn choice_text(rule: &Rule) -> Result<String, fmt::Error> {
    let Rule {
        candidate: chosen,
        speedup,
        confidence,
        confirmed,
        ..
    } = rule;
    let mut text = candidate_text(chosen)?;
    if let Some(ratio) = speedup {
        write!(text, ", speedup: {ratio}")?;
    }
    write!(text, ", confidence: {confidence}")?;
    if *confirmed {
        text += ", confirmed: true";
    }
    Ok(text)
}

/// A candidate's name and parameters.
pub(crate) fn candidate_text(candidate: &Candidate) -> Result<String, fmt::Error> {
    let mut text = format!("candidate: {}", yaml_scalar(candidate.algorithm()));
    for (key, value) in candidate.parameters().given_parameters() {
        match key {
            // The values of these keys are ids; other values are numbers.
            "reduce" | "bcast" | "node" | "network" => {
                write!(text, ", {key}: {}", yaml_scalar(&value))?
            }
            _ => write!(text, ", {key}: {value}")?,
        }
    }
    Ok(text)
}

/// Rows with aligned columns, one per measured size. The row of speed-ups is left out if each is the ratio of its
/// times.
fn write_measured_columns(f: &mut fmt::Formatter<'_>, points: &[MeasuredPoint]) -> fmt::Result {
    if points.is_empty() {
        return Ok(());
    }
    let row = |cell: fn(&MeasuredPoint) -> String| points.iter().map(cell).collect::<Vec<_>>();
    let mut rows = vec![
        (
            "bytes:               ",
            row(|point| format_bytes(point.bytes)),
        ),
        (
            "microseconds:        ",
            row(|point| format_scaled(point.seconds, 6)),
        ),
        (
            "default_microseconds:",
            row(|point| format_scaled(point.default_seconds, 6)),
        ),
    ];
    if !points.iter().all(MeasuredPoint::is_ratio_of_times) {
        let speedups = row(|point| format_scaled(point.speedup, 0));
        rows.push(("speedup:             ", speedups));
    }
    let width = rows
        .iter()
        .flat_map(|(_, cells)| cells)
        .map(String::len)
        .max()
        .unwrap_or(0);
    writeln!(f, "        measured:")?;
    for (name, texts) in rows {
        let cells: Vec<_> = texts.iter().map(|cell| format!("{cell:>width$}")).collect();
        write_wrapped_list(f, &format!("          {name} ["), &cells, "]\n")?;
    }
    Ok(())
}

/// Writes a list between `start` and `end`; where a line is full, the list continues under its first item.
pub(crate) fn write_wrapped_list(
    f: &mut fmt::Formatter<'_>,
    start: &str,
    items: &[String],
    end: &str,
) -> fmt::Result {
    f.write_str(start)?;
    let mut column = start.len();
    for (i, item) in items.iter().enumerate() {
        let length = item.chars().count() + 2;
        if i > 0 && column + length > LINE_WIDTH {
            write!(f, ",\n{:1$}", "", start.len())?;
            column = start.len();
        } else if i > 0 {
            f.write_str(", ")?;
        }
        f.write_str(item)?;
        column += length;
    }
    f.write_str(end)
}
