//! Sites' files as tables.

use std::collections::BTreeSet;

use export::openmpi::{File, read_rules};
use export::{Options, SiteRules, SiteRulesOptions, shapes_of_file, site_formats};
use libraries::{ExaminedRelease, FileRules, FindingKind};
use schedule::Collective;
use serde_json::Value;
use table::{Confidence, Deployment, OperatorClass, Policy, Query, Table};
use vocabulary::{CommShape, Library, RankOrder};

use crate::sample::{self, OPEN_MPI, export};

fn read_file(format: &str, version: &str, text: &str) -> Result<FileRules, FindingKind> {
    let formats = site_formats();
    let (_, format) = formats
        .iter()
        .find(|(_, known)| known.name == format)
        .expect("a format");
    let release = ExaminedRelease {
        version,
        variables: None,
        assume_commutative: true,
    };
    let read = format.read_rules.expect("readable")(&release, text);
    read.map_err(|finding| finding.kind)
}

fn import_text(format: &str, version: &str, text: &str, shapes: &[CommShape]) -> SiteRules {
    let rules = read_file(format, version, text).expect("in force");
    let shapes = if shapes.is_empty() {
        shapes_of_file(&rules)
    } else {
        shapes.to_vec()
    };
    let options = SiteRulesOptions {
        name: "site".to_owned(),
        file: "rules.conf".to_owned(),
        library: Library {
            name: "openmpi".to_owned(),
            version: version.to_owned(),
        },
        shapes,
        date: "2026-11-29".to_owned(),
    };
    let made = SiteRules::from_file_rules(&rules, text, &options);
    // It is a table as any other.
    let yaml = made.table.to_yaml();
    let same = Table::parse(&yaml, "site.yaml".as_ref()).expect("a table");
    assert_eq!(same, made.table, "{yaml}");
    made
}

/// The candidate for a message.
fn chosen(table: &Table, collective: Collective, shape: CommShape, bytes: u64) -> String {
    let query = Query {
        collective,
        shape,
        order: RankOrder::Unknown,
        bytes,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Library,
    };
    table.lookup(&query).candidate.to_string()
}

/// Lines that were left out, each once.
fn left_out_lines(made: &SiteRules) -> Vec<usize> {
    let lines: BTreeSet<usize> = made.left_out.iter().map(|left| left.line).collect();
    lines.into_iter().collect()
}

const fn shape(nodes: u32, ppn: u32) -> CommShape {
    CommShape { nodes, ppn }
}

/// The shapes of a table.
fn shapes_of(table: &Table) -> Vec<CommShape> {
    let shapes: BTreeSet<CommShape> = table.entries().map(|entry| entry.shape).collect();
    shapes.into_iter().collect()
}

/// The policy that exports imported rules.
fn unconfirmed() -> Policy {
    Policy {
        unconfirmed: true,
        min_confidence: Some(Confidence::Low),
        ..Policy::default()
    }
}

#[test]
fn an_exported_file_comes_back_with_the_same_decisions() {
    for assume_commutative in [false, true] {
        let table = sample::table("openmpi", "4.1.4", OPEN_MPI);
        let options = Options {
            assume_commutative,
            ..Options::default()
        };
        let exported = export("openmpi", &table, &options).expect("exported");
        let made = import_text("openmpi", "4.1.4", &exported.text, &shapes_of(&table));
        assert_eq!(
            made.left_out
                .iter()
                .filter(|left| !left.why.contains("do not commute")
                    && !left.why.contains("none of the shapes"))
                .count(),
            0,
            "{:?}",
            made.left_out
        );
        let again = Options {
            assume_commutative,
            policy: unconfirmed(),
            ..Options::default()
        };
        let again = export("openmpi", &made.table, &again).expect("exported");
        let files = [&exported.text, &again.text].map(|text| read_rules(text).expect("readable"));
        let mut compared = 0;
        for (collective, _) in libraries::openmpi::COLLECTIVES {
            for ranks in shapes_of(&table).into_iter().map(CommShape::ranks) {
                let sizes =
                    (0..34).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]);
                for bytes in sizes.chain([99, 100, 1499, 1500, 2999, 3000, 3999, 4000, 4001]) {
                    let [one, other] = [&files[0], &files[1]].map(|file: &File| {
                        let row = file.find_row(collective, ranks, bytes);
                        let row = row.unwrap_or_default();
                        (row.algorithm, row.fanout, row.segment_bytes)
                    });
                    assert_eq!(
                        one, other,
                        "{collective} on {ranks} ranks with {bytes} bytes"
                    );
                    compared += usize::from(one.0 != 0);
                }
            }
        }
        assert!(compared > 500, "{compared}");
    }
}

