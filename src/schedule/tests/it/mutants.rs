//! Broken copies of algorithms must be caught: a verifier that passes everything proves nothing.

use schedule::{
    ALGORITHMS, Action, Program, Rank, Request, Round, Schedule, find, verify::verify_programs,
};

use crate::cases::{parameters, schedule};

/// How one action is broken.
#[derive(Clone, Copy, Debug)]
enum Break {
    /// The whole round is left out.
    DropRound,
    /// One action is left out.
    DropAction,
    /// One action is done twice.
    Repeat,
    /// The operands of a combination change places.
    SwapOperands,
    /// A message goes to or comes from the next rank.
    WrongPeer,
}

/// The schedule's program for every rank but one, whose round `at` is broken.
struct Mutant {
    program: Box<dyn Program>,
    how: Break,
    at: u64,
    ranks: u32,
}

impl Program for Mutant {
    fn rounds(&self) -> u64 {
        self.program.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        self.program.round(index, round);
        if index != self.at {
            return;
        }
        let actions = round.actions_mut();
        match self.how {
            Break::DropRound => actions.clear(),
            Break::DropAction => drop(actions.pop()),
            Break::Repeat => actions.extend(actions.last().copied()),
            Break::SwapOperands => {
                for action in actions {
                    if let Action::Combine { left, right, .. } = action {
                        std::mem::swap(left, right);
                    }
                }
            }
            Break::WrongPeer => {
                for action in actions {
                    if let Action::Send { to: peer, .. } | Action::Recv { from: peer, .. } = action
                    {
                        *peer = (*peer + 1) % self.ranks;
                    }
                }
            }
        }
    }
}

fn applies(how: Break, round: &Round) -> bool {
    let is_message = |a: &Action| matches!(a, Action::Send { .. } | Action::Recv { .. });
    let is_combine = |a: &Action| matches!(a, Action::Combine { .. });
    match how {
        Break::DropRound | Break::DropAction => !round.actions().is_empty(),
        Break::Repeat => round.actions().last().is_some_and(is_message),
        Break::SwapOperands => round.actions().iter().any(is_combine),
        Break::WrongPeer => round.actions().iter().any(is_message),
    }
}

/// Breaks every round of every rank in turn; returns how many mutants there were.
fn break_everywhere(schedule: &Schedule, how: Break) -> u32 {
    let ranks = schedule.shape().ranks;
    let mut mutants = 0;
    for victim in 0..ranks {
        for at in 0..schedule.program(victim).rounds() {
            let mut round = Round::default();
            schedule.program(victim).round(at, &mut round);
            if !applies(how, &round) {
                continue;
            }
            let program = |rank: Rank| -> Box<dyn Program> {
                let program = schedule.program(rank);
                if rank == victim {
                    Box::new(Mutant {
                        program,
                        how,
                        at,
                        ranks,
                    })
                } else {
                    program
                }
            };
            let verdict = verify_programs(schedule, &program);
            assert!(
                verdict.is_err(),
                "{how:?} in round {at} of rank {victim} went unseen: {} {:?}",
                schedule.algorithm(),
                schedule.shape(),
            );
            mutants += 1;
        }
    }
    mutants
}

#[test]
fn every_break_of_every_round_is_caught() {
    let mut caught = 0;
    for algorithm in ALGORITHMS {
        for ranks in [2, 3, 5, 6, 8, 14] {
            for parameters in parameters(algorithm) {
                let request = Request {
                    units: 14,
                    parameters,
                    ..Request::ranks(ranks)
                };
                let schedule = schedule(algorithm, &request);
                let mut breaks = vec![
                    Break::DropRound,
                    Break::DropAction,
                    Break::Repeat,
                    Break::WrongPeer,
                ];
                if algorithm.ordered {
                    breaks.push(Break::SwapOperands);
                }
                if ranks == 2 {
                    // The next peer is the rank itself, which is refused before anything runs;
                    // on two ranks nothing else is left to redirect to.
                    breaks.retain(|how| !matches!(how, Break::WrongPeer));
                }
                caught += breaks
                    .into_iter()
                    .map(|how| break_everywhere(&schedule, how))
                    .sum::<u32>();
            }
        }
    }
    println!("{caught} mutants, all caught");
    assert!(caught > 10_000, "only {caught} mutants were tried");
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
