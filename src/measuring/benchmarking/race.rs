//! The elimination of slow candidates.

use statistics::{median, paired_ratios, sequential_median_interval};
use vocabulary::defaults::MATERIALITY;
use vocabulary::{Elimination, Repetition};

use crate::Progress;

/// Rounds with short turns: certainty needs many rounds, not long ones.
const OPENING_ROUNDS: u32 = 24;

/// The share of an ordinary turn that a turn of these rounds may take.
const OPENING_SHARE: f64 = 0.125;

/// Whether an entrant may leave the race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A candidate that is measured to the end, since all others are compared with it, such as the library's default.
    Reference,
    /// A candidate that leaves when it is certain that another is faster.
    Contender,
}

/// The conditions under which an entrant leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaceRules {
    /// The probability with which an entrant that is as fast as any may be eliminated, over the whole race and all
    /// comparisons.
    pub error: f64,
    /// The amount by which the median ratio of its times to the leader's must exceed 1: the campaign's materiality,
    /// which should be at least the difference that decisions call a tie, since an eliminated candidate is measured
    /// less well.
    pub materiality: f64,
    /// The first round in which a candidate may leave. The rule for `error` alone needs 8 rounds with two entrants, 12
    /// with ten, 15 with a hundred.
    pub minimum_rounds: u32,
}

impl Default for RaceRules {
    fn default() -> Self {
        Self {
            error: 0.01,
            materiality: MATERIALITY,
            minimum_rounds: 5,
        }
    }
}

/// An eliminated entrant by its index, and its elimination. The leader is also given by its index.
pub type EliminatedEntrant = (usize, Elimination);

/// Candidates of one cell in one launch that take turns in rounds, while slow ones leave.
///
/// # The rule
///
/// A disturbance of a launch affects all candidates that have turns during it. So after each round every entrant is
/// compared with the leader by the ratios of the medians of their turns in the same round. An entrant leaves if its
/// ratio is certainly above 1 and its median ratio exceeds 1 by more than [`RaceRules::materiality`].
///
/// Certainly means that the confidence sequence for the median ratio ([`statistics::sequential_median_interval`]) lies
/// above 1. It holds for all rounds at once, so the test after each of them costs nothing (Ville 1939; Howard and
/// Ramdas 2022, "Sequential estimation of quantiles with applications to A/B testing and best-arm identification").
/// Since the leader is chosen by the same times, an entrant may be compared with every other, and each comparison gets
/// an equal part of [`RaceRules::error`] (Bonferroni). Racing itself follows Maron and Moore 1997, "The racing
/// algorithm".
///
/// The test assumes that paired rounds are independent, with turns in an order shuffled again each round. A disturbance
/// of one candidate alone over several rounds violates this; materiality then protects the fastest, up to a point: if
/// it is faster by 2 % and every candidate has independent disturbances of 10 % that last five rounds, it is kept in
/// just under 99 % of the races. A disturbance of one candidate over a whole launch cannot be detected in that launch;
/// but each launch has a new race.
///
/// A candidate leaves at a time at which it looks slow. The closer it is to the leader, the more rarely it leaves, and
/// the more its median in that launch is then too high: by 4 % for a candidate that is 8 % slower, with noise of 30 %,
/// in one launch of twenty.
///
/// An entrant with a precisely known time takes no more turns. The leader continues as long as others that may still
/// leave take turns, since they are compared with it. If all are soon precise, that costs a few turns more than racing
/// saves.
///
/// [`crate::CellBenchmark`] is the loop around it. Entrants are the candidates that passed their check and are warmed
/// up. If a failed call ends the round for all, entrants without a turn so far miss it. All ranks add the same times
/// and so make the same decisions.
#[derive(Clone, Debug)]
pub struct Race {
    rules: RaceRules,
    wanted: Repetition,
    entrants: Vec<Runner>,
    leader: Option<usize>,
    /// The current round, from 1.
    round: u32,
    leavers: Vec<EliminatedEntrant>,
}

#[derive(Clone, Debug)]
struct Runner {
    role: Role,
    progress: Progress,
    /// Median of the turn in each round with a turn.
    turns: Vec<(u32, f64)>,
    is_precise: bool,
    is_gone: bool,
}

impl Runner {
    fn is_undecided(&self, wanted: &Repetition) -> bool {
        !self.is_gone && !self.is_precise && !self.progress.is_used_up(wanted)
    }

    fn can_go_on(&self, wanted: &Repetition) -> bool {
        !self.is_gone && !self.progress.is_used_up(wanted)
    }
}

impl Race {
    /// A race of entrants, which are identified by their indices in `roles`.
    pub fn new(roles: &[Role], rules: RaceRules, wanted: Repetition) -> Self {
        let entrants = roles.iter().map(|&role| Runner {
            role,
            progress: Progress::default(),
            turns: Vec::new(),
            is_precise: false,
            is_gone: false,
        });
        Self {
            rules,
            wanted,
            entrants: entrants.collect(),
            leader: None,
            round: 1,
            leavers: Vec::new(),
        }
    }

    /// The candidates that take turns in this round, in the order in which they entered.
    pub fn running_entrants(&self) -> Vec<usize> {
        (0..self.entrants.len())
            .filter(|&entrant| self.is_running(entrant))
            .collect()
    }

