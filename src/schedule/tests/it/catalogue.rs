//! The registry, requests that it refuses, and the text form.

use schedule::{
    ALGORITHMS, Action, Blocks, Collective, Parameter, Parameters, Request, Round, Schedule,
    Unsupported, find, text,
};

use crate::cases::schedule;

#[test]
fn names_are_unique_and_found() {
    for algorithm in ALGORITHMS {
        let found = find(&algorithm.name()).unwrap();
        assert!(
            std::ptr::eq(found, algorithm),
            "{algorithm} is registered twice"
        );
        assert!(!algorithm.summary.is_empty() && !algorithm.source.is_empty());
    }
    assert!(find("allreduce/none").is_none() && find("none").is_none());
    assert!(
        "scan"
            .parse::<Collective>()
            .unwrap_err()
            .to_string()
            .contains("allreduce")
    );
}

#[test]
fn requests_that_cannot_be_served_are_refused() {
    let check = |name: &str, request: Request<'_>, expected: Unsupported| {
        let refused = Schedule::new(find(name).unwrap(), &request).unwrap_err();
        assert_eq!(refused, expected);
        assert!(!refused.to_string().is_empty());
    };
    check(
        "bcast/binomial",
        Request {
            ranks: 0,
            ..Request::ranks(1)
        },
        Unsupported::NoRanks,
    );
    check(
        "bcast/binomial",
        Request {
            root: 4,
            ..Request::ranks(4)
        },
        Unsupported::NoSuchRoot { root: 4, ranks: 4 },
    );
    check(
        "bcast/binomial",
        Request {
            parameters: Parameters::blocks(2),
            ..Request::ranks(4)
        },
        Unsupported::Parameter {
            algorithm: "bcast/binomial".into(),
            parameter: Parameter::Blocks,
        },
    );
    check(
        "bcast/chain",
        Request {
            parameters: Parameters::blocks(0),
            ..Request::ranks(4)
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
            ..Request::ranks(4)
        },
        Unsupported::Part {
            collective: Collective::Bcast,
            id: "nonesuch".into(),
        },
    );
}

#[test]
fn a_block_size_gives_the_fewest_blocks_that_are_no_larger() {
    assert_eq!(Blocks::Size(4).count(12), 3);
    assert_eq!(Blocks::Size(4).count(13), 4);
    assert_eq!(Blocks::Size(4).count(0), 1);
    assert_eq!(Blocks::Size(1).count(u64::MAX), u32::MAX);
}

#[test]
fn dual_root_reads_as_in_the_paper() {
    let algorithm = find("allreduce/dual_root").unwrap();
    let request = Request {
        units: 4,
        parameters: Parameters::blocks(2),
        ..Request::ranks(6)
    };
    insta::assert_snapshot!(text::render(&schedule(algorithm, &request), None));
}

#[test]
fn a_reduce_to_the_middle_mirrors_its_lower_half() {
    let algorithm = find("reduce/binomial").unwrap();
    let request = Request {
        root: 3,
        ..Request::ranks(7)
    };
    insta::assert_snapshot!(text::render(&schedule(algorithm, &request), None));
}

/// The example of the definition: 9 ranks, root 1.
#[test]
fn the_minimum_spanning_tree_is_that_of_its_definition() {
    let algorithm = find("bcast/mst").unwrap();
    let request = Request {
        root: 1,
        ..Request::ranks(9)
    };
    let schedule = schedule(algorithm, &request);
    let mut sends = Vec::new();
    for rank in 0..9 {
        let program = schedule.program(rank);
        for index in 0..program.rounds() {
            let mut round = Round::default();
            program.round(index, &mut round);
            if let [Action::Send { to, .. }] = round.actions() {
                sends.push((rank, *to));
            }
        }
    }
    // By sender, each in its own order; across senders the rounds follow from the dependencies.
    let expected = [
        (1, 8),
        (1, 4),
        (1, 2),
        (1, 0),
        (4, 3),
        (5, 6),
        (8, 5),
        (8, 7),
    ];
    assert_eq!(sends, expected);
}
