//! The best other candidates when a table was made.

use std::collections::BTreeMap;
use std::path::Path;

use results::{CellDecision, Ranked, Verdict};
use schedule::Collective;
use store::Store;
use table::{Deployment, Operators, Table};
use tuner::CampaignAnalysis;
use vocabulary::{Candidate, Cell, CommShape};

use crate::{GuardError, Point};

/// The runners-up, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rivals {
    of: BTreeMap<(Cell, Operators), Candidate>,
    /// Why they are not known, as a clause; absent if the store told them.
    pub silence: Option<String>,
}

impl Rivals {
    /// The rivals by the store that a table was made from: at each point the fastest of its ranking
    /// that is neither chosen nor the same schedule as what is chosen, nor the default, nor was faster and is
    /// not used for another reason, as that fresh launches did not confirm it. Without such a store none is
    /// known: tables do not name them.
    ///
    /// # Errors
    /// For a store that exists and cannot be read.
    pub fn find(
        table: &Table,
        store: &Path,
        deployment: Deployment,
        points: &[Point],
    ) -> Result<Self, GuardError> {
        let silent = |why| {
            Ok(Self {
                silence: Some(why),
                ..Self::default()
            })
        };
        if !store.exists() {
            return silent(format!("the store {} is not here", store.display()));
        }
        let opened = Store::open(store)?;
        let library = &table.provenance.library;
        if !opened.libraries()?.contains(library) {
            let store = store.display();
            return silent(format!("{store} has no measurements of {library}"));
        }
        let analysis = CampaignAnalysis::of(&opened, Some(library), None)?;
        let (asked, found) = (table.provenance.pattern, analysis.found.pattern);
        if asked != found {
            let store = store.display();
            return silent(format!(
                "{store} was last measured into with `pattern: {found}`"
            ));
        }
        let mut of = BTreeMap::new();
        for point in points {
            let of_point = || {
                let all = analysis.found.decisions_for(deployment).iter();
                all.filter(|decision| key(&decision.cell) == key(&point.cell))
            };
            let own = of_point().filter(|decision| decision.operators == point.operators);
            // Entries for all have what was found for commutative operators, and for noncommutative ones alike.
            let of_commutative = of_point().filter(|decision| {
                (point.operators, decision.operators) == (Operators::Any, Operators::Commutative)
            });
            let mut ranked = own.chain(of_commutative).flat_map(eligible);
            let rival = ranked.find(|ranked| {
                let is_measurable = !matches!(
                    ranked.candidate,
                    Candidate::Default | Candidate::Foreign { .. }
                );
                is_measurable && !point.cell.are_alike(&ranked.candidate, &point.chosen)
            });
            if let Some(rival) = rival {
                of.insert((point.cell, point.operators), rival.candidate.clone());
            }
        }
        Ok(Self { of, silence: None })
    }

    /// The rival at a point.
    pub fn of(&self, point: &Point) -> Option<&Candidate> {
        self.of.get(&(point.cell, point.operators))
    }
}

/// The candidates that may be the runner-up of a decision. A candidate that was faster by its median and is not
/// used, because fresh launches, another pattern of calls, another datatype or a verdict spoke against it, or time
/// was up, may not: it would be found faster again.
fn eligible(decision: &CellDecision) -> impl Iterator<Item = &Ranked> {
    let verdict = decision.verdict;
    let has_none = matches!(
        verdict,
        Verdict::NotConfirmed
            | Verdict::PatternsDisagree
            | Verdict::Unconfirmed
            | Verdict::TypesDisagree
            | Verdict::Refuted
    );
    let chosen = decision.ranked(&decision.chosen);
    let is_eligible = move |ranked: &&Ranked| {
        let is_faster = chosen.is_some_and(|chosen| ranked.median_seconds < chosen.median_seconds);
        let is_rejected = verdict == Verdict::Confirmed && is_faster && !ranked.beats_default;
        !has_none && !is_rejected
    };
    decision.ranking.iter().filter(is_eligible)
}

/// What tables tell cells apart by.
fn key(cell: &Cell) -> (Collective, CommShape, u64) {
    (cell.collective, cell.shape, cell.bytes)
}
