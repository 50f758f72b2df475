//! Curves of candidates from their times alone.

use fit::{
    CandidateCurve, Curve, InsideMethod, PredictionMethod, Predictor, Segment, TimeOrigin, Timing,
    fit_machine, summarise_samples,
};
use vocabulary::{Candidate, Cell, CommShape, Experiment, ExperimentKind, Pattern, Subject};

use crate::synthetic::{Noise, allreduce, ours, sample};

/// `alpha + beta m`.
#[derive(Clone, Copy)]
struct Part {
    from_bytes: u64,
    alpha: f64,
    beta: f64,
}

impl Part {
    fn seconds(&self, bytes: u64) -> f64 {
        self.alpha + self.beta * bytes as f64
    }
}

/// A line without changes; and the times of a library with protocols: eager, rendezvous from 16K on, another algorithm
/// from 1M on.
const PARTS: [Part; 3] = [
    Part {
        from_bytes: 0,
        alpha: 2e-6,
        beta: 2e-9,
    },
    Part {
        from_bytes: 16 << 10,
        alpha: 80e-6,
        beta: 0.5e-9,
    },
    Part {
        from_bytes: 1 << 20,
        alpha: 1e-3,
        beta: 0.25e-9,
    },
];

/// The sizes from 8 bytes to 16M, doubling.
fn sizes() -> Vec<u64> {
    (3..25).map(|power| 1 << power).collect()
}

fn truth(parts: &[Part], bytes: u64) -> f64 {
    let part = parts.iter().rev().find(|part| part.from_bytes <= bytes);
    part.expect("the first begins at 0").seconds(bytes)
}

/// A curve with 10 % log-normal noise on each time.
fn noisy(parts: &[Part], sizes: &[u64], seed: u64) -> Curve {
    let mut noise = Noise::realistic(seed);
    let timing = |bytes: &u64| Timing {
        bytes: *bytes,
        seconds: truth(parts, *bytes) * noise.factor(0.1),
    };
    Curve::new(sizes.iter().map(timing).collect())
}

const SEEDS: u64 = 50;

#[test]
fn changes_of_protocol_are_found_within_a_size_and_no_others() {
    for count in 1..=PARTS.len() {
        let parts = &PARTS[..count];
        let mut missed = Vec::new();
        for seed in 0..SEEDS {
            let curve = noisy(parts, &sizes(), seed);
            // Segments begin half-way between two sizes.
            let near = |(part, segment): (&Part, &Segment)| {
                let off = (segment.from_bytes as f64 / part.from_bytes as f64).log2();
                (-1.5..=0.5).contains(&off)
            };
            let mut changes = parts.iter().zip(&curve.segments).skip(1);
            if curve.segments.len() != count || !changes.all(near) {
                missed.push(seed);
                continue;
            }
            for (part, segment) in parts.iter().zip(&curve.segments) {
                assert!(segment.residual < 0.2, "{count}, seed {seed}: {segment:?}");
                assert!(segment.alpha_seconds < 2.0 * part.alpha, "{segment:?}");
            }
        }
        // At most one curve in 25 may be wrong for each change, or for none.
        let changes = (count as u64 - 1).max(1);
        assert!(
            missed.len() as u64 <= changes * SEEDS / 25,
            "{count} segments: seeds {missed:?}"
        );
    }
}

/// On coarse grids, too, noise gives no segments.
#[test]
fn noise_makes_no_segments_on_coarse_grids() {
    for step in [1, 2, 3] {
        let coarse: Vec<u64> = sizes().into_iter().step_by(step).collect();
        let cut = (0..SEEDS).filter(|seed| noisy(&PARTS[..1], &coarse, *seed).segments.len() > 1);
        let cut = cut.count();
        assert!(cut <= 3, "{} sizes: {cut} of {SEEDS}", coarse.len());
    }
}

