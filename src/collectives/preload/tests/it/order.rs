//! Tables with rules for an order of ranks.

use schedule::Collective;
use table::{Operators, Rule, ShapeRules, Table};
use tempfile::TempDir;
use testkit::mpi::chosen_installation;
use testkit::tables::{forcing_table, save_table};
use vocabulary::{Candidate, CommShape, Parameters, RankOrder};

use crate::launch::{compiled, run_preloaded};

/// One algorithm of allreduce for 2x2 in block order, another for 2x3 in cyclic order, and a rule of broadcasts for 1x3.
fn table() -> Table {
    let mut table = forcing_table(1, chosen_installation().library());
    let model = table.collectives[&Collective::Allreduce][0].clone();
    let entry = |ppn, order, algorithm: &str| ShapeRules {
        shape: CommShape { nodes: 2, ppn },
        order,
        operators: Operators::Commutative,
        rules: vec![Rule {
            candidate: Candidate::Ours {
                algorithm: algorithm.to_owned(),
                parameters: Parameters::default(),
            },
            ..model.rules[0].clone()
        }],
        ..model.clone()
    };
    let entries = vec![
        entry(2, RankOrder::Block, "allreduce/recursive_doubling"),
        entry(3, RankOrder::Cyclic, "allreduce/ring"),
    ];
    let mut broadcasts = table.collectives[&Collective::Bcast].clone();
    broadcasts.retain(|shape_rules| shape_rules.shape.ppn == 3);
    let of_each = [
        (Collective::Allreduce, entries),
        (Collective::Bcast, broadcasts),
    ];
    table.collectives = of_each.into();
    table
}

#[test]
fn rules_of_another_order_or_of_full_nodes_do_not_count_as_measured_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("dealt.c", folder.path(), &["-rdynamic"]);
    let path = save_table(&table(), folder.path());
    let run = |node_of: &str, extrapolate: &str| {
        let more = [("NODE_OF", node_of), ("COLLTUNE_EXTRAPOLATE", extrapolate)];
        run_preloaded(&program, &[], node_of.len() as u32, &path, &more).expect_success()
    };
    let check = |node_of: &str, extrapolate: &str, decision: &str| {
        let text = run(node_of, extrapolate);
        let mut rows = text.lines().filter(|line| line.ends_with(decision));
        let row = rows.find(|line| line.starts_with("colltune: allreduce "));
        let calls = row.and_then(|row| row.split_whitespace().nth(2));
        assert_eq!(calls, Some("10"), "{node_of}: {text}");
    };
    for extrapolate in ["0", "1"] {
        check("aabb", extrapolate, "  allreduce/recursive_doubling");
    }
    // Nodes with different numbers of ranks are not a measured shape, even if the fullest node has as many.
    check("aab", "0", "  default (shape not measured)");
    check("aab", "1", "  allreduce/recursive_doubling (nearest 2x2)");
    check("abab", "0", "  default (shape not measured)");
    check("abba", "0", "  default (shape not measured)");
    // Another shape in the same order is nearer than the same shape in another order.
    check("abab", "1", "  allreduce/ring (nearest 2x3)");
    // No shape has the same order, so the rules of the nearest shape are used.
    let stand_in = "  allreduce/recursive_doubling (nearest 2x2 with ranks in block order)";
    check("abba", "1", stand_in);
}

#[test]
fn ranks_agree_on_nothing_if_no_rule_is_for_their_number_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("dealt.c", folder.path(), &["-rdynamic"]);
    let path = save_table(&table(), folder.path());
    let check = |node_of: &str, extrapolate: &str, placements: &str| {
        let more = [("NODE_OF", node_of), ("COLLTUNE_EXTRAPOLATE", extrapolate)];
        let text =
            run_preloaded(&program, &[], node_of.len() as u32, &path, &more).expect_success();
        assert!(text.contains(placements), "{node_of}: {text}");
        let is_left = text.contains("calls: 10 default (shape not measured)");
        assert_eq!(is_left, extrapolate == "0", "{node_of}: {text}");
    };
    // One is for the number of CPUs, another for the shape.
    check("ab", "0", "placed 1 times");
    check("ab", "1", "placed 2 times");
    check("aab", "0", "placed 2 times");
}
