//! Selection files.

use std::path::PathBuf;

use export::{Format, Options};
use tempfile::TempDir;

use crate::sample::{self, export, of, refuse};

const TABLE: &str = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: default, confidence: high},
          {from: 1500, candidate: 'native:bcast/scatter_ring_allgather', confidence: high},
          {from: 1M, candidate: 'native:bcast/pipelined_tree', confidence: high}]}
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 3, operators: commutative, deployment: library, rules: [
          {from: 0, candidate: 'native:allreduce/recursive_doubling', confidence: high},
          {from: 4K, candidate: 'native:allreduce/reduce_scatter_allgather', confidence: high}]}
      - {nodes: 1, ppn: 3, operators: noncommutative, deployment: library, rules: [
          {from: 0, candidate: 'native:allreduce/recursive_doubling', confidence: high}]}
      - {nodes: 1, ppn: 5, operators: any, rules: [
          {from: 0, candidate: allreduce/dual_root, blocks: 1, confidence: high}]}
  allgather:
    message_size: bytes of one rank's contribution
    shapes:
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:allgather/recursive_doubling', confidence: high},
          {from: 1000, candidate: 'native:allgather/brucks', confidence: high}]}
      - {nodes: 1, ppn: 8, deployment: library, rules: [
          {from: 0, candidate: 'native:allgather/ring', confidence: high}]}
  alltoall:
    message_size: bytes of one block, from one rank to another
    shapes:
      - {nodes: 1, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: 'native:alltoall/pairwise', confidence: high}]}
";

/// The own decisions of a made-up library.
const STOCK: &str = r#"{"collective=bcast":{"comm_type=intra":{"comm_size<8":{"algorithm=MPIR_Bcast_intra_binomial":{}},"comm_size=any":{"avg_msg_size<12288":{"algorithm=MPIR_Bcast_intra_binomial":{}},"avg_msg_size=any":{"algorithm=MPIR_Bcast_intra_scatter_ring_allgather":{}}}},"comm_type=inter":{"algorithm=MPIR_Bcast_inter_x":{}}},"collective=allreduce":{"comm_type=intra":{"algorithm=MPIR_Allreduce_intra_smp":{}},"comm_type=inter":{"algorithm=MPIR_Allreduce_inter_x":{}}},"collective=allgather":{"comm_type=intra":{"algorithm=MPIR_Allgather_intra_ring":{}}},"collective=alltoall":{"comm_type=intra":{"is_sendbuf_inplace=yes":{"algorithm=MPIR_Alltoall_intra_pairwise_sendrecv_replace":{}},"is_sendbuf_inplace=no":{"algorithm=MPIR_Alltoall_intra_brucks":{}}}},"collective=exscan":{"algorithm=MPIR_Exscan_intra_recursive_doubling":{}}}"#;

const ALGORITHMS: [&str; 15] = [
    "Bcast_intra_scatter_ring_allgather",
    "Bcast_intra_pipelined_tree",
    "Allreduce_intra_recursive_doubling",
    "Allreduce_intra_reduce_scatter_allgather",
    "Allgather_intra_recursive_doubling",
    "Allgather_intra_brucks",
    "Allgather_intra_ring",
    "Alltoall_intra_pairwise",
    "Alltoall_intra_brucks",
    "Scan_intra_recursive_doubling",
    "Exscan_intra_recursive_doubling",
    "Gatherv_allcomm_linear",
    "Alltoallv_intra_scattered",
    "Allgatherv_intra_ring",
    "Allgatherv_intra_brucks",
];

/// A file that looks like a library of a release.
fn library(version: &str, stock: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("libmpi.so");
    let compositions = r#"{"collective=bcast":{"composition=MPIDI_Bcast_alpha":{}}}"#;
    let names = ALGORITHMS.map(|name| format!("algorithm=MPIR_{name}"));
    let strings = [version, compositions, stock, &names.join("\0"), "\u{7f}"];
    std::fs::write(&path, strings.join("\0")).expect("written");
    (folder, path)
}

