//! What each row says about its bracketing, compared with the trees of its schedules.

use std::collections::{BTreeMap, BTreeSet};

use schedule::verify::{Bracketing, observe_bracketing, observe_depth, verify_schedule};
use schedule::{
    ALGORITHMS, Algorithm, Blocks, BracketedBy, Parameters, Placed, Rank, Request, Schedule,
    find_algorithm,
};

use crate::cases::{grid, parameters, supported};

/// The trees of one algorithm with the same parameters but for blocks, on the same number of ranks.
#[derive(Default)]
struct Observed {
    /// Whether elements of one result have different trees.
    has_several: bool,
    /// The tree of every element, for each root and placement.
    of_each: BTreeMap<(Rank, usize), BTreeSet<u64>>,
    /// The trees of a vector in one number of blocks, for each root and all placements, and for each placement and all
    /// roots.
    of_root: BTreeMap<(u64, Rank, u32), BTreeSet<u64>>,
    of_placement: BTreeMap<(u64, usize, u32), BTreeSet<u64>>,
}

impl Observed {
    fn add(&mut self, schedule: &Schedule, placement: usize, observed: Bracketing) {
        let (units, shape) = (schedule.units(), schedule.shape());
        match observed.of_each {
            None => self.has_several = true,
            Some(tree) => {
                let key = (shape.root, placement);
                self.of_each.entry(key).or_default().insert(tree);
            }
        }
        let of_root = (units, shape.root, shape.blocks);
        let of_placement = (units, placement, shape.blocks);
        self.of_root
            .entry(of_root)
            .or_default()
            .insert(observed.of_all);
        self.of_placement
            .entry(of_placement)
            .or_default()
            .insert(observed.of_all);
    }

    /// What decided the trees.
    fn bracketed_by(&self) -> BTreeSet<BracketedBy> {
        let mut all = BTreeSet::new();
        if self.has_several || self.of_each.values().any(|trees| trees.len() > 1) {
            all.insert(BracketedBy::Element);
        }
        if self.of_placement.values().any(|trees| trees.len() > 1) {
            all.insert(BracketedBy::Root);
        }
        if self.of_root.values().any(|trees| trees.len() > 1) {
            all.insert(BracketedBy::Nodes);
        }
        all
    }
}

