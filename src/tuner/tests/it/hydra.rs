//! The report on a published measurement, compared with the data.

/// The generator of the report.
#[path = "../../examples/hydra/study/mod.rs"]
mod study;

use model::Rates;
use results::{HeldOut, Method};
use study::gain::{BLOCK, Explanation, Pipeline, gains, rates, residuals, steady};
use study::{ELEMENT_BYTES, analyse, decisions, held_out, rows};

const REPORT: &str = include_str!("../../../../reports/hydra.md");

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
        .evaluate()
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
    let rates = rates(&rows, 1.0).expect("fitted");
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
fn the_long_vectors_do_not_distinguish_combining_from_exchanges() {
    let rows = rows().expect("read");
    let combining = Explanation::new(&rows, 1.0).expect("fitted");
    let exchanges = Explanation::without_combining(&rows).expect("fitted");
    assert!(
        (0.35..0.45).contains(&combining.combining()),
        "{combining:?}"
    );
    assert!(exchanges.combining().abs() < 1e-3, "{exchanges:?}");
    // 2 (d + 1) / (3 d) of a pipeline that is always full.
    let d = exchanges.exchange;
    assert!((2.0 * (d + 1.0) / (3.0 * d) - 1.15).abs() < 0.02, "{d}");
    for of in [combining, exchanges] {
        assert!((of.gain - 1.15).abs() < 0.02, "{of:?}");
        assert!(of.errors.iter().all(|error| *error < 0.03), "{of:?}");
    }
}