/// Checks the errors at sizes between and beyond the measured ones against their limits.
#[test]
fn predictions_are_near_the_truth_and_name_their_origin() {
    let mut errors = [Vec::new(), Vec::new(), Vec::new()];
    for seed in 0..SEEDS {
        let curve = noisy(&PARTS[..2], &sizes(), seed);
        let between = sizes().into_iter().map(|bytes| bytes + bytes / 2);
        let inner = between.filter(|bytes| *bytes < 16 << 20 && !(8192..16384).contains(bytes));
        let mut note = |kind: usize, bytes: u64, inside: InsideMethod, how: TimeOrigin| {
            let predicted = curve.predict_at(bytes, inside);
            assert_eq!(predicted.how, how, "{bytes}");
            assert!(
                predicted.error.is_some_and(|error| error < 0.3),
                "{predicted:?}"
            );
            let truth = truth(&PARTS[..2], bytes);
            errors[kind].push((predicted.seconds / truth - 1.0).abs());
        };
        for bytes in inner {
            note(
                0,
                bytes,
                InsideMethod::Interpolation,
                TimeOrigin::Interpolated,
            );
            note(1, bytes, InsideMethod::Segments, TimeOrigin::Segment);
        }
        for bytes in [1, 4, 64 << 20, 256 << 20] {
            note(
                2,
                bytes,
                InsideMethod::Interpolation,
                TimeOrigin::Extrapolated,
            );
        }
        let measured = curve.points[3];
        let predicted = curve.predict_at(measured.bytes, InsideMethod::Segments);
        assert_eq!(
            (predicted.how, predicted.seconds, predicted.error),
            (TimeOrigin::Measured, measured.seconds, Some(0.0))
        );
    }
    for (of_kind, typical) in errors.iter().zip([0.06, 0.04, 0.06]) {
        let median = statistics_median(of_kind);
        assert!(median < typical, "{median} of {}", of_kind.len());
        let far = of_kind.iter().filter(|error| **error > 0.3).count();
        assert!(far * 50 < of_kind.len(), "{far} of {}", of_kind.len());
    }
}

fn statistics_median(values: &[f64]) -> f64 {
    statistics::median(values).expect("values")
}

/// A call of 0 bytes has no share in lines, so they are extrapolated below the smallest other size.
#[test]
fn a_line_is_extrapolated_between_no_bytes_and_the_smallest_size() {
    let sizes = [0, 16, 64, 256, 1024];
    let curve = Curve::new(
        sizes
            .map(|bytes| Timing {
                bytes,
                seconds: 1e-6 + 1e-9 * bytes as f64,
            })
            .to_vec(),
    );
    let shape = CommShape { nodes: 1, ppn: 4 };
    let ring = ours("allreduce/ring", None);
    let predictor = Predictor::new(&[of(shape, ring.clone(), curve.points.clone())]);
    let line_at = |bytes| {
        let method = PredictionMethod::StraightLines;
        let predicted = predictor.predict_time(&cell(shape, bytes), &ring, method);
        predicted.map(|predicted| predicted.how)
    };
    for (bytes, how) in [
        (0, TimeOrigin::Extrapolated),
        (8, TimeOrigin::Extrapolated),
        (16, TimeOrigin::Segment),
        (32, TimeOrigin::Segment),
        (1024, TimeOrigin::Segment),
        (1025, TimeOrigin::Extrapolated),
    ] {
        assert_eq!(line_at(bytes), Some(how), "{bytes}");
    }
    let segment_at = |bytes| curve.predict_at(bytes, InsideMethod::Segments).how;
    assert_eq!(segment_at(0), TimeOrigin::Measured);
    assert_eq!(segment_at(8), TimeOrigin::Extrapolated);
    assert_eq!(segment_at(32), TimeOrigin::Segment);
}

#[test]
fn few_sizes_have_no_lines_and_are_predicted_as_in_tables() {
    let curve = |points: &[(u64, f64)]| {
        let points = points.iter().map(|(bytes, seconds)| Timing {
            bytes: *bytes,
            seconds: *seconds,
        });
        Curve::new(points.collect())
    };
    let two = curve(&[(64, 4e-6), (16, 1e-6)]);
    assert_eq!((two.straight, two.segments.len()), (None, 0));
    for (bytes, seconds, how) in [
        (0, 1e-6, TimeOrigin::Extrapolated),
        (16, 1e-6, TimeOrigin::Measured),
        (32, 2e-6, TimeOrigin::Interpolated),
        (128, 8e-6, TimeOrigin::Extrapolated),
    ] {
        for inside in [InsideMethod::Interpolation, InsideMethod::Segments] {
            let predicted = two.predict_at(bytes, inside);
            assert_eq!(predicted.how, how, "{bytes}");
            assert!(
                (predicted.seconds / seconds - 1.0).abs() < 1e-9,
                "{predicted:?}"
            );
        }
    }
    // A barrier has one size.
    let one = curve(&[(0, 3e-6)]);
    assert_eq!(one.predict_at(0, InsideMethod::Segments).seconds, 3e-6);
    // A call without data returns at once.
    let zero = curve(&[(0, 1e-8), (8, 1.008e-6), (64, 1.064e-6), (1000, 2e-6)]);
    assert_eq!(zero.segments.len(), 1);
    let alpha = zero.segments[0].alpha_seconds;
    assert!((alpha / 1e-6 - 1.0).abs() < 1e-3, "{alpha}");
}

