//! The report on a published measurement, compared with the data.

/// The generator of the report.
#[path = "../../examples/hydra/study/mod.rs"]
mod study;

use model::Rates;
use results::{HeldOut, Method};
use study::gain::{BLOCK, Explanation, Factors, Pipeline, gains, rates, residuals, steady};
use study::{ELEMENT_BYTES, analyse, decisions, held_out, rows};

const REPORT: &str = include_str!("../../../../../reports/hydra.md");

#[test]
fn the_report_is_the_generated_one() {
    let generated = study::report().expect("generated");
    let differing = generated.lines().zip(REPORT.lines()).find(|(a, b)| a != b);
    assert_eq!(differing, None, "generate reports/hydra.md again");
    assert_eq!(generated.len(), REPORT.len());
}

#[test]
fn every_decision_is_within_two_percent_of_the_best() {
    let rows = rows().expect("read");
    let regrets = decisions::regrets(&rows, &analyse(|_| true).expect("analysed"));
    let regrets = regrets.expect("decided");
    assert_eq!(regrets.len(), 29);
    for (row, (chosen, regret)) in rows.iter().zip(regrets) {
        assert!(regret <= 0.02, "{}: {chosen} costs {regret}", row.elements);
    }
}

/// The mean over all counts is that of `evaluate`, which computes it differently.
#[test]
fn a_few_counts_cause_most_of_the_regret_of_those_held_out() {
    let rows = rows().expect("read");
    let scores = analyse(|_| true)
        .expect("analysed")
        .score_held_out_points()
        .expect("scores");
    let sizes = scores
        .iter()
        .find(|scores| scores.held_out == HeldOut::Sizes);
    let of_sizes = &sizes.expect("sizes are held out").scores;
    let table = of_sizes.iter().find(|score| score.method == Method::Table);
    let evaluated = table.and_then(|score| score.mean_everywhere);
    let everywhere = held_out::mean(held_out::points(&rows, 1).expect("decided").iter());
    let evaluated = evaluated.expect("known");
    assert!(
        (everywhere - evaluated).abs() < 1e-12,
        "{everywhere} {evaluated}"
    );

    for (from, expected) in [(1, &[2500, 150_000, 1_500_000][..]), (2, &[2125, 875_000])] {
        let points = held_out::points(&rows, from).expect("decided");
        let wrong = held_out::wrong(&points);
        let counts: Vec<u64> = wrong.iter().map(|point| point.row.elements).collect();
        assert_eq!(counts, expected);
        let rest = points
            .iter()
            .filter(|p| p.is_held_out && !counts.contains(&p.row.elements));
        let rest = held_out::mean(rest);
        assert!(rest < 0.01, "{rest}");
    }
}

#[test]
fn the_closed_forms_explain_the_gain_of_two_roots() {
    let rows = rows().expect("read");
    let rates = rates(&rows, Factors::FREE).expect("fitted");
    let gains = gains(&rows).expect("expected");
    for error in residuals(&gains) {
        assert!(error < 0.03, "{error}");
    }
    for gain in gains.iter().filter(|gain| gain.elements >= 875_000) {
        assert!((gain.fixed / gain.measured - 1.0).abs() < 0.02, "{gain:?}");
        // Blocks of 16 000 elements are hardly worse than the best.
        assert!(
            gain.by_blocks.iter().all(|by| (1.0..1.1).contains(by)),
            "{gain:?}"
        );
    }
    for gain in gains
        .iter()
        .filter(|gain| gain.elements < 100_000 && gain.elements > 2000)
    {
        assert!(gain.by_blocks.iter().all(|by| *by > 1.3), "{gain:?}");
    }
    let [one, two] = Pipeline::both().expect("in the registry");
    let bytes = (BLOCK * ELEMENT_BYTES) as f64;
    let ratio = |gamma: f64| {
        let rates = Rates {
            gamma: Some(gamma),
            ..rates
        };
        steady(one, rates, bytes).expect("closed") / steady(two, rates, bytes).expect("closed")
    };
    assert!((ratio(0.0) - 4.0 / 3.0).abs() < 1e-9);
    let message_per_byte = rates.beta + rates.alpha / bytes;
    assert!((ratio(message_per_byte) - 1.0).abs() < 1e-9);
    assert!((ratio(rates.gamma.expect("fitted")) - 1.15).abs() < 0.02);
}

#[test]
fn the_long_vectors_distinguish_neither_combining_nor_the_factors() {
    let rows = rows().expect("read");
    let combining = Explanation::new(&rows, Factors::FREE).expect("fitted");
    let alike = Explanation::without_combining(&rows, Factors::alike).expect("fitted");
    let only_exchanges = |exchange| Factors {
        shift: 1.0,
        exchange,
    };
    let exchanges = Explanation::without_combining(&rows, only_exchanges).expect("fitted");
    let measured = Factors::of_virtual_cluster().expect("read");
    let as_measured = Explanation::new(&rows, measured).expect("fitted");
    assert!(
        (0.35..0.45).contains(&combining.combining()),
        "{combining:?}"
    );
    for without in [alike, exchanges] {
        assert!(without.combining().abs() < 1e-3, "{without:?}");
        // The gain of pipelines that are always full.
        assert!((without.factors.gain() - 1.15).abs() < 0.02, "{without:?}");
    }
    assert!(as_measured.combining() > 0.8, "{as_measured:?}");
    for of in [combining, alike, exchanges, as_measured] {
        assert!((of.gain - 1.15).abs() < 0.02, "{of:?}");
        assert!(of.errors.iter().all(|error| *error < 0.03), "{of:?}");
    }
}

/// The times of an algorithm in the table of best blocks of reports/dual-root.md, from 32K bytes on.
fn times_with_the_best_block(report: &str, algorithm: &str) -> Vec<f64> {
    let rows = report.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, bytes, _, _, _, time, _, _] = cells[..] else {
            return None;
        };
        (name == algorithm && bytes != "4K").then_some(time)
    });
    let seconds = |time: &str| {
        let (value, unit) = time.split_once(' ').expect("a unit");
        let of_unit = if unit == "ms" { 1e-3 } else { 1.0 };
        value.parse::<f64>().expect("a number") * of_unit
    };
    rows.map(seconds).collect()
}

/// What the report says about two roots follows from its own tables.
#[test]
fn the_report_on_two_roots_compares_them_by_its_own_tables() {
    let report = include_str!("../../../../../reports/dual-root.md");
    let text = report.split_once("## Summary").expect("a summary").0;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let measured = Factors::of_virtual_cluster().expect("read");
    assert_eq!(Factors::FREE.gain(), 4.0 / 3.0);
    let stated = format!(
        "s = {:.2} times as long as a message one way, an exchange e = {:.2} times",
        measured.shift, measured.exchange
    );
    assert!(text.contains(&stated), "{stated}");
    let expected = format!("2 (1 + s) / (3 e) = {:.2}", measured.gain());
    assert!(text.contains(&expected), "{expected}");
    let two = times_with_the_best_block(report, "dual_root");
    let ratios = |other: &str| -> String {
        let other = times_with_the_best_block(report, other);
        assert_eq!([other.len(), two.len()], [4, 4]);
        let ratios = other.iter().zip(&two).map(|(other, two)| other / two);
        let shown: Vec<String> = ratios.map(|ratio| format!("{ratio:.2}")).collect();
        format!("{} and {}", shown[..3].join(", "), shown[3])
    };
    for other in ["pipelined_tree", "doubly_pipelined_tree"] {
        let ratios = ratios(other);
        assert!(text.contains(&ratios), "{other}: {ratios}");
    }
}
