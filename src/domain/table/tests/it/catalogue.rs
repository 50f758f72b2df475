//! Rules for every collective, checked against the registry.

use std::path::Path;

use schedule::{ALGORITHMS, Collective, Parameter};
use table::{Deployment, OperatorClass, Query, Table, TableError, message_size, out_of_order};
use vocabulary::{CommShape, Parameters, RankOrder};

/// A table with one rule, for a shape of `ppn` ranks.
fn text(collective: Collective, ppn: u32, operators: &str, rule: &str) -> String {
    let size = message_size(collective);
    format!(
        "format: colltune-table 1\nname: t\nprovenance:\n  campaign: abc\n  store: s.db\n  \
         library: {{name: openmpi, version: \"4.1.4\"}}\n  colltune: \"0.1.0\"\n  \
         date: \"2026-11-20\"\n  hosts: [n1]\n  cpu: Some CPU\n  launches: 6\n  warnings: []\n\
         collectives:\n  {collective}:\n    message_size: {size}\n    shapes:\n      \
         - nodes: 1\n        ppn: {ppn}\n{operators}        rules:\n          \
         - {{from: 0, candidate: {rule}, confidence: high}}\n"
    )
}

fn parse(collective: Collective, ppn: u32, operators: &str, rule: &str) -> Result<Table, String> {
    let text = text(collective, ppn, operators, rule);
    Table::parse(&text, Path::new("t.yaml")).map_err(|error| match error {
        TableError::Invalid(invalid) => invalid.to_string(),
        other => panic!("{other}"),
    })
}

/// The rule is refused in `field` with these words.
#[track_caller]
fn check(collective: Collective, ppn: u32, rule: &str, message: &str, field: &str, help: &str) {
    let refusal = parse(collective, ppn, "", rule).expect_err("refused");
    for part in [message, &format!("rules[0].{field})"), help] {
        assert!(refusal.contains(part), "`{part}` is not in\n{refusal}");
    }
}

#[test]
fn tables_say_what_a_size_means_for_every_collective() {
    for collective in Collective::ALL {
        let table = parse(collective, 2, "", "default").expect("valid");
        let again = Table::parse(&table.to_yaml(), Path::new("t.yaml")).expect("valid");
        assert_eq!(table, again);
        let of_part = ["contribution", "part", "to another"]
            .map(|word| message_size(collective).ends_with(word));
        assert_eq!(
            of_part.contains(&true),
            collective.is_sized_by_part(),
            "{collective}"
        );
    }
}

/// In older tables a name stands for the algorithm that had it then, whichever algorithm has it now.
#[test]
fn a_renamed_algorithm_has_its_old_name_in_older_tables() {
    let renamed = ALGORITHMS.iter().filter_map(|a| Some((a, a.formerly?)));
    let mut seen = 0;
    for (algorithm, old) in renamed {
        let collective = algorithm.collective;
        let old = format!("{collective}/{old}");
        let text = text(collective, 2, "", &old);
        for version in [1, 2] {
            let text = text.replace("colltune-table 1", &format!("colltune-table {version}"));
            let table = Table::parse(&text, Path::new("t.yaml")).expect("valid");
            let rule = &table.collectives[&collective][0].rules[0];
            assert_eq!(rule.candidate.algorithm(), algorithm.name());
            let again = Table::parse(&table.to_yaml(), Path::new("t.yaml")).expect("valid");
            assert_eq!(table, again);
        }
        let text = text.replace("colltune-table 1", "colltune-table 3");
        let now = Table::parse(&text, Path::new("t.yaml"));
        let meant = |table: Table| {
            let rule = &table.collectives[&collective][0].rules[0];
            rule.candidate.algorithm().to_owned()
        };
        assert_eq!(
            now.ok().map(meant),
            schedule::find_algorithm(&old).map(|a| a.name())
        );
        seen += 1;
    }
    assert!(seen > 0);
}

