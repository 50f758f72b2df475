//! The least budgets that are estimated before anything is measured, beside those that turn out to suffice.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use agenda::{ExpectedTimes, History};
use campaign::Campaign;
use store::Store;
use tuner::{MeasurementContext, SearchPaths, Silent, TunerError, least_budgets, tune_campaign};
use vocabulary::Subject;

const MACHINE: &str = "name: fat-tree\nranks_per_node: 32\n\
    network: {alpha: 1.6e-6, overhead: 0.4e-6, beta: 0.08e-9, eager_limit: 8192}\n\
    node: {alpha: 0.4e-6, overhead: 0.2e-6, beta: 0.1e-9, eager_limit: 4096}\n\
    injection_beta: 0.04e-9\ngamma: 0.12e-9\ncopy: 0.06e-9\n\
    noise: {jitter: 0.03, spike_probability: 0.01, spike_factor: 4}\n";

/// A campaign on that machine with a budget in seconds and an empty store.
fn campaign(folder: &tempfile::TempDir, lines: &str, budget: f64) -> MeasurementContext {
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("machine.yaml"), MACHINE).expect("written");
    let text = format!(
        "name: budget\nlauncher: {{simulated: {{machine: '{}', seed: 3}}}}\n{lines}\
         output: {{store: '{}', table: '{}', report: '{}'}}\n",
        at("machine.yaml"),
        at("a.db"),
        at("a.yaml"),
        at("a.md"),
    );
    let mut campaign = Campaign::parse(&text, "budget.yaml".as_ref()).expect("valid");
    // The times of this machine are short.
    campaign.budget_seconds = budget;
    MeasurementContext::from_campaign(campaign, None, &SearchPaths::default()).expect("ready")
}

/// What a budget was enough for.
#[derive(Debug, PartialEq)]
struct Reached {
    /// Whether each cell of the campaign was measured.
    once: bool,
    /// Whether all measurements were made and all choices were confirmed.
    confirmed: bool,
}

fn spend(lines: &str, budget: f64) -> Reached {
    let folder = tempfile::tempdir().expect("a folder");
    let at = campaign(&folder, lines, budget);
    let confirmed = match tune_campaign(&at, &mut Silent, &AtomicBool::new(false)) {
        Ok(tuned) => tuned.analysis.has_enough_launches(),
        Err(TunerError::LittleBudget { .. }) => false,
        Err(error) => panic!("{error}"),
    };
    let store = Store::open(&at.campaign.output.store).expect("a store");
    let counts = store
        .launch_counts(&at.library, at.campaign.pattern)
        .expect("counts");
    let measured: BTreeSet<Subject> = counts.into_keys().map(|(subject, _)| subject).collect();
    let cells = at.campaign.cells().into_iter().map(Subject::Cell);
    Reached {
        once: cells.into_iter().all(|cell| measured.contains(&cell)),
        confirmed,
    }
}

/// Half of an estimate does not suffice, and twice does.
#[test]
fn estimated_budgets_are_right_within_a_factor_of_two() {
    for lines in [
        "shapes: [1x8, 4x4]\ncollectives: [bcast, allreduce]\nsizes: 64..256K x64\n",
        "shapes: 16x1\ncollectives: [allgather, reduce]\nsizes: [64, 4K, 64K]\n",
        "shapes: 1x16\ncollectives: reduce_scatter\nsizes: 1K..1M x4\nstrategy: exhaustive\n\
         candidates: [\"*/ring\", \"*/recursive_halving\"]\n",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let least =
            least_budgets(&campaign(&folder, lines, 1.0), &History::default()).expect("estimated");
        assert_eq!(least.times, ExpectedTimes::SimulatedMachine);
        let confirming = least.confirming_seconds.expect("choices are confirmed");
        for (factor, suffices) in [(0.5, false), (2.0, true)] {
            let [once, confirmed] = [least.once_seconds, confirming].map(|s| factor * s);
            assert_eq!(spend(lines, once).once, suffices, "{lines}{once} s, once");
            let reached = spend(lines, confirmed).confirmed;
            assert_eq!(reached, suffices, "{lines}{confirmed} s, confirmed");
        }
    }
}
