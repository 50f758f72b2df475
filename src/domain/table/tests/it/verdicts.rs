//! Verdicts in a table's file, and their effect on its rules.

use std::path::Path;

use schedule::Collective;
use statistics::{Interval, PairedRatio};
use table::{
    Confidence, Deployment, Found, Lack, OperatorClass, Operators, Policy, Query, Rule, ShapeRules,
    Table, TableError, Verdict,
};
use vocabulary::{Candidate, CommShape, Distribution, Library, Parameters, Pattern, RankOrder};

use crate::sample::{block_bytes, ours, table};

/// A verdict about the sample's choice for allreduce on one node.
fn verdict(bytes: u64, found: Found) -> Verdict {
    Verdict {
        unix_seconds: 1_790_000_000,
        library: Library {
            name: "openmpi".to_owned(),
            version: "4.1.4".to_owned(),
        },
        conditions: "0123abc".to_owned(),
        pattern: Pattern::Together,
        collective: Collective::Allreduce,
        shape: CommShape { nodes: 1, ppn: 2 },
        order: RankOrder::Unknown,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Colltune,
        candidate: ours("allreduce/dual_root", block_bytes(65536)),
        bytes,
        distribution: Distribution::Uniform,
        found,
        speedup: Some(PairedRatio {
            median: 0.3412,
            interval: Interval {
                low: 0.3,
                high: 0.4,
                coverage: 0.96875,
            },
            launches: 9,
        }),
        seed: u64::MAX,
        newest_launch: None,
    }
}

/// The rules of an entry, as sizes and ids; confirmed ones with an asterisk.
fn rules(entry: &ShapeRules) -> Vec<(u64, String)> {
    let rule = |rule: &Rule| {
        let star = if rule.confirmed { "*" } else { "" };
        (rule.from_bytes, format!("{}{star}", rule.candidate.id()))
    };
    entry.rules.iter().map(rule).collect()
}

fn named(rules: &[(u64, String)]) -> Vec<(u64, &str)> {
    let pairs = rules.iter();
    pairs.map(|(from, id)| (*from, id.as_str())).collect()
}

#[test]
fn a_table_without_verdicts_is_written_as_before() {
    assert!(!table().to_yaml().contains("verdicts"));
}

#[test]
fn verdicts_are_read_back_as_they_were() {
    let mut table = table();
    let native = Candidate::Native {
        algorithm: "native:bcast/chain".to_owned(),
        parameters: Parameters {
            segment_bytes: Some(1024),
            fanout: Some(2),
            ..Parameters::default()
        },
    };
    table.verdicts = vec![
        verdict(4096, Found::Slower),
        Verdict {
            collective: Collective::Bcast,
            order: RankOrder::Cyclic,
            deployment: Deployment::Library,
            candidate: native,
            pattern: Pattern::Repeated,
            speedup: None,
            newest_launch: Some(12),
            ..verdict(100, Found::Failed)
        },
        Verdict {
            operators: OperatorClass::Noncommutative,
            ..verdict(8192, Found::Same)
        },
    ];
    let text = table.to_yaml();
    let same = Table::parse(&text, Path::new("t.yaml")).expect("a table");
    assert_eq!(same.to_yaml(), text);
    table.mark_refuted();
    assert_eq!(same, table);
    // The format's version stays the same.
    assert!(text.contains("format: colltune-table 3\n"));
    table.collectives.clear();
    let emptied = Table::parse(&table.to_yaml(), Path::new("t.yaml")).expect("a table");
    assert_eq!(emptied, table);
}

#[test]
fn wrong_verdicts_are_refused_with_their_place() {
    let mut table = table();
    table.verdicts = vec![verdict(4096, Found::Slower)];
    let good = table.to_yaml();
    for (old, new, named) in [
        ("verdict: slower", "verdict: awful", "verdicts[0].verdict"),
        (
            "bytes: 4K, candidate",
            "bytes: x, candidate",
            "verdicts[0].bytes",
        ),
        ("low: 0.3", "low: -1", "verdicts[0].speedup.low"),
        (
            "coverage: 0.96875",
            "coverage: 2",
            "verdicts[0].speedup.coverage",
        ),
        (
            "seed: 18446744073709551615",
            "seed: 18446744073709551616",
            "verdicts[0].seed",
        ),
        ("when: 1790000000", "when: then", "verdicts[0].when"),
        (", conditions: \"0123abc\"", "", "conditions"),
        ("conditions:", "condition:", "condition"),
        (
            "- {collective: allreduce, nodes: 1",
            "- {collective: alreduce, nodes: 1",
            "allreduce",
        ),
        (
            "- {collective: allreduce, nodes: 1",
            "- {collective: allreduce, nodes: 0",
            "nodes",
        ),
        (
            "bytes: 4K, candidate: allreduce/dual_root",
            "bytes: 4K, candidate: allreduce/dual_rot",
            "allreduce/dual_root",
        ),
    ] {
        assert_eq!(good.matches(old).count(), 1, "{old}");
        let error = Table::parse(&good.replace(old, new), Path::new("tables/t.yaml"));
        let Err(TableError::Invalid(refused)) = error else {
            panic!("{new}: {error:?}");
        };
        let text = refused.to_string();
        let line = good.lines().count();
        assert!(text.contains(named), "{new}: {text}");
        assert!(text.contains(&format!("t.yaml:{line}")), "{new}: {text}");
    }
}

