//! Components of the framework `coll` as algorithms that can be forced.
//!
//! A component is chosen when a communicator is made, by its priority, and the releases up to 4.1.7 and 5.0.6 read priorities
//! only when MPI starts. So a component that is a candidate has launches of its own, in which its priority exceeds all
//! others. Its id is `component_NAME`, with its settings behind the name. `libnbc` is not among them, as it carries out no
//! blocking collectives; nor are components that need hardware or libraries which no build at hand has (`ucc`, `hcoll`,
//! `xhc`, `acoll`).
//!
//! While a component is forced, the library reports its choice for each communicator (`coll_base_verbose`), which shows
//! whether it uses the component. What no report shows is that `han` later hands calls back to other components (5.0): it
//! does so if each node has one rank, if nodes have different numbers of ranks, and if an operator does not commute. No cell
//! with these properties has it among its candidates.

use std::collections::BTreeMap;

use schedule::Collective::{self, *};
use vocabulary::{Candidate, Cell, NativeAlgorithm, Parameters};

use super::PREFIX;
use super::components::{HAN, TUNED, rival_components, serves_collective};

/// The priority of a forced component, which exceeds those of all others that carry out collectives on host memory.
const FORCED_PRIORITY: i64 = 99;

/// The level of messages at which the choice of a component for each communicator is reported.
const REPORTING: (&str, &str) = ("coll_base_verbose", "10");

/// The variable that names the open file into which the library writes its messages.
const MESSAGES: &str = "OPAL_OUTPUT_STDERR_FD";

/// Components that pass calls on to the next one.
const PASSING_ON: [&str; 4] = ["accelerator", "cuda", "monitoring", "sync"];

/// The component that carries out what no other one does.
const BASIC: &str = "basic";

/// Collectives that `tuned` carries out only if an algorithm is forced or a rules file names one, although it has variables
/// for them.
const LEFT_TO_BASIC: [Collective; 2] = [Scan, Exscan];

/// A component with settings, as an algorithm that can be forced.
#[derive(Debug)]
pub struct ForcedComponent {
    /// The id after [`Candidate::COMPONENT`].
    name: &'static str,
    /// The name in the library.
    pub component: &'static str,
    /// Its settings.
    settings: &'static [ComponentSetting],
}

/// A setting of a component, one variable for each of some collectives.
#[derive(Debug)]
struct ComponentSetting {
    /// The end of the variable's name, which begins as in `coll_han_bcast_`.
    ending: &'static str,
    value: &'static str,
    collectives: &'static [Collective],
    /// The component that it names, which the library must have.
    part: Option<&'static str>,
}

/// The collectives of `han` that use one module within nodes and one between nodes.
const IN_TWO_MODULES: &[Collective] = &[Bcast, Reduce, Allreduce];

const BETWEEN_NODES_ADAPT: ComponentSetting = ComponentSetting {
    ending: "up_module",
    value: "1",
    collectives: IN_TWO_MODULES,
    part: Some("adapt"),
};
const WITHIN_NODES_SM: ComponentSetting = ComponentSetting {
    ending: "low_module",
    value: "1",
    collectives: IN_TWO_MODULES,
    part: Some("sm"),
};

const ADAPT_COLLECTIVES: &[Collective] = &[Bcast, Reduce];

/// The setting of `adapt` for its algorithm of a number.
const fn adapt_algorithm(value: &'static str) -> ComponentSetting {
    ComponentSetting {
        ending: "algorithm",
        value,
        collectives: ADAPT_COLLECTIVES,
        part: None,
    }
}

const HAN_UP_ADAPT: &[ComponentSetting] = &[BETWEEN_NODES_ADAPT];
const HAN_LOW_SM: &[ComponentSetting] = &[WITHIN_NODES_SM];
const HAN_UP_ADAPT_LOW_SM: &[ComponentSetting] = &[BETWEEN_NODES_ADAPT, WITHIN_NODES_SM];
const ADAPT_IN_ORDER_BINOMIAL: &[ComponentSetting] = &[adapt_algorithm("2")];
const ADAPT_BINARY: &[ComponentSetting] = &[adapt_algorithm("3")];
const ADAPT_PIPELINE: &[ComponentSetting] = &[adapt_algorithm("4")];
const ADAPT_CHAIN: &[ComponentSetting] = &[adapt_algorithm("5")];
const ADAPT_LINEAR: &[ComponentSetting] = &[adapt_algorithm("6")];

