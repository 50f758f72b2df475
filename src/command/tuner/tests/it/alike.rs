//! Campaigns on two ranks of a simulated machine, where most algorithms are the same schedule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use agenda::{Agenda, History};
use store::Store;
use tuner::{MeasurementContext, SearchPaths, Silent, Tuned, tune_campaign};
use vocabulary::{Candidate, Cell, Pattern, Subject};

const MACHINE: &str = "name: pair\nranks_per_node: 2\n\
    node: {alpha: 1.0e-6, overhead: 0.4e-6, beta: 0.3e-9, eager_limit: 4096}\n\
    gamma: 0.2e-9\ncopy: 0.1e-9\n\
    noise: {jitter: 0.05, spike_probability: 0.01, spike_factor: 4, \
    slow_launch_probability: 0.05, slow_launch_factor: 1.2}\n";

fn tuned(strategy: &str, folder: &Path) -> (MeasurementContext, Tuned) {
    let at = |name: &str| folder.join(name).display().to_string();
    std::fs::write(at("machine.yaml"), MACHINE).expect("written");
    let text = format!(
        "name: pair\nlauncher: {{simulated: {{machine: '{}', seed: 5}}}}\nshapes: [1x2]\n\
         collectives: [bcast, reduce, allreduce]\nsizes: 8..4M x4\nstrategy: {strategy}\n\
         repetitions: {{slice: 20ms}}\nbudget: 1000h\n\
         output: {{store: '{}', table: '{}', report: '{}'}}\n",
        at("machine.yaml"),
        at("pair.db"),
        at("pair.yaml"),
        at("pair.md"),
    );
    std::fs::write(at("campaign.yaml"), text).expect("written");
    let path = folder.join("campaign.yaml");
    let workplace = MeasurementContext::from_campaign_file(&path, None, &SearchPaths::default())
        .expect("prepared");
    let tuned = tune_campaign(&workplace, &mut Silent, &AtomicBool::new(false)).expect("tuned");
    (workplace, tuned)
}

/// The candidates that the store has measured.
fn measured(workplace: &MeasurementContext) -> BTreeMap<Cell, BTreeSet<Candidate>> {
    let store = Store::open(&workplace.campaign.output.store).expect("a store");
    let mut cells: BTreeMap<Cell, BTreeSet<Candidate>> = BTreeMap::new();
    for sample in store
        .samples(&workplace.library, Pattern::Together)
        .expect("readable")
    {
        if let Subject::Cell(cell) = sample.subject {
            cells.entry(cell).or_default().insert(sample.candidate);
        }
    }
    cells
}

#[test]
fn on_two_ranks_a_schedule_is_measured_once_and_neighbouring_rules_are_different_schedules() {
    for strategy in ["exhaustive", "guided"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (workplace, tuned) = tuned(strategy, folder.path());
        let cells = measured(&workplace);
        for (cell, candidates) in &cells {
            let candidates: Vec<&Candidate> = candidates.iter().collect();
            let simplest = cell.simplest_alike(&candidates);
            let own: Vec<usize> = (0..candidates.len()).collect();
            assert_eq!(simplest, own, "{strategy}: {cell}: {candidates:?}");
        }
        let mut rules = 0;
        for (collective, entries) in &tuned.table.collectives {
            let cell = cells.keys().find(|cell| cell.collective == *collective);
            let cell = cell.expect("measured");
            for pair in entries.iter().flat_map(|entry| entry.rules.windows(2)) {
                let [before, after] = pair else { continue };
                let border = Cell {
                    bytes: after
                        .from_bytes
                        .next_multiple_of(cell.datatype.size_bytes()),
                    ..*cell
                };
                let candidates = [&before.candidate, &after.candidate];
                assert!(
                    !border.are_alike(candidates[0], candidates[1]),
                    "{strategy}: {border}: {candidates:?}"
                );
                rules += 1;
            }
        }
        assert!(rules > 0, "{strategy}: one rule is no neighbour");
    }
}

#[test]
fn an_agenda_lists_merged_candidates() {
    let folder = tempfile::tempdir().expect("a folder");
    let (workplace, _) = tuned("exhaustive", folder.path());
    let campaign = &workplace.campaign;
    let agenda =
        Agenda::new(campaign, &History::default(), &workplace.library, &[]).expect("an agenda");
    let listed: usize = agenda.scope.merged.values().map(Vec::len).sum();
    assert_eq!(agenda.scope.merged_count(), listed);
    assert!(listed > agenda.scope.candidate_count() / 2, "{listed}");
    for (cell, candidates) in &agenda.scope.cells {
        for (other, simplest) in agenda.scope.merged.get(cell).into_iter().flatten() {
            assert!(
                cell.are_alike(other, simplest),
                "{cell}: {other} {simplest}"
            );
            assert!(candidates.contains(simplest) && !candidates.contains(other));
        }
    }
}
