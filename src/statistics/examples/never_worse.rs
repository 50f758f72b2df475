//! The verdict of `scripts/never-worse` on the times that it has taken.
//!
//! A folder has a file `WHICH.ROUND` a launch, `WHICH` being `none`, `empty` or `table`, with a line a
//! point: collective, pattern, bytes, seconds.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use statistics::{holm, median, median_interval, sign_test};

/// A point is slower if it is by more than this share and by more than so many seconds.
const SHARE: f64 = 0.10;
const SECONDS: f64 = 10e-9;

/// The probability of naming any point wrongly.
const LEVEL: f64 = 0.05;

/// Collective, pattern, bytes.
type Point = (String, String, u64);

/// Seconds by point, one a round.
type Times = BTreeMap<Point, Vec<f64>>;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["suspects", first] => {
            let (none, table) = (read(first, "none")?, read(first, "table")?);
            for ((collective, pattern, bytes), _, _) in slower(&none, &table) {
                println!("{collective} {pattern} {bytes}");
            }
            Ok(ExitCode::SUCCESS)
        }
        ["report", first, fresh] => report(first, fresh),
        _ => Err("usage: never_worse suspects FOLDER, or never_worse report FOLDER FRESH".into()),
    }
}

fn read(folder: &str, which: &str) -> Result<Times, Box<dyn Error>> {
    let mut times = Times::new();
    for round in 1.. {
        let path = Path::new(folder).join(format!("{which}.{round}"));
        if !path.exists() {
            break;
        }
        for line in std::fs::read_to_string(&path)?.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [collective, pattern, bytes, seconds] = words[..] else {
                return Err(format!("{}: {line:?} is not a time", path.display()).into());
            };
            let point = (collective.to_owned(), pattern.to_owned(), bytes.parse()?);
            times.entry(point).or_default().push(seconds.parse()?);
        }
    }
    Ok(times)
}

/// The points that take longer with the table by the medians of ratios and differences of rounds, with
/// both medians.
fn slower(none: &Times, table: &Times) -> Vec<(Point, f64, f64)> {
    let points = none.iter().filter_map(|(point, without)| {
        let with = table.get(point)?;
        let pairs = || without.iter().zip(with);
        let ratio = median(&pairs().map(|(a, b)| b / a).collect::<Vec<_>>())?;
        let more = median(&pairs().map(|(a, b)| b - a).collect::<Vec<_>>())?;
        (ratio > 1.0 + SHARE && more > SECONDS).then(|| (point.clone(), ratio, more))
    });
    points.collect()
}

fn report(first: &str, fresh: &str) -> Result<ExitCode, Box<dyn Error>> {
    let (none, empty) = (read(first, "none")?, read(first, "empty")?);
    let table = read(first, "table")?;
    let suspects = slower(&none, &table).len();
    let remaining = remaining(&read(fresh, "none")?, &read(fresh, "table")?);
    println!(
        "{} points, {suspects} suspects in the first rounds, {} slower in fresh ones.\n",
        none.len(),
        remaining.len()
    );
    for ((collective, pattern, bytes), ratio, more) in &remaining {
        let nanoseconds = more * 1e9;
        println!(
            "- {collective} {pattern} {bytes} bytes: {ratio:.2} times as long, {nanoseconds:.0} ns more"
        );
    }
    println!("\n| collective | pattern | passing on | with the table | interval over rounds |");
    println!("|---|---|--:|--:|--:|");
    let mut above = 0;
    let mut groups: Vec<(&String, &String)> = none.keys().map(|(c, p, _)| (c, p)).collect();
    groups.dedup();
    for (collective, pattern) in groups {
        let of = |times| means(&none, times, collective, pattern);
        let (passing, with) = (of(&empty), of(&table));
        let (Some(cost), Some(mean)) = (median(&passing), median(&with)) else {
            continue;
        };
        let Some(interval) = median_interval(&with, 0.95) else {
            continue;
        };
        let is_above = interval.low > cost.max(1.0);
        above += usize::from(is_above);
        println!(
            "| {collective} | {pattern} | {cost:.3} | {mean:.3} | {:.3} .. {:.3}{} |",
            interval.low,
            interval.high,
            if is_above { " **above**" } else { "" }
        );
    }
    println!(
        "\nPassing a call on costs {:.1} ns below 4 KiB, by the median.",
        passing_on(&none, &empty)
    );
    Ok(match remaining.len() + above {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// The suspects that are slower in fresh rounds for certain, and by as much.
fn remaining(none: &Times, table: &Times) -> Vec<(Point, f64, f64)> {
    let probabilities: Vec<f64> = none
        .iter()
        .map(|(point, without)| {
            let with = table.get(point).map_or(&[][..], Vec::as_slice);
            let above = without.iter().zip(with).filter(|(a, b)| b > a).count();
            sign_test(above as u32, without.len() as u32)
        })
        .collect();
    let refuted = holm(&probabilities, LEVEL);
    let sure: Vec<&Point> = none
        .keys()
        .zip(refuted)
        .filter_map(|(point, is_sure)| is_sure.then_some(point))
        .collect();
    let mut slower = slower(none, table);
    slower.retain(|(point, ..)| sure.contains(&point));
    slower
}

/// The geometric mean over sizes of times divided by those without the library, one a round.
fn means(none: &Times, times: &Times, collective: &str, pattern: &str) -> Vec<f64> {
    let points: Vec<(&Vec<f64>, &Vec<f64>)> = none
        .iter()
        .filter(|((c, p, _), _)| c == collective && p == pattern)
        .filter_map(|(point, without)| Some((without, times.get(point)?)))
        .collect();
    let rounds = points.iter().map(|(a, b)| a.len().min(b.len())).min();
    let mean = |round: usize| {
        let logarithms = points.iter().map(|(a, b)| (b[round] / a[round]).ln());
        (logarithms.sum::<f64>() / points.len() as f64).exp()
    };
    (0..rounds.unwrap_or(0)).map(mean).collect()
}

/// Nanoseconds that an empty table adds to calls of less than 4 KiB.
fn passing_on(none: &Times, empty: &Times) -> f64 {
    let points = none.iter().filter(|((_, _, bytes), _)| *bytes < 4096);
    let differences: Vec<f64> = points
        .filter_map(|(point, without)| {
            let with = empty.get(point)?;
            let pairs: Vec<f64> = without.iter().zip(with).map(|(a, b)| b - a).collect();
            median(&pairs)
        })
        .collect();
    median(&differences).unwrap_or(0.0) * 1e9
}
