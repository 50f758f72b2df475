//! Collectives of which campaigns compare only the library's own algorithms.

use schedule::Collective;
use vocabulary::Cell;

use crate::campaign;
use crate::errors::check;

const NATIVE: &str = "candidates: {include: ['native:*']}\n";

fn collectives(lines: &str) -> Vec<Collective> {
    campaign(lines).sizes.into_keys().collect()
}

#[test]
fn library_only_collectives_are_measured_if_native_algorithms_are_candidates() {
    assert_eq!(collectives(""), Collective::SERVED);
    assert_eq!(
        collectives("candidates: {include: ['*', 'mockup:*']}\n"),
        Collective::SERVED
    );
    assert_eq!(collectives(NATIVE), Collective::MEASURED);
    assert_eq!(
        collectives("candidates: {include: ['*', 'native:barrier/*']}\n"),
        [&Collective::SERVED[..], &[Collective::Barrier]].concat()
    );
    assert_eq!(
        collectives("candidates: {include: 'native:*', exclude: ['native:b*', 'native:*/ring']}\n"),
        [
            &Collective::SERVED[1..],
            &[Collective::Alltoall, Collective::Scan]
        ]
        .concat()
    );
    let named = [Collective::Alltoall, Collective::Barrier, Collective::Scan];
    let lines = format!("collectives: [scan, barrier, alltoall]\n{NATIVE}");
    assert_eq!(collectives(&lines), named);
    assert_eq!(
        collectives("collectives: [scan, barrier, alltoall]\n"),
        named
    );
}

#[test]
fn a_barrier_is_one_cell_and_the_others_have_sizes() {
    let texts = |sizes: &str| -> Vec<String> {
        let lines =
            format!("collectives: [scan, barrier, alltoall]\nshapes: [1x2, 1x4]\n{sizes}{NATIVE}");
        campaign(&lines)
            .cells()
            .iter()
            .map(Cell::to_string)
            .collect()
    };
    let expected = [
        "barrier 1x2",
        "barrier 1x4",
        "alltoall 1x2 9 bytes a block",
        "scan 1x2 32 bytes of float64 sum",
        "scan 1x4 32 bytes of float64 sum",
        "alltoall 1x4 9 bytes a block",
    ];
    assert_eq!(texts("sizes: {default: 9, scan: 28}\n"), expected);
    let mut sizes = campaign(NATIVE).sizes;
    let mut last = |collective| {
        sizes
            .remove(&collective)
            .and_then(|sizes| sizes.last().copied())
    };
    assert_eq!(last(Collective::Scan), Some(4 << 20));
    assert_eq!(last(Collective::Alltoall), Some(1 << 20));
    assert_eq!(last(Collective::Barrier), Some(0));
}

#[test]
fn invalid_keys_of_theirs_are_refused_with_a_remedy() {
    for (sizes, place) in [
        ("{barrier: 8}", (2, 9)),
        ("{default: 8, barrier: 8}", (2, 21)),
    ] {
        check(
            &format!("name: x\nsizes: {sizes}\n{NATIVE}"),
            place,
            "sizes.barrier",
            "barrier has no sizes",
            "remove the key",
        );
    }
    check(
        "name: x\ncollectives: [bcast, scan]\ncandidates: '*'\n",
        (2, 22),
        "collectives[1]",
        "no algorithm for scan is left",
        "add `native:scan/*` to `candidates",
    );
    check(
        "name: x\ncandidates: {include: alltoall/pairwise}\n",
        (2, 23),
        "candidates.include",
        "matches no algorithm",
        "`native:alltoall/pairwise`",
    );
    for (pattern, remedy) in [
        (
            "scan/linear",
            "do not use colltune's algorithms of scan yet; did you mean the library's own, `native:scan/linear`?",
        ),
        (
            "exscan/linear",
            "do not use colltune's algorithms of exscan yet",
        ),
    ] {
        check(
            &format!("name: x\ncandidates: {{include: {pattern}}}\n"),
            (2, 23),
            "candidates.include",
            "matches no algorithm",
            remedy,
        );
    }
    check(
        "name: x\nsizes: {barier: 8}\n",
        (2, 9),
        "sizes.barier",
        "unknown collective `barier`",
        "",
    );
}

#[test]
fn library_only_collectives_are_not_simulated() {
    let simulated = "launcher: simulated\nshapes: 4x1\ncandidates: {include: ['*', 'native:*']}\n";
    assert_eq!(collectives(simulated), Collective::SERVED);
    check(
        &format!("name: x\ncollectives: [bcast, barrier]\n{simulated}"),
        (2, 22),
        "collectives[1]",
        "campaigns do not simulate barrier",
        "remove it from `collectives`",
    );
}
