//! One rule of a table, checked against the registry.

use schedule::{Algorithm, Collective, Parameter, Request, Schedule, Unsupported};
use vocabulary::{Candidate, CommShape, Parameters};

use crate::field::{Field, Fields};
use crate::other;
use crate::problem::{Fault, Problem};
use crate::{Confidence, Deployments, Operators, Rule};

/// The name of the library's own choice.
const DEFAULT: &str = "default";

/// The parameters as files spell them, and what the registry calls them.
pub(crate) const PARAMETERS: [(&str, Parameter); 5] = [
    ("block_bytes", Parameter::Blocks),
    ("blocks", Parameter::Blocks),
    ("radix", Parameter::Radix),
    ("reduce", Parameter::Reduce),
    ("bcast", Parameter::Bcast),
];

/// What the rules of an entry hold for.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    pub(crate) collective: Collective,
    pub(crate) library: &'a str,
    pub(crate) shape: CommShape,
    pub(crate) operators: Operators,
    pub(crate) deployments: Deployments,
}

impl<'a> Group<'a> {
    /// What holds for all entries of a collective; an entry tells the rest.
    pub(crate) fn of(collective: Collective, library: &'a str) -> Self {
        Self {
            collective,
            library,
            shape: CommShape { nodes: 1, ppn: 1 },
            operators: Operators::Any,
            deployments: Deployments::Colltune,
        }
    }
}

/// Reads a rule; also returns its `from`, where problems with the order of rules belong.
pub(crate) fn read<'a>(field: &Field<'a>, group: Group<'_>) -> Result<(Rule, Field<'a>), Fault> {
    let fields = field.mapping(&[
        "from",
        "candidate",
        "block_bytes",
        "blocks",
        "radix",
        "reduce",
        "bcast",
        "segment_bytes",
        "fanout",
        "speedup",
        "confidence",
    ])?;
    let from = fields.required("from")?;
    let rule = Rule {
        from_bytes: from.bytes()?,
        candidate: candidate(&fields, group)?,
        speedup: fields
            .get("speedup")
            .map(|field| field.ratio())
            .transpose()?,
        confidence: fields.required("confidence")?.word(
            "confidence",
            &Confidence::ALL,
            Confidence::name,
        )?,
    };
    Ok((rule, from))
}

fn candidate(fields: &Fields<'_>, group: Group<'_>) -> Result<Candidate, Fault> {
    let candidate = any_candidate(fields, group)?;
    if group.deployments.offer(&candidate) {
        return Ok(candidate);
    }
    let field = fields.required("candidate")?;
    Err(field.fault(Problem::NotInLibrary {
        candidate: candidate.algorithm().to_owned(),
        deployments: group.deployments,
    }))
}

fn any_candidate(fields: &Fields<'_>, group: Group<'_>) -> Result<Candidate, Fault> {
    let field = fields.required("candidate")?;
    let name = field.text()?;
    if name.contains(':') {
        return other::candidate(fields, &field, group);
    }
    let algorithm = match name {
        DEFAULT => None,
        name => Some(algorithm(&field, name, group.collective)?),
    };
    let all = PARAMETERS.iter().map(|(name, _)| *name);
    let all: Vec<&str> = all.chain(other::PARAMETERS).collect();
    refuse_parameters(fields, name, &all, &taken_by(name))?;
    let Some(algorithm) = algorithm else {
        return Ok(Candidate::Default);
    };

    let parameters = Parameters {
        block_bytes: positive(fields, "block_bytes", Field::bytes)?,
        blocks: positive(fields, "blocks", Field::count)?,
        radix: fields.get("radix").map(|field| field.count()).transpose()?,
        reduce: inner(fields, "reduce", Collective::Reduce)?,
        bcast: inner(fields, "bcast", Collective::Bcast)?,
        ..Parameters::default()
    };
    if parameters.blocks.is_some() && parameters.block_bytes.is_some() {
        return Err(fields
            .get("blocks")
            .unwrap_or(field)
            .fault(Problem::BothBlocks));
    }
    refuse_unsupported(fields, &field, algorithm, &parameters, group)?;
    Ok(Candidate::Ours {
        algorithm: algorithm.name(),
        parameters,
    })
}

