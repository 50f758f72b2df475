//! Classic rules files, of the 4.x and 5.0 series.

use std::fmt::Write as _;

use libraries::LibraryName;
use schedule::Collective;
use table::Table;
use vocabulary::units::format_counted;

use super::algorithms::{self, Measure, message_measure, sizes_in_files};
use super::plan::{PlannedRules, RulesPlan};
use super::reader::{self, File, ReadRule};
use crate::choices::choose_release;
use crate::{ExportError, Exported, Format, Options, RanksRules, header};

/// The rules file of `coll_tuned_dynamic_rules_filename`.
#[derive(Clone, Copy, Debug)]
pub struct Classic;

impl Format for Classic {
    fn name(&self) -> &'static str {
        "openmpi"
    }

    fn suffix(&self) -> &'static str {
        "conf"
    }

    fn releases(&self) -> &'static str {
        "Open MPI 4.0, 4.1 and 5.0"
    }

    fn render_deployed(
        &self,
        table: &Table,
        notes: Vec<String>,
        options: &Options,
    ) -> Result<Exported, ExportError> {
        let knows = |series| matches!(series, (4, 0 | 1) | (5, 0));
        let library = choose_release(LibraryName::OpenMpi, self, knows, table, options)?;
        let mut plan = RulesPlan::from_table(table, library, options, |_| true);
        plan.notes.splice(0..0, notes);
        plan.collectives.retain(|planned| !planned.is_silent());
        let mut text = head_comment(table, &plan);
        if plan.limits_requests() {
            text.insert_str(0, &format!("{}\n", reader::HEADER));
        }
        text += &rules_text(&plan.collectives, plan.limits_requests());
        let file = reader::read_rules(&text)?;
        for planned in &plan.collectives {
            compare_with_plan(planned, &file)?;
        }
        Ok(Exported {
            text,
            companion: None,
            variables: super::variables_for_release(&plan.library.version),
            notes: plan.notes,
            decides: !plan.collectives.is_empty(),
        })
    }

    fn validate(&self, text: &str, _: &Options) -> Result<(), ExportError> {
        reader::read_rules(text).map(drop)
    }

    fn variable_names(&self) -> Vec<String> {
        super::own_variables()
    }

    fn shared_variables(&self) -> &'static [(&'static str, &'static str)] {
        &[super::HAN]
    }
}

/// The file's origin and instructions, as comments.
fn head_comment(table: &Table, plan: &RulesPlan) -> String {
    let purpose = format!(
        "Algorithms of collectives for Open MPI {} (component coll/tuned).",
        plan.library.version
    );
    let mut text = header::head_text(purpose, table, "# ");
    text += "#\n# For one job:\n#   mpirun --mca coll_tuned_use_dynamic_rules 1 \\\n\
             #          --mca coll_tuned_dynamic_rules_filename THIS-FILE ...\n\
             # For every job of a site, two lines in PREFIX/etc/openmpi-mca-params.conf:\n\
             #   coll_tuned_use_dynamic_rules = 1\n\
             #   coll_tuned_dynamic_rules_filename = /ABSOLUTE/PATH/OF/THIS-FILE\n";
    let mut notes = vec![
        "The path must be the same on all nodes. Open MPI silently ignores a file that it cannot \
         read, and reads none without `coll_tuned_use_dynamic_rules`; `colltune doctor` says what it does."
            .to_owned(),
        super::note_on_forced_algorithms(&plan.library.version).to_owned(),
    ];
    if super::has_han_first(&plan.library.version) {
        notes.push(format!(
            "Over several nodes the component han comes first in this series: add `--mca coll \
             ^han`, or the line `coll = ^han`. {}",
            super::ONE_LIST
        ));
    }
    let (last, from) = if plan.limits_requests() {
        (
            ", requests under way (0: no limit)",
            " Releases before 4.1.8 and 5.0.7 ignore the whole file because of its first line, which must stay the \
             first.",
        )
    } else {
        ("", "")
    };
    notes.push(format!(
        "A row is: smallest message, algorithm, fanout, segment size in bytes{last}. Algorithm 0 leaves \
         the decision to Open MPI; so do numbers of ranks without a rule, and collectives that are \
         not listed.{from}"
    ));
    text += "#\n";
    text += &header::wrap_comment(&notes, "# ");
    if !plan.notes.is_empty() {
        text += "#\n";
        text += &header::wrap_comment(&plan.notes, "# ");
    }
    text + "\n"
}

