//! The order of ranks on nodes, which a preloaded library simulates.

use launcher::Outcome;
use vocabulary::RankOrder::{self, Block, Cyclic, Other};
use vocabulary::{Candidate, CommShape};
use wire::{PlannedWork, Record};

use crate::launch::{Bench, allreduce};

#[test]
fn launches_record_the_order_of_ranks_of_each_task_under_mpi() {
    let on = |(nodes, ppn)| {
        let mut work = allreduce(4, 64, vec![Candidate::Default]);
        if let PlannedWork::Compare { cell, .. } = &mut work {
            cell.shape = CommShape { nodes, ppn };
        }
        work
    };
    let check = |node_of: &str, expected: RankOrder| {
        let mut bench = Bench::new([(2, 2), (1, 2), (2, 1)].map(on).to_vec());
        bench.preload(include_str!("nodes.c"), &["-O1"]);
        bench.environment.push(("NODE_OF".into(), node_of.into()));
        let (exit, records) = bench.run(4);
        assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
        let orders = records.iter().filter_map(|record| match record {
            Record::Done(done) => Some(done.order),
            _ => None,
        });
        // A single node, or one rank per node, counts as block order.
        let orders: Vec<RankOrder> = orders.collect();
        assert_eq!(orders, [expected, Block, Block], "{node_of}");
    };
    check("aabb", Block);
    check("abab", Cyclic);
    check("abba", Other);
}
