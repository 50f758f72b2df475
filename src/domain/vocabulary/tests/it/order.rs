//! Orders of ranks.

use vocabulary::CommShape;
use vocabulary::RankOrder::{self, Block, Cyclic, Other, Unknown};

#[test]
fn the_order_follows_from_the_nodes_of_the_ranks() {
    // The node of each rank.
    let check = |node_of: &[usize], expected| {
        let count = node_of.iter().max().map_or(0, |last| last + 1);
        let mut nodes = vec![Vec::new(); count];
        for (&node, rank) in node_of.iter().zip(0..) {
            nodes[node].push(rank);
        }
        assert_eq!(RankOrder::from_nodes(&nodes), expected, "{node_of:?}");
    };
    check(&[0], Block);
    check(&[0, 0, 0], Block);
    check(&[0, 1, 2], Block);
    check(&[0, 0, 1, 1], Block);
    check(&[0, 1, 0, 1], Cyclic);
    check(&[0, 1, 1, 0], Other);
    // The last node has fewer ranks, or the first has.
    check(&[0, 0, 0, 1, 1, 1, 2], Block);
    check(&[0, 0, 1, 1, 1], Block);
    check(&[0, 1, 2, 0, 1, 2, 0], Cyclic);
    check(&[0, 1, 2, 0, 1, 2, 1], Other);
    // Ranks are in pairs, as with two ranks per socket.
    check(&[0, 0, 1, 1, 0, 0, 1, 1], Other);
}

#[test]
fn unknown_orders_may_be_any() {
    for order in RankOrder::KNOWN {
        assert!(order.may_be(Unknown) && Unknown.may_be(order) && order.may_be(order));
    }
    assert!(!Block.may_be(Cyclic) && !Cyclic.may_be(Other));
    let on = |order: RankOrder, nodes, ppn| order.on_shape(CommShape { nodes, ppn });
    assert_eq!(on(Cyclic, 1, 4), Block);
    assert_eq!(on(Other, 4, 1), Block);
    assert_eq!(on(Cyclic, 2, 2), Cyclic);
    assert_eq!(on(Unknown, 1, 4), Unknown);
}

#[test]
fn orders_are_read_and_written_by_name() {
    for order in RankOrder::KNOWN.into_iter().chain([Unknown]) {
        let json = serde_json::to_string(&order).expect("written");
        assert_eq!(json, format!("\"{order}\""));
    }
}
