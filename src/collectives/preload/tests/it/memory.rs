//! Random collectives under valgrind: errors in stacks with our frames count as ours.

use std::path::Path;

use tempfile::TempDir;
use testkit::process;
use testkit::tables::save_table;
use vocabulary::Through;

use crate::launch::{compiled, run_preloaded};
use crate::stress::forcing_through;

/// The errors that valgrind leaves out, the libraries' and ours.
const SUPPRESSIONS: [&str; 2] = ["/usr/share/openmpi/openmpi-valgrind.supp", OURS];
const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/valgrind.supp");

const RANKS: u32 = 2;

/// Open MPI's ranks would spin, which takes long if other programs use the cores.
const YIELDING: [(&str, &str); 1] = [("OMPI_MCA_mpi_yield_when_idle", "1")];

/// The errors in a log, as blocks of lines.
fn blocks(log: &str) -> Vec<String> {
    let contents = log.lines().map(|line| match line.strip_prefix("==") {
        Some(line) => line.split_once("== ").map_or("", |(_, text)| text),
        None => line,
    });
    let mut blocks = vec![String::new()];
    for line in contents {
        match line.trim() {
            "" => blocks.push(String::new()),
            line => *blocks.last_mut().expect("one at least") += &format!("{line}\n"),
        }
    }
    blocks
}

/// Whether a block is about memory of a communicator that the program created and left to `MPI_Finalize`: our functions of
/// these names only hand the call over to the library.
fn is_of_the_programs_communicator(block: &str) -> bool {
    block.contains("definitely lost") && block.contains("colltune::creators::")
}

/// Whether a block's stacks contain our code, which is the only Rust code.
fn is_ours(block: &str) -> bool {
    let frames = block
        .lines()
        .filter(|line| line.starts_with("at 0x") || line.starts_with("by 0x"));
    frames
        .into_iter()
        .any(|frame| frame.contains(".rs:") || frame.contains("libcolltune.so"))
}

fn logs(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let logs = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".valgrind"));
    logs.map(|entry| std::fs::read_to_string(entry.path()).expect("a log"))
        .collect()
}

/// The errors found in a run with that table. With more ranks than cores MPICH would take minutes.
fn findings(place: usize, through: Through, seed: u64) -> Vec<String> {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("stress.c", folder.path(), &[]);
    let path = save_table(&forcing_through(place, through), folder.path());
    let log_pattern = folder.path().join("%p.valgrind").display().to_string();
    let mut arguments: Vec<String> = ["--leak-check=full", "--show-leak-kinds=definite"]
        .map(str::to_owned)
        .to_vec();
    arguments.extend([
        "--num-callers=60".to_owned(),
        format!("--log-file={log_pattern}"),
    ]);
    let known = SUPPRESSIONS.iter().filter(|file| Path::new(file).is_file());
    arguments.extend(known.map(|file| format!("--suppressions={file}")));
    let program = program.display().to_string();
    arguments.extend([program, seed.to_string(), "80".to_owned(), "odd".to_owned()]);
    let text =
        run_preloaded("valgrind".as_ref(), &arguments, RANKS, &path, &YIELDING).expect_success();
    assert!(text.contains("80 calls agree"), "{text}");
    let is_shared = text.contains(" of them through shared memory");
    assert_eq!(is_shared, through == Through::Shared, "{text}");
    let logs = logs(folder.path());
    assert_eq!(logs.len(), RANKS as usize, "a log a rank");
    for log in &logs {
        assert!(log.contains("ERROR SUMMARY"), "{log}");
    }
    let blocks = logs.iter().flat_map(|log| blocks(log));
    blocks
        .filter(|block| is_ours(block) && !is_of_the_programs_communicator(block))
        .collect()
}

fn check(place: usize, through: Through, seed: u64) {
    if testkit::require("valgrind", process::find_program("valgrind")).is_some() {
        let findings = findings(place, through, seed);
        assert!(findings.is_empty(), "{}", findings.join("\n"));
    }
}

#[test]
fn memory_is_used_as_it_should_be_under_mpi() {
    check(3, Through::Mpi, 8);
}

#[test]
fn memory_is_used_as_it_should_be_through_shared_memory_under_mpi() {
    check(2, Through::Shared, 9);
}

#[test]
fn errors_of_ours_in_a_log_are_distinguished_from_others() {
    let log = "\
==7== Memcheck, a memory error detector
==7==
==7== Conditional jump or move depends on uninitialised value(s)
==7==    at 0x4C0B2F: ompi_comm_split_type_get_part (in /usr/lib/libmpi.so.40)
==7==    by 0x10A1B2: main (stress.c:330)
==7==
==7== Invalid write of size 4
==7==    at 0x4848A3: memmove (vg_replace_strmem.c:1382)
==7==    by 0x486AAA: exec::bytes::copy (bytes.rs:20)
==7==    by 0x10A1B2: main (stress.c:330)
==7==  Address 0x5 is not stack'd, malloc'd or (recently) free'd
==7==
==7== Invalid read of size 4
==7==    at 0x4848A3: ??? (in /target/debug/libcolltune.so)
==7==
==7== ERROR SUMMARY: 3 errors from 3 contexts (suppressed: 0 from 0)
";
    let blocks = blocks(log);
    let ours: Vec<&str> = blocks
        .iter()
        .filter(|block| is_ours(block))
        .filter_map(|block| block.lines().next())
        .collect();
    assert_eq!(ours, ["Invalid write of size 4", "Invalid read of size 4"]);
}
