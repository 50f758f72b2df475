//! The pictures of schedules.

use schedule::svg::{LIMIT, render_svg};
use schedule::timeline::{Timeline, TooMuch};
use schedule::{ALGORITHMS, Parameters, Rank, Request, find_algorithm};

use crate::cases::{in_blocks, schedule, supported};

fn draw(name: &str, request: &Request<'_>, only: Option<Rank>) -> (String, Timeline) {
    let algorithm = find_algorithm(name).unwrap();
    let schedule = schedule(algorithm, request);
    let timeline = Timeline::new(&schedule, LIMIT).unwrap();
    (render_svg(&schedule, only).unwrap(), timeline)
}

/// The number of elements that start with this text.
fn count(svg: &str, start: &str) -> usize {
    svg.matches(start).count()
}

/// The legend contains one more of each kind.
#[test]
fn every_message_is_an_arrow_and_every_combination_a_dot() {
    let request = Request {
        units: 12,
        parameters: Parameters::with_blocks(3),
        ..Request::among_ranks(6)
    };
    let (svg, timeline) = draw("allreduce/dual_root", &request, None);
    assert_eq!(timeline.steps, 4 + 1 + 3 * 2);
    assert_eq!(count(&svg, "step 11</text>"), 1);
    let messages = timeline.messages.len();
    assert_eq!(count(&svg, r#"<path class="message"#), messages + 1);
    assert_eq!(count(&svg, r#"<text class="label"#), messages);
    assert_eq!(count(&svg, "<circle"), timeline.work.len() + 1);
    assert_eq!(count(&svg, ">rank 5</text>"), 1);

    let gather_request = Request {
        units: 4,
        ..Request::among_ranks(5)
    };
    let (gather_svg, _) = draw("gather/linear_sync", &gather_request, None);
    assert_eq!(count(&gather_svg, r#"<path class="message signal"#), 4 + 1);
    assert_eq!(count(&gather_svg, "rank 0 (root)"), 1);
    let (highlighted_svg, _) = draw("gather/linear_sync", &gather_request, Some(2));
    assert_eq!(count(&highlighted_svg, " faint\" d="), 6);
}

#[test]
fn every_algorithm_is_drawn_within_the_frame() {
    for algorithm in ALGORITHMS {
        for ranks in [1, 4, 7] {
            let request = Request {
                units: 56,
                parameters: in_blocks(algorithm, 2),
                ..Request::among_ranks(ranks)
            };
            let Some(schedule) = supported(algorithm, &request) else {
                continue;
            };
            let svg = render_svg(&schedule, None).unwrap();
            let opened = count(&svg, "<") - count(&svg, "</") - count(&svg, "/>");
            assert_eq!(
                opened,
                count(&svg, "</"),
                "{algorithm}: elements are closed"
            );
            let width: u64 = attribute(&svg, "width").unwrap();
            let rights = svg.split("<line ").skip(1);
            let rights = rights.filter_map(|line| attribute(line, "x2"));
            assert!(
                rights.max().is_some_and(|right| right < width),
                "{algorithm}"
            );
        }
    }
}

fn attribute(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(&format!("{name}=\""))?;
    rest.split_once('"')?.0.parse().ok()
}

#[test]
fn pictures_too_large_to_read_are_refused() {
    let algorithm = find_algorithm("allgather/linear").unwrap();
    let schedule = schedule(algorithm, &Request::among_ranks(100));
    assert_eq!(render_svg(&schedule, None), Err(TooMuch { limit: LIMIT }));
}