/// A candidate's curves with one rank per node, where `alpha` and `beta` depend on the number of ranks.
fn over_shapes(nodes: &[u32], time: fn(f64, f64) -> f64) -> Vec<CandidateCurve> {
    let curve = |count: &u32| {
        let shape = CommShape {
            nodes: *count,
            ppn: 1,
        };
        let seconds = |bytes: u64| time(f64::from(*count), bytes as f64);
        let points = [8, 512, 32 << 10, 2 << 20].map(|bytes| Timing {
            bytes,
            seconds: seconds(bytes),
        });
        of(shape, candidate(), points.to_vec())
    };
    nodes.iter().map(curve).collect()
}

fn of(shape: CommShape, candidate: Candidate, points: Vec<Timing>) -> CandidateCurve {
    let Cell {
        collective,
        datatype,
        operator,
        ..
    } = cell(shape, 0);
    CandidateCurve {
        collective,
        shape,
        datatype,
        operator,
        candidate,
        curve: Curve::new(points),
    }
}

fn cell(shape: CommShape, bytes: u64) -> Cell {
    Cell {
        shape,
        ..allreduce(1, bytes)
    }
}

fn candidate() -> Candidate {
    ours("allreduce/ring", None)
}

#[test]
fn other_shapes_follow_the_ranks_or_their_logarithm() {
    let logarithmic = |ranks: f64, bytes: f64| ranks.log2() * (2e-6 + 1e-9 * bytes);
    let linear = |ranks: f64, bytes: f64| 2e-6 * ranks + 1e-9 * bytes;
    let check = |time: fn(f64, f64) -> f64, nodes: u32, bytes: u64, how: TimeOrigin, bound: f64| {
        let predictor = Predictor::new(&over_shapes(&[4, 8, 16, 32], time));
        let asked = cell(CommShape { nodes, ppn: 1 }, bytes);
        let predicted = predictor.predict_time(&asked, &candidate(), PredictionMethod::Model);
        let predicted = predicted.expect("measured elsewhere");
        let truth = time(f64::from(nodes), bytes as f64);
        let off = (predicted.seconds / truth - 1.0).abs();
        assert!(
            off < bound,
            "{nodes} nodes, {bytes} bytes: {predicted:?} and not {truth}"
        );
        assert_eq!(predicted.how, how);
    };
    for time in [logarithmic as fn(f64, f64) -> f64, linear] {
        for bytes in [8, 32 << 10, 2 << 20] {
            check(time, 16, bytes, TimeOrigin::Measured, 1e-9);
            check(time, 12, bytes, TimeOrigin::Interpolated, 0.03);
            check(time, 128, bytes, TimeOrigin::Extrapolated, 0.02);
            check(time, 2, bytes, TimeOrigin::Extrapolated, 0.02);
        }
        check(time, 128, 8 << 20, TimeOrigin::Extrapolated, 0.02);
    }
}

/// Shapes with equal numbers of ranks differ if the ranks are on different numbers of nodes.
#[test]
fn shapes_are_compared_with_shapes_that_differ_in_one_number() {
    let on = |nodes: u32, ppn: u32, seconds: f64| {
        let points = vec![Timing { bytes: 8, seconds }];
        of(CommShape { nodes, ppn }, candidate(), points)
    };
    let measured = [
        on(1, 8, 1e-6),
        on(1, 32, 4e-6),
        on(2, 4, 50e-6),
        on(16, 1, 90e-6),
    ];
    let predictor = Predictor::new(&measured);
    let at = |nodes: u32, ppn: u32| {
        let asked = cell(CommShape { nodes, ppn }, 8);
        let predicted = predictor.predict_time(&asked, &candidate(), PredictionMethod::Model);
        predicted.expect("measured elsewhere").seconds
    };
    assert!((at(1, 16) / 2e-6 - 1.0).abs() < 1e-9);
    assert!((at(4, 4) / 50e-6 - 1.0).abs() < 1e-9);
    assert!((at(32, 1) / 90e-6 - 1.0).abs() < 1e-9);
    let other = ours("allreduce/dual_root", None);
    let asked = cell(CommShape { nodes: 1, ppn: 8 }, 8);
    assert_eq!(
        predictor.predict_time(&asked, &other, PredictionMethod::Model),
        None
    );
}

