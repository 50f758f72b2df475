//! The pairs of ranks that synchronise their clocks.

/// A synchronisation of one rank with another that already has the global time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockPair {
    /// The rank that has the global time.
    pub reference: u32,
    /// The rank that synchronises with it.
    pub client: u32,
}

/// The rounds in which all ranks of all nodes synchronise with the first rank of the first node, as pairs; no rank is
/// in two pairs of a round.
///
/// The first ranks of the nodes come first, in `ceil(log2 nodes)` rounds, since paths between nodes are longer and few
/// should follow one another; then the ranks of each node, all nodes at a time. In each round every synchronised rank
/// is the reference of one more.
pub fn synchronisation_rounds(nodes: &[Vec<u32>]) -> Vec<Vec<ClockPair>> {
    let leaders: Vec<u32> = nodes
        .iter()
        .filter_map(|node| node.first().copied())
        .collect();
    let mut rounds = doubling_rounds(&leaders);
    let within: Vec<_> = nodes.iter().map(|node| doubling_rounds(node)).collect();
    let most = within.iter().map(Vec::len).max().unwrap_or_default();
    for round in 0..most {
        let pairs = within.iter().filter_map(|node| node.get(round));
        rounds.push(pairs.flatten().copied().collect());
    }
    rounds
}

fn doubling_rounds(ranks: &[u32]) -> Vec<Vec<ClockPair>> {
    let mut rounds = Vec::new();
    let mut knowing = 1;
    while knowing < ranks.len() {
        let (references, clients) = ranks.split_at(knowing);
        let pairs = references.iter().zip(clients);
        rounds.push(
            pairs
                .map(|(&reference, &client)| ClockPair { reference, client })
                .collect(),
        );
        knowing *= 2;
    }
    rounds
}
