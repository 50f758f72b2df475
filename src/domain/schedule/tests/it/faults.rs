//! Every kind of fault, in short programs that have exactly one fault.
//!
//! The fault would do no harm if the program were run one action after the other, as the verifier runs it: only the
//! check under test can refuse it.

use schedule::{
    ALGORITHMS, Action, Buffer, Fault, Misdeed, Parameters, Partition, Program, Rank, Request,
    Schedule, Span, find_algorithm, verify::verify_programs,
};

use crate::cases::{each_call, schedule};
use crate::script::{
    INPUT, OUTPUT, SCRATCH, Script, all, at, combine, copy, parts, recv, send, some,
};

type Rounds = Vec<Vec<Action>>;

fn request(ranks: u32, in_place: bool) -> Request<'static> {
    Request {
        units: 4,
        in_place,
        ..Request::among_ranks(ranks)
    }
}

fn call(name: &str, request: &Request<'_>) -> Schedule {
    schedule(find_algorithm(name).unwrap(), request)
}

/// An ordered allreduce of four units on two ranks, which has scratch memory for the whole vector.
fn pair() -> Schedule {
    call("allreduce/recursive_doubling", &request(2, false))
}

fn pair_in_place() -> Schedule {
    call("allreduce/recursive_doubling", &request(2, true))
}

fn verdict(schedule: &Schedule, programs: &[Rounds]) -> Result<(), Fault> {
    let program = |rank: Rank| Script(programs[rank as usize].clone());
    verify_programs(schedule, &|rank| Box::new(program(rank))).map(drop)
}

fn check(schedule: &Schedule, programs: &[Rounds], expected: Fault) {
    assert_eq!(verdict(schedule, programs), Err(expected), "{programs:?}");
}

/// The first round of an allreduce on two ranks: they exchange inputs and receive into scratch memory.
fn exchange(rank: Rank) -> Vec<Action> {
    vec![send(1 - rank, all(INPUT)), recv(1 - rank, all(SCRATCH))]
}

/// The combination of a rank in the allreduce on two ranks, in rank order.
fn join(rank: Rank, piece: impl Fn(Buffer) -> Span, into: Span) -> Action {
    match rank {
        0 => combine(piece(INPUT), piece(SCRATCH), into),
        _ => combine(piece(SCRATCH), piece(INPUT), into),
    }
}

fn honest(rank: Rank) -> Rounds {
    vec![exchange(rank), vec![join(rank, all, all(OUTPUT))]]
}

/// Rank `rank` exchanges inputs and carries out the given rounds, in which one action is refused.
fn check_rank(schedule: &Schedule, rank: Rank, rounds: Rounds, round: u64, why: &Misdeed) {
    let mut program = vec![exchange(rank)];
    program.extend(rounds);
    let culprit = *program[round as usize].last().unwrap();
    let mut programs = [honest(0), honest(1)];
    programs[rank as usize] = program;
    check(schedule, &programs, at(rank, round, culprit, why.clone()));
}

#[test]
fn the_programs_are_correct_before_a_fault_is_added() {
    for schedule in [pair(), pair_in_place()] {
        assert_eq!(verdict(&schedule, &[honest(0), honest(1)]), Ok(()));
    }
}

#[test]
fn the_input_must_not_be_written() {
    let forbidden = |schedule: &Schedule, rounds, round| {
        check_rank(schedule, 0, rounds, round, &Misdeed::Forbidden);
    };
    let [input, scratch, output] = [INPUT, SCRATCH, OUTPUT].map(all);
    let into_input = combine(input, scratch, input);
    forbidden(
        &pair(),
        vec![vec![into_input], vec![copy(input, output)]],
        1,
    );
    forbidden(&pair_in_place(), vec![vec![into_input]], 1);
    let right = combine(input, scratch, output);
    forbidden(&pair(), vec![vec![right], vec![copy(output, input)]], 2);
    // A message writes the input.
    let program = vec![
        vec![copy(input, output)],
        vec![send(1, output), recv(1, input)],
        vec![combine(output, input, output)],
    ];
    let fault = at(0, 1, program[1][1], Misdeed::Forbidden);
    check(&pair(), &[program, honest(1)], fault);
    // The root of a scatter in place already has its result in its input.
    let scatter = call("scatter/linear", &request(2, true));
    let [own, other] = [0, 1].map(|rank| parts(INPUT, rank, 1));
    let programs = [
        vec![vec![send(1, other)], vec![recv(1, own.in_buffer(OUTPUT))]],
        vec![
            vec![recv(0, other.in_buffer(OUTPUT))],
            vec![send(0, other.in_buffer(OUTPUT))],
        ],
    ];
    let scatter_fault = at(0, 1, programs[0][1][0], Misdeed::Forbidden);
    check(&scatter, &programs, scatter_fault);
}

