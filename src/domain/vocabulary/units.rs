//! Sizes and durations as text.

use thiserror::Error;

use crate::bounds::{BYTES, DURATION};

/// A size or duration that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnitError {
    /// Not a size.
    #[error("`{0}` is not a size; write bytes as in 512, 64K, 1M or 8MiB (K = 1024)")]
    Size(String),
    /// Not a duration.
    #[error("`{0}` is not a duration; write it as in 90s, 20m, 1h30m or 500ms")]
    Duration(String),
    /// A size that is not within [`BYTES`].
    #[error("`{0}` is not {BYTES}")]
    LargeSize(String),
    /// A duration that is not within [`DURATION`].
    #[error("`{0}` is not {DURATION}")]
    LongDuration(String),
    /// Not a range of sizes.
    #[error("`{0}` is not a range of sizes; write it as in 8..4M x8 (both ends included)")]
    Range(String),
}

const SIZE_UNITS: [(&str, u32); 4] = [("K", 10), ("M", 20), ("G", 30), ("T", 40)];

/// Reads a size within [`BYTES`]: `512`, `64K`, `1M`, `8MiB`; factors are powers of 1024.
///
/// ```
/// assert_eq!(vocabulary::units::parse_bytes("64K"), Ok(65536));
/// assert_eq!(vocabulary::units::parse_bytes("8MiB"), Ok(8 << 20));
/// assert!(vocabulary::units::parse_bytes("8 apples").is_err());
/// ```
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let error = || UnitError::Size(text.to_owned());
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(error());
    }
    let unit = unit.trim();
    let shift = match unit
        .strip_suffix("iB")
        .or(unit.strip_suffix('B'))
        .unwrap_or(unit)
    {
        "" if unit.starts_with('i') => return Err(error()),
        "" => 0,
        letter => {
            let known = SIZE_UNITS
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(letter));
            known.ok_or_else(error)?.1
        }
    };
    let bytes = number
        .parse()
        .ok()
        .and_then(|number: u64| number.checked_mul(1 << shift));
    bytes
        .and_then(|bytes| BYTES.if_within(bytes))
        .ok_or_else(|| UnitError::LargeSize(text.to_owned()))
}

