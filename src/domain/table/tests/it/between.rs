//! Shapes between measured ones.

use std::collections::BTreeSet;

use schedule::Collective;
use table::dispatch::CommunicatorRules;
use table::{
    Deployment, OperatorClass, Policy, Query, ShapeMatch, ShapeRules, Table, TableError,
    index_of_lowest, leave_needed_times, lowest_line_changes,
};
use vocabulary::{Candidate, CommShape, RankOrder};

/// On 4x4 the times are the geometric means: the default 4 and 80, binomial 6 and 60, chain 12 and 20.
const SHAPES: &str = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 2
        ppn: 4
        rules:
          - {from: 0, candidate: bcast/binomial, speedup: 2, confidence: high, confirmed: true}
        measured:
          bytes:                [64, 4K]
          microseconds:         [2, 40]
          default_microseconds: [4, 40]
          candidates:
            - {candidate: bcast/binomial, microseconds: [2, 60]}
            - {candidate: bcast/chain, blocks: 4, microseconds: [9, 40]}
      - nodes: 8
        ppn: 4
        rules:
          - {from: 0, candidate: default, confidence: high}
        measured:
          bytes:                [64, 4K]
          microseconds:         [4, 160]
          default_microseconds: [4, 160]
          candidates:
            - {candidate: bcast/binomial, microseconds: [18, 60]}
            - {candidate: bcast/chain, blocks: 4, microseconds: [16, 10]}
";

fn text() -> String {
    let head = "format: colltune-table 3\nname: between\nprovenance:\n  campaign: abc\n  store: b.db\n  \
                library: {name: openmpi, version: \"4.1.4\"}\n  colltune: \"0.1.0\"\n  \
                date: \"2026-11-20\"\n  hosts: [n1]\n  cpu: any\n  launches: 6\n  warnings: []\n\
                collectives:";
    format!("{head}{SHAPES}")
}

#[track_caller]
fn parsed(text: &str) -> Table {
    Table::parse(text, "between.yaml".as_ref()).unwrap_or_else(|error| panic!("{error}"))
}

fn table(edits: &[(&str, &str)]) -> Table {
    let mut text = text();
    for (old, new) in edits {
        assert_eq!(text.matches(old).count(), 1, "`{old}` must stand once");
        text = text.replace(old, new);
    }
    let table = parsed(&text);
    assert_eq!(parsed(&table.to_yaml()), table);
    table
}

fn query(nodes: u32, bytes: u64) -> Query {
    Query {
        collective: Collective::Bcast,
        shape: CommShape { nodes, ppn: 4 },
        order: RankOrder::Unknown,
        bytes,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Colltune,
    }
}

fn check(table: &Table, nodes: u32, bytes: u64, candidate: &str, matched: &str) {
    let decision = table.lookup(&query(nodes, bytes));
    let found = (decision.candidate.to_string(), decision.matched.to_string());
    assert_eq!(
        found,
        (candidate.to_owned(), matched.to_owned()),
        "{nodes}x4, {bytes}"
    );
}

const CHAIN: &str = "bcast/chain[blocks=4]";
const BETWEEN: &str = "interpolated between 2x4 and 8x4";

#[test]
fn the_candidate_with_the_shortest_interpolated_time_is_chosen() {
    let table = table(&[]);
    // ln(12/4) of ln(12/4) + ln(80/20) on the way from 64 to 4096 bytes.
    for (bytes, candidate) in [
        (0, "default"),
        (64, "default"),
        (401, "default"),
        (402, CHAIN),
        (4096, CHAIN),
        (1 << 20, CHAIN),
    ] {
        check(&table, 4, bytes, candidate, BETWEEN);
    }
    let decision = table.lookup(&query(4, 4096));
    let near = |found: Option<f64>, expected: f64| {
        assert!(
            (found.expect("known") / expected - 1.0).abs() < 1e-3,
            "{found:?}"
        );
    };
    near(decision.expected_seconds, 20e-6);
    near(decision.default_seconds, 80e-6);
    near(decision.speedup, 4.0);
    assert_eq!(decision.rule.to_string(), "bcast, 4x4, from 402 bytes");
    assert!(!decision.confirmed);
    assert_eq!(decision.to_json().reason.as_deref(), Some("not confirmed"));
    // A measured shape, a shape that no two measured ones enclose, and one without a power of two ranks.
    check(&table, 2, 4096, "bcast/binomial", "measured");
    check(&table, 16, 4096, "default", "nearest 8x4");
    check(&table, 5, 4096, "default", "nearest 8x4");
}

