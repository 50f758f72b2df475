//! The gains that confirming launches find, given the noise between launches.
//!
//! A test that rarely replaces the default wrongly misses small gains. Which gains it misses depends on the noise: on
//! how much the ratio of two candidates' times varies from one launch to the next.

use std::f64::consts::SQRT_2;

use results::{DetectableGain, Summary};
use statistics::{median, paired_ratios};
use vocabulary::{Candidate, Cell, Subject};

use crate::fresh::FreshMeasurements;
use crate::{DecideOptions, confirming_launches, launches_with_one_contrary};

/// The probability with which a detectable gain is confirmed.
pub const POWER: f64 = 0.8;

/// The fewest ratios of a candidate from which noise is estimated.
const ENOUGH_RATIOS: usize = 3;

/// The largest gain that is considered.
const LARGEST_GAIN: f64 = 100.0;

/// The probability that fresh launches confirm a candidate whose true gain is `gain`: the default's time divided by the
/// candidate's.
///
/// `noise` is the standard deviation of the logarithm of the ratio of both times in one launch. Launches are
/// independent and have the same gain and noise in all `patterns` of calls. As in [`FreshMeasurements`], the candidate
/// must be faster in all of the first launches, or in all but one of more launches, and its median gain must be
/// material.
pub fn confirming_power(gain: f64, noise: f64, patterns: usize, options: &DecideOptions) -> f64 {
    let launch = LaunchOdds::new(gain, noise, options.materiality);
    let first = confirming_launches(options.confidence);
    let in_pattern = |is_own: bool| {
        let all = launches_with_one_contrary(options.confidence, is_own);
        launch.pass_at_once(first) + launch.pass_with_one_contrary(first, all)
    };
    let others = patterns.saturating_sub(1) as f64;
    in_pattern(true) * in_pattern(false).powf(others)
}

/// The smallest gain that is confirmed with probability [`POWER`].
pub fn detectable_gain(noise: f64, patterns: usize, options: &DecideOptions) -> f64 {
    let suffices = |gain: f64| confirming_power(gain, noise, patterns, options) >= POWER;
    let (mut low, mut high) = (1.0 + options.materiality, LARGEST_GAIN);
    if !suffices(high) {
        return LARGEST_GAIN;
    }
    // The probability grows with the gain.
    while high / low > 1.0 + 1e-4 {
        let middle = (low * high).sqrt();
        if suffices(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The probabilities of the outcomes of one launch.
struct LaunchOdds {
    /// The candidate is not faster.
    contrary: f64,
    /// It is faster, by less than what is material.
    immaterial: f64,
    /// It is faster, by more.
    material: f64,
}

impl LaunchOdds {
    fn new(gain: f64, noise: f64, materiality: f64) -> Self {
        // The probability that the ratio is below a value: its logarithm is normal.
        let below = |value: f64| {
            let deviations = (value / gain).ln() / noise.max(1e-9);
            0.5 * libm::erfc(-deviations / SQRT_2)
        };
        let (contrary, not_material) = (below(1.0), below(1.0 + materiality));
        Self {
            contrary,
            immaterial: not_material - contrary,
            material: 1.0 - not_material,
        }
    }

    /// The probability that the candidate is faster in all launches and its median gain is material.
    fn pass_at_once(&self, launches: u32) -> f64 {
        self.faster_in_all(launches, 0, launches)
    }

    /// The probability that it is not faster in one of the `first` launches, faster in all others, and that its median
    /// gain is material.
    fn pass_with_one_contrary(&self, first: u32, launches: u32) -> f64 {
        f64::from(first) * self.contrary * self.faster_in_all(launches - 1, 1, launches)
    }

    /// The probability that it is faster in all of some launches, and that the median of these and of `contrary`
    /// further ones, `all` together, is material.
    fn faster_in_all(&self, launches: u32, contrary: u32, all: u32) -> f64 {
        let outcome = |immaterial: u32| {
            let ways = binomial_coefficient(launches, immaterial);
            let probability = self.immaterial.powf(f64::from(immaterial))
                * self.material.powf(f64::from(launches - immaterial));
            ways * probability * median_is_material(immaterial + contrary, all)
        };
        (0..=launches).map(outcome).sum()
    }
}

/// The probability that the median is material if `below` of all ratios are not. If these are half of all, it is the
/// mean of one that is and one that is not.
fn median_is_material(below: u32, all: u32) -> f64 {
    match (2 * below).cmp(&all) {
        std::cmp::Ordering::Less => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Greater => 0.0,
    }
}

/// The number of ways to choose `chosen` of `all`.
fn binomial_coefficient(all: u32, chosen: u32) -> f64 {
    let factor = |place: u32| f64::from(all - place) / f64::from(place + 1);
    (0..chosen).map(factor).product()
}

/// The noise between the launches of a campaign, and the gain that it lets fresh launches find; `None` if too few
/// launches compared candidates with the default.
///
/// The noise is the median over all cells and candidates: in fresh launches, as they decide, or in exploring ones until
/// there are enough of these.
pub(crate) fn campaign_power(
    explored: &[Summary],
    fresh: &FreshMeasurements,
    options: &DecideOptions,
) -> Option<DetectableGain> {
    let noise = noise_of_ratios(&fresh.all_ratios())
        .or_else(|| noise_of_ratios(&explored_ratios(explored)))?;
    Some(DetectableGain {
        noise,
        gain: detectable_gain(noise, fresh.pattern_count(), options),
    })
}

/// The default's time divided by each candidate's, launch by launch.
fn explored_ratios(summaries: &[Summary]) -> Vec<Vec<f64>> {
    let of_cells = summaries
        .iter()
        .filter_map(|summary| match summary.subject {
            Subject::Cell(cell) => Some((cell, summary)),
            Subject::Experiment(_) => None,
        });
    let of_cells: Vec<(Cell, &Summary)> = of_cells.collect();
    // Summaries of a cell follow each other, the default first.
    let cells = of_cells.chunk_by(|(a, _), (b, _)| a == b);
    let of_cell = |of_cell: &[(Cell, &Summary)]| -> Vec<Vec<f64>> {
        let mut all = of_cell.iter().map(|(_, summary)| *summary);
        let is_default = |summary: &&Summary| summary.candidate == Candidate::Default;
        let Some(default) = all.clone().find(is_default) else {
            return Vec::new();
        };
        let rivals = all.by_ref().filter(|summary| !is_default(summary));
        rivals
            .map(|rival| paired_ratios(&default.launch_medians, &rival.launch_medians))
            .collect()
    };
    cells.flat_map(of_cell).collect()
}

/// The median of the standard deviations of the logarithms of ratios.
fn noise_of_ratios(ratios: &[Vec<f64>]) -> Option<f64> {
    let deviations: Vec<f64> = ratios
        .iter()
        .filter(|ratios| ratios.len() >= ENOUGH_RATIOS)
        .map(|ratios| standard_deviation(ratios.iter().map(|ratio| ratio.ln()).collect()))
        .collect();
    median(&deviations)
}

fn standard_deviation(values: Vec<f64>) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (squares.sum::<f64>() / (count - 1.0)).sqrt()
}