/// Writes a size with the largest unit that divides it: `65536` is `64K`, `1000` stays `1000`.
pub fn format_bytes(bytes: u64) -> String {
    for (name, shift) in SIZE_UNITS.iter().rev() {
        if bytes > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{name}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// Reads a geometric range, `1..4M x2`, with both ends included and the default factor 2; a single size is a range of
/// one.
///
/// ```
/// assert_eq!(vocabulary::units::parse_byte_range("8..64 x2"), Ok(vec![8, 16, 32, 64]));
/// assert_eq!(vocabulary::units::parse_byte_range("8..100 x4"), Ok(vec![8, 32, 100]));
/// ```
pub fn parse_byte_range(text: &str) -> Result<Vec<u64>, UnitError> {
    let error = || UnitError::Range(text.to_owned());
    let Some((first, rest)) = text.split_once("..") else {
        return Ok(vec![parse_bytes(text)?]);
    };
    let (last, factor) = rest.split_once('x').unwrap_or((rest, "2"));
    let (first, last) = (parse_bytes(first)?, parse_bytes(last)?);
    let factor: u64 = factor.trim().parse().map_err(|_| error())?;
    if first == 0 || first > last || factor < 2 {
        return Err(error());
    }
    let mut sizes: Vec<u64> = std::iter::successors(Some(first), |size| size.checked_mul(factor))
        .take_while(|size| *size < last)
        .collect();
    sizes.push(last);
    Ok(sizes)
}

const TIME_UNITS: [(&str, f64); 5] = [
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86400.0),
];

/// Reads a duration within [`DURATION`] in seconds: `90s`, `20m`, `1h30m`, `500ms`, `3 days`.
///
/// ```
/// assert_eq!(vocabulary::units::parse_seconds("1h30m"), Ok(5400.0));
/// ```
pub fn parse_seconds(text: &str) -> Result<f64, UnitError> {
    let error = || UnitError::Duration(text.to_owned());
    let mut rest = text.trim();
    let mut total = 0.0;
    if rest.is_empty() {
        return Err(error());
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(error)?;
        let (number, tail) = rest.split_at(digits);
        let number: f64 = number.parse().map_err(|_| error())?;
        let tail = tail.trim_start();
        let letters = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let unit = match unit {
            "day" | "days" => "d",
            "min" => "m",
            "sec" => "s",
            _ => unit,
        };
        let known = TIME_UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(error)?;
        total += number * known.1;
        rest = tail.trim_start();
    }
    DURATION
        .if_within(total)
        .ok_or_else(|| UnitError::LongDuration(text.to_owned()))
}

/// Writes a duration as campaigns do, rounded up: `90s`, `12m`, `3h`.
///
/// ```
/// use vocabulary::units::{format_duration_up, parse_seconds};
///
/// assert_eq!(format_duration_up(0.1234), "130ms");
/// assert_eq!(format_duration_up(81.0), "90s");
/// assert_eq!(format_duration_up(700.0), "12m");
/// assert_eq!(format_duration_up(10_801.0), "4h");
/// assert_eq!(parse_seconds(&format_duration_up(81.0)), Ok(90.0));
/// ```
pub fn format_duration_up(seconds: f64) -> String {
    let in_steps = |step: f64| (seconds / step).ceil().max(1.0);
    match seconds {
        s if s <= 1e-3 => "1ms".to_owned(),
        // Two significant digits.
        s if s <= 10.0 => format!("{}ms", {
            let step = 10.0_f64.powf((s * 1e3).log10().floor() - 1.0).max(1.0);
            step * in_steps(step * 1e-3)
        }),
        s if s <= 120.0 => format!("{}s", 10.0 * in_steps(10.0)),
        s if s <= 10_800.0 => format!("{}m", in_steps(60.0)),
        _ => format!("{}h", in_steps(3600.0)),
    }
}

/// Writes a time exactly, in the form that campaigns use: as a number of the largest unit of which it is a whole
/// multiple.
///
/// ```
/// use vocabulary::units::{format_duration, parse_seconds};
///
/// assert_eq!(format_duration(90.0), "90s");
/// assert_eq!(format_duration(600.0), "10m");
/// assert_eq!(format_duration(5400.0), "90m");
/// assert_eq!(format_duration(0.3), "300ms");
/// assert_eq!(format_duration(1.5), "1500ms");
/// assert_eq!(parse_seconds(&format_duration(86_400.0)), Ok(86_400.0));
/// ```
pub fn format_duration(seconds: f64) -> String {
    let units = [
        (3600.0, "h"),
        (60.0, "m"),
        (1.0, "s"),
        (1e-3, "ms"),
        (1e-6, "us"),
    ];
    let whole = units.iter().find_map(|(unit, name)| {
        let number = (seconds / unit).round();
        // The quotient of two decimal fractions need not be exact.
        let is_whole = number >= 1.0 && (number * unit / seconds - 1.0).abs() < 1e-12;
        is_whole.then(|| format!("{number}{name}"))
    });
    whole.unwrap_or_else(|| format!("{seconds}s"))
}

/// Writes a time with three significant digits and a suitable unit: `1.25 us`, `340 ns`, `2.10 s`.
pub fn format_seconds(seconds: f64) -> String {
    // A value that rounds to a thousand gets the next unit.
    let (value, unit) = match seconds.abs() {
        s if s < 999.5e-9 => (seconds * 1e9, "ns"),
        s if s < 999.5e-6 => (seconds * 1e6, "us"),
        s if s < 999.5e-3 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    let digits = match value.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// Writes a whole number with its noun, which must have a regular plural: `1 cell`, `2 cells`.
///
/// ```
/// assert_eq!(vocabulary::units::format_counted(1, "cell"), "1 cell");
/// assert_eq!(vocabulary::units::format_counted(0, "launch"), "0 launches");
/// ```
pub fn format_counted(number: impl std::fmt::Display, noun: &str) -> String {
    let number = number.to_string();
    let plural = match &*number {
        "1" => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{number} {noun}{plural}")
}

/// Writes a number with its thousands separated: `1234567` is `1 234 567`.
pub fn format_count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// The power of two that is nearest as a ratio, for sizes in bytes.
pub fn nearest_power_of_two(bytes: u64) -> u64 {
    let exponent = bytes.max(1).ilog2().min(62);
    let below = 1u64 << exponent;
    // The border is the geometric mean, below * sqrt(2).
    let above = u128::from(bytes).pow(2) > 2 * u128::from(below).pow(2);
    if above { below << 1 } else { below }
}
