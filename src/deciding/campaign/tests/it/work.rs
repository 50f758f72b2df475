//! The cells and candidates that a campaign asks for.

use std::collections::BTreeSet;

use campaign::{Campaign, Candidates, Family};
use schedule::{Collective, Parameter, Parameters, Placed, Request, Round, Schedule};
use vocabulary::{Cell, CommShape, Datatype, Operator};

/// A campaign named `x` with these further lines, for a machine without shared memory, which would give candidates twice.
fn campaign(lines: &str) -> Campaign {
    crate::campaign(lines).without_shared_memory()
}

fn cell(collective: Collective, bytes: u64) -> Cell {
    let reduces = collective.is_reduction();
    Cell {
        collective,
        shape: CommShape { nodes: 1, ppn: 2 },
        bytes,
        datatype: if reduces {
            Datatype::Float64
        } else {
            Datatype::Byte
        },
        operator: reduces.then_some(Operator::Sum),
        distribution: schedule::Distribution::Uniform,
    }
}

fn texts<T: ToString>(items: impl IntoIterator<Item = T>) -> Vec<String> {
    items.into_iter().map(|item| item.to_string()).collect()
}

/// The algorithms of a cell, including those with the same schedule.
fn algorithms(campaign: &Campaign, cell: &Cell) -> BTreeSet<String> {
    let Candidates { distinct, merged } = campaign.candidates(cell, &|_| None);
    let merged = merged.into_iter().map(|(candidate, _)| candidate);
    let all = distinct.into_iter().chain(merged);
    all.map(|candidate| candidate.algorithm().to_owned())
        .collect()
}

/// The candidates of a cell when the model predicts blocks of `predicted` bytes for everything.
fn candidates(campaign: &Campaign, cell: &Cell, predicted: Option<u64>) -> Vec<String> {
    texts(campaign.candidates(cell, &|_| predicted).distinct)
}

#[test]
fn messages_within_nodes_go_through_shared_memory_where_there_is_some() {
    let check = |lines: &str, shape: (u32, u32), bytes: u64, expected: &[&str]| {
        let lines = format!("candidates: {{include: allreduce/r*}}\n{lines}");
        let cell = Cell {
            shape: CommShape {
                nodes: shape.0,
                ppn: shape.1,
            },
            ..cell(Collective::Allreduce, bytes)
        };
        let candidates = crate::campaign(&lines).candidates(&cell, &|_| None);
        let mut found = texts(candidates.distinct);
        found.retain(|name| name.starts_with("allreduce/ring"));
        assert_eq!(found, expected, "{lines} {shape:?} {bytes}");
    };
    let (mpi, shared) = ("allreduce/ring", "allreduce/ring[through=shared]");
    for both in [
        "",
        "parameters: {through: auto}\n",
        "parameters: {through: [mpi, shared]}\n",
    ] {
        check(both, (1, 4), 64, &[mpi, shared]);
        check(both, (2, 4), 64, &[mpi, shared]);
        // Nothing is sent within a node.
        check(both, (4, 1), 64, &[mpi]);
    }
    check("parameters: {through: [shared]}\n", (1, 4), 64, &[shared]);
    check("parameters: {through: mpi}\n", (1, 4), 64, &[mpi]);
    check(
        "launcher: simulated\nshapes: 1x4\n",
        (1, 4),
        64,
        &[mpi, shared],
    );
}

#[test]
fn shapes_are_sorted_and_unique() {
    for (cores, given, expected) in [
        (1, "auto", "1x2"),
        (2, "auto", "1x2"),
        (4, "auto", "1x2 1x3 1x4"),
        (12, "auto", "1x2 1x4 1x7 1x8 1x9 1x11 1x12"),
        (4, "[1x8, auto, 1x6]", "1x2 1x3 1x4 1x6 1x8"),
        (4, "{ppn: [4, 2, 2]}", "1x2 1x4"),
        (4, "[{nodes: 1, ppn: 5}, \"1 x 2\"]", "1x2 1x5"),
    ] {
        let text = format!("name: x\nshapes: {given}\n");
        let campaign = Campaign::parse_for(&text, "x".as_ref(), cores).expect("valid");
        assert_eq!(
            texts(campaign.shapes).join(" "),
            expected,
            "{given} on {cores} cores"
        );
    }
}

