//! The lines that messages follow.

use results::{ProtocolSegment, Status};
use vocabulary::{ExperimentKind, Sample};

use crate::machine::{MANY, NODE, experiment, fitted, near};
use crate::synthetic::Noise;

const ALPHA: f64 = 1.3e-6;
const BETA: f64 = 2.1e-10;
/// The sizes that campaigns measure.
const SIZES: [u64; 15] = [
    1, 16, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 1_048_576,
    4_194_304,
];
const SEEDS: u64 = 30;

/// Ping-pongs of `launches` launches.
fn ping_pongs(seed: u64, launches: u32, seconds: impl Fn(f64) -> f64) -> Vec<Sample> {
    let kind = (ExperimentKind::PingPong, NODE);
    experiment(&mut Noise::realistic(seed), kind, &SIZES, launches, seconds)
}

fn segments(samples: &[Sample]) -> Vec<ProtocolSegment> {
    fitted(samples).segments
}

fn one_line(n: f64) -> f64 {
    ALPHA + BETA * n
}

/// From 8192 bytes on, sender and receiver negotiate first.
fn handshake(n: f64) -> f64 {
    if n < 8192.0 {
        one_line(n)
    } else {
        3.0 * ALPHA + BETA * n
    }
}

/// From 100 kB on, bytes take a faster path.
fn faster(n: f64) -> f64 {
    if n < 1e5 {
        one_line(n)
    } else {
        ALPHA + BETA / 4.0 * n
    }
}

fn both(n: f64) -> f64 {
    if n < 1e5 {
        handshake(n)
    } else {
        6.0 * ALPHA + BETA / 4.0 * n
    }
}

fn ends(segments: &[ProtocolSegment]) -> Vec<u64> {
    segments.iter().map(|segment| segment.to_bytes).collect()
}

/// The number of seeds that give segments with wrong ends.
fn missed(launches: u32, seconds: fn(f64) -> f64, expected: &[u64]) -> u64 {
    let found = |seed| ends(&segments(&ping_pongs(seed, launches, seconds)));
    let wrong = (0..SEEDS).filter(|seed| found(*seed) != expected);
    wrong.count() as u64
}

#[test]
fn protocols_give_segments_and_noise_does_not() {
    const LAST: u64 = SIZES[SIZES.len() - 1];
    let check = |seconds: fn(f64) -> f64, expected: &[u64], allowed: [u64; 3]| {
        let found = [1, 6, MANY].map(|launches| missed(launches, seconds, expected));
        let most = found
            .iter()
            .zip(&allowed)
            .all(|(found, most)| found <= most);
        assert!(most, "{expected:?}: {found:?} of {SEEDS} are wrong");
    };
    check(one_line, &[LAST], [2, 1, 0]);
    check(handshake, &[4096, LAST], [2, 1, 0]);
    check(faster, &[65_536, LAST], [2, 1, 0]);
    check(both, &[4096, 65_536, LAST], [2, 1, 0]);
}

#[test]
fn each_segment_has_its_own_parameters() {
    for seed in 0..5 {
        let found = segments(&ping_pongs(seed, MANY, both));
        let [short, middle, long] = &found[..] else {
            panic!("{found:?}")
        };
        near(short.alpha.value(), ALPHA, 0.05);
        near(middle.alpha.value(), 3.0 * ALPHA, 0.1);
        near(middle.beta.value(), BETA, 0.05);
        near(long.beta.value(), BETA / 4.0, 0.05);
        let sizes: Vec<usize> = found.iter().map(|segment| segment.sizes).collect();
        assert_eq!(sizes, [7, 4, 4]);
        assert_eq!((short.from_bytes, middle.from_bytes), (1, 8192));
        let estimate = long.beta.estimate.expect("estimated");
        assert!((estimate.low..=estimate.high).contains(&estimate.value));
        assert!(estimate.residual < 0.1, "{estimate:?}");
    }
}

#[test]
fn parameters_invisible_in_a_segment_are_not_identified() {
    // Up to 4096 bytes only the start is seen.
    let flat = |n: f64| {
        if n < 8192.0 {
            ALPHA + 1e-3 * BETA * n
        } else {
            3.0 * ALPHA + BETA * n
        }
    };
    let found = segments(&ping_pongs(1, MANY, flat));
    assert_eq!(ends(&found)[0], 4096);
    let status = &found[0].beta.status;
    assert!(matches!(status, Status::Negligible { .. }), "{status:?}");
    assert_eq!(found[0].alpha.status, Status::Identified);
}

/// The eager limit does not begin a segment unless the times change there, and a segment that ends at another size is
/// not marked as ending at the limit.
#[test]
fn a_segment_ends_at_the_eager_limit_only_if_times_change_there() {
    let check = |seconds: fn(f64) -> f64, limit: f64, expected: &[bool]| {
        let mut samples = ping_pongs(3, MANY, seconds);
        let kind = (ExperimentKind::Late, NODE);
        let sizes: Vec<u64> = (10..18).map(|power| 1 << power).collect();
        let mut noise = Noise::realistic(4);
        samples.extend(experiment(&mut noise, kind, &sizes, 6, |n| {
            let waits = n > limit;
            seconds(n) + f64::from(u8::from(waits)) * ExperimentKind::LATE_SECONDS
        }));
        let found = segments(&samples);
        let at_limit: Vec<bool> = found.iter().map(|of| of.ends_at_eager_limit).collect();
        assert_eq!(at_limit, expected, "{limit}");
    };
    check(handshake, 4096.0, &[true, false]);
    check(handshake, 32_768.0, &[false, false]);
    check(one_line, 4096.0, &[false]);
}

#[test]
fn fewer_than_three_sizes_have_no_segments() {
    let kind = (ExperimentKind::PingPong, NODE);
    let check = |sizes: &[u64], expected: usize| {
        let samples = experiment(&mut Noise::realistic(5), kind, sizes, 6, one_line);
        assert_eq!(segments(&samples).len(), expected, "{sizes:?}");
    };
    check(&SIZES[..2], 0);
    check(&SIZES[..3], 1);
}
