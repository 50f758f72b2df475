//! The calls on which algorithms are tried.

use schedule::{
    Algorithm, Blocks, Collective, Parameter, Parameters, Rank, Request, Schedule, Unsupported, of,
};

/// The parameters worth trying: several block counts and radices, every part of a composition. Parts
/// are combined in step, not each with each: a part does not know what stands beside it.
pub(crate) fn parameters(algorithm: &'static Algorithm) -> Vec<Parameters<'static>> {
    let takes = |parameter| algorithm.takes(parameter);
    let ids = |parameter, collective| match takes(parameter) {
        true => of(collective).map(|part| Some(part.id)).collect(),
        false => vec![None],
    };
    let reduces = ids(Parameter::Reduce, Collective::Reduce);
    let bcasts = ids(Parameter::Bcast, Collective::Bcast);
    let radices = match takes(Parameter::Radix) {
        true => vec![Some(2), Some(3), Some(4), Some(8), Some(16)],
        false => vec![None],
    };
    let blocks = match takes(Parameter::Blocks) {
        true => [1, 2, 3, 7, 11]
            .map(|count| Some(Blocks::Count(count)))
            .into(),
        false => vec![None],
    };
    let parts = reduces.len().max(bcasts.len());
    let combinations = if parts > 1 {
        // Every part with some of the blocks, every number of blocks with some of the parts.
        (0..2 * parts)
            .map(|turn| (turn % parts, turn % blocks.len(), turn % radices.len()))
            .collect()
    } else {
        let pairs = |block| (0..radices.len()).map(move |radix| (0, block, radix));
        (0..blocks.len()).flat_map(pairs).collect::<Vec<_>>()
    };
    combinations
        .into_iter()
        .map(|(part, block, radix)| Parameters {
            blocks: blocks[block],
            radix: radices[radix],
            reduce: reduces[part % reduces.len()],
            bcast: bcasts[part % bcasts.len()],
        })
        .collect()
}

/// Every root that makes a difference.
pub(crate) fn roots(algorithm: &Algorithm, ranks: u32) -> Vec<Rank> {
    match algorithm.collective.is_rooted() {
        true => (0..ranks).collect(),
        false => vec![0],
    }
}

/// Every root of a small communicator; the first, the middle and the last of others.
pub(crate) fn some_roots(algorithm: &Algorithm, ranks: u32) -> Vec<Rank> {
    match ranks {
        0..=17 => roots(algorithm, ranks),
        _ if algorithm.collective.is_rooted() => vec![0, ranks / 2, ranks - 1],
        _ => vec![0],
    }
}

pub(crate) fn schedule(algorithm: &'static Algorithm, request: &Request<'_>) -> Schedule {
    Schedule::new(algorithm, request).unwrap()
}

/// The schedule, unless the algorithm cannot serve that number of ranks.
pub(crate) fn supported(algorithm: &'static Algorithm, request: &Request<'_>) -> Option<Schedule> {
    match Schedule::new(algorithm, request) {
        Err(Unsupported::OddRanks { .. }) => None,
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
                ..Request::ranks(ranks)
            };
            if let Some(schedule) = supported(algorithm, &request) {
                check(&schedule);
            }
        }
    }
}