#[test]
fn a_file_in_json_comes_back_with_the_same_decisions() {
    let table = sample::table("openmpi", "6.0.0", OPEN_MPI);
    let exported = export("openmpi-json", &table, &Options::default()).expect("exported");
    let made = import_text("openmpi-json", "6.0.0", &exported.text, &shapes_of(&table));
    let again = Options {
        policy: unconfirmed(),
        ..Options::default()
    };
    let again = export("openmpi-json", &made.table, &again).expect("exported");
    let rules = |text: &str| {
        let file: Value = serde_json::from_str(text).expect("JSON");
        file["collectives"].clone()
    };
    assert_eq!(rules(&exported.text), rules(&again.text));
    // The library knows every name in the file: it switches rules with others off.
    let release = ExaminedRelease {
        version: "6.0.0",
        variables: None,
        assume_commutative: true,
    };
    let formats = site_formats();
    let mut formats = formats.iter();
    let (_, json) = formats
        .find(|(_, known)| known.name == "openmpi-json")
        .expect("known");
    let found = (json.examine)(&release, &exported.text);
    assert!(!found.has_faults(), "{:?}", found.all);
}

#[test]
fn the_table_has_what_the_release_does() {
    // Sizes out of order, rows that are misread, and an algorithm that does not serve all ranks.
    let text = "2\n7\n3\n64 1\n0 6 0 0\n4 1\n0 1 0 0\n128 1\n0 2 4 010\n0 1\n2 3\n0 3 0 0\n1024 5 0 0\n512 4 0 0\n";
    let made = import_text("openmpi", "4.1.4", text, &[shape(1, 6), shape(8, 16)]);
    // 6 ranks get the first rules, which are for 64.
    let bcast = |at| chosen(&made.table, Collective::Bcast, at, 1 << 20);
    assert_eq!(bcast(shape(1, 6)), "native:bcast/binomial");
    assert_eq!(bcast(shape(8, 16)), "native:bcast/chain[segment_bytes=8]");
    let allgather = |at, bytes| chosen(&made.table, Collective::Allgather, at, bytes);
    // Recursive doubling becomes Bruck's algorithm on 6 ranks; the total of all ranks counts.
    assert_eq!(allgather(shape(1, 6), 170), "native:allgather/bruck");
    assert_eq!(allgather(shape(1, 6), 171), "native:allgather/ring");
    assert_eq!(
        allgather(shape(8, 16), 7),
        "native:allgather/recursive_doubling"
    );
    assert_eq!(allgather(shape(8, 16), 8), "native:allgather/ring");
    // The row that the last one hides, and the rules for 64 to 127 ranks, about which no shape asks.
    assert_eq!(left_out_lines(&made), [7, 13]);
    let lines: Vec<_> = made.lines.iter().map(|line| line.line).collect();
    assert!(
        lines.contains(&5) && lines.contains(&9) && lines.contains(&14),
        "{lines:?}"
    );
    let rules = || made.table.entries().flat_map(|entry| &entry.rules);
    assert!(rules().all(|rule| !rule.confirmed && rule.confidence == Confidence::Low));
    // Another release applies the same rules to other communicators.
    let in_6 = import_text("openmpi", "6.0.0", text, &[shape(1, 6), shape(8, 16)]);
    let bcast_in_6 = chosen(&in_6.table, Collective::Bcast, shape(8, 16), 1 << 20);
    assert_eq!(bcast_in_6, "native:bcast/chain[segment_bytes=8]");
}