/// What decides the trees of an algorithm with each choice of parameters, on this many ranks.
fn observe(
    algorithm: &'static Algorithm,
    ranks: u32,
) -> Vec<(Parameters<'static>, BTreeSet<BracketedBy>)> {
    let mut by_parameters: Vec<(Parameters<'static>, Observed)> = Vec::new();
    for given in parameters(algorithm) {
        let key = Parameters {
            blocks: None,
            ..given
        };
        let known = by_parameters.iter().position(|(other, _)| *other == key);
        let place = known.unwrap_or_else(|| {
            by_parameters.push((key, Observed::default()));
            by_parameters.len() - 1
        });
        let observed = &mut by_parameters[place].1;
        // One element, lengths that leave blocks empty and uneven, and one with several elements in every block.
        for units in [1, 5, 64] {
            for root in grid().roots(algorithm, ranks) {
                let placements = grid().placements(algorithm, ranks);
                for (placement, placed) in placements.into_iter().enumerate() {
                    let request = Request {
                        root,
                        units,
                        parameters: given,
                        placed,
                        // Proofs check both; the trees are the same.
                        in_place: units == 5,
                        ..Request::among_ranks(ranks)
                    };
                    let Some(schedule) = supported(algorithm, &request) else {
                        continue;
                    };
                    if let Some(found) = verify_schedule(&schedule).unwrap().bracketing {
                        observed.add(&schedule, placement, found);
                    }
                }
            }
        }
    }
    by_parameters
        .into_iter()
        .map(|(given, observed)| (given, observed.bracketed_by()))
        .collect()
}

#[test]
fn brackets_depend_on_what_the_row_says_and_on_nothing_else() {
    for algorithm in ALGORITHMS {
        let mut seen: BTreeMap<String, (Vec<BracketedBy>, BTreeSet<BracketedBy>)> = BTreeMap::new();
        for ranks in [2, 3, 4, 6, 7, 8, 12, 13] {
            for (given, decided_by) in observe(algorithm, ranks) {
                let Some(stated) = algorithm.bracketed_by(&given) else {
                    assert!(decided_by.is_empty(), "{algorithm} combines nothing");
                    continue;
                };
                for by in &decided_by {
                    assert!(
                        stated.contains(by),
                        "{algorithm} {given:?} on {ranks} ranks is bracketed by {by}"
                    );
                }
                let entry = seen.entry(format!("{given:?}"));
                let known = entry.or_insert_with(|| (stated, BTreeSet::new()));
                known.1.extend(decided_by);
            }
        }
        // What a row states must be seen somewhere, or it would warn of nothing.
        for (given, (stated, decided_by)) in seen {
            let decided_by: Vec<BracketedBy> = decided_by.into_iter().collect();
            assert_eq!(stated, decided_by, "{algorithm} {given}");
        }
    }
}

/// The bracketing of a call on root 0 with 24 elements.
fn bracketing(name: &str, request: Request<'_>) -> Bracketing {
    let algorithm = find_algorithm(name).unwrap();
    let schedule = Schedule::new(algorithm, &request).unwrap();
    verify_schedule(&schedule).unwrap().bracketing.unwrap()
}

#[test]
fn depths_are_those_of_the_textbook() {
    for ranks in 2..=33_u32 {
        let logarithm = ranks.next_power_of_two().trailing_zeros();
        let request = Request {
            units: 24,
            ..Request::among_ranks(ranks)
        };
        let depth = |name| bracketing(name, request).depth;
        assert_eq!(depth("reduce/binomial"), logarithm);
        assert_eq!(depth("allreduce/recursive_doubling"), logarithm);
        assert_eq!(depth("allreduce/rabenseifner"), logarithm);
        assert_eq!(depth("reduce/linear"), ranks - 1);
        assert_eq!(depth("reduce/chain"), ranks - 1);
        assert_eq!(depth("allreduce/ring"), ranks - 1);
        assert_eq!(depth("scan/chain"), ranks - 1);
    }
}

/// Different algorithms may give the same bits.
#[test]
fn equal_trees_have_equal_fingerprints() {
    let on = |ranks| Request {
        units: 24,
        ..Request::among_ranks(ranks)
    };
    for ranks in [8, 16] {
        let tree = |name| bracketing(name, on(ranks)).of_each.unwrap();
        let doubling = tree("allreduce/recursive_doubling");
        assert_eq!(tree("allreduce/rabenseifner"), tree("reduce/mst"));
        assert_eq!(tree("reduce/binomial"), doubling);
        assert_eq!(tree("allreduce/rabenseifner"), doubling);
        assert_ne!(tree("reduce/chain"), doubling);
        // The same combinations of other ranks.
        assert_ne!(tree("reduce/bine"), doubling);
    }
    let in_blocks = |blocks| Request {
        parameters: Parameters::with_blocks(blocks),
        ..on(7)
    };
    let tree = |name, blocks| bracketing(name, in_blocks(blocks)).of_each;
    assert_eq!(tree("reduce/chain", 1), tree("reduce/chain", 5));
    assert_eq!(tree("reduce/two_tree", 5), None);
}

#[test]
fn nodes_decide_the_tree_of_an_algorithm_that_knows_them() {
    let placed = |placed| Request {
        units: 24,
        placed,
        ..Request::among_ranks(8)
    };
    let tree = |name, request| bracketing(name, request).of_each;
    let [block, cyclic] = [
        placed(Placed::Block { per_node: 2 }),
        placed(Placed::Cyclic { nodes: 4 }),
    ];
    assert_ne!(
        tree("allreduce/leaders", block),
        tree("allreduce/leaders", cyclic)
    );
    assert_eq!(
        tree("allreduce/rabenseifner", block),
        tree("allreduce/rabenseifner", cyclic)
    );
}

/// A short vector has the trees of a long one.
#[test]
fn the_observed_bracketing_is_that_of_every_length() {
    for algorithm in ALGORITHMS {
        for ranks in [2, 5, 8] {
            for given in parameters(algorithm) {
                for placed in grid().placements(algorithm, ranks) {
                    let request = Request {
                        units: u64::from(ranks) * 11 * 2 + 1,
                        parameters: given,
                        placed,
                        ..Request::among_ranks(ranks)
                    };
                    let Some(schedule) = supported(algorithm, &request) else {
                        continue;
                    };
                    let long = verify_schedule(&schedule).unwrap().bracketing;
                    let short = observe_bracketing(&schedule);
                    let depth = |observed: Option<Bracketing>| observed.map(|found| found.depth);
                    assert_eq!(depth(short), depth(long), "{algorithm} {given:?}");
                    let tree = |observed: Option<Bracketing>| observed.map(|found| found.of_each);
                    if schedule
                        .bracketed_by()
                        .is_some_and(|by| !by.contains(&BracketedBy::Element))
                    {
                        assert_eq!(tree(short), tree(long), "{algorithm} {given:?}");
                    }
                }
            }
        }
    }
    let on_many = Request::among_ranks(20_000);
    let observe = |name| {
        let schedule = Schedule::new(find_algorithm(name).unwrap(), &on_many).unwrap();
        observe_bracketing(&schedule)
    };
    assert_eq!(
        observe("allreduce/recursive_doubling").map(|found| found.depth),
        Some(15)
    );
    assert_eq!(observe("allreduce/ring"), None);
    assert_eq!(observe("bcast/binomial"), None);
}

/// The depth for all lengths is that of the deepest call.
#[test]
fn depths_are_those_of_vectors_of_any_length_in_any_number_of_blocks() {
    for algorithm in ALGORITHMS {
        for ranks in [2, 5, 8, 13] {
            for given in parameters(algorithm) {
                for placed in grid().placements(algorithm, ranks) {
                    let of_blocks = |blocks: u32| Request {
                        units: u64::from(ranks * blocks),
                        parameters: Parameters {
                            blocks: given.blocks.map(|_| Blocks::Count(blocks)),
                            ..given
                        },
                        placed,
                        ..Request::among_ranks(ranks)
                    };
                    let observed = observe_depth(algorithm, &of_blocks(1));
                    let calls = [1, 2, 3, 4, 5, 9, 32].map(of_blocks);
                    let depths = calls.iter().filter_map(|request| {
                        let schedule = supported(algorithm, request)?;
                        let found = verify_schedule(&schedule).unwrap().bracketing;
                        found.map(|found| found.depth)
                    });
                    assert_eq!(
                        observed,
                        depths.max(),
                        "{algorithm} {given:?} on {ranks} ranks"
                    );
                }
            }
        }
    }
    let ring = |ranks| {
        let algorithm = find_algorithm("allreduce/ring").unwrap();
        observe_depth(algorithm, &Request::among_ranks(ranks))
    };
    assert_eq!(ring(1), Some(0));
    assert_eq!(ring(1024), Some(1023));
    assert_eq!(ring(20_000), None);
}