/// Asserts that a table with verdicts deploys what is `expected`, while its rules and its text stay.
#[track_caller]
fn assert_left_to_the_default(verdicts: &[Verdict], expected: &[(u64, &str)]) {
    let mut judged = table();
    judged.verdicts = verdicts.to_vec();
    judged.mark_refuted();
    let everything = Policy {
        min_confidence: Some(Confidence::Low),
        unconfirmed: true,
        extrapolate: true,
        ..Policy::default()
    };
    let (deployed, withheld) = judged.deployed_by(everything);
    let mut left = rules(&deployed.collectives[&Collective::Allreduce][0]);
    left.dedup_by(|next, before| next.1 == before.1);
    assert_eq!(named(&left), expected, "{withheld:?}");
    assert!(withheld.iter().all(|rule| rule.lack == Lack::Verdict));
    let usage = judged.count_usage(everything, Deployment::Colltune);
    assert_eq!(
        (usage.refuted, usage.unused_rules()),
        (withheld.len(), withheld.len())
    );
    // What is in force and what a lookup says agree at every size.
    for bytes in [
        0,
        1499,
        1500,
        4095,
        4096,
        4097,
        19_999,
        20_000,
        32_767,
        32_768,
        1 << 20,
    ] {
        let query = Query {
            collective: Collective::Allreduce,
            shape: CommShape { nodes: 1, ppn: 2 },
            order: RankOrder::Unknown,
            bytes,
            operators: OperatorClass::Commutative,
            deployment: Deployment::Colltune,
        };
        let decision = judged.lookup(&query);
        let is_used = decision.reason_withheld(everything).is_none();
        let in_force = deployed.lookup(&query).candidate;
        let wanted = if is_used {
            decision.candidate
        } else {
            &Candidate::Default
        };
        assert_eq!(in_force, wanted, "{bytes}");
    }
    assert!(judged.to_yaml().starts_with(&table().to_yaml()));
    judged.verdicts.clear();
    judged.mark_refuted();
    assert_eq!(judged, table());
}

/// Verdicts about another library, or another pattern of calls, say nothing about the table.
#[test]
fn verdicts_about_other_measurements_refute_nothing() {
    let wrong = verdict(4096, Found::Slower);
    let other_library = Library {
        version: "5.0.1".to_owned(),
        ..wrong.library.clone()
    };
    let mut judged = table();
    judged.verdicts = vec![
        Verdict {
            library: other_library,
            ..wrong.clone()
        },
        Verdict {
            pattern: Pattern::Skewed,
            ..wrong
        },
    ];
    judged.mark_refuted();
    assert_eq!(judged.collectives, table().collectives);
}

#[test]
fn wrong_sizes_are_turned_back_up_to_good_ones() {
    let check = |verdicts: &[Verdict], expected: &[(u64, &str)]| {
        let mut table = table();
        let changes = table.turn_back(verdicts);
        let entry = &table.collectives[&Collective::Allreduce][0];
        assert_eq!(named(&rules(entry)), expected, "{changes:?}");
        let warned = table.provenance.warnings.last().expect("a warning");
        assert_eq!(
            warned.starts_with("Turned back to the default"),
            !changes.is_empty(),
            "{warned}"
        );
        // Other entries are as they were.
        assert_eq!(
            table.collectives[&Collective::Allreduce][1..],
            crate::sample::table().collectives[&Collective::Allreduce][1..]
        );
        assert_left_to_the_default(verdicts, expected);
    };
    let whole = [
        (0, "default"),
        (1500, "dual_root"),
        (1 << 20, "reduce_broadcast"),
    ];
    let turned = [
        (0, "default"),
        (32768, "dual_root"),
        (1 << 20, "reduce_broadcast"),
    ];
    check(&[verdict(4096, Found::Slower)], &turned);
    check(&[verdict(4096, Found::Failed)], &turned);
    check(
        &[verdict(4096, Found::Same), verdict(8192, Found::Faster)],
        &whole,
    );
    let between = [
        (0, "default"),
        (1500, "dual_root"),
        (4097, "default"),
        (20000, "dual_root"),
        (1 << 20, "reduce_broadcast"),
    ];
    let probes = [verdict(10000, Found::Slower), verdict(20000, Found::Same)];
    check(&probes, &between);
    // Of two verdicts about one size the later one counts, in either order.
    let later = |found| Verdict {
        unix_seconds: 1_790_000_001,
        ..verdict(4096, found)
    };
    check(
        &[later(Found::Faster), verdict(4096, Found::Slower)],
        &whole,
    );
    check(
        &[later(Found::Slower), verdict(4096, Found::Faster)],
        &turned,
    );
    // A later one that found no difference does not overrule a wrong one, which the noise of a day may hide.
    check(&[later(Found::Same), verdict(4096, Found::Slower)], &turned);
    check(&[verdict(4096, Found::Failed), later(Found::Same)], &turned);
}

