//! Parameter files of Open MPI that say which component carries out a collective, with which settings.
//!
//! - A component has one priority for everything: with a higher one it carries out all collectives that it has, for all sizes,
//!   on all communicators that it accepts. So the file raises a priority only if the table chooses that component for all
//!   of them, or if others that are raised with it carry out the rest.
//! - `han` alone can hand back single collectives to `tuned`, by `coll_han_COLLECTIVE_dynamic_global_communicator_module`
//!   (4.1 and 5.0, no rules file needed).
//! - Settings, as the modules of `han` or the tree of `adapt`, are variables for each collective and all sizes.
//!
//! What depends on the size of messages or the number of ranks is a matter of rules files ([`super::HanRules`],
//! [`super::Classic`]). That 4.1.4 and 5.0.11 do as the file says was seen on one node and on a virtual cluster
//! (`exports::parameters` in the tests of `cli`).

mod reader;

use std::collections::{BTreeMap, BTreeSet};

use libraries::LibraryName;
use libraries::openmpi::{ForcedComponent, find_forced_component};
use schedule::Collective;
use table::{OperatorClass, Table};
use vocabulary::{CommShape, Library};

use super::han::{HAN, SERVED, TUNED};
use super::{PREFIX, has_han_first, note_on_operators};
use crate::choices::choose_release;
use crate::{Choices, ExportError, Exported, Format, LibraryRule, Options, RanksRules, header};

pub use reader::{ParameterFile, read_parameters};

/// The lines of a parameter file for components.
#[derive(Clone, Copy, Debug)]
pub struct ComponentParameters;

/// How the ranks of a communicator lie on nodes, as far as components accept it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeLayout {
    /// All ranks are on one node.
    OneNode,
    /// Several nodes have several ranks each.
    Divided,
    /// Several nodes have one rank each.
    OneRankPerNode,
}

/// The components whose priority can be raised above that of `tuned`.
const RAISED: [&str; 4] = [HAN, "sm", "adapt", "basic"];

/// The priority of the first component above `tuned`; further ones follow. It is that of `han` from 5.0 on, and below that of
/// `sync`, which passes calls on.
const FIRST_PRIORITY: usize = 35;

/// The value of a module of `han` that stands for `tuned`, in 4.1 and 5.0.
const MODULE_TUNED: &str = "3";

/// Control variables with their values.
type Settings = BTreeMap<String, String>;

/// What carries out a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Carrier {
    component: String,
    /// Its settings for the collective that differ from the built-in ones.
    settings: Settings,
}

/// What a table says about a collective on communicators of a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wish {
    /// One component for all sizes and numbers of ranks.
    Component(Carrier),
    /// Several components, or one and the library's own choice.
    Mixed,
}

/// The wishes of a table; where there is none, the library decides.
type Wishes = BTreeMap<(NodeLayout, Collective), Wish>;

/// The settings that carry out what can be carried out of a table.
struct ParametersPlan {
    settings: Settings,
    wishes: Wishes,
    /// The wishes that the settings grant.
    granted: BTreeSet<(NodeLayout, Collective)>,
    library: Library,
}

impl NodeLayout {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OneNode, Self::Divided, Self::OneRankPerNode];

    /// Whether communicators of a shape have this layout.
    fn holds_for(self, shape: CommShape) -> bool {
        match self {
            Self::OneNode => shape.nodes == 1,
            Self::Divided => shape.nodes > 1 && shape.ppn > 1,
            Self::OneRankPerNode => shape.nodes > 1 && shape.ppn == 1,
        }
    }
}

