//! The verdict of `scripts/never-worse` on the times that it has measured.
//!
//! A folder has one file per launch, `WHICH.ROUND`, where `WHICH` is `empty` or `table`, with one line per point:
//! collective, pattern, bytes, seconds of a call that the library intercepts, seconds of one that it does not. Only
//! times of one launch are compared.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use statistics::{holm_rejections, median, median_interval, sign_test};

/// A point counts as slower if it is slower by more than this share and by more than these seconds.
const SHARE: f64 = 0.10;
const SECONDS: f64 = 10e-9;

/// The probability of naming any point wrongly.
const LEVEL: f64 = 0.05;
const CONFIDENCE: f64 = 0.95;

/// Collective, pattern, bytes.
type Point = (String, String, u64);

/// The times of a point in one launch.
#[derive(Clone, Copy)]
struct Seconds {
    intercepted: f64,
    direct: f64,
}

impl Seconds {
    fn ratio(self) -> f64 {
        self.intercepted / self.direct
    }

    fn more(self) -> f64 {
        self.intercepted - self.direct
    }
}

/// The times by point, one entry per launch.
type Times = BTreeMap<Point, Vec<Seconds>>;

/// Exit code 1 means that the table makes a point slower, 3 that there is no result.
fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("never-worse: {error}");
        ExitCode::from(3)
    })
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["suspects", first] => {
            let table = read(first, "table")?;
            for ((collective, pattern, bytes), ..) in slower(&table) {
                println!("{collective} {pattern} {bytes}");
            }
            Ok(ExitCode::SUCCESS)
        }
        ["report", first, fresh] => report(first, fresh),
        ["points", first, fresh] => points(first, fresh),
        _ => Err(
            "usage: never_worse suspects FIRST, or report FIRST FRESH, or points FIRST FRESH; \
            FIRST and FRESH are folders"
                .into(),
        ),
    }
}

/// The launches of a kind; all of them have the same points.
fn read(folder: &str, which: &str) -> Result<Times, Box<dyn Error>> {
    let mut times = Times::new();
    for round in 1.. {
        let path = Path::new(folder).join(format!("{which}.{round}"));
        if !path.exists() {
            break;
        }
        for (number, line) in std::fs::read_to_string(&path)?.lines().enumerate() {
            let (point, seconds) = point(line)
                .ok_or_else(|| format!("{}:{}: no times: {line:?}", path.display(), number + 1))?;
            times.entry(point).or_default().push(seconds);
        }
        if let Some((point, _)) = times.iter().find(|(_, launches)| launches.len() != round) {
            return Err(format!("{}: not once: {point:?}", path.display()).into());
        }
    }
    Ok(times)
}

fn point(line: &str) -> Option<(Point, Seconds)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [collective, pattern, bytes, intercepted, direct, _, _] = words[..] else {
        return None;
    };
    let point = (
        collective.to_owned(),
        pattern.to_owned(),
        bytes.parse().ok()?,
    );
    let positive = |word: &str| word.parse().ok().filter(|seconds| *seconds > 0.0);
    let seconds = Seconds {
        intercepted: positive(intercepted)?,
        direct: positive(direct)?,
    };
    Some((point, seconds))
}

fn ratios(launches: &[Seconds]) -> Vec<f64> {
    launches.iter().map(|seconds| seconds.ratio()).collect()
}

/// The points that take longer by the medians of launches' ratios and differences, with both medians.
fn slower(times: &Times) -> Vec<(Point, f64, f64)> {
    let points = times.iter().filter_map(|(point, launches)| {
        let ratio = median(&ratios(launches))?;
        let more = launches.iter().map(|seconds| seconds.more());
        let more = median(&more.collect::<Vec<_>>())?;
        (ratio > 1.0 + SHARE && more > SECONDS).then(|| (point.clone(), ratio, more))
    });
    points.collect()
}

/// The suspects that are significantly slower in fresh launches, by at least the same limits.
fn remaining(fresh: &Times) -> Vec<(Point, f64, f64)> {
    let probabilities = fresh.values().map(|launches| {
        let above = launches.iter().filter(|seconds| seconds.more() > 0.0);
        sign_test(above.count() as u32, launches.len() as u32)
    });
    let refuted = holm_rejections(&probabilities.collect::<Vec<_>>(), LEVEL);
    let sure: Vec<&Point> = fresh
        .keys()
        .zip(refuted)
        .filter_map(|(point, is_sure)| is_sure.then_some(point))
        .collect();
    let mut slower = slower(fresh);
    slower.retain(|(point, ..)| sure.contains(&point));
    slower
}

