//! Irregular collectives: rules that hold for several sizes and distributions.

use fit::{
    Analysis, Confirmation, DecideOptions, Exploration, FreshMeasurements, Measurements, Orders,
    build_table, decide_cells, remove_overruled_verdicts, summarise_samples,
};
use results::{CellDecision, MeasuringCost, Verdict};
use schedule::{Collective, Distribution};
use table::{Deployment, Found, OperatorClass, Query, Table};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Pattern, RankOrder, Sample};

use crate::rules::provenance;
use crate::synthetic::{launches, ours};

const SIZES: [u64; 2] = [1024, 1 << 20];
const DISTRIBUTIONS: [Distribution; 2] = [Distribution::Uniform, Distribution::Skewed];

/// The four cells of a shape, in the order of sizes and then distributions.
fn cells(collective: Collective, ppn: u32) -> Vec<Cell> {
    let of_size = |bytes| {
        DISTRIBUTIONS.map(|distribution| Cell {
            collective,
            shape: CommShape { nodes: 1, ppn },
            bytes,
            datatype: Datatype::Byte,
            operator: None,
            distribution,
        })
    };
    SIZES.into_iter().flat_map(of_size).collect()
}

/// The times of the candidates in the four cells of a shape, relative to the default's, in the order of sizes and then
/// distributions.
fn decided(collective: Collective, times: &[(&str, [f64; 4])]) -> Vec<CellDecision> {
    decide(&samples(&cells(collective, 4), times))
}

