//! Headers, compiled and queried.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use export::Options;
use printable::is_unprintable;
use schedule::Collective;
use table::{Deployment, OperatorClass, Policy, Query, ShapeMatch, Table};
use vocabulary::{CommShape, RankOrder};

use crate::sample::{self, OPEN_MPI, export, refuse};

fn table() -> Table {
    sample::table("openmpi", "4.1.4", OPEN_MPI)
}

#[test]
fn a_header_has_the_table_and_the_lookup() {
    let exported = export("c-header", &table(), &Options::default()).expect("exported");
    insta::assert_snapshot!(sample::without_version(&exported.text));
    let broken = exported.text.replace("UINT64_C(1500)", "UINT64_C(0x5)");
    let line = 1 + broken
        .lines()
        .position(|line| line.contains("0x5"))
        .expect("a line");
    refuse("c-header", &broken, &format!("line {line}: not a size"));
    let wrong_switch = exported.text.replace("EXTRAPOLATE = 0", "EXTRAPOLATE = 2");
    refuse(
        "c-header",
        &wrong_switch,
        "line 1: COLLTUNE_EXTRAPOLATE is not 0 or 1",
    );
}

/// Reads queries as numbers and prints the names of the choices.
const PROGRAM: &str = r#"
#include "table.h"
#include <inttypes.h>
#include <stdio.h>

int main(void)
{
    int collective, order, operators, deployment;
    uint32_t nodes, ppn;
    uint64_t bytes;
    while (scanf("%d %" SCNu32 " %" SCNu32 " %d %" SCNu64 " %d %d", &collective, &nodes, &ppn, &order,
                 &bytes, &operators, &deployment) == 7)
        puts(colltune_lookup(collective, nodes, ppn, order, bytes, operators, deployment)->candidate);
    return 0;
}
"#;

/// The orders as the header numbers them.
const ORDERS: [RankOrder; 4] = [
    RankOrder::Unknown,
    RankOrder::Block,
    RankOrder::Cyclic,
    RankOrder::Other,
];

/// A table whose rules differ between orders of ranks.
fn ordered() -> Table {
    let mut text =
        "  bcast:\n    message_size: bytes of one rank's vector\n    shapes:\n".to_owned();
    for (shape, order, candidate) in [
        ("nodes: 1, ppn: 2", "block", "binomial"),
        ("nodes: 2, ppn: 2", "block", "chain"),
        ("nodes: 2, ppn: 2", "cyclic", "binomial"),
        ("nodes: 2, ppn: 4", "cyclic", "chain"),
        ("nodes: 4, ppn: 2", "other", "binomial"),
    ] {
        text += &format!(
            "      - {{{shape}, order: {order}, deployment: library, rules: [\n          {{from: 0, \
             candidate: 'native:bcast/{candidate}', confidence: high}}]}}\n"
        );
    }
    sample::table("openmpi", "4.1.4", &text)
}

fn options(extrapolate: bool) -> Options {
    Options {
        policy: Policy {
            extrapolate,
            ..Policy::default()
        },
        ..Options::default()
    }
}

