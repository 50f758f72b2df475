//! The choice of a candidate in each cell.
//!
//! From the same measurements a table decides for two deployments: through colltune, with every candidate, and through
//! the library's own settings, with its default and its own algorithms. Cells in which no algorithm of the library was
//! measured have no decision for the latter. A cell is evidence only for the class of its operator.

use std::collections::{BTreeMap, BTreeSet};

use schedule::{Collective, Schedule};
use table::{Deployment, Operators};
use vocabulary::defaults::{CONFIDENCE, LAUNCHES, MATERIALITY, MAX_REGRET};
use vocabulary::{Candidate, Cell, Subject};

use crate::{MachineFit, runs};
use crate::{joint, ranking};
use results::{CellDecision, Summary, Verdict};
use statistics::PairedRatio;

/// The thresholds for differences that count.
///
/// Candidates are compared by the ratio of the default's time to theirs, paired within launches: the median over
/// launches and its confidence interval. A candidate beats the default if the median is at least `1 + materiality` and
/// it is significantly faster: the interval, of coverage `confidence`, lies above 1. The gain need not be significantly
/// above `materiality`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecideOptions {
    /// The least gain that matters. The median ratio of the default's time to the candidate's must be at least 1 plus
    /// this: with 0.05 the default takes 5 % longer.
    pub materiality: f64,
    /// The coverage that an interval needs to prove a difference. Fewer than 6 launches do not attain 0.95; then
    /// materiality alone decides.
    pub confidence: f64,
    /// The largest share by which a candidate within noise of the fastest may be slower and still be chosen, so that
    /// neighbouring sizes share a rule.
    pub tie: f64,
    /// The regret accepted for a shorter table: the share by which a candidate may be slower than the fastest, even
    /// significantly, where choosing it lets neighbouring sizes share a rule. Such a candidate must itself beat the
    /// default.
    pub max_regret: f64,
    /// The number of launches that the campaign asks for. A candidate needs at least half of it to be chosen.
    pub launches: u32,
    /// Whether fresh launches make the final decision. Then each candidate with a material gain is a nominee,
    /// significant or not.
    pub proposes: bool,
}

impl Default for DecideOptions {
    fn default() -> Self {
        Self {
            materiality: MATERIALITY,
            confidence: CONFIDENCE,
            tie: 0.02,
            max_regret: MAX_REGRET,
            launches: LAUNCHES,
            proposes: false,
        }
    }
}

impl DecideOptions {
    /// Whether an interval has enough coverage to prove a difference.
    pub(crate) fn has_enough_coverage(&self, ratio: &PairedRatio) -> bool {
        ratio.interval.coverage >= self.confidence
    }

    /// Whether the median of a speed-up is material and, if there are enough launches to tell, significantly above 1.
    pub(crate) fn is_decisive_speedup(&self, speedup: &PairedRatio) -> bool {
        speedup.median >= 1.0 + self.materiality
            && (self.proposes || !self.has_enough_coverage(speedup) || speedup.interval.low > 1.0)
    }
}

/// Decides every cell that was measured among the candidates that a deployment offers, by ascending cell and operators.
/// Cells in which it offers only the default, while other candidates were measured, are left out, since nothing can be
/// said about them.
///
/// A candidate replaces the default where it beats it as [`DecideOptions`] define, so ties go to the default. Among the
/// candidates that beat the default and are about as fast as the fastest of them, the choice is the one that serves the
/// most neighbouring sizes, and of these the one with the fewest blocks.
///
/// Where the default is kept, the verdict is about the candidate with the best median. It uses the interval at the
/// coverage that the launches attain, which is reported with it. The interval of a single launch is the ratio itself,
/// with coverage 0. A reduction is decided for the class of operators that its cell was measured with: commutative
/// ones, or noncommutative ones among the candidates that combine in rank order. The library's name, `library`,
/// determines which of its own algorithms do. Candidates that failed anywhere in a cell, or that are not in the
/// registry, are not chosen there.
///
/// Cells of an irregular collective that share a rule keep the default if it was not compared with anything in one of
/// them.
///
/// `summaries` as [`crate::summarise_samples`] returns them; experiments are ignored.
pub fn decide_cells(
    deployment: Deployment,
    library: &str,
    summaries: &[Summary],
    failures: &[(Subject, Candidate)],
    machine: Option<&MachineFit>,
    options: &DecideOptions,
) -> Vec<CellDecision> {
    decide_cells_of_grid(
        deployment,
        library,
        summaries,
        failures,
        machine,
        options,
        &[],
    )
}

