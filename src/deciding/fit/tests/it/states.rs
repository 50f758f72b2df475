//! A machine that behaves differently in some launches, such as a virtual machine after its processors were moved.

use fit::MachineFit;
use results::Status;
use vocabulary::{Candidate, Experiment, ExperimentKind, Subject};

use crate::machine::{NODE, fitted, near};
use crate::synthetic::{Noise, sample};

const SIZES: [u64; 15] = [
    1, 16, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 1_048_576,
    4_194_304,
];

/// The fit to ping-pongs of six launches; in the launches `others` the machine behaves differently.
fn after(others: &[u32], seconds: impl Fn(u64, bool) -> f64) -> MachineFit {
    let mut noise = Noise::realistic(11);
    let mut samples = Vec::new();
    for launch in 1..=6 {
        for bytes in SIZES {
            let (kind, shape) = (ExperimentKind::PingPong, NODE);
            let subject = Subject::Experiment(Experiment {
                kind,
                shape,
                bytes,
                through: vocabulary::Through::Mpi,
            });
            let seconds = seconds(bytes, others.contains(&launch));
            let times = noise.repetitions(seconds, 30);
            samples.push(sample(launch, subject, &Candidate::Default, times));
        }
    }
    fitted(&samples)
}

/// Times as measured with MPICH: short messages take a fifth of the time while both processors share a cache.
fn mpich(bytes: u64, shares_cache: bool) -> f64 {
    let alpha = match (bytes < 16_384, shares_cache) {
        (true, true) => 0.1e-6,
        (true, false) => 0.6e-6,
        (false, _) => 2.7e-6,
    };
    alpha + 66e-12 * bytes as f64
}

/// Times as measured with Open MPI: steps at 512 and 4096 bytes; short messages take longer in some launches.
fn openmpi(bytes: u64, is_slow: bool) -> f64 {
    let alpha = match (bytes, is_slow) {
        (..512, false) => 0.17e-6,
        (..512, true) => 0.42e-6,
        (512..4096, false) => 0.31e-6,
        (512..4096, true) => 0.80e-6,
        (_, false) => 2.1e-6,
        (_, true) => 2.6e-6,
    };
    alpha
        + if bytes < 4096 {
            0.0
        } else {
            66e-12 * bytes as f64
        }
}

fn alpha(fit: &MachineFit) -> Option<f64> {
    Some(fit.machine.as_ref()?.node.as_ref()?.line_for_size(1).alpha)
}

#[test]
fn values_on_which_most_launches_agree_are_used() {
    let most = after(&[5, 6], mpich);
    near(alpha(&most), 0.6e-6, 0.15);
    let half = after(&[4, 5, 6], mpich);
    let status = &half.segments[0].alpha.status;
    assert!(matches!(status, Status::Uncertain { .. }), "{status:?}");
}

/// In half of the launches the line through all sizes starts at the time of the shortest messages, in the others far
/// above it. So its start is undetermined, but the starts of the segments are not.
#[test]
fn a_level_with_several_lines_has_the_start_of_the_shortest_messages() {
    let fit = after(&[2, 4, 6], openmpi);
    near(alpha(&fit), (0.17e-6 + 0.42e-6) / 2.0, 0.1);
    let link = fit
        .machine
        .and_then(|machine| machine.node)
        .expect("a node");
    near(
        Some(link.line_for_size(1024).alpha),
        (0.31e-6 + 0.8e-6) / 2.0,
        0.1,
    );
}
