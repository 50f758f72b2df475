//! One rule of a table, checked against the registry.

use schedule::{Algorithm, Collective, Parameter};
use wire::{Candidate, Parameters};

use crate::field::{Field, Fields};
use crate::problem::{Fault, Problem};
use crate::{Confidence, Operators, Rule};

/// The name of the library's own choice.
const DEFAULT: &str = "default";

/// The parameters as files spell them, and what the registry calls them.
const PARAMETERS: [(&str, Parameter); 4] = [
    ("block_bytes", Parameter::Blocks),
    ("blocks", Parameter::Blocks),
    ("reduce", Parameter::Reduce),
    ("bcast", Parameter::Bcast),
];

/// Reads a rule; also returns its `from`, where problems with the order of rules belong.
pub(crate) fn read<'a>(
    field: &Field<'a>,
    collective: Collective,
    operators: Operators,
) -> Result<(Rule, Field<'a>), Fault> {
    let fields = field.mapping(&[
        "from",
        "candidate",
        "block_bytes",
        "blocks",
        "reduce",
        "bcast",
        "speedup",
        "confidence",
    ])?;
    let from = fields.required("from")?;
    let rule = Rule {
        from_bytes: from.bytes()?,
        candidate: candidate(&fields, collective, operators)?,
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

fn candidate(
    fields: &Fields<'_>,
    collective: Collective,
    operators: Operators,
) -> Result<Candidate, Fault> {
    let field = fields.required("candidate")?;
    let name = field.text()?;
    let algorithm = match name {
        DEFAULT => None,
        name => Some(algorithm(&field, name, collective)?),
    };
    refuse_foreign_parameters(fields, name, algorithm)?;
    let Some(algorithm) = algorithm else {
        return Ok(Candidate::Default);
    };

    let parameters = Parameters {
        block_bytes: positive(fields, "block_bytes", Field::bytes)?,
        blocks: positive(fields, "blocks", Field::count)?,
        reduce: inner(fields, "reduce", Collective::Reduce)?,
        bcast: inner(fields, "bcast", Collective::Bcast)?,
    };
    if parameters.blocks.is_some() && parameters.block_bytes.is_some() {
        return Err(fields
            .get("blocks")
            .unwrap_or(field)
            .fault(Problem::BothBlocks));
    }
    let commutative = operators == Operators::Commutative || !collective.is_reduction();
    if !commutative {
        refuse_unordered(&field, algorithm, operators)?;
        if let (Some(field), Some(id)) = (fields.get("reduce"), &parameters.reduce) {
            let inner = schedule::of(Collective::Reduce).find(|inner| inner.id == id);
            inner.map_or(Ok(()), |inner| refuse_unordered(&field, inner, operators))?;
        }
    }
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
            let known = known.chain([DEFAULT.to_owned()]).collect();
            let name = name.to_owned();
            Err(field.fault(Problem::UnknownName {
                kind: "candidate",
                name,
                known,
            }))
        }
    }
}

fn refuse_foreign_parameters(
    fields: &Fields<'_>,
    candidate: &str,
    algorithm: Option<&Algorithm>,
) -> Result<(), Fault> {
    let taken = |parameter| algorithm.is_some_and(|algorithm| algorithm.takes(parameter));
    for (name, parameter) in PARAMETERS {
        let Some(field) = fields.get(name).filter(|_| !taken(parameter)) else {
            continue;
        };
        let takes = PARAMETERS.iter().filter(|(_, parameter)| taken(*parameter));
        return Err(field.fault(Problem::NotTaken {
            candidate: candidate.to_owned(),
            parameter: name,
            takes: takes.map(|(name, _)| *name).collect(),
        }));
    }
    Ok(())
}

fn refuse_unordered(
    field: &Field<'_>,
    algorithm: &Algorithm,
    operators: Operators,
) -> Result<(), Fault> {
    if algorithm.ordered {
        return Ok(());
    }
    Err(field.fault(Problem::Unordered {
        candidate: algorithm.name(),
        operators,
    }))
}

fn positive<'a, T: PartialEq + Default>(
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
