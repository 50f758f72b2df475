//! The collectives of a campaign, those with special sizes among them.

use schedule::Collective::{self, Alltoall, Barrier, Exscan, Scan};
use vocabulary::{Candidate, Cell, CommShape, Library, NONBLOCKING, Pattern, Through};

use crate::campaign;
use crate::errors::check;

/// The collectives of a campaign that names none.
const BY_DEFAULT: [Collective; 8] = [
    Collective::Bcast,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::Gather,
    Collective::Scatter,
    Collective::Allgather,
    Collective::ReduceScatter,
    Collective::ReduceScatterBlock,
];
const SIMULATED: &str = "launcher: simulated\nshapes: 4x1\n";

fn collectives(lines: &str) -> Vec<Collective> {
    campaign(lines).sizes.into_keys().collect()
}

#[test]
fn nonblocking_calls_are_of_three_collectives_with_candidates_of_ours() {
    let nonblocking = "pattern: nonblocking\n";
    assert_eq!(collectives(nonblocking), NONBLOCKING);
    let all = format!("{nonblocking}collectives: all\n");
    assert_eq!(collectives(&all), NONBLOCKING);
    let some = format!("{nonblocking}candidates: 'bcast/*'\n");
    assert_eq!(collectives(&some), [Collective::Bcast]);
    let with_natives = "candidates: ['*', 'native:*', 'mockup:*']\n";
    let read = campaign(&format!("{nonblocking}{with_natives}"));
    let library = Library {
        name: "openmpi".to_owned(),
        version: "4.1.4".to_owned(),
    };
    for cell in read.cells() {
        assert_eq!(read.foreign_candidates(&cell, &library, &[]), [], "{cell}");
        let candidates = read.candidates(&cell, &|_| None).distinct;
        let is_shared = |c: &Candidate| c.parameters().through == Through::Shared;
        assert!(candidates.len() > 1 && !candidates.iter().any(is_shared));
    }
    let patterns = [Pattern::Nonblocking, Pattern::Overlapped];
    assert_eq!(read.confirming_patterns(), patterns);
    let blocking = campaign(with_natives).confirming_patterns();
    assert_eq!(blocking, [Pattern::Together, Pattern::Repeated]);
}

/// What files of older versions mean must not change, since stores and tables keep their digests.
#[test]
fn files_without_collectives_mean_what_they_always_meant() {
    let with = |more: &[Collective]| [&BY_DEFAULT[..], more].concat();
    let candidates = |list: &str| collectives(&format!("candidates: {list}\n"));
    assert_eq!(collectives(""), BY_DEFAULT);
    assert_eq!(collectives(SIMULATED), BY_DEFAULT);
    for list in ["'*'", "{include: ['*', 'mockup:*']}", "{exclude: '*/ring'}"] {
        assert_eq!(candidates(list), BY_DEFAULT, "{list}");
    }
    let scattered = [Collective::ReduceScatter, Collective::ReduceScatterBlock];
    assert_eq!(candidates("'*/pairwise'"), scattered);
    let some = [Alltoall, Barrier, Scan];
    for list in ["{include: 'native:*'}", "['*', 'native:*']"] {
        assert_eq!(candidates(list), with(&some), "{list}");
    }
    assert_eq!(
        candidates("{include: ['*', 'native:barrier/*']}"),
        with(&[Barrier])
    );
    assert_eq!(
        candidates("{include: 'native:*', exclude: ['native:b*', 'native:*/ring']}"),
        [&BY_DEFAULT[1..], &[Alltoall, Scan]].concat()
    );
    for natives in [
        "'native:*'",
        "'native:barrier/*', 'native:exscan/*'",
        "'native:alltoall/pairwise'",
    ] {
        let simulated = format!("{SIMULATED}candidates: ['*', {natives}]\n");
        assert_eq!(collectives(&simulated), BY_DEFAULT, "{natives}");
    }
}

#[test]
fn patterns_with_the_name_of_a_collective_request_it() {
    let candidates = |list: &str| collectives(&format!("candidates: {list}\n"));
    for prefix in ["", "native:"] {
        for collective in [Alltoall, Barrier, Scan, Exscan] {
            let list = format!("'{prefix}{collective}/*'");
            assert_eq!(candidates(&list), [collective], "{list}");
        }
    }
    assert_eq!(candidates("alltoall/bruck"), [Alltoall]);
    let simulated = format!("{SIMULATED}candidates: ['exscan/*', 'barrier/linear']\n");
    assert_eq!(collectives(&simulated), [Barrier, Exscan]);
}

