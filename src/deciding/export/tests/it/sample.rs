//! Tables to be exported.

use std::path::{Path, PathBuf};

use export::{ExportError, Exported, Options};
use table::Table;
use testkit::tables;

/// A table of a library with these collectives, as YAML, in which all rules are confirmed.
pub(crate) fn table(library: &str, version: &str, collectives: &str) -> Table {
    let text = tables::table_yaml("night", library, version, collectives)
        .replace("hosts: [n1]", "hosts: [n1, n2]")
        .replace("cpu: any", "cpu: Some CPU");
    tables::confirm_rules(tables::parse_table(&text))
}

/// Every collective, with made-up results of Open MPI's algorithms.
pub(crate) const OPEN_MPI: &str = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 2, deployment: any, rules: [
          {from: 0, candidate: default, confidence: high},
          {from: 1500, candidate: 'native:bcast/chain', confidence: high},
          {from: 64K, candidate: 'native:bcast/chain', segment_bytes: 8K, fanout: 2, confidence: high},
          {from: 1M, candidate: 'native:bcast/scatter_allgather', confidence: high}]}
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:bcast/knomial', confidence: high}]}
      - {nodes: 2, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: 'native:bcast/binomial', confidence: high},
          {from: 100, candidate: 'native:bcast/split_binary_tree', segment_bytes: 1K, confidence: high}]}
  reduce:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 2, operators: commutative, deployment: library, rules: [
          {from: 0, candidate: 'native:reduce/binomial', confidence: high}]}
      - {nodes: 1, ppn: 2, operators: noncommutative, deployment: library, rules: [
          {from: 0, candidate: 'native:reduce/in-order_binary', segment_bytes: 4K, confidence: high}]}
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 2, operators: commutative, rules: [
          {from: 0, candidate: allreduce/dual_root, blocks: 1, confidence: high}]}
      - {nodes: 1, ppn: 2, operators: commutative, deployment: library, rules: [
          {from: 0, candidate: default, confidence: high},
          {from: 10, candidate: 'native:allreduce/ring', confidence: high},
          {from: 1M, candidate: 'native:allreduce/segmented_ring', segment_bytes: 64K, confidence: high}]}
      - {nodes: 1, ppn: 2, operators: noncommutative, deployment: library, rules: [
          {from: 0, candidate: default, confidence: high},
          {from: 10, candidate: 'native:allreduce/rabenseifner', confidence: high}]}
      - {nodes: 1, ppn: 3, operators: any, rules: [
          {from: 0, candidate: allreduce/dual_root, blocks: 1, confidence: high},
          {from: 4K, candidate: 'native:allreduce/recursive_doubling', confidence: high}]}
  gather:
    message_size: bytes of one rank's contribution
    shapes:
      - {nodes: 1, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: 'native:gather/binomial', confidence: high}]}
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:gather/binomial', confidence: high},
          {from: 4K, candidate: 'native:gather/linear_sync', confidence: high}]}
  allgather:
    message_size: bytes of one rank's contribution
    shapes:
      - {nodes: 1, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: 'native:allgather/two_proc', confidence: high}]}
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:allgather/recursive_doubling', confidence: high},
          {from: 1000, candidate: 'native:allgather/bruck', confidence: high}]}
      - {nodes: 1, ppn: 8, deployment: library, rules: [
          {from: 0, candidate: 'native:allgather/neighbor', confidence: high}]}
  barrier:
    message_size: always 0 bytes
    shapes:
      - {nodes: 1, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: 'native:barrier/double_ring', confidence: high}]}
";

pub(crate) fn export(
    name: &str,
    table: &Table,
    options: &Options,
) -> Result<Exported, ExportError> {
    export::find_format(name)
        .expect("a format")
        .render(table, options)
}

/// Options for this release, even if the table is for another one.
pub(crate) fn of(version: &str) -> Options {
    Options {
        version: Some(version.to_owned()),
        stock: true,
        ..Options::default()
    }
}

/// Asserts that a text is refused with this message.
pub(crate) fn refuse(name: &str, text: &str, complaint: &str) {
    let format = export::find_format(name).expect("a format");
    match format.validate(text, &Options::default()) {
        Ok(()) => panic!("accepted:\n{text}"),
        Err(error) => assert_eq!(error.to_string(), complaint, "{text}"),
    }
}

/// A file in place of `libcolltune.so`, in a folder.
pub(crate) fn preload_library(folder: &Path) -> PathBuf {
    let path = folder.join("libcolltune.so");
    std::fs::write(&path, b"\x7fELF\xff, first build").expect("written");
    path
}

/// A file without the version of colltune that wrote it, which changes with each release.
pub(crate) fn without_version(text: &str) -> String {
    let version = concat!("colltune ", env!("CARGO_PKG_VERSION"), " ");
    assert!(text.contains(version), "{text}");
    text.replace(version, "colltune VERSION ")
}
