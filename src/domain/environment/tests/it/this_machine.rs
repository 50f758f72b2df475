//! The kernel's data about the machine that runs the tests.

use environment::{available_bytes, last_level_bytes, own_cpus, this_node};

#[test]
fn this_machine_has_memory() {
    assert!(available_bytes() > Some(1 << 20));
    assert_ne!(last_level_bytes(), Some(0));
}

#[test]
fn this_machine_is_a_node() {
    let check = |planned, most| {
        let node = this_node(vec![own_cpus(), own_cpus()], planned);
        assert!(!node.host.is_empty());
        assert!((1..=most).contains(&node.cores), "{node:?}");
        assert!((node.cores..=most).contains(&node.available), "{node:?}");
        assert_eq!(node.cpus.len(), 2);
    };
    check(None, u32::MAX);
    check(Some(1), 1);
    check(Some(0), 1);
}
