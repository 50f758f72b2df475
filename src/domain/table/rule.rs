//! One rule of a table, checked against the registry.

use schedule::{Algorithm, Collective, Parameter, Placed, Request, Schedule, Unsupported};
use strict_yaml::{Mistake, Scalar};
use vocabulary::bounds::{RANKS, SPEEDUP};
use vocabulary::{Candidate, CommShape, Parameters, RankOrder, out_of_order};

use crate::other;
use crate::parse::{Checked, Place, parse_size};
use crate::{Confidence, Deployments, Operators, Problem, Rule};

/// The name of the library's default.
const DEFAULT: &str = "default";
pub(crate) const SIZE: &str = "a size in bytes, as in 1500, 64K or 8MiB";

/// The parameter that every algorithm of ours takes.
const THROUGH: &str = "through";

/// The parameters by their names in files and in the registry.
pub(crate) const PARAMETERS: [(&str, Parameter); 9] = [
    ("block_bytes", Parameter::Blocks),
    ("blocks", Parameter::Blocks),
    ("radix", Parameter::Radix),
    ("reduce", Parameter::Reduce),
    ("bcast", Parameter::Bcast),
    ("node", Parameter::Node),
    ("network", Parameter::Network),
    ("leaders_per_node", Parameter::Leaders),
    ("max_requests", Parameter::MaxRequests),
];

/// The domain of an entry's rules.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    pub(crate) collective: Collective,
    pub(crate) library: &'a str,
    pub(crate) shape: CommShape,
    pub(crate) order: RankOrder,
    pub(crate) operators: Operators,
    pub(crate) deployments: Deployments,
    /// The version of the file's format.
    pub(crate) version: u32,
}

/// The first version of the format with the current names of algorithms.
const NAMES_VERSION: u32 = 3;

impl<'a> Group<'a> {
    /// The part that is common to all entries of a collective.
    pub(crate) fn for_collective(collective: Collective, library: &'a str, version: u32) -> Self {
        Self {
            collective,
            library,
            version,
            shape: CommShape { nodes: 1, ppn: 1 },
            order: RankOrder::Unknown,
            operators: Operators::Any,
            deployments: Deployments::Colltune,
        }
    }
}

