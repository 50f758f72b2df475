//! The calls on which algorithms are tried.

use schedule::{Algorithm, Blocks, Parameter, Parameters, Rank, Request, Schedule, of};

/// The parameters worth trying: several block counts, every composition.
pub(crate) fn parameters(algorithm: &'static Algorithm) -> Vec<Parameters<'static>> {
    let mut all = vec![Parameters::default()];
    if algorithm.takes(Parameter::Reduce) {
        let inner = |collective| of(collective).map(|a| Some(a.id));
        all = inner(schedule::Collective::Reduce)
            .flat_map(|reduce| {
                inner(schedule::Collective::Bcast).map(move |bcast| Parameters {
                    reduce,
                    bcast,
                    ..Parameters::default()
                })
            })
            .collect();
    }
    if algorithm.takes(Parameter::Blocks) {
        all = all
            .into_iter()
            .flat_map(|parameters| {
                [1, 2, 3, 7, 11].map(|blocks| Parameters {
                    blocks: Some(Blocks::Count(blocks)),
                    ..parameters
                })
            })
            .collect();
    }
    all
}

/// Every root that makes a difference.
pub(crate) fn roots(algorithm: &Algorithm, ranks: u32) -> impl Iterator<Item = Rank> {
    0..if algorithm.collective.is_rooted() {
        ranks
    } else {
        1
    }
}

pub(crate) fn schedule(algorithm: &'static Algorithm, request: &Request<'_>) -> Schedule {
    Schedule::new(algorithm, request).unwrap()
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
            if in_place && !algorithm.collective.is_reduction() {
                continue;
            }
            check(&schedule(
                algorithm,
                &Request {
                    ranks,
                    root,
                    in_place,
                    units,
                    parameters,
                },
            ));
        }
    }
}