/// The root's buffer may be in memory that cannot be written.
#[test]
fn the_data_of_a_broadcasts_root_must_not_be_written() {
    let schedule = call("bcast/linear", &request(2, false));
    let programs = [
        vec![vec![send(1, all(OUTPUT))], vec![recv(1, all(OUTPUT))]],
        vec![vec![recv(0, all(OUTPUT))], vec![send(0, all(OUTPUT))]],
    ];
    let fault = at(0, 1, programs[0][1][0], Misdeed::Forbidden);
    check(&schedule, &programs, fault);
}

#[test]
fn operands_must_be_as_long_as_the_target() {
    let half = |half| move |buffer| some(buffer, half, 1, 2);
    let [input, scratch, output] = [INPUT, SCRATCH, OUTPUT].map(half(0));
    let rest = vec![join(0, half(1), half(1)(OUTPUT))];
    for first in [
        combine(all(INPUT), scratch, output),
        combine(input, all(SCRATCH), output),
        combine(all(INPUT), all(SCRATCH), output),
    ] {
        let rounds = vec![vec![first], rest.clone()];
        check_rank(&pair(), 0, rounds, 1, &Misdeed::ShapeMismatch);
    }
    let rounds = vec![
        vec![join(0, all, all(SCRATCH))],
        vec![copy(all(SCRATCH), output)],
        vec![copy(half(1)(SCRATCH), half(1)(OUTPUT))],
    ];
    check_rank(&pair(), 0, rounds, 2, &Misdeed::ShapeMismatch);
}

#[test]
fn a_target_must_not_overlap_an_operand_in_part() {
    let [low, beside, high] = [0, 1, 2].map(|start| move |buffer| some(buffer, start, 2, 4));
    // Rank 0 uses its scratch memory as the right operand, rank 1 as the left one.
    for rank in [0, 1] {
        let rounds = vec![
            vec![join(rank, high, high(OUTPUT))],
            vec![join(rank, low, beside(SCRATCH))],
            vec![copy(beside(SCRATCH), low(OUTPUT))],
        ];
        check_rank(&pair(), rank, rounds, 2, &Misdeed::ShapeMismatch);
    }
    let rounds = vec![
        vec![join(0, all, all(SCRATCH))],
        vec![copy(high(SCRATCH), high(OUTPUT))],
        vec![copy(low(SCRATCH), beside(SCRATCH))],
        vec![copy(beside(SCRATCH), low(OUTPUT))],
    ];
    check_rank(&pair(), 0, rounds, 3, &Misdeed::ShapeMismatch);
}

#[test]
fn messages_and_copies_may_wrap_around_but_combinations_may_not() {
    let [around, rest] =
        [(3, 2), (1, 2)].map(|(start, count)| move |buffer| some(buffer, start, count, 4));
    let rounds = vec![
        vec![join(0, around, around(OUTPUT))],
        vec![join(0, rest, rest(OUTPUT))],
    ];
    check_rank(&pair(), 0, rounds, 1, &Misdeed::ShapeMismatch);
    let wrapped = |rank: Rank| {
        let transfers = |piece: &dyn Fn(Buffer) -> Span| {
            vec![send(1 - rank, piece(INPUT)), recv(1 - rank, piece(SCRATCH))]
        };
        vec![
            transfers(&around),
            transfers(&rest),
            vec![join(rank, all, all(SCRATCH))],
            vec![copy(around(SCRATCH), around(OUTPUT))],
            vec![copy(rest(SCRATCH), rest(OUTPUT))],
        ]
    };
    assert_eq!(verdict(&pair(), &[wrapped(0), wrapped(1)]), Ok(()));
}

#[test]
fn peers_must_be_other_ranks() {
    // With four units in five blocks the last block is empty. It moves nothing but is refused as well.
    let nothing = some(INPUT, 4, 1, 5);
    let [input, scratch] = [INPUT, SCRATCH].map(all);
    let [signal, wait] = [Action::Signal { to: 0 }, Action::Await { from: 0 }];
    for first in [
        vec![send(0, input), recv(0, scratch)],
        vec![recv(0, scratch), send(0, input)],
        vec![signal, wait],
        vec![wait, signal],
        vec![send(0, nothing)],
        vec![send(2, nothing)],
        vec![recv(2, nothing.in_buffer(SCRATCH))],
        vec![Action::Signal { to: 2 }],
        vec![Action::Await { from: Rank::MAX }],
    ] {
        let culprit = first[0];
        let program = [vec![first], honest(0)].concat();
        let fault = at(0, 0, culprit, Misdeed::BadPeer);
        check(&pair(), &[program, honest(1)], fault);
    }
    let program = [vec![vec![send(1, nothing)]], honest(0)].concat();
    assert_eq!(verdict(&pair(), &[program, honest(1)]), Ok(()));
}

