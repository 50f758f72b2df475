//! The sizes between those of a campaign at which choices are confirmed.

use std::collections::BTreeSet;

use fit::{Confirmation, DecideOptions, Exploration, Fresh, summarise};
use schedule::Collective;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Pattern, Subject};

use crate::synthetic::{ours, sample};

/// The sizes at which a broadcast that is twice as fast as the default at 8K and 16K is tried.
fn tried(library: &str, ppn: u32) -> Vec<u64> {
    let cell = |bytes| Cell {
        collective: Collective::Bcast,
        shape: CommShape { nodes: 1, ppn },
        bytes,
        datatype: Datatype::Float64,
        operator: None,
    };
    let grid = [cell(8 << 10), cell(16 << 10)];
    let chosen = ours("bcast/mst", None);
    let mut samples = Vec::new();
    for launch in 1..=6 {
        for cell in grid {
            for (candidate, seconds) in [(&Candidate::Default, 2e-5), (&chosen, 1e-5)] {
                let subject = Subject::Cell(cell);
                samples.push(sample(launch, subject, candidate, vec![seconds; 3]));
            }
        }
    }
    let summaries = summarise(&samples, Pattern::Together).expect("times");
    let options = DecideOptions::default();
    let exploration = Exploration {
        library,
        summaries: &summaries,
        failures: &[],
        machine: None,
        options: &options,
        grid: &grid,
    };
    let fresh = Fresh::of(&[(Pattern::Together, Vec::new())], &[], &options).expect("times");
    let confirmation = Confirmation::of(exploration, &fresh);
    let trials = confirmation.open.iter();
    let sizes: BTreeSet<u64> = trials.map(|trial| trial.cell.bytes).collect();
    sizes.into_iter().collect()
}

/// MPICH switches algorithms at 12288 bytes from 8 ranks on.
#[test]
fn a_probe_lies_where_the_library_is_known_to_switch_algorithms() {
    assert_eq!(tried("mpich", 8), [8192, 12288, 16384]);
    assert_eq!(tried("mpich", 4), [8192, 11592, 16384]);
    assert_eq!(tried("unknown", 8), [8192, 11592, 16384]);
}
