//! Published algorithms, and what their authors state of them.

use std::collections::BTreeMap;

use schedule::{Buffer, Rank, Request, Schedule, Tally, find_algorithm, verify::verify_schedule};

use crate::cases::{in_blocks, schedule};

fn call(name: &str, ranks: u32, blocks: u32) -> Schedule {
    let algorithm = find_algorithm(name).unwrap();
    let request = Request {
        units: u64::from(blocks) * 6,
        parameters: in_blocks(algorithm, blocks),
        ..Request::among_ranks(ranks)
    };
    schedule(algorithm, &request)
}

fn tally(name: &str, ranks: u32, blocks: u32) -> Tally {
    verify_schedule(&call(name, ranks, blocks)).unwrap().tally
}

/// Donninelli's ring receives and sends in turn, with one buffer; his tree in chunks has sent a chunk before the next
/// one arrives.
#[test]
fn gathers_without_overlap_send_the_same_messages_in_more_steps() {
    for ranks in [2_u32, 3, 8, 13, 40] {
        let others = u64::from(ranks) - 1;
        let [blocking, overlapping] =
            ["gather/ring_blocking", "gather/ring"].map(|name| tally(name, ranks, 1));
        assert_eq!(blocking.messages, overlapping.messages, "{ranks}");
        assert_eq!(overlapping.steps, others);
        assert_eq!(blocking.steps, 2 * others - 1);
        let schedule = call("gather/ring_blocking", ranks, 1);
        for rank in 0..ranks {
            let passes_on = (1..ranks - 1).contains(&rank);
            let rooms = schedule.layout(rank).scratch_rooms().len();
            assert_eq!(rooms, usize::from(passes_on), "{rank} of {ranks}");
            if passes_on {
                let buffer = schedule.layout(rank).capacity(Buffer::Scratch(0));
                assert_eq!(buffer, schedule.units());
            }
        }
    }
    for height in 2..=5_u32 {
        let ranks = 2_u32.pow(height + 1) - 1;
        for blocks in [1_u32, 2, 5, 12] {
            let further = u64::from(blocks) - 1;
            let [repeated, overlapping] = ["gather/binary_repeated", "gather/binary_chunked"]
                .map(|name| tally(name, ranks, blocks));
            let messages = u64::from(blocks) * u64::from(ranks - 1);
            assert_eq!([repeated.messages, overlapping.messages], [messages; 2]);
            // Messages from both children at once count as one step.
            let first = u64::from(height);
            assert_eq!(overlapping.steps, first + further, "{height} {blocks}");
            assert_eq!(repeated.steps, first + 2 * further, "{height} {blocks}");
        }
    }
    for ranks in 1..=20 {
        let [once, repeated] =
            ["gather/binary", "gather/binary_repeated"].map(|name| tally(name, ranks, 1));
        assert_eq!(once, repeated, "{ranks}");
    }
}

/// A rank of Algorithm 1 of Träff 2021: its exchanges in order, each with a partner and the number of a block.
type Exchanges = Vec<(Rank, u32)>;

/// Adds the exchanges of a perfect post-order tree over `first..=root`.
fn add_tree(
    exchanges: &mut BTreeMap<Rank, Exchanges>,
    [first, root]: [Rank; 2],
    [depth, blocks]: [u32; 2],
    above: Option<Rank>,
    other_root: Rank,
) {
    let half = (root - first) / 2;
    let children: Vec<[Rank; 2]> = match half {
        0 => vec![],
        _ => vec![
            [first, first + half - 1],
            [first + half, first + 2 * half - 1],
        ],
    };
    // Result block `j - d` comes from the parent with partial block `j`, so blocks up to `b + d - 1` are exchanged with
    // it, those from `b` on without a partial block. Roots exchange partial blocks alone.
    let mut own = Exchanges::new();
    for block in 0..=blocks + depth {
        let exists = |depth_below: u32| block < blocks + depth_below;
        let with_children = children.iter().filter(|_| exists(depth + 1));
        own.extend(with_children.map(|[_, child]| (*child, block)));
        if exists(depth) {
            own.push((above.unwrap_or(other_root), block));
        }
    }
    exchanges.insert(root, own);
    for child in children {
        add_tree(
            exchanges,
            child,
            [depth + 1, blocks],
            Some(root),
            other_root,
        );
    }
}

/// The steps of Algorithm 1 on `2^h - 2` ranks. In a step, every two ranks whose next exchange is with each other carry
/// it out, whether or not there is a block to send in both directions.
fn steps_of_algorithm_1(h: u32, blocks: u32) -> u64 {
    let ranks = 2_u32.pow(h) - 2;
    let mut exchanges = BTreeMap::new();
    for (tree, other_root) in [
        ([0, ranks / 2 - 1], ranks - 1),
        ([ranks / 2, ranks - 1], ranks / 2 - 1),
    ] {
        add_tree(&mut exchanges, tree, [0, blocks], None, other_root);
    }
    let mut done: BTreeMap<Rank, usize> = exchanges.keys().map(|rank| (*rank, 0)).collect();
    let mut steps = 0;
    loop {
        let next = |rank: Rank| exchanges[&rank].get(done[&rank]).copied();
        let agreed: Vec<Rank> = (0..ranks)
            .filter(|rank| {
                next(*rank).is_some_and(|(other, block)| next(other) == Some((*rank, block)))
            })
            .collect();
        if agreed.is_empty() {
            let left = (0..ranks).filter(|rank| next(*rank).is_some()).count();
            assert_eq!(left, 0, "ranks wait for each other");
            return steps;
        }
        for rank in agreed {
            *done.entry(rank).or_default() += 1;
        }
        steps += 1;
    }
}

/// The paper states `4h - 3 + 3 (b - 1)` steps on `2^h - 2` ranks. Its own algorithm takes 4 fewer, as ours.
#[test]
fn two_roots_take_four_steps_fewer_than_the_paper_states() {
    for h in 3..=7 {
        for blocks in [1, 2, 3, 10] {
            let stated = u64::from(4 * h - 3 + 3 * (blocks - 1));
            let stepped = steps_of_algorithm_1(h, blocks);
            assert_eq!(stepped, stated - 4, "h={h} b={blocks}");
            let ours = tally("allreduce/dual_root", 2_u32.pow(h) - 2, blocks).steps;
            assert_eq!(ours, stepped, "h={h} b={blocks}");
        }
    }
    assert_eq!([4, 6].map(|h| steps_of_algorithm_1(h, 1)), [9, 17]);
}

/// The paper states `2 (2h + 2 (b - 1))` steps of one tree of `2^h - 1` ranks, up and down.
#[test]
fn one_tree_takes_four_steps_fewer_than_the_paper_states() {
    for h in 2..=7 {
        for blocks in [1, 2, 10] {
            let stated = u64::from(2 * (2 * h + 2 * (blocks - 1)));
            let ours = tally("allreduce/pipelined_tree", 2_u32.pow(h) - 1, blocks).steps;
            assert_eq!(ours, stated - 4, "h={h} b={blocks}");
        }
    }
    assert_eq!(tally("allreduce/pipelined_tree", 127, 1).steps, 24);
}
