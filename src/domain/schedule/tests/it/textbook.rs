//! The rounds, messages, bytes and combined bytes of every rank, on the textbook's shapes.

use schedule::{
    Action, Buffer, Cost, Parameters, Placed, Rank, Request, Round, Schedule, find_algorithm,
    timeline::Timeline, verify::verify_schedule,
};

use crate::cases::{in_blocks, schedule};

/// Units of the whole vector or of a part, divisible by every number of pieces in these tests.
const UNITS: u64 = 3 * 5 * 7 * 64;

/// The work of a rank's program, counted action by action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Work {
    /// Messages sent and received.
    messages: [u64; 2],
    /// Units sent and received.
    moved: [u64; 2],
    /// Units combined.
    combined: u64,
}

impl Work {
    /// Work with the same number of messages and units in both directions.
    fn both(messages: u64, moved: u64, combined: u64) -> Self {
        Self {
            messages: [messages; 2],
            moved: [moved; 2],
            combined,
        }
    }

    /// Messages of `units` each; received ones are combined if `combines`.
    fn whole(messages: [u64; 2], units: u64, combines: bool) -> Self {
        Self {
            messages,
            moved: messages.map(|count| count * units),
            combined: u64::from(combines) * messages[1] * units,
        }
    }
}

fn work(schedule: &Schedule, rank: Rank) -> Work {
    let layout = schedule.layout(rank);
    let program = schedule.program(rank);
    let mut work = Work::default();
    for index in 0..program.rounds() {
        let mut round = Round::default();
        program.round(index, &mut round);
        for action in round.actions() {
            let units = |span| layout.locate(span).unwrap().units();
            match action {
                Action::Send { span, .. } => {
                    work.messages[0] += u64::from(units(span) > 0);
                    work.moved[0] += units(span);
                }
                Action::Recv { span, .. } => {
                    work.messages[1] += u64::from(units(span) > 0);
                    work.moved[1] += units(span);
                }
                Action::Signal { .. } => work.messages[0] += 1,
                Action::Await { .. } => work.messages[1] += 1,
                Action::Combine { into, .. } => work.combined += units(into),
                Action::Copy { .. } => {}
            }
        }
    }
    work
}

fn call(name: &str, ranks: u32, blocks: u32) -> Schedule {
    let algorithm = find_algorithm(name).unwrap();
    let request = Request {
        units: UNITS,
        parameters: in_blocks(algorithm, blocks),
        ..Request::among_ranks(ranks)
    };
    schedule(algorithm, &request)
}

/// Checks that every rank does the `expected` work, that the longest program has `rounds`, and that the verifier counts
/// the same.
fn check(schedule: &Schedule, rounds: u64, expected: impl Fn(u64) -> Work) {
    let ranks = schedule.shape().ranks;
    let of = |rank: Rank| work(schedule, rank);
    let name = schedule.algorithm();
    for rank in 0..ranks {
        assert_eq!(of(rank), expected(rank.into()), "{name} {rank} of {ranks}");
    }
    let tally = verify_schedule(schedule).unwrap().tally;
    assert_eq!(tally.rounds, rounds, "{name} p={ranks}");
    let most = |figure: fn(Work) -> u64| (0..ranks).map(|rank| figure(of(rank))).max().unwrap();
    let counted = [tally.most_sent, tally.most_received, tally.most_combined];
    let walked = [
        most(|work| work.moved[0]),
        most(|work| work.moved[1]),
        most(|work| work.combined),
    ];
    assert_eq!(counted, walked, "{name} p={ranks}");
    let messages: u64 = (0..ranks).map(|rank| of(rank).messages[0]).sum();
    assert_eq!(tally.messages, messages, "{name} p={ranks}");
}

/// Children of a rank in the binomial tree: at distances 1, 2, 4, ... below its lowest bit.
fn binomial_children(rank: u64, ranks: u64) -> u64 {
    let distances = (0..64).map(|bit| 1_u64 << bit);
    distances
        .take_while(|distance| rank & distance == 0 && rank + distance < ranks)
        .count() as u64
}

#[test]
fn linear_algorithms_keep_the_root_busy() {
    for ranks in [2_u32, 3, 7, 16] {
        let others = u64::from(ranks) - 1;
        let root = |rank: u64| others * u64::from(rank == 0);
        let leaf = |rank: u64| u64::from(rank > 0);
        let down = |rank| Work::whole([root(rank), leaf(rank)], UNITS, false);
        let up = |combines| move |rank| Work::whole([leaf(rank), root(rank)], UNITS, combines);
        check(&call("bcast/linear", ranks, 1), others, down);
        check(&call("bcast/linear_nonblocking", ranks, 1), 1, down);
        // Each message is combined in a round of its own.
        check(&call("reduce/linear", ranks, 1), 2 * others, up(true));
        check(&call("gather/linear_nonblocking", ranks, 1), 1, up(false));
    }
}

