//! Schedules that are carried out alike take the same time.

use model::{Link, Machine, PostAhead, Setting, Topology, simulate};
use schedule::verify::Grid;
use schedule::{Collective, Request, Schedule, algorithms_of, first_alike};

use super::flat;
use vocabulary::Placement;

/// Eager messages, two levels, and a port that the ranks of a node share.
fn nodes() -> Machine {
    let link = |alpha, beta| Link {
        alpha,
        overhead: Some(alpha / 2.0),
        beta,
        eager_limit: Some(200),
        ..Link::default()
    };
    Machine {
        ranks_per_node: 2,
        network: Some(link(3e-6, 2e-9)),
        node: Some(link(1e-6, 1e-9)),
        injection_beta: Some(3e-9),
        injection_gap: None,
        rails: None,
        post_ahead: PostAhead::None,
        copy: Some(1e-10),
        ..flat(0.0, 0.0, 2e-10)
    }
}

#[test]
fn schedules_that_are_alike_take_the_same_time_on_every_rank() {
    let grid = Grid {
        ranks: 2..=64,
        blocks: vec![1, 3],
        every_root_of: 0,
    };
    let mut compared = 0;
    for (ranks, collective) in [2, 3, 4, 5, 8, 64]
        .into_iter()
        .flat_map(|ranks| Collective::ALL.map(|collective| (ranks, collective)))
    {
        let parameters = algorithms_of(collective).flat_map(|row| {
            let all = grid.parameters(row).into_iter();
            all.map(move |parameters| (row, parameters))
        });
        let all: Vec<Schedule> = parameters
            .filter_map(|(row, parameters)| {
                let call = Request {
                    units: 100,
                    parameters,
                    ..Request::among_ranks(ranks)
                };
                Schedule::new(row, &call).ok()
            })
            .collect();
        for (place, first) in first_alike(&all).into_iter().enumerate() {
            for (machine, ppn) in [(flat(1e-6, 1e-9, 1e-10), 1), (nodes(), 2)] {
                let setting = Setting {
                    machine: &machine,
                    topology: Topology::of_ranks(ranks, ppn, Placement::Block),
                    unit_bytes: 8,
                };
                let times = [first, place].map(|of| simulate(&all[of], &setting).unwrap());
                assert_eq!(times[0], times[1], "{:?} {:?}", all[first], all[place]);
            }
            compared += usize::from(first < place);
        }
    }
    assert!(compared > 100, "{compared}");
}
