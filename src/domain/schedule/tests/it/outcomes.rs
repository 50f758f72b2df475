//! Programs with unmatched messages, wrong combinations or wrong results.

use schedule::{
    Action, Fault, Misdeed, Rank, Request, Schedule, find_algorithm, verify::verify_programs,
};

use crate::cases::schedule;
use crate::script::{
    INPUT, OUTPUT, SCRATCH, Script, all, at, combine, copy, parts, recv, send, some,
};

type Rounds = Vec<Vec<Action>>;

fn call(name: &str, ranks: u32) -> Schedule {
    let request = Request {
        units: 2,
        ..Request::among_ranks(ranks)
    };
    schedule(find_algorithm(name).unwrap(), &request)
}

/// An ordered allreduce of two units on two ranks.
fn pair() -> Schedule {
    call("allreduce/recursive_doubling", 2)
}

fn honest(rank: Rank) -> Rounds {
    let [input, received, output] = [INPUT, SCRATCH, OUTPUT].map(all);
    let joined = match rank {
        0 => combine(input, received, output),
        _ => combine(received, input, output),
    };
    vec![
        vec![send(1 - rank, input), recv(1 - rank, received)],
        vec![joined],
    ]
}

fn check(schedule: &Schedule, programs: &[Rounds], expected: Fault) {
    let program = |rank: Rank| Script(programs[rank as usize].clone());
    let found = verify_programs(schedule, &|rank| Box::new(program(rank)));
    assert_eq!(found, Err(expected), "{programs:?}");
}

/// Rank 0 carries out these rounds after it has exchanged inputs with rank 1; one action is refused.
fn check_combining(rounds: Rounds, culprit: Action, why: Misdeed) {
    let program = [vec![honest(0).remove(0)], rounds].concat();
    let round = program.iter().position(|round| round.contains(&culprit));
    let fault = at(0, round.unwrap() as u64, culprit, why);
    check(&pair(), &[program, honest(1)], fault);
}

#[test]
fn no_contribution_counts_twice() {
    let [input, received, output] = [INPUT, SCRATCH, OUTPUT].map(all);
    let again = combine(output, received, output);
    let rounds = vec![vec![combine(input, received, output)], vec![again]];
    check_combining(rounds, again, Misdeed::Doubled(1));
    let own = combine(input, input, output);
    check_combining(vec![vec![own]], own, Misdeed::Doubled(0));
    // The same holds for algorithms that are not ordered.
    let unordered = call("reduce_scatter/ring", 2);
    assert!(!unordered.is_ordered());
    let [own_part, received_part] = [INPUT, SCRATCH].map(|buffer| parts(buffer, 0, 1));
    let result = own_part.in_buffer(OUTPUT);
    let other = parts(INPUT, 1, 1);
    let programs = [
        vec![
            vec![send(1, other), recv(1, received_part)],
            vec![combine(received_part, own_part, result)],
            vec![combine(received_part, result, result)],
        ],
        vec![
            vec![send(0, own_part), recv(0, other.in_buffer(SCRATCH))],
            vec![combine(
                other.in_buffer(SCRATCH),
                other,
                other.in_buffer(OUTPUT),
            )],
        ],
    ];
    let fault = at(0, 2, programs[0][2][0], Misdeed::Doubled(1));
    check(&unordered, &programs, fault);
}

#[test]
fn contributions_to_different_units_must_not_be_combined() {
    let unit = |unit| move |buffer| some(buffer, unit, 1, 2);
    let mixed = combine(unit(0)(INPUT), unit(1)(SCRATCH), unit(0)(OUTPUT));
    let right = combine(unit(1)(INPUT), unit(1)(SCRATCH), unit(1)(OUTPUT));
    check_combining(vec![vec![mixed], vec![right]], mixed, Misdeed::Mixed(0, 1));
}

#[test]
fn ordered_algorithms_must_combine_neighbours_in_order() {
    let [input, received, output] = [INPUT, SCRATCH, OUTPUT].map(all);
    let exchanged = combine(received, input, output);
    check_combining(vec![vec![exchanged]], exchanged, Misdeed::Misordered(1, 0));
    // Ranks 0 and 2 are combined before rank 1, which is correct only for operators that commute.
    let root = vec![
        vec![recv(2, received)],
        vec![combine(input, received, output)],
        vec![recv(1, received)],
        vec![combine(output, received, output)],
    ];
    let leaf = vec![vec![send(0, input)]];
    let fault = at(0, 1, root[1][0], Misdeed::Misordered(0, 2));
    check(
        &call("reduce/linear", 3),
        &[root, leaf.clone(), leaf],
        fault,
    );
}

