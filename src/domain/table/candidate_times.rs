//! The times of candidates at the sizes that were measured on a shape.

use std::fmt;

use strict_yaml::{Scalar, Verbatim};
use vocabulary::Candidate;
use vocabulary::bounds::TIME;
use vocabulary::units::format_bytes;

use crate::decimal::{self, format_scaled};
use crate::emit::{self, write_wrapped_list};
use crate::parse::{Checked, Place, parse_size};
use crate::rule::{Group, names_candidate};
use crate::types::round_for_table;
use crate::{Deployments, Problem};

/// The word for a missing time in files.
const NONE: &str = "none";

/// A candidate's times at the measured sizes of an entry, in the order of its
/// [`measured`](crate::ShapeRules::measured) points.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateTimes {
    /// The candidate; not the default.
    pub candidate: Candidate,
    /// Its median time at each size, positive and finite; `None` where it was not measured.
    pub seconds: Vec<Option<f64>>,
    /// Whether the library's default takes as long at each size, within noise, and so may be this algorithm there.
    pub is_default: Vec<bool>,
}

impl CandidateTimes {
    /// The times rounded to four significant digits, so that the file stays short.
    pub fn new(candidate: Candidate, seconds: Vec<Option<f64>>, is_default: Vec<bool>) -> Self {
        let seconds = seconds.into_iter();
        Self {
            candidate,
            seconds: seconds
                .map(|seconds| seconds.map(round_for_table))
                .collect(),
            is_default,
        }
    }
}

names_candidate! {
    /// The times of a candidate as they are written.
    struct TimesDefinition {
        #[serde(default)]
        default_at: Vec<Scalar>,
        microseconds: Vec<Verbatim>,
    }
}

/// Reads the times of candidates at these sizes.
pub(crate) fn read_candidate_times(
    place: &Place<'_>,
    given: Vec<TimesDefinition>,
    sizes: &[u64],
    group: Group<'_>,
) -> Checked<Vec<CandidateTimes>> {
    let group = Group {
        // The times serve all deployments that offer these candidates.
        deployments: Deployments::Colltune,
        ..group
    };
    let given = given.into_iter().enumerate();
    given
        .map(|(index, given)| times_from_definition(&place.index(index), given, sizes, group))
        .collect()
}

fn times_from_definition(
    place: &Place<'_>,
    given: TimesDefinition,
    sizes: &[u64],
    group: Group<'_>,
) -> Checked<CandidateTimes> {
    let row = place.key("microseconds");
    let (expected, found) = (sizes.len(), given.microseconds.len());
    if found != expected {
        return Err(row.problem_here(Problem::RowLength { expected, found }));
    }
    let time = |(index, Verbatim(text)): (usize, &Verbatim)| {
        if text == NONE {
            return Ok(None);
        }
        let value = decimal::parse_scaled(text, -6).and_then(|value| TIME.if_within(value));
        let unfit = || {
            row.index(index)
                .unfit_value(&format!("{TIME}, in microseconds, or {NONE}"))
        };
        value.map(Some).ok_or_else(unfit)
    };
    let seconds = given.microseconds.iter().enumerate().map(time);
    let seconds: Vec<Option<f64>> = seconds.collect::<Checked<_>>()?;
    let mut is_default = vec![false; sizes.len()];
    let default_at = place.key("default_at");
    for (index, size) in given.default_at.iter().enumerate() {
        let size = parse_size(size, || default_at.index(index))?;
        let at = sizes.iter().position(|known| *known == size);
        *at.and_then(|at| is_default.get_mut(at)).ok_or_else(|| {
            default_at
                .index(index)
                .unfit_value("one of the sizes in `bytes`")
        })? = true;
    }
    let candidate = given.read_candidate(place, group)?;
    if candidate == Candidate::Default {
        let wanted = "an algorithm: the default's times are in `default_microseconds`";
        return Err(place.key("candidate").unfit_value(wanted));
    }
    Ok(CandidateTimes {
        candidate,
        seconds,
        is_default,
    })
}

/// Writes the times of candidates at these sizes; nothing without sizes.
pub(crate) fn write_candidate_times(
    f: &mut fmt::Formatter<'_>,
    all: &[CandidateTimes],
    sizes: &[u64],
) -> fmt::Result {
    if all.is_empty() || sizes.is_empty() {
        return Ok(());
    }
    writeln!(f, "          candidates:")?;
    for times in all {
        write!(
            f,
            "            - {{{}",
            emit::candidate_text(&times.candidate)?
        )?;
        let at = sizes.iter().zip(&times.is_default);
        let at = at.filter(|(_, is_default)| **is_default);
        let at: Vec<String> = at.map(|(bytes, _)| format_bytes(*bytes)).collect();
        if !at.is_empty() {
            writeln!(f, ",")?;
            write_wrapped_list(f, "               default_at: [", &at, "]")?;
        }
        writeln!(f, ",")?;
        let time = |seconds: &Option<f64>| seconds.map_or(NONE.to_owned(), |s| format_scaled(s, 6));
        let row: Vec<String> = times.seconds.iter().map(time).collect();
        write_wrapped_list(f, "               microseconds: [", &row, "]}\n")?;
    }
    Ok(())
}
