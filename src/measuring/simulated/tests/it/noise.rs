//! Noise follows the machine file and is drawn from the seed.

use model::Noise;
use statistics::median;
use vocabulary::Candidate;

use crate::bench::{Bench, allreduce, compare, ours};

const QUIET: Noise = Noise {
    jitter: 0.0,
    spike_probability: 0.0,
    spike_factor: 1.0,
    slow_launch_probability: 0.0,
    slow_launch_factor: 1.0,
};

/// A task that repeats its candidate a thousand times.
fn thousand(noise: Noise, seed: u64) -> Vec<f64> {
    let tasks = vec![compare(0, allreduce(1024), &[Candidate::Default])];
    let mut bench = Bench::new(tasks).with_noise(noise);
    bench.plan.seed = seed;
    bench.plan.repetition.minimum = 1000;
    bench.seconds().remove(0).1
}

fn undisturbed() -> f64 {
    thousand(QUIET, 1)[0]
}

#[test]
fn jitter_is_log_normal() {
    let noise = Noise {
        jitter: 0.1,
        ..QUIET
    };
    let logs: Vec<f64> = thousand(noise, 1)
        .iter()
        .map(|s| (s / undisturbed()).ln())
        .collect();
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let deviation = (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / count).sqrt();
    // For a thousand draws the standard errors are 0.0032 and 0.0022.
    assert!(mean.abs() < 0.013, "{mean}");
    assert!((deviation - 0.1).abs() < 0.009, "{deviation}");
    let beyond = logs.iter().filter(|l| l.abs() > 0.2).count();
    assert!(
        (20..75).contains(&beyond),
        "{beyond} of 1000 beyond two deviations"
    );
}

#[test]
fn spikes_have_the_given_frequency_and_factor() {
    let noise = Noise {
        spike_probability: 0.05,
        spike_factor: 7.0,
        ..QUIET
    };
    let seconds = thousand(noise, 2);
    let quiet = undisturbed();
    let spikes = seconds
        .iter()
        .filter(|s| (**s / quiet - 7.0).abs() < 1e-9)
        .count();
    let rest = seconds.iter().filter(|s| **s == quiet).count();
    assert_eq!(spikes + rest, 1000);
    assert!((20..90).contains(&spikes), "{spikes}");
}

#[test]
fn launches_are_slow_as_a_whole() {
    let noise = Noise {
        slow_launch_probability: 0.3,
        slow_launch_factor: 2.0,
        ..QUIET
    };
    let candidates = [Candidate::Default, ours("allreduce/ring")];
    let tasks = (0..3).map(|id| compare(id, allreduce(64 << id), &candidates));
    let mut bench = Bench::new(tasks.collect());
    let quiet: Vec<f64> = bench.seconds().iter().map(|(_, s)| s[0]).collect();
    bench = bench.with_noise(noise);
    let mut slow = 0;
    for seed in 0..40 {
        bench.plan.seed = seed;
        let seconds = bench.seconds();
        let factors: Vec<f64> = quiet
            .iter()
            .zip(&seconds)
            .map(|(q, (_, s))| s[0] / q)
            .collect();
        assert!(factors.iter().all(|f| *f == factors[0]), "{factors:?}");
        assert!(factors[0] == 1.0 || factors[0] == 2.0, "{factors:?}");
        slow += u32::from(factors[0] == 2.0);
    }
    assert!((4..22).contains(&slow), "{slow} of 40");
}

#[test]
fn noise_depends_only_on_seed_subject_and_candidate() {
    let noise = Noise {
        jitter: 0.1,
        ..QUIET
    };
    let candidates = [Candidate::Default, ours("allreduce/rabenseifner")];
    let task = |id, bytes| compare(id, allreduce(bytes), &candidates);
    let whole = Bench::new(vec![task(0, 4096), task(1, 8192)]).with_noise(noise);
    let all = whole.seconds();
    assert_eq!(all, whole.seconds());
    // The same task alone, with another number.
    let piece = Bench::new(vec![task(0, 8192)]).with_noise(noise);
    let of = |measured: &[((u32, u32), Vec<f64>)], key| -> Vec<f64> {
        measured
            .iter()
            .find(|(found, _)| *found == key)
            .expect("measured")
            .1
            .clone()
    };
    assert_eq!(of(&piece.seconds(), (0, 1)), of(&all, (1, 1)));
    // The default is the same algorithm, but has its own random numbers.
    assert_ne!(of(&all, (0, 0)), of(&all, (0, 1)));
    let mut other = Bench::new(vec![task(0, 4096)]).with_noise(noise);
    assert_eq!(of(&other.seconds(), (0, 0)), of(&all, (0, 0)));
    other.plan.seed = 2;
    assert_ne!(of(&other.seconds(), (0, 0)), of(&all, (0, 0)));
    other.plan.seed = 1;
    other.plan.tasks[0].round = 1;
    assert_ne!(of(&other.seconds(), (0, 0)), of(&all, (0, 0)));
    let medians = [(0, 0), (0, 1)].map(|key| median(&of(&all, key)).expect("a median"));
    assert!((medians[0] / medians[1] - 1.0).abs() < 0.2, "{medians:?}");
}
