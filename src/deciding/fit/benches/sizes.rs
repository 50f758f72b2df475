//! The growth of the time for decisions with the number of measured sizes.
//!
//! `cargo bench -p fit --bench sizes` decides between the default and three candidates in one shape, from two launches
//! with noise, and prints seconds of processor time for 250, 500, 1000, ... sizes, and the ratio to the time for half
//! as many: 2 is linear, 4 quadratic. `curves` fits one curve per candidate, `decide` chooses and builds the table,
//! `evaluate` holds half of the sizes out and predicts them.

use fit::{
    DecideOptions, Predictor, build_table, decide_cells, fit_curves, score_held_out_points,
    summarise_samples,
};
use schedule::Collective;
use table::Deployment;
use testkit::tables;
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, Library, Operator, Parameters, Pattern, Sample, Subject,
};

const LAUNCHES: u32 = 2;
const MOST: usize = 128_000;

fn main() {
    println!(
        "{:>8} {:>17} {:>17} {:>17}",
        "sizes", "curves", "decide", "evaluate"
    );
    let mut before: Option<[f64; 3]> = None;
    let mut sizes = 250;
    while sizes <= MOST {
        let seconds = measure(sizes);
        let columns = seconds.iter().enumerate().map(|(place, seconds)| {
            let ratio = before.map_or(String::new(), |before| {
                format!("x{:.1}", seconds / before[place])
            });
            format!(" {seconds:9.3} s {ratio:>5}")
        });
        println!("{sizes:>8}{}", columns.collect::<String>());
        before = Some(seconds);
        sizes *= 2;
    }
}

fn measure(sizes: usize) -> [f64; 3] {
    let summaries = summarise_samples(&samples(sizes), Pattern::Together).expect("times");
    let options = DecideOptions::default();
    let library = Library {
        name: "openmpi".to_owned(),
        version: "4.1.4".to_owned(),
    };
    let provenance = tables::provenance_for(library);
    let mut last = given_seconds();
    let mut lap = || {
        let now = given_seconds();
        now - std::mem::replace(&mut last, now)
    };
    let predictor = Predictor::new(&fit_curves(&summaries));
    let curves = lap();
    let decisions = decide_cells(
        Deployment::Colltune,
        "openmpi",
        &summaries,
        &[],
        None,
        &options,
    );
    let table = build_table("sizes", provenance.clone(), &decisions, &[], &[]);
    let decided = lap();
    let scores = score_held_out_points(&summaries, &[], &options, &provenance);
    let evaluated = lap();
    std::hint::black_box((predictor, table, scores));
    [curves, decided, evaluated]
}

fn samples(sizes: usize) -> Vec<Sample> {
    let candidates = [
        (None, 2e-6, 3e-10),
        (Some("allreduce/ring"), 20e-6, 1e-10),
        (Some("allreduce/recursive_doubling"), 1.5e-6, 4e-10),
        (Some("allreduce/dual_root"), 6e-6, 2e-10),
    ];
    let mut random = fastrand::Rng::with_seed(1);
    let mut samples = Vec::new();
    for launch in 1..=LAUNCHES {
        for size in 1..=sizes as u64 {
            for (algorithm, alpha, beta) in candidates {
                let cell = Cell {
                    collective: Collective::Allreduce,
                    shape: CommShape { nodes: 4, ppn: 2 },
                    bytes: 64 * size,
                    datatype: Datatype::Float64,
                    operator: Some(Operator::Sum),
                    distribution: schedule::Distribution::Uniform,
                };
                // Messages of 32K and more wait for their receivers.
                let start = if cell.bytes < 32 << 10 {
                    alpha
                } else {
                    4.0 * alpha
                };
                let noise = 0.95 + 0.1 * random.f64();
                let candidate = algorithm.map_or(Candidate::Default, |algorithm| Candidate::Ours {
                    algorithm: algorithm.to_owned(),
                    parameters: Parameters::default(),
                });
                samples.push(Sample {
                    launch,
                    subject: Subject::Cell(cell),
                    candidate,
                    batch: 1,
                    seconds: vec![noise * (start + beta * cell.bytes as f64)],
                    invalid: 0,
                    residual_seconds: None,
                    left: None,
                });
            }
        }
    }
    samples
}

/// The processor time of this thread in seconds, which Linux provides; other work on the machine affects it little.
fn given_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    let nanoseconds = text.split_whitespace().next();
    1e-9 * nanoseconds
        .and_then(|word| word.parse().ok())
        .unwrap_or(f64::NAN)
}
