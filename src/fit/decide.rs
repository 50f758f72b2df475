//! Which candidate to use in each cell.

use std::collections::{BTreeMap, BTreeSet};

use schedule::{Collective, Schedule};
use table::{Deployment, Operators};
use vocabulary::{Candidate, Cell, Subject};

use crate::ranking;
use crate::{MachineFit, runs};
use results::{CONFIDENCE, CellDecision, Summary, Verdict};
use statistics::PairedRatio;

/// When a difference counts.
///
/// Candidates are compared by the default's time divided by theirs, paired within launches: the
/// median over launches, and its interval. A candidate beats the default if that median is at least
/// `1 + materiality`, and if it is significant that it is faster at all: the interval, of coverage
/// `confidence`, lies above 1. It need not be significant that it gains as much as `materiality`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecideOptions {
    /// What the median ratio of the default's time to the candidate's must exceed 1 by, at least:
    /// with 0.05 the default takes 5 % longer.
    pub materiality: f64,
    /// Coverage that an interval needs to prove a difference. With less, as from fewer than 6
    /// launches at 0.95, materiality decides alone.
    pub confidence: f64,
    /// How much slower than the fastest a candidate within its noise may be chosen, so that
    /// neighbouring sizes share a rule.
    pub tie: f64,
    /// What a shorter table may cost: how much slower than the fastest a candidate may be chosen even if
    /// it is surely slower, where that lets neighbouring sizes share a rule. It beats the default
    /// itself: the default gives way to nothing for the sake of a shorter table.
    pub max_regret: f64,
    /// Whether fresh launches decide in the end: then each candidate that gains enough to matter is a nominee,
    /// certain or not.
    pub proposes: bool,
}

impl Default for DecideOptions {
    fn default() -> Self {
        Self {
            materiality: 0.05,
            confidence: CONFIDENCE,
            tie: 0.02,
            max_regret: Self::MAX_REGRET,
            proposes: false,
        }
    }
}

impl DecideOptions {
    /// What a shorter table may cost by default.
    pub const MAX_REGRET: f64 = 0.01;

    /// Whether an interval is wide enough to prove something.
    pub(crate) fn settled(&self, ratio: &PairedRatio) -> bool {
        ratio.interval.coverage >= self.confidence
    }

    /// Whether the median of a speed-up is material and, if there are launches enough to tell, its
    /// being above 1 significant.
    pub(crate) fn beats(&self, speedup: &PairedRatio) -> bool {
        speedup.median >= 1.0 + self.materiality
            && (self.proposes || !self.settled(speedup) || speedup.interval.low > 1.0)
    }
}

/// Decides every cell that was measured, by ascending cell and operators.
///
/// A candidate replaces the default where it beats it as [`DecideOptions`] say: its gain must be
/// material in the median, and that it is faster at all significant; so ties go to the default.
/// Among those that beat the default and are about as fast as the fastest of them, the one is
/// chosen that also serves the most neighbouring sizes, and of these the one with the fewest
/// blocks.
///
/// Where the default is kept, the verdict is about the candidate with the best median, and goes by
/// the interval at whatever coverage the launches attain, which stands beside it. Of a single
/// launch the interval is the ratio itself, with a coverage of 0. A reduction is decided for the class of
/// operators that its cell was measured with: commutative ones, or noncommutative ones among what
/// combines in rank order. Which of the library's own algorithms do follows from its name, `library`.
/// Candidates that failed anywhere in a cell, or that the registry does not know, are not chosen there.
///
/// `summaries` as [`crate::summarise`] returns them; experiments are ignored.
pub fn decide(
    library: &str,
    summaries: &[Summary],
    failures: &[(Subject, Candidate)],
    machine: Option<&MachineFit>,
    options: &DecideOptions,
) -> Vec<CellDecision> {
    decide_for(
        Deployment::Colltune,
        library,
        summaries,
        failures,
        machine,
        options,
    )
}

/// The same from the same measurements for one deployment: only what it offers is chosen from.
///
/// Cells in which it offers only the default, while other candidates were measured, are left
/// out: there is nothing to be said about them.
pub fn decide_for(
    deployment: Deployment,
    library: &str,
    summaries: &[Summary],
    failures: &[(Subject, Candidate)],
    machine: Option<&MachineFit>,
    options: &DecideOptions,
) -> Vec<CellDecision> {
    let mut cells: BTreeMap<Cell, Vec<&Summary>> = BTreeMap::new();
    for summary in summaries {
        if let Subject::Cell(cell) = summary.subject
            && deployment.offers(&summary.candidate)
        {
            cells.entry(cell).or_default().push(summary);
        }
    }
    if deployment == Deployment::Library {
        cells.retain(|_, summaries| summaries.iter().any(|s| s.candidate != Candidate::Default));
    }
    let failures: BTreeSet<(Subject, &Candidate)> = failures
        .iter()
        .map(|(subject, candidate)| (*subject, candidate))
        .collect();
    let failed_in = failures.iter().filter_map(|(subject, _)| match subject {
        Subject::Cell(cell) => Some(*cell),
        Subject::Experiment(_) => None,
    });
    let lonely = take_lonely(&mut cells, &failed_in.collect());
    let decide_all = |cells: &BTreeMap<Cell, Vec<&Summary>>| {
        let decisions = cells.iter().flat_map(|(cell, summaries)| {
            let of_cell = |(subject, _): &&(Subject, &Candidate)| *subject == Subject::Cell(*cell);
            let failed: Vec<Candidate> = failures
                .range((Subject::Cell(*cell), &Candidate::Default)..)
                .take_while(of_cell)
                .map(|(_, candidate)| (*candidate).clone())
                .collect();
            let classes = classes(library, deployment, cell).iter();
            classes.map(move |&operators| {
                let admitted: Vec<&Summary> = summaries
                    .iter()
                    .copied()
                    .filter(|s| !failed.contains(&s.candidate))
                    .filter(|s| serves(library, cell, &s.candidate, operators))
                    .collect();
                decide_alone(
                    *cell,
                    operators,
                    &admitted,
                    failed.clone(),
                    machine,
                    options,
                )
            })
        });
        decisions.collect::<Vec<_>>()
    };
    let mut decisions = decide_all(&cells);
    runs::choose(&mut decisions);
    // The default stays there, but fresh launches may try what neighbours choose.
    if options.proposes {
        decisions.extend(decide_all(&lonely));
        decisions.sort_by_key(|decision| (decision.cell, decision.operators));
    }
    decisions
}

