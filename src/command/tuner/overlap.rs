//! How much of nonblocking calls computation hides.

use std::collections::BTreeMap;
use std::fmt;

use agenda::History;
use fit::FitError;
use results::CellDecision;
use schedule::Collective;
use schemars::JsonSchema;
use serde::Serialize;
use statistics::median;
use vocabulary::{Candidate, Cell, CommShape, Pattern, collective_name};

/// The shares of nonblocking calls that computation beside them hides, in the launches that confirm choices: 1 minus the
/// time that is not hidden divided by that of a call which is waited for at once; medians over sizes.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct HiddenShare {
    /// The collective of the nonblocking calls.
    #[serde(serialize_with = "collective_name::serialize")]
    #[schemars(with = "String")]
    pub collective: Collective,
    /// The shape.
    #[serde(flatten)]
    pub shape: CommShape,
    /// The share of the library's own calls, from 0 to 1.
    pub library: f64,
    /// That of the candidates which replace it; null if none does.
    pub chosen: Option<f64>,
}

impl fmt::Display for HiddenShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            collective,
            shape,
            library,
            chosen,
        } = self;
        let percent = |share: f64| 100.0 * share;
        write!(
            f,
            "i{collective} on {shape}: computation hides {:.0} % of the library's calls",
            percent(*library)
        )?;
        match chosen {
            Some(share) => write!(
                f,
                ", {:.0} % of those of the algorithms in their place",
                percent(*share)
            ),
            None => Ok(()),
        }
    }
}

/// The shares of all collectives and shapes that were measured in both patterns of nonblocking calls.
pub(crate) fn find_hidden_shares(
    history: &History,
    decisions: &[CellDecision],
) -> Result<Vec<HiddenShare>, FitError> {
    let mut at_once = BTreeMap::new();
    let mut not_hidden = BTreeMap::new();
    for confirmed in &history.confirmed {
        let medians = match confirmed.pattern {
            Pattern::Nonblocking => &mut at_once,
            Pattern::Overlapped => &mut not_hidden,
            Pattern::Together | Pattern::Repeated | Pattern::Skewed => continue,
        };
        for summary in fit::summarise_samples(&confirmed.samples, confirmed.pattern)? {
            if let Some(cell) = summary.subject.cell() {
                medians.insert((cell, summary.candidate), summary.median_seconds);
            }
        }
    }
    let hidden = |cell: Cell, candidate: &Candidate| -> Option<f64> {
        let key = (cell, candidate.clone());
        let (whole, rest) = (at_once.get(&key)?, not_hidden.get(&key)?);
        Some((1.0 - rest / whole).max(0.0))
    };
    let mut groups: BTreeMap<(Collective, CommShape), [Vec<f64>; 2]> = BTreeMap::new();
    for decision in decisions {
        let cell = decision.cell;
        let [library, chosen] = groups.entry((cell.collective, cell.shape)).or_default();
        library.extend(hidden(cell, &Candidate::Default));
        if decision.chosen != Candidate::Default {
            chosen.extend(hidden(cell, &decision.chosen));
        }
    }
    let shares = groups
        .into_iter()
        .filter_map(|((collective, shape), [library, chosen])| {
            Some(HiddenShare {
                collective,
                shape,
                library: median(&library)?,
                chosen: median(&chosen),
            })
        });
    Ok(shares.collect())
}

#[cfg(test)]
mod tests {
    use agenda::ConfirmedPattern;
    use results::Verdict;
    use schedule::Distribution;
    use table::{Confidence, Operators};
    use vocabulary::{Datatype, Parameters, Sample, Subject};

    use super::*;

    fn cell(bytes: u64) -> Cell {
        Cell {
            collective: Collective::Bcast,
            shape: CommShape { nodes: 1, ppn: 2 },
            bytes,
            datatype: Datatype::Byte,
            operator: None,
            distribution: Distribution::Uniform,
        }
    }

    fn binomial() -> Candidate {
        Candidate::Ours {
            algorithm: "bcast/binomial".to_owned(),
            parameters: Parameters::default(),
        }
    }

    fn decision(bytes: u64, chosen: Candidate) -> CellDecision {
        CellDecision {
            cell: cell(bytes),
            operators: Operators::Any,
            chosen,
            up_to_next: None,
            verdict: Verdict::Confirmed,
            confidence: Confidence::High,
            ranking: Vec::new(),
            failed: Vec::new(),
            chosen_in_library: None,
        }
    }

    #[test]
    fn shares_follow_from_both_patterns() {
        let samples = |times: [(u64, Candidate, f64); 3]| {
            let taken = times.map(|(bytes, candidate, seconds)| Sample {
                launch: 1,
                subject: Subject::Cell(cell(bytes)),
                candidate,
                batch: 1,
                seconds: vec![seconds; 5],
                invalid: 0,
                residual_seconds: None,
                left: None,
            });
            taken.to_vec()
        };
        let confirmed = |pattern, taken| ConfirmedPattern {
            pattern,
            samples: taken,
            ..ConfirmedPattern::default()
        };
        let default = || Candidate::Default;
        let at_once = [
            (8, default(), 2e-6),
            (64, default(), 4e-6),
            (64, binomial(), 2e-6),
        ];
        let beside = [
            (8, default(), 1e-6),
            (64, default(), 3e-6),
            (64, binomial(), 0.5e-6),
        ];
        let history = History {
            confirmed: vec![
                confirmed(Pattern::Nonblocking, samples(at_once)),
                confirmed(Pattern::Overlapped, samples(beside)),
            ],
            ..History::default()
        };
        let decisions = [decision(8, default()), decision(64, binomial())];
        let shares = find_hidden_shares(&history, &decisions).expect("samples");
        let texts: Vec<String> = shares.iter().map(ToString::to_string).collect();
        // 1/2 and 1/4 of the default's.
        assert_eq!(
            texts,
            [
                "ibcast on 1x2: computation hides 38 % of the library's calls, 75 % of those of the algorithms in their \
                 place"
            ]
        );
        let json = serde_json::to_value(&shares).expect("JSON");
        let expected = serde_json::json!([
            {"collective": "bcast", "nodes": 1, "ppn": 2, "library": 0.375, "chosen": 0.75}
        ]);
        assert_eq!(json, expected);
        let none = find_hidden_shares(&History::default(), &decisions).expect("none");
        assert_eq!(none, []);
    }
}
