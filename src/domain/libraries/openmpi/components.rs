//! The components of the framework `coll`, and the component that serves each collective.

use std::collections::BTreeMap;

use schedule::Collective::{self, *};

use crate::Serving;

/// The component that reads rules files.
pub(super) const TUNED: &str = "tuned";

/// The component that divides communicators into nodes.
pub(super) const HAN: &str = "han";

/// The communicators that a component serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServedCommunicators {
    /// All communicators.
    Everywhere,
    /// Communicators on one node.
    OneNode,
    /// Communicators on several nodes.
    SeveralNodes,
}

/// A component that may take precedence over `tuned`.
struct Component {
    name: &'static str,
    offers: ServedCommunicators,
    collectives: &'static [Collective],
}

/// The components of 4.1 to 6.0 and of vendors' builds that carry out blocking collectives of several ranks on host
/// memory. Not listed: `self` (one rank), `inter` (two groups), `libnbc` (nonblocking), `cuda` and
/// `accelerator` (memory of devices), and `sync` and `monitoring`, which pass every call on.
const COMPONENTS: [Component; 9] = [
    Component {
        name: "hcoll",
        offers: ServedCommunicators::Everywhere,
        collectives: &[
            Bcast, Reduce, Allreduce, Allgather, Allgatherv, Alltoall, Alltoallv, Barrier, Gatherv,
        ],
    },
    Component {
        name: "ucc",
        offers: ServedCommunicators::Everywhere,
        collectives: &[
            Bcast,
            Reduce,
            Allreduce,
            Gather,
            Scatter,
            Allgather,
            ReduceScatter,
            ReduceScatterBlock,
            Alltoall,
            Alltoallv,
            Allgatherv,
            Gatherv,
            Scatterv,
            Barrier,
        ],
    },
    Component {
        name: HAN,
        offers: ServedCommunicators::SeveralNodes,
        collectives: &[
            Bcast, Reduce, Allreduce, Gather, Scatter, Allgather, Barrier,
        ],
    },
    Component {
        name: "acoll",
        offers: ServedCommunicators::Everywhere,
        collectives: &[
            Bcast, Reduce, Allreduce, Gather, Allgather, Alltoall, Barrier,
        ],
    },
    Component {
        name: "xhc",
        offers: ServedCommunicators::OneNode,
        collectives: &[Bcast, Reduce, Allreduce, Barrier],
    },
    Component {
        name: "sm",
        offers: ServedCommunicators::OneNode,
        collectives: &[Bcast, Reduce, Allreduce, Barrier],
    },
    Component {
        name: "adapt",
        offers: ServedCommunicators::Everywhere,
        collectives: &[Bcast, Reduce],
    },
    Component {
        name: TUNED,
        offers: ServedCommunicators::Everywhere,
        collectives: &[
            Bcast,
            Reduce,
            Allreduce,
            Gather,
            Scatter,
            Allgather,
            ReduceScatter,
            ReduceScatterBlock,
            Alltoall,
            Barrier,
            Scan,
            Exscan,
            Alltoallv,
            Allgatherv,
        ],
    },
    Component {
        name: "basic",
        offers: ServedCommunicators::Everywhere,
        collectives: &Collective::ALL,
    },
];

/// Whether a component carries out a collective in any release.
pub(super) fn serves_collective(component: &str, collective: Collective) -> bool {
    let mut known = COMPONENTS.iter();
    known.any(|known| known.name == component && known.collectives.contains(&collective))
}

/// The component with the highest priority for each collective, which the library uses. A component may still decline,
/// for example without a network card, which only a launch could show.
pub(super) fn serving_components(variables: &BTreeMap<String, String>) -> Vec<Serving> {
    let list = list_without(variables, &before_tuned(variables));
    let mut serving = Vec::new();
    for over_nodes in [false, true] {
        for collective in Collective::ALL {
            let rivals = rival_components(variables, collective, over_nodes);
            let Some(found) = rivals.first().copied() else {
                continue;
            };
            if over_nodes
                && self::rival_components(variables, collective, false).first() == Some(&found)
            {
                continue;
            }
            // If `tuned` is not among the rivals, no list adds it.
            let is_before = found != TUNED && rivals.contains(&TUNED);
            let entry = Serving {
                component: found.to_owned(),
                collectives: vec![collective],
                over_nodes,
                remedy: is_before.then(|| format!("OMPI_MCA_coll={list}")),
            };
            Serving::add_to(&mut serving, entry);
        }
    }
    serving
}

