//! A campaign that is run twice comes to nearly the same decisions.

use std::collections::BTreeMap;
use std::path::Path;

use store::Store;
use tuner::CampaignAnalysis;
use vocabulary::{Candidate, Cell, Subject};

use crate::run::Place;

/// Many cells, most of them difficult to decide: up to 20 algorithms differ by a few percent only.
const CAMPAIGN: &str = "\
name: twice
launcher: {simulated: {machine: machine.yaml, seed: SEED}}
shapes: [4x4, 16x8]
collectives: [bcast, reduce, allreduce, gather, allgather, reduce_scatter]
sizes: 64..1M x4
candidates: {exclude: ['*/leaders*', '*/lanes']}
parameters: {block_bytes: [16K, 64K], radix: [2, 4], predicted: false, through: mpi}
strategy: exhaustive
repetitions: {slice: 20ms}
budget: 10h
";

const MACHINE: &str = "fat-tree.yaml";

/// The results of a campaign with this seed, on the machine as changed by `edit`.
fn analysis(seed: u32, edit: impl Fn(String) -> String) -> CampaignAnalysis {
    let place = Place::new();
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines");
    let machine = std::fs::read_to_string(machines.join(MACHINE)).unwrap();
    place.write("machine.yaml", edit(machine));
    place.write("campaign.yaml", CAMPAIGN.replace("SEED", &seed.to_string()));
    let measured = place.run(&["measure", "campaign.yaml"]);
    assert_eq!(measured.code, Some(0), "{measured:?}");
    let store = Store::open(&place.path(".colltune/twice.db")).unwrap();
    CampaignAnalysis::from_store(&store, None, None).unwrap()
}

/// The choice in each cell of the campaign for commutative operators. Between these sizes, each run confirms its
/// choices at other sizes.
fn choices(analysis: &CampaignAnalysis) -> BTreeMap<Cell, Candidate> {
    let is_explored = |cell: Cell| {
        let summaries = &analysis.found.summaries;
        summaries.iter().any(|s| s.subject == Subject::Cell(cell))
    };
    let decisions = analysis.found.decisions.iter();
    let commutative =
        decisions.filter(|decision| decision.operators != table::Operators::Noncommutative);
    commutative
        .filter(|decision| is_explored(decision.cell))
        .map(|decision| (decision.cell, decision.chosen.clone()))
        .collect()
}

#[test]
fn two_runs_on_a_noisy_machine_choose_nearly_the_same() {
    let (one, other) = (analysis(1, |m| m), analysis(2, |m| m));
    // Without noise, so that times are the true ones.
    let noiseless = analysis(1, |machine| {
        let (before, _) = machine.split_once("noise:").expect("a noisy machine");
        before.to_owned()
    });
    let truth: BTreeMap<(Subject, &Candidate), f64> = noiseless
        .found
        .summaries
        .iter()
        .map(|summary| {
            let key = (summary.subject, &summary.candidate);
            (key, summary.median_seconds)
        })
        .collect();
    let (one, other) = (choices(&one), choices(&other));
    assert!(one.keys().eq(other.keys()));
    let ratios: Vec<f64> = one
        .iter()
        .map(|(cell, candidate)| {
            let seconds = |choice| truth[&(Subject::Cell(*cell), choice)];
            let (first, second) = (seconds(candidate), seconds(&other[cell]));
            first.max(second) / first.min(second)
        })
        .collect();
    let same = one.iter().filter(|(cell, it)| other[*cell] == **it).count();
    let alike = ratios.iter().filter(|ratio| **ratio <= 1.05).count();
    let worst = ratios.iter().copied().fold(1.0, f64::max);
    println!(
        "of {} cells {same} have the same choice, {alike} choices within 5 %, the worst {worst:.3}",
        ratios.len()
    );
    assert!(ratios.len() >= 80, "{} cells", ratios.len());
    assert!(same < ratios.len(), "noise makes no difference at all");
    assert!(
        20 * alike >= 19 * ratios.len(),
        "{alike} of {}",
        ratios.len()
    );
}
