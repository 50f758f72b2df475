//! The calls of a grid, and the reports of refuted calls.

use std::ops::RangeInclusive;

use schedule::verify::{Grid, Unprovable, Verdict, Verify, verify_schedule};
use schedule::{
    ALGORITHMS, Algorithm, Collective, Fault, Parameter, Request, Schedule, find_algorithm,
    part_algorithms_of,
};

fn grid(ranks: RangeInclusive<u32>, blocks: &[u32]) -> Grid {
    Grid {
        ranks,
        blocks: blocks.to_vec(),
        every_root_of: u32::MAX,
    }
}

fn prove(name: &str, ranks: RangeInclusive<u32>, verify: &Verify) -> Verdict {
    let grid = grid(ranks, &[1, 2]);
    grid.prove_algorithm(find_algorithm(name).unwrap(), verify)
        .unwrap()
}

#[test]
fn the_fault_on_the_fewest_ranks_is_reported() {
    let sound = prove("bcast/chain", 1..=9, &verify_schedule);
    assert!(sound.fault.is_none());
    // Two lengths for each of two block counts and of 45 roots.
    assert_eq!(sound.shapes, 180);

    let refuse = |schedule: &Schedule| match schedule.shape() {
        shape if shape.ranks >= 3 && shape.root == 2 => Err(Fault::Deadlock(Vec::new())),
        _ => verify_schedule(schedule),
    };
    let fault = prove("bcast/chain", 1..=9, &refuse).fault.unwrap();
    let call = "bcast/chain on 3 ranks, root 2, 1 block, 0 units";
    assert_eq!(fault.call, call);
}

#[test]
fn unsupported_numbers_of_ranks_are_counted() {
    for algorithm in ALGORITHMS.iter().filter(|a| a.even_ranks) {
        let verdict = prove(&algorithm.name(), 1..=9, &verify_schedule);
        // 3, 5, 7 and 9 ranks are skipped; a single rank is supported.
        assert_eq!(verdict.skipped, 4, "{algorithm}");
        assert!(verdict.shapes > 0 && verdict.fault.is_none());
    }
    let verdict = prove("allgather/ring", 1..=9, &verify_schedule);
    assert_eq!(verdict.skipped, 0);
    // Two lengths, in place and not, of 9 communicators.
    assert_eq!(verdict.shapes, 36);
    // Without data there is one length.
    let of_barrier = prove("barrier/linear", 1..=9, &verify_schedule);
    assert_eq!(of_barrier.shapes, 9);
}

#[test]
fn calls_with_uneven_parts_say_so() {
    // The lengths are 1, 5 and 2; the last one has parts of 0 and 2 units.
    let refuse = |schedule: &Schedule| match schedule.units() {
        2 if schedule.shape().in_place => Err(Fault::Deadlock(Vec::new())),
        _ => verify_schedule(schedule),
    };
    let verdict = prove("reduce_scatter/ring", 2..=2, &refuse);
    let call = verdict.fault.map(|fault| fault.call);
    let expected = "reduce_scatter/ring on 2 ranks, in place, 2 units in uneven parts";
    assert_eq!(call.as_deref(), Some(expected));
}

#[test]
fn calls_too_large_for_memory_are_refused() {
    let in_many_blocks = grid(2..=2, &[1 << 26]);
    let chain = find_algorithm("bcast/chain").unwrap();
    let refused = in_many_blocks.prove_algorithm(chain, &verify_schedule);
    let call = "bcast/chain on 2 ranks, root 0, 67108864 blocks, 67108863 units".to_owned();
    assert_eq!(refused.unwrap_err(), Unprovable::TooLarge { call });

    // A barrier has no units, but of every rank the proof keeps the ranks that it has heard of.
    let prove_barrier = |ranks| {
        let barrier = find_algorithm("barrier/linear").unwrap();
        grid(ranks..=ranks, &[1]).prove_algorithm(barrier, &|_| Err(Fault::Deadlock(Vec::new())))
    };
    assert!(prove_barrier(46_000).is_ok());
    let refusal = prove_barrier(47_000).unwrap_err();
    assert!(matches!(refusal, Unprovable::TooLarge { .. }), "{refusal}");
}

#[test]
fn parameters_are_tried_where_they_matter() {
    let grid = grid(1..=1, &[1, 5]);
    let taking = |collective, parameter| {
        let takes = |part: &&Algorithm| part.takes(parameter);
        part_algorithms_of(collective).filter(takes).count()
    };
    let of_part = |collective| {
        part_algorithms_of(collective).count()
            + taking(collective, Parameter::Blocks)
            + 4 * taking(collective, Parameter::Radix)
    };
    let (reduce, bcast) = (Collective::Reduce, Collective::Bcast);
    for (name, expected) in [
        ("bcast/linear", 1),
        ("bcast/chain", 2),
        ("bcast/knomial", 5),
        ("allgather/gather_broadcast", of_part(bcast)),
        ("reduce_scatter/reduce_scatter_by_reduce", of_part(reduce)),
        (
            "allreduce/reduce_broadcast",
            of_part(reduce) + of_part(bcast),
        ),
    ] {
        let algorithm = find_algorithm(name).unwrap();
        assert_eq!(grid.parameters(algorithm).len(), expected, "{name}");
    }
}

#[test]
fn roots_are_thinned_on_large_communicators() {
    let grid = Grid {
        every_root_of: 5,
        ..grid(1..=9, &[1])
    };
    let roots = |name, ranks| grid.roots(find_algorithm(name).unwrap(), ranks);
    assert_eq!(roots("bcast/linear", 5), [0, 1, 2, 3, 4]);
    assert_eq!(roots("bcast/linear", 9), [0, 4, 8]);
    assert_eq!(roots("bcast/linear", 6), [0, 3, 5]);
    assert_eq!(roots("allgather/ring", 5), [0]);
}

/// One block stays empty, or blocks are uneven; lengths are of a part where the collective counts parts.
#[test]
fn lengths_leave_blocks_empty_and_uneven() {
    for (name, expected) in [
        ("bcast/linear", [0, 3]),
        ("bcast/chain", [2, 7]),
        ("allreduce/ring", [7, 17]),
        ("allreduce/ring_segmented", [23, 49]),
        ("allgather/ring", [0, 3]),
        ("gather/binary_streamed", [2, 7]),
    ] {
        let mut lengths = Vec::new();
        let visit = |request: &Request<'_>| {
            lengths.push(request.units);
            Ok::<(), ()>(())
        };
        let grid = grid(8..=8, &[3]);
        grid.visit_requests(find_algorithm(name).unwrap(), 8, visit)
            .unwrap();
        lengths.dedup();
        assert_eq!(lengths, expected, "{name}");
    }
}