#[test]
fn too_many_ranks_are_a_warning() {
    let many = campaign("shapes: [1x2, 1x5]\n");
    assert_eq!(many.largest_shape(), CommShape { nodes: 1, ppn: 5 });
    let warnings = texts(many.oversubscription_warnings(Some(4)));
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("5 ranks shared 4 cores"),
        "{warnings:?}"
    );
    assert!(many.oversubscription_warnings(Some(5)).is_empty());
    assert!(many.oversubscription_warnings(None).is_empty());
}

#[test]
fn cells_go_from_small_to_large_in_whole_elements() {
    let campaign = campaign(
        "shapes: [1x2, 1x4]\ncollectives: [bcast, reduce, allreduce]\n\
         sizes: {default: [1, 8, 9], bcast: [1, 9]}\n",
    );
    let expected = [
        "bcast 1x2 1 bytes",
        "bcast 1x4 1 bytes",
        "reduce 1x2 8 bytes of float64 sum",
        "allreduce 1x2 8 bytes of float64 sum",
        "bcast 1x2 9 bytes",
        "reduce 1x2 16 bytes of float64 sum",
        "reduce 1x4 8 bytes of float64 sum",
        "allreduce 1x2 16 bytes of float64 sum",
        "allreduce 1x4 8 bytes of float64 sum",
        "bcast 1x4 9 bytes",
        "reduce 1x4 16 bytes of float64 sum",
        "allreduce 1x4 16 bytes of float64 sum",
    ];
    assert_eq!(texts(campaign.cells()), expected);
}

#[test]
fn sizes_are_those_of_a_part_if_every_rank_has_one() {
    let campaign = campaign(
        "shapes: [1x2, 1x4]\ncollectives: [gather, reduce_scatter, reduce_scatter_block]\n\
         sizes: [9, 20]\n",
    );
    let expected = [
        "reduce_scatter 1x2 16 bytes of float64 sum",
        "gather 1x2 9 bytes a rank",
        "reduce_scatter 1x2 24 bytes of float64 sum",
        "reduce_scatter 1x4 16 bytes of float64 sum",
        "reduce_scatter_block 1x2 16 bytes a rank of float64 sum",
        "gather 1x2 20 bytes a rank",
        "reduce_scatter 1x4 24 bytes of float64 sum",
        "reduce_scatter_block 1x2 24 bytes a rank of float64 sum",
        "gather 1x4 9 bytes a rank",
        "reduce_scatter_block 1x4 16 bytes a rank of float64 sum",
        "gather 1x4 20 bytes a rank",
        "reduce_scatter_block 1x4 24 bytes a rank of float64 sum",
    ];
    assert_eq!(texts(campaign.cells()), expected);
}

#[test]
fn sizes_are_smaller_if_every_rank_has_a_part() {
    let mut sizes = campaign("collectives: all\n").sizes;
    assert_eq!(sizes.len(), Collective::ALL.len());
    sizes.retain(|collective, _| collective.decides_by_size());
    for (collective, of_collective) in sizes {
        let last = if collective.is_sized_by_part() {
            1 << 20
        } else {
            4 << 20
        };
        assert_eq!(
            (of_collective[0], of_collective.last()),
            (8, Some(&last)),
            "{collective}"
        );
    }
    let same = campaign("sizes: {default: 2M, scatter: 1M}\n").sizes;
    assert_eq!(same[&Collective::Gather], [2 << 20]);
    assert_eq!(same[&Collective::Scatter], [1 << 20]);
}

#[test]
fn blocks_as_large_as_the_vector_are_one_candidate() {
    let campaign =
        campaign("candidates: {include: bcast/chain}\nparameters: {block_bytes: [4K, 64K]}\n");
    for (bytes, predicted, expected) in [
        (8, None, vec!["blocks=1"]),
        (4096, Some(1 << 20), vec!["blocks=1"]),
        (4097, None, vec!["block_bytes=4K", "blocks=1"]),
        (1 << 20, None, vec!["block_bytes=4K", "block_bytes=64K"]),
        (
            1 << 20,
            Some(17_000),
            vec!["block_bytes=4K", "block_bytes=16K", "block_bytes=64K"],
        ),
        (
            1 << 20,
            Some(4000),
            vec!["block_bytes=4K", "block_bytes=64K"],
        ),
        (
            1 << 20,
            Some(0),
            vec!["block_bytes=1", "block_bytes=4K", "block_bytes=64K"],
        ),
    ] {
        let mut names = vec!["default".to_owned()];
        names.extend(expected.iter().map(|cut| format!("bcast/chain[{cut}]")));
        let found = candidates(&campaign, &cell(Collective::Bcast, bytes), predicted);
        assert_eq!(found, names, "{bytes} bytes, predicted {predicted:?}");
    }
}