/// Takes the cells out in which the default alone was measured, if candidates were elsewhere: they tell how
/// long the default takes, and nothing of choices.
fn take_lonely<'a>(
    cells: &mut BTreeMap<Cell, Vec<&'a Summary>>,
    failed: &BTreeSet<Cell>,
) -> BTreeMap<Cell, Vec<&'a Summary>> {
    let compared =
        |cell: &Cell, summaries: &[&Summary]| summaries.len() > 1 || failed.contains(cell);
    let searched: BTreeSet<Collective> = cells
        .iter()
        .filter(|(cell, summaries)| compared(cell, summaries))
        .map(|(cell, _)| cell.collective)
        .collect();
    let (lonely, rest) = std::mem::take(cells)
        .into_iter()
        .partition(|(cell, of)| !compared(cell, of) && searched.contains(&cell.collective));
    *cells = rest;
    lonely
}

/// The classes of operators that a cell is decided for: that of the operator that it is measured with.
///
/// A library's settings that do not tell operators apart hold for all: they are decided by operators that
/// commute, once for programs without others, and once among what is right for all.
pub(crate) fn classes(library: &str, deployment: Deployment, cell: &Cell) -> &'static [Operators] {
    let tells_apart = deployment == Deployment::Colltune
        || libraries::find(library).is_none_or(|known| known.facts().tells_operators_apart);
    match (cell.collective.is_reduction(), cell.commutes(), tells_apart) {
        (false, ..) => &[Operators::Any],
        (true, true, true) => &[Operators::Commutative],
        (true, true, false) => &[Operators::Any, Operators::Commutative],
        (true, false, true) => &[Operators::Noncommutative],
        (true, false, false) => &[],
    }
}

/// Whether a candidate may be used in the cell with the operators; which of the library's own algorithms
/// are right for operators that do not commute follows from its name, `library`.
///
/// For all operators may be used what leaves some to another algorithm, for noncommutative ones alone only
/// what runs itself.
pub fn serves(library: &str, cell: &Cell, candidate: &Candidate, operators: Operators) -> bool {
    let commute = operators == Operators::Commutative || !cell.collective.is_reduction();
    let (algorithm, parameters) = match candidate {
        Candidate::Default => return true,
        Candidate::Placebo => return false,
        Candidate::Ours {
            algorithm,
            parameters,
        } => (algorithm, parameters),
        Candidate::Native { .. } => {
            let is_right = match operators {
                Operators::Noncommutative => libraries::takes_noncommutative,
                _ => libraries::combines_in_order,
            };
            return commute || is_right(library, cell.collective, candidate.id());
        }
        // In which order they combine is not known.
        Candidate::Mockup { .. } | Candidate::Foreign { .. } => return commute,
    };
    let Some(algorithm) = schedule::find(algorithm) else {
        return false;
    };
    Schedule::new(algorithm, &cell.request(parameters)).is_ok()
        && (commute || table::out_of_order(algorithm, parameters).is_none())
}

/// The decision for a cell without regard to its neighbours.
fn decide_alone(
    cell: Cell,
    operators: Operators,
    admitted: &[&Summary],
    failed: Vec<Candidate>,
    machine: Option<&MachineFit>,
    options: &DecideOptions,
) -> CellDecision {
    let kept = CellDecision {
        failed,
        ..CellDecision::undecided(cell, operators)
    };
    let Some(default) = admitted.iter().find(|s| s.candidate == Candidate::Default) else {
        return kept;
    };
    let (ranking, confidence) = ranking::rank(&cell, admitted, default, machine, options);
    let verdict = match ranking.iter().find(|ranked| ranked.speedup.is_some()) {
        None => Verdict::NoRival,
        Some(_) if ranking.iter().any(|ranked| ranked.acceptable) => Verdict::Fastest,
        Some(best) => match best.speedup.map(|speedup| speedup.interval) {
            Some(interval) if interval.high < 1.0 => Verdict::DefaultFastest,
            // With an interval above 1, only a gain too small keeps a candidate from being chosen.
            Some(interval) if interval.low > 1.0 => Verdict::Immaterial,
            _ => Verdict::WithinNoise,
        },
    };
    CellDecision {
        verdict,
        confidence,
        ranking,
        ..kept
    }
}