/// Declares a form with the keys that name a candidate and keys of its own: serde cannot flatten a struct into one that
/// refuses unknown keys.
macro_rules! names_candidate {
    ($(#[$of:meta])* struct $Form:ident {
        $($(#[$of_field:meta])* $field:ident: $Field:ty,)*
    }) => {
        $(#[$of])*
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $Form {
            candidate: String,
            block_bytes: Option<strict_yaml::Scalar>,
            blocks: Option<u32>,
            radix: Option<u32>,
            reduce: Option<String>,
            bcast: Option<String>,
            node: Option<String>,
            network: Option<String>,
            leaders_per_node: Option<u32>,
            max_requests: Option<u32>,
            segment_bytes: Option<strict_yaml::Scalar>,
            fanout: Option<u32>,
            through: Option<vocabulary::Through>,
            $($(#[$of_field])* $field: $Field,)*
        }

        impl $Form {
            /// The candidate that the keys name.
            fn read_candidate(
                &self,
                place: &$crate::parse::Place<'_>,
                group: $crate::rule::Group<'_>,
            ) -> $crate::parse::Checked<vocabulary::Candidate> {
                use $crate::rule::{check_nonzero, check_size, read_candidate};
                // Values are checked before the candidate that takes them.
                let parameters = vocabulary::Parameters {
                    block_bytes: check_size(place, "block_bytes", self.block_bytes.as_ref())?,
                    blocks: check_nonzero(place, "blocks", self.blocks)?,
                    radix: self.radix,
                    reduce: self.reduce.clone(),
                    bcast: self.bcast.clone(),
                    node: self.node.clone(),
                    network: self.network.clone(),
                    leaders_per_node: check_nonzero(place, "leaders_per_node", self.leaders_per_node)?,
                    max_requests: check_nonzero(place, "max_requests", self.max_requests)?,
                    segment_bytes: check_size(place, "segment_bytes", self.segment_bytes.as_ref())?,
                    fanout: check_nonzero(place, "fanout", self.fanout)?,
                    through: self.through.unwrap_or_default(),
                };
                read_candidate(place, &self.candidate, parameters, group)
            }
        }
    };
}
pub(crate) use names_candidate;

names_candidate! {
    /// A rule as written in the file.
    struct RuleDefinition {
        from: Scalar,
        speedup: Option<f64>,
        confidence: Confidence,
        confirmed: Option<bool>,
    }
}

/// Refuses the first of the given parameters that a candidate does not take.
pub(crate) fn refuse_parameters(
    place: &Place<'_>,
    candidate: &str,
    parameters: &Parameters,
    takes: &[&'static str],
) -> Checked<()> {
    let mut given = parameters.given_parameters();
    match given.find(|(parameter, _)| !takes.contains(parameter)) {
        None => Ok(()),
        Some((parameter, _)) => Err(place.key(parameter).problem_here(Problem::NotTaken {
            candidate: candidate.to_owned(),
            parameter,
            takes: takes.to_vec(),
        })),
    }
}

/// Reads a rule.
pub(crate) fn read_rule(
    place: &Place<'_>,
    definition: RuleDefinition,
    group: Group<'_>,
) -> Checked<Rule> {
    if let Some(ratio) = definition.speedup
        && !SPEEDUP.contains(ratio)
    {
        return Err(place.key("speedup").unfit_value(&SPEEDUP.to_string()));
    }
    Ok(Rule {
        candidate: definition.read_candidate(place, group)?,
        from_bytes: parse_size(&definition.from, || place.key("from"))?,
        speedup: definition.speedup,
        confidence: definition.confidence,
        confirmed: definition.confirmed.unwrap_or(false),
        refuted: false,
    })
}

/// The candidate with a full name and parameters, if entries of a group may name it.
pub(crate) fn read_candidate(
    place: &Place<'_>,
    name: &str,
    parameters: Parameters,
    group: Group<'_>,
) -> Checked<Candidate> {
    if name.contains('[') && name.ends_with(']') {
        let label = name.to_owned();
        return Err(place
            .key("candidate")
            .problem_here(Problem::InBrackets { label }));
    }
    let candidate = read_any_candidate(place, name, parameters, group)?;
    if !group.deployments.may_name(&candidate) {
        return Err(place.key("candidate").problem_here(Problem::NotInLibrary {
            candidate: name.to_owned(),
            deployments: group.deployments,
        }));
    }
    Ok(candidate)
}

fn read_any_candidate(
    place: &Place<'_>,
    name: &str,
    parameters: Parameters,
    group: Group<'_>,
) -> Checked<Candidate> {
    if name.contains(':') {
        return other::read_other_candidate(place, name, parameters, group);
    }
    let algorithm = match name {
        DEFAULT => None,
        _ => Some(find_algorithm(place, name, group)?),
    };
    refuse_parameters(place, name, &parameters, &taken_parameters(algorithm))?;
    let Some(algorithm) = algorithm else {
        return Ok(Candidate::Default);
    };
    check_inner(place, "reduce", &parameters.reduce, Collective::Reduce)?;
    check_inner(place, "bcast", &parameters.bcast, Collective::Bcast)?;
    if parameters.blocks.is_some() && parameters.block_bytes.is_some() {
        return Err(place.key("blocks").problem_here(Problem::BothBlocks));
    }
    refuse_unsupported(place, algorithm, &parameters, group)?;
    Ok(Candidate::Ours {
        algorithm: algorithm.name(),
        parameters,
    })
}

fn find_algorithm(place: &Place<'_>, name: &str, group: Group<'_>) -> Checked<&'static Algorithm> {
    let collective = group.collective;
    let place = place.key("candidate");
    let renamed = (group.version < NAMES_VERSION).then(|| schedule::find_by_former_name(name));
    let found = renamed.flatten().or_else(|| schedule::find_algorithm(name));
    match found {
        Some(algorithm) if algorithm.collective == collective => Ok(algorithm),
        Some(Algorithm { collective: of, .. }) => {
            Err(place.problem_here(Problem::OtherCollective {
                name: name.to_owned(),
                of: *of,
                collective,
            }))
        }
        None => {
            let known = schedule::algorithms_of(collective).map(Algorithm::name);
            let known: Vec<_> = known.chain([DEFAULT.to_owned()]).collect();
            let known = known.iter().map(String::as_str);
            Err(place.problem_here(Mistake::unknown_word("candidate", name, known)))
        }
    }
}

/// The names in files of the parameters that an algorithm takes, in its own order.
pub fn parameter_names(algorithm: &Algorithm) -> Vec<&'static str> {
    let named = algorithm.parameters.iter().flat_map(|taken| {
        let names = PARAMETERS.iter();
        names.filter(move |(_, parameter)| parameter == taken)
    });
    named.map(|(name, _)| *name).collect()
}

/// The keys of the parameters that an algorithm of ours takes; none for the default.
fn taken_parameters(algorithm: Option<&Algorithm>) -> Vec<&'static str> {
    let takes = |parameter| algorithm.is_some_and(|algorithm| algorithm.takes(parameter));
    let taken = PARAMETERS.iter().filter(|(_, parameter)| takes(*parameter));
    let of_all = algorithm.map(|_| THROUGH);
    taken.map(|(name, _)| *name).chain(of_all).collect()
}

/// Checks against the registry that the algorithm serves the rule's calls.
fn refuse_unsupported(
    place: &Place<'_>,
    algorithm: &'static Algorithm,
    parameters: &Parameters,
    group: Group<'_>,
) -> Checked<()> {
    let request = Request {
        parameters: parameters.in_units(1),
        placed: Placed::Block {
            per_node: group.shape.ppn,
        },
        ..Request::among_ranks(group.shape.ranks())
    };
    let radix = parameters.radix.map_or("candidate", |_| "radix");
    if let Err(unsupported) = Schedule::new(algorithm, &request) {
        let key = match unsupported {
            Unsupported::Radix { .. } => radix,
            Unsupported::TooManyLeaders { .. } => "leaders_per_node",
            Unsupported::Part { ref id, .. } if parameters.node.as_ref() == Some(id) => "node",
            Unsupported::Part { ref id, .. } if parameters.network.as_ref() == Some(id) => {
                "network"
            }
            _ => "candidate",
        };
        return Err(place
            .key(key)
            .problem_here(Problem::Unsupported(unsupported)));
    }
    let operators = group.operators;
    if operators == Operators::Commutative {
        return Ok(());
    }
    let is_in_block = group.order.on_shape(group.shape).may_be(RankOrder::Block);
    let needs_block = algorithm.knows_nodes() && algorithm.collective.is_reduction();
    let unordered = if needs_block && !is_in_block {
        Some(algorithm.name())
    } else {
        out_of_order(algorithm, parameters)
    };
    match unordered {
        None => Ok(()),
        Some(candidate) => {
            let is_inner = candidate != algorithm.name() && parameters.reduce.is_some();
            let key = if is_inner { "reduce" } else { "candidate" };
            Err(place.key(key).problem_here(Problem::Unordered {
                candidate,
                operators,
            }))
        }
    }
}

/// A shape without zeros whose number of ranks is within bounds.
pub(crate) fn check_shape(place: &Place<'_>, nodes: u32, ppn: u32) -> Checked<CommShape> {
    for (key, value) in [("nodes", nodes), ("ppn", ppn)] {
        if value == 0 {
            return Err(place.key(key).problem_here(Problem::Zero { key }));
        }
    }
    CommShape::try_new(nodes, ppn).ok_or_else(|| {
        let expected = format!("nodes that make with `ppn` {RANKS}");
        place.key("nodes").unfit_value(&expected)
    })
}

/// A number that, if given, is not zero.
pub(crate) fn check_nonzero<T: PartialEq + Default>(
    place: &Place<'_>,
    key: &'static str,
    given: Option<T>,
) -> Checked<Option<T>> {
    match given {
        Some(value) if value == T::default() => {
            Err(place.key(key).problem_here(Problem::Zero { key }))
        }
        _ => Ok(given),
    }
}

/// A size that, if given, is not zero.
pub(crate) fn check_size(
    place: &Place<'_>,
    key: &'static str,
    given: Option<&Scalar>,
) -> Checked<Option<u64>> {
    let size = given.map(|size| parse_size(size, || place.key(key)));
    check_nonzero(place, key, size.transpose()?)
}

/// Checks the id of an inner algorithm of a composed one.
fn check_inner(
    place: &Place<'_>,
    key: &str,
    given: &Option<String>,
    collective: Collective,
) -> Checked<()> {
    let mut known = schedule::part_algorithms_of(collective).map(|algorithm| algorithm.id);
    match given {
        Some(id) if !known.any(|known| known == id) => {
            let kind = match collective {
                Collective::Bcast => "inner broadcast",
                _ => "inner reduce",
            };
            let known_ids = schedule::part_algorithms_of(collective).map(|algorithm| algorithm.id);
            Err(place
                .key(key)
                .problem_here(Mistake::unknown_word(kind, id, known_ids)))
        }
        _ => Ok(()),
    }
}
