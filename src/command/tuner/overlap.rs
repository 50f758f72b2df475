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
    #[schemars(schema_with = "collective_name::list_in_schema")]
    pub collective: Collective,
    /// The shape.
    #[serde(flatten)]
    pub shape: CommShape,
    /// The share of the library's own calls, from 0 to 1.
    pub library: f64,
    /// What becomes of it where other candidates replace the library's own; null if none does.
    pub replaced: Option<ReplacedCalls>,
}

/// Calls of the sizes at which other candidates replace the library's own.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ReplacedCalls {
    /// The number of sizes.
    pub sizes: usize,
    /// The share of the library's own calls that computation hides at these sizes, from 0 to 1.
    pub library: f64,
    /// That of the candidates in their place.
    pub chosen: f64,
    /// The time that is not hidden, relative to that of the library's own calls; null if computation hides all of these.
    pub remaining_ratio: Option<f64>,
}

impl fmt::Display for HiddenShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            collective,
            shape,
            library,
            replaced,
        } = self;
        let percent = |share: f64| 100.0 * share;
        write!(
            f,
            "i{collective} on {shape}: computation hides {:.0} % of the library's calls",
            percent(*library)
        )?;
        let Some(replaced) = replaced else {
            return Ok(());
        };
        write!(
            f,
            "; at the {} {} of other algorithms {:.0} % of theirs, {:.0} % of the library's",
            replaced.sizes,
            if replaced.sizes == 1 { "size" } else { "sizes" },
            percent(replaced.chosen),
            percent(replaced.library)
        )?;
        match replaced.remaining_ratio {
            Some(ratio) => write!(
                f,
                ", and the time that is left is {:.0} % of the library's",
                percent(ratio)
            ),
            None => Ok(()),
        }
    }
}

/// The times of one candidate's calls in one cell, in seconds.
#[derive(Clone, Copy)]
struct PatternTimes {
    /// Of a call that is waited for at once.
    at_once: f64,
    /// The part of a call that computation does not hide.
    not_hidden: f64,
}

impl PatternTimes {
    fn hidden_share(self) -> f64 {
        (1.0 - self.not_hidden / self.at_once).max(0.0)
    }
}

/// What decisions about the sizes of a collective on a shape have found.
#[derive(Default)]
struct SizesOfShape {
    /// The hidden shares of the library's own calls.
    library: Vec<f64>,
    /// The times of the library's own calls where another candidate is chosen, and of that one's.
    replaced: Vec<[PatternTimes; 2]>,
}

impl SizesOfShape {
    fn replaced_calls(&self) -> Option<ReplacedCalls> {
        let shares = |of: usize| -> Vec<f64> {
            let times = self.replaced.iter();
            times.map(|both| both[of].hidden_share()).collect()
        };
        let not_all_hidden = self
            .replaced
            .iter()
            .filter(|[library, _]| library.not_hidden > 0.0);
        let ratios: Vec<f64> = not_all_hidden
            .map(|[library, chosen]| chosen.not_hidden / library.not_hidden)
            .collect();
        Some(ReplacedCalls {
            sizes: self.replaced.len(),
            library: median(&shares(0))?,
            chosen: median(&shares(1))?,
            remaining_ratio: median(&ratios),
        })
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
    let times = |cell: Cell, candidate: &Candidate| {
        let key = (cell, candidate.clone());
        Some(PatternTimes {
            at_once: *at_once.get(&key)?,
            not_hidden: *not_hidden.get(&key)?,
        })
    };
    let mut groups: BTreeMap<(Collective, CommShape), SizesOfShape> = BTreeMap::new();
    for decision in decisions {
        let cell = decision.cell;
        let Some(library) = times(cell, &Candidate::Default) else {
            continue;
        };
        let sizes = groups.entry((cell.collective, cell.shape)).or_default();
        sizes.library.push(library.hidden_share());
        if decision.chosen != Candidate::Default
            && let Some(chosen) = times(cell, &decision.chosen)
        {
            sizes.replaced.push([library, chosen]);
        }
    }
    let shares = groups
        .into_iter()
        .filter_map(|((collective, shape), sizes)| {
            Some(HiddenShare {
                collective,
                shape,
                library: median(&sizes.library)?,
                replaced: sizes.replaced_calls(),
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
        let samples = |times: &[(u64, Candidate, f64)]| {
            let taken = times
                .iter()
                .cloned()
                .map(|(bytes, candidate, seconds)| Sample {
                    launch: 1,
                    subject: Subject::Cell(cell(bytes)),
                    candidate,
                    batch: 1,
                    seconds: vec![seconds; 5],
                    invalid: 0,
                    residual_seconds: None,
                    left: None,
                });
            taken.collect::<Vec<_>>()
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
            (512, default(), 8e-6),
            (512, binomial(), 4e-6),
        ];
        let beside = [
            (8, default(), 1e-6),
            (64, default(), 3e-6),
            (64, binomial(), 0.5e-6),
            (512, default(), 0.4e-6),
            (512, binomial(), 1e-6),
        ];
        let history = History {
            confirmed: vec![
                confirmed(Pattern::Nonblocking, samples(&at_once)),
                confirmed(Pattern::Overlapped, samples(&beside)),
            ],
            ..History::default()
        };
        let decisions = [
            decision(8, default()),
            decision(64, binomial()),
            decision(512, binomial()),
        ];
        let shares = find_hidden_shares(&history, &decisions).expect("samples");
        let texts: Vec<String> = shares.iter().map(ToString::to_string).collect();
        // The library's shares are 1/2, 1/4 and 19/20; those of the algorithm in its place 3/4 and 3/4, and what is left are 1/6 and
        // 5/2 of the library's.
        assert_eq!(
            texts,
            [
                "ibcast on 1x2: computation hides 50 % of the library's calls; at the 2 sizes of other algorithms 75 % of \
                 theirs, 60 % of the library's, and the time that is left is 133 % of the library's"
            ]
        );
        let json = serde_json::to_value(&shares).expect("JSON");
        let replaced = &json[0]["replaced"];
        assert_eq!(replaced["sizes"], 2);
        assert_eq!(replaced["chosen"], 0.75);
        assert_eq!(json[0]["collective"], "bcast");
        let of_default = find_hidden_shares(&history, &decisions[..1]).expect("samples");
        assert_eq!(of_default[0].replaced, None);
        let none = find_hidden_shares(&History::default(), &decisions).expect("none");
        assert_eq!(none, []);
    }
}