/// [`decide_cells`] where the campaign has the cells of `grid`, measured or not.
pub(crate) fn decide_cells_of_grid(
    deployment: Deployment,
    library: &str,
    summaries: &[Summary],
    failures: &[(Subject, Candidate)],
    machine: Option<&MachineFit>,
    options: &DecideOptions,
    grid: &[Cell],
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
        cells.retain(|_, measured| measured.iter().any(|s| s.candidate != Candidate::Default));
    }
    let failures: BTreeSet<(Subject, &Candidate)> = failures
        .iter()
        .map(|(subject, candidate)| (*subject, candidate))
        .collect();
    let failed_in = failures.iter().filter_map(|(subject, _)| subject.cell());
    let default_only = take_default_only(&mut cells, &failed_in.collect());
    let decide_all = |undecided: &BTreeMap<Cell, Vec<&Summary>>| {
        let decisions = undecided.iter().flat_map(|(cell, measured)| {
            let of_cell = |(subject, _): &&(Subject, &Candidate)| *subject == Subject::Cell(*cell);
            let failed: Vec<Candidate> = failures
                .range((Subject::Cell(*cell), &Candidate::Default)..)
                .take_while(of_cell)
                .map(|(_, candidate)| (*candidate).clone())
                .collect();
            let classes = operator_classes(library, deployment, cell).iter();
            classes.map(move |&operators| {
                let admitted: Vec<&Summary> = measured
                    .iter()
                    .copied()
                    .filter(|s| !failed.contains(&s.candidate))
                    .filter(|s| gives_right_results(library, cell, &s.candidate, operators))
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
    runs::choose_with_fewest_changes(&mut decisions);
    // Fresh launches compare what they propose in all cells.
    let sharing: BTreeSet<Cell> = if options.proposes {
        BTreeSet::new()
    } else {
        let measured = summaries.iter().filter_map(|s| s.subject.cell());
        measured.chain(grid.iter().copied()).collect()
    };
    joint::choose_for_shapes(&mut decisions, &sharing, options);
    joint::keep_default_at_incomplete_sizes(&mut decisions, &sharing);
    // The default stays there, but fresh launches may try the choices of neighbouring sizes.
    if options.proposes {
        decisions.extend(decide_all(&default_only));
        decisions.sort_by_key(|decision| (decision.cell, decision.operators));
    }
    decisions
}

/// Takes out the cells in which only the default was measured, if other cells have candidates: they give the default's
/// time, but no choice.
fn take_default_only<'a>(
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
    let (default_only, rest) = std::mem::take(cells)
        .into_iter()
        .partition(|(cell, of)| !compared(cell, of) && searched.contains(&cell.collective));
    *cells = rest;
    default_only
}

/// The classes of operators that a cell is decided for: that of the operator that it is measured with.
///
/// A library's settings that do not tell operators apart hold for all operators. They are decided by measurements with
/// commutative operators: once for programs that use no others, and once among the algorithms that are right for all.
pub(crate) fn operator_classes(
    library: &str,
    deployment: Deployment,
    cell: &Cell,
) -> &'static [Operators] {
    let tells_apart = deployment == Deployment::Colltune
        || libraries::find_library(library).is_none_or(|known| known.facts().tells_operators_apart);
    match (cell.collective.is_reduction(), cell.commutes(), tells_apart) {
        (false, ..) => &[Operators::Any],
        (true, true, true) => &[Operators::Commutative],
        (true, true, false) => &[Operators::Any, Operators::Commutative],
        (true, false, true) => &[Operators::Noncommutative],
        (true, false, false) => &[],
    }
}

/// Whether a candidate may be chosen in the cell for these operators: it gives right results, and what is measured of it
/// is true of elements of any size, since a table's rules are for sizes in bytes.
pub fn can_use_candidate(
    library: &str,
    cell: &Cell,
    candidate: &Candidate,
    operators: Operators,
) -> bool {
    gives_right_results(library, cell, candidate, operators)
        && cell.is_true_of_all_elements(candidate)
}

/// Whether a candidate gives right results in the cell with these operators. The library's name, `library`, determines
/// which of its own algorithms are right for operators that do not commute.
///
/// An algorithm that passes some operators on to another algorithm may be used for all operators; for noncommutative
/// operators alone, only an algorithm that handles them itself.
fn gives_right_results(
    library: &str,
    cell: &Cell,
    candidate: &Candidate,
    operators: Operators,
) -> bool {
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
        // The order in which mock-ups and foreign candidates combine is unknown.
        Candidate::Mockup { .. } | Candidate::Foreign { .. } => return commute,
    };
    let Some(algorithm) = schedule::find_algorithm(algorithm) else {
        return false;
    };
    Schedule::new(algorithm, &cell.schedule_request(parameters)).is_ok()
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
    let (ranking, confidence) =
        ranking::rank_candidates(&cell, admitted, default, machine, options);
    let best = ranking
        .iter()
        .find_map(|ranked| Some((&ranked.candidate, ranked.speedup?)));
    let verdict = if ranking.iter().any(|ranked| ranked.acceptable) {
        Verdict::Fastest
    } else if let Some((candidate, speedup)) = best {
        if options.is_decisive_speedup(&speedup) && !cell.is_true_of_all_elements(candidate) {
            Verdict::TypesDisagree
        } else {
            verdict_without_choice(&speedup, options)
        }
    } else {
        Verdict::NoRival
    };
    CellDecision {
        verdict,
        confidence,
        ranking,
        ..kept
    }
}

/// The reason why the default stays, by the speed-up of the best other candidate.
fn verdict_without_choice(best: &PairedRatio, options: &DecideOptions) -> Verdict {
    if options.is_decisive_speedup(best) {
        Verdict::TooFewLaunches
    } else if best.interval.high < 1.0 {
        Verdict::DefaultFastest
    } else if best.interval.low > 1.0 && best.median < 1.0 + options.materiality {
        Verdict::Immaterial
    } else {
        Verdict::WithinNoise
    }
}
