//! The synchronisation of the samples of a store.

use results::Starts;
use vocabulary::Sample;

/// The method by which ranks were synchronised, over all samples; a store holds measurements with one method only.
pub fn common_starts(samples: &[Sample]) -> Starts {
    let residual = |sample: &Sample| sample.residual_seconds;
    let Some(residual_seconds) = samples.iter().filter_map(residual).reduce(f64::max) else {
        return Starts::Barrier;
    };
    let windows = samples
        .iter()
        .filter(|sample| sample.residual_seconds.is_some());
    let (mut invalid, mut valid) = (0, 0);
    for sample in windows {
        invalid += u64::from(sample.invalid);
        valid += sample.seconds.len() as u64;
    }
    Starts::Windows {
        invalid,
        repetitions: invalid + valid,
        residual_seconds,
    }
}
