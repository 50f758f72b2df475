//! The report as a page.

use std::collections::BTreeSet;

use report::{View, render_html};
use results::{CellDecision, Ranked};
use schedule::Collective;
use testkit::html::attribute_values;
use vocabulary::{Candidate, CommShape, Parameters};

use crate::{cells, deployment};

/// Checks that hold for every page.
pub(crate) fn check(view: &View) -> String {
    let page = render_html(view);
    testkit::html::check_structure(&page);
    let ids = attribute_values(&page, "id");
    let distinct: BTreeSet<&str> = ids.iter().copied().collect();
    for target in attribute_values(&page, "href") {
        let id = target
            .strip_prefix('#')
            .expect("nothing is linked but this page");
        assert!(distinct.contains(id), "{target} leads nowhere");
    }
    for loading in [
        " src=", "url(http", "@import", "<script", "http://", "https://",
    ] {
        assert!(!page.contains(loading), "{loading} may load something");
    }
    let pictures = page.matches("<svg").count();
    assert_eq!(
        pictures,
        page.matches("<figure").count() + 1,
        "each has a caption"
    );
    assert_eq!(page.matches("<figcaption").count() + 1, pictures);
    assert!(!page.contains("NaN") && !page.contains("inf ") && !page.contains("\"inf"));
    page
}

#[test]
fn a_page_has_all_figures() {
    let page = check(&cells::view());
    for id in [
        "warnings",
        "summary",
        "deploying",
        "bcast",
        "bcast-map-2",
        "bcast-speedup-2",
        "bcast-time-1x2",
        "bcast-strong",
        "bcast-weak",
        "allgather-weak",
        "allreduce-blocks-1x2-16777216",
        "guidelines",
        "pairs",
        "machine",
        "failures",
        "measuring",
    ] {
        assert!(page.contains(&format!(" id=\"{id}\"")), "{id} is missing");
    }
    for text in ["few_steps", "native:of_library"] {
        assert!(page.contains(text), "{text}");
    }
    // Predictions of the model for unmeasured shapes are in parentheses.
    let keys = page.split("<text class=\"key\"").skip(1);
    let in_parentheses =
        keys.filter(|rest| rest.split_once('>').is_some_and(|k| k.1.starts_with('(')));
    assert_eq!(in_parentheses.count(), 1);
}

#[test]
fn the_summary_counts_the_gains_of_the_table() {
    let view = cells::view();
    let page = check(&view);
    let measured = || {
        view.cells
            .iter()
            .filter(|r| r.cell.collective == Collective::Allreduce)
    };
    let replaced = measured()
        .filter(|r| r.chosen != Candidate::Default)
        .count();
    let told = format!(
        "<td>allreduce</td><td class=\"number\">{replaced} of {} cells</td>",
        measured().count()
    );
    assert!(replaced > 0 && replaced < measured().count());
    assert!(page.contains(&told), "{told}");
}

#[test]
fn guidelines_are_judged_before_and_after() {
    let mut view = cells::view();
    // The table's choice does not remove the violation in one cell.
    let last = view.cells.iter_mut().rfind(|r| r.is_measured());
    last.expect("measured").chosen = Candidate::Default;
    let page = check(&view);
    let measured = || view.cells.iter().filter(|r| r.is_measured());
    let is_mockup = |timed: &&Ranked| matches!(timed.candidate, Candidate::Mockup { .. });
    let low = |result: &CellDecision| {
        let mut mockups = result.ranking.iter().filter(is_mockup);
        mockups
            .find_map(|mockup| mockup.speedup)
            .expect("compared")
            .interval
            .low
    };
    let violated = measured().filter(|result| low(result) > 1.0).count();
    assert!((1..measured().count()).contains(&violated));
    let told = format!(
        "Violated by the default in <strong>{violated}</strong> of {} cells, by the table's choices in \
         <strong>1</strong>.",
        measured().count()
    );
    assert!(page.contains(&told), "{told}");
    assert!(page.contains(" id=\"bcast-guidelines\""));
    let empty_page = check(&cells::empty());
    assert!(empty_page.contains("No mock-ups were measured"));
}

