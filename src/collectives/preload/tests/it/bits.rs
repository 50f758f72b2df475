//! The bits of rounded sums on real ranks, and the rules that are withheld for them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schedule::Collective;
use table::{Operators, Rule, ShapeRules, Table};
use tempfile::TempDir;
use testkit::mpi::chosen_installation;
use testkit::tables::{forcing_table, save_table};
use vocabulary::{Candidate, CommShape, Parameters, RankOrder};

use crate::launch::{compiled, run_preloaded};

/// Four ranks on one node, two and two in block order, and dealt to two nodes in turn.
const PLACEMENTS: [(&str, u32, RankOrder); 3] = [
    ("aaaa", 1, RankOrder::Block),
    ("aabb", 2, RankOrder::Block),
    ("abab", 2, RankOrder::Cyclic),
];

const DOUBLING: &str = "allreduce/recursive_doubling";
const RING: &str = "allreduce/ring";
const CHAIN: &str = "reduce/chain";

/// A rule from a size on.
type FromBytes = (u64, &'static str);

struct Bed {
    folder: TempDir,
    program: PathBuf,
}

/// What the program printed, and the summary.
struct Sums {
    text: String,
}

impl Bed {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let program = compiled("bits.c", folder.path(), &["-rdynamic"]);
        Self { folder, program }
    }

    /// A table with rules for allreduce on each of [`PLACEMENTS`], and a chain for reduce on all of them.
    fn table(&self, name: &str, of_allreduce: [&[FromBytes]; 3]) -> PathBuf {
        let mut table: Table = forcing_table(1, chosen_installation().library());
        let model = table.collectives[&Collective::Allreduce][0].clone();
        let entries = |collective: Collective, rules: [&[FromBytes]; 3]| {
            let of_placement = PLACEMENTS.into_iter().zip(rules);
            let entries = of_placement.map(|((_, nodes, order), of_shape)| ShapeRules {
                shape: CommShape {
                    nodes,
                    ppn: 4 / nodes,
                },
                order,
                operators: Operators::Commutative,
                rules: of_shape.iter().map(|rule| chosen(&model, *rule)).collect(),
                ..model.clone()
            });
            (collective, entries.collect())
        };
        let chain: &[FromBytes] = &[(0, CHAIN)];
        table.collectives = [
            entries(Collective::Allreduce, of_allreduce),
            entries(Collective::Reduce, [chain; 3]),
        ]
        .into();
        let folder = self.folder.path().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        save_table(&table, &folder)
    }

    fn run(&self, table: &Path, node_of: &str, numerics: &str) -> Sums {
        let more = [("NODE_OF", node_of), ("COLLTUNE_NUMERICS", numerics)];
        let launched = run_preloaded(&self.program, &[], 4, table, &more);
        Sums {
            text: launched.expect_success(),
        }
    }
}

fn chosen(model: &ShapeRules, (from_bytes, algorithm): FromBytes) -> Rule {
    Rule {
        from_bytes,
        candidate: Candidate::Ours {
            algorithm: algorithm.to_owned(),
            parameters: Parameters::default(),
        },
        ..model.rules[0].clone()
    }
}

impl Sums {
    /// The different sums of the elements of a vector, each for all pairs of ranks.
    fn of(&self, collective: &str, length: u32) -> BTreeSet<&str> {
        let start = format!("{collective} of {length}: ");
        let line = self.text.lines().find_map(|line| line.strip_prefix(&start));
        line.expect(&self.text).split(' ').collect()
    }

    /// The sums of the elements of vectors of all lengths.
    fn of_all_lengths(&self, collective: &str) -> BTreeSet<&str> {
        let lengths = [1, 7, 512, 4096].into_iter();
        lengths
            .flat_map(|length| self.of(collective, length))
            .collect()
    }

    /// The calls of a collective that an algorithm carried out.
    fn calls_by(&self, collective: &str, algorithm: &str) -> u32 {
        let start = format!("colltune: {collective} ");
        let rows = self
            .text
            .lines()
            .filter_map(|line| line.strip_prefix(&start));
        let by_it = rows.filter(|row| row.contains(&format!("  {algorithm}")));
        by_it
            .map(|row| {
                let calls = row.split_whitespace().next().map(str::parse::<u32>);
                calls.expect(&self.text).expect(&self.text)
            })
            .sum()
    }
}

/// Pairs of four ranks, times four lengths.
const CALLS: u32 = 24;

