//! Broken copies of algorithms must be caught: a verifier that passes everything proves nothing.

use schedule::{
    ALGORITHMS, Action, Algorithm, Buffer, Collective, Distribution, Parameter, Partition, Placed,
    Program, Rank, Request, Round, Schedule, Span, find_algorithm, verify::verify_programs,
};

use crate::cases::{grid, parameters, schedule, supported};
use crate::naive::is_right;
use crate::random::Random;

/// A change that breaks one action of one rank.
#[derive(Clone, Copy, Debug)]
enum Break {
    /// It is left out.
    Drop,
    /// It is done twice.
    Repeat,
    /// The operands of a combination change places.
    SwapOperands,
    /// A message goes to or comes from another rank.
    Redirect(Rank),
    /// It works on the neighbouring block.
    Shift,
    /// It is done a round later, before the actions that belong there.
    Delay,
    /// It is done a round earlier, after the actions that belong there.
    Hurry,
    /// One of its spans lies in another buffer.
    Rename(usize, Buffer),
    /// A combination is done once more, this many rounds later.
    RepeatIn(u64),
}

impl Break {
    /// Whether nearly every such break makes the program wrong. An action can often be moved by a round, and what has
    /// been copied can be read from either place.
    fn must_show(self) -> bool {
        match self {
            Self::Drop | Self::Repeat | Self::SwapOperands | Self::Redirect(_) | Self::Shift => {
                true
            }
            Self::Delay | Self::Hurry | Self::Rename(..) | Self::RepeatIn(_) => false,
        }
    }

    /// The round to which the action is added as well.
    fn adds_to(self, at: u64) -> Option<u64> {
        match self {
            Self::Delay => Some(at + 1),
            Self::Hurry => at.checked_sub(1),
            Self::RepeatIn(rounds) => Some(at + rounds),
            _ => None,
        }
    }
}

/// The schedule's program, with action `action` of round `at` broken.
struct Mutant {
    program: Box<dyn Program>,
    how: Break,
    at: u64,
    action: usize,
}

impl Program for Mutant {
    fn rounds(&self) -> u64 {
        let added_to = self.how.adds_to(self.at).map_or(0, |round| round + 1);
        self.program.rounds().max(added_to)
    }

    fn round(&self, index: u64, round: &mut Round) {
        if index < self.program.rounds() {
            self.program.round(index, round);
        }
        if index == self.at {
            mutate(self.how, self.action, round.actions_mut());
        }
        if self.how.adds_to(self.at) == Some(index) {
            let mut original = Round::default();
            self.program.round(self.at, &mut original);
            let added = original.actions()[self.action];
            let actions = round.actions_mut();
            let place = match self.how {
                Break::Delay => 0,
                _ => actions.len(),
            };
            actions.insert(place, added);
        }
    }
}

fn spans(action: &mut Action) -> Vec<&mut Span> {
    match action {
        Action::Send { span, .. } | Action::Recv { span, .. } => vec![span],
        Action::Signal { .. } | Action::Await { .. } => vec![],
        Action::Copy { from, into } => vec![from, into],
        Action::Combine { left, right, into } => vec![left, right, into],
    }
}

fn mutate(how: Break, place: usize, actions: &mut Vec<Action>) {
    match (how, &mut actions[place]) {
        (Break::Drop | Break::Delay | Break::Hurry, _) => drop(actions.remove(place)),
        (Break::Repeat, action) => {
            let repeated = *action;
            actions.insert(place, repeated);
        }
        (Break::SwapOperands, Action::Combine { left, right, .. }) => std::mem::swap(left, right),
        (
            Break::Redirect(other),
            Action::Send { to: peer, .. }
            | Action::Recv { from: peer, .. }
            | Action::Signal { to: peer }
            | Action::Await { from: peer },
        ) => *peer = other,
        (
            Break::Shift,
            Action::Send { span, .. }
            | Action::Recv { span, .. }
            | Action::Copy { from: span, .. }
            | Action::Combine { right: span, .. },
        ) => span.blocks.start = (span.blocks.start + 1) % span.partition.blocks(),
        (Break::Rename(which, buffer), action) => {
            let mut spans = spans(action);
            let all = spans.len().max(1);
            if let Some(span) = spans.get_mut(which % all) {
                span.buffer = buffer;
            }
        }
        _ => {}
    }
}

