//! The properties that make the two-tree algorithms fast: no rank sends or receives two blocks in a
//! round, and no rank is inner in both trees.

use schedule::{Action, Parameters, Request, Round, find_algorithm};

use crate::cases::schedule;

#[test]
fn a_rank_of_two_trees_never_sends_or_receives_two_messages_at_once() {
    let algorithm = find_algorithm("bcast/two_tree").unwrap();
    for ranks in (2..=300).chain([509, 510, 511, 512, 513, 1023, 1024, 1025]) {
        for root in [0, ranks / 2, ranks - 1] {
            let request = Request {
                root,
                units: 12,
                parameters: Parameters::with_blocks(12),
                ..Request::among_ranks(ranks)
            };
            let schedule = schedule(algorithm, &request);
            for rank in 0..ranks {
                let program = schedule.program(rank);
                let mut parities = Vec::new();
                for index in 0..program.rounds() {
                    let mut round = Round::default();
                    program.round(index, &mut round);
                    let mut sends = 0;
                    let mut recvs = 0;
                    for action in round.actions() {
                        match action {
                            Action::Send { span, .. } => {
                                sends += 1;
                                parities.push(span.blocks.start % 2);
                            }
                            _ => recvs += 1,
                        }
                    }
                    assert!(
                        sends <= 1 && recvs <= 1,
                        "p={ranks} rank {rank} round {index}"
                    );
                }
                let passes_one_tree = parities.windows(2).all(|pair| pair[0] == pair[1]);
                assert!(rank == root || passes_one_tree, "p={ranks} rank {rank}");
            }
        }
    }
}
