//! Calls that follow each other, and calls at which ranks arrive at different times.

use schedule::Collective;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Pattern};
use wire::{Measurement, Record};

use crate::bench::{Bench, compare, ours};

fn bcast((nodes, ppn): (u32, u32), bytes: u64) -> Cell {
    Cell {
        collective: Collective::Bcast,
        shape: CommShape { nodes, ppn },
        bytes,
        datatype: Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    }
}

/// The measurement of an algorithm in a cell without noise; the default is another algorithm.
fn measured(pattern: Pattern, cell: Cell, name: &str) -> Measurement {
    let mut task = compare(0, cell, &[Candidate::Default, ours(name)]);
    task.pattern = pattern;
    let (_, records) = Bench::new(vec![task]).run();
    let done = records.into_iter().find_map(|record| match record {
        Record::Done(done) => Some(done),
        _ => None,
    });
    let mut measured = done.expect("a task").measurements;
    assert_eq!(measured.len(), 2);
    measured.remove(1)
}

#[test]
fn a_broadcast_is_repeated_before_it_has_ended() {
    let cell = bcast((4, 2), 64 << 10);
    let check = |name, most: f64| {
        let together = measured(Pattern::Together, cell, name);
        let repeated = measured(Pattern::Repeated, cell, name);
        let seconds = repeated.seconds[0];
        assert!(repeated.seconds.iter().all(|other| *other == seconds));
        let ratio = seconds / together.seconds[0];
        assert!(ratio < most && ratio > 0.1, "{name}: {ratio}");
        assert_eq!(together.batch, 1);
        assert!(repeated.batch == 20 || repeated.batch.is_power_of_two());
    };
    // In a chain of eight ranks each receives a message and sends one.
    check("bcast/chain", 0.5);
    check("bcast/binomial", 1.0 + 1e-9);
}

#[test]
fn blocks_are_long_enough_for_the_shortest_call() {
    let repeated = measured(Pattern::Repeated, bcast((1, 2), 8), "bcast/linear");
    let block_seconds = repeated.seconds[0] * f64::from(repeated.batch);
    assert!((200e-6..400e-6).contains(&block_seconds), "{block_seconds}");
}

#[test]
fn skewed_calls_are_timed_from_the_last_arrival() {
    let check = |bytes, is_whole: bool| {
        let cell = bcast((2, 1), bytes);
        let together = measured(Pattern::Together, cell, "bcast/linear").seconds[0];
        let skewed = measured(Pattern::Skewed, cell, "bcast/linear");
        assert_eq!(skewed.batch, 3);
        for seconds in &skewed.seconds {
            let ratio = seconds / together;
            if is_whole {
                assert!((ratio - 1.0).abs() < 1e-9, "{bytes}: {ratio}")
            } else {
                assert!((0.0..0.99).contains(&ratio), "{bytes}: {ratio}")
            }
        }
    };
    // A long message waits for both ends; a short one is already there when its receiver arrives.
    check(1 << 20, true);
    check(64, false);
}