#[test]
fn a_prediction_is_rounded_to_the_power_of_two_with_the_smallest_ratio() {
    let campaign = campaign("candidates: {include: bcast/chain}\nparameters: {block_bytes: 4K}\n");
    for (predicted, expected) in [
        (0, "block_bytes=1"),
        (1, "block_bytes=1"),
        (2, "block_bytes=2"),
        (3, "block_bytes=4"),
        (90, "block_bytes=64"),
        (91, "block_bytes=128"),
        (65536, "block_bytes=64K"),
        (u64::MAX, "blocks=1"),
    ] {
        let cell = cell(Collective::Bcast, 1 << 20);
        let found = candidates(&campaign, &cell, Some(predicted));
        let name = format!("bcast/chain[{expected}]");
        assert!(found.contains(&name), "{predicted}: {found:?}");
        assert_eq!(found.len(), 3, "{predicted}: {found:?}");
    }
}

#[test]
fn blocks_of_reductions_are_whole_elements() {
    let campaign =
        campaign("candidates: {include: \"*/dual_root\"}\nparameters: {block_bytes: [5, 7, 9]}\n");
    let found = candidates(&campaign, &cell(Collective::Allreduce, 64), Some(1));
    let expected = [
        "default",
        "allreduce/dual_root[block_bytes=8]",
        "allreduce/dual_root[block_bytes=16]",
    ];
    assert_eq!(found, expected);
}

#[test]
fn predictions_can_be_switched_off() {
    let campaign = campaign(
        "candidates: {include: \"*/dual_root\"}\nparameters: {block_bytes: 4K, predicted: false}\n",
    );
    let found = candidates(
        &campaign,
        &cell(Collective::Allreduce, 1 << 20),
        Some(1 << 16),
    );
    assert_eq!(found, ["default", "allreduce/dual_root[block_bytes=4K]"]);
}

#[test]
fn compositions_have_blocks_only_if_an_inner_algorithm_takes_them() {
    let campaign = campaign(
        "candidates: {include: \"*/reduce_broadcast\"}\n\
         parameters: {block_bytes: 4K, bcast: [chain, binomial]}\n",
    );
    let found = candidates(&campaign, &cell(Collective::Allreduce, 1 << 20), None);
    let expected = [
        "default",
        "allreduce/reduce_broadcast[reduce=binomial,bcast=binomial]",
        "allreduce/reduce_broadcast[block_bytes=4K,reduce=binomial,bcast=chain]",
    ];
    assert_eq!(found, expected);
}

#[test]
fn blocks_are_cut_from_the_piece_that_an_algorithm_cuts() {
    let lines = "candidates: {include: [gather/binary_streamed, \"*/gather_broadcast\"]}\n\
                 parameters: {block_bytes: [4K, 8K], bcast: chain}\n";
    let campaign = campaign(lines);
    // Each contribution is cut by itself.
    let found = candidates(&campaign, &cell(Collective::Gather, 8 << 10), None);
    let expected = [
        "default",
        "gather/binary_streamed[block_bytes=4K]",
        "gather/binary_streamed[blocks=1]",
    ];
    assert_eq!(found, expected);
    // The broadcast inside has two of them.
    let found_inside = candidates(&campaign, &cell(Collective::Allgather, 4 << 10), None);
    let expected_inside = [
        "default",
        "allgather/gather_broadcast[block_bytes=4K,bcast=chain]",
        "allgather/gather_broadcast[blocks=1,bcast=chain]",
    ];
    assert_eq!(found_inside, expected_inside);
}

#[test]
fn radices_are_tried_if_they_make_different_trees() {
    let check = |lines: &str, ppn, expected: &[u32]| {
        let campaign = campaign(&format!("candidates: {{include: bcast/knomial}}\n{lines}"));
        let shape = CommShape { nodes: 1, ppn };
        let cell = Cell {
            shape,
            ..cell(Collective::Bcast, 64)
        };
        let names = expected.iter().map(|k| format!("bcast/knomial[radix={k}]"));
        let names: Vec<String> = ["default".to_owned()].into_iter().chain(names).collect();
        assert_eq!(
            candidates(&campaign, &cell, None),
            names,
            "{lines} {ppn} ranks"
        );
    };
    check("", 2, &[2]);
    check("", 5, &[2, 4, 5]);
    check("", 64, &[2, 4, 8, 16]);
    check("parameters: {radix: [64, 3]}\n", 64, &[3, 64]);
    check("parameters: {radix: 64}\n", 6, &[6]);
}