#[test]
fn all_stands_for_every_collective() {
    for lines in [
        "collectives: all\n".to_owned(),
        "collectives: [all]\n".to_owned(),
        "collectives: [scan, all, bcast]\n".to_owned(),
        format!("collectives: all\n{SIMULATED}"),
        "collectives: all\ncandidates: 'native:*'\n".to_owned(),
    ] {
        assert_eq!(collectives(&lines), Collective::ALL, "{lines}");
    }
    let every = Collective::ALL.map(Collective::name).join(", ");
    let listed = campaign(&format!("collectives: [{every}]\n"));
    assert_eq!(campaign("collectives: all\n").digest(), listed.digest());
    assert_ne!(campaign("").digest(), listed.digest());
    // Those without a candidate are left out.
    let few = "collectives: all\ncandidates: ['*/recursive_doubling']\n";
    assert_eq!(
        collectives(few),
        [
            Collective::Allreduce,
            Collective::Allgather,
            Collective::ReduceScatter,
            Collective::ReduceScatterBlock,
            Barrier,
            Scan,
            Exscan,
            Collective::Allgatherv,
        ]
    );
    check(
        "name: x\ncollectives: all\ncandidates: {include: '*', exclude: '*'}\n",
        (3, 13),
        "candidates",
        "no algorithm for any collective is left",
        "widen `candidates`",
    );
}

#[test]
fn every_collective_has_candidates() {
    for simulated in ["", "launcher: simulated\n"] {
        let all = campaign(&format!("collectives: all\n{simulated}shapes: 1x4\n"));
        for cell in all.cells() {
            let found = all.candidates(&cell, &|_| None).distinct;
            assert!(found.iter().any(Candidate::is_ours), "{cell}: {found:?}");
        }
    }
}

/// Its signals have no data, but go through shared memory as well.
#[test]
fn a_barrier_goes_through_mpi_and_shared_memory() {
    let barriers = campaign("collectives: barrier\nshapes: [1x4]\n");
    let [cell] = barriers.cells()[..] else {
        panic!("one cell: {:?}", barriers.cells());
    };
    assert_eq!(cell.to_string(), "barrier 1x4");
    let ways = |of: &Cell| {
        let families = barriers.families(of).into_iter();
        let mut found: Vec<Through> = families.map(|family| family.parameters.through).collect();
        found.sort();
        found.dedup();
        found
    };
    assert_eq!(ways(&cell), [Through::Mpi, Through::Shared]);
    let alone = Cell {
        shape: CommShape { nodes: 4, ppn: 1 },
        ..cell
    };
    assert_eq!(ways(&alone), [Through::Mpi]);
}

#[test]
fn a_barrier_is_one_cell_and_the_others_have_sizes() {
    let texts = |sizes: &str| -> Vec<String> {
        let lines =
            format!("collectives: [scan, barrier, alltoall, exscan]\nshapes: [1x2, 1x4]\n{sizes}");
        campaign(&lines)
            .cells()
            .iter()
            .map(Cell::to_string)
            .collect()
    };
    let expected = [
        "barrier 1x2",
        "barrier 1x4",
        "exscan 1x2 16 bytes of float64 sum",
        "alltoall 1x2 9 bytes a block",
        "scan 1x2 32 bytes of float64 sum",
        "exscan 1x4 16 bytes of float64 sum",
        "scan 1x4 32 bytes of float64 sum",
        "alltoall 1x4 9 bytes a block",
    ];
    assert_eq!(texts("sizes: {default: 9, scan: 28}\n"), expected);
    let sizes = campaign("collectives: all\n").sizes;
    let last = |collective| sizes[&collective].last().copied();
    assert_eq!(last(Scan), Some(4 << 20));
    assert_eq!(last(Exscan), Some(4 << 20));
    assert_eq!(last(Alltoall), Some(1 << 20));
    assert_eq!(last(Barrier), Some(0));
}

/// On many ranks the default sizes end where a rank's blocks would exceed the longest vector.
#[test]
fn blocks_for_many_ranks_are_short() {
    let lines = "collectives: alltoall\nlauncher: simulated\nshapes: 1024x16\n";
    let sizes = campaign(lines).sizes;
    assert_eq!(sizes[&Alltoall].last(), Some(&(32 << 10)));
}

#[test]
fn invalid_keys_of_theirs_are_refused_with_a_remedy() {
    for (sizes, place) in [
        ("{barrier: 8}", (2, 9)),
        ("{default: 8, barrier: 8}", (2, 21)),
    ] {
        check(
            &format!("name: x\nsizes: {sizes}\n"),
            place,
            "sizes.barrier",
            "barrier has no sizes",
            "remove the key",
        );
    }
    check(
        "name: x\ncollectives: [bcast, scan]\ncandidates: 'bcast/*'\n",
        (2, 22),
        "collectives[1]",
        "no algorithm for scan is left",
        "widen `candidates`",
    );
    check(
        "name: x\ncollectives: alltoall\nshapes: 1x4\nsizes: {alltoall: 512M}\n",
        (4, 19),
        "sizes.alltoall",
        "alltoall of 536870912 bytes a block on 1x4 sends and receives a block for each rank: both vectors have \
         2147483648 bytes, more than 1073741824",
        "`sizes: {alltoall: 8..256M x4}`",
    );
    check(
        "name: x\nsizes: {barier: 8}\n",
        (2, 9),
        "sizes.barier",
        "unknown collective `barier`",
        "",
    );
    check(
        "name: x\ncollectives: al\n",
        (2, 14),
        "collectives",
        "unknown collective `al`",
        "did you mean `all`?",
    );
}