/// Whether an action moves nothing, because its spans are empty or because it copies memory to itself, as in calls in
/// place and in compositions. Leaving it out changes nothing.
fn is_idle(schedule: &Schedule, rank: Rank, action: &Action) -> bool {
    let layout = schedule.layout(rank);
    let is_empty = |span: &Span| layout.locate(span).is_some_and(|place| place.is_empty());
    match action {
        Action::Send { span, .. } | Action::Recv { span, .. } => is_empty(span),
        Action::Copy { from, into } => is_empty(from) || layout.locate(from) == layout.locate(into),
        Action::Combine { into, .. } => is_empty(into),
        Action::Signal { .. } | Action::Await { .. } => false,
    }
}

/// Whether a break leaves the program correct: it concerns an action that moves nothing, repeats a copy, exchanges
/// operands where the order does not matter, or shifts to the same block or from one empty block to another.
fn is_harmless(how: Break, schedule: &Schedule, rank: Rank, round: &Round, place: usize) -> bool {
    let action = &round.actions()[place];
    if is_idle(schedule, rank, action) {
        return true;
    }
    let mut mutated = round.clone();
    mutate(how, place, mutated.actions_mut());
    let changed = mutated.actions();
    match how {
        Break::Drop => false,
        Break::Repeat => matches!(action, Action::Copy { .. }),
        Break::SwapOperands => changed == round.actions() || !schedule.is_ordered(),
        Break::Redirect(_) | Break::Rename(..) => changed == round.actions(),
        Break::Delay | Break::Hurry => false,
        Break::RepeatIn(_) => !matches!(action, Action::Combine { .. }),
        Break::Shift => match (changed_span(action), changed_span(&changed[place])) {
            // In a window the neighbouring block may have the same place.
            (Some(before), Some(after)) => {
                let layout = schedule.layout(rank);
                layout.locate(before) == layout.locate(after)
            }
            _ => true,
        },
    }
}

/// The span that [`Break::Shift`] changes.
fn changed_span(action: &Action) -> Option<&Span> {
    match action {
        Action::Send { span, .. }
        | Action::Recv { span, .. }
        | Action::Copy { from: span, .. }
        | Action::Combine { right: span, .. } => Some(span),
        Action::Signal { .. } | Action::Await { .. } => None,
    }
}

/// Whether a span lies within the rank's own part of the vector.
fn is_own(schedule: &Schedule, rank: Rank, span: &Span) -> bool {
    let parts = Partition::PerRank {
        ranks: schedule.shape().ranks,
        chunks: 1,
    };
    let layout = schedule.layout(rank);
    let units = |part: &Span| {
        let [run, _] = layout.locate(part)?.runs;
        (run.count == 1).then_some(run.start..run.start + run.length)
    };
    let own = units(&Span::block(span.buffer, parts, rank.into()));
    own.zip(units(span))
        .is_some_and(|(own, span)| own.start <= span.start && span.end <= own.end)
}

/// Whether contributions change places first.
fn is_bine_allgather(algorithm: &Algorithm) -> bool {
    let gathers = matches!(
        algorithm.collective,
        Collective::Allgather | Collective::Allgatherv
    );
    gathers && algorithm.id == "bine"
}

/// The verifier's answer to a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The verifier refused it.
    Caught,
    /// The verifier proved it correct, and it is: some algorithms move data that is already there, or combine data that
    /// is not needed.
    Redundant,
    /// The verifier proved it correct, but its results are wrong in some order that a round or MPI leaves open.
    Missed,
}

/// A mutant.
struct Trial {
    algorithm: &'static Algorithm,
    how: Break,
    /// Whether the action brings the rank only data that it has: its own part in a call in place, or any data at the
    /// root of a broadcast.
    brings_own: bool,
    verdict: Verdict,
}