#[test]
fn programs_decide_like_lookup_if_the_policy_allows() {
    let table = table(&[]);
    let unconfirmed = Policy {
        unconfirmed: true,
        ..Policy::default()
    };
    for (policy, interpolates) in [(Policy::default(), false), (unconfirmed, true)] {
        let deployed = table.deployed_by(policy).0;
        for nodes in [2, 4, 5, 8, 16] {
            let shape = query(nodes, 0).shape;
            let rules = CommunicatorRules::new(&deployed, shape, RankOrder::Unknown, false);
            assert_eq!(rules.rounding_checksum() > 0, interpolates && nodes == 4);
            for bytes in (0..24)
                .flat_map(|power| [(1 << power) - 1, 1 << power])
                .chain([401, 402])
            {
                let decision = deployed.lookup(&query(nodes, bytes));
                let class = OperatorClass::Commutative;
                let chosen = &rules.decide(Collective::Bcast, class, bytes).candidate;
                let expected = match decision.matched {
                    ShapeMatch::Nearest(_) => &Candidate::Default,
                    _ => decision.candidate,
                };
                assert_eq!(chosen, expected, "{nodes}x4, {bytes}");
                if nodes == 4 {
                    let is_interpolated = matches!(decision.matched, ShapeMatch::Interpolated(..));
                    assert_eq!(is_interpolated, interpolates);
                }
            }
        }
        let written = deployed.interpolated_entries(Collective::Bcast);
        let nodes: Vec<u32> = written.iter().map(|entry| entry.shape.nodes).collect();
        assert_eq!(nodes, if interpolates { vec![4] } else { vec![] });
        for entry in &written {
            let rules: Vec<_> = entry
                .rules
                .iter()
                .map(|rule| (rule.from_bytes, rule.candidate.id()))
                .collect();
            assert_eq!(rules, [(0, "default"), (402, "chain")]);
        }
    }
}

/// The default takes as long as binomial on one shape and as chain on the other.
#[test]
fn a_default_that_changes_between_the_shapes_is_not_interpolated() {
    let changes = [
        (
            "bcast/binomial, microseconds: [2, 60]",
            "bcast/binomial, default_at: [64], microseconds: [2, 60]",
        ),
        (
            "blocks: 4, microseconds: [16, 10]",
            "blocks: 4, default_at: [64], microseconds: [16, 10]",
        ),
    ];
    check(&table(&changes), 4, 64, "bcast/binomial", BETWEEN);
    check(&table(&changes[..1]), 4, 64, "default", BETWEEN);
    let decision = table(&changes).lookup(&query(4, 64)).default_seconds;
    assert_eq!(
        decision.map(|s| (s * 1e6).round()),
        Some(80.0),
        "only the time at 4K is known"
    );
}

#[test]
fn a_candidate_whose_time_is_unknown_at_a_size_is_not_chosen_there() {
    let unknown = table(&[(
        "blocks: 4, microseconds: [16, 10]",
        "blocks: 4, microseconds: [16, none]",
    )]);
    check(&unknown, 4, 4096, "bcast/binomial", BETWEEN);
}

#[test]
fn candidates_that_a_verdict_turns_back_are_not_interpolated() {
    let mut table = table(&[]);
    let entry = &mut table
        .collectives
        .get_mut(&Collective::Bcast)
        .expect("there")[0];
    entry.turn_back_sizes(&(0..64));
    let known: Vec<_> = entry
        .candidates
        .iter()
        .map(|times| times.candidate.id())
        .collect();
    assert_eq!(known, ["chain"]);
}

