//! The experiments on the machine of a campaign.

use std::collections::BTreeSet;

use campaign::Campaign;

/// A campaign named `x` with these further lines, for a machine without shared memory.
fn campaign(lines: &str) -> Campaign {
    crate::campaign(lines).without_shared_memory()
}

#[test]
fn experiments_cover_messages_and_combining() {
    let campaign = campaign("shapes: [1x4, 1x2]\ndatatype: int32\noperator: max\n");
    let experiments = campaign.experiments();
    let summary = |name: &str| {
        let sizes: Vec<u64> = experiments
            .iter()
            .filter(|e| e.kind.name() == name)
            .map(|e| e.bytes)
            .collect();
        (sizes.len(), sizes.first().copied(), sizes.last().copied())
    };
    assert_eq!(summary("ping_pong"), (15, Some(1), Some(4 << 20)));
    assert_eq!(summary("exchange"), (6, Some(1), Some(1 << 20)));
    assert_eq!(summary("shift"), (6, Some(1), Some(1 << 20)));
    assert_eq!(summary("fan_out"), (3, Some(16 << 10), Some(256 << 10)));
    assert_eq!(summary("fan_in"), (3, Some(16 << 10), Some(256 << 10)));
    assert_eq!(summary("late"), (8, Some(1024), Some(128 << 10)));
    assert_eq!(summary("burst"), (6, Some(1), Some(1024)));
    assert_eq!(summary("combine"), (7, Some(1024), Some(4 << 20)));
    assert_eq!(summary("copy"), (4, Some(1024), Some(4 << 20)));
}

#[test]
fn patterns_are_measured_at_sizes_of_ping_pongs() {
    for sizes in ["8", "1M", "4M"] {
        let lines = format!("shapes: 1x4\ncollectives: bcast\nsizes: {sizes}\n");
        let experiments = campaign(&lines).experiments();
        let of = |name: &str| {
            let named = experiments.iter().filter(|e| e.kind.name() == name);
            named.map(|e| e.bytes).collect::<Vec<u64>>()
        };
        let ping_pongs = of("ping_pong");
        assert!(ping_pongs.is_sorted_by(|a, b| a < b), "{ping_pongs:?}");
        for pattern in ["exchange", "shift"] {
            let compared = of(pattern);
            assert!(compared.len() >= 5, "{compared:?}");
            let missing = compared.iter().find(|bytes| !ping_pongs.contains(bytes));
            assert_eq!(missing, None, "{pattern} {sizes}");
        }
    }
}

#[test]
fn messages_are_not_much_longer_than_vectors() {
    let check = |sizes: &str, expected: u64| {
        let lines = format!("shapes: 1x2\ncollectives: [bcast, reduce]\nsizes: {sizes}\n");
        let experiments = campaign(&lines).experiments();
        let messages = experiments
            .iter()
            .filter(|e| !["combine", "copy"].contains(&e.kind.name()));
        assert_eq!(messages.map(|e| e.bytes).max(), Some(expected), "{sizes}");
    };
    check("8", 256 << 10);
    check("256K", 256 << 10);
    check("[8, 257K]", 1 << 20);
    check("4M", 4 << 20);
    check("1G", 4 << 20);
}

/// The kinds of experiments with their shapes, except those that need no partner.
fn kinds(lines: &str) -> String {
    let lines = format!("launcher: simulated\n{lines}\n");
    let experiments = campaign(&lines).experiments();
    let kinds: BTreeSet<String> = experiments
        .iter()
        .filter(|e| !["combine", "copy"].contains(&e.kind.name()))
        .map(|e| format!("{} {}", e.kind.name(), e.shape))
        .collect();
    kinds.into_iter().collect::<Vec<_>>().join(", ")
}

