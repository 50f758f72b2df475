//! Classic rules files.

use export::Options;
use export::openmpi::{File, ReadRule, read_rules};
use schedule::Collective;
use table::{Deployment, OperatorClass, Policy, Query, Table};
use vocabulary::{CommShape, RankOrder};

use crate::sample::{self, OPEN_MPI, export, of, refuse};

fn table() -> Table {
    sample::table("openmpi", "4.1.4", OPEN_MPI)
}

fn file(options: &Options) -> (File, Vec<String>) {
    let exported = export("openmpi", &table(), options).expect("exported");
    (
        read_rules(&exported.text).expect("readable"),
        exported.notes,
    )
}

#[test]
fn a_rules_file_names_its_origin_and_library() {
    let exported = export("openmpi", &table(), &Options::default()).expect("exported");
    insta::assert_snapshot!(sample::without_version(&exported.text));
    let commutative = Options {
        assume_commutative: true,
        ..of("5.0.7")
    };
    let of_4_1 = Options {
        version: Some("4.1.6".to_owned()),
        stock: false,
        ..commutative.clone()
    };
    let same_series = export("openmpi", &table(), &of_4_1).expect("exported");
    insta::assert_snapshot!(sample::without_version(&same_series.text));
    // Another series than the measured one has no rules.
    let other_series = export("openmpi", &table(), &commutative).expect("exported");
    insta::assert_snapshot!(sample::without_version(&other_series.text));
}

#[test]
fn the_environment_excludes_han_if_it_would_take_precedence() {
    let list = |version: &str, stock| {
        let options = Options {
            stock,
            ..of(version)
        };
        let exported = export("openmpi", &table(), &options).expect("exported");
        let mut variables = exported.variables.into_iter();
        let found = variables.find(|(name, _)| name == "OMPI_MCA_coll");
        found.and_then(|(_, value)| value)
    };
    assert_eq!(list("4.1.6", false), None);
    assert_eq!(list("5.0.7", true).as_deref(), Some("^han"));
}

/// A row without its threshold: algorithm, fanout, segment size.
fn row(file: &File, collective: Collective, ranks: u32, bytes: u64) -> Option<[u32; 3]> {
    let ReadRule {
        algorithm,
        fanout,
        segment_bytes,
        ..
    } = file.find_row(collective, ranks, bytes)?;
    Some([algorithm, fanout, segment_bytes])
}

const LIBRARY: Option<[u32; 3]> = Some([0, 0, 0]);

