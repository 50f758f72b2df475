//! Runners-up: the best candidates beside the chosen ones when a table was made.

use std::collections::BTreeMap;

use results::{CellDecision, Ranked, Verdict};
use schedule::Collective;
use store::Store;
use table::{Deployment, Operators, Table};
use tuner::CampaignAnalysis;
use vocabulary::{Candidate, Cell, CommShape};

use crate::{GuardError, Point, TableStore};

/// The known runners-up by cell and class of operators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rivals {
    by_point: BTreeMap<(Cell, Operators), Candidate>,
    /// The reason why none is known, as a clause; `None` if the store was read.
    pub unknown_because: Option<String>,
}

impl Rivals {
    /// Finds the runners-up in the store that a table was made from, since tables do not name them: at each point the
    /// fastest candidate of the ranking other than the default, the chosen one and those with the same schedule as it.
    /// Candidates that were faster but rejected, for example because fresh launches did not confirm them, do not count.
    /// Irregular collectives have none: their rules are chosen for all distributions, and mostly for all sizes together,
    /// so that another candidate may be faster at a point without being the better rule.
    ///
    /// # Errors
    /// A store that exists and cannot be read.
    pub fn find_in_store(
        table: &Table,
        store: &TableStore,
        deployment: Deployment,
        points: &[Point],
    ) -> Result<Self, GuardError> {
        let unknown = |why| {
            Ok(Self {
                unknown_because: Some(why),
                ..Self::default()
            })
        };
        let store = match store {
            TableStore::Found(store) => store,
            TableStore::Unused(why) => return unknown(why.clone()),
        };
        let opened = Store::open(store)?;
        let library = &table.provenance.library;
        if !opened.libraries()?.contains(library) {
            let store = store.display();
            return unknown(format!("{store} has no measurements of {library}"));
        }
        let analysis = CampaignAnalysis::from_store(&opened, Some(library), None)?;
        let (asked, found) = (table.provenance.pattern, analysis.found.pattern);
        if asked != found {
            let store = store.display();
            return unknown(format!(
                "{store} was last measured into with `pattern: {found}`"
            ));
        }
        let mut of = BTreeMap::new();
        let with_rivals = points
            .iter()
            .filter(|point| !point.cell.collective.is_irregular());
        for point in with_rivals {
            let of_point = || {
                let all = analysis.found.decisions_for(deployment).iter();
                all.filter(|decision| table_key(&decision.cell) == table_key(&point.cell))
            };
            let own = of_point().filter(|decision| decision.operators == point.operators);
            // Entries for any operator rest on decisions for commutative operators; the other decisions agree.
            let of_commutative = of_point().filter(|decision| {
                (point.operators, decision.operators) == (Operators::Any, Operators::Commutative)
            });
            let mut ranked = own.chain(of_commutative).flat_map(eligible_rivals);
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
        Ok(Self {
            by_point: of,
            unknown_because: None,
        })
    }

    /// The runner-up at a point.
    pub fn runner_up(&self, point: &Point) -> Option<&Candidate> {
        self.by_point.get(&(point.cell, point.operators))
    }
}

/// The candidates that may be the runner-up of a decision. Candidates that were faster by their medians but rejected
/// (by fresh launches, another pattern of calls, another datatype, a verdict or lack of time) are left out, since they
/// would be found faster again.
fn eligible_rivals(decision: &CellDecision) -> impl Iterator<Item = &Ranked> {
    let verdict = decision.verdict;
    let has_none = matches!(
        verdict,
        Verdict::NotConfirmed
            | Verdict::PatternsDisagree
            | Verdict::Unconfirmed
            | Verdict::TooFewLaunches
            | Verdict::TypesDisagree
            | Verdict::LosesElsewhere
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

/// The parts of a cell that tables distinguish.
fn table_key(cell: &Cell) -> (Collective, CommShape, u64) {
    (cell.collective, cell.shape, cell.bytes)
}
