//! The time of a decision: `cargo bench -p table --bench decide`.
//!
//! Prints nanoseconds per decision, the median of several runs, for tables of 1 to 1000 rules for a communicator and
//! unpredictable sizes. The time of the loop itself is included.

use std::hint::black_box;
use std::time::Instant;

use schedule::Collective;
use table::dispatch::CommunicatorRules;
use table::{OperatorClass, Table};
use vocabulary::{CommShape, RankOrder};

const DECISIONS: usize = 1 << 20;
const RUNS: usize = 9;

fn main() {
    for rules in [1, 10, 100, 1000] {
        let table = match Table::parse(&text(rules), "bench.yaml".as_ref()) {
            Ok(table) => table,
            Err(error) => return eprintln!("{error}"),
        };
        let shape = CommShape { nodes: 4, ppn: 8 };
        let compiled = CommunicatorRules::new(&table, shape, RankOrder::Block, false);
        let count = compiled
            .choices(Collective::Allreduce, OperatorClass::Commutative)
            .len();
        assert_eq!(count, rules, "the table's rules are all there");
        println!("{rules:>5} rules: {:.1} ns a decision", median(&compiled));
    }
}

fn median(compiled: &CommunicatorRules) -> f64 {
    let mut random = fastrand::Rng::with_seed(8);
    // Sizes are distributed evenly on a logarithmic scale.
    let sizes: Vec<u64> = (0..DECISIONS)
        .map(|_| random.u64(..) >> random.u32(40..64))
        .collect();
    let mut runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            for bytes in &sizes {
                let choice =
                    compiled.decide(Collective::Allreduce, OperatorClass::Commutative, *bytes);
                black_box(choice);
            }
            start.elapsed().as_secs_f64() / DECISIONS as f64 * 1e9
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[RUNS / 2]
}

/// A table with `rules` rules for one communicator, by growing distances up to 16 MiB.
fn text(rules: usize) -> String {
    let mut text = "format: colltune-table 3\nname: bench\nprovenance:\n  campaign: 9f86d081\n  \
         store: .colltune/bench.db\n  library: {name: openmpi, version: \"4.1.4\"}\n  \
         colltune: \"0.1.0\"\n  date: \"2026-11-20\"\n  hosts: [n1]\n  cpu: Some CPU\n  \
         launches: 6\n  warnings: []\ncollectives:\n  allreduce:\n    \
         message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 4\n        ppn: 8\n        \
         operators: commutative\n        rules:\n"
        .to_owned();
    let growth = (f64::from(1 << 24)).powf(1.0 / rules as f64);
    let mut from = 0_u64;
    for rule in 0..rules {
        let blocks = 1 + rule % 60;
        text += &format!(
            "          - {{from: {from}, candidate: allreduce/dual_root, blocks: {blocks}, \
             speedup: 1.5, confidence: high}}\n"
        );
        from = (from + 1).max(growth.powi(rule as i32 + 1) as u64);
    }
    text
}