/// The library's algorithms may have any name; ours are known.
#[test]
fn rules_of_every_collective_name_native_algorithms() {
    for collective in Collective::ALL {
        let operators = if collective.is_reduction() {
            "        operators: commutative\n"
        } else {
            ""
        };
        let native = format!("native:{collective}/linear");
        let table = parse(collective, 2, operators, &native).expect("valid");
        let decision = table.lookup(&Query {
            collective,
            shape: CommShape { nodes: 1, ppn: 2 },
            order: RankOrder::Unknown,
            bytes: 0,
            operators: OperatorClass::Commutative,
            deployment: Deployment::Colltune,
        });
        assert_eq!(decision.candidate.to_string(), native);
        let again = Table::parse(&table.to_yaml(), Path::new("t.yaml")).expect("valid");
        assert_eq!(table, again);
        let own = schedule::algorithms_of(collective).next();
        let own = own.expect("an algorithm").name();
        let misspelt = format!("{own}x");
        let unknown = format!("unknown candidate `{misspelt}`");
        let help = format!("did you mean `{own}`?");
        check(collective, 2, &misspelt, &unknown, "candidate", &help);
        if collective != Collective::Bcast {
            let other = "is an algorithm of bcast";
            check(collective, 2, "bcast/binomial", other, "candidate", &own);
        }
    }
}

/// Earlier versions know only the library's own algorithms of alltoall, barrier and scan, and no exscan: they say that
/// the table is of a newer format.
#[test]
fn tables_have_a_newer_format_only_for_what_earlier_versions_do_not_know() {
    let version = |collective: Collective, candidate: &str| {
        let table = parse(collective, 2, "", candidate).expect("valid");
        let text = table.to_yaml();
        let again = Table::parse(&text, Path::new("t.yaml")).expect("valid");
        assert_eq!(table, again);
        let (_, rest) = text.split_once("colltune-table ").expect("a format");
        rest.lines().next().map(str::to_owned)
    };
    for collective in [Collective::Alltoall, Collective::Barrier, Collective::Scan] {
        let ours = format!("{collective}/linear");
        assert_eq!(version(collective, &ours).as_deref(), Some("6"), "{ours}");
        assert_eq!(version(collective, "default").as_deref(), Some("3"));
    }
    let native = version(Collective::Barrier, "native:barrier/linear");
    assert_eq!(native.as_deref(), Some("3"));
    for candidate in ["default", "exscan/linear"] {
        let found = version(Collective::Exscan, candidate);
        assert_eq!(found.as_deref(), Some("6"), "{candidate}");
    }
    let gather = version(Collective::Gather, "gather/linear");
    assert_eq!(gather.as_deref(), Some("3"));
}

#[test]
fn every_algorithm_can_be_chosen_where_it_is_supported() {
    for algorithm in ALGORITHMS {
        let (collective, name) = (algorithm.collective, algorithm.name());
        assert!(parse(collective, 1, "", "default").is_ok());
        let operators = if algorithm.ordered || !collective.is_reduction() {
            ""
        } else {
            "        operators: commutative\n"
        };
        let found = parse(collective, 4, operators, &name);
        assert!(found.is_ok(), "{name}: {found:?}");
        if algorithm.even_ranks {
            check(
                collective,
                3,
                &name,
                &format!("{name} needs an even number of ranks, not 3"),
                "candidate",
                "name another candidate",
            );
        }
    }
    assert!(ALGORITHMS.iter().any(|algorithm| algorithm.even_ranks));
}

#[test]
fn radices_are_within_their_range() {
    let with_radix = ALGORITHMS.iter();
    for algorithm in with_radix.filter(|a| a.takes(Parameter::Radix)) {
        let (collective, name) = (algorithm.collective, algorithm.name());
        for (radix, good) in [(2, true), (64, true), (0, false), (1, false), (65, false)] {
            let rule = format!("{name}, radix: {radix}");
            if good {
                let operators = if collective.is_reduction() {
                    "        operators: commutative\n"
                } else {
                    ""
                };
                let table = parse(collective, 8, operators, &rule).expect("valid");
                assert!(
                    table.to_yaml().contains(&format!("radix: {radix}")),
                    "{rule}"
                );
            } else {
                let message = format!("the radix must be from 2 to 64, not {radix}");
                check(collective, 8, &rule, &message, "radix", "schedule list");
            }
        }
    }
    let collective = Collective::Bcast;
    check(
        collective,
        8,
        "bcast/chain, radix: 4",
        "`bcast/chain` takes no `radix`",
        "radix",
        "it takes: block_bytes, blocks",
    );
}

