//! Rules of Open MPI's component `han`: for which communicators and messages it carries out a collective itself, and for
//! which it leaves this to `tuned`.
//!
//! From the sources of 4.1 and 5.0 (`coll_han_dynamic_file.c`), and seen in 4.1.4 and 5.0.11 (`cluster` in the tests of
//! `cli`):
//!
//! - The component reads the file only with `coll_han_use_dynamic_file_rules`, and after an error it drops the whole file and
//!   says nothing.
//! - It applies the file only where it has been selected: on communicators over several nodes, if its priority exceeds that of
//!   `tuned`, as it does from 5.0 on. In 4.1 the priority is 0, so a file for that release comes with a higher one, and
//!   says for all of the component's collectives what was not said before: that `tuned` carries them out.
//! - Rules of level 2 are for whole communicators. The last entry that is not larger than the number of ranks or than the
//!   bytes of one rank counts.
//! - Modules and segment sizes of the component are variables, one for each collective and all sizes.

mod reader;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use libraries::LibraryName;
use libraries::openmpi::{ForcedComponent, find_forced_component};
use schedule::Collective;
use table::{OperatorClass, Table};
use vocabulary::units::format_counted;
use vocabulary::{Candidate, CommShape, Library, Parameters};

use self::reader::LEVEL;
use super::{PREFIX, has_han_first, note_on_operators};
use crate::choices::choose_release;
use crate::{Choices, ExportError, Exported, Format, LibraryRule, Options, RanksRules, header};

pub use reader::{ComponentRow, HanFile, read_han_rules};

/// The rules file of `coll_han_dynamic_rules_filename`.
#[derive(Clone, Copy, Debug)]
pub struct HanRules;

/// The component itself, and the one to which it leaves calls.
pub(super) const HAN: &str = "han";
pub(super) const TUNED: &str = "tuned";

/// The collectives for which the component reads rules.
pub(super) const SERVED: [Collective; 8] = [
    Collective::Allgather,
    Collective::Allgatherv,
    Collective::Allreduce,
    Collective::Barrier,
    Collective::Bcast,
    Collective::Gather,
    Collective::Reduce,
    Collective::Scatter,
];

/// The priority with which the component precedes `tuned`, as it does by itself from 5.0 on.
const PRIORITY: (&str, &str) = ("OMPI_MCA_coll_han_priority", "35");

/// The variables that make the component read a file. A variable without a value gets the file's path.
const READING: [(&str, Option<&str>); 2] = [
    ("OMPI_MCA_coll_han_use_dynamic_file_rules", Some("1")),
    ("OMPI_MCA_coll_han_dynamic_rules_filename", None),
];

/// The settings of `han` in a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HanSettings {
    id: String,
    segment_bytes: Option<u64>,
}

/// The components of one collective.
struct PlannedComponents<'a> {
    collective: Collective,
    /// The rules by ascending ranks; empty if the default carries out all calls.
    ranks: &'a [RanksRules],
    /// The variables for the settings of `han`.
    variables: Vec<(String, String)>,
}

/// The components of a table that a file can have.
struct ComponentPlan<'a> {
    /// The component that carries out what the table leaves to the library.
    default: &'static str,
    collectives: Vec<PlannedComponents<'a>>,
    /// Sentences about choices that are left out.
    notes: Vec<String>,
}