#[test]
fn experiments_are_made_on_every_level_that_is_used() {
    let check = |shapes: &str, expected: &str| {
        assert_eq!(kinds(&format!("shapes: {shapes}")), expected, "{shapes}");
    };
    check("[1x2]", "burst 1x2, exchange 1x2, late 1x2, ping_pong 1x2");
    check("[2x1]", "burst 2x1, exchange 2x1, late 2x1, ping_pong 2x1");
    check(
        "[1x3]",
        "burst 1x2, exchange 1x2, fan_in 1x3, fan_out 1x3, late 1x2, ping_pong 1x2, shift 1x3",
    );
    check(
        "[4x1, 8x1]",
        "burst 2x1, exchange 2x1, fan_in 5x1, fan_out 5x1, late 2x1, ping_pong 2x1, shift 3x1",
    );
    check(
        "[2x1, 2x2]",
        "burst 1x2, burst 2x1, burst 2x2, exchange 1x2, exchange 2x1, injection 2x1, injection 2x2, \
         late 1x2, late 2x1, ping_pong 1x2, ping_pong 2x1",
    );
}

#[test]
fn the_gap_is_measured_where_candidates_know_nodes() {
    let lines = |candidates: &str| format!("shapes: [2x1, 2x2]\ncandidates: {candidates}");
    let (with, without) = (
        kinds(&lines("[bcast/binomial, bcast/leaders]")),
        kinds(&lines("bcast/binomial")),
    );
    assert_eq!(with.replace("burst 2x2, ", ""), without);
    assert!(with.contains("burst 2x2, ") && !without.contains("burst 2x2"));
}

#[test]
fn one_pair_and_all_pairs_send_at_once() {
    let check = |shapes: &str, expected: &[u32]| {
        let lines = format!("launcher: simulated\nshapes: {shapes}\n");
        let experiments = campaign(&lines).experiments();
        let pairs: BTreeSet<u32> = experiments
            .iter()
            .filter(|e| e.kind.name() == "injection")
            .map(|e| e.shape.ppn)
            .collect();
        assert!(pairs.iter().eq(expected), "{shapes}: {pairs:?}");
    };
    check("[8x6, 1x9]", &[1, 6]);
    check("[2x32]", &[1, 32]);
    check("[8x1, 1x8]", &[]);
}

/// The experiments through MPI are the same with and without them.
#[test]
fn messages_through_shared_memory_are_measured_where_candidates_use_it() {
    let experiments =
        |lines: &str| campaign(&format!("launcher: simulated\n{lines}\n")).experiments();
    let both = |shapes: &str| {
        let shapes = format!("shapes: {shapes}");
        let with = experiments(&format!("{shapes}\nparameters: {{through: [mpi, shared]}}"));
        let (of_mpi, shared): (Vec<_>, Vec<_>) = with.into_iter().partition(|e| e.through.is_mpi());
        assert_eq!(of_mpi, experiments(&shapes));
        let names = shared
            .iter()
            .map(|e| format!("{} {}", e.kind.name(), e.shape));
        names
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(both("4x1"), "");
    assert_eq!(
        both("[1x3, 2x2]"),
        "burst 1x2, combine 1x2, exchange 1x2, fan_in 1x3, fan_out 1x3, late 1x2, ping_pong 1x2, shift 1x3"
    );
}

#[test]
fn experiments_without_a_partner_are_made_once() {
    let check = |lines: &str, expected: &[&str]| {
        let experiments = campaign(&format!("launcher: simulated\n{lines}\n")).experiments();
        let kinds: BTreeSet<String> = experiments
            .iter()
            .filter(|e| ["combine", "copy"].contains(&e.kind.name()))
            .map(|e| format!("{} {}", e.kind.name(), e.shape))
            .collect();
        assert!(kinds.iter().eq(expected), "{lines}: {kinds:?}");
    };
    check("shapes: [2x1, 2x4]", &["combine 1x2", "copy 1x2"]);
    check("shapes: 4x1", &["combine 2x1", "copy 2x1"]);
    check("shapes: 1x4\ncollectives: bcast", &["copy 1x2"]);
}
