//! The cases: all algorithms, roots and kinds of data, with counts and parameters chosen by a hash of the case, so that
//! every run tries the same ones.

use std::hash::{DefaultHasher, Hash, Hasher};

use exec::Wait;
use schedule::{Algorithm, Collective, Nodes, Parameter, Parameters as Bounds, Placed};
use vocabulary::Parameters;

use crate::case::Case;
use crate::kind::Kind;

/// Numbers that depend on a case alone.
struct Dice(u64);

impl Dice {
    fn of(case: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        case.hash(&mut hasher);
        Self(hasher.finish())
    }

    fn below(&mut self, bound: usize) -> usize {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        self.0 = hasher.finish();
        (self.0 >> 33) as usize % bound
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// All cases of an algorithm on a number of ranks.
pub(crate) fn cases<'a>(
    algorithm: &'static Algorithm,
    ranks: u32,
    kinds: &'a [Kind],
    is_crowded: bool,
) -> Vec<Case<'a>> {
    let mut cases = Vec::new();
    for root in roots(algorithm.collective, ranks) {
        for kind in kinds {
            let operators: Vec<_> = if algorithm.collective.is_reduction() {
                kind.operators.iter().copied().map(Some).collect()
            } else {
                vec![None]
            };
            for operator in operators {
                for in_place in [false, true] {
                    if in_place && !algorithm.collective.allows_in_place() {
                        continue;
                    }
                    let name = operator.map(|(name, _)| name);
                    let key = (algorithm.name(), ranks, root, kind.name, name, in_place);
                    let mut dice = Dice::of(key);
                    let count = count(&mut dice, algorithm.collective, ranks);
                    let can_mix = !algorithm.collective.is_reduction() && kind.is_of_integers();
                    let parameters = parameters(&mut dice, algorithm, count);
                    // Ranks that outnumber cores and do not yield take a time slice for each message.
                    let many = parameters.blocks > Some(100) || parameters.block_bytes == Some(16);
                    let must_yield = is_crowded && (many || dice.below(16) > 0);
                    cases.push(Case {
                        algorithm,
                        parameters,
                        kind,
                        other_kind: kinds.first().unwrap_or(kind),
                        mixes: can_mix && dice.below(2) == 0,
                        operator,
                        count,
                        counts: counts(&mut dice, algorithm.collective, ranks, count),
                        nodes: nodes(&mut dice, algorithm, ranks),
                        ranks,
                        root,
                        in_place,
                        wait: if must_yield || dice.below(2) == 0 {
                            Wait::Yield
                        } else {
                            Wait::Block
                        },
                        is_part_in_place: may_differ(algorithm.collective) && dice.below(2) == 0,
                    });
                }
            }
        }
    }
    cases
}

/// Whether MPI lets each rank choose if it is in place.
fn may_differ(collective: Collective) -> bool {
    let scatters = [Collective::ReduceScatter, Collective::ReduceScatterBlock];
    scatters.contains(&collective) || collective.is_prefix_reduction()
}

/// Every root of few ranks; the first, a middle one and the last of many. Of a barrier, the ranks that come late.
fn roots(collective: Collective, ranks: u32) -> Vec<u32> {
    match ranks {
        _ if !collective.is_rooted() && collective.has_data() => vec![0],
        0..=5 => (0..ranks).collect(),
        _ => vec![0, ranks / 2, ranks - 1],
    }
}

/// Pretended nodes: for an algorithm that knows nodes, two or more nodes of two or three ranks in block and in cyclic
/// order, and some irregular ones.
fn nodes(dice: &mut Dice, algorithm: &Algorithm, ranks: u32) -> Nodes {
    if !algorithm.knows_nodes() || ranks < 2 {
        return Nodes::one_node(ranks);
    }
    let sizes = (2..ranks).filter(|size| ranks.is_multiple_of(*size));
    let per_node = *dice.pick(&sizes.chain([1, ranks]).collect::<Vec<_>>());
    let placed = match dice.below(4) {
        0 => {
            let labels: Vec<u32> = (0..ranks).map(|_| dice.below(3) as u32).collect();
            return Nodes::from_labels(&labels);
        }
        1 => Placed::Cyclic {
            nodes: ranks / per_node,
        },
        _ => Placed::Block { per_node },
    };
    placed
        .resolve_nodes(ranks)
        .unwrap_or(Nodes::one_node(ranks))
}

fn count(dice: &mut Dice, collective: Collective, ranks: u32) -> u64 {
    // With many ranks, the parts of the largest count would not fit into a small machine's memory.
    let largest = if collective.is_sized_by_part() && ranks > 3 {
        4099
    } else {
        65537
    };
    match dice.below(32) {
        0..4 => 0,
        4..8 => 1,
        8..13 => 2,
        13..21 => 7,
        21..31 => 1000,
        _ => largest,
    }
}

fn counts(dice: &mut Dice, collective: Collective, ranks: u32, count: u64) -> Vec<u64> {
    if collective != Collective::ReduceScatter {
        return Vec::new();
    }
    let (ranks, style) = (u64::from(ranks), dice.below(4));
    let part = |rank: u64| match style {
        // Parts as even as possible.
        0 => count / ranks + u64::from(rank < count % ranks),
        // Uneven parts, some of them empty.
        1 => (rank + count) % 3 * count / ranks,
        // One rank gets everything.
        2 => u64::from(rank == count % ranks) * count,
        // Later ranks get more.
        _ => count * rank / (ranks * ranks),
    };
    (0..ranks).map(part).collect()
}

fn parameters(dice: &mut Dice, algorithm: &Algorithm, count: u64) -> Parameters {
    let mut parameters = Parameters::default();
    let ids = |collective| -> Vec<_> {
        schedule::part_algorithms_of(collective)
            .map(|found| found.id)
            .collect()
    };
    for parameter in algorithm.parameters {
        match parameter {
            Parameter::Blocks => match dice.below(8) {
                0 => {}
                1 if count <= 1000 => parameters.block_bytes = Some(16),
                1 => parameters.block_bytes = Some(4 << 10),
                2 => parameters.block_bytes = Some(8 << 10),
                // This gives too many rounds to be resolved in advance.
                3 if count >= 1000 && dice.below(4) == 0 => parameters.blocks = Some(1500),
                chosen => parameters.blocks = Some([1, 2, 3, 5, 12][chosen - 3]),
            },
            Parameter::Radix => {
                let radices = [*Bounds::RADICES.start(), 3, 4, 7, *Bounds::RADICES.end()];
                parameters.radix = Some(*dice.pick(&radices)).filter(|_| dice.below(4) > 0);
            }
            Parameter::Reduce => {
                let id = *dice.pick(&ids(Collective::Reduce));
                parameters.reduce = Some(id.to_owned());
            }
            Parameter::Bcast => {
                let id = *dice.pick(&ids(Collective::Bcast));
                parameters.bcast = Some(id.to_owned());
            }
            Parameter::Leaders => {
                parameters.leaders_per_node =
                    Some(1 + dice.below(3) as u32).filter(|_| dice.below(2) > 0);
            }
            Parameter::MaxRequests => {
                parameters.max_requests =
                    Some(1 + dice.below(5) as u32).filter(|_| dice.below(3) > 0);
            }
            Parameter::Node | Parameter::Network => {
                let choices: Vec<_> = algorithm.choices_for(*parameter).collect();
                let id = (*dice.pick(&choices)).to_owned();
                match parameter {
                    Parameter::Node => parameters.node = Some(id),
                    _ => parameters.network = Some(id),
                }
            }
        }
    }
    parameters
}
