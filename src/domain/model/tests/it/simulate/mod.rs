//! The simulator.

mod alike;
mod closed_forms;
mod contention;
mod courses;
mod flows;
mod lines;
mod paths;
mod placement;
mod reference;
mod symmetry;
mod tiers;

use model::{Link, Machine, PostAhead};

/// A machine with one kind of link; ports are busy for the whole time of a message.
fn flat(alpha: f64, beta: f64, gamma: f64) -> Machine {
    let link = Link {
        alpha,
        overhead: None,
        beta,
        eager_limit: None,
        ..Link::default()
    };
    Machine {
        name: "flat".to_owned(),
        ranks_per_node: 1,
        network: Some(link),
        node: None,
        shared: None,
        injection_beta: None,
        injection_gap: None,
        rails: None,
        post_ahead: PostAhead::None,
        gamma: Some(gamma),
        copy: None,
        combining: Vec::new(),
        copying: Vec::new(),
        cache: None,
        noise: None,
    }
}