/// Breaks one action of one rank at random; `None` if the break changes nothing.
fn try_mutant(schedule: &Schedule, random: &mut Random) -> Option<Trial> {
    let ranks = schedule.shape().ranks;
    let victim = random.below(ranks.into()) as Rank;
    let original = schedule.program(victim);
    let at = random.below(original.rounds().max(1));
    let mut round = Round::default();
    if at < original.rounds() {
        original.round(at, &mut round);
    }
    if round.actions().is_empty() {
        return None;
    }
    let action = random.below(round.actions().len() as u64) as usize;
    let other = random.below(ranks.into()) as Rank;
    let buffers = [0, 1].map(Buffer::Scratch);
    let buffer = random.pick(&[Buffer::Input, Buffer::Output, buffers[0], buffers[1]]);
    let (which, later) = (random.below(6) as usize, 1 + random.below(3));
    let how = random.pick(&[
        Break::Drop,
        Break::Repeat,
        Break::SwapOperands,
        Break::Redirect(other),
        Break::Shift,
        Break::Delay,
        Break::Hurry,
        Break::Rename(which, buffer),
        Break::RepeatIn(later),
    ]);
    let nowhere = matches!(how, Break::Hurry) && at == 0;
    if nowhere || is_harmless(how, schedule, victim, &round, action) {
        return None;
    }
    let programs = |rank: Rank| -> Box<dyn Program> {
        let program = schedule.program(rank);
        if rank == victim {
            Box::new(Mutant {
                program,
                how,
                at,
                action,
            })
        } else {
            program
        }
    };
    let collective = schedule.algorithm().collective;
    let brings_own = match &round.actions()[action] {
        Action::Recv { span, .. } => {
            let is_bcast = collective == Collective::Bcast && schedule.shape().root == victim;
            is_bcast || schedule.shape().in_place && is_own(schedule, victim, span)
        }
        // The copied part is sent away first and comes back; or it is what a rank has for itself, which in place went
        // with all others to scratch memory.
        Action::Copy { from, into } => match collective {
            Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => {
                schedule.shape().in_place && is_own(schedule, victim, into)
            }
            _ => is_bine_allgather(schedule.algorithm()) && is_own(schedule, victim, from),
        },
        _ => false,
    };
    let verdict = match verify_programs(schedule, &programs) {
        Err(_) => Verdict::Caught,
        Ok(_) if is_right(schedule, &programs) => Verdict::Redundant,
        Ok(_) => Verdict::Missed,
    };
    if verdict == Verdict::Missed || verdict == Verdict::Redundant && how.must_show() {
        let action = round.actions()[action];
        println!(
            "{verdict:?}: {how:?} of `{action}`, rank {victim}, round {at}: {} {:?}",
            schedule.algorithm(),
            schedule.shape(),
        );
    }
    let algorithm = schedule.algorithm();
    Some(Trial {
        algorithm,
        how,
        brings_own,
        verdict,
    })
}

/// Tries mutants of one algorithm. Its name seeds their choice, so that other algorithms do not change them.
fn try_mutants(algorithm: &'static Algorithm) -> Vec<Trial> {
    let mut random = Random::named(&algorithm.name());
    let parameters = parameters(algorithm);
    let collective = algorithm.collective;
    let has_counts = collective.has_part_counts() || collective.has_block_counts();
    let mut trials = Vec::new();
    for _ in 0..100_000 {
        let ranks = random.pick(&[2, 3, 5, 6, 8, 14]);
        let request = Request {
            units: random.pick(&[1, 6, 14]),
            parameters: random.pick(&parameters),
            root: if algorithm.collective.is_rooted() {
                random.below(ranks.into()) as Rank
            } else {
                0
            },
            in_place: random.below(3) == 0,
            placed: if algorithm.knows_nodes() {
                random.pick(&grid().placements(algorithm, ranks))
            } else {
                Placed::Together
            },
            distribution: if has_counts {
                random.pick(&Distribution::ALL)
            } else {
                Distribution::Uniform
            },
            ..Request::among_ranks(ranks)
        };
        if let Some(schedule) = supported(algorithm, &request) {
            trials.extend(try_mutant(&schedule, &mut random));
        }
        if trials.len() == MUTANTS {
            return trials;
        }
    }
    panic!("{algorithm}: nothing to break");
}