const fn plain(component: &'static str) -> ForcedComponent {
    ForcedComponent {
        name: component,
        component,
        settings: &[],
    }
}

const fn han(name: &'static str, settings: &'static [ComponentSetting]) -> ForcedComponent {
    ForcedComponent {
        name,
        component: HAN,
        settings,
    }
}

const fn adapt(name: &'static str, settings: &'static [ComponentSetting]) -> ForcedComponent {
    ForcedComponent {
        name,
        component: "adapt",
        settings,
    }
}

/// All of them. Without settings, `han` uses `tuned` within nodes and `libnbc` between nodes, and `adapt` a binomial tree.
static FORCED: [ForcedComponent; 13] = [
    plain(TUNED),
    plain(HAN),
    han("han_up_adapt", HAN_UP_ADAPT),
    han("han_low_sm", HAN_LOW_SM),
    han("han_up_adapt_low_sm", HAN_UP_ADAPT_LOW_SM),
    plain("sm"),
    plain(BASIC),
    plain("adapt"),
    adapt("adapt_in_order_binomial", ADAPT_IN_ORDER_BINOMIAL),
    adapt("adapt_binary", ADAPT_BINARY),
    adapt("adapt_pipeline", ADAPT_PIPELINE),
    adapt("adapt_chain", ADAPT_CHAIN),
    adapt("adapt_linear", ADAPT_LINEAR),
];

/// The component of an id; `None` if the id is that of an algorithm of `tuned`.
pub fn find_forced_component(id: &str) -> Option<&'static ForcedComponent> {
    let name = id.strip_prefix(Candidate::COMPONENT)?;
    FORCED.iter().find(|forced| forced.name == name)
}

/// The components that a library with these control variables can be made to use, ordered by collective.
pub fn list_forced_components(variables: &BTreeMap<String, String>) -> Vec<NativeAlgorithm> {
    let mut listed = Vec::new();
    for collective in Collective::ALL {
        let present = FORCED
            .iter()
            .filter(|forced| forced.is_present(collective, variables));
        listed.extend(present.map(|forced| forced.describe(collective)));
    }
    listed
}

/// Whether variables of a launch force a component.
fn forces_any(variables: &BTreeMap<String, String>) -> bool {
    FORCED.iter().any(|forced| {
        let (name, value) = forced.priority_setting();
        variables.get(&format!("{PREFIX}{name}")) == Some(&value)
    })
}

/// The variables with which a launch that forces a component, according to its `variables`, reports the choice of components
/// into the open file of a descriptor; none for another launch.
pub(super) fn reporting_variables(
    variables: &BTreeMap<String, String>,
    descriptor: i32,
) -> Vec<(String, String)> {
    if !forces_any(variables) {
        return Vec::new();
    }
    let (name, level) = REPORTING;
    vec![
        (format!("{PREFIX}{name}"), level.to_owned()),
        (MESSAGES.to_owned(), descriptor.to_string()),
    ]
}

/// The component that takes precedence on the communicator that a report was written about last, apart from those that
/// pass calls on; `None` if the report does not say.
pub fn component_in_report(report: &str) -> Option<&str> {
    let (_, last) = report.rsplit_once("new communicator:")?;
    // Components are enabled by ascending priority, and the last one replaces the functions of those before it.
    let mut enabled = last.lines().filter_map(|line| {
        let (_, choice) = line.split_once("comm_select: selecting")?;
        let (component, outcome) = choice.split_once(',')?;
        let component = component.trim();
        let is_enabled = outcome.trim_end().ends_with("Enabled");
        (is_enabled && !PASSING_ON.contains(&component)).then_some(component)
    });
    enabled.next_back()
}

impl ForcedComponent {
    fn id(&self) -> String {
        format!("{}{}", Candidate::COMPONENT, self.name)
    }

    fn describe(&self, collective: Collective) -> NativeAlgorithm {
        NativeAlgorithm {
            collective,
            id: self.id(),
            takes_segments: self.segment_ending(collective).is_some(),
            takes_fanout: false,
            takes_requests: false,
            // Which operators a component hands to another one differs between releases.
            is_ordered: !collective.is_reduction(),
        }
    }

    /// The control variable of the priority, and its value in launches that force the component.
    fn priority_setting(&self) -> (String, String) {
        let name = format!("coll_{}_priority", self.component);
        (name, FORCED_PRIORITY.to_string())
    }