impl Format for HanRules {
    fn name(&self) -> &'static str {
        "openmpi-han"
    }

    fn suffix(&self) -> &'static str {
        "conf"
    }

    fn releases(&self) -> &'static str {
        "Open MPI 4.1 and 5.0"
    }

    fn render_deployed(
        &self,
        table: &Table,
        mut notes: Vec<String>,
        options: &Options,
    ) -> Result<Exported, ExportError> {
        let knows = |series| matches!(series, (4, 1) | (5, 0));
        let library = choose_release(LibraryName::OpenMpi, self, knows, table, options)?;
        let class = OperatorClass::from_commutes(options.assume_commutative);
        let choices = Choices::from_shapes(table, &library, class, options, is_divided);
        notes.extend(choices.notes.iter().cloned());
        let plan = ComponentPlan::from_choices(&choices, &library);
        notes.extend(plan.notes.iter().cloned());
        if !options.assume_commutative {
            let commutative = OperatorClass::from_commutes(true);
            let all = Choices::from_shapes(table, &library, commutative, options, is_divided);
            notes.extend(note_on_operators(&all, |rule| component_of(rule).is_some()));
        }
        let variables = plan.variables(&library.version);
        let mut text = head_comment(table, &library, &variables, &notes);
        text += &plan.rules_text(&library.version);
        plan.compare_with_file(&read_han_rules(&text)?)?;
        Ok(Exported {
            text,
            companion: None,
            decides: plan.decides(),
            variables,
            notes,
        })
    }

    fn validate(&self, text: &str, _: &Options) -> Result<(), ExportError> {
        read_han_rules(text).map(drop)
    }

    fn is_read_by(&self, component: &str) -> bool {
        component == HAN
    }
}

/// Whether the component divides communicators of a shape: those with several ranks on each of several nodes.
fn is_divided(shape: CommShape) -> bool {
    shape.nodes > 1 && shape.ppn > 1
}

/// The component that a rule chooses; `None` if the table leaves the choice to the library, or if a file cannot name it.
fn component_of(rule: &LibraryRule) -> Option<&'static ForcedComponent> {
    let forced = find_forced_component(&rule.native.as_ref()?.id)?;
    [HAN, TUNED].contains(&forced.component).then_some(forced)
}

impl<'a> ComponentPlan<'a> {
    fn from_choices(choices: &'a Choices, library: &Library) -> Self {
        let mut plan = Self {
            default: if has_han_first(&library.version) {
                HAN
            } else {
                TUNED
            },
            collectives: Vec::new(),
            notes: Vec::new(),
        };
        let (mut others, mut mixed) = (BTreeSet::new(), Vec::new());
        for (&collective, ranks) in &choices.collectives {
            let rules = || ranks.iter().flat_map(|of| &of.choices);
            let inexpressible =
                rules().filter(|rule| rule.native.is_some() && component_of(rule).is_none());
            let names = inexpressible.filter_map(|rule| rule.native.as_ref());
            others.extend(names.map(|native| format!("{collective}/{}", native.id)));
            let is_chosen = rules().any(|rule| component_of(rule).is_some());
            // Of an allgatherv, the component looks at the largest contribution, and a table at all of them together.
            let is_served = SERVED.contains(&collective) && collective != Collective::Allgatherv;
            if !is_served || !is_chosen {
                continue;
            }
            let mut settings = plan.settings_of_collective(ranks);
            if settings.len() > 1 {
                mixed.push(collective.name());
                continue;
            }
            let settings = settings.pop_first();
            plan.collectives.push(PlannedComponents {
                collective,
                ranks,
                variables: settings.map_or_else(Vec::new, |of| of.variables(collective)),
            });
        }
        if !others.is_empty() {
            plan.notes.push(format!(
                "Left out, since these rules name only the components han and tuned: {}.",
                others.into_iter().collect::<Vec<_>>().join(", ")
            ));
        }
        if !mixed.is_empty() {
            plan.notes.push(format!(
                "Not written: {}, since the table has several settings of han for it, and its modules and segment size are \
                 variables for all sizes and communicators.",
                mixed.join(", ")
            ));
        }
        plan
    }

    /// The settings of `han` in the rules that it carries out.
    fn settings_of_collective(&self, ranks: &[RanksRules]) -> BTreeSet<HanSettings> {
        let mut all = BTreeSet::new();
        for rule in ranks.iter().flat_map(|of| &of.choices) {
            match (component_of(rule), &rule.native) {
                (Some(forced), Some(native)) if forced.component == HAN => {
                    all.insert(HanSettings {
                        id: native.id.clone(),
                        segment_bytes: native.segment_bytes,
                    });
                }
                (None, _) if self.default == HAN => {
                    all.insert(HanSettings {
                        id: format!("{}{HAN}", Candidate::COMPONENT),
                        segment_bytes: None,
                    });
                }
                _ => {}
            }
        }
        all
    }