/// Mutants an algorithm.
const MUTANTS: usize = 1600;

#[test]
fn random_breaks_are_caught() {
    let trials: Vec<_> = ALGORITHMS.iter().flat_map(try_mutants).collect();
    let count = |verdict, shows: bool| {
        let of = |trial: &&Trial| trial.verdict == verdict && trial.how.must_show() == shows;
        trials.iter().filter(of).count()
    };
    let of =
        |shows| [Verdict::Caught, Verdict::Redundant, Verdict::Missed].map(|v| count(v, shows));
    let [caught, redundant, missed] = of(true);
    println!("{caught} mutants caught, {missed} missed; {redundant} broke redundant actions");
    let [displaced, proved, missed_too] = of(false);
    println!(
        "{displaced} mutants that do something elsewhere caught, {missed_too} missed; {proved} do no harm"
    );
    assert_eq!((missed, missed_too), (0, 0));
    // Five kinds are known to do no harm. A broadcast of all contributions brings a rank its own contribution, which in
    // a call in place is already there. In Bine's allgather contributions change places first, and a rank receives its
    // own contribution again, which it has already copied. An allgather after a scatter brings the root parts that it
    // has. In an alltoall in place the block of a rank for itself is where it belongs. In a reduce-scatter by doubling
    // a rank receives all parts of its group but needs only its own.
    let known = |trial: &Trial| {
        let Trial {
            algorithm,
            brings_own,
            ..
        } = trial;
        match algorithm.collective {
            Collective::Allgather | Collective::Allgatherv => {
                (algorithm.takes(Parameter::Bcast) || algorithm.id == "bine") && *brings_own
            }
            Collective::Bcast
            | Collective::Alltoall
            | Collective::Alltoallv
            | Collective::Alltoallw => *brings_own,
            Collective::ReduceScatter | Collective::ReduceScatterBlock => {
                algorithm.id == "recursive_doubling"
            }
            _ => false,
        }
    };
    let strange = |trial: &&Trial| {
        trial.verdict == Verdict::Redundant && trial.how.must_show() && !known(trial)
    };
    assert_eq!(trials.iter().filter(strange).count(), 0);
    // An action that brings a rank its own data is harmless; of the other mutants that must be few, however many
    // algorithms there are.
    let doubtful = |trial: &&Trial| {
        trial.verdict == Verdict::Redundant && trial.how.must_show() && !trial.brings_own
    };
    let doubtful = trials.iter().filter(doubtful).count();
    assert!(
        doubtful * 20_000 <= caught,
        "{doubtful} of {caught} seem harmless"
    );
    assert!(displaced > proved, "{proved} of {displaced} seem harmless");
}

/// Rank 1 passes on data that it has not yet received.
#[test]
fn a_send_that_relies_on_buffering_is_a_deadlock() {
    struct SendFirst(Rank);
    impl Program for SendFirst {
        fn rounds(&self) -> u64 {
            2
        }
        fn round(&self, index: u64, round: &mut Round) {
            use schedule::{Buffer, Span};
            let peer = 1 - self.0;
            match index {
                0 => round.send(peer, Span::whole(Buffer::Input)),
                _ => round.recv(peer, Span::whole(Buffer::Output)),
            }
        }
    }
    let algorithm = find_algorithm("allreduce/recursive_doubling").unwrap();
    let schedule = schedule(algorithm, &Request::among_ranks(2));
    let fault = verify_programs(&schedule, &|rank| Box::new(SendFirst(rank))).unwrap_err();
    assert!(
        matches!(fault, schedule::Fault::Deadlock(ref waiting) if waiting.len() == 2),
        "{fault}"
    );
}
