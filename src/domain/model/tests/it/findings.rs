//! The reports on published findings are up to date, and their claims hold.

use model::{Level, Machine};

use crate::study::pipelines::cluster::Cluster;
use crate::study::pipelines::{hydra, reference};
use crate::study::{REPORTS, folding, gather, settings, trees};
use vocabulary::Placement;

#[test]
fn the_reports_are_up_to_date() {
    for (name, report) in REPORTS {
        let path = format!("{}/../../../reports/{name}.md", env!("CARGO_MANIFEST_DIR"));
        let written = std::fs::read_to_string(path).unwrap();
        let generated = report().unwrap();
        let differing = generated.lines().zip(written.lines()).find(|(a, b)| a != b);
        assert_eq!(differing, None, "generate reports/{name}.md again");
        assert_eq!(generated.len(), written.len());
    }
}

#[test]
fn binary_beats_fibonacci_if_start_ups_overlap_and_are_long() {
    let [binomial, fibonacci, binary] = trees::TREES;
    let depth = |id| trees::edges(id, true, Placement::Block).unwrap();
    assert!(trees::steps(fibonacci).unwrap() < trees::steps(binary).unwrap());
    assert!(trees::steps(binomial).unwrap() < trees::steps(fibonacci).unwrap());
    assert_eq!(depth(binomial), depth(binary));
    assert_eq!([depth(binary), depth(fibonacci)], [9, 11]);
    for (machine, short_alone) in [(hydra().unwrap(), true), (reference().unwrap(), false)] {
        let steps = trees::steps_to(&machine).unwrap();
        let lead = |step: usize, elements| trees::lead_of_binary(&steps[step].1, elements).unwrap();
        for elements in [1, trees::SHORT] {
            // By the formula, and with only the levels added, Fibonacci is better.
            assert!(lead(0, elements) < 0.7 && lead(1, elements) < 0.85);
            let all: Vec<f64> = (0..4).map(|step| lead(step, elements)).collect();
            assert!(all.is_sorted(), "{all:?}");
        }
        assert!(lead(4, 1) > 1.05);
        assert_eq!(lead(4, trees::SHORT) < 1.0, short_alone);
    }
}

#[test]
fn bytes_within_nodes_decide_between_binary_and_fibonacci() {
    for (what, taking) in trees::TAKEN {
        let [hydra, reference] = trees::exchanged(taking).unwrap();
        let is_decisive = ["node", "only beta within a node"].contains(&what);
        assert_eq!(hydra > 1.05, is_decisive, "{what}: {hydra}");
        assert_eq!(reference < 0.85, is_decisive, "{what}: {reference}");
        assert!(is_decisive || hydra < 0.9 && reference > 1.05, "{what}");
    }
}

#[test]
fn other_findings_on_trees_hold_unless_a_link_is_full() {
    for (_, at) in settings(trees::NODES, trees::RANKS_PER_NODE).unwrap() {
        let lead = trees::lead_of_binomial(&at).unwrap();
        if at.machine.name == "reference" && at.placement == Placement::Cyclic {
            assert!((0.98..1.0).contains(&lead), "{lead}");
            let of_binary = trees::lead_of_binary(&at, trees::SHORT).unwrap();
            assert!((0.98..1.0).contains(&of_binary), "{of_binary}");
        } else {
            assert!(lead > 1.05, "{lead}")
        }
        for elements in [10_000, trees::LONG] {
            assert!(trees::lead_of_others(&at, elements).unwrap() > 1.4);
        }
    }
}

#[test]
fn binary_beats_fibonacci_from_64_ranks_on_if_bytes_are_fast_within_nodes() {
    for machine in [hydra().unwrap(), reference().unwrap()] {
        for nodes in trees::BY_NODES {
            let at = Cluster::new(&machine, nodes, trees::RANKS_PER_NODE);
            let lead = trees::lead_of_binary(&at, trees::SHORT).unwrap();
            let beats = machine.name == "reference" && at.ranks() >= 64;
            assert_eq!(lead > 1.0, beats, "{at:?} {lead}");
            assert!(trees::lead_of_binomial(&at).unwrap() > 1.05, "{at:?}");
        }
    }
}

#[test]
fn trees_win_when_contributions_are_short_and_linear_gathers_draw_when_they_are_long() {
    for (name, at) in gather::set_ups().unwrap() {
        let ratio =
            |slow: &[&str], fast: &[&str], bytes| gather::ratio(&at, [slow, fast], bytes).unwrap();
        let gap = |bytes| ratio(&gather::STARS, &gather::TREES, bytes);
        assert!(gap(gather::SHORT) > 1.4, "{name}");
        assert!(gap(gather::SHORT) > 1.3 * gap(gather::MIDDLING), "{name}");
        assert!((gap(gather::LONG) - 1.0).abs() < 0.005, "{name}");
        let lead = gather::lead(&at, &["binomial"], gather::SHORT).unwrap();
        match name.as_str() {
            "reference, 2x8" => assert!((0.96..1.0).contains(&lead), "{lead}"),
            _ => assert!(lead > 1.25, "{name} {lead}"),
        }
        let ring = |bytes| ratio(&gather::RING, &["linear"], bytes);
        assert!((1.3..1.5).contains(&ring(gather::SHORT)), "{name}");
        assert!((1.7..2.0).contains(&ring(gather::LONG)), "{name}");
        // The finding that the simulation does not confirm.
        let binary = ratio(&["binary"], &["binomial"], gather::LONG);
        assert!((1.4..1.95).contains(&binary), "{name} {binary}");
    }
}

