//! `first_alike` agrees with a comparison of the full text of everything that an executor reads.

use std::collections::BTreeMap;

use schedule::verify::{Proof, verify_schedule};
use schedule::{
    Action, Algorithm, Buffer, Collective, Layout, Parameters, Place, RESOLVED_ROUNDS, Request,
    Round, Schedule, Span, Tally, algorithms_of, find_algorithm, first_alike,
};

use crate::cases::{parameters, schedule, supported};

/// The schedules of all algorithms of a collective for a call, with all parameters; the call's own are ignored.
fn schedules(collective: Collective, call: &Request<'_>) -> Vec<Schedule> {
    let of_algorithm = |algorithm: &'static Algorithm| {
        let with = |parameters| Request {
            parameters,
            ..*call
        };
        let all = parameters(algorithm).into_iter();
        all.filter_map(move |parameters| supported(algorithm, &with(parameters)))
    };
    algorithms_of(collective).flat_map(of_algorithm).collect()
}

/// Calls `check` with each collective and calls on up to 17 ranks.
fn each_call(mut check: impl FnMut(Collective, &Request<'_>)) {
    for ranks in (1..=9).chain([16, 17]) {
        for collective in Collective::ALL {
            for (root, in_place, units) in [(0, false, 50), (ranks / 2, true, 7), (0, true, 0)] {
                let call = Request {
                    root,
                    in_place,
                    units,
                    ..Request::among_ranks(ranks)
                };
                check(collective, &call);
            }
        }
    }
}

/// The actions of every rank, one per line.
fn whole(schedule: &Schedule) -> String {
    let mut lines = Vec::new();
    for rank in 0..schedule.shape().ranks {
        let (program, layout) = (schedule.program(rank), schedule.layout(rank));
        let mut names: Vec<Buffer> = Vec::new();
        lines.push(format!("rank {rank}"));
        for index in 0..program.rounds() {
            let mut round = Round::default();
            program.round(index, &mut round);
            let mut here: Vec<(u8, String)> = round
                .actions()
                .iter()
                .filter_map(|action| told(action, &layout, &mut names))
                .collect();
            // In an executor, sends, receives and work stand apart.
            here.sort_by_key(|(kind, _)| *kind);
            if !here.is_empty() {
                lines.push(format!("{here:?}"));
            }
        }
    }
    lines.join("\n")
}

fn told(action: &Action, layout: &Layout, names: &mut Vec<Buffer>) -> Option<(u8, String)> {
    let mut at = |span: &Span| -> Place {
        let mut place = layout.locate(span).unwrap();
        if let Buffer::Scratch(_) = place.memory {
            if !names.contains(&place.memory) {
                names.push(place.memory);
            }
            let number = names.iter().position(|name| *name == place.memory);
            place.memory = Buffer::Scratch(number.unwrap() as u8);
        }
        place
    };
    let (kind, places, who) = match action {
        Action::Signal { to } => return Some((0, format!("signal {to}"))),
        Action::Await { from } => return Some((1, format!("await {from}"))),
        Action::Send { to, span } => (0, vec![at(span)], Some(to)),
        Action::Recv { from, span } => (1, vec![at(span)], Some(from)),
        Action::Combine { left, right, into } => (2, vec![at(left), at(right), at(into)], None),
        Action::Copy { from, into } => (2, vec![at(from), at(into)], None),
    };
    let moves = !places.iter().any(Place::is_empty);
    let is_copy_of_itself = matches!(action, Action::Copy { .. }) && places[0] == places[1];
    (moves && !is_copy_of_itself).then(|| (kind, format!("{who:?} {places:?}")))
}

#[test]
fn schedules_are_alike_exactly_if_executors_read_the_same() {
    let mut merged = BTreeMap::new();
    each_call(|collective, call| {
        let all = schedules(collective, call);
        let firsts = first_alike(&all);
        let mut texts: BTreeMap<String, usize> = BTreeMap::new();
        for (place, schedule) in all.iter().enumerate() {
            let first = *texts.entry(whole(schedule)).or_insert(place);
            assert_eq!(firsts[place], first, "{schedule:?} in {call:?}");
            *merged.entry(call.ranks).or_insert(0) += usize::from(first < place);
        }
    });
    // On more ranks fewer schedules are alike.
    assert!(
        merged[&2] > merged[&3] && merged[&3] > merged[&17],
        "{merged:?}"
    );
}

#[test]
fn schedules_that_are_alike_have_equal_proofs_and_counts() {
    each_call(|collective, call| {
        let all = schedules(collective, call);
        // The tally counts empty rounds, which need not agree.
        let proof = |schedule: &Schedule| {
            let proof = verify_schedule(schedule).unwrap();
            let tally = Tally {
                rounds: 0,
                ..proof.tally
            };
            Proof { tally, ..proof }
        };
        for (place, first) in first_alike(&all).into_iter().enumerate() {
            if first < place {
                let (one, other) = (&all[first], &all[place]);
                assert_eq!(proof(one), proof(other), "{one:?} {other:?}");
            }
        }
    });
}

/// The number of algorithms of a collective that differ on two ranks, with one block each.
#[test]
fn few_algorithms_differ_on_two_ranks() {
    let expected = [
        (Collective::Bcast, 3),
        (Collective::Reduce, 4),
        (Collective::Allreduce, 7),
        (Collective::Gather, 2),
        (Collective::Scatter, 1),
        (Collective::Allgather, 2),
        (Collective::ReduceScatter, 4),
        (Collective::ReduceScatterBlock, 4),
        (Collective::Alltoall, 5),
        (Collective::Barrier, 4),
        (Collective::Scan, 4),
        (Collective::Exscan, 2),
        (Collective::Alltoallv, 1),
        (Collective::Alltoallw, 1),
        (Collective::Allgatherv, 2),
        (Collective::Gatherv, 2),
        (Collective::Scatterv, 1),
    ];
    let found = expected.map(|(collective, _)| {
        let call = Request {
            units: 1000,
            ..Request::among_ranks(2)
        };
        let all: Vec<Schedule> = algorithms_of(collective)
            .map(|row| schedule(row, &call))
            .collect();
        let firsts = first_alike(&all);
        let distinct = (0..all.len()).filter(|place| firsts[*place] == *place);
        (collective, distinct.count())
    });
    assert_eq!(found, expected);
}

/// Schedules differ if the same messages have another order, another round, or other memory.
#[test]
fn any_difference_in_execution_makes_schedules_different() {
    let blocks = |count| Parameters::with_blocks(count);
    let none = Parameters::default();
    let long = (RESOLVED_ROUNDS + 1) as u32;
    for (one, other, ranks, are_alike) in [
        (("bcast/linear", none), ("bcast/binomial", none), 2, true),
        // The ranks are served in another order.
        (("bcast/linear", none), ("bcast/binomial", none), 3, false),
        // The sends are one after the other, or all at once.
        (
            ("bcast/linear", none),
            ("bcast/linear_nonblocking", none),
            3,
            false,
        ),
        (
            ("gather/linear", none),
            ("gather/linear_sync", none),
            2,
            false,
        ),
        // Data is received into the output, or into scratch memory.
        (("reduce/linear", none), ("reduce/two_tree", none), 2, false),
        (("reduce/linear", none), ("reduce/chain", none), 2, true),
        (
            ("bcast/chain", blocks(1)),
            ("bcast/chain", blocks(2)),
            2,
            false,
        ),
        (
            ("bcast/chain", blocks(9)),
            ("bcast/binary_pipelined", blocks(9)),
            2,
            true,
        ),
        // Of 9 units.
        (
            ("bcast/chain", blocks(9)),
            ("bcast/chain", blocks(10)),
            2,
            true,
        ),
        // One program is resolved in advance, the other as it runs.
        (
            ("bcast/chain", blocks(9)),
            ("bcast/chain", blocks(long)),
            2,
            false,
        ),
        (
            ("bcast/chain", blocks(long)),
            ("bcast/chain", blocks(long + 1)),
            2,
            true,
        ),
        (
            ("bcast/chain", blocks(1 << 20)),
            ("bcast/chain", blocks(1 << 20)),
            2,
            false,
        ),
    ] {
        let made = [one, other].map(|(name, parameters)| {
            let call = Request {
                units: 9,
                parameters,
                ..Request::among_ranks(ranks)
            };
            schedule(find_algorithm(name).unwrap(), &call)
        });
        let firsts = first_alike(&made);
        assert_eq!(firsts, [0, usize::from(!are_alike)], "{one:?} {other:?}");
    }
}