#[test]
fn binomial_trees_take_one_message_per_level() {
    for ranks in [2_u32, 5, 8, 13, 16] {
        let levels = u64::from(ranks.next_power_of_two().ilog2());
        let children = |rank| binomial_children(rank, ranks.into());
        let parent = |rank: u64| u64::from(rank > 0);
        let broadcast = call("bcast/binomial", ranks, 1);
        let expected = |rank| Work::whole([children(rank), parent(rank)], UNITS, false);
        check(&broadcast, levels, expected);
        let reduce = call("reduce/binomial", ranks, 1);
        let expected_reduce = |rank| Work::whole([parent(rank), children(rank)], UNITS, true);
        check(&reduce, 2 * levels, expected_reduce);
    }
}

#[test]
fn chains_pass_every_block_on() {
    for (ranks, blocks) in [(2, 1), (2, 8), (5, 4), (9, 7)] {
        let b = u64::from(blocks);
        let last = u64::from(ranks) - 1;
        let onward = |sends: bool, receives: bool, combines: bool| {
            let messages = [sends, receives].map(|does| b * u64::from(does));
            Work::whole(messages, UNITS / b, combines)
        };
        let inner = u64::from(ranks > 2);
        let expected = |rank| onward(rank < last, rank > 0, false);
        check(&call("bcast/chain", ranks, blocks), b + inner, expected);
        let messages = |rank: u64| onward(rank > 0, rank < last, true);
        // Every rank with a child combines each block in a separate round.
        let reduce = call("reduce/chain", ranks, blocks);
        check(&reduce, 2 * b + inner, messages);
    }
}

#[test]
fn recursive_doubling_exchanges_whole_vectors_at_every_level() {
    for levels in 1..=5_u64 {
        let ranks = 1_u32 << levels;
        let all = Work::both(levels, levels * UNITS, levels * UNITS);
        check(
            &call("allreduce/recursive_doubling", ranks, 1),
            2 * levels,
            |_| all,
        );
        let others = u64::from(ranks) - 1;
        let gathered = Work::both(levels, others * UNITS, 0);
        check(
            &call("allgather/recursive_doubling", ranks, 1),
            levels,
            |_| gathered,
        );
    }
    // Of five ranks the second is folded away.
    let busy = Work::both(3, 3 * UNITS, 3 * UNITS);
    let expected = |rank| match rank {
        0 => busy,
        1 => Work::both(1, UNITS, 0),
        _ => Work::both(2, 2 * UNITS, 2 * UNITS),
    };
    check(&call("allreduce/recursive_doubling", 5, 1), 7, expected);
}

/// m is the length of the whole vector.
#[test]
fn bucket_algorithms_move_the_vector_once_or_twice_minus_a_part() {
    for ranks in [2_u32, 3, 5, 7, 16] {
        let others = u64::from(ranks) - 1;
        let least = UNITS / u64::from(ranks) * others;
        let twice = Work::both(2 * others, 2 * least, least);
        check(&call("allreduce/ring", ranks, 1), 3 * others, |_| twice);
        for blocks in [2, 4] {
            let b = u64::from(blocks);
            let segmented = Work::both((b + 1) * others, 2 * least, least);
            let schedule = call("allreduce/ring_segmented", ranks, blocks);
            check(&schedule, (b + 1) * others + 1, |_| segmented);
        }
        let scattered = Work::both(others, least, least);
        check(&call("reduce_scatter/ring", ranks, 1), 2 * others, |_| {
            scattered
        });
        // The length of an allgather is that of a part.
        let gathered = Work::both(others, UNITS * others, 0);
        check(&call("allgather/ring", ranks, 1), others, |_| gathered);
    }
}

#[test]
fn rabenseifner_moves_as_little_as_the_ring_with_one_message_per_level() {
    for levels in 1..=5_u64 {
        let ranks = 1_u32 << levels;
        let least = UNITS / u64::from(ranks) * (u64::from(ranks) - 1);
        let everywhere = Work::both(2 * levels, 2 * least, least);
        check(
            &call("allreduce/rabenseifner", ranks, 1),
            3 * levels,
            |_| everywhere,
        );
        // The gather has the messages of a binomial tree in which distances halve: a rank has sent
        // what it holds at the level of its highest bit.
        for name in ["reduce/rabenseifner", "reduce/rabenseifner_unbalanced"] {
            let expected = |rank: u64| {
                let received = match rank {
                    0 => levels,
                    _ => levels - 1 - u64::from(rank.ilog2()),
                };
                let gathered = |count: u64| (UNITS / u64::from(ranks)) * ((1 << count) - 1);
                let sent = gathered(received) + UNITS / u64::from(ranks);
                let is_root = u64::from(rank == 0);
                Work {
                    messages: [levels + 1 - is_root, levels + received],
                    moved: [least + sent * (1 - is_root), least + gathered(received)],
                    combined: least,
                }
            };
            check(&call(name, ranks, 1), 3 * levels, expected);
        }
    }
}