impl Format for ComponentParameters {
    fn name(&self) -> &'static str {
        "openmpi-parameters"
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
        let mut ranks = BTreeSet::new();
        let mut wishes = Wishes::new();
        for layout in NodeLayout::ALL {
            let class = OperatorClass::from_commutes(options.assume_commutative);
            let counts = |shape| layout.holds_for(shape);
            let mut choices = Choices::from_shapes(table, &library, class, options, counts);
            if options.policy.extrapolate {
                choices.extend_to_all_sizes(table);
            }
            let (of_layout, of_ranks) = read_wishes(layout, &choices);
            wishes.extend(of_layout);
            ranks.extend(of_ranks);
            add_new_notes(&mut notes, choices.notes);
            if !options.assume_commutative {
                let commutative = OperatorClass::from_commutes(true);
                let all = Choices::from_shapes(table, &library, commutative, options, counts);
                add_new_notes(&mut notes, note_on_operators(&all, names_component));
            }
        }
        let plan = ParametersPlan::granting_most(wishes, library);
        notes.extend(plan.notes_on_rest());
        notes.extend(plan.note_on_ranks(&ranks));
        let mut text = head_comment(table, &plan.library, &notes);
        for (name, value) in &plan.settings {
            text += &format!("{name} = {value}\n");
        }
        plan.compare_with_file(&read_parameters(&text)?)?;
        let variables = plan.settings.iter();
        Ok(Exported {
            text,
            companion: None,
            decides: !plan.granted.is_empty(),
            variables: variables
                .map(|(name, value)| (format!("{PREFIX}{name}"), Some(value.clone())))
                .collect(),
            notes,
        })
    }

    fn validate(&self, text: &str, _: &Options) -> Result<(), ExportError> {
        read_parameters(text).map(drop)
    }

    fn variable_names(&self) -> Vec<String> {
        let names = reader::setting_names().into_iter();
        names.map(|name| format!("{PREFIX}{name}")).collect()
    }

    fn is_read_by(&self, component: &str) -> bool {
        RAISED.contains(&component)
    }
}

/// Adds the notes that are not there yet: those of several layouts are often the same.
fn add_new_notes(notes: &mut Vec<String>, added: impl IntoIterator<Item = String>) {
    for note in added {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// The component that a rule names; `None` for algorithms of `tuned` and for the library's own choice.
fn component_of(rule: &LibraryRule) -> Option<&'static ForcedComponent> {
    find_forced_component(&rule.native.as_ref()?.id)
}

fn names_component(rule: &LibraryRule) -> bool {
    component_of(rule).is_some()
}

/// What the choices of a layout say about components, and the numbers of ranks for which they do.
fn read_wishes(layout: NodeLayout, choices: &Choices) -> (Wishes, BTreeSet<u32>) {
    let (mut wishes, mut numbers) = (Wishes::new(), BTreeSet::new());
    for (&collective, ranks) in &choices.collectives {
        let rules = || ranks.iter().flat_map(|of| &of.choices);
        if !rules().any(names_component) {
            continue;
        }
        let mut carriers: Vec<Option<Carrier>> = rules()
            .map(|rule| Carrier::from_rule(collective, rule))
            .collect();
        carriers.dedup();
        let wish = match carriers.as_slice() {
            [Some(carrier)] => Wish::Component(carrier.clone()),
            _ => Wish::Mixed,
        };
        wishes.insert((layout, collective), wish);
        numbers.extend(ranks.iter().map(|of: &RanksRules| of.first));
    }
    (wishes, numbers)
}

impl Carrier {
    fn from_rule(collective: Collective, rule: &LibraryRule) -> Option<Self> {
        let forced = component_of(rule)?;
        let parameters = vocabulary::Parameters {
            segment_bytes: rule.native.as_ref()?.segment_bytes,
            ..vocabulary::Parameters::default()
        };
        let settings = forced.settings_of_collective(collective, &parameters);
        Some(Self {
            component: forced.component.to_owned(),
            settings: settings.into_iter().collect(),
        })
    }
}

/// What carries out a collective under settings of a release, whose built-in ones hold for the rest; `None` if no component
/// does.
fn carrier_under(
    version: &str,
    settings: &Settings,
    layout: NodeLayout,
    collective: Collective,
) -> Option<Carrier> {
    let mut variables = LibraryName::OpenMpi.known_settings(version);
    variables.extend(settings.clone());
    // Where each node has one rank, it leaves everything to the component after it.
    if layout == NodeLayout::OneRankPerNode {
        variables.remove(&format!("coll_{HAN}_priority"));
    }
    let over_nodes = layout != NodeLayout::OneNode;
    let serving = LibraryName::OpenMpi.serving_components(&variables);
    // What holds on one node holds over several nodes, too, unless something else is said about these.
    let find_component = |said_over_nodes: bool| {
        let mut all = serving.iter();
        all.find(|of| of.over_nodes == said_over_nodes && of.collectives.contains(&collective))
    };
    let first = find_component(over_nodes).or_else(|| find_component(false))?;
    let is_handed_back = first.component == HAN && settings.contains_key(&handing_back(collective));
    let component = if is_handed_back {
        TUNED.to_owned()
    } else {
        first.component.clone()
    };
    let own_settings = settings.iter().filter(|(name, _)| {
        name.starts_with(&format!("coll_{component}_{collective}_"))
            && **name != handing_back(collective)
    });
    let own_settings = own_settings.map(|(name, value)| (name.clone(), value.clone()));
    Some(Carrier {
        settings: own_settings.collect(),
        component,
    })
}

/// The variable with which `han` leaves a collective to another component.
fn handing_back(collective: Collective) -> String {
    format!("coll_{HAN}_{collective}_dynamic_global_communicator_module")
}

/// The components that come before `tuned` by themselves.
fn first_by_default(version: &str) -> &'static [&'static str] {
    if has_han_first(version) { &[HAN] } else { &[] }
}