#[test]
fn both_ends_of_a_message_must_have_the_same_length() {
    let [first, second] = [0, 1].map(|unit| some(OUTPUT, unit, 1, 2));
    let whole = all(OUTPUT);
    let check = |sent: &[Action], received: &[Action], [sent_units, expected]: [u64; 2]| {
        let rounds = |actions: &[Action]| actions.iter().map(|action| vec![*action]).collect();
        let fault = Fault::LengthMismatch {
            from: 0,
            to: 1,
            sent: sent_units,
            expected,
        };
        let programs: [Rounds; 2] = [rounds(sent), rounds(received)];
        check(&call("bcast/binomial", 2), &programs, fault);
    };
    let [signal, wait] = [Action::Signal { to: 1 }, Action::Await { from: 0 }];
    let then = |action| [action, send(1, whole)];
    check(
        &[send(1, whole), send(1, second)],
        &[recv(0, first), recv(0, second)],
        [2, 1],
    );
    check(
        &then(send(1, first)),
        &[recv(0, whole), recv(0, whole)],
        [1, 2],
    );
    check(&then(send(1, whole)), &[wait, recv(0, whole)], [2, 0]);
    check(&then(signal), &[recv(0, first), recv(0, whole)], [0, 1]);
}

#[test]
fn every_rank_must_finish() {
    let extra = |rank: Rank, action: Action| {
        let mut programs = [honest(0), honest(1)];
        programs[rank as usize].push(vec![action]);
        let waiting = vec![(rank, 2, action.to_string())];
        check(&pair(), &programs, Fault::Deadlock(waiting));
    };
    extra(0, send(1, all(INPUT)));
    extra(1, recv(0, all(SCRATCH)));
    extra(1, Action::Signal { to: 0 });
    extra(0, Action::Await { from: 1 });
    // Each rank waits for the next.
    let waits = |rank: Rank| {
        vec![
            vec![Action::Await {
                from: (rank + 1) % 3,
            }],
            vec![],
        ]
    };
    let waiting = (0..3).map(|rank| (rank, 0, waits(rank)[0][0].to_string()));
    let fault = Fault::Deadlock(waiting.collect());
    check(&call("allreduce/ring", 3), &[0, 1, 2].map(waits), fault);
}

#[test]
fn results_must_be_those_of_the_collective() {
    let wrong = |name: &str, programs: [Rounds; 2], rank, unit, found: &str| {
        let found = found.to_owned();
        let fault = Fault::WrongResult { rank, unit, found };
        check(&call(name, 2), &programs, fault);
    };
    let allreduce = "allreduce/recursive_doubling";
    let idle = honest(1)[..1].to_vec();
    wrong(allreduce, [honest(0), idle.clone()], 1, 0, "nothing");
    let with = |last| [idle.clone(), vec![vec![last]]].concat();
    let [own, received] = [INPUT, SCRATCH].map(|buffer| copy(all(buffer), all(OUTPUT)));
    wrong(
        allreduce,
        [honest(0), with(own)],
        1,
        0,
        "unit 0 of ranks 1..=1",
    );
    wrong(
        allreduce,
        [honest(0), with(received)],
        1,
        0,
        "unit 0 of ranks 0..=0",
    );
    // Only the second half is written.
    let half = |buffer| some(buffer, 1, 1, 2);
    let joined = combine(half(SCRATCH), half(INPUT), half(OUTPUT));
    wrong(allreduce, [honest(0), with(joined)], 1, 0, "nothing");
    let first_half = |buffer| some(buffer, 0, 1, 2);
    let first_joined = combine(first_half(SCRATCH), first_half(INPUT), first_half(OUTPUT));
    wrong(allreduce, [honest(0), with(first_joined)], 1, 1, "nothing");
    // All data is there, but in the wrong places: the parts of two ranks are two units each.
    let part = |buffer, rank| parts(buffer, rank, 1);
    let leaf = vec![vec![send(0, part(INPUT, 1))]];
    let root = vec![
        vec![copy(part(INPUT, 0), part(OUTPUT, 1))],
        vec![recv(1, part(OUTPUT, 0))],
    ];
    wrong("gather/linear", [root, leaf], 0, 0, "unit 2 of ranks 1..=1");
    let scatter_root = vec![
        vec![copy(part(INPUT, 0), part(OUTPUT, 0))],
        vec![send(1, part(INPUT, 0))],
    ];
    let scatter_leaf = vec![vec![recv(0, part(OUTPUT, 1))]];
    wrong(
        "scatter/linear",
        [scatter_root, scatter_leaf],
        1,
        2,
        "unit 0 of ranks 0..=0",
    );
}