    /// Whether all candidates have finished or left.
    pub fn is_over(&self) -> bool {
        !(0..self.entrants.len()).any(|entrant| self.is_running(entrant))
    }

    fn is_running(&self, entrant: usize) -> bool {
        let runner = &self.entrants[entrant];
        runner.is_undecided(&self.wanted)
            || (self.leader == Some(entrant)
                && runner.can_go_on(&self.wanted)
                && self.may_any_leave())
    }

    fn may_any_leave(&self) -> bool {
        self.entrants
            .iter()
            .any(|entrant| entrant.role == Role::Contender && entrant.is_undecided(&self.wanted))
    }

    /// The number of repetitions of the next turn of an entrant: as [`Progress::turn_repetitions`], but an eighth as
    /// long in the first 24 rounds.
    pub fn turn_repetitions(
        &self,
        entrant: usize,
        estimate_seconds: f64,
        patience_seconds: f64,
    ) -> usize {
        let share = if self.round <= OPENING_ROUNDS {
            OPENING_SHARE
        } else {
            1.0
        };
        let wanted = Repetition {
            slice_seconds: self.wanted.slice_seconds * share,
            ..self.wanted
        };
        self.entrants[entrant].progress.turn_repetitions(
            estimate_seconds,
            &wanted,
            patience_seconds,
        )
    }

    /// Adds an entrant's turn in this round: the slowest ranks' times, and the total time of the turn. An entrant has
    /// one turn per round.
    pub fn add_turn(&mut self, entrant: usize, seconds: &[f64], spent_seconds: f64) {
        let runner = &mut self.entrants[entrant];
        runner.progress.add_turn(seconds, spent_seconds);
        runner.is_precise |=
            runner.progress.is_enough(&self.wanted) && !runner.progress.is_used_up(&self.wanted);
        // A time of 0 has no ratio.
        if let Some(median) = median(seconds).filter(|&median| median > 0.0) {
            runner.turns.push((self.round, median));
        }
    }

    /// Removes an entrant that failed.
    pub fn withdraw(&mut self, entrant: usize) {
        self.entrants[entrant].is_gone = true;
    }

    /// Ends the round; returns the candidates that leave after it.
    pub fn end_round(&mut self) -> Vec<EliminatedEntrant> {
        self.leader = self.fastest_entrant();
        let leavers: Vec<EliminatedEntrant> = match self.leader {
            Some(leader) if self.round >= self.rules.minimum_rounds => (0..self.entrants.len())
                .filter_map(|entrant| self.find_elimination(entrant, leader))
                .collect(),
            _ => Vec::new(),
        };
        for (entrant, _) in &leavers {
            self.entrants[*entrant].is_gone = true;
        }
        self.leavers.extend(&leavers);
        self.round += 1;
        leavers
    }

    /// The fastest of those that can take further turns: in sequence, each one that is faster, by the median ratio in
    /// common rounds, than the fastest before it.
    fn fastest_entrant(&self) -> Option<usize> {
        let able = (0..self.entrants.len())
            .filter(|&entrant| self.entrants[entrant].can_go_on(&self.wanted));
        able.reduce(
            |fastest, next| match median(&self.paired_turn_ratios(next, fastest)) {
                Some(ratio) if ratio < 1.0 => next,
                _ => fastest,
            },
        )
    }

    fn paired_turn_ratios(&self, entrant: usize, other: usize) -> Vec<f64> {
        paired_ratios(&self.entrants[entrant].turns, &self.entrants[other].turns)
    }

    fn find_elimination(&self, entrant: usize, leader: usize) -> Option<EliminatedEntrant> {
        let runner = &self.entrants[entrant];
        if entrant == leader
            || runner.role == Role::Reference
            || !runner.is_undecided(&self.wanted)
            || runner.progress.seconds().len() < self.wanted.minimum as usize
        {
            return None;
        }
        let others = self.entrants.len().saturating_sub(1).max(1) as f64;
        // Only the lower end matters, so the error of the two-sided interval may be twice as large.
        let confidence = 1.0 - 2.0 * self.rules.error / others;
        let ratios = self.paired_turn_ratios(entrant, leader);
        let interval = sequential_median_interval(&ratios, confidence)?;
        let ratio = median(&ratios)?;
        let is_worse = interval.coverage >= confidence && interval.low > 1.0;
        if !is_worse || ratio <= 1.0 + self.rules.materiality {
            return None;
        }
        let (saved_repetitions, saved_seconds) = runner.progress.expected_rest(&self.wanted);
        let left = Elimination {
            round: self.round,
            leader: leader as u32,
            ratio,
            saved_repetitions,
            saved_seconds,
        };
        Some((entrant, left))
    }

    /// The eliminated entrants, in the order in which they left.
    pub fn leavers(&self) -> &[EliminatedEntrant] {
        &self.leavers
    }

    /// The total time of all turns, in seconds, barriers included.
    pub fn spent_seconds(&self) -> f64 {
        let spent = |runner: &Runner| runner.progress.spent_seconds();
        self.entrants.iter().map(spent).sum()
    }

    /// The repetitions of an entrant so far.
    pub fn progress(&self, entrant: usize) -> &Progress {
        &self.entrants[entrant].progress
    }
}
