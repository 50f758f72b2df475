//! The registry, requests that it refuses, and the text form.

use schedule::{
    ALGORITHMS, Blocks, Collective, Held, Parameter, Parameters, Request, Schedule, Unsupported,
    find_algorithm, text,
};

use crate::cases::schedule;

#[test]
fn names_are_unique_and_found() {
    for algorithm in ALGORITHMS {
        let found = find_algorithm(&algorithm.name()).unwrap();
        assert!(
            std::ptr::eq(found, algorithm),
            "{algorithm} is registered twice"
        );
        assert!(!algorithm.summary.is_empty() && !algorithm.source.is_empty());
    }
    assert!(find_algorithm("allreduce/none").is_none() && find_algorithm("none").is_none());
    assert!(
        "neighbor_alltoall"
            .parse::<Collective>()
            .unwrap_err()
            .to_string()
            .contains("allreduce")
    );
}

#[test]
fn every_collective_has_a_name_and_algorithms() {
    for collective in Collective::ALL {
        assert_eq!(Collective::from_name(collective.name()), Some(collective));
        let rows = schedule::algorithms_of(collective).count();
        assert!(rows >= 3, "{collective} has {rows} algorithms");
    }
}

/// Every collective has conditions.
#[test]
fn conditions_are_those_of_the_standard() {
    let schedule = schedule(&ALGORITHMS[0], &Request::among_ranks(5));
    let (shape, mine) = (schedule.shape(), Held::Ranks(3, 3));
    let check = |collective: Collective, before, after| {
        assert_eq!(collective.precondition(shape, 3).1, before, "{collective}");
        assert_eq!(collective.postcondition(shape, 3), after, "{collective}");
    };
    check(Collective::Alltoall, mine, Held::PartsForRank);
    check(Collective::Barrier, Held::Undefined, Held::Undefined);
    check(Collective::Scan, mine, Held::Ranks(0, 3));
    check(Collective::Exscan, mine, Held::Ranks(0, 2));
    check(Collective::Allreduce, mine, Held::Ranks(0, 4));
}

#[test]
fn requests_that_cannot_be_served_are_refused() {
    let check = |name, request, expected| refused(name, request, &expected);
    check(
        "bcast/binomial",
        Request {
            ranks: 0,
            ..Request::among_ranks(1)
        },
        Unsupported::NoRanks,
    );
    check(
        "bcast/binomial",
        Request {
            root: 4,
            ..Request::among_ranks(4)
        },
        Unsupported::NoSuchRoot { root: 4, ranks: 4 },
    );
    check(
        "bcast/binomial",
        Request {
            parameters: Parameters::with_blocks(2),
            ..Request::among_ranks(4)
        },
        Unsupported::Parameter {
            algorithm: "bcast/binomial".into(),
            parameter: Parameter::Blocks,
        },
    );
    check(
        "bcast/chain",
        Request {
            parameters: Parameters::with_blocks(0),
            ..Request::among_ranks(4)
        },
        Unsupported::ZeroBlocks,
    );
    let parameters = Parameters {
        bcast: Some("nonesuch"),
        ..Parameters::default()
    };
    check(
        "allreduce/reduce_broadcast",
        Request {
            parameters,
            ..Request::among_ranks(4)
        },
        Unsupported::Part {
            collective: Collective::Bcast,
            id: "nonesuch".into(),
        },
    );
}

fn refused(name: &str, request: Request<'_>, expected: &Unsupported) {
    let refusal = Schedule::new(find_algorithm(name).unwrap(), &request).unwrap_err();
    assert_eq!(&refusal, expected, "{name} {request:?}");
    assert!(!refusal.to_string().is_empty());
}

#[test]
fn a_radix_is_from_2_to_64() {
    let with = |radix| Request {
        parameters: Parameters {
            radix: Some(radix),
            ..Parameters::default()
        },
        ..Request::among_ranks(4)
    };
    for radix in [0, 1, 65, u32::MAX] {
        refused("bcast/knomial", with(radix), &Unsupported::Radix { radix });
    }
    for radix in [2, 3, 64] {
        let schedule = schedule(find_algorithm("bcast/knomial").unwrap(), &with(radix));
        assert_eq!(schedule.shape().radix, radix);
    }
    let not_taken = Unsupported::Parameter {
        algorithm: "bcast/binomial".into(),
        parameter: Parameter::Radix,
    };
    refused("bcast/binomial", with(4), &not_taken);
}

