//! The nodes of ranks, and the levels of their messages.

use model::{Level, Topology};
use vocabulary::Placement;

#[test]
fn ranks_are_dealt_in_blocks_or_in_turn() {
    let check = |placement, expected: [u32; 7]| {
        let topology = Topology::of_ranks(7, 3, placement);
        assert_eq!((topology.nodes(), topology.ranks()), (3, 9));
        let nodes = std::array::from_fn(|rank| topology.node_of_rank(rank as u32));
        assert_eq!(nodes, expected, "{placement}");
    };
    check(Placement::Block, [0, 0, 0, 1, 1, 1, 2]);
    check(Placement::Cyclic, [0, 1, 2, 0, 1, 2, 0]);
}

/// The result is compared with brute force over all pairs.
#[test]
fn communicators_with_one_level_are_recognised() {
    for placement in Placement::ALL {
        for (nodes, ranks_per_node) in [(1, 1), (1, 4), (4, 1), (3, 2), (2, 3)] {
            let topology = Topology::new(nodes, ranks_per_node, placement);
            for ranks in 2..=nodes * ranks_per_node {
                let shared = |rank| {
                    (0..rank).map(move |other| {
                        topology.node_of_rank(other) == topology.node_of_rank(rank)
                    })
                };
                let mut pairs = (1..ranks).flat_map(shared);
                let first = pairs.next();
                let expected = match (first, pairs.all(|pair| Some(pair) == first)) {
                    (Some(true), true) => Some(Level::Node),
                    (Some(false), true) => Some(Level::Network),
                    _ => None,
                };
                assert_eq!(topology.only_level(ranks), expected, "{topology:?} {ranks}");
            }
        }
    }
}