/// Samples of six launches with these times of candidates in each of the cells, where the default takes a second.
fn samples(cells: &[Cell], times: &[(&str, [f64; 4])]) -> Vec<Sample> {
    let samples = cells.iter().copied().enumerate().flat_map(|(place, cell)| {
        let of_candidate = times.iter().map(|(id, ratios)| {
            let candidate = ours(&format!("{}/{id}", cell.collective), None);
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
    });
    samples.collect()
}

fn decide(samples: &[Sample]) -> Vec<CellDecision> {
    let summaries = summarise_samples(samples, Pattern::Together).expect("valid");
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

/// Samples of the default alone.
fn default_alone(cell: Cell) -> Vec<Sample> {
    launches(cell, &[(Candidate::Default, &[1.0; 6])])
}

/// Where the budget ends before all cells were compared, those that were say nothing about the others.
#[test]
fn the_default_stays_where_a_cell_that_shares_the_rule_was_not_compared() {
    for collective in [Collective::Alltoallv, Collective::Allgatherv] {
        let all = cells(collective, 4);
        let gain = [("linear", [0.5; 4])];
        let first = decide(&samples(&all[..1], &gain));
        assert_eq!(chosen(&first), ["linear"], "{collective}");
        // The default alone was measured with the other distribution.
        let mut measured = samples(&all[..1], &gain);
        measured.extend(default_alone(all[1]));
        let lacking = decide(&measured);
        let of_first = lacking.iter().find(|at| at.cell == all[0]).expect("it");
        assert_eq!(of_first.chosen, Candidate::Default, "{collective}");
        assert_eq!(of_first.verdict, Verdict::LosesElsewhere);
        // Nothing was measured in other cells of the campaign.
        for count in [1, 3] {
            let options = DecideOptions::default();
            let samples = samples(&all[..count], &gain);
            let analysis = Analysis::from_measurements(Measurements {
                grid: &all,
                options,
                ..measurements(&samples)
            });
            let analysis = analysis.expect("an analysis");
            let table = analysis.to_table("joint", provenance());
            let rules = &table.collectives[&collective][0].rules;
            let last = rules.last().expect("a rule");
            assert_eq!(last.candidate, Candidate::Default, "{rules:?}");
            let is_by_size = collective == Collective::Allgatherv;
            let is_any_chosen = rules.iter().any(|rule| rule.candidate != last.candidate);
            assert_eq!(is_any_chosen, is_by_size && count == 3, "{rules:?}");
        }
    }
}

fn measurements(samples: &[Sample]) -> Measurements<'_> {
    Measurements {
        name: "joint",
        library: "unknown",
        samples,
        orders: Orders::default(),
        pattern: Pattern::Together,
        failures: Vec::new(),
        cost: MeasuringCost::default(),
        asks_for: &|_, _| true,
        options: DecideOptions::default(),
        extend_to: &[],
        merged: None,
        everything: None,
        fresh: None,
        grid: &[],
        verdicts: &[],
    }
}

/// Faster by 3 with one distribution and slower by 1.5 with the other, a candidate is faster on average.
#[test]
fn no_mean_over_distributions_hides_a_loss_between_shapes_or_sizes() {
    let mut measured = Vec::new();
    for ppn in [4, 16] {
        let of_shape = cells(Collective::Allgatherv, ppn);
        let mixed = [1.0 / 3.0, 1.5, 1.0 / 3.0, 1.5];
        let times = [("linear", mixed), ("ring", [1.0, 1.0, 0.9, 0.9])];
        measured.extend(samples(&of_shape, &times));
    }
    let decisions = decide(&measured);
    let table = table(&decisions);
    let between = |ppn, bytes| {
        let query = Query {
            collective: Collective::Allgatherv,
            shape: CommShape { nodes: 1, ppn },
            order: RankOrder::Unknown,
            bytes,
            operators: OperatorClass::Commutative,
            deployment: Deployment::Colltune,
        };
        table.lookup(&query).candidate.id().to_owned()
    };
    let linear = ours("allgatherv/linear", None);
    for ppn in [4, 8, 16] {
        for bytes in [1024, 4096, 32 << 10, 256 << 10, 1 << 20] {
            assert_ne!(between(ppn, bytes), linear.id(), "{ppn} {bytes}");
        }
    }
    assert_eq!(between(8, 1 << 20), ours("allgatherv/ring", None).id());
}

/// Verdicts against the choice in a cell, and launches after them.
#[test]
fn newer_launches_overrule_a_verdict_only_in_its_own_cell() {
    let options = DecideOptions::default();
    for (collective, needs_gain) in [(Collective::Allgatherv, true), (Collective::Gatherv, false)] {
        let all = cells(collective, 4);
        let candidate = ours(&format!("{collective}/linear"), None);
        let verdict = table::Verdict {
            unix_seconds: 1,
            library: provenance().library,
            conditions: String::new(),
            pattern: Pattern::Together,
            collective,
            shape: all[1].shape,
            order: RankOrder::Unknown,
            operators: OperatorClass::Commutative,
            deployment: Deployment::Colltune,
            candidate,
            bytes: all[1].bytes,
            distribution: Distribution::Skewed,
            found: Found::Slower,
            speedup: None,
            seed: 1,
            newest_launch: Some(0),
        };
        let stands = |cells: &[Cell], ratio: f64| {
            let newer = samples(cells, &[("linear", [ratio; 4])]);
            let newer = [(Pattern::Together, newer)];
            let verdicts = vec![verdict.clone()];
            let kept = remove_overruled_verdicts(verdicts, &newer, &[], &options);
            kept.expect("verdicts").len() == 1
        };
        // A gain with the other distribution, and a loss, overrule nothing.
        assert!(stands(&all[..1], 0.5), "{collective}");
        assert!(stands(&all[1..2], 1.5), "{collective}");
        assert!(!stands(&all[1..2], 0.5), "{collective}");
        // Equal times suffice where one rule holds for all cells.
        assert_eq!(stands(&all[1..2], 1.0), needs_gain, "{collective}");
    }
}

/// The confirmation of an allgatherv's choices in the four cells of a shape, after these launches.
fn confirmed<T>(
    explored: &[Sample],
    fresh: &[Sample],
    see: impl FnOnce(&Confirmation<'_>) -> T,
) -> T {
    let options = DecideOptions::default();
    let summaries = summarise_samples(explored, Pattern::Together).expect("valid");
    let patterns = [(Pattern::Together, fresh.to_vec())];
    let measured = FreshMeasurements::from_samples(&patterns, &[], &options).expect("valid");
    let exploration = Exploration {
        library: "unknown",
        summaries: &summaries,
        failures: &[],
        machine: None,
        options: &options,
        grid: &cells(Collective::Allgatherv, 4),
    };
    see(&Confirmation::from_fresh_launches(exploration, &measured))
}

/// The cells of an allgatherv with one distribution: those of the campaign, and one more.
fn cells_with(distribution: Distribution, other_bytes: u64) -> Vec<Cell> {
    let sizes = [SIZES[0], other_bytes, SIZES[1]];
    let first = cells(Collective::Allgatherv, 4)[0];
    sizes
        .map(|bytes| Cell {
            bytes,
            distribution,
            ..first
        })
        .to_vec()
}

/// The size of the probe between both sizes.
const PROBE: u64 = 32 << 10;

#[test]
fn a_distribution_without_measurements_keeps_the_default() {
    let all = cells(Collective::Allgatherv, 4);
    let gain = [("linear", [0.5; 4])];
    let uniform = [all[0], all[2]];
    let fresh = samples(&cells_with(Distribution::Uniform, PROBE), &gain);
    let decide = |confirmation: &Confirmation<'_>| confirmation.decisions(Deployment::Colltune);
    let lacking = confirmed(&samples(&uniform, &gain), &fresh, decide);
    assert_eq!(chosen(&lacking), ["default"; 3]);
    assert_eq!(lacking[0].verdict, Verdict::Unconfirmed);
    let no_range_is_chosen = |decision: &CellDecision| {
        let range = decision.up_to_next.as_ref();
        range.is_none_or(|range| *range == Candidate::Default)
    };
    assert!(lacking.iter().all(no_range_is_chosen), "{lacking:?}");
    let mut both = fresh;
    both.extend(samples(&cells_with(Distribution::Skewed, PROBE), &gain));
    let whole = confirmed(&samples(&all, &gain), &both, decide);
    assert_eq!(chosen(&whole), ["linear"; 6]);
}

/// A candidate must be confirmed with all distributions, so these are compared at the same sizes.
#[test]
fn former_probes_and_explored_sizes_of_one_distribution_are_those_of_all() {
    let all = cells(Collective::Allgatherv, 4);
    let gain = [("linear", [0.5; 4])];
    let (former, refined) = (40_000, 4096);
    let mut explored = samples(&all, &gain);
    explored.extend(samples(
        &cells_with(Distribution::Uniform, refined)[1..2],
        &gain,
    ));
    let fresh = samples(&cells_with(Distribution::Uniform, former)[1..2], &gain);
    let sizes = confirmed(&explored, &fresh, |confirmation| {
        let open = confirmation.open.iter().map(|trial| trial.cell);
        let skewed = open.filter(|cell| cell.distribution == Distribution::Skewed);
        skewed.map(|cell| cell.bytes).collect::<Vec<u64>>()
    });
    assert!(sizes.contains(&former), "{sizes:?}");
    assert!(sizes.contains(&refined), "{sizes:?}");
}

/// The second candidate is tried with all distributions once the first has lost with one of them.
#[test]
fn distributions_try_the_same_candidates() {
    let all = cells(Collective::Allgatherv, 4);
    let explored = samples(&all, &[("linear", [0.5; 4]), ("ring", [0.6; 4])]);
    let of =
        |distribution, id, ratio| samples(&cells_with(distribution, PROBE), &[(id, [ratio; 4])]);
    let mut fresh = of(Distribution::Uniform, "linear", 0.5);
    fresh.extend(of(Distribution::Skewed, "linear", 1.5));
    let ring = ours("allgatherv/ring", None);
    let tried = confirmed(&explored, &fresh, |confirmation| {
        let open = confirmation.open.iter();
        let of_ring = open.filter(|trial| trial.candidates.contains(&ring));
        of_ring.map(|trial| trial.cell).collect::<Vec<Cell>>()
    });
    for cell in &all {
        assert!(tried.contains(cell), "{cell}: {tried:?}");
    }
    for distribution in DISTRIBUTIONS {
        fresh.extend(of(distribution, "ring", 0.6));
    }
    let decisions = confirmed(&explored, &fresh, |confirmation| {
        confirmation.decisions(Deployment::Colltune)
    });
    assert!(
        decisions.iter().all(|decision| decision.chosen == ring),
        "{decisions:?}"
    );
}