#[test]
fn requests_limit_the_messages_of_a_round() {
    let with = |max_requests| Request {
        parameters: Parameters {
            max_requests,
            ..Parameters::default()
        },
        ..Request::among_ranks(6)
    };
    let batched = find_algorithm("alltoall/batched").unwrap();
    refused(
        "alltoall/batched",
        with(Some(0)),
        &Unsupported::ZeroRequests,
    );
    let not_taken = Unsupported::Parameter {
        algorithm: "alltoall/linear".into(),
        parameter: Parameter::MaxRequests,
    };
    refused("alltoall/linear", with(Some(2)), &not_taken);
    for (max_requests, expected) in [
        (Some(1), vec![1, 1, 1, 1, 1]),
        (Some(2), vec![2, 2, 1]),
        (Some(5), vec![5]),
        (Some(u32::MAX), vec![5]),
        (None, vec![5]),
    ] {
        let program = schedule(batched, &with(max_requests)).program(3);
        let sends = (0..program.rounds()).map(|index| {
            let mut round = schedule::Round::default();
            program.round(index, &mut round);
            let actions = round.actions().iter();
            let sends = actions.filter(|action| matches!(action, schedule::Action::Send { .. }));
            sends.count()
        });
        assert_eq!(sends.collect::<Vec<_>>(), expected, "{max_requests:?}");
    }
}

#[test]
fn a_reduce_scatter_needs_one_count_per_rank_with_the_right_sum() {
    let with = |counts| Request {
        units: 6,
        counts: Some(counts),
        ..Request::among_ranks(3)
    };
    let check = |name, counts: &[u64]| {
        let request = Request {
            counts: Some(counts),
            ..with(&[])
        };
        let expected = Unsupported::Counts {
            collective: Collective::ReduceScatter,
            ranks: 3,
            given: counts.len(),
        };
        refused(name, request, &expected);
    };
    check("reduce_scatter/ring", &[]);
    check("reduce_scatter/ring", &[3, 3]);
    check("reduce_scatter/ring", &[2, 2, 1, 1]);
    check("reduce_scatter/ring", &[2, 2, 1]);
    check("reduce_scatter/ring", &[2, 2, 3]);
    for name in [
        "reduce_scatter_block/ring",
        "allgather/ring",
        "allreduce/ring",
    ] {
        let collective = find_algorithm(name).unwrap().collective;
        refused(name, with(&[2, 2, 2]), &Unsupported::OneSize { collective });
    }
    schedule(
        find_algorithm("reduce_scatter/ring").unwrap(),
        &with(&[0, 5, 1]),
    );
}

#[test]
fn vectors_with_too_many_units_are_refused() {
    let of = |units, ranks| Request {
        units,
        ..Request::among_ranks(ranks)
    };
    let too_long = &Unsupported::TooLong;
    for name in [
        "gather/linear",
        "allgather/ring",
        "reduce_scatter_block/ring",
    ] {
        refused(name, of(u64::MAX, 2), too_long);
        refused(name, of(u64::MAX / 3 + 1, 3), too_long);
        schedule(find_algorithm(name).unwrap(), &of(1 << 58, 3));
    }
    let counts = [u64::MAX, 2];
    let request = Request {
        counts: Some(&counts),
        ..of(1, 2)
    };
    refused("reduce_scatter/ring", request, too_long);
}

/// One allgather algorithm works on pairs of ranks. All other algorithms support any number of ranks.
#[test]
fn only_one_allgather_refuses_odd_numbers_of_ranks() {
    let picky: Vec<_> = ALGORITHMS.iter().filter(|a| a.even_ranks).collect();
    let [picky, with_counts] = picky[..] else {
        panic!("{picky:?} serve even numbers of ranks only");
    };
    assert_eq!(picky.name(), "allgather/neighbor_exchange");
    assert_eq!(with_counts.name(), "allgatherv/neighbor_exchange");
    for algorithm in ALGORITHMS {
        for ranks in 1..=33 {
            let made = Schedule::new(algorithm, &Request::among_ranks(ranks));
            let expected = (algorithm.even_ranks && ranks > 1 && ranks % 2 == 1).then(|| {
                Unsupported::OddRanks {
                    algorithm: algorithm.name(),
                    ranks,
                }
            });
            assert_eq!(made.err(), expected, "{algorithm} p={ranks}");
        }
    }
    let refusal = Unsupported::OddRanks {
        algorithm: picky.name(),
        ranks: 7,
    };
    assert!(refusal.to_string().contains("even"), "{refusal}");
}

#[test]
fn a_block_size_gives_the_fewest_blocks_of_at_most_that_size() {
    assert_eq!(Blocks::Size(4).block_count(12), 3);
    assert_eq!(Blocks::Size(4).block_count(13), 4);
    assert_eq!(Blocks::Size(4).block_count(0), 1);
    assert_eq!(Blocks::Size(1).block_count(u64::MAX), u32::MAX);
}

#[test]
fn the_text_of_dual_root_agrees_with_the_paper() {
    let algorithm = find_algorithm("allreduce/dual_root").unwrap();
    let request = Request {
        units: 4,
        parameters: Parameters::with_blocks(2),
        ..Request::among_ranks(6)
    };
    insta::assert_snapshot!(text::render_text(&schedule(algorithm, &request), None));
}

#[test]
fn a_reduce_to_a_middle_rank_mirrors_the_tree_below_the_root() {
    let algorithm = find_algorithm("reduce/binomial").unwrap();
    let request = Request {
        root: 3,
        ..Request::among_ranks(7)
    };
    insta::assert_snapshot!(text::render_text(&schedule(algorithm, &request), None));
}