fn options(path: &std::path::Path) -> Options {
    Options {
        library: Some(path.to_owned()),
        ..Options::default()
    }
}

#[test]
fn a_selection_file_is_complete() {
    let table = sample::table("mpich", "4.0.2", TABLE);
    let (_folder, path) = library("4.0.2", STOCK);
    let exported = export("mpich", &table, &options(&path)).expect("exported");
    insta::assert_snapshot!(exported.text);
    let companion = exported.companion.expect("beside it");
    insta::assert_snapshot!(sample::without_version(&companion));
    assert_ne!(exported.text.len() % 4096, 0);
}

/// On 4096 ranks, the rule ends at 2 GiB, which conditions cannot name.
#[test]
fn rules_end_at_the_largest_size_that_the_file_can_name() {
    let (_folder, path) = library("4.0.2", STOCK);
    let conditions = |end: &str| {
        let table = format!(
            "  allgather:\n    message_size: bytes of one rank's contribution\n    shapes:\n      - {{nodes: 64, ppn: 64, \
             deployment: library, rules: [\n          {{from: 0, candidate: default, confidence: high}},\n          \
             {{from: 64K, candidate: 'native:allgather/brucks', confidence: high}}{end}]}}\n"
        );
        let table = sample::table("mpich", "4.0.2", &table);
        let exported = export("mpich", &table, &options(&path)).expect("exported");
        let told = exported
            .notes
            .iter()
            .any(|note| note.contains("is above 2147483647 bytes"));
        let lines = exported.text.lines();
        let of_sizes = lines.skip_while(|line| !line.contains("total_msg_size"));
        let text: String = of_sizes.take(9).map(str::trim).collect();
        (text, told)
    };
    let [ring, brucks] =
        ["ring", "brucks"].map(|id| format!("{{\"algorithm=MPIR_Allgather_intra_{id}\": {{}}}}"));
    let begins = format!("\"total_msg_size<=268435455\": {ring},");
    let ended =
        format!("{begins}\"total_msg_size<=2147483647\": {brucks},\"total_msg_size=any\": {ring}");
    let end = ",\n          {from: 524289, candidate: default, confidence: high}";
    assert_eq!(conditions(end), (ended, true));
    // Without an end, no size need be named.
    let (open, told) = conditions("");
    assert!(
        open.starts_with(&format!("{begins}\"total_msg_size=any\": {brucks}")),
        "{open}"
    );
    assert!(!told);
}

/// The file does not distinguish operators of scans: only algorithms that are right for all of them are written,
/// whatever operators were measured.
#[test]
fn scans_use_the_rules_of_commutative_operators() {
    let stock = STOCK.replacen(
        '{',
        "{\"collective=scan\":{\"comm_type=intra\":{\"algorithm=MPIR_Scan_intra_smp\":{}},\
         \"comm_type=inter\":{\"algorithm=MPIR_Scan_intra_recursive_doubling\":{}}},",
        1,
    );
    let (_folder, path) = library("4.0.2", &stock);
    let chosen = |id: &str| {
        let table = format!(
            "  scan:\n    message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 1\n        \
             ppn: 4\n        operators: commutative\n        deployment: library\n        rules:\n          \
             - {{from: 0, candidate: \"native:scan/{id}\", speedup: 1.5, confidence: high}}\n"
        );
        let table = sample::table("mpich", "4.0.2", &table);
        let exported = export("mpich", &table, &options(&path)).expect("exported");
        let count = |name: &str| exported.text.matches(&format!("_{name}\"")).count();
        count("Scan_intra_recursive_doubling")
    };
    assert_eq!([chosen("recursive_doubling"), chosen("smp")], [2, 1]);
}

