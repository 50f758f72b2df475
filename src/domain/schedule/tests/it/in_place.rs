//! `MPI_IN_PLACE` on some ranks only: the messages of a rank do not depend on it where MPI does not ask all ranks for it
//! (MPI 4.0, sections 6.6 to 6.11).

use schedule::{ALGORITHMS, Action, Collective, Placed, Rank, Request, Round, Schedule};

use crate::cases;

/// A message of a rank.
#[derive(Debug, PartialEq, Eq)]
struct Message {
    is_sent: bool,
    peer: Rank,
    units: u64,
}

/// Whether ranks may differ: the root alone gives it, or every rank for itself.
fn may_differ(collective: Collective) -> bool {
    collective.is_rooted()
        || matches!(
            collective,
            Collective::ReduceScatter | Collective::ReduceScatterBlock
        )
        || collective.is_prefix_reduction()
}

/// The messages of a rank's rounds, without rounds that have none.
fn messages(schedule: &Schedule, rank: Rank) -> Vec<Vec<Message>> {
    let program = schedule.program(rank);
    let mut round = Round::default();
    let of_round = |index| {
        round.clear();
        program.round(index, &mut round);
        let messages = round.actions().iter().filter_map(|action| {
            let (is_sent, peer, units) = match action {
                Action::Send { to, span } => (true, *to, schedule.span_units(rank, span)),
                Action::Recv { from, span } => (false, *from, schedule.span_units(rank, span)),
                _ => return None,
            };
            (units > 0).then_some(Message {
                is_sent,
                peer,
                units,
            })
        });
        messages.collect::<Vec<_>>()
    };
    let rounds = (0..program.rounds()).map(of_round);
    rounds.filter(|messages| !messages.is_empty()).collect()
}

#[test]
fn ranks_may_differ_in_whether_they_are_in_place() {
    let mut compared = 0;
    for algorithm in ALGORITHMS.iter().filter(|a| may_differ(a.collective)) {
        for (ranks, per_node) in [(2, 2), (3, 3), (5, 5), (8, 4), (9, 3), (12, 3)] {
            for parameters in cases::parameters(algorithm) {
                for root in [0, ranks - 1] {
                    let on = |in_place| {
                        let request = Request {
                            root,
                            in_place,
                            units: 50,
                            parameters,
                            placed: Placed::Block { per_node },
                            ..Request::among_ranks(ranks)
                        };
                        cases::supported(algorithm, &request)
                    };
                    let (Some(apart), Some(in_place)) = (on(false), on(true)) else {
                        continue;
                    };
                    for rank in 0..ranks {
                        assert_eq!(
                            messages(&in_place, rank),
                            messages(&apart, rank),
                            "{algorithm} {parameters:?}, rank {rank} of {ranks}, root {root}"
                        );
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}