/// All sequences of components above `tuned`, by ascending priority and length, that keep those which are there by default.
fn sequences_above_tuned(version: &str) -> Vec<Vec<&'static str>> {
    let mut sequences: Vec<Vec<&str>> = vec![Vec::new()];
    let mut done = 0;
    while let Some(shorter) = sequences.get(done).cloned() {
        let mut others = RAISED.to_vec();
        others.retain(|component| !shorter.contains(component));
        let longer = others.into_iter().map(|component| {
            let mut longer = shorter.clone();
            longer.push(component);
            longer
        });
        sequences.extend(longer);
        done += 1;
    }
    let kept = first_by_default(version);
    sequences.retain(|sequence| kept.iter().all(|component| sequence.contains(component)));
    sequences
}

impl ParametersPlan {
    /// The settings that grant most wishes and change nothing else, and of those the fewest.
    fn granting_most(wishes: Wishes, library: Library) -> Self {
        let mut best = Self {
            settings: Settings::new(),
            granted: BTreeSet::new(),
            wishes,
            library,
        };
        for above in sequences_above_tuned(&best.library.version) {
            let settings = best.settings_for_sequence(&above);
            if let Some(granted) = best.wishes_granted_by(&settings)
                && granted.len() > best.granted.len()
            {
                (best.settings, best.granted) = (settings, granted);
            }
        }
        best
    }

    /// The settings of a table whose components above `tuned` are these, by ascending priority.
    fn settings_for_sequence(&self, above: &[&str]) -> Settings {
        let version = &self.library.version;
        let mut settings = Settings::new();
        if above != first_by_default(version) {
            settings.extend(
                above
                    .iter()
                    .zip(FIRST_PRIORITY..)
                    .map(|(component, priority)| {
                        (format!("coll_{component}_priority"), priority.to_string())
                    }),
            );
        }
        for wish in self.wishes.values() {
            if let Wish::Component(carrier) = wish
                && above.contains(&carrier.component.as_str())
            {
                settings.extend(carrier.settings.clone());
            }
        }
        if above.contains(&HAN) {
            let handed_back = SERVED.into_iter().filter(|collective| {
                match self.wishes.get(&(NodeLayout::Divided, *collective)) {
                    Some(Wish::Component(carrier)) => carrier.component != HAN,
                    _ => !has_han_first(version),
                }
            });
            settings.extend(
                handed_back.map(|collective| (handing_back(collective), MODULE_TUNED.to_owned())),
            );
        }
        settings
    }

    /// The wishes that settings grant; `None` if they also change what the table leaves to the library.
    fn wishes_granted_by(&self, settings: &Settings) -> Option<BTreeSet<(NodeLayout, Collective)>> {
        let version = &self.library.version;
        let mut granted = BTreeSet::new();
        for layout in NodeLayout::ALL {
            for collective in Collective::ALL {
                let found = carrier_under(version, settings, layout, collective);
                match (self.wishes.get(&(layout, collective)), &found) {
                    (Some(Wish::Component(wanted)), Some(carrier)) if wanted == carrier => {
                        granted.insert((layout, collective));
                    }
                    _ if found == self.default_carrier(layout, collective) => {}
                    _ => return None,
                }
            }
        }
        Some(granted)
    }