/// The rules. If there are none, the file leaves barriers to the library, which changes nothing: an empty list might
/// count as an error.
fn rules_text(collectives: &[PlannedRules], with_requests: bool) -> String {
    if collectives.is_empty() {
        return "1 # collective\n\n6 # barrier\n1 # communicator size\n1 1 # any ranks: 1 row\n\
                0 0 0 0\n"
            .to_owned();
    }
    let mut text = format!("{} # collectives\n", collectives.len());
    for planned in collectives {
        let collective = planned.collective;
        let sizes = communicator_sizes(planned);
        // Writing to a string cannot fail.
        _ = write!(
            text,
            "\n{} # {collective}: {}\n{} # communicator sizes\n",
            planned.number,
            measured_in(collective),
            sizes.len()
        );
        for (size, ranks) in sizes {
            let rows = rows_for_size(collective, ranks);
            let from = match ranks {
                Some(ranks) if ranks.shapes.is_empty() => "shapes disagree".to_owned(),
                Some(ranks) => {
                    let shapes: Vec<String> =
                        ranks.shapes.iter().map(ToString::to_string).collect();
                    format!("the table's rules for {}", shapes.join(" and "))
                }
                None => "left to Open MPI".to_owned(),
            };
            let least = format_counted(size, "rank");
            _ = writeln!(text, "{size} {} # from {least} on: {from}", rows.len());
            for NamedRow {
                rule,
                algorithm: name,
            } in rows
            {
                let ReadRule {
                    bytes,
                    algorithm,
                    fanout,
                    segment_bytes,
                    max_requests,
                } = rule;
                _ = write!(text, "{bytes} {algorithm} {fanout} {segment_bytes}");
                if with_requests {
                    _ = write!(text, " {max_requests}");
                }
                _ = writeln!(text, " # {name}");
            }
        }
    }
    text
}

fn measured_in(collective: Collective) -> &'static str {
    match message_measure(collective) {
        Measure::Message => table::message_size(collective),
        Measure::AllRanks => "bytes of all ranks' parts together",
        Measure::Nothing => "one row for all sizes",
    }
}

/// Numbers of ranks, each with the rules that hold from that number on; `None` where the library decides.
fn communicator_sizes(planned: &PlannedRules) -> Vec<(u32, Option<&RanksRules>)> {
    let mut sizes: Vec<(u32, Option<&RanksRules>)> = Vec::new();
    // The rules of the first size would also hold for smaller ones.
    if planned.ranks.first().is_some_and(|ranks| ranks.first > 1) {
        sizes.push((1, None));
    }
    for (ranks, next) in planned.ranks.iter().zip(1..) {
        sizes.push((ranks.first, Some(ranks)));
        let next = planned.ranks.get(next).map(|next| next.first);
        if next != Some(ranks.last + 1) {
            sizes.push((ranks.last + 1, None));
        }
    }
    sizes
}

/// A row with the name of its algorithm.
struct NamedRow {
    rule: ReadRule,
    algorithm: String,
}

/// The rows for one communicator size.
fn rows_for_size(collective: Collective, ranks: Option<&RanksRules>) -> Vec<NamedRow> {
    let Some(ranks) = ranks else {
        return vec![row_for_algorithm(collective, None)];
    };
    let row = |choice: crate::LibraryRule| {
        let mut row = row_for_algorithm(collective, choice.native.as_ref());
        row.rule.bytes = choice.from_bytes;
        row
    };
    sizes_in_files(collective)
        .file_rows(ranks)
        .into_iter()
        .map(row)
        .collect()
}

/// The row that makes the library use an algorithm, from size 0 on.
fn row_for_algorithm(collective: Collective, native: Option<&crate::Native>) -> NamedRow {
    let known = algorithms::algorithm_ids(collective);
    let number = |id: &str| {
        let place = known.iter().position(|known| *known == id)?;
        u32::try_from(place + 1).ok()
    };
    match native.and_then(|native| Some((native, number(&native.id)?))) {
        None => NamedRow {
            rule: ReadRule::default(),
            algorithm: "Open MPI decides".to_owned(),
        },
        Some((native, algorithm)) => {
            let segment_bytes = native.segment_bytes.unwrap_or(0);
            let rule = ReadRule {
                algorithm,
                fanout: algorithms::required_fanout(collective, native),
                segment_bytes: u32::try_from(segment_bytes).unwrap_or(0),
                max_requests: native.max_requests.unwrap_or(0),
                ..ReadRule::default()
            };
            NamedRow {
                rule,
                algorithm: native.id.clone(),
            }
        }
    }
}

/// Checks that a file gives the planned choices, at the points of [`FileSizes::comparison_points`].
///
/// [`FileSizes::comparison_points`]: crate::file_sizes::FileSizes::comparison_points
fn compare_with_plan(planned: &PlannedRules, file: &File) -> Result<(), ExportError> {
    let collective = planned.collective;
    let sizes = sizes_in_files(collective);
    for of_ranks in &planned.ranks {
        for (bytes, ranks) in sizes.comparison_points(of_ranks) {
            let governing = planned.rules_for_ranks(ranks);
            let native = governing.and_then(|rules| sizes.expected_choice(rules, bytes, ranks));
            let expected = row_for_algorithm(collective, native).rule;
            let found = file.find_row(collective, ranks, sizes.size_in_file(bytes, ranks));
            if found.map(|row| ReadRule { bytes: 0, ..row }) != Some(expected) {
                return Err(ExportError::Unfaithful(format!(
                    "for {collective} of {bytes} bytes on {ranks} ranks the file says {found:?} \
                     instead of {expected:?}"
                )));
            }
        }
    }
    Ok(())
}
