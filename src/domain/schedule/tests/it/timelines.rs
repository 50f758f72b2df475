//! The steps in which messages are under way, compared with the verifier's counts.

use schedule::timeline::Timeline;
use schedule::verify::verify_schedule;
use schedule::{ALGORITHMS, Parameters, Request, find_algorithm};

use crate::cases::{in_blocks, schedule, supported};

/// The verifier's engine counts the same steps and messages.
#[test]
fn timelines_agree_with_the_verifier() {
    let mut compared = 0;
    for algorithm in ALGORITHMS {
        for ranks in [1, 2, 5, 8, 9, 14] {
            for (units, root) in [(2, 0), (50, 0), (50, ranks - 1)] {
                let request = Request {
                    units,
                    root,
                    parameters: in_blocks(algorithm, 3),
                    ..Request::among_ranks(ranks)
                };
                let Some(schedule) = supported(algorithm, &request) else {
                    continue;
                };
                let tally = verify_schedule(&schedule).unwrap().tally;
                let timeline = Timeline::new(&schedule, 1 << 20).unwrap();
                let counted = (timeline.steps, timeline.messages.len() as u64);
                let name = algorithm.name();
                assert_eq!(counted, (tally.steps, tally.messages), "{name} p={ranks}");
                compared += 1;
            }
        }
    }
    assert!(compared > 800, "{compared} schedules compared");
}

#[test]
fn schedules_that_are_too_long_are_refused_early() {
    let algorithm = find_algorithm("bcast/chain").unwrap();
    let check = |ranks, blocks, fits| {
        let request = Request {
            units: 1 << 40,
            parameters: Parameters::with_blocks(blocks),
            ..Request::among_ranks(ranks)
        };
        let schedule = schedule(algorithm, &request);
        assert_eq!(Timeline::new(&schedule, 100).is_ok(), fits, "{ranks}");
    };
    check(4, 10, true);
    check(4, 24, false);
    check(4, u32::MAX, false);
    check(i32::MAX as u32, 1, false);
}
