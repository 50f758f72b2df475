//! A guided campaign on a simulated machine on which messages of one size do not take the time that the model predicts.

use std::sync::atomic::AtomicBool;

use tuner::{MeasurementContext, SearchPaths, Silent, tune_campaign};

/// Messages of about 8 KiB have a hundredth of the start-up time of all others, which a line through all sizes of one
/// launch cannot show.
const MACHINE: &str = "name: bump\nranks_per_node: 64\n\
    node:\n  alpha: 10e-6\n  beta: 5e-12\n  lines:\n\
    \x20 - {from: 0, alpha: 10e-6, beta: 5e-12}\n\
    \x20 - {from: 6000, alpha: 0.1e-6, beta: 5e-12}\n\
    \x20 - {from: 11000, alpha: 10e-6, beta: 5e-12}\n\
    gamma: 1e-12\n";

/// The ring sends 126 messages of 8 KiB one after the other. By the line it would be far too slow to be tried, but it
/// is by far the fastest.
#[test]
fn a_search_measures_where_the_model_does_not_hold() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("machine.yaml"), MACHINE).expect("written");
    let text = format!(
        "name: bump\nlauncher: {{simulated: {{machine: '{}', seed: 3}}}}\n\
         shapes: [1x64]\ncollectives: [allreduce]\nsizes: [512K]\nstrategy: guided\n\
         candidates: {{include: [allreduce/ring, allreduce/recursive_doubling]}}\n\
         confirmation: off\nbudget: 10h\n\
         output: {{store: '{}', table: '{}', report: '{}'}}\n",
        at("machine.yaml"),
        at("store.db"),
        at("table.yaml"),
        at("report.md"),
    );
    std::fs::write(at("campaign.yaml"), text).expect("written");
    let path = folder.path().join("campaign.yaml");
    let workplace = MeasurementContext::from_campaign_file(&path, None, &SearchPaths::default())
        .expect("prepared");
    let tuned = tune_campaign(&workplace, &mut Silent, &AtomicBool::new(false)).expect("tuned");
    let decision = &tuned.analysis.found.decisions[0];
    assert_eq!(decision.chosen.to_string(), "allreduce/ring");
}
