//! Decision tables built from decisions.

use fit::{DecideOptions, build_table, decide_cells, summarise_samples};
use schedule::Collective;
use table::{Deployment, Deployments, Operators, Provenance, ShapeRules, Table};
use testkit::tables;
use vocabulary::{Candidate, Cell, Library, Parameters, Pattern, Sample, Subject};

use crate::synthetic::{allreduce, launches, noncommutative, ours};

pub(crate) fn provenance() -> Provenance {
    let library = Library {
        name: "openmpi".to_owned(),
        version: "4.1.4".to_owned(),
    };
    Provenance {
        store: ".colltune/test.db".to_owned(),
        cpu: "test".to_owned(),
        networks: Vec::new(),
        ..tables::provenance_for(library)
    }
}

fn built(samples: &[Sample]) -> Table {
    let summaries = summarise_samples(samples, Pattern::Together).expect("valid");
    let decided = |deployment| {
        let options = DecideOptions::default();
        decide_cells(deployment, "openmpi", &summaries, &[], None, &options)
    };
    build_table(
        "test",
        provenance(),
        &decided(Deployment::Colltune),
        &decided(Deployment::Library),
        &[],
    )
}

/// Samples of sums, and the same times with an operator that does not commute.
fn of_both_classes(sums: Vec<Sample>) -> Vec<Sample> {
    let others = sums.clone().into_iter().map(|sample| {
        let subject = match sample.subject {
            Subject::Cell(cell) => Subject::Cell(noncommutative(cell)),
            other => other,
        };
        Sample { subject, ..sample }
    });
    others.chain(sums).collect()
}

/// Six launches at each size of candidates with times on straight lines (start, per byte).
fn lines(sizes: &[u64], candidates: &[(Candidate, f64, f64)]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for bytes in sizes {
        for (candidate, start, per_byte) in candidates {
            let times = [start + per_byte * *bytes as f64; 6];
            samples.extend(launches(
                allreduce(4, *bytes),
                &[(candidate.clone(), &times)],
            ));
        }
    }
    samples
}

const SIZES: [u64; 8] = [8, 64, 512, 4096, 32_768, 262_144, 1 << 21, 1 << 24];

/// The library is best below 2000 bytes, dual_root from there on, ring from 140000 bytes on.
fn three_regions() -> Vec<Sample> {
    lines(
        &SIZES,
        &[
            (Candidate::Default, 1e-6, 1e-9),
            (ours("allreduce/dual_root", Some(8192)), 2e-6, 0.5e-9),
            (ours("allreduce/ring", None), 30e-6, 0.3e-9),
        ],
    )
}

fn only(table: &Table) -> &[ShapeRules] {
    let entries: Vec<_> = table.collectives.values().collect();
    assert_eq!(entries.len(), 1);
    entries[0]
}

/// The length of a barrier is always 0; and a native algorithm that is not known never serves operators that do not
/// commute.
#[test]
fn collectives_that_only_libraries_implement_are_decided_among_native_algorithms() {
    let cell = |collective: Collective| Cell {
        collective,
        bytes: if collective.has_data() { 8 } else { 0 },
        ..allreduce(4, 8)
    };
    let native = |collective| Candidate::Native {
        algorithm: format!("native:{collective}/x"),
        parameters: Parameters::default(),
    };
    let mut samples = Vec::new();
    for collective in [Collective::Barrier, Collective::Scan] {
        let candidates = [
            (Candidate::Default, &[2e-6; 6][..]),
            (native(collective), &[1e-6; 6]),
        ];
        samples.extend(launches(cell(collective), &candidates));
    }
    let table = built(&of_both_classes(samples));
    let chosen = |collective| -> Vec<(Operators, Vec<(u64, &Candidate)>)> {
        let entries = table.collectives[&collective].iter();
        entries
            .map(|entry| {
                let of = entry
                    .rules
                    .iter()
                    .map(|rule| (rule.from_bytes, &rule.candidate));
                (entry.operators, of.collect())
            })
            .collect()
    };
    let (barrier, scan) = (native(Collective::Barrier), native(Collective::Scan));
    assert_eq!(
        chosen(Collective::Barrier),
        [(Operators::Any, vec![(0, &barrier)])]
    );
    let expected = [
        (Operators::Commutative, vec![(0, &scan)]),
        (Operators::Noncommutative, vec![(0, &Candidate::Default)]),
        // The library's settings do not distinguish operators.
        (Operators::Any, vec![(0, &Candidate::Default)]),
    ];
    assert_eq!(chosen(Collective::Scan), expected);
    let measured = &table.collectives[&Collective::Barrier][0].measured;
    assert_eq!(
        measured.iter().map(|point| point.bytes).collect::<Vec<_>>(),
        [0]
    );
}