fn algorithm(
    field: &Field<'_>,
    name: &str,
    collective: Collective,
) -> Result<&'static Algorithm, Fault> {
    match schedule::find(name) {
        Some(algorithm) if algorithm.collective == collective => Ok(algorithm),
        Some(Algorithm { collective: of, .. }) => {
            let name = name.to_owned();
            Err(field.fault(Problem::OtherCollective {
                name,
                of: *of,
                collective,
            }))
        }
        None => {
            let known = schedule::of(collective).map(Algorithm::name);
            let native = format!("{}{collective}/ID", Candidate::NATIVE);
            let native = (!collective.has_algorithms()).then_some(native);
            let known = known.chain([DEFAULT.to_owned()]).chain(native).collect();
            let name = name.to_owned();
            Err(field.fault(Problem::UnknownName {
                kind: "candidate",
                name,
                known,
            }))
        }
    }
}

/// The keys of the parameters that an algorithm of ours takes; none for other names.
fn taken_by(name: &str) -> Vec<&'static str> {
    let algorithm = schedule::find(name);
    let takes = |parameter| algorithm.is_some_and(|algorithm| algorithm.takes(parameter));
    let taken = PARAMETERS.iter().filter(|(_, parameter)| takes(*parameter));
    taken.map(|(name, _)| *name).collect()
}

/// Refuses the first of the given parameters that a candidate does not take.
pub(crate) fn refuse_parameters(
    fields: &Fields<'_>,
    candidate: &str,
    parameters: &[&'static str],
    takes: &[&'static str],
) -> Result<(), Fault> {
    for &parameter in parameters {
        let Some(field) = fields
            .get(parameter)
            .filter(|_| !takes.contains(&parameter))
        else {
            continue;
        };
        return Err(field.fault(Problem::NotTaken {
            candidate: candidate.to_owned(),
            parameter,
            takes: takes.to_vec(),
        }));
    }
    Ok(())
}

/// Refuses what the registry says of the call that the rule is for.
fn refuse_unsupported<'a>(
    fields: &Fields<'a>,
    candidate: &Field<'a>,
    algorithm: &'static Algorithm,
    parameters: &Parameters,
    group: Group<'_>,
) -> Result<(), Fault> {
    let request = Request {
        parameters: parameters.in_units(1),
        ..Request::ranks(group.shape.ranks())
    };
    let of = |parameter| fields.get(parameter).unwrap_or(candidate.clone());
    match Schedule::new(algorithm, &request) {
        Ok(_) => {}
        Err(unsupported @ Unsupported::Radix { .. }) => {
            return Err(of("radix").fault(Problem::Unsupported(unsupported)));
        }
        Err(unsupported) => return Err(candidate.fault(Problem::Unsupported(unsupported))),
    }
    let operators = group.operators;
    if operators == Operators::Commutative {
        return Ok(());
    }
    match out_of_order(algorithm, parameters) {
        None => Ok(()),
        Some(culprit) => {
            let field = match culprit == algorithm.name() {
                true => candidate.clone(),
                false => of("reduce"),
            };
            Err(field.fault(Problem::Unordered {
                candidate: culprit,
                operators,
            }))
        }
    }
}

/// The full name of the algorithm, the given one or its inner reduce, that combines out of rank
/// order for some root: not for operators that need not commute. `None` where nothing is combined.
///
/// Tables hold for every root, whatever root was measured.
pub fn out_of_order(algorithm: &'static Algorithm, parameters: &Parameters) -> Option<String> {
    // Neither the first nor the last of an even number of ranks: what is ordered there is ordered.
    let request = Request {
        root: 1,
        commutative: false,
        parameters: parameters.in_units(1),
        ..Request::ranks(4)
    };
    match Schedule::new(algorithm, &request) {
        Err(Unsupported::Unordered { algorithm }) => Some(algorithm),
        _ => None,
    }
}

pub(crate) fn positive<'a, T: PartialEq + Default>(
    fields: &Fields<'a>,
    key: &'static str,
    read: fn(&Field<'a>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let Some(field) = fields.get(key) else {
        return Ok(None);
    };
    let value = read(&field)?;
    if value == T::default() {
        return Err(field.fault(Problem::Zero { key }));
    }
    Ok(Some(value))
}

/// The id of an inner algorithm of a composed one.
fn inner(
    fields: &Fields<'_>,
    key: &'static str,
    collective: Collective,
) -> Result<Option<String>, Fault> {
    let Some(field) = fields.get(key) else {
        return Ok(None);
    };
    let id = field.text()?;
    if schedule::of(collective).any(|algorithm| algorithm.id == id) {
        return Ok(Some(id.to_owned()));
    }
    let kind = match collective {
        Collective::Bcast => "inner broadcast",
        _ => "inner reduce",
    };
    let known = schedule::of(collective)
        .map(|algorithm| algorithm.id.to_owned())
        .collect();
    Err(field.fault(Problem::UnknownName {
        kind,
        name: id.to_owned(),
        known,
    }))
}
