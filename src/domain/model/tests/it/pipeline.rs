//! The lemma compared with brute force.

use model::Pipeline;
use proptest::prelude::*;
use schedule::PipelineCost;

const MAX_BLOCKS: u32 = 3000;

fn brute_force(pipeline: &Pipeline, max_blocks: u32) -> u32 {
    let seconds = |blocks: &u32| pipeline.seconds(f64::from(*blocks));
    (1..=max_blocks)
        .min_by(|a, b| seconds(a).total_cmp(&seconds(b)))
        .expect("not empty")
}

fn pipelines() -> impl Strategy<Value = Pipeline> {
    let rate = |low: i32, high: i32| (low..high, 1.0..10.0).prop_map(|(e, m)| m * 10f64.powi(e));
    // With one block no algorithm takes a negative number of steps.
    let steps = || (-5i64..60, 1i64..6).prop_map(|(first, each)| (first.max(-each), each));
    let cost = (steps(), steps()).prop_map(|((c1, c2), (g1, g2))| PipelineCost { c1, c2, g1, g2 });
    (
        cost,
        rate(-8, -4),
        rate(-12, -8),
        rate(-12, -8),
        0u64..1 << 24,
    )
        .prop_map(|(cost, alpha, beta, gamma, bytes)| {
            Pipeline::new(cost, alpha, beta, gamma, bytes)
        })
}

proptest! {
    #[test]
    fn the_best_number_is_that_of_brute_force(pipeline in pipelines(), max in 1..MAX_BLOCKS) {
        let (found, best) = (pipeline.best_blocks(max), brute_force(&pipeline, max));
        prop_assert!((1..=max).contains(&found));
        // Two neighbours may be equally good up to rounding.
        prop_assert!(found.abs_diff(best) <= 1, "{found} instead of {best}");
        let (found, best) = (pipeline.seconds(found.into()), pipeline.seconds(best.into()));
        prop_assert!(found <= best * (1.0 + 1e-12) + 1e-18, "{found} s instead of {best} s");
    }

    #[test]
    fn nothing_is_faster_than_the_closed_form(pipeline in pipelines()) {
        let optimum = pipeline.real_optimum();
        prop_assert!(optimum >= 1.0);
        let least = pipeline.seconds(optimum);
        for blocks in (1..MAX_BLOCKS).step_by(7) {
            prop_assert!(pipeline.seconds(blocks.into()) >= least * (1.0 - 1e-9) - 1e-18);
        }
    }
}

#[test]
fn the_figures_agree_with_the_paper() {
    // Large vectors cost 4 beta + 2 gamma a byte on the single tree and 3 beta + 3 gamma on the
    // dual-root one: 4/3 where combining is free, equal where it costs as much as sending.
    let ratio = |gamma: f64| {
        let seconds = |c1, c2, g1, g2| {
            let cost = PipelineCost { c1, c2, g1, g2 };
            let pipeline = Pipeline::new(cost, 1e-6, 1e-9, gamma, 1 << 50);
            pipeline.seconds(pipeline.real_optimum())
        };
        seconds(36, 4, 18, 2) / seconds(34, 3, 16, 3)
    };
    assert!((ratio(0.0) - 4.0 / 3.0).abs() < 1e-3, "{}", ratio(0.0));
    assert!((ratio(0.38e-9) - 1.15).abs() < 5e-3, "{}", ratio(0.38e-9));
    assert!((ratio(1e-9) - 1.0).abs() < 1e-3, "{}", ratio(1e-9));
}

#[test]
fn one_block_is_best_if_there_is_no_pipeline_to_fill() {
    let check = |c1, g1, bytes| {
        let cost = PipelineCost {
            c1,
            c2: 1,
            g1,
            g2: 1,
        };
        let pipeline = Pipeline::new(cost, 1e-6, 1e-9, 1e-9, bytes);
        assert_eq!(
            (pipeline.best_blocks(1000), pipeline.real_optimum()),
            (1, 1.0)
        );
    };
    check(0, 0, 1 << 30);
    check(-1, 1, 1 << 30);
    check(5, 5, 0);
    check(1, 0, 10);
}

#[test]
fn the_most_blocks_are_best_if_they_cost_nothing() {
    let cost = PipelineCost {
        c1: 5,
        c2: 1,
        g1: 0,
        g2: 0,
    };
    let pipeline = Pipeline::new(cost, 0.0, 1e-9, 0.0, 1 << 20);
    assert_eq!(pipeline.best_blocks(77), 77);
    assert_eq!(pipeline.best_blocks(u32::MAX), u32::MAX);
    assert_eq!(pipeline.best_blocks(0), 1);
}