#[test]
fn actions_of_a_round_must_not_access_memory_that_another_one_writes() {
    let [input, scratch, output] = [INPUT, SCRATCH, OUTPUT].map(all);
    let conflict = |rounds| check_rank(&pair(), 0, rounds, 1, &Misdeed::Conflict);
    let right = combine(input, scratch, output);
    let half = |buffer| some(buffer, 1, 1, 2);
    // Two writes of the same units, overlapping writes, a read of written units, and a write of read units.
    conflict(vec![vec![right, right]]);
    conflict(vec![vec![right, join(0, half, half(OUTPUT))]]);
    let in_scratch = combine(input, scratch, scratch);
    conflict(vec![vec![in_scratch, copy(scratch, output)]]);
    let middle = some(SCRATCH, 1, 2, 4);
    conflict(vec![vec![in_scratch, send(1, middle)]]);
    conflict(vec![
        vec![copy(input, output), copy(half(INPUT), half(OUTPUT))],
        vec![right],
    ]);
    // A message leaves while another arrives in its place.
    for transfers in [
        [send(1, output), recv(1, output)],
        [recv(1, output), send(1, output)],
    ] {
        let program = vec![
            vec![copy(input, output)],
            transfers.to_vec(),
            vec![combine(input, output, output)],
        ];
        let fault = at(0, 1, transfers[1], Misdeed::Conflict);
        check(&pair(), &[program, honest(1)], fault);
    }
    // The same with two buffers that are one memory only because the call is in place.
    let program = vec![
        vec![copy(input, scratch)],
        vec![send(1, input), recv(1, output)],
        vec![combine(scratch, output, output)],
    ];
    let programs = [program, honest(1)];
    let fault = at(0, 1, programs[0][1][1], Misdeed::Conflict);
    check(&pair_in_place(), &programs, fault);
    assert_eq!(verdict(&pair(), &programs), Ok(()));
    // Two reads of the same units do not conflict.
    let reading = vec![
        vec![copy(input, output), send(1, input), recv(1, scratch)],
        vec![right],
    ];
    assert_eq!(verdict(&pair(), &[reading, honest(1)]), Ok(()));
}

#[test]
fn memory_must_be_written_before_it_is_read() {
    let [input, scratch, output] = [INPUT, SCRATCH, OUTPUT].map(all);
    let undefined = |culprit, taken: Vec<Vec<Action>>| {
        let programs = [
            [vec![vec![culprit]], honest(0)].concat(),
            [taken, honest(1)].concat(),
        ];
        let fault = at(0, 0, culprit, Misdeed::ReadsUndefined);
        check(&pair(), &programs, fault);
    };
    undefined(send(1, output), vec![vec![recv(0, output)]]);
    undefined(copy(scratch, output), vec![]);
    undefined(combine(input, scratch, output), vec![]);
    undefined(combine(scratch, input, output), vec![]);
    let half = [INPUT, OUTPUT].map(|buffer| some(buffer, 0, 1, 2));
    let rounds = vec![vec![copy(half[0], half[1])], vec![copy(output, scratch)]];
    let fault = at(0, 1, rounds[1][0], Misdeed::ReadsUndefined);
    check(&pair(), &[[rounds, honest(0)].concat(), honest(1)], fault);
}

