//! The pairs of ranks that synchronise, and the sum of their errors.

use std::collections::BTreeSet;

use benchmarking::clocks::{Clock, ClockPair, synchronisation_rounds};

use super::machine::{Machine, NOISY, Skew};

/// Nodes with these numbers of ranks, numbered in the order of nodes.
fn nodes(counts: &[u32]) -> Vec<Vec<u32>> {
    let mut next = 0;
    let mut node = |count: &u32| {
        next += count;
        (next - count..next).collect()
    };
    counts.iter().map(&mut node).collect()
}

#[test]
fn each_rank_synchronises_once_with_a_synchronised_one() {
    let check = |counts: &[u32], expected: usize| {
        let nodes = nodes(counts);
        let rounds = synchronisation_rounds(&nodes);
        assert_eq!(rounds.len(), expected, "{counts:?}");
        let mut knowing = BTreeSet::from([0]);
        for round in &rounds {
            let mut busy = BTreeSet::new();
            for ClockPair { reference, client } in round {
                assert!(knowing.contains(reference), "{counts:?}: {reference}");
                assert!(
                    busy.insert(*reference) && busy.insert(*client),
                    "{counts:?}"
                );
            }
            let clients = round.iter().map(|pair| pair.client);
            for client in clients {
                assert!(knowing.insert(client), "{counts:?}: {client} twice");
            }
        }
        assert_eq!(knowing.len() as u32, counts.iter().sum::<u32>());
    };
    check(&[1], 0);
    check(&[2], 1);
    check(&[5], 3);
    check(&[1, 1], 1);
    check(&[4, 4, 4, 4], 4);
    check(&[3, 1, 9, 2, 2], 3 + 4);
    check(&[64; 3], 2 + 6);
}

#[test]
fn between_nodes_only_first_ranks_synchronise() {
    let nodes = nodes(&[2, 3, 3]);
    let node_of = |rank: u32| nodes.iter().position(|node| node.contains(&rank));
    for ClockPair { reference, client } in synchronisation_rounds(&nodes).concat() {
        if node_of(reference) != node_of(client) {
            assert!(nodes.iter().any(|node| node[0] == reference));
            assert!(nodes.iter().any(|node| node[0] == client));
        }
    }
}

/// All ranks synchronise along the tree. The ranks of a node have one clock.
#[test]
fn errors_stay_small_over_several_levels() {
    let nodes = nodes(&[4, 4, 3, 4, 1, 4, 4, 2, 4]);
    for seed in 0..20 {
        let mut machine = Machine::new(NOISY, seed);
        let skew = |rank: u32| {
            let node = nodes.iter().position(|node| node.contains(&rank));
            let node = node.unwrap_or_default() as f64;
            Skew {
                offset_seconds: (seed as f64 - 10.0) * node,
                drift: 20e-6 * (node - 4.0),
            }
        };
        let mut learned = vec![None; 30];
        learned[0] = Some(Clock::GLOBAL);
        for ClockPair { reference, client } in synchronisation_rounds(&nodes).concat() {
            let known = learned[reference as usize].expect("the reference knows");
            let pair = machine.learn(skew(client), skew(reference));
            learned[client as usize] = Some(pair.composed_with(&known));
        }
        for rank in 0..30 {
            let clock = learned[rank as usize].expect("all ranks have learned");
            let error = machine.error_seconds(&clock, skew(rank), skew(0));
            let said = clock.error_seconds(skew(rank).read(machine.now));
            assert!(
                error <= said,
                "seed {seed}, rank {rank}: {error:e} > {said:e}"
            );
            // There are up to four levels, synchronised half a second ago or more.
            assert!(error < 6e-6, "seed {seed}, rank {rank}: {error:e}");
        }
        let drifts = |node: &[u32]| -> BTreeSet<u64> {
            let clocks = node.iter().filter_map(|&rank| learned[rank as usize]);
            clocks.map(|clock| clock.drift().to_bits()).collect()
        };
        assert!(nodes.iter().all(|node| drifts(node).len() == 1));
    }
}
