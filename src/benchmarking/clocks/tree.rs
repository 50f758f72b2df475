//! The pairs of ranks that synchronise their clocks.

/// A synchronisation of one rank with another that already has the global time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// The rank with the global time.
    pub teacher: u32,
    /// The rank without it.
    pub pupil: u32,
}

/// The rounds of lessons by which all ranks of all nodes synchronise with the first rank of the first node; no rank has
/// two lessons in a round.
///
/// The first ranks of the nodes come first, in `ceil(log2 nodes)` rounds, since paths between nodes are longer and few
/// should follow one another; then the ranks of each node, all nodes at a time. In each round every synchronised rank
/// teaches one more.
pub fn rounds(nodes: &[Vec<u32>]) -> Vec<Vec<Lesson>> {
    let leaders: Vec<u32> = nodes
        .iter()
        .filter_map(|node| node.first().copied())
        .collect();
    let mut rounds = doubling(&leaders);
    let within: Vec<_> = nodes.iter().map(|node| doubling(node)).collect();
    let most = within.iter().map(Vec::len).max().unwrap_or_default();
    for round in 0..most {
        let lessons = within.iter().filter_map(|node| node.get(round));
        rounds.push(lessons.flatten().copied().collect());
    }
    rounds
}

fn doubling(ranks: &[u32]) -> Vec<Vec<Lesson>> {
    let mut rounds = Vec::new();
    let mut knowing = 1;
    while knowing < ranks.len() {
        let (teachers, pupils) = ranks.split_at(knowing);
        let lessons = teachers.iter().zip(pupils);
        rounds.push(
            lessons
                .map(|(&teacher, &pupil)| Lesson { teacher, pupil })
                .collect(),
        );
        knowing *= 2;
    }
    rounds
}
