//! How many units spans hold.

use schedule::{Buffer, Partition, Request, Schedule, Span, find};

use crate::cases::schedule;

/// Of any blocks of the vector, which a rank's input is.
fn check(schedule: &Schedule, partition: Partition) {
    let layout = schedule.layout(0);
    for start in 0..partition.blocks() {
        for count in 0..=partition.blocks() {
            let span = Span::blocks(Buffer::Input, partition, start, count);
            let expected = layout.locate(&span).unwrap().units();
            assert_eq!(schedule.span_units(&span), expected, "{span}");
        }
    }
}

#[test]
fn the_length_of_a_span_is_that_of_its_pieces() {
    let algorithm = find("reduce_scatter/ring").unwrap();
    for units in [0, 1, 6, 7, 23] {
        let uneven = [units / 3, 0, units - units / 3];
        for counts in [None, Some(&uneven[..])] {
            let request = Request {
                units,
                counts,
                ..Request::ranks(3)
            };
            let schedule = schedule(algorithm, &request);
            for blocks in [1, 2, 5, 9] {
                check(&schedule, Partition::Even(blocks));
            }
            for chunks in [1, 2, 4] {
                check(&schedule, Partition::PerRank { ranks: 3, chunks });
            }
        }
    }
}
