//! Rules that name what is not ours: the library's own algorithms, mock-ups, what was imported.

use schedule::Collective;
use vocabulary::{Candidate, MOCKUPS, Mockup, Parameters};

use crate::Operators;
use crate::field::{Field, Fields};
use crate::problem::{Fault, Problem};
use crate::rule::{self, Group};

/// The parameters of native and imported algorithms, as files spell them.
pub(crate) const PARAMETERS: [&str; 2] = ["segment_bytes", "fanout"];

/// Reads a candidate whose name begins with what it is: `native:`, `mockup:`, or the source of an
/// import.
///
/// Which native algorithms there are only the library knows: any name is taken. That they combine in
/// the order of ranks is known of some ([`libraries::combines_in_order`]).
pub(crate) fn candidate(
    fields: &Fields<'_>,
    field: &Field<'_>,
    group: Group<'_>,
) -> Result<Candidate, Fault> {
    let name = field.text()?;
    let (collective, operators) = (group.collective, group.operators);
    check_collective(field, name, collective)?;
    let id = name.rsplit('/').next().unwrap_or(name);
    let is_ordered = name.starts_with(Candidate::NATIVE)
        && libraries::combines_in_order(group.library, collective, id);
    if collective.is_reduction() && operators != Operators::Commutative && !is_ordered {
        let candidate = name.to_owned();
        return Err(field.fault(Problem::Unordered {
            candidate,
            operators,
        }));
    }
    let ours = rule::PARAMETERS.map(|(name, _)| name);
    let (all, algorithm) = ([&ours[..], &PARAMETERS].concat(), name.to_owned());
    if name.starts_with(Candidate::MOCKUP) {
        rule::refuse_parameters(fields, name, &all, &[])?;
        let known: Vec<String> = MOCKUPS
            .iter()
            .filter(|mockup| mockup.collective == collective)
            .map(Mockup::name)
            .collect();
        if known.contains(&algorithm) {
            return Ok(Candidate::Mockup { algorithm });
        }
        return Err(field.fault(Problem::UnknownName {
            kind: "mock-up",
            name: algorithm,
            known,
        }));
    }
    rule::refuse_parameters(fields, name, &all, &PARAMETERS)?;
    let parameters = Parameters {
        segment_bytes: rule::positive(fields, "segment_bytes", Field::bytes)?,
        fanout: rule::positive(fields, "fanout", Field::count)?,
        ..Parameters::default()
    };
    Ok(if name.starts_with(Candidate::NATIVE) {
        Candidate::Native {
            algorithm,
            parameters,
        }
    } else {
        Candidate::Foreign {
            algorithm,
            parameters,
        }
    })
}

/// The collective stands between the colon and the slash.
fn check_collective(field: &Field<'_>, name: &str, collective: Collective) -> Result<(), Fault> {
    let of = name
        .split_once(':')
        .and_then(|(_, rest)| rest.split_once('/'))
        .filter(|(_, id)| !id.is_empty())
        .and_then(|(of, _)| of.parse::<Collective>().ok());
    match of {
        Some(of) if of == collective => Ok(()),
        Some(of) => Err(field.fault(Problem::OtherCollective {
            name: name.to_owned(),
            of,
            collective,
        })),
        None => Err(field.fault(Problem::UnknownName {
            kind: "candidate",
            name: name.to_owned(),
            known: vec![format!("native:{collective}/ID")],
        })),
    }
}