#[test]
fn lines_that_no_table_can_express_are_left_out_with_a_reason() {
    let text = "rule-file-version-2\n5\n3 1 2 2\n0 3 0 0 16\n64 9 0 0\n4 1 2 1\n0 2 0 0\n11 1 2 1\n0 5 0 0\n9 1 2 2\n\
                0 1 0 0\n4096 2 0 0\n6 1 2 1\n0 4 0 0\n";
    let made = import_text("openmpi", "4.1.8", text, &[shape(1, 4)]);
    let why: Vec<String> = made
        .left_out
        .iter()
        .map(|left| format!("{} {}", left.line, left.why))
        .collect();
    let expected = [
        (4, "modified_bruck takes no number of requests (16)"),
        (5, "alltoall has no algorithm 9"),
        (9, "do not commute"),
        (11, "does not look at the size that tables have"),
        (12, "does not look at the size that tables have"),
    ];
    for ((line, part), found) in expected.iter().zip(&why) {
        assert!(
            found.starts_with(&format!("{line} ")) && found.contains(part),
            "{part}: {why:#?}"
        );
    }
    assert_eq!(why.len(), expected.len(), "{why:#?}");
    let at = |collective| chosen(&made.table, collective, shape(1, 4), 4096);
    assert_eq!(at(Collective::Alltoall), "default");
    assert_eq!(at(Collective::Gather), "default");
    assert_eq!(at(Collective::Alltoallv), "native:alltoallv/pairwise");
    assert_eq!(at(Collective::Barrier), "native:barrier/bruck");
    assert_eq!(at(Collective::Reduce), "native:reduce/binomial");
}

#[test]
fn numbers_of_requests_are_rules() {
    let classic = "rule-file-version-2\n2\n3 1 2 2\n0 4 0 0 16\n64 4 0 0\n11 1 2 1\n0 6 0 1024 8\n";
    let json = r#"{"rule_file_version": 3, "module": "tuned", "collectives": {"alltoall": [{"comm_size_min": 0,
        "comm_size_max": 9, "comm_rank_distribution": "any", "rules": [{"msg_size_min": 0, "msg_size_max": 63,
        "alg": "linear_sync", "reqs": 16}, {"msg_size_min": 64, "msg_size_max": "inf", "alg": 4}]}]}}"#;
    for (release, text) in [("4.1.8", classic), ("5.0.7", classic), ("6.0.0", json)] {
        let made = import_text("openmpi", release, text, &[shape(1, 4)]);
        let left_out: Vec<_> = made.left_out.iter().collect();
        assert!(left_out.is_empty(), "{left_out:?}");
        let at = |bytes| chosen(&made.table, Collective::Alltoall, shape(1, 4), bytes);
        assert_eq!(at(15), "native:alltoall/linear_sync[max_requests=16]");
        assert_eq!(at(16), "native:alltoall/linear_sync");
        if text == classic {
            assert_eq!(
                chosen(&made.table, Collective::Reduce, shape(1, 4), 4096),
                "native:reduce/in-order_binary[max_requests=8,segment_bytes=1K]"
            );
        }
    }
}

#[test]
fn a_file_that_the_release_ignores_becomes_no_table() {
    let version_2 = "rule-file-version-2\n1 7 1 2 1\n0 6 0 0\n";
    assert!(read_file("openmpi", "4.1.8", version_2).is_ok());
    for (format, version, text) in [
        ("openmpi", "4.1.4", version_2),
        ("openmpi", "4.1.4", "1 7 1 2 1\n4 6 0 0\n"),
        ("openmpi-json", "5.0.10", "{\"collectives\": {}}"),
    ] {
        let found = read_file(format, version, text);
        assert_eq!(found.err(), Some(FindingKind::IgnoredFile), "{text}");
    }
}

/// A selection file with these trees, and for all other collectives an algorithm that tables do not have parameters of.
fn selection(trees: &[(&str, &str)]) -> String {
    let entries = Collective::ALL.map(|collective| {
        let name = collective.name();
        let own = trees.iter().find(|(of, _)| *of == name);
        let tree = own.map_or_else(
            || {
                let capital = name[..1].to_uppercase() + &name[1..];
                format!("{{\"algorithm=MPIR_{capital}_allcomm_nb\": {{}}}}")
            },
            |(_, tree)| (*tree).to_owned(),
        );
        format!("\"collective={name}\": {tree}")
    });
    format!("{{\n{}\n}}\n", entries.join(",\n"))
}

fn import_selection(version: &str, text: &str, shapes: &[CommShape]) -> SiteRules {
    let rules = read_file("mpich", version, text).expect("in force");
    let options = SiteRulesOptions {
        name: "site".to_owned(),
        file: "coll.json".to_owned(),
        library: Library {
            name: "mpich".to_owned(),
            version: version.to_owned(),
        },
        shapes: shapes.to_vec(),
        date: "2026-11-29".to_owned(),
    };
    let made = SiteRules::from_file_rules(&rules, text, &options);
    let yaml = made.table.to_yaml();
    let same = Table::parse(&yaml, "site.yaml".as_ref()).expect("a table");
    assert_eq!(same, made.table, "{yaml}");
    made
}

