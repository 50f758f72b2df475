//! Irregular collectives: rules that hold for several sizes and distributions.

use fit::{DecideOptions, build_table, decide_cells, summarise_samples};
use results::{CellDecision, Verdict};
use schedule::{Collective, Distribution};
use table::{Deployment, Table};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Pattern, Sample};

use crate::rules::provenance;
use crate::synthetic::{launches, ours};

const SIZES: [u64; 2] = [1024, 1 << 20];
const DISTRIBUTIONS: [Distribution; 2] = [Distribution::Uniform, Distribution::Skewed];

/// The times of the candidates in the four cells of a shape, relative to the default's, in the order of sizes and then
/// distributions.
fn decided(collective: Collective, times: &[(&str, [f64; 4])]) -> Vec<CellDecision> {
    let cells = SIZES.into_iter().flat_map(|bytes| {
        DISTRIBUTIONS.map(|distribution| Cell {
            collective,
            shape: CommShape { nodes: 1, ppn: 4 },
            bytes,
            datatype: Datatype::Byte,
            operator: None,
            distribution,
        })
    });
    let samples: Vec<Sample> = cells
        .enumerate()
        .flat_map(|(place, cell)| {
            let of_candidate = times.iter().map(|(id, ratios)| {
                let candidate = ours(&format!("{collective}/{id}"), None);
                (candidate, vec![ratios[place]; 6])
            });
            let all: Vec<(Candidate, Vec<f64>)> = of_candidate
                .chain([(Candidate::Default, vec![1.0; 6])])
                .collect();
            let all: Vec<(Candidate, &[f64])> = all
                .iter()
                .map(|(candidate, seconds)| (candidate.clone(), &seconds[..]))
                .collect();
            launches(cell, &all)
        })
        .collect();
    let summaries = summarise_samples(&samples, Pattern::Together).expect("valid");
    let options = DecideOptions::default();
    decide_cells(
        Deployment::Colltune,
        "unknown",
        &summaries,
        &[],
        None,
        &options,
    )
}

fn table(decisions: &[CellDecision]) -> Table {
    build_table("joint", provenance(), decisions, &[], &[])
}

/// The ids of the chosen algorithms, cell by cell.
fn chosen(decisions: &[CellDecision]) -> Vec<&str> {
    let id = |decision: &CellDecision| decision.chosen.clone();
    let ids = decisions.iter().map(id).map(|candidate| match candidate {
        Candidate::Default => "default",
        other if other.algorithm().ends_with("/linear") => "linear",
        _ => "other",
    });
    ids.collect()
}

#[test]
fn one_rule_for_all_sizes_loses_nowhere_and_gains_somewhere() {
    use Collective::{Alltoallv, Alltoallw, Gatherv, Scatterv};
    for collective in [Alltoallv, Alltoallw, Gatherv, Scatterv] {
        let choose = |linear| decided(collective, &[("linear", linear)]);
        // A gain with one distribution of one size is enough, and a small loss is none.
        let found = choose([1.0, 1.0, 1.0, 0.5]);
        assert_eq!(chosen(&found), ["linear"; 4], "{collective}");
        let verdicts: Vec<Verdict> = found.iter().map(|decision| decision.verdict).collect();
        assert_eq!(
            verdicts[..3]
                .iter()
                .filter(|v| **v == Verdict::LosesNowhere)
                .count()
                + verdicts.iter().filter(|v| **v == Verdict::Fastest).count(),
            4,
            "{verdicts:?}"
        );
        // One loss is too much, however large the gains are; and equal times are no reason.
        for times in [[0.1, 0.1, 0.1, 1.2], [1.2, 0.1, 0.1, 0.1], [1.0; 4]] {
            assert_eq!(chosen(&choose(times)), ["default"; 4], "{times:?}");
        }
        let losing = choose([0.1, 0.1, 0.1, 1.2]);
        assert_eq!(losing[0].verdict, Verdict::LosesElsewhere);

        // The table has one rule, with the mean gain, and the measured sizes.
        let table = table(&choose([0.5, 0.5, 1.0, 1.0]));
        let entry = &table.collectives[&collective][0];
        assert_eq!(entry.rules.len(), 1, "{entry:?}");
        assert_eq!(entry.rules[0].from_bytes, 0);
        assert_eq!(entry.rules[0].speedup, Some(1.41));
        let speedups: Vec<(u64, f64)> = entry
            .measured
            .iter()
            .map(|p| (p.bytes, p.speedup))
            .collect();
        assert_eq!(speedups, [(SIZES[0], 2.0), (SIZES[1], 1.0)]);
        assert!(entry.candidates.is_empty());
    }
}

#[test]
fn of_several_the_one_with_the_largest_mean_gain_is_chosen() {
    let found = decided(
        Collective::Gatherv,
        &[
            ("linear", [0.8, 0.8, 0.8, 0.8]),
            ("linear_sync", [0.1, 0.9, 1.0, 1.0]),
            // The largest gain, and one loss.
            ("linear_nonblocking", [0.01, 0.01, 0.01, 1.1]),
        ],
    );
    assert_eq!(chosen(&found), ["other"; 4]);
    assert_eq!(found[0].chosen, ours("gatherv/linear_sync", None));
}

#[test]
fn an_allgatherv_is_decided_by_size_for_all_distributions() {
    let choose = |linear| decided(Collective::Allgatherv, &[("linear", linear)]);
    let found = choose([0.5, 0.7, 0.5, 1.0]);
    assert_eq!(chosen(&found), ["linear", "linear", "default", "default"]);
    let table = table(&found);
    let entry = &table.collectives[&Collective::Allgatherv][0];
    assert_eq!(entry.rules.len(), 2, "{entry:?}");
    let bytes: Vec<u64> = entry.measured.iter().map(|point| point.bytes).collect();
    assert_eq!(bytes, SIZES);
    let mean = entry.measured[0].default_seconds / entry.measured[0].seconds;
    assert!((mean - (1.0 / 0.35_f64).sqrt()).abs() < 1e-3, "{mean}");
}
