//! The components of a library that carry out collectives.

use schedule::Collective;
use serde::{Deserialize, Serialize};

use crate::CommShape;

/// A collective with the component of the library that takes precedence for it, by the components' priorities; one that
/// declines a call leaves it to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServingComponent {
    /// The collective; serialized by name.
    #[serde(with = "crate::cell::collective_name")]
    pub collective: Collective,
    /// The component's name in the library.
    pub component: String,
    /// Whether this holds only for communicators over several nodes, on which it replaces what holds elsewhere.
    #[serde(default)]
    pub over_nodes: bool,
}

impl ServingComponent {
    /// The component that carries out a collective on a shape; `None` if that is unknown.
    pub fn find_serving(all: &[Self], collective: Collective, shape: CommShape) -> Option<&str> {
        let find = |over_nodes: bool| {
            let mut of_collective = all.iter().filter(|one| one.collective == collective);
            of_collective.find(|one| one.over_nodes == over_nodes)
        };
        let over_nodes = (shape.nodes > 1).then(|| find(true)).flatten();
        let serving = over_nodes.or_else(|| find(false))?;
        Some(&serving.component)
    }
}

#[cfg(test)]
mod tests {
    use schedule::Collective;

    use super::ServingComponent;
    use crate::{Candidate, CommShape, Parameters};

    #[test]
    fn a_component_over_nodes_replaces_the_one_within_a_node() {
        let of_bcast = |component: &str, over_nodes| ServingComponent {
            collective: Collective::Bcast,
            component: component.to_owned(),
            over_nodes,
        };
        let all = [of_bcast("tuned", false), of_bcast("han", true)];
        let check = |serving: &[ServingComponent], nodes, expected| {
            let shape = CommShape { nodes, ppn: 2 };
            let found = ServingComponent::find_serving(serving, Collective::Bcast, shape);
            assert_eq!(found, expected, "{nodes}");
        };
        check(&all, 1, Some("tuned"));
        check(&all, 2, Some("han"));
        check(&all[..1], 2, Some("tuned"));
        check(&all[1..], 1, None);
        let shape = CommShape { nodes: 1, ppn: 2 };
        let other = ServingComponent::find_serving(&all, Collective::Reduce, shape);
        assert_eq!(other, None);
    }

    #[test]
    fn a_forced_component_is_named_without_its_settings() {
        let component = |id: &str| {
            let candidate = Candidate::Native {
                algorithm: format!("native:bcast/{id}"),
                parameters: Parameters::default(),
            };
            candidate.forced_component().map(str::to_owned)
        };
        assert_eq!(component("component_sm").as_deref(), Some("sm"));
        assert_eq!(
            component("component_han_up_adapt_low_sm").as_deref(),
            Some("han")
        );
        assert_eq!(component("chain"), None);
        assert_eq!(Candidate::Default.forced_component(), None);
    }
}
