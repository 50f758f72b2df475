//! Copies of buffers take turns, and exceed the caches.

use std::collections::BTreeSet;

use exec::Call;
use schedule::Collective;
use vocabulary::Datatype;
use wire::ColdCaches;

use super::{Buffers, Rotation, needed_buffer_copies};

const COLD: Option<ColdCaches> = Some(ColdCaches {
    last_level_bytes: 1 << 20,
    is_assumed: false,
});

fn call(collective: Collective, bytes: u64) -> Call {
    Call {
        collective,
        bytes,
        datatype: Datatype::Byte,
        operator: None,
        root: 0,
        in_place: false,
        distribution: schedule::Distribution::Uniform,
    }
}

#[test]
fn every_copy_is_used_before_any_is_used_again() {
    for copies in [1, 2, 3, 4, 5, 12, 100, 1009, 4096] {
        let mut rotation = Rotation::new(copies);
        let mut round = || {
            (0..copies)
                .map(|_| rotation.next_copy())
                .collect::<Vec<_>>()
        };
        let (first, second) = (round(), round());
        assert_eq!(first, second);
        assert!(first.iter().all(|copy| *copy < copies));
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), copies);
        if copies > 4 {
            let is_apart = |pair: &[usize]| pair[0].abs_diff(pair[1]) > 1;
            assert!(first.windows(2).all(is_apart), "{first:?}");
        }
    }
}

#[test]
fn copies_exceed_twice_the_caches_but_not_by_much() {
    let check = |collective, bytes, rank, nodes: &[Vec<u32>], expected| {
        let call = call(collective, bytes);
        assert_eq!(
            needed_buffer_copies(&call, rank, nodes, COLD),
            expected,
            "{call:?}"
        );
        assert_eq!(needed_buffer_copies(&call, rank, nodes, None), 1);
    };
    let (one, two) = ([vec![0, 1]], [vec![0], vec![1, 2]]);
    let twice = 2 << 20;
    // Calls of 8 bytes need copies a line of 64 bytes apart.
    check(Collective::Bcast, 8, 1, &one, twice / 128 + 1);
    check(Collective::Bcast, 1 << 20, 0, &one, 2);
    check(Collective::Bcast, 4 << 20, 0, &one, 1);
    // Each rank has an input of 1 KiB, and the root an output of 3 KiB.
    check(Collective::Gather, 1 << 10, 0, &two, twice / (4 << 10) + 1);
    check(Collective::Gather, 1 << 10, 2, &two, twice / (2 << 10) + 1);
    check(Collective::Barrier, 0, 0, &one, 1);
}

#[test]
fn copies_have_equal_contents_and_do_not_overlap() {
    let call = call(Collective::Bcast, 100);
    let mut buffers = Buffers::new(&call, 0, 2, 7);
    let expected = buffers.expected.clone().expect("a vector");
    let expected = expected.as_slice();
    let mut places = BTreeSet::new();
    for turn in 0..14 {
        let (_, output) = buffers.next();
        assert_eq!(output.len(), 100);
        let is_first_round = turn < 7;
        let begin = output.as_ptr() as usize;
        assert_eq!(places.insert(begin), is_first_round);
        assert_eq!(output == expected, is_first_round);
        output.fill(0xff);
    }
    let places: Vec<usize> = places.into_iter().collect();
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] == 128));
    let mut warm = Buffers::new(&call, 0, 2, 1);
    let first = warm.next().1.as_ptr();
    assert_eq!(first, warm.next().1.as_ptr());
}
