//! Reductions in blocks can receive a block while they combine the previous one.

use schedule::{Action, Parameters, Request, Round, Span, find_algorithm};

use crate::cases::schedule;

/// The next block does not overwrite one that has arrived but is not yet combined.
#[test]
fn the_next_block_arrives_in_other_memory_than_the_one_being_combined() {
    for name in [
        "reduce/chain",
        "reduce/binary_pipelined",
        "reduce/fibonacci_pipelined",
        "reduce/two_tree",
        "allreduce/pipelined_tree",
        "allreduce/doubly_pipelined_tree",
        "allreduce/dual_root",
        "allreduce/two_tree",
    ] {
        let mut combined = 0;
        for ranks in 2..=33 {
            for root in [0, ranks / 2, ranks - 1] {
                let request = Request {
                    root,
                    units: 14,
                    parameters: Parameters::with_blocks(7),
                    ..Request::among_ranks(ranks)
                };
                let schedule = schedule(find_algorithm(name).unwrap(), &request);
                for rank in 0..ranks {
                    let (layout, program) = (schedule.layout(rank), schedule.program(rank));
                    let place = |span: &Span| layout.locate(span).unwrap();
                    let mut operands = Vec::new();
                    for index in 0..program.rounds() {
                        let mut round = Round::default();
                        program.round(index, &mut round);
                        for action in round.actions() {
                            if let Action::Recv { span, .. } = action {
                                let arrives = place(span);
                                let clash = operands.contains(&arrives);
                                assert!(!clash, "{name} p={ranks} rank {rank} round {index}");
                            }
                        }
                        // The combinations of the last round that has any, until something else arrives.
                        for action in round.actions() {
                            match action {
                                Action::Combine { left, right, .. } => {
                                    operands = vec![place(left), place(right)];
                                    combined += 1;
                                }
                                Action::Recv { .. } => operands.clear(),
                                _ => {}
                            }
                        }
                    }
                }
            }
        }
        assert!(combined > 1000, "{name}");
    }
}
