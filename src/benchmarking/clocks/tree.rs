//! Which ranks learn the time from which others.

/// One learns the global time from another that knows it already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// The rank that knows it.
    pub teacher: u32,
    /// The rank that learns it.
    pub pupil: u32,
}

/// The rounds of lessons by which all ranks of all nodes learn from the first rank of the first node;
/// no rank has two lessons in a round.
///
/// First the first ranks of the nodes, in `ceil(log2 nodes)` rounds, since ways between nodes are
/// the longer ones and few should lie one behind the other; then the ranks of each node, all nodes
/// at a time. In each round everyone who knows teaches one more.
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