/// The components with precedence over `tuned` for any collective that it has, in the order of the list.
fn before_tuned(variables: &BTreeMap<String, String>) -> Vec<&'static str> {
    let mut before = Vec::new();
    for over_nodes in [false, true] {
        for collective in Collective::ALL {
            let rivals = rival_components(variables, collective, over_nodes);
            if let Some(place) = rivals.iter().position(|name| *name == TUNED) {
                before.extend(rivals.into_iter().take(place));
            }
        }
    }
    let names = COMPONENTS.iter().map(|component| component.name);
    names.filter(|name| before.contains(name)).collect()
}

/// The component of a setting if it carries out no collective, so that its other settings have no effect.
pub(super) fn idle_component(
    setting: &str,
    variables: &BTreeMap<String, String>,
) -> Option<String> {
    let component = COMPONENTS.iter().map(|component| component.name);
    let component = component.filter(|name| *name != TUNED).find(|name| {
        let own = setting
            .strip_prefix("coll_")
            .or_else(|| setting.strip_prefix("HCOLL_").map(|_| "hcoll_"));
        own.and_then(|own| own.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with('_'))
    })?;
    let selects = ["priority", "enable", "np"]
        .iter()
        .any(|what| setting == format!("coll_{component}_{what}"));
    if selects {
        return None;
    }
    let places = [false, true];
    let is_first = |name: &str| {
        let mut all = Collective::ALL.into_iter();
        all.any(|collective| {
            let mut places = places.iter();
            places.any(|over_nodes| {
                rival_components(variables, collective, *over_nodes).first() == Some(&name)
            })
        })
    };
    // `han` makes components with a low priority carry out its parts.
    let is_part = ["sm", "adapt", "basic"].contains(&component) && is_first("han");
    (!is_first(component) && !is_part).then(|| component.to_owned())
}

/// The names in a value of `coll`, and whether they are excluded.
fn listed_components(variables: &BTreeMap<String, String>) -> (Vec<&str>, bool) {
    let value = variables.get("coll").map_or("", String::as_str).trim();
    let (names, excluded) = match value.strip_prefix('^') {
        Some(excluded) => (excluded, true),
        None => (value, value.is_empty()),
    };
    let names = names.split(',').map(str::trim);
    (names.filter(|name| !name.is_empty()).collect(), excluded)
}

/// The value of `coll` that also excludes these components. A separate value would replace the one that is set.
fn list_without(variables: &BTreeMap<String, String>, components: &[&str]) -> String {
    let (mut names, excluded) = listed_components(variables);
    if excluded {
        names.extend(components);
        return format!("^{}", names.join(","));
    }
    names.retain(|name| !components.contains(name));
    names.join(",")
}

/// The components that may carry out a collective, on one node or on several, by descending priority.
pub(super) fn rival_components(
    variables: &BTreeMap<String, String>,
    collective: Collective,
    over_nodes: bool,
) -> Vec<&'static str> {
    let priority_of = |component: &Component| {
        let value = variables.get(&format!("coll_{}_priority", component.name))?;
        // Most components are disabled by a priority of 0; the others then come last.
        value.parse::<i64>().ok().filter(|priority| *priority > 0)
    };
    let (names, excluded) = listed_components(variables);
    let takes_part = |component: &&Component| {
        let here = match component.offers {
            ServedCommunicators::Everywhere => true,
            ServedCommunicators::OneNode => !over_nodes,
            ServedCommunicators::SeveralNodes => over_nodes,
        };
        // Vendors' components have a Boolean variable that enables them.
        let switch = variables.get(&format!("coll_{}_enable", component.name));
        let is_on = switch.is_none_or(|value| super::is_true(value));
        // In each release, `tuned` has only the collectives that it has variables for.
        let algorithm = format!("coll_{}_{collective}_algorithm", component.name);
        let has_it = component.name != TUNED || variables.contains_key(&algorithm);
        here && is_on
            && has_it
            && names.contains(&component.name) != excluded
            && component.collectives.contains(&collective)
    };
    // Of equal priorities, the last in the list is the component that is always there.
    let rivals = COMPONENTS.iter().rev().filter(takes_part);
    let ranked = rivals.filter_map(|component| Some((priority_of(component)?, component.name)));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
    ranked.into_iter().map(|(_, name)| name).collect()
}