    /// The end of the name of the variable for segments of a collective.
    fn segment_ending(&self, collective: Collective) -> Option<&'static str> {
        match self.component {
            HAN if IN_TWO_MODULES.contains(&collective) => Some("segsize"),
            "adapt" => Some("segment_size"),
            _ => None,
        }
    }

    /// Whether a library with these control variables has the component, with these settings, for a collective.
    fn is_present(&self, collective: Collective, variables: &BTreeMap<String, String>) -> bool {
        let priority = |component: &str| -> Option<i64> {
            variables
                .get(&format!("coll_{component}_priority"))?
                .parse()
                .ok()
        };
        let has_settings = self.settings.iter().all(|setting| {
            let name = format!("coll_{}_{collective}_{}", self.component, setting.ending);
            setting.collectives.contains(&collective)
                && variables.contains_key(&name)
                && setting.part.is_none_or(|part| priority(part).is_some())
        });
        let carries_out = serves_collective(self.component, collective)
            && match self.component {
                // It has such variables for what it carries out.
                HAN => variables.contains_key(&format!(
                    "coll_han_{collective}_dynamic_global_communicator_module"
                )),
                TUNED => variables.contains_key(&format!("coll_tuned_{collective}_algorithm")),
                _ => true,
            };
        priority(self.component).is_some()
            && has_settings
            && carries_out
            && !self.is_default(collective, variables)
    }

    /// Whether this is what a library with these control variables uses anyway, wherever the component is offered, so that
    /// there is nothing to compare.
    fn is_default(&self, collective: Collective, variables: &BTreeMap<String, String>) -> bool {
        let has_own_settings =
            !self.settings.is_empty() || self.segment_ending(collective).is_some();
        if has_own_settings {
            return false;
        }
        if self.component == BASIC && LEFT_TO_BASIC.contains(&collective) {
            return true;
        }
        let offered: &[bool] = match self.component {
            HAN | TUNED => &[true],
            "sm" => &[false],
            _ => &[false, true],
        };
        offered.iter().all(|&over_nodes| {
            let rivals = rival_components(variables, collective, over_nodes);
            rivals.first() == Some(&self.component)
        })
    }

    /// Whether the component accepts the communicator of a cell, and carries out its call.
    pub(super) fn accepts_cell(&self, cell: &Cell) -> bool {
        let shape = cell.shape;
        match self.component {
            HAN => shape.nodes > 1 && shape.ppn > 1,
            "sm" => shape.nodes == 1 && shape.ppn > 1,
            // Elsewhere `han`, without which it is the default, plays no part.
            TUNED => shape.nodes > 1 && shape.ppn > 1,
            _ => shape.ranks() > 1,
        }
    }

    /// The control variables with their values in launches that force the component with its settings, for all collectives
    /// at once, so that one launch can measure several.
    pub fn settings(&self, parameters: &Parameters) -> Vec<(String, String)> {
        let mut all = vec![self.priority_setting()];
        let component = self.component;
        for setting in self.settings {
            all.extend(setting.collectives.iter().map(|collective| {
                (
                    format!("coll_{component}_{collective}_{}", setting.ending),
                    setting.value.to_owned(),
                )
            }));
        }
        if let Some(bytes) = parameters.segment_bytes {
            let segments = Collective::ALL
                .into_iter()
                .filter(|of| serves_collective(component, *of));
            all.extend(segments.filter_map(|collective| {
                let ending = self.segment_ending(collective)?;
                Some((
                    format!("coll_{component}_{collective}_{ending}"),
                    bytes.to_string(),
                ))
            }));
        }
        all
    }

    /// Of [`Self::settings`] those that concern one collective alone.
    pub fn settings_of_collective(
        &self,
        collective: Collective,
        parameters: &Parameters,
    ) -> Vec<(String, String)> {
        let beginning = format!("coll_{}_{collective}_", self.component);
        let mut all = self.settings(parameters);
        all.retain(|(name, _)| name.starts_with(&beginning));
        all
    }

    /// [`Self::settings`] as environment variables.
    pub(super) fn variables(&self, parameters: &Parameters) -> Vec<(String, String)> {
        let settings = self.settings(parameters).into_iter();
        settings
            .map(|(name, value)| (format!("{PREFIX}{name}"), value))
            .collect()
    }
}