#[test]
fn trees_of_combinations_show_in_sums_under_mpi() {
    let bed = Bed::new();
    let by_size: &[FromBytes] = &[(0, DOUBLING), (4096, RING)];
    let table = bed.table("by-size", [by_size; 3]);
    let sums = bed.run(&table, "aaaa", "none");
    // (0 + 1) + (2 + 3): the ones are lost unless their neighbour has a one as well. Pairs are 01, 02, 12, 03, 13, 23.
    let doubling = BTreeSet::from(["2:0:0:0:0:2"]);
    assert_eq!(sums.of("allreduce", 1), doubling);
    assert_eq!(sums.of("allreduce", 7), doubling);
    // ((a + b) + c) + d, from each rank on.
    assert_eq!(sums.of("allreduce", 4096).len(), 4, "{}", sums.text);
    assert_eq!(sums.calls_by("allreduce", DOUBLING), 12, "{}", sums.text);
    assert_eq!(sums.calls_by("allreduce", RING), 12, "{}", sums.text);
}

#[test]
fn bits_are_independent_of_size_if_required_under_mpi() {
    let bed = Bed::new();
    let one_tree: &[FromBytes] = &[(0, DOUBLING)];
    let by_size: &[FromBytes] = &[(0, DOUBLING), (4096, RING)];
    let table = bed.table("sizes", [one_tree, by_size, by_size]);
    let requirement = "independent_of_size";
    let sums = bed.run(&table, "aaaa", requirement);
    for (collective, algorithm) in [("allreduce", DOUBLING), ("reduce", CHAIN)] {
        let all = sums.of_all_lengths(collective);
        assert_eq!(all.len(), 1, "{collective}: {}", sums.text);
        let calls = sums.calls_by(collective, algorithm);
        assert_eq!(calls, CALLS, "{}", sums.text);
    }
    let told = "numerics independent_of_size: holds";
    assert!(sums.text.contains(told), "{}", sums.text);
    // The same elements have other bits in longer vectors, so the ring is left to the library.
    let free = bed.run(&table, "aabb", "none");
    assert!(free.of_all_lengths("allreduce").len() > 1, "{}", free.text);
    assert!(!free.text.contains("numerics"), "{}", free.text);
    let bound = bed.run(&table, "aabb", requirement);
    for (algorithm, calls) in [(DOUBLING, CALLS / 2), (RING, 0)] {
        assert_eq!(free.calls_by("allreduce", algorithm), CALLS / 2);
        assert_eq!(
            bound.calls_by("allreduce", algorithm),
            calls,
            "{}",
            bound.text
        );
    }
    assert_eq!(bound.of("allreduce", 1), bound.of("allreduce", 7));
    assert_eq!(bound.calls_by("reduce", CHAIN), CALLS, "{}", bound.text);
    let lost = "2 of 8 rules are not used: 2 give bits that depend on what `numerics` excludes";
    assert!(bound.text.contains(lost), "{}", bound.text);
    assert!(
        bound.text.contains("COLLTUNE_NUMERICS=none"),
        "{}",
        bound.text
    );
}

#[test]
fn bits_are_independent_of_placement_if_required_under_mpi() {
    let bed = Bed::new();
    let requirement = "independent_of_placement";
    let sums_of = |table: &Path, numerics: &str| {
        PLACEMENTS.map(|(node_of, ..)| bed.run(table, node_of, numerics))
    };
    // The same rules everywhere: all are used, and each size has the same bits on all placements.
    let by_size: &[FromBytes] = &[(0, DOUBLING), (4096, RING)];
    let same = sums_of(&bed.table("same", [by_size; 3]), requirement);
    for sums in &same {
        for length in [1, 7, 512, 4096] {
            for collective in ["allreduce", "reduce"] {
                let here = sums.of(collective, length);
                assert_eq!(here, same[0].of(collective, length), "{}", sums.text);
            }
        }
        let by_ours = [DOUBLING, RING].map(|algorithm| sums.calls_by("allreduce", algorithm));
        assert_eq!(by_ours, [CALLS / 2; 2], "{}", sums.text);
        assert_eq!(sums.calls_by("reduce", CHAIN), CALLS, "{}", sums.text);
    }
    // Rules that know nodes, and a ring beside recursive doubling for the same size.
    let leaders: &[FromBytes] = &[(0, "allreduce/leaders")];
    let ring: &[FromBytes] = &[(0, RING)];
    let one_tree: &[FromBytes] = &[(0, DOUBLING)];
    let different = bed.table("different", [one_tree, ring, leaders]);
    let free = sums_of(&different, "none");
    let bits: BTreeSet<_> = free.iter().map(|sums| sums.of("allreduce", 512)).collect();
    assert_eq!(bits.len(), 3, "{bits:?}");
    let bound = bed.run(&different, "abab", requirement);
    let by_leaders = bound.calls_by("allreduce", "allreduce/leaders");
    assert_eq!(by_leaders, 0, "{}", bound.text);
    assert_eq!(bound.calls_by("reduce", CHAIN), CALLS, "{}", bound.text);
    let told = "3 of 6 rules are not used: 3 give bits that depend on what `numerics` excludes";
    assert!(bound.text.contains(told), "{}", bound.text);
}