/// The rules of a table that was measured at 1024 and 16384 bytes, where the candidates take these microseconds.
fn rules_between(times: &[(Candidate, [f64; 2])]) -> Vec<(u64, String)> {
    let mut samples = Vec::new();
    for (place, bytes) in [1024, 16_384].into_iter().enumerate() {
        for (candidate, seconds) in times {
            let seconds = [seconds[place] * 1e-6; 6];
            samples.extend(launches(
                allreduce(4, bytes),
                &[(candidate.clone(), &seconds)],
            ));
        }
    }
    let table = built(&samples);
    let rules = only(&table)[0].rules.iter();
    rules
        .map(|rule| (rule.from_bytes, rule.candidate.id().to_owned()))
        .collect()
}

fn told(rules: &[(u64, &str)]) -> Vec<(u64, String)> {
    rules
        .iter()
        .map(|(from, id)| (*from, (*id).to_owned()))
        .collect()
}

#[test]
fn a_third_candidate_that_is_faster_between_two_sizes_has_a_rule() {
    let (ring, tree) = (
        ours("allreduce/ring", None),
        ours("allreduce/dual_root", None),
    );
    let [default, ring, mut third] = [
        (Candidate::Default, [10.0, 100.0]),
        (ring, [100.0, 10.0]),
        (tree, [15.0, 15.0]),
    ];
    // The default and the ring cross half-way at 31.6 microseconds, at 4096 bytes, where the third candidate takes 15.
    // The default is favoured by 5 %.
    let found = rules_between(&[default.clone(), ring.clone(), third.clone()]);
    let ids: Vec<&str> = found.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(ids, ["default", "dual_root", "ring"]);
    let near = |bytes: u64, share: f64| {
        let expected = 1024.0 * 16_f64.powf(share);
        assert!(
            (bytes as f64 / expected - 1.0).abs() < 1e-3,
            "{bytes}, not {expected}"
        );
    };
    near(found[1].0, (1.5_f64.ln() + 0.05) / 10_f64.ln());
    near(found[2].0, 1.0 - 1.5_f64.ln() / 10_f64.ln());
    third.1 = [32.0, 32.0];
    let without_third = rules_between(&[default, ring, third]);
    assert_eq!(without_third, told(&[(0, "default"), (4221, "ring")]));
}

/// At the smaller size the default takes as long as recursive doubling, at the larger size as long as the ring, which
/// is also chosen below that size.
#[test]
fn a_default_that_changes_between_two_sizes_is_compared_by_its_algorithm() {
    let doubling = ours("allreduce/recursive_doubling", None);
    let ring = ours("allreduce/ring", None);
    let of = |default, doubling_times, ring_times| {
        rules_between(&[
            (Candidate::Default, default),
            (doubling.clone(), doubling_times),
            (ring.clone(), ring_times),
        ])
    };
    // By the default's own line the ring's rule would end beyond the middle.
    let found = of([100.0, 100.0], [100.0, 400.0], [50.0, 100.0]);
    assert_eq!(found, told(&[(0, "ring"), (16_384, "default")]));
    // The default is the same algorithm at both sizes: its line crosses that of the ring.
    let unchanged = of([100.0, 400.0], [100.0, 400.0], [200.0, 200.0]);
    assert_eq!(unchanged, told(&[(0, "default"), (4527, "ring")]));
    // The default changes to a slower algorithm; its algorithm at the smaller size replaces it in the comparison.
    let changed = of([100.0, 600.0], [100.0, 400.0], [200.0, 200.0]);
    assert_eq!(
        changed,
        told(&[(0, "default"), (1025, "recursive_doubling"), (4096, "ring")])
    );
}

#[test]
fn thresholds_are_where_the_curves_cross() {
    let table = built(&three_regions());
    let entry = &only(&table)[0];
    assert_eq!(entry.operators, Operators::Commutative);
    let ids: Vec<_> = entry.rules.iter().map(|rule| rule.candidate.id()).collect();
    assert_eq!(ids, ["default", "dual_root", "ring"]);
    let from: Vec<_> = entry.rules.iter().map(|rule| rule.from_bytes).collect();
    assert_eq!(from[0], 0);
    // The straight lines cross at 2000 and 140000 bytes; between the measured sizes (a factor of
    // 8 apart) they are interpolated.
    assert!((1500..2600).contains(&from[1]), "{from:?}");
    assert!((100_000..190_000).contains(&from[2]), "{from:?}");
    assert_eq!(entry.measured.len(), SIZES.len());
}

#[test]
fn the_default_is_replaced_where_the_gain_suffices() {
    // The default is kept at 64 bytes as it loses less than 5 %, and above 70 bytes it loses more.
    let sizes = [64, 6400];
    let candidates = [
        (Candidate::Default, 1e-6, 1e-9),
        (ours("allreduce/dual_root", None), 0.99e-6, 0.5e-9),
    ];
    let table = built(&lines(&sizes, &candidates));
    let from: Vec<_> = only(&table)[0]
        .rules
        .iter()
        .map(|rule| rule.from_bytes)
        .collect();
    assert_eq!(from, [0, 70]);
}