/// Exclusive scans have no communicators of two groups, and so no condition on them.
#[test]
fn exclusive_scans_are_chosen_without_a_type_of_communicators() {
    let own = "MPIR_Exscan_intra_recursive_doubling";
    let stock = STOCK.replace(own, "MPIR_Exscan_intra_nb");
    let (_folder, path) = library("4.0.2", &stock);
    let table = sample::table(
        "mpich",
        "4.0.2",
        "  exscan:\n    message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 1\n        \
         ppn: 4\n        deployment: library\n        rules:\n          - {from: 0, candidate: \
         \"native:exscan/recursive_doubling\", speedup: 1.5, confidence: high}\n",
    );
    let exported = export("mpich", &table, &options(&path)).expect("exported");
    let text: String = exported.text.split_whitespace().collect();
    let nb = "{\"algorithm=MPIR_Exscan_intra_nb\":{}}";
    let chosen = format!(
        "\"collective=exscan\":{{\"comm_size<=3\":{nb},\"comm_size<=4\":{{\"algorithm={own}\":{{}}}},\
         \"comm_size=any\":{nb}}}"
    );
    assert!(text.contains(&chosen), "{text}");
    let variable = "MPIR_CVAR_EXSCAN_DEVICE_COLLECTIVE".to_owned();
    assert!(
        exported
            .variables
            .contains(&(variable, Some("0".to_owned())))
    );
}

/// An allgatherv counts the bytes of all ranks; a gatherv has one algorithm for communicators of both kinds; an alltoallv in
/// place has algorithms of its own.
#[test]
fn irregular_collectives_have_their_own_names_and_conditions() {
    let stock = STOCK.replace(
        "{\"collective=bcast\"",
        "{\"collective=gatherv\":{\"algorithm=MPIR_Gatherv_allcomm_nb\":{}},\
         \"collective=alltoallv\":{\"comm_type=intra\":{\"algorithm=MPIR_Alltoallv_intra_x\":{}}},\
         \"collective=allgatherv\":{\"comm_type=intra\":{\"algorithm=MPIR_Allgatherv_intra_brucks\":{}}},\
         \"collective=bcast\"",
    );
    let (_folder, path) = library("4.0.2", &stock);
    let of = |collective: &str, size: &str, rules: &str| {
        let table = format!(
            "  {collective}:\n    message_size: {size}\n    shapes:\n      - {{nodes: 1, ppn: 4, deployment: library, \
             rules: [{rules}]}}\n"
        );
        let table = sample::table("mpich", "4.0.2", &table);
        let exported = export("mpich", &table, &options(&path)).expect("exported");
        exported.text.split_whitespace().collect::<String>()
    };
    let rule = |from: &str, id: &str| {
        format!("{{from: {from}, candidate: 'native:{id}', speedup: 1.5, confidence: high}}")
    };
    let of_gatherv = of(
        "gatherv",
        "bytes of all ranks' contributions together",
        &rule("0", "gatherv/linear"),
    );
    assert!(
        of_gatherv.contains("\"comm_size<=4\":{\"algorithm=MPIR_Gatherv_allcomm_linear\":{}}"),
        "{of_gatherv}"
    );
    let of_alltoallv = of(
        "alltoallv",
        "mean bytes of a block, from one rank to another",
        &rule("0", "alltoallv/scattered"),
    );
    let scattered = "\"is_sendbuf_inplace=no\":{\"algorithm=MPIR_Alltoallv_intra_scattered\":{}}";
    assert!(of_alltoallv.contains(scattered), "{of_alltoallv}");
    let rules = format!(
        "{}, {{from: 4K, candidate: default, confidence: high}}",
        rule("0", "allgatherv/ring")
    );
    let of_allgatherv = of(
        "allgatherv",
        "bytes of all ranks' contributions together",
        &rules,
    );
    let ring = "\"total_msg_size<=4095\":{\"algorithm=MPIR_Allgatherv_intra_ring\":{}}";
    assert!(of_allgatherv.contains(ring), "{of_allgatherv}");
}

