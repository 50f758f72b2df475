//! Machine parameters found from the times of collectives.

use fit::{MachineFit, predicted_seconds, summarise_samples};
use model::{Line, Machine, PostAhead};
use results::Summary;
use vocabulary::{Candidate, Cell, Pattern, Subject};

use crate::prediction::machine;
use crate::synthetic::{Noise, allreduce, ours, sample};

const ALGORITHMS: [&str; 3] = [
    "allreduce/recursive_doubling",
    "allreduce/ring",
    "allreduce/rabenseifner",
];

/// The machine of the tests, with messages that take longer in some circumstances.
fn with_line(change: impl Fn(&mut Line)) -> MachineFit {
    let mut fit = machine();
    fit.machine = fit.machine.map(|mut machine| {
        let link = machine.node.as_mut().expect("a node");
        let mut line = link.line_for_size(0);
        change(&mut line);
        link.lines = vec![line];
        machine
    });
    fit
}

fn pipelines() -> impl Iterator<Item = (Cell, Candidate)> {
    let cells = [8, 15].into_iter().flat_map(|ranks| {
        let sizes = 16..=21;
        sizes.map(move |power| allreduce(ranks, 1 << power))
    });
    let algorithms = ["pipelined_tree", "doubly_pipelined_tree", "dual_root"];
    cells.flat_map(move |cell| {
        algorithms.map(|id| (cell, ours(&format!("allreduce/{id}"), Some(16 << 10))))
    })
}

fn points() -> impl Iterator<Item = (Cell, Candidate)> {
    let sizes = (3..=20).step_by(2).map(|power| allreduce(4, 1 << power));
    sizes.flat_map(|cell| ALGORITHMS.map(|algorithm| (cell, ours(algorithm, None))))
}

fn summaries(truth: &MachineFit) -> Vec<Summary> {
    summaries_of(points(), truth)
}

fn summaries_of(
    points: impl Iterator<Item = (Cell, Candidate)>,
    truth: &MachineFit,
) -> Vec<Summary> {
    let mut noise = Noise::realistic(5);
    let samples: Vec<_> = points
        .map(|(cell, candidate)| {
            let seconds = predicted_seconds(truth, &cell, &candidate).expect("simulated");
            let times = noise.repetitions(seconds, 50);
            sample(1, Subject::Cell(cell), &candidate, times)
        })
        .collect();
    summarise_samples(&samples, Pattern::Together).expect("times")
}

/// The largest factor by which predictions differ.
fn worst(found: &MachineFit, truth: &MachineFit) -> f64 {
    let factor = |(cell, candidate)| {
        let [found, truth] = [found, truth].map(|fit| predicted_seconds(fit, &cell, &candidate));
        (found.expect("found") / truth.expect("true")).ln().abs()
    };
    points().map(factor).fold(0.0, f64::max).exp()
}

#[test]
fn parameters_unknown_from_experiments_are_found_from_the_times_of_collectives() {
    let truth = with_line(|line| {
        line.exchange = Some(1.4);
        line.fresh = Some(2.5);
    });
    let mut found = machine();
    assert!(worst(&found, &truth) > 1.5);
    found.calibrate(&summaries(&truth));
    let worst = worst(&found, &truth);
    assert!(worst < 1.15, "off by {worst}");
}

#[test]
fn times_of_pipelines_show_whether_receives_are_posted_ahead() {
    for post_ahead in [PostAhead::All, PostAhead::None] {
        let mut truth = with_line(|_| ());
        truth.machine = truth.machine.map(|machine| Machine {
            post_ahead,
            ..machine
        });
        let mut found = with_line(|_| ());
        found.calibrate(&summaries_of(pipelines(), &truth));
        let found = found.machine.map(|machine| machine.post_ahead);
        assert_eq!(found, Some(post_ahead));
    }
}

#[test]
fn parameters_are_kept_if_the_experiments_suffice() {
    let plain = machine();
    let mut found = machine();
    found.calibrate(&summaries(&plain));
    assert_eq!(found, plain);
}

/// Parameters are not fitted to times that no parameter explains.
#[test]
fn parameters_that_do_not_predict_held_out_sizes_are_not_used() {
    let plain = machine();
    let mut summaries = summaries(&plain);
    for (summary, place) in summaries.iter_mut().zip(0_u32..) {
        let size = place / ALGORITHMS.len() as u32;
        summary.median_seconds *= if size.is_multiple_of(2) {
            3.0
        } else {
            1.0 / 3.0
        };
    }
    let mut found = machine();
    found.calibrate(&summaries);
    let unchanged: Option<Machine> = plain.machine;
    assert_eq!(found.machine, unchanged);
}