#[test]
fn rules_that_the_library_would_carry_out_differently_are_left_out() {
    let options = Options {
        policy: Policy {
            extrapolate: true,
            ..Policy::default()
        },
        ..Options::default()
    };
    let (all, _) = file(&options);
    let (commutative, _) = file(&Options {
        assume_commutative: true,
        ..options.clone()
    });
    let (assumed, notes) = file(&Options {
        assume_shapes: vec![CommShape { nodes: 2, ppn: 2 }],
        ..options
    });
    use Collective::{Allgather, Allreduce, Barrier, Bcast, Gather, Reduce};
    // The library's own fanout if none was forced; no rules for more ranks than measured.
    assert_eq!(row(&all, Bcast, 2, 1499), LIBRARY);
    assert_eq!(row(&all, Bcast, 2, 1500), Some([2, 4, 0]));
    assert_eq!(row(&all, Bcast, 3, 64 << 10), Some([2, 2, 8192]));
    assert_eq!(row(&all, Bcast, 1, 1 << 20), LIBRARY);
    assert_eq!(row(&all, Bcast, 5, 1 << 20), LIBRARY);
    // The assumed shape, where it was measured; from the size at which each half has a segment.
    assert_eq!(row(&assumed, Allgather, 4, 4000), LIBRARY);
    assert_eq!(row(&assumed, Bcast, 4, 99), Some([6, 0, 0]));
    assert_eq!(row(&assumed, Bcast, 4, 2111), LIBRARY);
    assert_eq!(row(&assumed, Bcast, 4, 2112), Some([4, 0, 1024]));
    assert!(
        notes
            .iter()
            .any(|note| note.contains("rules of 2x2 hold for all communicators of 4 ranks")),
        "{notes:?}"
    );
    // If operators are not distinguished, only algorithms that are right for all of them.
    assert_eq!(row(&all, Reduce, 2, 8), Some([6, 0, 4096]));
    assert_eq!(row(&commutative, Reduce, 2, 8), Some([5, 0, 0]));
    assert_eq!(row(&all, Allreduce, 2, 63), LIBRARY);
    assert_eq!(row(&all, Allreduce, 2, 64), Some([6, 0, 0]));
    // Every rank must have an element of any type, and a segment.
    assert_eq!(row(&commutative, Allreduce, 2, 63), LIBRARY);
    assert_eq!(row(&commutative, Allreduce, 2, 64), Some([4, 0, 0]));
    assert_eq!(
        row(&commutative, Allreduce, 2, 1 << 20),
        Some([5, 0, 65536])
    );
    // Rules with algorithms of ours are left to the library.
    assert_eq!(row(&all, Allreduce, 3, 4095), LIBRARY);
    assert_eq!(row(&all, Allreduce, 3, 4096), Some([3, 0, 0]));
    // Ranks of a gather may see different sizes.
    assert_eq!(row(&all, Gather, 2, 0), Some([2, 0, 0]));
    assert_eq!(row(&all, Gather, 4, 0), LIBRARY);
    // Only where the library does not replace them; the file counts the parts of all ranks.
    assert_eq!(row(&all, Allgather, 2, 0), LIBRARY);
    assert_eq!(row(&all, Allgather, 2, 2), Some([6, 0, 0]));
    assert_eq!(row(&all, Allgather, 3, 0), LIBRARY);
    assert_eq!(row(&all, Allgather, 4, 3999), Some([3, 0, 0]));
    assert_eq!(row(&all, Allgather, 4, 4000), Some([2, 0, 0]));
    assert_eq!(row(&all, Allgather, 5, 4999), LIBRARY);
    assert_eq!(row(&all, Allgather, 7, 6999), LIBRARY);
    assert_eq!(row(&all, Allgather, 7, 7000), Some([2, 0, 0]));
    assert_eq!(row(&all, Allgather, 8, 8), Some([5, 0, 0]));
    assert_eq!(row(&all, Allgather, 9, 0), LIBRARY);
    assert_eq!(row(&all, Barrier, 2, 0), Some([2, 0, 0]));
    assert_eq!(row(&all, Collective::Scan, 2, 0), None);
}

/// The library decides for numbers of ranks between and beyond the measured ones.
#[test]
fn rules_hold_only_for_measured_numbers_of_ranks() {
    let (file, _) = file(&Options::default());
    let bytes = 64 << 10;
    for (collective, measured) in [
        (Collective::Bcast, &[2][..]),
        (Collective::Reduce, &[2]),
        (Collective::Allreduce, &[2, 3]),
        (Collective::Allgather, &[2, 4, 8]),
    ] {
        for ranks in 1..20 {
            let decides = row(&file, collective, ranks, bytes * u64::from(ranks)) != LIBRARY;
            assert_eq!(
                decides,
                measured.contains(&ranks),
                "{collective} on {ranks}"
            );
        }
    }
}

/// 1x4 and 2x2 have different rules, and the file has only the number of ranks, 4.
#[test]
fn shapes_that_disagree_are_left_to_the_library_unless_one_is_assumed() {
    let (file_by_default, notes) = file(&Options::default());
    assert_eq!(row(&file_by_default, Collective::Bcast, 4, 0), LIBRARY);
    assert!(
        notes
            .iter()
            .any(|note| note.contains("have different rules")
                && note.contains("bcast on 4 ranks")
                && note.contains("--assume-shape")),
        "{notes:?}"
    );
    let assuming = |nodes, ppn| Options {
        assume_shapes: vec![CommShape { nodes, ppn }],
        ..Options::default()
    };
    let of = |nodes, ppn| row(&file(&assuming(nodes, ppn)).0, Collective::Bcast, 4, 0);
    assert_eq!([of(1, 4), of(2, 2)], [Some([7, 0, 0]), Some([6, 0, 0])]);
    let refused = |shapes: Vec<CommShape>| {
        let options = Options {
            assume_shapes: shapes,
            ..Options::default()
        };
        let error = export("openmpi", &table(), &options).expect_err("refused");
        assert!(
            error
                .help()
                .is_some_and(|help| help.contains("--assume-shape"))
        );
        error.to_string()
    };
    let [one, two, unknown] = [(1, 4), (2, 2), (3, 3)].map(|(nodes, ppn)| CommShape { nodes, ppn });
    let message =
        "cannot assume the shape 3x3: the table has rules for 1x2, 1x3, 1x4, 1x8, 2x2 alone";
    assert_eq!(refused(vec![unknown]), message);
    let both_assumed =
        "cannot assume the shape 2x2: 1x4 has the same number of ranks and is assumed too";
    assert_eq!(refused(vec![one, two]), both_assumed);
    // If they agree, no shape need be assumed.
    let mut table = table();
    let entries = table
        .collectives
        .get_mut(&Collective::Bcast)
        .expect("entries");
    entries[1].rules = entries[2].rules.clone();
    let exported = export("openmpi", &table, &Options::default()).expect("exported");
    let file = read_rules(&exported.text).expect("readable");
    assert_eq!(row(&file, Collective::Bcast, 4, 0), Some([6, 0, 0]));
    assert!(
        exported.text.contains("the table's rules for 1x4 and 2x2"),
        "{}",
        exported.text
    );
}

