//! Whether ranks have cores of their own.

use environment::is_oversubscribed;
use vocabulary::{CommShape, Node};

fn node(boot: &str, cores: u32, crowded: u32) -> Node {
    Node {
        boot: boot.to_owned(),
        cores,
        available: 4,
        crowded,
        ..Node::default()
    }
}

#[test]
fn cores_are_counted_by_node_and_by_machine() {
    let check = |nodes: &[Node], (count, ppn), expected| {
        let shape = CommShape { nodes: count, ppn };
        assert_eq!(
            is_oversubscribed(nodes, shape),
            expected,
            "{shape} on {nodes:?}"
        );
    };
    let apart = [node("a", 4, 0), node("b", 2, 0)];
    check(&apart, (2, 2), false);
    check(&apart, (2, 3), true);
    check(&apart, (1, 4), false);
    let bound_alike = [node("a", 4, 2)];
    check(&bound_alike, (1, 2), true);
    let one_machine = [node("a", 4, 0), node("a", 4, 0), node("a", 4, 0)];
    check(&one_machine, (2, 2), false);
    check(&one_machine, (3, 2), true);
    check(&one_machine, (3, 1), false);
    // It is unknown whether these hosts are one machine.
    check(&[node("", 4, 0), node("", 4, 0)], (2, 4), false);
}