#[test]
fn nothing_measured_is_a_page_too() {
    let page = check(&cells::empty());
    assert!(page.contains("Nothing has been compared with the default"));
    let one_shape = View {
        cells: cells::results(
            &[Collective::Barrier, Collective::Bcast],
            [2].into_iter(),
            [0].into_iter(),
        ),
        ..cells::empty()
    };
    let one_shape_page = check(&one_shape);
    assert!(
        one_shape_page.contains("The collective has no data")
            && one_shape_page.contains("There is no time against ranks")
    );
}

/// The default's times in seconds by ranks, without its latency, from the table behind a figure.
fn default_times(page: &str, id: &str) -> Vec<(u32, f64)> {
    let (_, figure) = page
        .split_once(&format!("<figure id=\"{id}\""))
        .expect("a figure");
    let (figure, _) = figure.split_once("</figure>").expect("an end");
    let rows = figure
        .split("<td>default</td><td class=\"number\">")
        .skip(1);
    rows.map(|row| {
        let (ranks, rest) = row
            .split_once("</td><td class=\"number\">")
            .expect("a cell");
        let (time, _) = rest.split_once("</td>").expect("a time");
        let (number, unit) = time.split_once(' ').expect("a unit");
        let scale = match unit {
            "us" => 1e-6,
            "ms" => 1e-3,
            _ => panic!("{time}"),
        };
        let number: f64 = number.parse().expect("a number");
        (ranks.parse().expect("ranks"), number * scale - 1.5e-6)
    })
    .collect()
}

/// The time of a default that depends only on its total bytes is constant for the same total, and proportional to the
/// ranks for the same bytes per rank, whether a size is that of a part or of the whole.
#[test]
fn strong_and_weak_scaling_fix_total_and_bytes_per_rank() {
    let page = check(&cells::view());
    for collective in ["bcast", "allgather"] {
        let strong = default_times(&page, &format!("{collective}-strong"));
        let weak = default_times(&page, &format!("{collective}-weak"));
        assert_eq!(strong.len(), 4, "{strong:?}");
        assert!(weak.len() > 1, "{weak:?}");
        for (_, time) in &strong {
            assert!((time / strong[0].1 - 1.0).abs() < 0.02, "{strong:?}");
        }
        for (ranks, time) in &weak {
            let expected = weak[0].1 * f64::from(*ranks) / f64::from(weak[0].0);
            assert!(
                (time / expected - 1.0).abs() < 0.02,
                "{collective}: {weak:?}"
            );
        }
    }
    assert!(
        page.contains("hollow: interpolated"),
        "nothing is interpolated"
    );
}

#[test]
fn on_one_node_ranks_per_node_are_the_rows() {
    let shape = |ppn| CommShape { nodes: 1, ppn };
    let results = [2, 4, 8].map(|ppn| cells::result(Collective::Bcast, shape(ppn), 1 << 20));
    let view = View {
        cells: results.to_vec(),
        ..cells::empty()
    };
    let page = check(&view);
    assert!(page.contains("The table's choices for bcast on 1 node"));
    for id in [
        "bcast-map-nodes-1",
        "bcast-speedup-nodes-1",
        "bcast-strong",
        "bcast-weak",
    ] {
        let expected = id != "bcast-weak";
        let is_there = page.contains(&format!(" id=\"{id}\""));
        assert_eq!(
            is_there, expected,
            "{id}: one size has the same bytes in all alone"
        );
    }
}