/// This is why all wide radices are one candidate.
#[test]
fn radices_from_the_number_of_ranks_on_make_the_same_tree() {
    let wide = schedule::ALGORITHMS
        .iter()
        .filter(|algorithm| algorithm.parameters == [Parameter::Radix]);
    let mut checked = 0;
    for algorithm in wide {
        for ranks in 2..=20 {
            let text = |radix| {
                let request = Request {
                    parameters: Parameters {
                        radix: Some(radix),
                        ..Parameters::default()
                    },
                    ..Request::among_ranks(ranks)
                };
                let schedule = Schedule::new(algorithm, &request).expect("supported");
                let rank = |rank| {
                    let program = schedule.program(rank);
                    let mut round = Round::default();
                    let mut rounds = Vec::new();
                    for index in 0..program.rounds() {
                        round.clear();
                        program.round(index, &mut round);
                        rounds.push(format!("{round:?}"));
                    }
                    rounds
                };
                (0..ranks).map(rank).collect::<Vec<_>>()
            };
            assert_eq!(text(ranks), text(64), "{algorithm} on {ranks} ranks");
            checked += 1;
        }
    }
    assert!(checked > 0);
}

#[test]
fn radices_are_for_compositions_with_a_part_that_takes_one() {
    let campaign = campaign(
        "candidates: {include: \"*/gather_broadcast\"}\n\
         parameters: {bcast: [binomial, knomial], radix: [2, 4]}\n",
    );
    let shape = CommShape { nodes: 1, ppn: 8 };
    let cell = Cell {
        shape,
        ..cell(Collective::Allgather, 64)
    };
    let expected = [
        "default",
        "allgather/gather_broadcast[bcast=binomial]",
        // With the radix 2 it is binomial.
        "allgather/gather_broadcast[radix=4,bcast=knomial]",
    ];
    assert_eq!(candidates(&campaign, &cell, None), expected);
}

#[test]
fn algorithms_for_even_numbers_of_ranks_are_left_out_elsewhere() {
    let all = campaign("");
    for collective in Collective::ALL {
        for ppn in [2, 3, 4, 5] {
            let shape = CommShape { nodes: 1, ppn };
            let cell = Cell {
                shape,
                ..cell(collective, 4096)
            };
            let found = algorithms(&all, &cell);
            for algorithm in schedule::algorithms_of(collective) {
                let takes_part = found.contains(&algorithm.name());
                let serves =
                    (!algorithm.even_ranks || ppn.is_multiple_of(2)) && !algorithm.knows_nodes();
                assert_eq!(takes_part, serves, "{algorithm} on {ppn} ranks");
            }
        }
    }
}

/// Either the part within nodes or the one between nodes varies, never both.
#[test]
fn algorithms_that_know_nodes_are_tried_with_a_few_parts() {
    let campaign = campaign("candidates: {include: allreduce/lanes}\n");
    let on = |nodes, ppn| Cell {
        shape: CommShape { nodes, ppn },
        ..cell(Collective::Allreduce, 1 << 20)
    };
    let expected = [
        "default",
        "allreduce/lanes",
        "allreduce/lanes[node=ring]",
        "allreduce/lanes[network=rabenseifner]",
        "allreduce/lanes[network=circulant]",
        "allreduce/lanes[network=ring]",
    ];
    assert_eq!(candidates(&campaign, &on(5, 4), None), expected);
    let leading = self::campaign("candidates: {include: allreduce/leaders}\n");
    let several = |nodes, ppn| {
        let mut found = candidates(&leading, &on(nodes, ppn), None);
        found.retain(|name| name.contains("leaders_per_node"));
        found
    };
    let [two, four] = [2, 4].map(|k| format!("allreduce/leaders[leaders_per_node={k}]"));
    assert_eq!(several(3, 3), [""; 0]);
    assert_eq!(several(3, 4), [two.as_str()]);
    assert_eq!(several(3, 8), [two, four]);
    assert_eq!(candidates(&campaign, &on(1, 20), None), ["default"]);
    assert_eq!(candidates(&campaign, &on(20, 1), None), ["default"]);
}