#[test]
fn unknown_releases_and_decisions_are_refused_with_a_remedy() {
    let table = sample::table("mpich", "4.0.2", TABLE);
    let check = |options: &Options, message: &str, help: &str| {
        let error = export("mpich", &table, options).expect_err("refused");
        assert!(error.to_string().contains(message), "{error}");
        let remedy = error.help().unwrap_or_default();
        assert!(remedy.contains(help), "{remedy}");
    };
    let (_folder, path) = library("4.0.2", STOCK);
    let of_release = |version: &str| Options {
        library: Some(path.clone()),
        ..of(version)
    };
    let known = "known for MPICH 4.0 to 4.3 and 5.0, not for";
    for version in ["3.4.2", "4.4.0", "6.0.0", "x"] {
        check(&of_release(version), known, "--library-version");
    }
    check(
        &Options::default(),
        "the decisions of mpich-4.0.2 itself are not known",
        "--library",
    );
    check(&of_release("4.1.2"), "is not of this release", "--library");
    let (_empty_folder, empty) = library("4.0.2", "nothing");
    check(&options(&empty), "there is no selection table", "--library");
    check(
        &options("/nonexistent/libmpi.so".as_ref()),
        "cannot read",
        "",
    );
}

#[test]
fn the_reader_is_strict() {
    let bcast = |below: &str| format!("{{\"collective=bcast\": {{{below}}}}}\n");
    let leaf = "{\"algorithm=MPIR_Bcast_intra_binomial\": {}}";
    let format = export::find_format("mpich").expect("a format");
    let good = bcast(&format!(
        "\"avg_msg_size<=7\": {leaf}, \"avg_msg_size=any\": {leaf}"
    ));
    format.validate(&good, &Options::default()).expect("valid");
    let check = |below: String, complaint: &str| refuse("mpich", &bcast(&below), complaint);
    let any = format!("\"avg_msg_size=any\": {leaf}");
    check(
        format!("\"avg_msg_size<=7\": {leaf}"),
        "line 1: bcast: numbers do not end in `any`",
    );
    check(
        format!("\"avg_msg_size<7\": {leaf}, {any}"),
        "line 1: bcast: `avg_msg_size<7` is not known",
    );
    check(
        format!("\"avg_msg_size<=07\": {leaf}, {any}"),
        "line 1: bcast: `avg_msg_size<=07` is not in plain decimals",
    );
    check(
        format!("\"avg_msg_size<=7\": {leaf}, \"avg_msg_size<=6\": {leaf}, {any}"),
        "line 1: bcast: `avg_msg_size<=6` does not ascend",
    );
    check(
        format!("\"is_commutative=yes\": {leaf}"),
        "line 1: bcast: `is_commutative=yes` aborts the program",
    );
    check(
        format!("\"colour=red\": {leaf}"),
        "line 1: bcast: `colour=red` is not known",
    );
    check(
        "\"comm_type=intra\": {}".to_owned(),
        "line 1: bcast: a condition has no algorithm below it",
    );
    check(
        format!("\"algorithm=a\": {{}}, {any}"),
        "line 1: bcast: `algorithm=a` has siblings",
    );
    check(
        format!("{any}, {any}"),
        "line 1: `avg_msg_size=any` is given twice",
    );
    refuse("mpich", "{}", "line 1: there are no rules");
    refuse(
        "mpich",
        "{\"bcast\": {}}",
        "line 1: `bcast` is not a collective",
    );
    refuse(
        "mpich",
        "{\n\"collective=bcast\": 7}",
        "line 2: `{` is missing",
    );
    let padded = format!("{good}{}", " ".repeat(4096 - good.len()));
    refuse("mpich", &padded, "line 1: the file fills its last page");
}

/// The table of an installed release is found and complete.
#[test]
fn the_decisions_of_the_installed_mpich_are_read() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = export::mpich::SelectionFile.find_installed("4.0.2", &path);
    let Some(file) = testkit::require("MPICH 4.0", found) else {
        return;
    };
    let table = sample::table("mpich", "4.0.2", TABLE);
    let exported = export("mpich", &table, &options(&file)).expect("exported");
    // Nonblocking collectives are included.
    assert_eq!(exported.text.matches("\"collective=").count(), 44);
    assert!(exported.text.contains("comm_size<=7"));
    assert!(
        exported
            .notes
            .iter()
            .any(|note| note.contains("bcast/pipelined_tree"))
    );
}
