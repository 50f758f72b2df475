//! Rules with candidates other than colltune's algorithms: the library's own algorithms, mock-ups and imported ones.

use schedule::Collective;
use strict_yaml::Mistake;
use vocabulary::{Candidate, MOCKUPS, Mockup, Parameters};

use crate::parse::{Checked, Place};
use crate::rule::{Group, refuse_parameters};
use crate::{Operators, Problem};

/// The parameters of native and imported algorithms, as files spell them.
const PARAMETERS: [&str; 3] = ["segment_bytes", "fanout", "max_requests"];

/// Reads a candidate whose name begins with its kind: `native:`, `mockup:`, or the source of an import.
///
/// Any name of a native algorithm is accepted, since only the library knows which it has.
/// [`libraries::combines_in_order`] knows which of them combine in rank order.
pub(crate) fn read_other_candidate(
    place: &Place<'_>,
    name: &str,
    parameters: Parameters,
    group: Group<'_>,
) -> Checked<Candidate> {
    let (collective, operators) = (group.collective, group.operators);
    let field = place.key("candidate");
    check_collective(&field, name, collective)?;
    let id = name.rsplit('/').next().unwrap_or(name);
    let is_ordered = name.starts_with(Candidate::NATIVE)
        && libraries::combines_in_order(group.library, collective, id);
    if collective.is_reduction() && operators != Operators::Commutative && !is_ordered {
        let candidate = name.to_owned();
        return Err(field.problem_here(Problem::Unordered {
            candidate,
            operators,
        }));
    }
    let algorithm = name.to_owned();
    if name.starts_with(Candidate::MOCKUP) {
        refuse_parameters(place, name, &parameters, &[])?;
        let of_collective = MOCKUPS.iter().filter(|it| it.collective == collective);
        let known: Vec<String> = of_collective.map(Mockup::full_name).collect();
        if known.contains(&algorithm) {
            return Ok(Candidate::Mockup { algorithm });
        }
        let known = known.iter().map(String::as_str);
        return Err(field.problem_here(Mistake::unknown_word("mock-up", name, known)));
    }
    refuse_parameters(place, name, &parameters, &PARAMETERS)?;
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

/// Checks the collective between the colon and the slash.
fn check_collective(field: &Place<'_>, name: &str, collective: Collective) -> Checked<()> {
    let of = name
        .split_once(':')
        .and_then(|(_, rest)| rest.split_once('/'))
        .filter(|(_, id)| !id.is_empty())
        .and_then(|(of, _)| of.parse::<Collective>().ok());
    match of {
        Some(of) if of == collective => Ok(()),
        Some(of) => Err(field.problem_here(Problem::OtherCollective {
            name: name.to_owned(),
            of,
            collective,
        })),
        None => {
            let known = format!("native:{collective}/ID");
            Err(field.problem_here(Mistake::unknown_word("candidate", name, [known.as_str()])))
        }
    }
}