/// The library would carry out calls that `Schedule::new` refuses for the order of ranks.
#[test]
fn algorithms_that_know_nodes_are_left_out_if_they_do_not_support_the_order_of_ranks() {
    for (placement, placed) in [
        ("block", Placed::Block { per_node: 4 }),
        ("cyclic", Placed::Cyclic { nodes: 3 }),
    ] {
        let all = campaign(&format!(
            "candidates: {{include: [\"*\", \"*/leaders\", \"*/leaders_pipelined\", \"*/lanes\"]}}\n\
             launcher: {{slurm: {{placement: {placement}}}}}\nshapes: 3x4\n"
        ));
        let mut left_out = Vec::new();
        let by_nodes = schedule::ALGORITHMS.iter();
        for algorithm in by_nodes.filter(|a| a.knows_nodes()) {
            let cell = Cell {
                shape: CommShape { nodes: 3, ppn: 4 },
                ..cell(algorithm.collective, 1 << 10)
            };
            let request = Request {
                units: 1 << 10,
                placed,
                ..Request::among_ranks(12)
            };
            let is_served = Schedule::new(algorithm, &request).is_ok();
            let takes_part = algorithms(&all, &cell).contains(&algorithm.name());
            assert_eq!(takes_part, is_served, "{algorithm}, {placement}");
            left_out.extend((!takes_part).then(|| algorithm.name()));
        }
        let expected: &[&str] = match placement {
            "cyclic" => &[
                "reduce_scatter/leaders",
                "scan/leaders",
                "exscan/leaders",
                "allgatherv/leaders",
            ],
            _ => &[],
        };
        assert_eq!(left_out, expected);
    }
}

/// A candidate is measured with the blocks that are predicted for its own parts.
#[test]
fn blocks_are_predicted_for_the_parts() {
    let campaign = campaign(
        "candidates: {include: \"*/reduce_broadcast\"}\n\
         parameters: {block_bytes: 4K, bcast: [binary_pipelined, chain]}\n",
    );
    let predicted = |family: &Family| {
        Some(match family.parameters.bcast.as_deref() {
            Some("chain") => 8 << 10,
            _ => 16 << 10,
        })
    };
    let cell = Cell {
        shape: CommShape { nodes: 1, ppn: 8 },
        ..cell(Collective::Allreduce, 1 << 20)
    };
    let found = texts(campaign.candidates(&cell, &predicted).distinct);
    let cut = |size: &str, bcast: &str| {
        let name = format!("reduce_broadcast[block_bytes={size},reduce=binomial,bcast={bcast}]");
        assert!(found.contains(&format!("allreduce/{name}")), "{found:?}");
    };
    cut("16K", "binary_pipelined");
    cut("8K", "chain");
    assert_eq!(found.len(), 5, "{found:?}");
}

#[test]
fn by_default_every_algorithm_is_a_candidate_unless_excluded() {
    let all = campaign("");
    for algorithm in schedule::ALGORITHMS {
        let cell = Cell {
            shape: CommShape { nodes: 2, ppn: 4 },
            ..cell(algorithm.collective, 1 << 20)
        };
        let takes_part =
            |campaign: &Campaign| algorithms(campaign, &cell).contains(&algorithm.name());
        assert!(takes_part(&all), "{algorithm}");
        let others = campaign(&format!("candidates: {{exclude: {algorithm}}}\n"));
        assert!(!takes_part(&others), "{algorithm}");
    }
}

#[test]
fn collectives_follow_the_candidates() {
    let only = campaign("candidates: {include: allreduce/*}\n");
    assert_eq!(
        only.sizes.into_keys().collect::<Vec<_>>(),
        [Collective::Allreduce]
    );
}

#[test]
fn the_budget_is_divided_between_the_turns() {
    let keys = "budget: 100s\nlaunches: 5\nconfidence: 0.9\n";
    let given = campaign(&format!("{keys}confirmation: off\n")).repetition_for_turns(10);
    assert!((given.slice_seconds - 1.4).abs() < 1e-12, "{given:?}");
    // 0.4 of it is kept for confirming choices.
    let kept = campaign(keys).repetition_for_turns(10);
    assert!((kept.slice_seconds - 0.84).abs() < 1e-12, "{kept:?}");
    assert!((given.confidence - 0.9).abs() < 1e-12);
    let fixed = campaign("repetitions: {minimum: 3, slice: 20ms}\n").repetition_for_turns(10);
    assert!((fixed.slice_seconds - 0.02).abs() < 1e-12, "{fixed:?}");
    assert_eq!((fixed.minimum, fixed.maximum), (3, 10_000));
    assert!(
        campaign("")
            .repetition_for_turns(0)
            .slice_seconds
            .is_finite()
    );
}