/// Algorithms that know nodes combine in rank order if consecutive ranks share a node.
#[test]
fn leaders_are_for_commutative_operators_if_ranks_are_in_cyclic_order() {
    let on = |nodes: u32, order: &str, rule: &str| {
        let text = text(Collective::Allreduce, 3, order, rule);
        let text = text.replace("nodes: 1", &format!("nodes: {nodes}"));
        let text = text.replace("colltune-table 1", "colltune-table 3");
        Table::parse(&text, Path::new("t.yaml")).map_err(|error| error.to_string())
    };
    let (block, cyclic) = ("        order: block\n", "        order: cyclic\n");
    let leaders = "allreduce/leaders, node: linear, network: recursive_doubling";
    for (nodes, order) in [(2, block), (2, ""), (1, cyclic)] {
        let table = on(nodes, order, leaders).expect("in order");
        let again = Table::parse(&table.to_yaml(), Path::new("t.yaml")).expect("valid");
        assert_eq!(table, again);
    }
    let refusal = on(2, cyclic, leaders).expect_err("out of order");
    assert!(refusal.contains("out of rank order"), "{refusal}");
    let commutative = format!("{cyclic}        operators: commutative\n");
    assert!(on(2, &commutative, leaders).is_ok());
    let three = "allreduce/leaders, leaders_per_node: 3";
    let table = on(2, block, three).expect("three ranks a node");
    let again = Table::parse(&table.to_yaml(), Path::new("t.yaml")).expect("valid");
    assert_eq!(table, again);
    for count in [0, 4] {
        let rule = format!("allreduce/leaders, leaders_per_node: {count}");
        let refused_count =
            on(2, block, &rule).expect_err("as many leaders as ranks, at least one");
        assert!(
            refused_count.contains("leaders_per_node"),
            "{refused_count}"
        );
    }
    let unknown_network = on(2, block, "allreduce/leaders, network: magic").expect_err("unknown");
    assert!(unknown_network.contains("network)"), "{unknown_network}");
}

/// Compositions with an inner reduce that is not ordered, or ordered only for the first and the last root.
#[test]
fn inner_reduces_out_of_order_are_for_commutative_operators() {
    let reduces = || schedule::part_algorithms_of(Collective::Reduce);
    assert!(reduces().any(|inner| !inner.ordered && !inner.ordered_at_ends));
    for composed in ALGORITHMS.iter().filter(|a| a.takes(Parameter::Reduce)) {
        for inner in reduces() {
            let (collective, id) = (composed.collective, inner.id);
            let rule = format!("{composed}, reduce: {id}");
            let parameters = Parameters {
                reduce: Some(id.to_owned()),
                ..Parameters::default()
            };
            // They reduce to rank 0, the first one.
            if inner.ordered || inner.ordered_at_ends {
                assert_eq!(out_of_order(composed, &parameters), None, "{rule}");
                assert!(parse(collective, 4, "", &rule).is_ok(), "{rule}");
                continue;
            }
            assert_eq!(out_of_order(composed, &parameters), Some(inner.name()));
            let message = format!("`reduce/{id}` combines out of rank order");
            check(
                collective,
                4,
                &rule,
                &message,
                "reduce",
                "name an ordered algorithm",
            );
            let commutative = "        operators: commutative\n";
            assert!(parse(collective, 4, commutative, &rule).is_ok(), "{rule}");
        }
    }
}

/// A table holds for every root, so a reduce must be ordered for all of them.
#[test]
fn reduces_ordered_only_at_the_ends_are_for_commutative_operators() {
    for algorithm in ALGORITHMS.iter().filter(|a| !a.ordered) {
        let found = out_of_order(algorithm, &Parameters::default());
        assert_eq!(found, Some(algorithm.name()));
    }
}
