//! How often trends find changes that are none, and how soon they find a shift of 10 %, by simulation.
//!
//! usage: cargo run --example trend_findings -p statistics [YEARS]
//!
//! Exits with 1 if series with 3 % of noise have more than one finding a year in both quantities together, or if less than 95 % of the shifts are
//! found within seven nights.

#[path = "../tests/it/nights.rs"]
mod nights;

use std::error::Error;
use std::process::ExitCode;

use nights::{
    FoundShifts, NightNoise, QUANTITIES, Random, SERIES, WEEK, YEAR, count_false_findings,
    find_shifts, nightly_rule,
};
use statistics::ChangeDetector;

/// The seeds of the years without changes and of the shifts.
const SEEDS: [u64; 2] = [56, 57];
/// Series with a shift.
const SHIFTS: usize = 10_000;
/// The noise for which the bounds hold.
const USUAL: f64 = 0.03;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let years = std::env::args().nth(1);
    let years: u64 = years.map_or(Ok(100), |text| text.parse())?;
    let detector = ChangeDetector::new(nightly_rule());
    println!(
        "{SERIES} series of {QUANTITIES} quantities without changes, {years} years, seed {}:",
        SEEDS[0]
    );
    let mut is_good = true;
    for deviation in [0.01, USUAL, 0.05, 0.10] {
        for slow_nights in [0.0, 0.05] {
            let noise = NightNoise {
                slow_nights,
                slow_by: 0.3,
                ..NightNoise::normal(deviation)
            };
            let found = count_false_findings(&detector, noise, years, SEEDS[0]);
            let a_year = found as f64 / years as f64;
            let noise_percent = 100.0 * deviation;
            println!(
                "  noise {noise_percent:2.0} %, {:.0} % of nights 35 % slower: {a_year:.2} findings a year",
                100.0 * slow_nights
            );
            is_good &= deviation != USUAL || a_year <= 1.0;
        }
    }
    println!(
        "{SHIFTS} series with a shift of 10 % in one quantity, seed {}:",
        SEEDS[1]
    );
    for deviation in [USUAL, 0.05, 0.10] {
        let noise = NightNoise::normal(deviation);
        let some_night = |random: &mut Random| random.between(30, YEAR);
        let found = find_shifts(&detector, noise, SHIFTS, SEEDS[1], some_night);
        let (week, month) = (
            percent(found.within_week, &found),
            percent(found.within_month, &found),
        );
        println!(
            "  noise {:2.0} %, on a night from the 31st to the 365th: {week:.1} % within {WEEK} nights, {month:.1} % \
             within 28, {} other findings",
            100.0 * deviation,
            found.false_findings
        );
        is_good &= deviation != USUAL || week >= 95.0;
        for history in [14, 20, 30, 40, 60, 120] {
            let after = find_shifts(&detector, noise, SHIFTS, SEEDS[1], |_| history);
            println!(
                "    after {history:3} nights: {:.1} % within {WEEK} nights, {:.1} % within 28",
                percent(after.within_week, &after),
                percent(after.within_month, &after)
            );
        }
    }
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

/// A share of the series with a shift.
fn percent(found: usize, of: &FoundShifts) -> f64 {
    100.0 * found as f64 / of.series as f64
}
