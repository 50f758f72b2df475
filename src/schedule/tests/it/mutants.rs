//! Broken copies of algorithms must be caught: a verifier that passes everything proves nothing.

use schedule::{
    ALGORITHMS, Action, Program, Rank, Request, Round, Schedule, Span, find, memory,
    verify::verify_programs,
};

use crate::cases::{parameters, schedule, supported};

/// How one action of one rank is broken.
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
    /// It concerns the block beside.
    Shift,
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
        self.program.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        self.program.round(index, round);
        if index == self.at {
            mutate(self.how, self.action, round.actions_mut());
        }
    }
}

fn mutate(how: Break, place: usize, actions: &mut Vec<Action>) {
    match (how, &mut actions[place]) {
        (Break::Drop, _) => drop(actions.remove(place)),
        (Break::Repeat, action) => {
            let action = *action;
            actions.insert(place, action);
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
        _ => {}
    }
}

/// Whether an action moves nothing: what it names is empty, or it copies memory to itself, as calls
/// in place and compositions do. Nobody misses it.
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

/// Whether a break leaves the program as good as it was: an action that moves nothing, a repeated
/// copy, an operator's operands exchanged where order does not matter, a block that is the only one
/// or is as empty as its neighbour.
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
        Break::SwapOperands => changed == round.actions() || !schedule.ordered(),
        Break::Redirect(_) => changed == round.actions(),
        Break::Shift => match (changed_span(action), changed_span(&changed[place])) {
            // In a window the block beside may have the same place.
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

/// A generator of small numbers, the same ones in every run (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The verifier refused it.
    Caught,
    /// The verifier proved it right, and it gives the same results: some algorithms move what is
    /// there already, or combine what nobody asks for.
    Redundant,
    /// The verifier proved it right, but its results differ.
    Missed,
}

/// Whether mutated programs give on real elements what the schedule's own give.
fn gives_the_same(schedule: &Schedule, programs: &dyn Fn(Rank) -> Box<dyn Program>) -> bool {
    // Every contribution as a word of its own: joining words is associative and does not commute.
    let ranks = schedule.shape().ranks;
    let word = |rank: Rank, unit: u64| vec![(rank, unit)];
    let given: Vec<Vec<_>> = (0..ranks)
        .map(|rank| {
            (0..schedule.vector_units())
                .map(|unit| word(rank, unit))
                .collect()
        })
        .collect();
    let join = |left: &Vec<_>, right: &Vec<_>| {
        let mut joined = [&left[..], right].concat();
        if !schedule.ordered() {
            joined.sort_unstable();
        }
        joined
    };
    let own = memory::run(schedule, &given, join).unwrap();
    memory::run_programs(schedule, programs, &given, join) == Ok(own)
}

/// Breaks one action of one rank at random; `None` if the break changes nothing.
fn try_mutant(schedule: &Schedule, random: &mut Random) -> Option<Verdict> {
    let ranks = schedule.shape().ranks;
    let victim = random.below(ranks.into()) as Rank;
    let program = schedule.program(victim);
    let at = random.below(program.rounds().max(1));
    let mut round = Round::default();
    if at < program.rounds() {
        program.round(at, &mut round);
    }
    if round.actions().is_empty() {
        return None;
    }
    let action = random.below(round.actions().len() as u64) as usize;
    let other = random.below(ranks.into()) as Rank;
    let how = random.pick(&[
        Break::Drop,
        Break::Repeat,
        Break::SwapOperands,
        Break::Redirect(other),
        Break::Shift,
    ]);
    if is_harmless(how, schedule, victim, &round, action) {
        return None;
    }
    let programs = |rank: Rank| -> Box<dyn Program> {
        let program = schedule.program(rank);
        match rank == victim {
            true => Box::new(Mutant {
                program,
                how,
                at,
                action,
            }),
            false => program,
        }
    };
    let verdict = match verify_programs(schedule, &programs) {
        Err(_) => Verdict::Caught,
        Ok(_) if gives_the_same(schedule, &programs) => Verdict::Redundant,
        Ok(_) => Verdict::Missed,
    };
    if verdict != Verdict::Caught {
        let action = round.actions()[action];
        println!(
            "{verdict:?}: {how:?} of `{action}`, rank {victim}, round {at}: {} {:?}",
            schedule.algorithm(),
            schedule.shape(),
        );
    }
    Some(verdict)
}

#[test]
fn random_breaks_are_caught() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut verdicts = Vec::new();
    for algorithm in ALGORITHMS {
        let parameters = parameters(algorithm);
        let (mut of_algorithm, mut attempts) = (0, 0);
        while of_algorithm < 1500 {
            attempts += 1;
            assert!(attempts < 100_000, "{algorithm}: nothing to break");
            let ranks = random.pick(&[2, 3, 5, 6, 8, 14]);
            let request = Request {
                units: random.pick(&[1, 6, 14]),
                parameters: random.pick(&parameters),
                root: match algorithm.collective.is_rooted() {
                    true => random.below(ranks.into()) as Rank,
                    false => 0,
                },
                in_place: random.below(3) == 0,
                ..Request::ranks(ranks)
            };
            let Some(schedule) = supported(algorithm, &request) else {
                continue;
            };
            if let Some(verdict) = try_mutant(&schedule, &mut random) {
                of_algorithm += 1;
                verdicts.push(verdict);
            }
        }
    }
    let count = |wanted| {
        verdicts
            .iter()
            .filter(|verdict| **verdict == wanted)
            .count()
    };
    let [caught, redundant, missed] =
        [Verdict::Caught, Verdict::Redundant, Verdict::Missed].map(count);
    let tried = verdicts.len();
    println!(
        "{caught} of {tried} mutants caught, {missed} missed; {redundant} broke what was redundant"
    );
    assert_eq!(missed, 0);
    assert!(
        redundant * 1000 < tried,
        "{redundant} of {tried} seem harmless"
    );
}

/// Rank 1 passes on what it has not yet received.
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
    let algorithm = find("allreduce/recursive_doubling").unwrap();
    let schedule = schedule(algorithm, &Request::ranks(2));
    let fault = verify_programs(&schedule, &|rank| Box::new(SendFirst(rank))).unwrap_err();
    assert!(
        matches!(fault, schedule::Fault::Deadlock(ref waiting) if waiting.len() == 2),
        "{fault}"
    );
}