/// At every threshold and one byte to either side, the file and `lookup` agree, except where rules are left out.
#[test]
fn the_file_decides_like_lookup() {
    let table = table();
    let (file, _) = file(&Options::default());
    let numbers = [
        ("chain", 2),
        ("scatter_allgather", 8),
        ("binomial", 6),
        ("recursive_doubling", 3),
        ("in-order_binary", 6),
        ("rabenseifner", 6),
        ("default", 0),
    ];
    let mut compared = 0;
    for (collective, ranks) in [
        (Collective::Bcast, 2),
        (Collective::Reduce, 2),
        (Collective::Allreduce, 2),
    ] {
        for at in [0, 1500, 4096, 65536, 1 << 20] {
            for bytes in [at - at.min(1), at, at + 1] {
                if collective == Collective::Allreduce && (10..64).contains(&bytes) {
                    continue;
                }
                let decision = table.lookup(&Query {
                    order: RankOrder::Unknown,
                    collective,
                    shape: CommShape {
                        nodes: 1,
                        ppn: ranks,
                    },
                    bytes,
                    operators: OperatorClass::Noncommutative,
                    deployment: Deployment::Library,
                });
                let id = decision.candidate.id();
                let (_, number) = numbers
                    .iter()
                    .find(|(known, _)| *known == id)
                    .expect("known");
                let found = row(&file, collective, ranks, bytes).expect("a row");
                assert_eq!(found[0], *number, "{collective} of {bytes}: {id}");
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "{compared}");
}

/// The rules of allgather on some shapes: an algorithm from 64K to 512K or 1M.
fn allgather(shapes: &[CommShape], id: &str, end: u64) -> Table {
    let mut text =
        "  allgather:\n    message_size: bytes of one rank's contribution\n    shapes:\n"
            .to_owned();
    for CommShape { nodes, ppn } in shapes {
        text += &format!(
            "      - {{nodes: {nodes}, ppn: {ppn}, deployment: library, rules: [\n          \
             {{from: 0, candidate: default, confidence: high}},\n          \
             {{from: 64K, candidate: 'native:allgather/{id}', confidence: high}},\n          \
             {{from: {end}, candidate: default, confidence: high}}]}}\n"
        );
    }
    sample::table("openmpi", "4.1.4", &text)
}

/// The size of an allgather in the file is that of all ranks' parts: here above 2 GiB.
#[test]
fn rules_end_where_they_end_in_the_table_beyond_2_gib() {
    let shape = CommShape { nodes: 64, ppn: 64 };
    let exported = export(
        "openmpi",
        &allgather(&[shape], "neighbor", 524_289),
        &Options::default(),
    );
    let file = read_rules(&exported.expect("exported").text).expect("readable");
    let on_all = |bytes: u64| row(&file, Collective::Allgather, 4096, bytes * 4096);
    assert_eq!(on_all(65_535), LIBRARY);
    assert_eq!(on_all(65_536), Some([5, 0, 0]));
    assert_eq!(on_all(524_288), Some([5, 0, 0]));
    assert_eq!(on_all(524_289), LIBRARY);
    assert_eq!(on_all(1 << 40), LIBRARY);
}

/// A rule is never used for parts that are smaller or larger than those for which it was confirmed.
#[test]
fn rules_for_further_ranks_keep_to_the_confirmed_sizes() {
    let shapes = [8, 32].map(|nodes| CommShape { nodes, ppn: 1 });
    let options = Options {
        policy: Policy {
            extrapolate: true,
            ..Policy::default()
        },
        ..Options::default()
    };
    let (from, end) = (64 << 10, (1 << 20) + 1);
    let table = allgather(&shapes, "ring", end);
    let exported = export("openmpi", &table, &options).expect("exported");
    let file = read_rules(&exported.text).expect("readable");
    let ring = |ranks: u32, bytes: u64| {
        row(
            &file,
            Collective::Allgather,
            ranks,
            bytes * u64::from(ranks),
        ) == Some([4, 0, 0])
    };
    for ranks in [8, 32] {
        let at = [from - 1, from, end - 1, end].map(|bytes| ring(ranks, bytes));
        assert_eq!(at, [false, true, true, false], "{ranks}");
    }
    for ranks in 9..32 {
        for bytes in [0, from - 1, end, 2 * end] {
            assert!(!ring(ranks, bytes), "{bytes} on {ranks}");
        }
        assert!(ring(ranks, 250 << 10), "{ranks}");
    }
    // Both ends move for the numbers between.
    assert!(!ring(9, from) && ring(31, from));
    assert!(ring(9, end - 1) && !ring(31, end - 1));
}

#[test]
fn other_releases_and_libraries_are_distinguished() {
    let fails = |table: &Table, options: &Options| {
        let error = export("openmpi", table, options).expect_err("refused");
        (error.to_string(), error.help().unwrap_or_default())
    };
    let (message, help) = fails(&table(), &of("6.0.0"));
    assert_eq!(
        message,
        "the format `openmpi` is known for Open MPI 4.0, 4.1 and 5.0, not for 6.0.0"
    );
    assert!(help.contains("--library-version"), "{help}");
    let other = sample::table(
        "mpich",
        "4.0.2",
        OPEN_MPI.split("  reduce:").next().expect("bcast"),
    );
    let (other_message, other_help) = fails(&other, &Options::default());
    assert_eq!(
        other_message,
        "the table was measured with mpich-4.0.2 and says nothing about Open MPI"
    );
    assert!(other_help.contains("--stock"), "{other_help}");
    let unknown = sample::table(
        "mvapich",
        "2.3.7",
        OPEN_MPI.split("  reduce:").next().expect("bcast"),
    );
    let (unknown_message, unknown_help) = fails(&unknown, &Options::default());
    assert_eq!(
        unknown_message,
        "no file is known that mvapich-2.3.7 reads: `openmpi` is for Open MPI 4.0, 4.1 and 5.0"
    );
    assert!(
        unknown_help.contains("colltune run --library mvapich-2.3.7"),
        "{unknown_help}"
    );
    let later = Options {
        stock: false,
        ..of("5.0.7")
    };
    let (later_message, _) = fails(&table(), &later);
    assert_eq!(
        later_message,
        "the table was measured with openmpi-4.1.4 and says nothing about openmpi-5.0.7"
    );
    // With rules for the release, nothing is left to the library as a whole.
    for version in ["4.1.4", "4.1.6"] {
        let (needless_message, needless_help) = fails(&table(), &of(version));
        let why = "the table was measured with openmpi-4.1.4, and has rules for openmpi";
        assert!(needless_message.contains(why), "{needless_message}");
        assert!(needless_help.contains("leave it out"), "{needless_help}");
    }
    let exported = export("openmpi", &other, &of("4.1.4")).expect("the library's own decisions");
    let note = &exported.notes[0];
    assert!(
        note.contains("measured with mpich-4.0.2") && note.contains("openmpi-4.1.4 decides as"),
        "{note}"
    );
    let file = read_rules(&exported.text).expect("readable");
    assert_eq!(row(&file, Collective::Bcast, 2, 1 << 20), None);
}

#[test]
fn the_reader_is_strict() {
    let good = "1 # one\n7\n2\n1 1\n0 0 0 0\n2 2\n0 6 0 0\n8192 2 4 1024\n";
    read_rules(good).expect("valid");
    let check = |old: &str, new: &str, complaint: &str| {
        assert_eq!(good.matches(old).count(), 1, "{old}");
        refuse("openmpi", &good.replace(old, new), complaint);
    };
    check(
        "8192",
        "08192",
        "line 8: `08192` is not a message size as a plain decimal",
    );
    check(
        "8192",
        "0x100",
        "line 8: `0x100` is not a message size as a plain decimal",
    );
    check("8192", "0", "line 8: message size 0 does not ascend");
    check(
        "8192",
        "9223372036854775808",
        "line 8: `9223372036854775808` is too large for a message size",
    );
    check(
        "1024\n",
        "3000000000\n",
        "line 8: `3000000000` is too large for a segment size",
    );
    check(
        "0 6 0 0",
        "1 6 0 0",
        "line 7: the first message size is 1, not 0",
    );
    check("0 6 0 0", "0 10 0 0", "line 7: bcast has no algorithm 10");
    check(
        "7\n2\n1 1",
        "7\n2\n3 1",
        "line 4: the first communicator size is 3, not 1 or 2",
    );
    check(
        "\n2 2\n",
        "\n1 2\n",
        "line 6: communicator size 1 does not ascend",
    );
    check(
        "1 # one",
        "2 # two",
        "line 8: the file ends where the number of a collective is expected",
    );
    check(" 1024\n", " 1024\n5\n", "line 9: `5` follows the last rule");
    check(
        "1 # one\n7",
        "1 # one\n99",
        "line 2: 99 is not a collective's number",
    );
    check(
        "1 # one\n7",
        "1 # one\n9",
        "line 6: gather may have one row only",
    );
    refuse(
        "openmpi",
        "",
        "line 1: the file ends where the number of collectives is expected",
    );
    refuse("openmpi", "0\n", "line 1: there are no rules");
}

/// Alltoalls of up to four messages at once, from 64 bytes on.
const LIMITED: &str = "
  alltoall:
    message_size: bytes of one block, from one rank to another
    shapes:
      - {nodes: 1, ppn: 8, deployment: library, rules: [
          {from: 0, candidate: default, confidence: high},
          {from: 64, candidate: 'native:alltoall/linear_sync', max_requests: 4, confidence: high},
          {from: 1K, candidate: 'native:alltoall/linear_sync', confidence: high},
          {from: 4K, candidate: 'native:alltoall/pairwise', confidence: high}]}
";

#[test]
fn numbers_of_requests_need_a_header() {
    let limited = |version: &str| {
        let table = sample::table("openmpi", version, LIMITED);
        export("openmpi", &table, &Options::default()).expect("exported")
    };
    for version in ["4.1.8", "5.0.7"] {
        let exported = limited(version);
        assert!(
            exported.text.starts_with("rule-file-version-2\n# "),
            "{}",
            exported.text
        );
        let read = read_rules(&exported.text).expect("readable");
        let requests = |bytes: u64| {
            let row = read.find_row(Collective::Alltoall, 8, bytes * 8);
            row.map(|row| (row.algorithm, row.max_requests))
        };
        assert_eq!(requests(63), Some((0, 0)));
        assert_eq!(requests(64), Some((4, 4)));
        assert_eq!(requests(1024), Some((4, 0)));
        assert_eq!(requests(4096), Some((2, 0)));
        // Without its first line the fifth numbers are out of place.
        let (_, rest) = exported.text.split_once('\n').expect("lines");
        assert!(read_rules(rest).is_err());
    }
    // Older releases would drop the whole file.
    for version in ["4.1.4", "5.0.6"] {
        let exported = limited(version);
        assert!(!exported.text.contains("rule-file-version"));
        let notes = exported.notes.join(" ");
        assert!(
            notes.contains("from 4.1.8 and 5.0.7 on only: alltoall/linear_sync."),
            "{notes}"
        );
        let read = read_rules(&exported.text).expect("readable");
        let algorithm = |bytes: u64| {
            let row = read.find_row(Collective::Alltoall, 8, bytes * 8);
            row.map(|row| row.algorithm)
        };
        assert_eq!([64, 1024].map(algorithm), [Some(0), Some(4)]);
    }
    let table = sample::table("openmpi", "6.0.0", LIMITED);
    let json = export("openmpi-json", &table, &Options::default()).expect("exported");
    assert_eq!(json.text.matches("\"reqs\": 4").count(), 1, "{}", json.text);
    assert_eq!(json.text.matches("\"reqs\"").count(), 1);
}