/// Two straight lines that cross: interpolation bends them, segments do not. With powers of the size it is the reverse,
/// although neither makes a wrong choice.
#[test]
fn the_method_with_less_regret_at_left_out_sizes_is_used_inside() {
    let curves = |times: [fn(f64) -> f64; 2]| {
        let names = ["allreduce/ring", "allreduce/dual_root"];
        let curve = |(name, time): (&str, fn(f64) -> f64)| {
            let points = [1, 10, 100, 1000, 10_000].map(|bytes| Timing {
                bytes,
                seconds: 1e-6 * time(bytes as f64),
            });
            let shape = CommShape { nodes: 1, ppn: 4 };
            of(shape, ours(name, None), points.to_vec())
        };
        names.into_iter().zip(times).map(curve).collect::<Vec<_>>()
    };
    let how = |times| {
        let asked = cell(CommShape { nodes: 1, ppn: 4 }, 50);
        let predictor = Predictor::new(&curves(times));
        let first = ours("allreduce/ring", None);
        predictor
            .predict_time(&asked, &first, PredictionMethod::Model)
            .map(|p| p.how)
    };
    // At 100 bytes the first candidate is faster; interpolated between 10 and 1000 it looks slower.
    assert_eq!(
        how([|m| 100.0 + m, |m| 1.0 + 2.0 * m]),
        Some(TimeOrigin::Segment)
    );
    assert_eq!(
        how([|m| m.powf(0.6), |m| 2.0 * m.powf(0.6)]),
        Some(TimeOrigin::Interpolated)
    );
}

/// The line agrees with that of a simplex search over the same loss to one part in a thousand.
#[test]
fn the_straight_line_agrees_with_a_general_search() {
    let mut random = fastrand::Rng::with_seed(3);
    for case in 0..20 {
        let points: Vec<Timing> = (0..12)
            .map(|k| {
                let bytes = 8 << (2 * k);
                let noise = (0.2 * (random.f64() - 0.5)).exp();
                let outlier = if random.u8(..20) == 0 { 5.0 } else { 1.0 };
                let seconds = (1e-6 + 1e-9 * bytes as f64) * noise * outlier;
                Timing { bytes, seconds }
            })
            .collect();
        let samples = points.iter().map(|point| {
            let ping_pong = Subject::Experiment(Experiment {
                kind: ExperimentKind::PingPong,
                shape: CommShape { nodes: 2, ppn: 1 },
                bytes: point.bytes,
                through: vocabulary::Through::Mpi,
            });
            sample(1, ping_pong, &Candidate::Default, vec![point.seconds])
        });
        let summaries =
            summarise_samples(&samples.collect::<Vec<_>>(), Pattern::Together).expect("valid");
        let machine = fit_machine("test", &summaries).expect("searched");
        let searched = |name: &str| {
            let parameter = machine.parameters.iter().find(|of| of.name == name);
            let estimate = parameter.and_then(|parameter| parameter.estimate);
            estimate.expect("converged").value
        };
        let line = Curve::new(points).straight.expect("a line");
        for (found, expected) in [
            (line.alpha_seconds, searched("network.alpha")),
            (line.beta_seconds_per_byte, searched("network.beta")),
        ] {
            let error = (found / expected - 1.0).abs();
            assert!(error < 1e-3, "{case}: {found} instead of {expected}");
        }
    }
}

#[test]
fn points_off_any_line_have_the_nearest_line_without_negative_parts() {
    let check = |values: [(u64, f64); 3], alpha: f64, beta: f64| {
        let points = values.map(|(bytes, seconds)| Timing { bytes, seconds });
        let found = Curve::new(points.to_vec()).straight.expect("a line");
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs();
        assert!(
            near(found.alpha_seconds, alpha) && near(found.beta_seconds_per_byte, beta),
            "{found:?}"
        );
    };
    check([(1, 4.0), (10, 2.0), (100, 1.0)], 2.0, 0.0);
    check([(1, 2.0), (10, 20.0), (100, 200.0)], 0.0, 2.0);
    // These times grow faster than any line. The outer point with the larger error has slightly more weight, until the
    // middle point is off by 0.245 thousandths.
    check([(10, 1.0), (20, 3.0), (40, 12.0)], 0.0, 0.150_036_9);
}
