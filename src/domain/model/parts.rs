//! The algorithms that a call consists of, one after the other, and the ranks and bytes of each.
//!
//! An algorithm that knows nodes costs the sum of its phases, each with the rates of its level; lanes share the port of
//! their node. If phases overlap, each block after the first costs the root's work for it, which is read off the root's
//! program, or the work of the busiest node. `simulate/tiers.rs` of the tests compares these sums with simulations.

use schedule::{About, Action, Algorithm, Among, Collective, Parameter, Round, Schedule, Span};

use crate::{Call, Rates, Tiers};

/// One of the algorithms that run one after the other.
pub(crate) struct Part {
    pub(crate) algorithm: &'static Algorithm,
    /// Ranks that carry it out together.
    pub(crate) ranks: u32,
    /// Length of its call in bytes, as its own collective counts it.
    pub(crate) bytes: f64,
    pub(crate) rates: Rates,
    /// Whether it is a phase within nodes.
    pub(crate) is_within: bool,
}

/// The algorithms that run one after the other: those of a composition, otherwise the algorithm
/// itself. The same number of blocks holds for all that take one; these work on the whole vector.
pub(crate) fn parts_of_call(
    schedule: &Schedule,
    tiers: Tiers,
    call: &Call<'_>,
) -> Option<Vec<Part>> {
    let (algorithm, shape) = (schedule.algorithm(), schedule.shape());
    if algorithm.knows_nodes_itself {
        // It is not made of algorithms that have closed forms.
        return None;
    }
    if algorithm.knows_nodes() {
        return Some(phases_of_call(schedule, tiers, call));
    }
    let (bytes, rates) = (call.bytes as f64, tiers.network);
    let all = f64::from(call.ranks);
    let (whole, part) = if algorithm.collective.is_sized_by_part() {
        (bytes * all, bytes)
    } else {
        (bytes, bytes / all)
    };
    let inner = |inner_algorithm: &'static Algorithm| Part {
        algorithm: inner_algorithm,
        ranks: call.ranks,
        bytes: if inner_algorithm.collective.is_sized_by_part() {
            part
        } else {
            whole
        },
        rates,
        is_within: false,
    };
    let binomial = |collective: Collective| {
        let id = schedule::Parameters::DEFAULT_PART;
        schedule::find_algorithm(&format!("{collective}/{id}")).map(inner)
    };
    let (reduce, bcast) = (inner(shape.parts.reduce), inner(shape.parts.bcast));
    let takes = |parameter| algorithm.takes(parameter);
    match (takes(Parameter::Reduce), takes(Parameter::Bcast)) {
        (false, false) => Some(vec![Part {
            bytes,
            ..inner(algorithm)
        }]),
        (true, true) => Some(vec![reduce, bcast]),
        // The phases before a broadcast of everything, or after a reduce to one rank.
        (false, true)
            if matches!(
                algorithm.collective,
                Collective::Allgather | Collective::Allgatherv
            ) =>
        {
            Some(vec![binomial(Collective::Gather)?, bcast])
        }
        (true, false) if !algorithm.collective.is_rooted() => {
            Some(vec![reduce, binomial(Collective::Scatter)?])
        }
        _ => None,
    }
}

/// The phases of an algorithm that knows nodes, on the fullest node.
fn phases_of_call(schedule: &Schedule, tiers: Tiers, call: &Call<'_>) -> Vec<Part> {
    let shape = schedule.shape();
    let all = f64::from(shape.ranks);
    let whole = if schedule.algorithm().collective.is_sized_by_part() {
        call.bytes as f64 * all
    } else {
        call.bytes as f64
    };
    let phases = shape.parts.phases().map(|(phase, algorithm)| {
        let ranks = phase.largest_team(shape);
        let share = match phase.about {
            About::All | About::Lanes | About::Nodes => 1.0,
            About::Even => 1.0 / f64::from(shape.leaders),
            About::Own => f64::from(ranks) / all,
        };
        let parts = if algorithm.collective.is_sized_by_part() {
            ranks.into()
        } else {
            1.0
        };
        Part {
            algorithm,
            ranks,
            bytes: whole * share / parts,
            is_within: phase.among != Among::Lane,
            rates: match phase.among {
                Among::Lane => tiers.between_nodes(shape.leaders),
                Among::Group | Among::Node | Among::RootNode => tiers.node,
            },
        }
    });
    phases.filter(|part| part.ranks > 1).collect()
}

/// The time of each further block where phases overlap, as seconds for messages and seconds for their bytes if the
/// block were the whole vector. It is the time that the root spends on the block, within its node and between nodes
/// together, in sending or in receiving, whichever takes longer.
pub(crate) fn root_block_seconds(
    schedule: &Schedule,
    tiers: Tiers,
    call: &Call<'_>,
) -> Option<[f64; 2]> {
    let shape = schedule.shape();
    let request = schedule::Request {
        units: schedule.units(),
        parameters: schedule::Parameters {
            blocks: None,
            ..call.parameters
        },
        placed: call.placed,
        ..schedule::Request::among_ranks(call.ranks)
    };
    let block = Schedule::new(schedule.algorithm(), &request).ok()?;
    let program = block.program(shape.root);
    let node = |rank: schedule::Rank| shape.nodes.place_of_rank(rank).0;
    let bytes = |span: &Span| (block.span_units(shape.root, span) * call.unit_bytes.max(1)) as f64;
    // For sending, receiving and combining: seconds for messages, and for their bytes.
    let mut work = [[0.0; 2]; 3];
    let mut round = Round::default();
    for index in 0..program.rounds() {
        round.clear();
        program.round(index, &mut round);
        for action in round.actions() {
            let (peer, span, port) = match action {
                Action::Send { to, span } => (*to, span, 0),
                Action::Recv { from, span } => (*from, span, 1),
                Action::Combine { into, .. } => {
                    work[2][1] += bytes(into) * tiers.node.gamma?;
                    continue;
                }
                _ => continue,
            };
            let rates = if node(peer) == node(shape.root) {
                tiers.node
            } else {
                tiers.between_nodes(shape.leaders)
            };
            work[port][0] += rates.alpha;
            work[port][1] += rates.beta * bytes(span);
        }
    }
    let [sending, receiving, combining] = work;
    let longer = if sending[0] + sending[1] > receiving[0] + receiving[1] {
        sending
    } else {
        receiving
    };
    Some([longer[0], longer[1] + combining[1]])
}
