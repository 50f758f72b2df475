//! The calls for the tests of algorithms: those of the verifier's grid, and pairs of parts.

use schedule::verify::Grid;
use schedule::{
    Algorithm, Collective, Parameter, Parameters, Rank, Request, Schedule, Unsupported,
    part_algorithms_of,
};

/// A grid with every root of small communicators, and the first, middle and last root of others.
pub(crate) fn grid() -> Grid {
    Grid {
        ranks: 1..=64,
        blocks: vec![1, 2, 3, 7, 11],
        every_root_of: 17,
    }
}

/// The parameters of the grid; for compositions of two parts, also pairs in which neither part is the default.
pub(crate) fn parameters(algorithm: &'static Algorithm) -> Vec<Parameters<'static>> {
    let mut all = grid().parameters(algorithm);
    let takes_both = all.iter().any(|given| given.reduce.is_some())
        && all.iter().any(|given| given.bcast.is_some());
    if takes_both {
        let bcasts: Vec<_> = part_algorithms_of(Collective::Bcast).collect();
        let pairs = part_algorithms_of(Collective::Reduce).zip(bcasts.iter().cycle());
        all.extend(pairs.map(|(reduce, bcast)| Parameters {
            reduce: Some(reduce.id),
            bcast: Some(bcast.id),
            ..Parameters::with_blocks(3)
        }));
    }
    all
}

/// This many blocks, if the algorithm takes blocks.
pub(crate) fn in_blocks(algorithm: &Algorithm, blocks: u32) -> Parameters<'static> {
    if algorithm.takes(Parameter::Blocks) {
        Parameters::with_blocks(blocks)
    } else {
        Parameters::default()
    }
}

pub(crate) fn schedule(algorithm: &'static Algorithm, request: &Request<'_>) -> Schedule {
    Schedule::new(algorithm, request).unwrap()
}

/// The schedule, unless the algorithm cannot serve that number of ranks or such nodes.
pub(crate) fn supported(algorithm: &'static Algorithm, request: &Request<'_>) -> Option<Schedule> {
    match Schedule::new(algorithm, request) {
        Err(
            Unsupported::OddRanks { .. }
            | Unsupported::UnlikeNodes { .. }
            | Unsupported::TooManyLeaders { .. },
        ) => None,
        schedule => Some(schedule.unwrap()),
    }
}

/// Calls `check` for all parameters, in place and not, of one algorithm on `ranks` ranks.
pub(crate) fn each_call(
    algorithm: &'static Algorithm,
    ranks: u32,
    root: Rank,
    units: u64,
    mut check: impl FnMut(&Schedule),
) {
    for parameters in parameters(algorithm) {
        for in_place in [false, true] {
            if in_place && !algorithm.collective.allows_in_place() {
                continue;
            }
            let request = Request {
                root,
                in_place,
                units,
                parameters,
                ..Request::among_ranks(ranks)
            };
            if let Some(schedule) = supported(algorithm, &request) {
                check(&schedule);
            }
        }
    }
}
