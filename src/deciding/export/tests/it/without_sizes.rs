//! Alltoall, barriers, scans and irregular collectives, of which formats see blocks, nothing, or only the type.

use export::openmpi::read_rules;
use schedule::Collective::{self, Allgatherv, Alltoall, Alltoallv, Barrier, Exscan, Scan};
use serde_json::Value;

use crate::sample::{self, export};

const TABLE: &str = "
  alltoall:
    message_size: bytes of one block, from one rank to another
    shapes:
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:alltoall/modified_bruck', confidence: high},
          {from: 100, candidate: 'native:alltoall/pairwise', confidence: high}]}
  barrier:
    message_size: always 0 bytes
    shapes:
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:barrier/tree', confidence: high}]}
  scan:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:scan/linear', confidence: high},
          {from: 4K, candidate: 'native:scan/recursive_doubling', confidence: high}]}
  exscan:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:exscan/recursive_doubling', confidence: high}]}
  alltoallv:
    message_size: mean bytes of a block, from one rank to another
    shapes:
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:alltoallv/pairwise', confidence: high}]}
  allgatherv:
    message_size: bytes of all ranks' contributions together
    shapes:
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:allgatherv/ring', confidence: high},
          {from: 4K, candidate: 'native:allgatherv/neighbor', confidence: high}]}
";

/// Open MPI counts an alltoall's blocks for all ranks, and sees no size of a barrier or a scan. Calls in place count as
/// 0 bytes.
#[test]
fn classic_rules_have_one_row_where_sizes_are_not_seen() {
    let table = sample::table("openmpi", "4.1.4", TABLE);
    let exported = export("openmpi", &table, &Default::default()).expect("exported");
    let file = read_rules(&exported.text).expect("readable");
    let row = |collective: Collective, bytes: u64| {
        let found = file.find_row(collective, 4, bytes);
        found.map(|row| row.algorithm)
    };
    assert_eq!(
        [0, 4, 399, 400, 1 << 30].map(|bytes| row(Alltoall, bytes)),
        [0, 3, 3, 2, 2].map(Some)
    );
    assert_eq!(row(Barrier, 0), Some(6));
    assert_eq!(row(Exscan, 0), Some(2));
    assert_eq!(row(Exscan, 1 << 20), Some(2));
    assert_eq!(row(Alltoallv, 0), Some(2));
    // Their choices differ between sizes.
    for collective in [Scan, Allgatherv] {
        assert!(row(collective, 8).is_none_or(|algorithm| algorithm == 0));
    }
    let told = "cannot safely distinguish messages of allgatherv, scan: only choices for all sizes are written";
    assert!(
        exported.notes.iter().any(|note| note.contains(told)),
        "{:?}",
        exported.notes
    );
}

#[test]
fn rules_in_json_name_them() {
    let table = sample::table("openmpi", "6.0.0", TABLE);
    let exported = export("openmpi-json", &table, &Default::default()).expect("exported");
    let file: Value = serde_json::from_str(&exported.text).expect("JSON");
    let rules = |collective: Collective| -> Vec<String> {
        let listed = &file["collectives"][collective.name()][0]["rules"];
        let listed = listed.as_array().into_iter().flatten();
        listed
            .map(|rule| format!("{} {}", rule["msg_size_min"], rule["alg"]))
            .collect()
    };
    assert_eq!(
        rules(Alltoall),
        ["0 0", "4 \"modified_bruck\"", "400 \"pairwise\""]
    );
    assert_eq!(rules(Barrier), ["0 \"tree\""]);
    assert_eq!(rules(Alltoallv), ["0 \"pairwise\""]);
    assert_eq!(rules(Exscan), ["0 \"recursive_doubling\""]);
    assert_eq!(rules(Scan), [""; 0]);
}
