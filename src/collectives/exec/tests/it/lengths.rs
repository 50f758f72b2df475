//! The lengths of a call's buffers are those of the schedules' layouts.

use exec::Call;
use schedule::{ALGORITHMS, Buffer, Distribution, Request, Schedule};
use vocabulary::{Datatype, Operator};

#[test]
fn buffers_are_as_long_as_the_layout_says() {
    for algorithm in ALGORITHMS {
        let collective = algorithm.collective;
        for (ranks, root) in [(1, 0), (2, 1), (4, 0), (6, 5)] {
            for in_place in [false, true] {
                let distributions = if collective.is_irregular() {
                    &Distribution::ALL[..]
                } else {
                    &[Distribution::Uniform]
                };
                let sizes = [0, 1, 7, 24];
                let all = distributions
                    .iter()
                    .flat_map(|distribution| sizes.map(|elements| (elements, *distribution)));
                for (elements, distribution) in all {
                    let call = Call {
                        collective,
                        bytes: elements * 8,
                        datatype: if collective.is_irregular() {
                            Datatype::Byte
                        } else {
                            Datatype::Float64
                        },
                        operator: collective.is_reduction().then_some(Operator::Sum),
                        root: if collective.is_rooted() { root } else { 0 },
                        in_place,
                        distribution,
                    };
                    check(algorithm, &call, ranks);
                }
            }
        }
    }
}

fn check(algorithm: &'static schedule::Algorithm, call: &Call, ranks: u32) {
    let request = Request {
        root: call.root,
        in_place: call.in_place,
        units: call.bytes / call.unit_bytes(),
        distribution: call.distribution,
        ..Request::among_ranks(ranks)
    };
    let schedule = Schedule::new(algorithm, &request).expect("supported");
    for rank in 0..ranks {
        let layout = schedule.layout(rank);
        let bytes = |buffer| layout.capacity(buffer) * call.unit_bytes();
        assert_eq!(
            [
                call.input_bytes(rank, ranks),
                call.output_bytes(rank, ranks)
            ],
            [bytes(Buffer::Input), bytes(Buffer::Output)],
            "{algorithm}, rank {rank} of {ranks}: {call:?}"
        );
    }
}
