//! Logarithmic axes.

use vocabulary::units::{format_bytes, format_seconds};

use crate::text::format_factor;

/// The quantity on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A size.
    Bytes,
    /// A number of ranks.
    Ranks,
    /// A time.
    Seconds,
    /// A ratio of two times.
    Factor,
}

impl Quantity {
    /// A value with its unit.
    pub(super) fn format(self, value: f64) -> String {
        match self {
            Self::Bytes => format_bytes(value.round() as u64),
            Self::Ranks => format!("{value:.0}"),
            Self::Seconds => format_seconds(value),
            Self::Factor => format_factor(value),
        }
    }

    /// A value in short form, for an axis.
    fn tick_label(self, value: f64) -> String {
        match self {
            Self::Seconds => format_seconds(value)
                .replace(".00 ", " ")
                .replace(".0 ", " "),
            Self::Factor => format!("{value}x"),
            _ => self.format(value),
        }
    }
}

/// A logarithmic axis on the page.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    quantity: Quantity,
    /// Ends of the axis, positive.
    low: f64,
    high: f64,
    /// The positions of the ends, in pixels.
    from: f64,
    to: f64,
}

/// The most ticks on an axis.
const MOST_TICKS: usize = 8;

impl Scale {
    /// An axis for the positive ones of these values, from pixel `from` to `to`; `None` if there are none.
    pub(super) fn new(
        quantity: Quantity,
        values: impl Iterator<Item = f64>,
        [from, to]: [f64; 2],
    ) -> Option<Self> {
        let [low, high] = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold([f64::INFINITY, 0.0], |[low, high], value| {
                [f64::min(low, value), f64::max(high, value)]
            });
        if high <= 0.0 {
            return None;
        }
        // Keeps points off the frame, and a single one in its middle.
        let room = match high / low {
            same if same < 1.2 => 1.5,
            ratio => ratio.powf(0.04),
        };
        Some(Self {
            quantity,
            low: (low / room).max(f64::MIN_POSITIVE),
            high: (high * room).min(f64::MAX),
            from,
            to,
        })
    }

    /// The pixel of a value; values below the axis are at its lower end.
    pub(super) fn pixel_of(&self, value: f64) -> f64 {
        let share = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        self.from + (self.to - self.from) * share.min(1.0)
    }

    /// Whether a value is on the axis.
    pub(super) fn is_on_axis(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Round values with their pixels and labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let values = match self.quantity {
            Quantity::Bytes | Quantity::Ranks => self.power_ticks(2.0),
            Quantity::Seconds | Quantity::Factor => self.decimal_ticks(),
        };
        let place = |value: f64| (self.pixel_of(value), self.quantity.tick_label(value));
        values.into_iter().map(place).collect()
    }

    /// Every power of a base, or every second, third etc.
    fn power_ticks(&self, base: f64) -> Vec<f64> {
        let [first, last] = [
            self.low.log(base).ceil() as i32,
            self.high.log(base).floor() as i32,
        ];
        let count = usize::try_from(last - first + 1).unwrap_or(0);
        let step = count.div_ceil(MOST_TICKS).max(1);
        (first..=last)
            .step_by(step)
            .map(|power| base.powi(power))
            .collect()
    }

    /// Simple multiples of the powers of ten, with as many digits as there is room for.
    fn decimal_ticks(&self) -> Vec<f64> {
        let choices: [&[f64]; 4] = [
            &[
                1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0,
                7.0, 8.0, 9.0,
            ],
            &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            &[1.0, 2.0, 5.0],
            &[1.0],
        ];
        let decades = self.low.log10().floor() as i32..=self.high.log10().floor() as i32;
        let with = |digits: &[f64]| -> Vec<f64> {
            decades
                .clone()
                .flat_map(|decade| {
                    // Dividing by whole powers gives the nearest decimals.
                    let value = move |digit: &f64| {
                        if decade < 0 {
                            digit / 10_f64.powi(-decade)
                        } else {
                            digit * 10_f64.powi(decade)
                        }
                    };
                    digits.iter().map(value).collect::<Vec<_>>()
                })
                .filter(|value| self.is_on_axis(*value))
                .collect()
        };
        let fitting = choices.iter().map(|digits| with(digits));
        fitting
            .into_iter()
            .find(|values| values.len() <= MOST_TICKS)
            .unwrap_or_else(|| self.power_ticks(100.0))
    }
}
