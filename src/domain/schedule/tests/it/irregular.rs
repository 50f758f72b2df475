//! Irregular collectives: parts and blocks of any lengths, and what each rank knows of them.

use schedule::svg::render_svg;
use schedule::{
    ALGORITHMS, Action, Algorithm, Collective, Distribution, OwnCounts, Partition, Placed, Program,
    Rank, Request, Round, Schedule, Span, Unsupported, algorithms_of, find_algorithm, text,
    verify::{verify_programs, verify_schedule},
};

use crate::cases::{grid, parameters, schedule, supported};
use crate::random::Random;

/// All algorithms of collectives whose calls have counts.
fn irregular() -> impl Iterator<Item = &'static Algorithm> {
    let has_counts = |of: Collective| of.has_part_counts() || of.has_block_counts();
    ALGORITHMS
        .iter()
        .filter(move |row| has_counts(row.collective))
}

/// Random counts of which about a third are zero: one for each rank, or one for each pair, then symmetric if `in_place`.
fn random_counts(
    collective: Collective,
    ranks: u32,
    in_place: bool,
    random: &mut Random,
) -> Vec<u64> {
    let mut count = || match random.below(3) {
        0 => 0,
        1 => 1 + random.below(3),
        _ => random.below(9),
    };
    if !collective.has_block_counts() {
        return (0..ranks).map(|_| count()).collect();
    }
    let all = ranks as usize;
    let mut counts: Vec<u64> = (0..all * all).map(|_| count()).collect();
    if in_place {
        for (row, column) in (0..all).flat_map(|row| (0..row).map(move |column| (row, column))) {
            counts[row * all + column] = counts[column * all + row];
        }
    }
    counts
}

/// A call with these counts.
fn call<'a>(algorithm: &'static Algorithm, ranks: u32, counts: &'a [u64]) -> Request<'a> {
    Request {
        units: if algorithm.collective.has_block_counts() {
            1
        } else {
            counts.iter().sum()
        },
        counts: Some(counts),
        ..Request::among_ranks(ranks)
    }
}

#[test]
fn counts_may_be_any_on_1_to_64_ranks() {
    for algorithm in irregular() {
        let mut random = Random::named(&algorithm.name());
        let choices = parameters(algorithm);
        for ranks in 1..=64_u32 {
            for in_place in [false, true] {
                let counts = random_counts(algorithm.collective, ranks, in_place, &mut random);
                let request = Request {
                    in_place,
                    root: random.below(ranks.into()) as Rank,
                    parameters: random.pick(&choices),
                    placed: random.pick(&grid().placements(algorithm, ranks)),
                    ..call(algorithm, ranks, &counts)
                };
                if let Some(schedule) = supported(algorithm, &request)
                    && let Err(fault) = verify_schedule(&schedule)
                {
                    panic!("{algorithm} {request:?}: {fault}");
                }
            }
        }
    }
}

/// The spans of an action.
fn spans(action: &Action) -> Vec<Span> {
    match *action {
        Action::Send { span, .. } | Action::Recv { span, .. } => vec![span],
        Action::Signal { .. } | Action::Await { .. } => vec![],
        Action::Copy { from, into } => vec![from, into],
        Action::Combine { left, right, into } => vec![left, right, into],
    }
}

fn rounds(schedule: &Schedule, rank: Rank) -> Vec<Round> {
    all_rounds(&*schedule.program(rank))
}

fn all_rounds(program: &dyn Program) -> Vec<Round> {
    let round = |index| {
        let mut round = Round::default();
        program.round(index, &mut round);
        round
    };
    (0..program.rounds()).map(round).collect()
}

/// The other counts, which the rank does not know, are replaced by random ones.
fn hide_counts(
    collective: Collective,
    ranks: u32,
    rank: Rank,
    counts: &[u64],
    random: &mut Random,
) -> Vec<u64> {
    let (all, own) = (ranks as usize, rank as usize);
    let others = random_counts(collective, ranks, true, random);
    let is_known = |place: usize| {
        if collective.has_block_counts() {
            place / all == own || place % all == own
        } else {
            place == own
        }
    };
    let merged = (0..counts.len()).map(|place| {
        if is_known(place) {
            counts[place]
        } else {
            others[place]
        }
    });
    merged.collect()
}

/// What a rank is told: of each child, the counts of all ranks below it, as they add up.
fn told_counts(schedule: &Schedule, counts: &[u64], rank: Rank) -> Vec<(Rank, u64)> {
    let exchange = schedule.size_exchange(rank).unwrap_or_default();
    let told = exchange.from.into_iter().map(|from| {
        assert_eq!(schedule.size_exchange(from).unwrap().to, Some(rank));
        let others = told_counts(schedule, counts, from).into_iter();
        let others: u64 = others.map(|(_, units)| units).sum();
        (from, counts[from as usize] + others)
    });
    told.collect()
}