    /// What carries out a collective without the file.
    fn default_carrier(&self, layout: NodeLayout, collective: Collective) -> Option<Carrier> {
        carrier_under(&self.library.version, &Settings::new(), layout, collective)
    }

    /// Sentences about choices of components that are left out.
    fn notes_on_rest(&self) -> Vec<String> {
        let (mut mixed, mut greedy) = (BTreeSet::new(), BTreeSet::new());
        for (place, wish) in &self.wishes {
            let (_, collective) = place;
            match wish {
                Wish::Mixed => {
                    mixed.insert(collective.name());
                }
                Wish::Component(carrier) if !self.granted.contains(place) => {
                    greedy.insert(format!("{} for {collective}", carrier.component));
                }
                Wish::Component(_) => {}
            }
        }
        let mut notes = Vec::new();
        if !mixed.is_empty() {
            notes.push(format!(
                "Not written: {}, since the table's choice of components depends on the size or on the number of ranks, and \
                 these settings hold for all. `--format openmpi-han` writes where han is used, and `--extrapolate` gives sizes \
                 beyond the measured ones the nearest choice.",
                Vec::from_iter(mixed).join(", ")
            ));
        }
        if !greedy.is_empty() {
            notes.push(format!(
                "Not written: {}, since a component has one priority for all of its collectives and communicators, and the \
                 table does not choose it, with the same settings, for all of them.",
                Vec::from_iter(greedy).join(", ")
            ));
        }
        if self.settings.contains_key("coll_adapt_priority") {
            notes.push(
                "The component adapt then also carries out nonblocking broadcasts and reductions."
                    .to_owned(),
            );
        }
        notes
    }

    /// The settings also hold for communicators that were not measured.
    fn note_on_ranks(&self, measured: &BTreeSet<u32>) -> Option<String> {
        let numbers: Vec<String> = measured.iter().map(u32::to_string).collect();
        (!self.granted.is_empty()).then(|| {
            format!(
                "Measured on {} ranks; the settings hold for all communicators of a job, whatever their number of ranks.",
                numbers.join(" and ")
            )
        })
    }

    /// Checks that a file grants the same wishes, and leaves everything else as it is.
    fn compare_with_file(&self, file: &ParameterFile) -> Result<(), ExportError> {
        for layout in NodeLayout::ALL {
            for collective in Collective::ALL {
                let place = (layout, collective);
                let expected = match self.wishes.get(&place) {
                    Some(Wish::Component(carrier)) if self.granted.contains(&place) => {
                        Some(carrier.clone())
                    }
                    _ => self.default_carrier(layout, collective),
                };
                let version = &self.library.version;
                let found = carrier_under(version, &file.settings, layout, collective);
                if found != expected {
                    return Err(ExportError::Unfaithful(format!(
                        "{collective} on {layout:?}: the table has {expected:?}, the file {found:?}"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// The file's origin and instructions, as comments.
fn head_comment(table: &Table, library: &Library, notes: &[String]) -> String {
    let purpose = format!(
        "Which components of Open MPI {} carry out collectives, and their settings.",
        library.version
    );
    let mut text = header::head_text(purpose, table, "# ");
    text +=
        "#\n# For every job of a site, append this file to PREFIX/etc/openmpi-mca-params.conf.\n";
    text += "# For all jobs of a user: ~/.openmpi/mca-params.conf.\n";
    text += "# For one job: each line as an option of mpirun, --mca NAME VALUE\n#\n";
    let how = [
        "Open MPI reads parameter files when it starts. Environment variables (OMPI_MCA_NAME) and options of mpirun take \
         precedence over them, and a component that the list `coll` leaves out has no effect; `colltune audit` says what is \
         in force."
            .to_owned(),
    ];
    text += &header::wrap_comment(&how, "# ");
    if !notes.is_empty() {
        text += "#\n";
        text += &header::wrap_comment(notes, "# ");
    }
    text + "\n"
}