#[test]
fn nothing_is_interpolated_past_a_shape_without_times() {
    let mut table = table(&[]);
    let entries = table.collectives.get_mut(&Collective::Bcast);
    let entries = entries.expect("there");
    let mut further = entries[1].clone();
    further.shape.nodes = 32;
    entries.push(further);
    let is_interpolated = |given: &Table| {
        let matched = given.lookup(&query(16, 4096)).matched;
        matches!(matched, ShapeMatch::Interpolated(..))
    };
    assert!(is_interpolated(&table));
    let of_bcast = table.collectives.get_mut(&Collective::Bcast);
    of_bcast.expect("there")[1].candidates.clear();
    assert!(!is_interpolated(&table));
}

#[test]
fn a_shape_without_neighbours_needs_no_times() {
    let mut table = table(&[]);
    let entries = table.collectives.get_mut(&Collective::Bcast);
    let entries = entries.expect("there");
    let times = |kept: &[ShapeRules]| -> Vec<usize> {
        kept.iter().map(|entry| entry.candidates.len()).collect()
    };
    leave_needed_times(Collective::Bcast, entries);
    assert_eq!(times(entries), [2, 2]);
    entries.truncate(1);
    leave_needed_times(Collective::Bcast, entries);
    assert_eq!(times(entries), [0]);
}

#[test]
fn powers_of_two_are_written_out_between_powers_of_two() {
    let table = table(&[("nodes: 8", "nodes: 512")]);
    let written = table.interpolated_entries(Collective::Bcast);
    let nodes: Vec<u32> = written.iter().map(|entry| entry.shape.nodes).collect();
    assert_eq!(nodes, [4, 8, 16, 32, 64, 128, 256]);
}

/// Anyone may write a table with thousands of shapes far apart; nobody's memory may be filled by it.
#[test]
fn the_shapes_between_very_many_measured_ones_are_bounded() {
    let mut table = table(&[]);
    let entries = table.collectives.get_mut(&Collective::Bcast);
    let entries = entries.expect("there");
    let two = [entries[0].clone(), entries[1].clone()];
    *entries = (1..=300)
        .map(|index| ShapeRules {
            shape: CommShape {
                nodes: index * 100_000 + 3,
                ppn: 4,
            },
            ..two[index as usize % 2].clone()
        })
        .collect();
    let written = table.interpolated_entries(Collective::Bcast);
    let nodes: BTreeSet<u32> = written.iter().map(|entry| entry.shape.nodes).collect();
    assert!((2000..5000).contains(&nodes.len()), "{}", nodes.len());
}

#[test]
fn times_of_candidates_are_read_strictly() {
    let refused = |old: &str, new: &str, why: &str| {
        let text = text().replace(old, new);
        match Table::parse(&text, "t.yaml".as_ref()) {
            Err(TableError::Invalid(invalid)) => {
                let told = invalid.to_string();
                assert!(told.contains(why), "{told}");
            }
            other => panic!("{other:?}"),
        }
    };
    refused("[9, 40]", "[9]", "1 values for 2 sizes");
    refused("[9, 40]", "[9, -1]", "microseconds");
    refused("[9, 40]", "[9, nothing]", "or none");
    refused(
        "bcast/binomial, microseconds: [2",
        "default, microseconds: [2",
        "default_microseconds",
    );
    refused(
        "bcast/binomial, microseconds: [2",
        "bcast/ring, microseconds: [2",
        "bcast/ring",
    );
    refused(
        "bcast/binomial, micro",
        "bcast/binomial, default_at: [65], micro",
        "one of the sizes",
    );
}

#[test]
fn the_lowest_line_changes_where_lines_cross() {
    let lines = [
        Some([1.0, 4.0]),
        Some([3.0, 0.0]),
        Some([2.0, 1.0]),
        None,
        Some([5.0, 5.0]),
    ];
    assert_eq!(
        index_of_lowest(lines.iter().map(|line| Some((*line)?[0]))),
        Some(0)
    );
    let found = lowest_line_changes(&lines, 0);
    // The first two would meet at 1/3, the third meets the first at 1/4 and the second at 1/2.
    assert_eq!(found, [(0.25, 2), (0.5, 1)]);
    assert_eq!(lowest_line_changes(&lines, 1), []);
    assert_eq!(lowest_line_changes(&lines, 3), []);
    assert_eq!(index_of_lowest([None, None].into_iter()), None);
}