/// A rank of an irregular call computes its program, and the places of all data in it, from what MPI tells that rank.
#[test]
fn a_rank_needs_only_the_counts_that_it_knows() {
    for algorithm in irregular() {
        let collective = algorithm.collective;
        let mut random = Random::named(&algorithm.name());
        let choices = parameters(algorithm);
        for turn in 0..60 {
            let (ranks, in_place) = (1 + random.below(9) as u32, turn % 2 == 0);
            let root = if collective.is_rooted() {
                random.below(ranks.into()) as Rank
            } else {
                0
            };
            let counts = random_counts(collective, ranks, in_place, &mut random);
            let known = Request {
                root,
                in_place,
                parameters: random.pick(&choices),
                ..call(algorithm, ranks, &counts)
            };
            let Some(complete) = supported(algorithm, &known) else {
                continue;
            };
            let blind = Request {
                counts: None,
                units: 0,
                ..known
            };
            let blind = schedule(algorithm, &blind);
            for rank in 0..ranks {
                let expected = rounds(&complete, rank);
                assert_eq!(rounds(&blind, rank), expected, "{known:?}: rank {rank}");
                let layout = complete.layout(rank);
                let all = ranks as usize;
                let knows_own_only = collective.is_rooted() && rank != root;
                let (row, column): (Vec<u64>, Vec<u64>) = if collective.has_block_counts() {
                    let own = rank as usize * all;
                    let column = counts.iter().skip(rank as usize).step_by(all);
                    (counts[own..own + all].to_vec(), column.copied().collect())
                } else {
                    (Vec::new(), Vec::new())
                };
                let told = told_counts(&blind, &counts, rank);
                let own = if collective.has_block_counts() {
                    OwnCounts::Blocks {
                        sent: if in_place { &column } else { &row },
                        received: &column,
                    }
                } else if knows_own_only && algorithm.tells_sizes {
                    OwnCounts::Told {
                        own: counts[rank as usize],
                        others: &told,
                    }
                } else if knows_own_only {
                    OwnCounts::Part(counts[rank as usize])
                } else {
                    OwnCounts::Parts(&counts)
                };
                let mut layouts = vec![blind.layout_with_counts(rank, own).unwrap()];
                if !algorithm.tells_sizes && (collective.has_block_counts() || knows_own_only) {
                    let hidden = hide_counts(collective, ranks, rank, &counts, &mut random);
                    let other = Request {
                        units: call(algorithm, ranks, &hidden).units,
                        counts: Some(&hidden),
                        ..known
                    };
                    let other = schedule(algorithm, &other);
                    assert_eq!(rounds(&other, rank), expected, "{known:?}: rank {rank}");
                    layouts.push(other.layout(rank));
                }
                for own_layout in layouts {
                    let buffers = layout.scratch_rooms().len();
                    assert_eq!(own_layout.scratch_rooms().len(), buffers);
                    for span in expected
                        .iter()
                        .flat_map(|round| round.actions().iter().flat_map(spans))
                    {
                        let place = layout.locate(&span);
                        assert!(place.is_some(), "{known:?}: rank {rank}: {span}");
                        assert_eq!(
                            own_layout.locate(&span),
                            place,
                            "{known:?}: rank {rank}: {span}"
                        );
                        let units = place.map(|place| place.units());
                        assert_eq!(Some(complete.span_units(rank, &span)), units, "{span}");
                        assert_eq!(
                            own_layout.capacity(span.buffer),
                            layout.capacity(span.buffer)
                        );
                    }
                }
            }
        }
    }
}