/// The reasons for which lines were left out, each with its line.
fn reasons(made: &SiteRules) -> Vec<String> {
    let all = made.left_out.iter();
    all.map(|left| format!("{} {}", left.line, left.why))
        .collect()
}

#[test]
fn conditions_of_a_selection_file_become_sizes_and_shapes() {
    let bcast_tree = r#"{"comm_type=inter": {"algorithm=MPIR_Bcast_inter_remote_send_local_bcast": {}},
 "comm_type=intra": {
  "comm_size=pow2": {
   "avg_msg_size<=4096": {"algorithm=MPIR_Bcast_intra_binomial": {}},
   "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}}},
  "comm_size<=8": {
   "total_msg_size<=12287": {"algorithm=MPIR_Bcast_intra_binomial": {}},
   "total_msg_size=any": {"algorithm=MPIR_Bcast_intra_scatter_recursive_doubling_allgather": {}}},
  "comm_size=any": {
   "comm_hierarchy=parent": {"algorithm=MPIR_Bcast_intra_smp": {}},
   "comm_hierarchy=flat": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}}}}}"#;
    let allgather_tree = r#"{"total_msg_size<=6143": {"algorithm=MPIR_Allgather_intra_brucks": {}},
  "total_msg_size=any": {"algorithm=MPIR_Allgather_intra_ring": {}}}"#;
    let text = selection(&[("bcast", bcast_tree), ("allgather", allgather_tree)]);
    let shapes = [
        shape(1, 4),
        shape(1, 6),
        shape(2, 8),
        shape(12, 1),
        shape(3, 4),
    ];
    let made = import_selection("4.0.2", &text, &shapes);
    let bcast = |at, bytes| chosen(&made.table, Collective::Bcast, at, bytes);
    for at in [shape(1, 4), shape(2, 8)] {
        assert_eq!(bcast(at, 4096), "native:bcast/binomial");
        assert_eq!(bcast(at, 4097), "native:bcast/scatter_ring_allgather");
    }
    // The library multiplies the size by the 6 ranks.
    assert_eq!(bcast(shape(1, 6), 2047), "native:bcast/binomial");
    assert_eq!(
        bcast(shape(1, 6), 2048),
        "native:bcast/scatter_recursive_doubling_allgather"
    );
    assert_eq!(bcast(shape(3, 4), 64), "native:bcast/smp");
    assert_eq!(
        bcast(shape(12, 1), 64),
        "native:bcast/scatter_ring_allgather"
    );
    // In 5.0 a communicator with a rank on each node has a hierarchy as well.
    let in_5 = import_selection("5.0.0", &text, &shapes);
    let of_5 = chosen(&in_5.table, Collective::Bcast, shape(12, 1), 64);
    assert_eq!(of_5, "native:bcast/smp");
    let allgather = |at, bytes| chosen(&made.table, Collective::Allgather, at, bytes);
    assert_eq!(allgather(shape(1, 6), 1023), "native:allgather/brucks");
    assert_eq!(allgather(shape(1, 6), 1024), "native:allgather/ring");
    let bcast_line = 1 + text
        .lines()
        .position(|line| line.contains("inter_remote"))
        .unwrap_or(0);
    let inter = format!("{bcast_line} tables are about intracommunicators");
    assert!(reasons(&made).contains(&inter), "{:#?}", reasons(&made));
    let rules = || made.table.entries().flat_map(|entry| &entry.rules);
    assert!(rules().all(|rule| !rule.confirmed && rule.confidence == Confidence::Low));
    // A line for each rule.
    let of_bcast = made
        .lines
        .iter()
        .filter(|line| (line.collective, line.shape) == (Collective::Bcast, shape(1, 6)));
    let of_bcast: Vec<_> = of_bcast
        .map(|line| (line.line - bcast_line, line.from_bytes))
        .collect();
    assert_eq!(of_bcast, [(6, 0), (7, 2048)]);
}