/// The busiest rank's work on 3 * 2^k ranks, of which half as many as the power of two fold.
#[test]
fn the_balanced_fold_combines_half_a_vector_less_and_sends_half_a_vector_more() {
    for ranks in [3_u32, 6, 12, 24, 48] {
        let positions = u64::from(ranks) / 3 * 2;
        let of = |name: &str| verify_schedule(&call(name, ranks, 1)).unwrap().tally;
        let balanced = of("reduce/rabenseifner");
        let classic = of("reduce/rabenseifner_unbalanced");
        // The work of both after folding.
        let halving = UNITS / positions * (positions - 1);
        assert_eq!(balanced.most_combined - halving, UNITS / 2);
        assert_eq!(classic.most_combined - halving, UNITS);
        assert_eq!(balanced.most_received, classic.most_received);
        // On three ranks the one without a neighbour sends the same amount.
        let more_sent = if ranks == 3 { 0 } else { UNITS / 2 };
        assert_eq!(balanced.most_sent, classic.most_sent + more_sent);
        assert_eq!(balanced.moved, classic.moved);
        assert_eq!(balanced.steps, classic.steps + 1);
        let Some(Cost::Fixed { steps, .. }) =
            find_algorithm("reduce/rabenseifner").unwrap().cost(ranks)
        else {
            panic!("no closed form");
        };
        assert_eq!(balanced.steps, steps);
    }
}

/// The example of the definition, 9 ranks and root 1, as its code runs. A comment beside that code has messages from 8 to 6
/// and from 6 to 5 instead of those from 8 to 5 and from 5 to 6.
#[test]
fn the_minimum_spanning_tree_has_the_rounds_of_its_definition() {
    let request = Request {
        root: 1,
        ..Request::among_ranks(9)
    };
    let schedule = schedule(find_algorithm("bcast/mst").unwrap(), &request);
    let timeline = Timeline::new(&schedule, 1000).unwrap();
    let rounds = |step: u64| {
        let at = timeline
            .messages
            .iter()
            .filter(|message| message.step == step);
        let mut ends: Vec<_> = at.map(|message| (message.from, message.to)).collect();
        ends.sort_unstable();
        ends
    };
    assert_eq!(rounds(1), [(1, 8)]);
    assert_eq!(rounds(2), [(1, 4), (8, 5)]);
    assert_eq!(rounds(3), [(1, 2), (4, 3), (5, 6), (8, 7)]);
    assert_eq!(rounds(4), [(1, 0)]);
    assert_eq!((timeline.steps, timeline.messages.len()), (4, 8));
}

/// One message from each leader to each other, however many ranks a node has.
#[test]
fn leaders_of_an_alltoall_exchange_one_message() {
    let algorithm = find_algorithm("alltoall/leaders").unwrap();
    let (nodes, size) = (3_u64, 4_u64);
    let orders = [
        Placed::Block {
            per_node: size as u32,
        },
        Placed::Cyclic {
            nodes: nodes as u32,
        },
    ];
    for placed in orders {
        let request = Request {
            units: UNITS,
            placed,
            ..Request::among_ranks((nodes * size) as u32)
        };
        let call = schedule(algorithm, &request);
        let all = call.shape().nodes.clone();
        let (local, other) = (size - 1, nodes - 1);
        let vector = nodes * size * UNITS;
        check(&call, 3, |rank| match all.place_of_rank(rank as Rank) {
            (_, 0) => Work::both(
                local + other,
                local * vector + other * size * size * UNITS,
                0,
            ),
            _ => Work::both(1, vector, 0),
        });
    }
    // A leader keeps the vectors of its node's ranks twice, also where nodes have different numbers of ranks.
    let uneven = Request {
        units: 2,
        placed: Placed::Block { per_node: 4 },
        ..Request::among_ranks(7)
    };
    let call = schedule(algorithm, &uneven);
    let kept = |rank| [0, 1].map(|index| call.layout(rank).capacity(Buffer::Scratch(index)));
    assert_eq!(kept(0), [4 * 7 * 2; 2]);
    assert_eq!(kept(4), [3 * 7 * 2; 2]);
    assert_eq!(kept(5), [0; 2]);
}

/// Both of Bruck's algorithms send as much in as many messages; only the modified one copies nothing after the last.
#[test]
fn modified_bruck_has_no_last_rotation() {
    for (ranks, radix) in [(8, 2), (9, 3), (13, 2), (17, 4), (30, 8)] {
        let of = |name| {
            let request = Request {
                units: UNITS,
                parameters: Parameters {
                    radix: Some(radix),
                    ..Parameters::default()
                },
                ..Request::among_ranks(ranks)
            };
            schedule(find_algorithm(name).unwrap(), &request)
        };
        let (classic, modified) = (of("alltoall/bruck"), of("alltoall/bruck_modified"));
        let last_round = |call: &Schedule, rank| {
            let program = call.program(rank);
            let mut round = Round::default();
            program.round(program.rounds() - 1, &mut round);
            let actions = round.actions().iter();
            let copies = actions.filter(|action| matches!(action, Action::Copy { .. }));
            (copies.count(), round.actions().len())
        };
        for rank in 0..ranks {
            assert_eq!(
                work(&classic, rank),
                work(&modified, rank),
                "{ranks} {radix}"
            );
            assert_eq!(last_round(&classic, rank), (ranks as usize, ranks as usize));
            let (copies, actions) = last_round(&modified, rank);
            assert!(copies == 1 && actions > 2, "{ranks} {radix}: {actions}");
        }
    }
}
