//! Detection of ranks that share cores.

use std::collections::BTreeMap;

use vocabulary::{CommShape, Node};

/// Whether ranks of a shape, placed on the first of these nodes, share cores. A waiting rank must then yield its core.
///
/// A node may have too few cores, ranks may be bound to the same core, and nodes may be parts of one machine that each
/// report all of its cores.
pub fn is_oversubscribed(nodes: &[Node], shape: CommShape) -> bool {
    let used = || nodes.iter().take(shape.nodes as usize);
    let mut by_boot: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for node in used().filter(|node| !node.boot.is_empty()) {
        let (ranks, available) = by_boot.entry(&node.boot).or_default();
        *ranks = ranks.saturating_add(shape.ppn);
        *available = node.available.max(*available);
    }
    let mut machines = by_boot.into_values();
    used().any(|node| shape.ppn > node.cores || node.crowded > 0)
        || machines.any(|(ranks, available)| ranks > available)
}