#[test]
fn texts_from_outside_are_escaped() {
    let mut view = cells::view();
    let evil = "</title><script>alert(1)</script>\"' onload=\"x".to_owned();
    view.name.clone_from(&evil);
    view.provenance.hosts = vec![evil.clone()];
    view.provenance.cpu.clone_from(&evil);
    view.provenance.warnings.push(evil.clone());
    view.environment.launcher.clone_from(&evil);
    view.environment
        .variables
        .insert(evil.clone(), evil.clone());
    view.failures[0].message.clone_from(&evil);
    for result in &mut view.cells {
        if let Candidate::Mockup { algorithm } = &mut result.ranking[0].candidate {
            algorithm.push_str(&evil);
        }
        result.chosen = Candidate::Foreign {
            algorithm: format!("{evil}:bcast/{evil}"),
            parameters: Default::default(),
        };
        result.ranking[1].candidate = result.chosen.clone();
    }
    let page = check(&view);
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;alert(1)"));
    assert!(!page.contains("\" onload="), "an attribute is broken open");
}

/// Cells of a collective, in which each cell chooses the next candidate of a list.
pub(crate) fn choosing(candidates: &[Candidate]) -> View {
    let sizes = (0..20).map(|power| 1 << power);
    let mut cells = cells::results(&[Collective::Bcast], 1..=8, sizes);
    for (result, candidate) in cells.iter_mut().zip(candidates.iter().cycle()) {
        result.chosen = candidate.clone();
    }
    View {
        cells,
        ..cells::empty()
    }
}

#[test]
fn algorithms_differ_in_colour_if_possible_and_always_in_letter() {
    let parameters = Parameters::default;
    for (count, is_striped) in [(3, false), (60, true)] {
        let candidates = (0..count).map(|number| Candidate::Foreign {
            algorithm: format!("source:bcast/{number}"),
            parameters: parameters(),
        });
        let page = check(&choosing(&candidates.collect::<Vec<_>>()));
        let keys = page.split("<text class=\"key\"").skip(1);
        let keys = keys.filter_map(|rest| Some(rest.split_once('>')?.1.split_once('<')?.0));
        let keys: BTreeSet<&str> = keys.collect();
        assert_eq!(keys.len(), count, "{keys:?}");
        assert_eq!(keys.contains("Z") && keys.contains("AA"), is_striped);
        assert_eq!(page.contains("url(#stripes)"), is_striped);
    }
}

#[test]
fn algorithms_are_named_with_their_library() {
    let (algorithm, parameters) = (str::to_owned, Parameters::default);
    let page = check(&choosing(&[
        Candidate::Default,
        Candidate::Ours {
            algorithm: algorithm("bcast/a"),
            parameters: parameters(),
        },
        Candidate::Native {
            algorithm: algorithm("native:bcast/b"),
            parameters: parameters(),
        },
        Candidate::Mockup {
            algorithm: algorithm("mockup:bcast/c+d"),
        },
        Candidate::Foreign {
            algorithm: algorithm("elsewhere:bcast/e"),
            parameters: parameters(),
        },
    ]));
    for name in ["a", "native:b", "mockup:c+d", "elsewhere:e"] {
        assert!(page.contains(&format!("\">{name}</text>")), "{name}");
    }
    assert!(page.contains("\">default: nothing "));
}

/// The colour and the mark of each curve of each figure of curves, by its legend.
fn curves(page: &str) -> Vec<Vec<(String, String)>> {
    let figures = page.split("<figure").skip(1);
    let of_figure = |figure: &str| {
        let marks = figure.split("<path class=\"mark\" stroke=\"").skip(1);
        let mark = |mark: &str| {
            let (colour, rest) = mark.split_once('"').expect("a colour");
            let (_, path) = rest.split_once(" d=\"M").expect("a path");
            let (path, _) = path.split_once('"').expect("an end");
            // After its start the path is relative, so it is the same at every position.
            let shape = path.trim_start_matches(|c: char| !c.is_ascii_lowercase());
            (colour.to_owned(), shape.to_owned())
        };
        marks.map(mark).collect()
    };
    figures.map(of_figure).collect()
}

