//! Tables whose rules hold for an order of ranks.

use schedule::Collective;
use table::{Confidence, Operators, Rule, ShapeRules, Table};
use tempfile::TempDir;
use testkit::mpi::installation;
use testkit::tables::{forcing, saved};
use vocabulary::{Candidate, CommShape, Parameters, RankOrder};

use crate::corners::calls;
use crate::launch::{compiled, run_preloaded};

/// One algorithm of allreduce for 2x2 in block order, another for 2x3 in cyclic order.
fn table() -> Table {
    let mut table = forcing(1, installation().library());
    let model = table.collectives[&Collective::Allreduce][0].clone();
    let entry = |ppn, order, algorithm: &str| ShapeRules {
        shape: CommShape { nodes: 2, ppn },
        order,
        operators: Operators::Commutative,
        rules: vec![Rule::new(
            0,
            Candidate::Ours {
                algorithm: algorithm.to_owned(),
                parameters: Parameters::default(),
            },
            Some(1.5),
            Confidence::High,
        )],
        ..model.clone()
    };
    let entries = vec![
        entry(2, RankOrder::Block, "allreduce/recursive_doubling"),
        entry(3, RankOrder::Cyclic, "allreduce/ring"),
    ];
    table.collectives.insert(Collective::Allreduce, entries);
    table
}

#[test]
fn rules_of_another_order_of_ranks_are_not_taken_for_measured_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("dealt.c", folder.path(), &["-rdynamic"]);
    let path = saved(&table(), folder.path());
    let check = |node_of: &str, algorithm: &str| {
        let nodes = [("NODE_OF", node_of)];
        let text = run_preloaded(&program, &[], 4, &path, &nodes).good();
        assert_eq!(calls(&text, algorithm), 10, "{node_of}: {text}");
    };
    check("aabb", "allreduce/recursive_doubling");
    // Another shape in the same order is nearer than the same shape in another.
    check("abab", "allreduce/ring");
    // None is in the same order: that of the nearest shape stands in.
    check("abba", "allreduce/recursive_doubling");
}
