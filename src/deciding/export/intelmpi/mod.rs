//! Environment files for Intel MPI: presets of collectives by message size.
//!
//! What the library does with `I_MPI_ADJUST` variables was determined by watching which of its functions are called
//! (2021.19; `exports::intelmpi` in the tests of `cli`):
//!
//! - A range counts up to its end; where it begins is ignored. Messages beyond the last range get its preset.
//! - Conditions on the number of ranks hold for all sizes, and of several ranges with the same numbers of ranks only the
//!   last one counts, so a value can distinguish sizes or numbers of ranks, and not both. The variable holds for all
//!   communicators.
//! - Once a variable is set, nothing leaves a size to the library's own decision, which comes from a tuning file: preset 0
//!   is a fixed choice that ignores this file.
//! - Sizes are counted as in tables.
//!
//! So a collective is written only if the table names a preset for each of its sizes, the same on all numbers of ranks.
//! A table leaves messages that are smaller or larger than all measured ones to the library; a policy that extrapolates
//! gives them the nearest preset.

mod reader;

use std::collections::BTreeSet;

use libraries::LibraryName;
use libraries::intelmpi::{adjusting_variable, preset_number};
use schedule::Collective;
use table::{OperatorClass, Table};
use vocabulary::CommShape;

use self::reader::LARGEST;
use crate::choices::choose_release;
use crate::{Choices, ExportError, Exported, Format, LibraryRule, Options, RanksRules, header};

pub use reader::{PresetFile, PresetRange, read_presets};

/// The variables of `I_MPI_ADJUST`.
#[derive(Clone, Copy, Debug)]
pub struct Presets;

/// The presets of one collective, for all numbers of ranks.
struct PlannedPresets<'a> {
    collective: Collective,
    /// The rules that are written, by ascending size.
    rules: &'a [LibraryRule],
    /// The numbers of ranks with these rules.
    ranks: Vec<u32>,
}

impl Format for Presets {
    fn name(&self) -> &'static str {
        "intelmpi"
    }

    fn suffix(&self) -> &'static str {
        "sh"
    }

    fn releases(&self) -> &'static str {
        "Intel MPI 2021"
    }

    fn render_deployed(
        &self,
        table: &Table,
        mut notes: Vec<String>,
        options: &Options,
    ) -> Result<Exported, ExportError> {
        let knows = |(major, _)| major == 2021;
        let library = choose_release(LibraryName::IntelMpi, self, knows, table, options)?;
        let class = OperatorClass::from_commutes(options.assume_commutative);
        // Shapes that are named count alone, as sizes and numbers of ranks cannot be told apart together.
        let named = &options.assume_shapes;
        let counts = |shape: CommShape| named.is_empty() || named.contains(&shape);
        let mut choices = Choices::from_shapes(table, &library, class, options, counts);
        if options.policy.extrapolate && choices.extend_to_all_sizes(table) {
            notes.push(
                "As requested, messages smaller or larger than all measured ones get the nearest preset \
                 (--extrapolate)."
                    .to_owned(),
            );
        }
        notes.extend(choices.notes.iter().cloned());
        let (planned, left_out) = plan_presets(&choices);
        notes.extend(notes_on_ranks(&planned));
        notes.extend(left_out);
        if !options.assume_commutative {
            let commutative = OperatorClass::from_commutes(true);
            let all = Choices::from_shapes(table, &library, commutative, options, counts);
            notes.extend(note_on_operators(&all));
        }
        let values: Vec<(String, String)> = planned
            .iter()
            .map(|of| (adjusting_variable(of.collective), value_of(of.rules)))
            .collect();
        let mut text = head_comment(table, &library.version, &notes);
        for (name, value) in &values {
            text += &format!("export {name}='{value}'\n");
        }
        compare(&planned, &read_presets(&text)?)?;
        Ok(Exported {
            text,
            companion: None,
            decides: !values.is_empty(),
            variables: values
                .into_iter()
                .map(|(name, value)| (name, Some(value)))
                .collect(),
            notes,
        })
    }

    fn validate(&self, text: &str, _: &Options) -> Result<(), ExportError> {
        read_presets(text).map(drop)
    }

    fn variable_names(&self) -> Vec<String> {
        let served = Collective::ALL.iter();
        served.map(|of| adjusting_variable(*of)).collect()
    }
}