/// Any two algorithms of a collective differ in a picture that has both, however often each is chosen elsewhere.
#[test]
fn algorithms_of_one_picture_differ_in_colour_or_mark() {
    let all: Vec<Candidate> = schedule::algorithms_of(Collective::Allreduce)
        .map(|algorithm| Candidate::Ours {
            algorithm: format!("allreduce/{}", algorithm.id),
            parameters: Parameters::default(),
        })
        .collect();
    assert!(all.len() > 7, "more than colours");
    let cell = |ppn, bytes, candidate: &Candidate| {
        let shape = CommShape { nodes: 1, ppn };
        let mut result = cells::result(Collective::Allreduce, shape, bytes);
        result.chosen = candidate.clone();
        result.ranking[0].candidate = candidate.clone();
        result
    };
    // The first is chosen most often on the one shape, and the last least often.
    let places = (0..all.len()).flat_map(|place| vec![place; 2 * (all.len() - place)]);
    let crowd: Vec<CellDecision> = places
        .zip(1..)
        .map(|(place, count)| cell(2, 8 * count, &all[place]))
        .collect();
    for (first, one) in all.iter().enumerate() {
        for other in &all[first + 1..] {
            let pair = [cell(4, 1 << 20, one), cell(4, 1 << 21, other)];
            let view = View {
                cells: crowd.iter().cloned().chain(pair).collect(),
                ..cells::empty()
            };
            for figure in curves(&render_html(&view)) {
                let distinct: BTreeSet<_> = figure.iter().collect();
                assert_eq!(
                    distinct.len(),
                    figure.len(),
                    "{one} and {other}: {figure:?}"
                );
            }
        }
    }
}

#[test]
fn choices_that_are_not_deployed_are_hatched() {
    let page = check(&deployment::view("high, confirmed: true"));
    assert!(
        !page.contains("url(#hatched)") && !page.contains("not deployed: "),
        "{page}"
    );
    assert!(page.contains("<td>yes</td>"));
    for (rule, reason) in [
        ("low, confirmed: true", "low confidence"),
        ("high", "not confirmed"),
    ] {
        let hatched_page = check(&deployment::view(rule));
        // The hatched field, and the one in the legend.
        assert_eq!(hatched_page.matches("url(#hatched)").count(), 2);
        for text in [
            "not deployed: low confidence or not confirmed</text>".to_owned(),
            format!("<td>chosen; not deployed: {reason}</td>"),
            format!("<td>no: {reason}</td>"),
            "confirm the choices: none of them is deployed".to_owned(),
        ] {
            assert!(hatched_page.contains(&text), "{text}");
        }
    }
}

#[test]
fn code_in_markdown_is_code_in_the_page() {
    let mut view = cells::view();
    view.provenance.warnings = vec!["a `b<` c".to_owned(), "a ` b".to_owned()];
    let page = check(&view);
    assert!(page.contains(">a <code>b&lt;</code> c<"));
    assert!(page.contains(">a ` b<"));
}

/// With very many cells the page shows those with most at stake, and says how many it leaves out.
#[test]
fn the_page_of_a_hundred_thousand_cells_is_small() {
    let collectives = [
        Collective::Bcast,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::Gather,
        Collective::Allgather,
    ];
    let of_nodes = |nodes: u32| View {
        cells: cells::results(
            &collectives,
            1..=nodes,
            (0..80_u32).map(|step| (8.0 * 2_f64.powf(f64::from(step) / 4.0)) as u64),
        ),
        ..cells::view()
    };
    let [small, large] = [of_nodes(40), of_nodes(250)];
    assert_eq!(large.cells.len(), 100_000);
    let [small, large] = [&small, &large].map(check);
    assert!(large.len() < 2_500_000, "{} bytes", large.len());
    let growth = large.len() as f64 / small.len() as f64;
    assert!(growth < 1.2, "grows with the store: {growth:.2} times");
    for text in [
        "of 250 shapes are shown, those with most at stake",
        "16 of 250 numbers of nodes",
        // The map's ends.
        "text-anchor=\"end\">1</text>",
        "text-anchor=\"end\">250</text>",
    ] {
        assert!(large.contains(text), "{text}");
    }
}
