//! Schedules that are proved correct are correct in every order that a round or MPI leaves open.

use schedule::{ALGORITHMS, Action, Program, Rank, Request, find_algorithm};

use crate::cases::{each_call, schedule};
use crate::naive::is_right;
use crate::script::{INPUT, OUTPUT, SCRATCH, Script, all, combine, copy, recv, send};

#[test]
fn every_algorithm_is_right_in_any_order() {
    for algorithm in ALGORITHMS {
        for (ranks, root) in [(1, 0), (2, 1), (3, 0), (5, 2), (6, 5), (8, 3)] {
            let root = if algorithm.collective.is_rooted() {
                root
            } else {
                0
            };
            for units in [0, 1, 13] {
                each_call(algorithm, ranks, root, units, |schedule| {
                    let programs = |rank| schedule.program(rank);
                    assert!(is_right(schedule, &programs), "{schedule:?}");
                });
            }
        }
    }
}

/// The programs would be correct if a rank carried out the actions of a round in the order of the list.
#[test]
fn programs_that_depend_on_the_order_within_a_round_are_found_wrong() {
    let algorithm = find_algorithm("allreduce/recursive_doubling").unwrap();
    let request = Request {
        units: 4,
        ..Request::among_ranks(2)
    };
    let schedule = schedule(algorithm, &request);
    let [input, scratch, output] = [INPUT, SCRATCH, OUTPUT].map(all);
    let exchange = vec![send(1, input), recv(1, scratch)];
    let check = |rounds: Vec<Vec<Action>>, right: bool| {
        let programs = |rank: Rank| -> Box<dyn Program> {
            match rank {
                0 => Box::new(Script(rounds.clone())),
                _ => schedule.program(rank),
            }
        };
        assert_eq!(is_right(&schedule, &programs), right, "{rounds:?}");
    };
    let joined = combine(input, scratch, output);
    check(vec![exchange.clone(), vec![joined]], true);
    check(
        vec![exchange.clone(), vec![combine(scratch, input, output)]],
        false,
    );
    check(
        vec![exchange.clone(), vec![joined], vec![copy(output, input)]],
        false,
    );
    let in_scratch = combine(input, scratch, scratch);
    check(
        vec![exchange, vec![in_scratch, copy(scratch, output)]],
        false,
    );
    let transfers = vec![send(1, output), recv(1, output)];
    let last = vec![combine(input, output, output)];
    check(vec![vec![copy(input, output)], transfers, last], false);
}