#[test]
fn a_selection_file_tells_operators_apart_and_some_conditions_no_table_can() {
    let allreduce_tree = r#"{"is_op_built_in=yes": {
  "count<pow2": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
  "count=any": {"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather": {}}},
 "is_op_built_in=no": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}}}"#;
    let allgather_tree = r#"{"count<=100": {"algorithm=MPIR_Allgather_intra_brucks": {}},
  "count=any": {"algorithm=MPIR_Allgather_intra_ring": {}}}"#;
    let trees = [("allreduce", allreduce_tree), ("allgather", allgather_tree)];
    let text = selection(&trees);
    let made = import_selection("4.0.2", &text, &[shape(1, 4)]);
    let allreduce = |operators| {
        let query = Query {
            collective: Collective::Allreduce,
            shape: shape(1, 4),
            order: RankOrder::Unknown,
            bytes: 4096,
            operators,
            deployment: Deployment::Library,
        };
        made.table.lookup(&query).candidate.to_string()
    };
    // Which sizes are fewer elements than ranks depends on the datatype: neither branch may be claimed.
    assert_eq!(allreduce(OperatorClass::Commutative), "default");
    assert_eq!(
        allreduce(OperatorClass::Noncommutative),
        "native:allreduce/recursive_doubling"
    );
    let allgather = chosen(&made.table, Collective::Allgather, shape(1, 4), 64);
    assert_eq!(allgather, "default");
    let why = reasons(&made).join("\n");
    for part in [
        "fewer elements than ranks",
        "sizes in bytes, not in elements",
    ] {
        assert!(why.contains(part), "{part}: {why}");
    }
    // What ends programs becomes no table.
    let missing = text.replace("\"collective=barrier\"", "\"collective=barriers\"");
    let refused = read_file("mpich", "4.0.2", &missing).err();
    assert_eq!(refused, Some(FindingKind::EndsPrograms));
}

/// Tables have no radices, and what is written below an algorithm without any is ignored.
#[test]
fn algorithms_with_parameters_are_left_out_also_where_none_is_written() {
    let bcast_tree = r#"{"comm_size<=4": {"algorithm=MPIR_Bcast_intra_tree": {}},
  "comm_size=any": {"algorithm=MPIR_Bcast_intra_tree": {"tree_type=kary": {}, "k=2": {}}}}"#;
    let reduce = r#"{"algorithm=MPIR_Reduce_intra_binomial": {"k=4": {}}}"#;
    let text = selection(&[("bcast", bcast_tree), ("reduce", reduce)]);
    let made = import_selection("4.0.2", &text, &[shape(1, 4), shape(1, 8)]);
    for at in [shape(1, 4), shape(1, 8)] {
        assert_eq!(chosen(&made.table, Collective::Bcast, at, 64), "default");
        let of_reduce = chosen(&made.table, Collective::Reduce, at, 64);
        assert_eq!(of_reduce, "native:reduce/binomial");
    }
    let why = "no parameters of `MPIR_Bcast_intra_tree`";
    let left_out = reasons(&made);
    let of_trees = left_out.iter().filter(|reason| reason.contains(why));
    assert_eq!(of_trees.count(), 2, "{left_out:#?}");
}

/// Of a key that is given again, the library keeps the place of the first and the value of the last.
#[test]
fn a_key_that_is_given_again_has_its_first_place_and_its_last_value() {
    let bcast_tree = r#"{"avg_msg_size<=64": {"algorithm=MPIR_Bcast_intra_binomial": {}},
  "avg_msg_size<=4096": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}},
  "avg_msg_size<=64": {"algorithm=MPIR_Bcast_intra_smp": {}},
  "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_binomial": {}}}"#;
    let text = selection(&[("bcast", bcast_tree)]);
    let made = import_selection("4.0.2", &text, &[shape(1, 4)]);
    let bcast = |bytes| chosen(&made.table, Collective::Bcast, shape(1, 4), bytes);
    assert_eq!(bcast(64), "native:bcast/smp");
    assert_eq!(bcast(65), "native:bcast/scatter_ring_allgather");
    assert_eq!(bcast(4097), "native:bcast/binomial");
    let line_of = |part: &str| {
        1 + text
            .lines()
            .position(|line| line.contains(part))
            .unwrap_or(0)
    };
    let first = line_of("<=64\": {\"algorithm=MPIR_Bcast_intra_binomial");
    let why = format!(
        "{first} `avg_msg_size<=64` is given again in line {}, which replaces this",
        first + 2
    );
    // The other lines are those of reductions.
    assert_eq!(reasons(&made).first(), Some(&why));
    let of_bcast = made
        .lines
        .iter()
        .filter(|line| line.collective == Collective::Bcast);
    let lines: Vec<_> = of_bcast.map(|line| (line.from_bytes, line.line)).collect();
    // In the order of the file.
    assert_eq!(lines, [(65, first + 1), (0, first + 2), (4097, first + 3)]);
}