/// A gain with one distribution of the data says nothing about another, nor does a later finding about it.
#[test]
fn verdicts_about_another_distribution_clear_nothing() {
    for collective in [Collective::Alltoallv, Collective::Allgatherv] {
        let chosen = ours(&format!("{collective}/linear"), Parameters::default());
        let mut tuned = table();
        let entry = ShapeRules {
            operators: Operators::Any,
            rules: vec![Rule::new(0, chosen.clone(), Some(1.5), Confidence::High)],
            measured: Vec::new(),
            candidates: Vec::new(),
            ..tuned.collectives[&Collective::Allreduce][0].clone()
        };
        tuned.collectives.insert(collective, vec![entry]);
        let at = |days: u64, distribution, found| Verdict {
            collective,
            candidate: chosen.clone(),
            distribution,
            unix_seconds: 1_790_000_000 + days,
            ..verdict(65536, found)
        };
        let (uniform, skewed) = (Distribution::Uniform, Distribution::Skewed);
        let first = [at(0, uniform, Found::Faster), at(0, skewed, Found::Slower)];
        let again = [at(1, uniform, Found::Faster), at(1, skewed, Found::Same)];
        let is_wrong = |verdicts: &[&[Verdict]]| {
            let mut judged = tuned.clone();
            for night in verdicts {
                judged.add_verdicts(night.to_vec());
            }
            let text = judged.to_yaml();
            let same = Table::parse(&text, Path::new("t.yaml")).expect("a table");
            assert_eq!(same, judged);
            let rules = &judged.collectives[&collective][0].rules;
            rules.iter().any(|rule| rule.refuted)
        };
        assert!(is_wrong(&[&first]), "{collective}");
        assert!(is_wrong(&[&first, &again]), "{collective}");
        // Only a gain with the same distribution clears it.
        let cleared = [at(2, skewed, Found::Faster)];
        assert!(!is_wrong(&[&first, &cleared]), "{collective}");
    }
}

#[test]
fn only_verdicts_about_irregular_collectives_name_a_distribution() {
    let mut judged = table();
    judged.verdicts = vec![verdict(4096, Found::Slower)];
    let text = judged.to_yaml();
    assert!(!text.contains("distribution"), "{text}");
    for name in ["skewed", "even"] {
        let wrong = text.replace(
            "bytes: 4K, c",
            &format!("bytes: 4K, distribution: {name}, c"),
        );
        let refused = Table::parse(&wrong, Path::new("t.yaml"));
        let message = refused.expect_err("refused").to_string();
        assert!(message.contains("verdicts[0].distribution"), "{message}");
    }
}

#[test]
fn a_verdict_affects_only_its_place_and_candidate() {
    let wrong = verdict(4096, Found::Slower);
    let others = [
        Verdict {
            shape: CommShape { nodes: 2, ppn: 1 },
            ..wrong.clone()
        },
        Verdict {
            deployment: Deployment::Library,
            ..wrong.clone()
        },
        Verdict {
            collective: Collective::Reduce,
            ..wrong.clone()
        },
        Verdict {
            candidate: ours("allreduce/dual_root", block_bytes(4096)),
            ..wrong.clone()
        },
        Verdict {
            bytes: 1499,
            ..wrong.clone()
        },
    ];
    let mut same = table();
    assert!(same.turn_back(&others).is_empty());
    assert_eq!(same, table());
    // The entry is for all operators.
    let other_class = Verdict {
        operators: OperatorClass::Noncommutative,
        ..wrong
    };
    assert_eq!(same.turn_back(&[other_class]).len(), 1);
}

#[test]
fn a_part_of_a_rule_is_confirmed_and_the_rest_stays_the_same() {
    let mut entry = table().collectives[&Collective::Allreduce][0].clone();
    entry.confirm_sizes(&(2000..8193), 1.23456, Confidence::High);
    let parts = [
        (0, "default"),
        (1500, "dual_root"),
        (2000, "dual_root*"),
        (8193, "dual_root"),
        (1 << 20, "reduce_broadcast"),
    ];
    assert_eq!(named(&rules(&entry)), parts);
    assert_eq!(entry.rules[2].speedup, Some(1.23));
    assert_eq!(entry.rules[3].speedup, Some(1.32));
    // Turning another rule back keeps the confirmation.
    entry.turn_back_sizes(&(1 << 20..u64::MAX));
    assert_eq!(named(&rules(&entry))[..4], parts[..4]);
    entry.confirm_sizes(&(8193..1 << 20), 1.5, Confidence::Medium);
    assert_eq!(
        named(&rules(&entry))[1..3],
        [(1500, "dual_root"), (2000, "dual_root*")]
    );
    // The merged rule has the lower confidence and the lower speed-up of the two.
    let rule = &entry.rules[2];
    assert_eq!(
        (rule.speedup, rule.confidence),
        (Some(1.23), Confidence::Medium)
    );
}