/// The answers of a compiled header.
fn ask(table: &Table, options: &Options, questions: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let text = export("c-header", table, options).expect("exported").text;
    std::fs::write(folder.path().join("table.h"), text).expect("written");
    std::fs::write(folder.path().join("ask.c"), PROGRAM).expect("written");
    let flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"];
    let status = Command::new("cc")
        .args(flags)
        .args(["-o", "ask", "ask.c"])
        .current_dir(folder.path())
        .status()
        .expect("a C compiler");
    assert!(status.success());
    let mut child = Command::new(folder.path().join("ask"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut input = child.stdin.take().expect("piped");
    let questions = questions.to_owned();
    let writer = std::thread::spawn(move || input.write_all(questions.as_bytes()));
    let output = child.wait_with_output().expect("ended");
    writer.join().expect("no panic").expect("written");
    let answers = String::from_utf8(output.stdout).expect("text");
    answers.lines().map(str::to_owned).collect()
}

#[test]
fn the_compiled_header_answers_like_lookup() {
    let mut random = fastrand::Rng::with_seed(7);
    let tables = [
        table(),
        ordered(),
        sample::table("openmpi", "4.1.4", "  {}\n"),
    ];
    for (table, extrapolate) in tables
        .iter()
        .flat_map(|table| [(table, false), (table, true)])
    {
        let mut queries = Vec::new();
        let mut questions = String::new();
        for _ in 0..30_000 {
            let (nodes, ppn) = (random.u32(1..6), random.u32(1..10));
            let exponent = random.u32(0..22);
            let order = random.usize(0..ORDERS.len());
            let around = [10, 100, 1500, 4096, 65536, 1 << 20];
            let bytes = if random.bool() {
                around[random.usize(0..6)] + random.u64(0..3) - 1
            } else {
                random.u64(0..=1 << exponent)
            };
            let query = Query {
                order: ORDERS[order],
                collective: Collective::ALL[random.usize(0..Collective::ALL.len())],
                shape: CommShape { nodes, ppn },
                bytes,
                operators: if random.bool() {
                    OperatorClass::Commutative
                } else {
                    OperatorClass::Noncommutative
                },
                deployment: if random.bool() {
                    Deployment::Colltune
                } else {
                    Deployment::Library
                },
            };
            let place = |c: &Collective| *c == query.collective;
            let collective = Collective::ALL.iter().position(place).expect("known");
            let operators = 1 + u32::from(query.operators == OperatorClass::Noncommutative);
            let deployment = 1 + u32::from(query.deployment == Deployment::Library);
            _ = writeln!(
                questions,
                "{collective} {nodes} {ppn} {order} {bytes} {operators} {deployment}"
            );
            queries.push(query);
        }
        let answers = ask(table, &options(extrapolate), &questions);
        assert_eq!(answers.len(), queries.len());
        for (query, answer) in queries.iter().zip(&answers) {
            let decision = table.lookup(query);
            let expected = if extrapolate || decision.matched == ShapeMatch::Measured {
                decision.candidate.to_string()
            } else {
                "default".to_owned()
            };
            assert_eq!(&expected, answer, "{query:?}");
        }
        let others = answers.iter().filter(|answer| *answer != "default").count();
        let least = if extrapolate { 3000 } else { 200 };
        let is_small = table.collectives.len() < 2;
        assert!(is_small || others > least, "{others}");
    }
}

/// Compilers take names from a table for text, also those that warn of what comments contain.
#[test]
fn names_in_a_header_are_no_code() {
    let mut table = table();
    let hostile = "a */ int x; /* b */ **/ /*/ ??/ \\ \u{202e}c\u{2028}d\n e";
    table.name = hostile.to_owned();
    table.provenance.cpu = format!("{hostile} ??/");
    table.provenance.warnings = [hostile, "ends in ??/", "ends in \\", "ends in *", "/"]
        .map(str::to_owned)
        .to_vec();
    let text = export("c-header", &table, &Options::default())
        .expect("exported")
        .text;
    assert!(text.contains("table a * / int x; / * b * /"), "{text}");
    assert!(
        !text.contains(|c| is_unprintable(c) && c != '\n'),
        "{text:?}"
    );
    assert_eq!(
        ask(&table, &Options::default(), "0 1 2 0 0 1 2\n"),
        ["default"]
    );
}

/// Rules for one order of ranks are not used for others.
#[test]
fn orders_of_ranks_are_distinguished() {
    let questions: String = (0..4)
        .map(|order| format!("0 2 4 {order} 8 1 2\n"))
        .collect();
    let answers = |extrapolate| ask(&ordered(), &options(extrapolate), &questions);
    let chain = "native:bcast/chain";
    assert_eq!(answers(false), [chain, "default", chain, "default"]);
    assert_eq!(answers(true)[1], "native:bcast/chain");
}

#[test]
fn shapes_between_measured_ones_are_written_out() {
    let text =
        testkit::tables::enclosing_yaml(["2x4", "8x4"], "openmpi", "4.1.4", "native:bcast/chain");
    let table = testkit::tables::parse_table(&text);
    let collective = Collective::Bcast;
    for (unconfirmed, extrapolate) in [(false, false), (true, false), (true, true)] {
        let options = Options {
            policy: Policy {
                unconfirmed,
                extrapolate,
                ..Policy::default()
            },
            ..Options::default()
        };
        let deployed = table.deployed_by(options.policy).0;
        let mut chains = 0;
        let mut questions = String::new();
        let mut expected = Vec::new();
        for nodes in 1..12 {
            for bytes in [1, 64, 401, 402, 403, 4096, 1 << 20] {
                _ = writeln!(questions, "0 {nodes} 4 0 {bytes} 1 2");
                let decision = deployed.lookup(&Query {
                    collective,
                    shape: CommShape { nodes, ppn: 4 },
                    order: RankOrder::Unknown,
                    bytes,
                    operators: OperatorClass::Commutative,
                    deployment: Deployment::Library,
                });
                let is_served = extrapolate || !decision.matched.is_stand_in();
                let chosen = if is_served {
                    decision.candidate
                } else {
                    &vocabulary::Candidate::Default
                };
                chains += usize::from(nodes == 4 && chosen.id() == "chain");
                expected.push(chosen.to_string());
            }
        }
        assert_eq!(chains, if unconfirmed { 4 } else { 0 });
        assert_eq!(ask(&table, &options, &questions), expected);
        let operators = OperatorClass::Commutative;
        let library = &table.provenance.library;
        let told = export::Choices::from_table(&deployed, library, operators, &options);
        let of_ranks = |ranks: u32| {
            let all = &told.collectives[&collective];
            all.iter()
                .find(|rules| rules.first == ranks)
                .map(|rules| rules.native_at(4096).is_some())
        };
        assert_eq!(of_ranks(16), unconfirmed.then_some(true));
        assert_eq!(of_ranks(8), Some(false));
    }
}