/// Fresh launches, which must have timed all suspects.
fn read_fresh(table: &Times, fresh: &str) -> Result<Times, Box<dyn Error>> {
    let times = read(fresh, "table")?;
    match slower(table)
        .iter()
        .find(|(point, ..)| !times.contains_key(point))
    {
        Some((point, ..)) => Err(format!("{fresh}: no fresh times of {point:?}").into()),
        None => Ok(times),
    }
}

fn report(first: &str, fresh: &str) -> Result<ExitCode, Box<dyn Error>> {
    let (empty, table) = (read(first, "empty")?, read(first, "table")?);
    let remaining = remaining(&read_fresh(&table, fresh)?);
    println!(
        "{} points, {} suspects in the first launches, {} slower in fresh ones.",
        table.len(),
        slower(&table).len(),
        remaining.len()
    );
    if !remaining.is_empty() {
        println!();
    }
    for ((collective, pattern, bytes), ratio, more) in &remaining {
        let nanoseconds = more * 1e9;
        println!(
            "- {collective} {pattern} {bytes} bytes: {ratio:.2} times as long, {nanoseconds:.0} ns more"
        );
    }
    println!("\n| collective | pattern | passing on | interval | with the table | interval |");
    println!("|---|---|--:|--:|--:|--:|");
    let mut above = 0;
    let mut groups: Vec<(&String, &String)> = table.keys().map(|(c, p, _)| (c, p)).collect();
    groups.dedup();
    for (collective, pattern) in groups {
        let (passing, with) = (
            mean(&empty, collective, pattern)?,
            mean(&table, collective, pattern)?,
        );
        // The cost of passing on is known only to this accuracy: by chance, all of six launches are above all of six
        // others in one of 924 cases.
        let is_above = with.low > passing.high.max(1.0);
        above += usize::from(is_above);
        let mark = if is_above { " **above**" } else { "" };
        println!("| {collective} | {pattern} | {passing} | {with}{mark} |");
    }
    println!(
        "\nPassing a call on costs {:.1} ns below 4 KiB, by the median.",
        passing_on(&empty)
    );
    Ok(match remaining.len() + above {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// A median of launches with its interval.
struct Between {
    median: f64,
    low: f64,
    high: f64,
}

impl Between {
    fn of(ratios: &[f64]) -> Option<Self> {
        let interval = median_interval(ratios, CONFIDENCE)?;
        Some(Self {
            median: median(ratios)?,
            low: interval.low,
            high: interval.high,
        })
    }
}

impl std::fmt::Display for Between {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { median, low, high } = self;
        write!(f, "{median:.3} | {low:.3} .. {high:.3}")
    }
}

/// The geometric mean of the ratios over sizes, over launches.
fn mean(times: &Times, collective: &str, pattern: &str) -> Result<Between, Box<dyn Error>> {
    let points: Vec<Vec<f64>> = times
        .iter()
        .filter(|((c, p, _), _)| c == collective && p == pattern)
        .map(|(_, launches)| ratios(launches))
        .collect();
    let launches = points.first().map_or(0, Vec::len);
    let mean = |launch: usize| {
        let logarithms = points.iter().map(|ratios| ratios[launch].ln());
        (logarithms.sum::<f64>() / points.len() as f64).exp()
    };
    let means: Vec<f64> = (0..launches).map(mean).collect();
    Between::of(&means).ok_or_else(|| format!("no times of {collective} {pattern}").into())
}

/// Nanoseconds that an empty table adds to calls of less than 4 KiB.
fn passing_on(empty: &Times) -> f64 {
    let points = empty.iter().filter(|((_, _, bytes), _)| *bytes < 4096);
    let differences: Vec<f64> = points
        .filter_map(|(_, launches)| {
            let more: Vec<f64> = launches.iter().map(|seconds| seconds.more()).collect();
            median(&more)
        })
        .collect();
    median(&differences).unwrap_or(0.0) * 1e9
}

/// Prints one row per point; the times of a suspect are those of its fresh launches.
fn points(first: &str, fresh: &str) -> Result<ExitCode, Box<dyn Error>> {
    let (empty, table) = (read(first, "empty")?, read(first, "table")?);
    let fresh = read_fresh(&table, fresh)?;
    println!(
        "| collective | pattern | bytes | passing on | launches | with the table | interval |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|");
    for (point, launches) in &table {
        let launches = fresh.get(point).unwrap_or(launches);
        let (collective, pattern, bytes) = point;
        let passing = empty
            .get(point)
            .and_then(|with_empty| median(&ratios(with_empty)));
        let (Some(passing), Some(with)) = (passing, Between::of(&ratios(launches))) else {
            return Err(format!("no times of {point:?} with the empty table").into());
        };
        let count = launches.len();
        println!("| {collective} | {pattern} | {bytes} | {passing:.3} | {count} | {with} |");
    }
    Ok(ExitCode::SUCCESS)
}
