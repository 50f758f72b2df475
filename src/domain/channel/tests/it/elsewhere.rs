//! Ranks that may not share memory, or lack a usual facility for it.

use std::process::Command;
use std::time::Duration;

use channel::{SegmentLayout, SharedSegment};
use testkit::process::{self, ProgramResult};

const RANKS: &str = env!("CARGO_BIN_EXE_channel-ranks");
const LIMIT: usize = 1 << 20;

/// Runs `channel-ranks` through other commands.
fn run(before: &[&str], arguments: &[&str]) -> ProgramResult {
    let words = [before, &[RANKS], arguments].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    process::run_to_end(&mut command, Duration::from_secs(20))
}

/// Whether a program can be started in this way.
pub(crate) fn can(before: &[&str]) -> bool {
    let ended = process::find_program(before[0]).map(|_| run(before, &["create", "4096"]));
    let is_good = ended.is_some_and(|ended| ended.out == "created\n");
    testkit::require("namespaces and other users", is_good.then_some(())).is_some()
}

/// The output of one of two ranks, started in this way while this process has the segment.
fn open(before: &[&str]) -> ProgramResult {
    let layout = SegmentLayout::within_limit(2, LIMIT).unwrap();
    let segment = SharedSegment::create(layout.bytes()).unwrap();
    let ticket = segment.ticket().to_bytes();
    let digits = ticket.map(|byte| format!("{byte:02x}")).concat();
    let limit = LIMIT.to_string();
    run(before, &[&digits, "2", &limit, "0", "1", "0"])
}

fn check_refused(before: &[&str], reasons: &[&str]) {
    if !can(before) {
        return;
    }
    let ended = open(before);
    assert!(!ended.status.success(), "{ended:?}");
    let is_told = |reason: &&str| ended.err.contains(*reason);
    assert!(reasons.iter().any(is_told), "{ended:?}");
}

#[test]
fn ranks_in_other_namespaces_are_refused() {
    let apart = ["unshare", "--pid", "--fork", "--mount-proc"];
    let reasons = [
        "cannot open the shared memory of process",
        "is not the one that has the shared memory",
    ];
    check_refused(&apart, &reasons);
}

#[test]
fn ranks_of_other_users_are_refused() {
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    check_refused(&nobody, &["cannot open the shared memory of process"]);
}

#[test]
fn other_kinds_of_memory_files_are_not_needed() {
    let script = "mount -t tmpfs -o ro,size=4k none /dev/shm && exec \"$0\" \"$@\"";
    let without = ["unshare", "--mount", "sh", "-c", script];
    if can(&without) {
        // The rank waits for a byte that does not arrive.
        let ended = open(&without);
        assert_eq!(ended.out, "ready\n", "{ended:?}");
    }
}

/// Without a check the kernel would kill the process.
#[test]
fn a_limit_on_file_sizes_does_not_end_the_process() {
    let limited = ["prlimit", "--fsize=65536"];
    if can(&limited) {
        let ended = run(&limited, &["create", "65537"]);
        assert_eq!(ended.status.code(), Some(1), "{ended:?}");
        let reason = "cannot create a file in memory of 65537 bytes: File too large";
        assert!(ended.err.contains(reason), "{ended:?}");
    }
}