#[test]
fn spans_must_lie_in_existing_buffers() {
    let bad = |name: &str, rank: usize, culprit: Action| {
        let mut programs = [vec![], vec![]];
        programs[rank] = vec![vec![culprit]];
        let fault = at(rank as Rank, 0, culprit, Misdeed::OutOfBounds);
        check(&call(name, &request(2, false)), &programs, fault);
    };
    let [input, output] = [INPUT, OUTPUT].map(all);
    let allreduce = "allreduce/recursive_doubling";
    // Blocks that do not exist, or more blocks than there are.
    bad(allreduce, 0, send(1, some(INPUT, 4, 1, 4)));
    bad(allreduce, 0, send(1, some(INPUT, 2, 5, 4)));
    bad(allreduce, 0, copy(input, all(Buffer::Scratch(1))));
    // Buffers that a rank does not have, in either direction.
    bad("bcast/binomial", 0, send(1, input));
    bad("bcast/binomial", 1, recv(0, input));
    bad("reduce/linear", 1, copy(input, output));
    bad("gather/linear", 1, recv(0, output));
    bad("scatter/linear", 1, send(0, parts(INPUT, 1, 1)));
    // Pieces of the vector that a buffer does not hold, alone or beside pieces that it holds.
    bad("allgather/ring", 0, send(1, parts(INPUT, 1, 1)));
    bad("allgather/ring", 1, send(0, parts(INPUT, 0, 2)));
    bad("reduce_scatter/ring", 0, recv(1, output));
    // A window has room for one block, and only for blocks of its own partition.
    let window = "reduce_scatter_block/ring";
    bad(window, 0, recv(1, parts(SCRATCH, 0, 2)));
    bad(window, 0, recv(1, some(SCRATCH, 0, 1, 2)));
    // It cannot hold two parts, even if they are as long as one because the second is empty.
    let culprit = recv(1, parts(SCRATCH, 0, 2));
    let short = Request {
        units: 1,
        ..Request::among_ranks(2)
    };
    let fault = at(0, 0, culprit, Misdeed::OutOfBounds);
    let programs = [vec![vec![culprit]], vec![]];
    check(&call("reduce_scatter/ring", &short), &programs, fault);
}

/// The verifier relies on this property of layouts.
#[test]
fn located_spans_lie_within_their_buffer_and_have_the_right_length() {
    let check = |schedule: &Schedule, rank: Rank, span: &Span| {
        let layout = schedule.layout(rank);
        let Some(place) = layout.locate(span) else {
            return;
        };
        let capacity = layout.capacity(place.memory);
        let within = place.pieces().all(|piece| piece.end <= capacity);
        assert!(within, "{schedule:?} {rank}: {span} at {place:?}");
        assert_eq!(
            place.units(),
            schedule.span_units(rank, span),
            "{schedule:?} {span}"
        );
    };
    for algorithm in ALGORITHMS {
        for (ranks, units) in [(1, 1), (2, 0), (3, 5), (6, 4)] {
            let chunks = 2;
            let cuts = [
                Partition::PerRank { ranks, chunks },
                Partition::parts(ranks),
            ];
            let partitions = [1, 2, 5].map(Partition::Even).into_iter().chain(cuts);
            let partitions: Vec<_> = partitions.collect();
            let root = if algorithm.collective.is_rooted() {
                ranks / 2
            } else {
                0
            };
            each_call(algorithm, ranks, root, units, |schedule| {
                for partition in &partitions {
                    let all = partition.blocks();
                    let ranges = (0..all).flat_map(|start| (0..=all).map(move |n| (start, n)));
                    for (start, count) in ranges {
                        for buffer in [INPUT, OUTPUT, SCRATCH, Buffer::Scratch(1)] {
                            for rank in [0, ranks / 2, ranks - 1] {
                                let span = Span::blocks(buffer, *partition, start, count);
                                check(schedule, rank, &span);
                            }
                        }
                    }
                }
            });
        }
    }
}

#[test]
fn all_ranks_must_combine_a_unit_in_the_same_tree() {
    let schedule = call(
        "allreduce/recursive_multiplying",
        &Request {
            parameters: Parameters {
                radix: Some(3),
                ..Parameters::default()
            },
            ..request(3, false)
        },
    );
    let [first, second] = [0, 1].map(|index| all(Buffer::Scratch(index)));
    let [input, output] = [INPUT, OUTPUT].map(all);
    let exchange = vec![
        send(0, input),
        send(1, input),
        recv(0, first),
        recv(1, second),
    ];
    let last_with = |combinations: [Action; 2]| {
        let [one, two] = combinations.map(|action| vec![action]);
        let program = vec![exchange.clone(), one, two];
        verify_programs(&schedule, &|rank| -> Box<dyn Program> {
            match rank {
                2 => Box::new(Script(program.clone())),
                _ => schedule.program(rank),
            }
        })
    };
    let lowest_first = [combine(first, second, first), combine(first, input, output)];
    assert_eq!(last_with(lowest_first).map(drop), Ok(()));
    // Also in rank order, but in other brackets.
    let highest_first = [
        combine(second, input, output),
        combine(first, output, output),
    ];
    let fault = Fault::Inconsistent {
        rank: 2,
        other: 0,
        unit: 0,
    };
    assert_eq!(last_with(highest_first), Err(fault));
}