/// So each may be at a displacement of its own, with a datatype of its own.
#[test]
fn where_a_rank_does_not_know_all_counts_data_is_moved_in_whole_blocks() {
    let partly_known = irregular().filter(|row| {
        row.collective.has_block_counts()
            || row.collective.has_part_counts() && row.collective.is_rooted()
    });
    let mut spans_seen = 0;
    for algorithm in partly_known {
        for ranks in 1..=9 {
            for in_place in [false, true] {
                for parameters in parameters(algorithm) {
                    let request = Request {
                        in_place,
                        parameters,
                        root: ranks / 2,
                        ..Request::among_ranks(ranks)
                    };
                    let schedule = schedule(algorithm, &request);
                    for rank in 0..ranks {
                        let all = rounds(&schedule, rank);
                        for span in all
                            .iter()
                            .flat_map(|round| round.actions().iter().flat_map(spans))
                        {
                            assert_eq!(
                                span.partition,
                                Partition::parts(ranks),
                                "{algorithm} {span}"
                            );
                            spans_seen += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(spans_seen > 10_000, "{spans_seen}");
}

#[test]
fn distributions_are_what_their_names_say() {
    for ranks in [1_u32, 2, 3, 7, 8, 9, 64, 1000] {
        let others = u64::from(ranks) - 1;
        for units in [0, 1, 12_345, 1 << 50] {
            for distribution in Distribution::ALL {
                let counts = distribution.part_counts(units, ranks);
                assert_eq!(
                    counts.iter().sum::<u64>(),
                    units,
                    "{distribution:?} {ranks}"
                );
                let empty = counts.iter().filter(|count| **count == 0).count() as u64;
                match distribution {
                    Distribution::Uniform => {
                        let [least, most] = [counts.iter().min(), counts.iter().max()];
                        assert!(most.unwrap() - least.unwrap() <= 1);
                    }
                    Distribution::Skewed if others > 0 && units > 1 << 40 => {
                        assert_eq!(
                            counts[0] / counts[1],
                            21 - u64::from(counts[0] < 21 * counts[1])
                        );
                    }
                    Distribution::Skewed => {}
                    Distribution::Sparse => assert!(empty >= u64::from(ranks) * 3 / 4),
                    Distribution::Dominated if others > 0 => assert_eq!(counts[0], units / 2),
                    Distribution::Dominated => {}
                }
            }
        }
        let mean = 7_000_000;
        for distribution in Distribution::ALL {
            let block = |from, to| distribution.block_count(mean, ranks, from, to);
            let pairs = || (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
            assert!(pairs().all(|(from, to)| block(from, to) == block(to, from)));
            let all: u64 = pairs().map(|(from, to)| block(from, to)).sum();
            let expected = mean * u64::from(ranks) * u64::from(ranks);
            // Skewed and sparse blocks repeat every 8 and 4 ranks.
            if ranks.is_multiple_of(8)
                || matches!(
                    distribution,
                    Distribution::Uniform | Distribution::Dominated
                )
            {
                let off = all.abs_diff(expected) as f64 / expected as f64;
                assert!(off < 1e-5, "{distribution:?} {ranks}: {off}");
            }
        }
    }
}

/// The messages of all algorithms together carry what the distribution says, and nothing else.
#[test]
fn schedules_follow_the_distribution() {
    for algorithm in irregular() {
        for distribution in Distribution::ALL {
            let request = Request {
                units: 40,
                distribution,
                ..Request::among_ranks(9)
            };
            let Some(schedule) = supported(algorithm, &request) else {
                continue;
            };
            verify_schedule(&schedule).unwrap();
            assert!(text::render_text(&schedule, None).contains(&algorithm.name()));
            assert!(render_svg(&schedule, None).unwrap().contains("</svg>"));
        }
    }
    let linear = find_algorithm("alltoallv/linear").unwrap();
    let request = Request {
        units: 10,
        distribution: Distribution::Sparse,
        ..Request::among_ranks(8)
    };
    let tally = verify_schedule(&schedule(linear, &request)).unwrap().tally;
    // Of eight blocks of a rank two have data; the sums of their ranks are multiples of four, so for half of the ranks
    // one is its own.
    assert_eq!((tally.messages, tally.most_sent), (12, 80));
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let refusal = |name: &str, request: &Request<'_>| {
        Schedule::new(find_algorithm(name).unwrap(), request).unwrap_err()
    };
    let with = |counts| Request {
        units: 6,
        counts: Some(counts),
        ..Request::among_ranks(2)
    };
    for (name, given) in [
        ("alltoallv/linear", &[1, 2, 3][..]),
        ("alltoallw/pairwise", &[6, 0]),
        ("allgatherv/ring", &[5, 2]),
        ("gatherv/linear", &[6]),
        ("scatterv/batched", &[1, 2, 3]),
    ] {
        let algorithm = find_algorithm(name).unwrap();
        let expected = Unsupported::Counts {
            collective: algorithm.collective,
            ranks: 2,
            given: given.len(),
        };
        assert_eq!(refusal(name, &with(given)), expected);
    }
    let asymmetric = Request {
        in_place: true,
        ..with(&[1, 2, 3, 4])
    };
    assert_eq!(
        refusal("alltoallv/linear", &asymmetric),
        Unsupported::Asymmetric
    );
    schedule(
        find_algorithm("alltoallv/linear").unwrap(),
        &with(&[1, 2, 3, 4]),
    );
    let half = u64::MAX / 2 + 1;
    for (name, long) in [
        ("alltoallv/linear", &[half, half, 0, 0][..]),
        ("alltoallv/linear", &[half, 0, half, 0]),
        ("allgatherv/ring", &[half, half]),
    ] {
        assert_eq!(refusal(name, &with(long)), Unsupported::TooLong);
    }
    for distribution in [Distribution::Skewed, Distribution::Dominated] {
        let request = Request {
            units: u64::MAX / 2,
            distribution,
            ..Request::among_ranks(16)
        };
        assert_eq!(refusal("alltoallv/linear", &request), Unsupported::TooLong);
        assert_eq!(refusal("gatherv/linear", &request), Unsupported::TooLong);
        let collective = Collective::Alltoall;
        assert_eq!(
            refusal("alltoall/linear", &request),
            Unsupported::OneSize { collective }
        );
    }
    let lone = schedule(
        find_algorithm("gatherv/linear").unwrap(),
        &Request::among_ranks(3),
    );
    assert!(
        lone.layout_with_counts(1, OwnCounts::Parts(&[1, 2]))
            .is_none()
    );
    let [sent, received] = [&[1, 2, 3]; 2];
    assert!(
        lone.layout_with_counts(1, OwnCounts::Blocks { sent, received })
            .is_none()
    );
}

/// The rows of a collective are those of its regular counterpart that can serve any counts.
#[test]
fn programs_of_equal_parts_are_those_of_the_regular_collective() {
    for (irregular, regular) in [
        (Collective::Alltoallv, Collective::Alltoall),
        (Collective::Alltoallw, Collective::Alltoall),
        (Collective::Allgatherv, Collective::Allgather),
        (Collective::Gatherv, Collective::Gather),
        (Collective::Scatterv, Collective::Scatter),
    ] {
        for row in algorithms_of(irregular) {
            let Some(counterpart) = find_algorithm(&format!("{regular}/{}", row.id)) else {
                assert_eq!(row.id, "batched", "{row}");
                continue;
            };
            for ranks in 1..=8 {
                let per_node = 2;
                let request = Request {
                    placed: Placed::Block { per_node },
                    ..Request::among_ranks(ranks)
                };
                let [one, other] = [row, counterpart].map(|row| supported(row, &request));
                let (Some(one), Some(other)) = (one, other) else {
                    continue;
                };
                for rank in 0..ranks {
                    let moving = all_rounds(&*one.program_after_sizes(rank));
                    assert_eq!(moving, rounds(&other, rank), "{row} {ranks}");
                }
            }
        }
    }
}

/// The first rounds of a tree tell the sizes of subtrees, and the others are those of the regular collective.
#[test]
fn trees_of_a_gatherv_tell_sizes_first() {
    for (name, regular) in [
        ("gatherv/binomial", "gather/binomial"),
        ("scatterv/binomial", "scatter/binomial"),
    ] {
        let request = Request {
            root: 2,
            ..Request::among_ranks(11)
        };
        let told = schedule(find_algorithm(name).unwrap(), &request);
        let plain = schedule(find_algorithm(regular).unwrap(), &request);
        assert!(plain.size_exchange(3).is_none());
        let mut tellers = 0;
        for rank in 0..11 {
            let after = all_rounds(&*told.program_after_sizes(rank));
            assert_eq!(after, rounds(&plain, rank), "{name} {rank}");
            let exchange = told.size_exchange(rank).unwrap();
            assert!(rank != 2 || exchange.from.is_empty());
            assert_ne!(exchange.to, Some(2));
            tellers += u32::from(exchange.to.is_some());
        }
        // All but the root and its four children.
        assert_eq!(tellers, 6);
        // Untold, a rank knows too little.
        let counts: Vec<u64> = (1..12).collect();
        let call = schedule(
            find_algorithm(name).unwrap(),
            &Request {
                root: 2,
                ..call(find_algorithm(name).unwrap(), 11, &counts)
            },
        );
        let silent = verify_programs(&call, &|rank| {
            Box::new(Silent(call.program_after_sizes(rank)))
        });
        let fault = silent.unwrap_err().to_string();
        assert!(fault.contains("was not told the size"), "{fault}");
    }
}

/// A program whose first rounds tell nothing.
struct Silent(Box<dyn Program>);

impl Program for Silent {
    fn rounds(&self) -> u64 {
        self.0.rounds() + 2
    }

    fn round(&self, index: u64, round: &mut Round) {
        if let Some(index) = index.checked_sub(2) {
            self.0.round(index, round);
        }
    }
}