#[test]
fn default_sizes_end_where_vectors_become_too_long() {
    let last = |shape: &str, collective| {
        let campaign = campaign(&format!("launcher: simulated\nshapes: {shape}\n"));
        campaign.sizes[&collective].last().copied()
    };
    assert_eq!(last("64x32", Collective::Gather), Some(512 << 10));
    assert_eq!(last("64x32", Collective::Bcast), Some(4 << 20));
    assert_eq!(last("4x32", Collective::Gather), Some(1 << 20));
}

#[test]
fn the_placebo_is_a_candidate_on_request() {
    let cell = cell(Collective::Bcast, 64);
    let with = campaign("candidates: {include: [bcast/linear, \"placebo:default\"]}\n");
    let expected = ["default", "placebo:default", "bcast/linear"];
    assert_eq!(candidates(&with, &cell, None), expected);
    for without in ["", "candidates: {include: [\"*\", \"mockup:*\"]}\n"] {
        let found = candidates(&campaign(without), &cell, None);
        assert!(!found.contains(&expected[1].to_owned()), "{without}");
    }
}

/// The candidates of the default campaign in a cell on two ranks, with blocks as large as the vector, and
/// the candidates that were merged into them.
#[test]
fn on_two_ranks_the_simplest_of_equal_schedules_is_measured() {
    let check = |lines: &str, collective, distinct: &[&str], merged: usize| {
        let found = campaign(lines).candidates(&cell(collective, 1024), &|_| None);
        let expected = ["default"].into_iter().chain(distinct.iter().copied());
        assert_eq!(
            texts(&found.distinct),
            expected.collect::<Vec<_>>(),
            "{lines}"
        );
        assert_eq!(found.merged.len(), merged, "{lines}: {:?}", found.merged);
        for (candidate, simplest) in found.merged {
            assert!(
                found.distinct.contains(&simplest),
                "{candidate}: {simplest}"
            );
            assert!(!found.distinct.contains(&candidate), "{candidate}");
        }
    };
    let scatters = "bcast/scatter_allgather";
    // Two messages of a half each.
    let splits = "bcast/split_binary[blocks=1]";
    let distinct = ["bcast/linear", scatters, splits];
    check("", Collective::Bcast, &distinct, 10);
    check("", Collective::Scatter, &["scatter/linear"], 5);
    // The candidates that the campaign names, also if it names each of them.
    let only = "candidates: {include: [bcast/chain, bcast/binomial]}\n";
    check(only, Collective::Bcast, &["bcast/binomial"], 1);
    let others = "candidates: {exclude: [bcast/linear*, bcast/mst]}\n";
    let remaining = ["bcast/binomial", scatters, splits];
    check(others, Collective::Bcast, &remaining, 7);
}

/// A candidate with blocks has the simplest name in the campaign, also if the campaign does not ask for that name with
/// these blocks.
#[test]
fn equal_blocks_have_one_name_at_all_sizes() {
    let campaign = campaign(
        "candidates: {include: [bcast/chain, bcast/binary_pipelined]}\nparameters: {block_bytes: 4K}\n",
    );
    let predicted = |family: &Family| {
        let is_chain = family.algorithm.id == "chain";
        Some(if is_chain { 8 << 10 } else { 16 << 10 })
    };
    for bytes in [1 << 16, 1 << 20] {
        let found = campaign.candidates(&cell(Collective::Bcast, bytes), &predicted);
        let expected = [
            "default",
            "bcast/chain[block_bytes=4K]",
            "bcast/chain[block_bytes=8K]",
        ];
        assert_eq!(texts(&found.distinct)[..3], expected);
        assert_eq!(
            texts(&found.distinct)[3..],
            ["bcast/chain[block_bytes=16K]"]
        );
    }
}

/// On many ranks next to nothing is the same.
#[test]
fn on_64_ranks_few_candidates_are_merged() {
    let all = campaign("");
    let shape = CommShape { nodes: 8, ppn: 8 };
    let counts = Collective::ALL.map(|collective| {
        let cell = Cell {
            shape,
            ..cell(collective, 1 << 20)
        };
        let found = all.candidates(&cell, &|_| None);
        (found.distinct.len() - 1, found.merged.len())
    });
    let (distinct, merged) = counts
        .iter()
        .fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
    assert!(distinct > 10 * merged && merged > 0, "{counts:?}");
}