/// What can be written, and sentences about the rest.
fn plan_presets(choices: &Choices) -> (Vec<PlannedPresets<'_>>, Vec<String>) {
    let (mut planned, mut by_ranks, mut by_default) = (Vec::new(), Vec::new(), Vec::new());
    for (&collective, all) in &choices.collectives {
        let Some(first) = all
            .first()
            .filter(|_| !all.iter().all(RanksRules::is_silent))
        else {
            continue;
        };
        let has_preset = |rule: &LibraryRule| {
            let native = rule.native.as_ref();
            native.is_some_and(|native| preset_number(&native.id).is_some_and(|number| number > 0))
        };
        if !all.iter().flat_map(|ranks| &ranks.choices).all(has_preset) {
            by_default.push(collective.name());
        } else if all.iter().any(|ranks| ranks.choices != first.choices) {
            by_ranks.push(collective.name());
        } else {
            planned.push(PlannedPresets {
                collective,
                rules: &first.choices,
                ranks: all.iter().map(|ranks| ranks.first).collect(),
            });
        }
    }
    let mut notes = Vec::new();
    if !by_default.is_empty() {
        notes.push(format!(
            "Not written: {}, since the table leaves some sizes to Intel MPI's own decision, and its variables cannot: \
             once one is set, every size gets a preset. `--extrapolate` gives sizes beyond the measured ones the nearest \
             preset.",
            by_default.join(", ")
        ));
    }
    if !by_ranks.is_empty() {
        notes.push(format!(
            "Not written: {}, since the table has different rules for different numbers of ranks, which Intel MPI's \
             variables cannot tell apart together with sizes.",
            by_ranks.join(", ")
        ));
    }
    (planned, notes)
}

/// Reductions whose presets are right only for operators that commute, as far as is known.
fn note_on_operators(commutative: &Choices) -> Option<String> {
    let all = commutative.collectives.iter();
    let reductions = all.filter(|(collective, ranks)| {
        collective.is_reduction() && !ranks.iter().all(RanksRules::is_silent)
    });
    let names: Vec<&str> = reductions
        .map(|(collective, _)| collective.name())
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Not written: {}, since it is not known which presets combine in the order of ranks; \
             `--assume-commutative` writes them.",
            names.join(", ")
        )
    })
}

/// Presets also hold for communicators that were not measured.
fn notes_on_ranks(planned: &[PlannedPresets<'_>]) -> Option<String> {
    let measured: BTreeSet<u32> = planned.iter().flat_map(|of| of.ranks.clone()).collect();
    let numbers: Vec<String> = measured.iter().map(u32::to_string).collect();
    (!numbers.is_empty()).then(|| {
        format!(
            "Measured on {} ranks; the variables hold for all communicators of a job, whatever their number of ranks.",
            numbers.join(" and ")
        )
    })
}

/// The value of a variable.
fn value_of(rules: &[LibraryRule]) -> String {
    let ends = rules.iter().skip(1).map(|next| next.from_bytes - 1);
    let ends = ends.chain([LARGEST]);
    let ranges = rules.iter().zip(ends).map(|(rule, end)| {
        let preset = preset_of(rule).unwrap_or(0);
        format!("{preset}:{}-{end}", rule.from_bytes)
    });
    ranges.collect::<Vec<String>>().join(";")
}

fn preset_of(rule: &LibraryRule) -> Option<u32> {
    preset_number(&rule.native.as_ref()?.id)
}

/// Checks that a file has the planned presets at every threshold and to either side, and nothing for other collectives.
fn compare(planned: &[PlannedPresets<'_>], file: &PresetFile) -> Result<(), ExportError> {
    for collective in Collective::ALL {
        let of_collective = planned.iter().find(|of| of.collective == collective);
        let rules = of_collective.map_or(&[][..], |of| of.rules);
        let thresholds = rules.iter().map(|rule| rule.from_bytes);
        for bytes in thresholds
            .flat_map(|at| [at.saturating_sub(1), at, at + 1])
            .chain([0, LARGEST, LARGEST + 1])
        {
            let rule = rules.iter().rfind(|rule| rule.from_bytes <= bytes);
            let (expected, found) = (rule.and_then(preset_of), file.preset_at(collective, bytes));
            if expected != found {
                return Err(ExportError::Unfaithful(format!(
                    "{collective} of {bytes} bytes: the table has {expected:?}, the file {found:?}"
                )));
            }
        }
    }
    Ok(())
}

/// The file's origin and instructions, as comments.
fn head_comment(table: &Table, version: &str, notes: &[String]) -> String {
    let purpose = format!("Presets of collectives for Intel MPI {version}.");
    let mut text = header::head_text(purpose, table, "# ");
    text += "#\n# For one job: read this file into the shell that starts it\n#   . THIS-FILE\n#   mpirun ...\n";
    if !notes.is_empty() {
        text += "#\n";
        text += &header::wrap_comment(notes, "# ");
    }
    text + "\n"
}