#[test]
fn classes_with_equal_rules_share_an_entry() {
    let classes = |samples: &[Sample]| -> Vec<Operators> {
        let table = built(samples);
        only(&table).iter().map(|entry| entry.operators).collect()
    };
    // Without the unordered ring both classes have the same rules.
    let candidates = [
        (Candidate::Default, 1e-6, 1e-9),
        (ours("allreduce/dual_root", Some(8192)), 2e-6, 0.5e-9),
    ];
    let sums = lines(&SIZES, &candidates);
    assert_eq!(classes(&of_both_classes(sums.clone())), [Operators::Any]);
    // A class that was not measured has no entry.
    assert_eq!(classes(&sums), [Operators::Commutative]);
    assert_eq!(
        classes(&of_both_classes(three_regions())),
        [Operators::Commutative, Operators::Noncommutative]
    );
}

#[test]
fn the_table_is_short_valid_and_reproducible() {
    let mut samples = of_both_classes(three_regions());
    let text = built(&samples).to_yaml();
    let read = Table::parse(&text, "test.yaml".as_ref()).expect("valid");
    assert_eq!(read.to_yaml(), text);
    samples.reverse();
    assert_eq!(built(&samples).to_yaml(), text);
    insta::assert_snapshot!(text);
}

#[test]
fn without_measurements_the_table_is_empty() {
    assert!(built(&[]).collectives.is_empty());
    // Without the default there is no decision.
    let alone = launches(
        allreduce(4, 8),
        &[(ours("allreduce/ring", None), &[1.0; 6])],
    );
    assert!(built(&alone).collectives.is_empty());
}

#[test]
fn a_size_of_zero_bytes_is_allowed() {
    let candidates = [
        (Candidate::Default, 1e-6, 1e-9),
        (ours("allreduce/ring", None), 2e-6, 0.1e-9),
    ];
    let table = built(&lines(&[0, 8, 65_536], &candidates));
    let rules = &only(&table)[0].rules;
    assert_eq!((rules.len(), rules[0].from_bytes), (2, 0));
    assert!((9..=65_536).contains(&rules[1].from_bytes));
}

/// Each deployment gets the best that it offers, from the same measurements; ordered natives serve
/// operators that do not commute.
#[test]
fn deployments_are_decided_separately() {
    let native = |id: &str| Candidate::Native {
        algorithm: format!("native:allreduce/{id}"),
        parameters: Parameters::default(),
    };
    let candidates = [
        (Candidate::Default, 4e-6, 1e-9),
        (ours("allreduce/dual_root", Some(8192)), 1e-6, 1e-9),
        (native("ring"), 2e-6, 0.8e-9),
        (native("recursive_doubling"), 3e-6, 0.9e-9),
    ];
    let rules = |table: &Table| -> Vec<(Operators, Deployments, Vec<String>)> {
        let names = |entry: &ShapeRules| {
            let rules = entry.rules.iter();
            rules.map(|rule| rule.candidate.id().to_owned()).collect()
        };
        let entries = only(table).iter();
        entries
            .map(|entry| (entry.operators, entry.deployments, names(entry)))
            .collect()
    };
    let of = |operators, deployments, ids: &[&str]| {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        (operators, deployments, ids)
    };
    use Deployments::{Any, Colltune, Library};
    use Operators::Commutative;
    let all = built(&lines(&[8, 64], &candidates));
    // Entries for programs without other operators come before entries for all operators.
    let expected = [
        of(Commutative, Colltune, &["dual_root"]),
        of(Commutative, Library, &["ring"]),
        of(Operators::Any, Library, &["recursive_doubling"]),
    ];
    assert_eq!(rules(&all), expected);
    let text = all.to_yaml();
    let again = Table::parse(&text, "t.yaml".as_ref()).expect("valid");
    assert_eq!(again, all);
    // If none of colltune's algorithms is the best, both deployments share their entries.
    let natives = [
        candidates[0].clone(),
        candidates[2].clone(),
        candidates[3].clone(),
    ];
    let alike = built(&lines(&[8, 64], &natives));
    let expected_alike = [
        of(Commutative, Any, &["ring"]),
        of(Operators::Any, Library, &["recursive_doubling"]),
    ];
    assert_eq!(rules(&alike), expected_alike);
    // Without native algorithms there are no entries for the library's settings.
    let without = built(&lines(&[8, 64], &candidates[..2]));
    let expected_without = [of(Commutative, Colltune, &["dual_root"])];
    assert_eq!(rules(&without), expected_without);
}