    fn decides(&self) -> bool {
        !self.collectives.is_empty()
    }

    /// The variables of a job that uses the file.
    fn variables(&self, version: &str) -> Vec<(String, Option<String>)> {
        let owned =
            |(name, value): (&str, Option<&str>)| (name.to_owned(), value.map(ToOwned::to_owned));
        let mut all: Vec<(String, Option<String>)> = READING.map(owned).to_vec();
        if !has_han_first(version) {
            all.push(owned((PRIORITY.0, Some(PRIORITY.1))));
        }
        let settings = self.collectives.iter().flat_map(|of| &of.variables);
        all.extend(settings.map(|(name, value)| (name.clone(), Some(value.clone()))));
        all
    }

    /// The component for calls on some ranks, as the table says or by default.
    fn component_for(&self, collective: Collective, ranks: u32, bytes: u64) -> &'static str {
        let mut planned = self.collectives.iter();
        let of_collective = planned.find(|of| of.collective == collective);
        let rules = of_collective.and_then(|of| RanksRules::find_for_ranks(of.ranks, ranks));
        let rule = rules.and_then(|of| {
            let mut choices = of.choices.iter();
            choices.rfind(|rule| rule.from_bytes <= bytes)
        });
        rule.and_then(component_of)
            .map_or(self.default, |forced| forced.component)
    }

    /// The rules. In a release whose component is not selected by itself, all of its collectives have some. A file without
    /// rules might count as an error, so one for barriers says what holds without it.
    fn rules_text(&self, version: &str) -> String {
        let is_written = |collective: &Collective| {
            !has_han_first(version)
                || self
                    .collectives
                    .iter()
                    .any(|of| of.collective == *collective)
                || (!self.decides() && *collective == Collective::Barrier)
        };
        let written: Vec<Collective> = SERVED.into_iter().filter(is_written).collect();
        let mut text = format!("{} # collectives\n", written.len());
        for collective in written {
            let sizes = self.communicator_sizes(collective);
            // Writing to a string cannot fail.
            _ = write!(
                text,
                "\n{collective}\n1 # level\n{LEVEL} # whole communicators\n{} # communicator sizes\n",
                sizes.len()
            );
            for (size, rules) in sizes {
                let rows = self.rows_for_size(rules);
                let from = rules.map_or_else(
                    || "as without this file".to_owned(),
                    |measured| {
                        let shapes = measured.shapes.iter().map(ToString::to_string);
                        let shapes: Vec<String> = shapes.collect();
                        format!("the table's rules for {}", shapes.join(" and "))
                    },
                );
                let least = format_counted(size, "rank");
                _ = writeln!(text, "{size} {} # from {least} on: {from}", rows.len());
                for ComponentRow {
                    from_bytes,
                    component,
                } in rows
                {
                    _ = writeln!(text, "{from_bytes} {component}");
                }
            }
        }
        text
    }

    /// Numbers of ranks, each with the rules that hold from that number on; `None` where the library decides.
    fn communicator_sizes(&self, collective: Collective) -> Vec<(u32, Option<&'a RanksRules>)> {
        let mut planned = self.collectives.iter();
        let of_collective = planned.find(|of| of.collective == collective);
        let all = of_collective.map_or(&[][..], |of| of.ranks);
        let mut sizes: Vec<(u32, Option<&RanksRules>)> = Vec::new();
        // The component refuses a file whose first size is another one.
        let mut next = 1;
        for rules in all {
            if next < rules.first {
                sizes.push((next, None));
            }
            sizes.push((rules.first, Some(rules)));
            next = rules.last + 1;
        }
        sizes.push((next, None));
        sizes
    }

    /// The rows of a communicator size.
    fn rows_for_size(&self, rules: Option<&RanksRules>) -> Vec<ComponentRow> {
        let choices = rules.map_or(&[][..], |of| of.choices.as_slice());
        let rows = choices.iter().map(|rule| ComponentRow {
            from_bytes: rule.from_bytes,
            component: component_of(rule).map_or(self.default, |forced| forced.component),
        });
        let mut rows: Vec<ComponentRow> = rows.collect();
        if rows.is_empty() {
            rows.push(ComponentRow {
                from_bytes: 0,
                component: self.default,
            });
        }
        rows.dedup_by(|next, before| next.component == before.component);
        rows
    }

    /// Checks that a file has the planned components at every threshold and to either side, on the ranks of each rule and
    /// on one to either side.
    fn compare_with_file(&self, file: &HanFile) -> Result<(), ExportError> {
        for collective in SERVED {
            let mut planned = self.collectives.iter();
            let of_collective = planned.find(|of| of.collective == collective);
            let all = of_collective.map_or(&[][..], |of| of.ranks);
            let numbers = all
                .iter()
                .flat_map(|of| [of.first.saturating_sub(1), of.first, of.last, of.last + 1]);
            let numbers: BTreeSet<u32> = numbers.chain([1, 2]).filter(|ranks| *ranks > 0).collect();
            let thresholds = all
                .iter()
                .flat_map(|of| &of.choices)
                .map(|rule| rule.from_bytes);
            let sizes = thresholds.flat_map(|at| [at.saturating_sub(1), at, at + 1]);
            let sizes: BTreeSet<u64> = sizes.chain([0]).collect();
            for ranks in numbers {
                for &bytes in &sizes {
                    let expected = self.component_for(collective, ranks, bytes);
                    let found = file.component_at(collective, ranks, bytes);
                    // Without rules a release that selects the component lets it carry out the collective.
                    if found.unwrap_or(self.default) != expected {
                        return Err(ExportError::Unfaithful(format!(
                            "{collective} of {bytes} bytes on {ranks} ranks: the table has {expected}, the file {found:?}"
                        )));
                    }
                }
            }
        }
        Ok(())
    }
}

