//! Simulated series: the logarithm of a ratio of times, night by night. The same seed gives the same series.

use std::f64::consts::PI;

use statistics::{ChangeDetector, ChangeRule, LevelChange};

/// Nights of a year.
pub(crate) const YEAR: usize = 365;
/// Series of a site.
pub(crate) const SERIES: usize = 100;
/// Quantities of a series that a look examines: the ratio of the times and the default's time.
pub(crate) const QUANTITIES: usize = 2;
/// The shift that is to be found within a week: 10 %, as a logarithm.
pub(crate) const SHIFT: f64 = 0.095_310_179_804_324_87;
/// The nights within which it is to be found.
pub(crate) const WEEK: usize = 7;

/// The rule of a service for each quantity: together, one finding a year on 100 series that do not change, and changes of
/// 5 %.
pub(crate) fn nightly_rule() -> ChangeRule {
    ChangeRule {
        false_alarms_per_look: 1.0 / (YEAR * SERIES * QUANTITIES) as f64,
        suspicions_per_look: 0.002,
        least_size: 1.05_f64.ln(),
    }
}

/// Random numbers (splitmix64, Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number between 0 and 1, without both.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next_bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A normally distributed number (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (2.0 * PI * self.uniform()).cos()
    }

    /// A whole number from `from` to below `to`.
    pub(crate) fn between(&mut self, from: usize, to: usize) -> usize {
        from + (self.uniform() * (to - from) as f64) as usize
    }
}

/// The noise of a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NightNoise {
    /// The standard deviation of a night.
    pub(crate) deviation: f64,
    /// The share of nights that are slow as a whole.
    pub(crate) slow_nights: f64,
    /// By how much they are slow.
    pub(crate) slow_by: f64,
}

impl NightNoise {
    /// Normally distributed noise.
    pub(crate) const fn normal(deviation: f64) -> Self {
        Self {
            deviation,
            slow_nights: 0.0,
            slow_by: 0.0,
        }
    }

    /// A series of nights around 0.
    pub(crate) fn series(self, nights: usize, random: &mut Random) -> Vec<f64> {
        let night = |_| {
            let is_slow = random.uniform() < self.slow_nights;
            let slow = if is_slow { self.slow_by } else { 0.0 };
            slow + self.deviation * random.normal()
        };
        (0..nights).map(night).collect()
    }
}

/// The number of findings in years of series that do not change, of all quantities together. The quantities have the same
/// noise; whether they depend on each other does not matter to the expected number.
pub(crate) fn count_false_findings(
    detector: &ChangeDetector,
    noise: NightNoise,
    years: u64,
    seed: u64,
) -> usize {
    let mut random = Random(seed);
    let mut found = 0;
    for _ in 0..years * (SERIES * QUANTITIES) as u64 {
        let series = noise.series(YEAR, &mut random);
        found += detector.find_changes(&series).changes.len();
    }
    found
}

/// What was found of shifts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FoundShifts {
    /// The series, each with one shift.
    pub(crate) series: usize,
    /// Those whose shift was found within a week.
    pub(crate) within_week: usize,
    /// Those whose shift was found within four weeks.
    pub(crate) within_month: usize,
    /// Findings before the shift, or again after it was found.
    pub(crate) false_findings: usize,
}

/// Looks for a shift of 10 % in one quantity of each of some series, which begins after as many nights as `history` draws, half of them
/// upwards and half downwards, and ends four weeks later.
pub(crate) fn find_shifts(
    detector: &ChangeDetector,
    noise: NightNoise,
    series: usize,
    seed: u64,
    history: impl Fn(&mut Random) -> usize,
) -> FoundShifts {
    let mut random = Random(seed);
    let mut all = FoundShifts {
        series,
        ..FoundShifts::default()
    };
    for number in 0..series {
        let begins = history(&mut random);
        let mut values = noise.series(begins + 4 * WEEK, &mut random);
        let shift = if number % 2 == 0 { SHIFT } else { -SHIFT };
        for value in &mut values[begins..] {
            *value += shift;
        }
        let found = detector.find_changes(&values).changes;
        let is_shift = |change: &&LevelChange| {
            change.found_at >= begins && (change.after > change.before) == (shift > 0.0)
        };
        let first = found.iter().find(is_shift);
        all.within_month += usize::from(first.is_some());
        all.within_week += usize::from(first.is_some_and(|change| change.found_at < begins + WEEK));
        all.false_findings += found.len() - usize::from(first.is_some());
    }
    all
}
