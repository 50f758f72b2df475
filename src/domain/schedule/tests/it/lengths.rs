//! The number of units in spans.

use schedule::{Buffer, Partition, Request, Run, Schedule, Span, find_algorithm};

use crate::cases::schedule;

/// Checks spans of any blocks of the vector, in the input of a rank that holds all of it.
fn check(schedule: &Schedule, partition: Partition) {
    let layout = schedule.layout(0);
    let most = match partition {
        Partition::ByChunk { ranks, .. } => ranks.into(),
        _ => partition.blocks(),
    };
    for start in 0..partition.blocks() {
        for count in 0..=most {
            let span = Span::blocks(Buffer::Input, partition, start, count);
            let expected = layout.locate(&span).unwrap().units();
            assert_eq!(schedule.span_units(0, &span), expected, "{span}");
        }
    }
}

#[test]
fn the_length_of_a_span_is_that_of_its_pieces() {
    let algorithm = find_algorithm("reduce_scatter/ring").unwrap();
    for units in [0, 1, 6, 7, 23] {
        let uneven = [units / 3, 0, units - units / 3];
        for counts in [None, Some(&uneven[..])] {
            let request = Request {
                units,
                counts,
                ..Request::among_ranks(3)
            };
            let schedule = schedule(algorithm, &request);
            for blocks in [1, 2, 5, 9] {
                check(&schedule, Partition::Even(blocks));
            }
            for chunks in [1, 2, 4] {
                check(&schedule, Partition::PerRank { ranks: 3, chunks });
                if counts.is_none() && units % 3 == 0 {
                    check(&schedule, Partition::ByChunk { ranks: 3, chunks });
                }
            }
        }
    }
}

/// The chunks of three parts of 7 units: they have gaps between them, except where a part is one chunk.
#[test]
fn chunks_of_parts_are_at_equal_distances() {
    let algorithm = find_algorithm("allgather/ring").unwrap();
    let request = Request {
        units: 7,
        ..Request::among_ranks(3)
    };
    let layout = schedule(algorithm, &request).layout(1);
    let place = |chunks, chunk: u64, first, count| {
        let partition = Partition::ByChunk { ranks: 3, chunks };
        let span = Span::blocks(Buffer::Output, partition, 3 * chunk + first, count);
        let pieces = layout.locate(&span).unwrap().pieces();
        pieces
            .map(|piece| (piece.start, piece.end))
            .collect::<Vec<_>>()
    };
    assert_eq!(place(2, 0, 0, 3), [(0, 4), (7, 11), (14, 18)]);
    assert_eq!(place(2, 1, 2, 2), [(18, 21), (4, 7)]);
    assert_eq!(place(1, 0, 0, 3), [(0, 21)]);
    assert_eq!(place(9, 8, 0, 3), []);
}

#[test]
fn runs_overlap_if_a_unit_is_in_both() {
    let run = |start, length, count, stride| Run {
        start,
        length,
        count,
        stride: if count > 1 { stride } else { 0 },
    };
    let units = |given: Run| given.pieces().flatten().collect::<Vec<u64>>();
    let mut all = vec![Run::default()];
    for (start, length, count) in
        (0..9).flat_map(|s| (1..4).flat_map(move |l| (1..4).map(move |c| (s, l, c))))
    {
        all.push(run(start, length, count, 4));
    }
    for a in &all {
        for b in &all {
            let expected = units(*a).iter().any(|unit| units(*b).contains(unit));
            assert_eq!(a.overlaps(*b), expected, "{a:?} {b:?}");
        }
    }
    // With different distances, `overlaps` may say yes unless the runs are far apart.
    assert!(run(0, 1, 3, 4).overlaps(run(1, 1, 2, 6)));
    assert!(!run(0, 1, 3, 4).overlaps(run(9, 1, 2, 6)));
}