impl HanSettings {
    /// The variables of one collective.
    fn variables(&self, collective: Collective) -> Vec<(String, String)> {
        let parameters = Parameters {
            segment_bytes: self.segment_bytes,
            ..Parameters::default()
        };
        let forced = find_forced_component(&self.id);
        let settings = forced.map_or_else(Vec::new, |forced| {
            forced.settings_of_collective(collective, &parameters)
        });
        settings
            .into_iter()
            .map(|(name, value)| (format!("{PREFIX}{name}"), value))
            .collect()
    }
}

/// The file's origin and instructions, as comments.
fn head_comment(
    table: &Table,
    library: &Library,
    variables: &[(String, Option<String>)],
    notes: &[String],
) -> String {
    let purpose = format!(
        "Where Open MPI {} uses its component han over several nodes (coll/han).",
        library.version
    );
    let mut text = header::head_text(purpose, table, "# ");
    text += "#\n# For every job of a site, these lines in PREFIX/etc/openmpi-mca-params.conf:\n";
    for (name, value) in variables {
        let name = name.trim_start_matches(PREFIX);
        let value = value.as_deref().unwrap_or("/ABSOLUTE/PATH/OF/THIS-FILE");
        text += &format!("#   {name} = {value}\n");
    }
    text += "# For one job, each of them as an option of mpirun: --mca NAME VALUE\n#\n";
    let how = [
        "The path must be the same on all nodes. Open MPI silently ignores a file that it cannot read, and reads none \
         without `coll_han_use_dynamic_file_rules`; `colltune audit` says what it does."
            .to_owned(),
        "A row is: smallest message in bytes of one rank, component. The rules hold only for communicators over several nodes \
         with several ranks on each. Where the component tuned is named, its own rules file and settings count."
            .to_owned(),
    ];
    text += &header::wrap_comment(&how, "# ");
    if !notes.is_empty() {
        text += "#\n";
        text += &header::wrap_comment(notes, "# ");
    }
    text + "\n"
}