#[test]
fn irregular_collectives_are_measured_with_each_distribution() {
    use schedule::Distribution::{Dominated, Skewed, Uniform};
    let cells = |lines: &str| campaign(lines).cells();
    let found = cells("collectives: [gatherv, bcast]\nshapes: [1x4]\nsizes: [8, 64]\n");
    let kinds: Vec<_> = found
        .iter()
        .map(|cell| (cell.collective, cell.bytes, cell.distribution))
        .collect();
    let (bcast, gatherv) = (Collective::Bcast, Collective::Gatherv);
    let expected = [
        (bcast, 8, Uniform),
        (gatherv, 8, Uniform),
        (gatherv, 8, Skewed),
        (bcast, 64, Uniform),
        (gatherv, 64, Uniform),
        (gatherv, 64, Skewed),
    ];
    assert_eq!(kinds, expected);
    let named =
        "collectives: alltoallv\nshapes: [1x4]\ndistributions: [dominated, uniform, dominated]\n";
    let distributions = campaign(named).distributions;
    assert_eq!(distributions, [Uniform, Dominated]);
    // Few sizes, since one rule holds for all of them.
    let sizes: Vec<u64> = campaign(named).sizes[&Collective::Alltoallv].clone();
    assert_eq!(sizes, [16, 256, 4096, 65_536]);
    let by_default = &campaign("collectives: [gatherv, allgatherv]\n").sizes;
    assert_eq!(by_default[&gatherv], [1024, 16 << 10, 256 << 10, 4 << 20]);
    let of_bcast = &campaign("").sizes[&bcast];
    assert_eq!(by_default[&Collective::Allgatherv], *of_bcast);
    assert!(found.iter().all(Cell::is_possible));
}

/// Campaigns without irregular collectives keep their digests.
#[test]
fn distributions_are_part_of_the_digest_if_they_are_not_the_default() {
    let digest = |lines: &str| campaign(&format!("collectives: gatherv\n{lines}")).digest();
    assert_eq!(digest(""), digest("distributions: [skewed, uniform]\n"));
    assert_ne!(digest(""), digest("distributions: uniform\n"));
}

#[test]
fn distributions_that_a_call_cannot_have_are_refused() {
    check(
        "name: x\ncollectives: [bcast, alltoall]\ndistributions: skewed\n",
        (3, 1),
        "distributions",
        "distributions are for irregular collectives, and the campaign measures none",
        "remove the key, or add one of alltoallv, alltoallw, allgatherv, gatherv, scatterv to `collectives`",
    );
    check(
        "name: x\ncollectives: gatherv\ndistributions: [uniform, skewd]\n",
        (3, 26),
        "distributions[1]",
        "unknown distribution `skewd`",
        "did you mean `skewed`?",
    );
    // Half of all blocks go from or to rank 0.
    check(
        "name: x\nlauncher: simulated\nshapes: 256x1\ncollectives: alltoallv\nsizes: {alltoallv: 1M}\n\
         distributions: [uniform, dominated]\n",
        (5, 20),
        "sizes.alltoallv",
        "alltoallv of 1048576 bytes a block on 256x1, dominated, sends 17213489152 bytes from one rank, more than \
         1073741824",
        "give it smaller sizes of its own, as in `sizes: {alltoallv: 16..4K x16}`, or other `distributions`",
    );
}

/// A leader keeps the blocks of all ranks of its node twice, here 2 * 4 ranks * 8 ranks of them.
#[test]
fn an_alltoall_by_leaders_takes_part_while_its_memory_is_bounded() {
    let campaign =
        campaign("launcher: simulated\nshapes: 2x4\ncollectives: alltoall\nsizes: [64M, 128M]\n");
    let takes_part = |cell: &Cell| {
        let candidates = campaign.candidates(cell, &|_| None).distinct;
        let mut names = candidates.iter().map(Candidate::algorithm);
        names.any(|name| name == "alltoall/leaders")
    };
    let found: Vec<_> = campaign
        .cells()
        .iter()
        .map(|cell| (cell.bytes >> 20, takes_part(cell)))
        .collect();
    assert_eq!(found, [(64, true), (128, false)]);
}