/// Chunks that the binary tree gathers one after the other help, unless each run waits for the end of the one before.
#[test]
fn overlap_is_worth_much_to_rings_and_little_to_trees_in_chunks() {
    for (name, at) in gather::set_ups().unwrap() {
        let ratio = |slow, fast, bytes| gather::ratio(&at, [&[slow], &[fast]], bytes).unwrap();
        let ring = |bytes| ratio("ring_blocking", "ring", bytes);
        assert!((ring(gather::SHORT) - 1.0).abs() < 0.005, "{name}");
        assert!(ring(gather::LONG) > 1.7, "{name}");
        let linear = ratio("ring", "linear", gather::LONG);
        assert!((linear - 1.0).abs() < 0.005, "{name}");
        let chunks = ratio("binary_repeated", "binary_chunked", gather::LONG);
        assert!((chunks - 1.0).abs() < 0.02, "{name} {chunks}");
        assert!(
            ratio("binary_repeated", "binary", gather::LONG) < 0.8,
            "{name}"
        );
        let binary = gather::seconds(&at, "binary", gather::LONG).unwrap();
        let apart = gather::runs_apart(&at, gather::LONG).unwrap();
        assert!(apart > binary, "{name} {apart} {binary}");
    }
}

#[test]
fn mapping_matters_to_gathers_along_trees_and_rings_if_links_are_full() {
    for bytes in [gather::SHORT, gather::LONG] {
        for id in gather::STARS.into_iter().chain(["linear_sync"]) {
            for machine in [hydra().unwrap(), reference().unwrap()] {
                let ratio = gather::by_mapping(&machine, id, bytes).unwrap();
                assert!((0.99..1.03).contains(&ratio), "{id} {ratio}");
            }
        }
        for id in gather::TREES.into_iter().chain(["mst"]) {
            let by_mapping = |machine| gather::by_mapping(&machine, id, bytes).unwrap();
            assert!((0.95..1.03).contains(&by_mapping(hydra().unwrap())));
            assert!(by_mapping(reference().unwrap()) > 1.3);
        }
    }
    // Overlapping chunks hide a part of the cost of mapping.
    let chunked = gather::by_mapping(&reference().unwrap(), "binary_chunked", gather::LONG);
    assert!(chunked.unwrap() < 1.3);
    let crowded = Cluster::new(
        &reference().unwrap(),
        gather::MOST_NODES,
        gather::RANKS_ON_MANY,
    )
    .placed(Placement::Cyclic);
    let linear = gather::best(&crowded, &gather::STARS, gather::LONG).unwrap();
    assert_eq!(
        linear,
        gather::best(&crowded, &gather::ids(), gather::LONG).unwrap()
    );
}

#[test]
fn balance_gains_as_the_formula_predicts_if_bytes_cost_more_than_start_ups() {
    for machine in [hydra().unwrap(), reference().unwrap()] {
        for (nodes, ranks) in folding::ONE_LEVEL {
            let level = Level::of_nodes(nodes);
            let cluster = Cluster::new(&machine, nodes, ranks);
            let ratio = folding::combining(&machine, level).unwrap();
            let gain = folding::gain(&cluster, folding::LONG).unwrap();
            let expected = folding::expected(nodes * ranks, ratio).unwrap();
            assert!((gain / expected - 1.0).abs() < 0.005, "{gain} {expected}");
            let begins = folding::break_even(&machine, level).unwrap();
            let simulated = |variant: &Machine| {
                let variant_cluster = Cluster::new(variant, nodes, ranks);
                folding::crossing(&variant_cluster).unwrap() as f64 / begins
            };
            let none_eager = simulated(&folding::without_eager(&machine));
            assert!((0.999..1.005).contains(&none_eager), "{none_eager}");
            let with_eager = simulated(&machine);
            assert!((0.999..2.25).contains(&with_eager), "{with_eager}");
        }
    }
    let [shared, alone] = folding::by_sharing().unwrap();
    assert!(shared < 0.9 && alone > 1.1, "{shared} {alone}");
}

#[test]
fn balance_loses_if_an_exchange_costs_more_than_combining_saves() {
    for machine in [hydra().unwrap(), reference().unwrap()] {
        for (nodes, ranks) in [(1, 12), (36, 1)] {
            let even = 1.0 + folding::combining(&machine, Level::of_nodes(nodes)).unwrap();
            let gain = |factor| {
                let machine = folding::with_exchanges(&machine, factor);
                folding::gain(&Cluster::new(&machine, nodes, ranks), folding::LONG).unwrap()
            };
            let all = folding::EXCHANGES.map(gain);
            assert!(all.is_sorted_by(|a, b| a > b), "{all:?}");
            assert!((gain(even) - 1.0).abs() < 0.002, "{}", gain(even));
        }
    }
}
