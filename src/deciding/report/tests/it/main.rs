//! Reports as text.

mod cells;
mod csv;
mod deployment;
mod example;
mod html;
mod maps;
mod of_table;
mod scales;
mod what_to_do;

use report::{Basis, View, render_csv, render_html, render_markdown, render_summary};
use results::{CellDecision, Estimate, ParameterEstimate, Status, Verdict};
use schedule::Collective;
use table::Operators;
use vocabulary::{Candidate, Node, Pattern};

/// Every row of every table is as wide as its head: it can be read without rendering.
fn check_aligned(text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.windows(2) {
        if pair.iter().all(|line| line.starts_with('|')) {
            assert_eq!(
                pair[0].chars().count(),
                pair[1].chars().count(),
                "{pair:#?}"
            );
        }
    }
    assert!(
        lines.iter().any(|line| line.starts_with('|')),
        "no table at all"
    );
    assert!(
        text.lines().all(|line| line.trim_end() == line),
        "trailing blanks"
    );
}

#[test]
fn markdown() {
    let text = render_markdown(&example::view());
    check_aligned(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn summary() {
    insta::assert_snapshot!(render_summary(&example::view()));
}

#[test]
fn nothing_measured_is_a_report_too() {
    let view = View {
        comparisons: Vec::new(),
        parameters: Vec::new(),
        failures: Vec::new(),
        pairs: Vec::new(),
        ..example::view()
    };
    let text = render_markdown(&view);
    assert!(!text.contains("own algorithms"), "{text}");
    for expected in [
        "Nothing has been compared with the default of openmpi-4.1.4 yet.",
        "No candidate failed.",
        "None were fitted.",
        "No pipelined algorithm was measured",
    ] {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
}

#[test]
fn cold_caches_are_mentioned() {
    let mut view = example::view();
    view.environment.cold = Some(wire::ColdCaches {
        last_level_bytes: 480 << 20,
        is_assumed: false,
    });
    let told = |current: &View| {
        let text = render_markdown(current);
        let mut lines = text.lines().map(str::to_owned);
        lines.find(|line| line.starts_with("- caches: "))
    };
    insta::assert_snapshot!(told(&view).expect("a line"));
    view.environment.cold = None;
    assert_eq!(told(&view), None);
}

#[test]
fn calls_that_do_not_begin_together_are_mentioned() {
    let mut view = example::view();
    let text = "pattern: times of repeated calls, without synchronisation between them";
    assert!(!render_markdown(&view).contains("times of"));
    view.provenance.pattern = Pattern::Repeated;
    assert!(render_markdown(&view).contains(&format!("- {text}")));
    assert!(render_html(&view).contains("times of repeated calls, without"));
    view.basis = Basis::TableAlone;
    assert!(render_markdown(&view).contains(&format!("- {text}")));
}

#[test]
fn from_older_stores_only_the_time_in_calls_is_known() {
    let mut view = example::view();
    let told =
        |current: &View| render_markdown(current).contains("measuring, 70.6 % in the calls, in 6");
    assert!(!told(&view));
    view.cost.shares = None;
    assert!(told(&view));
}

#[test]
fn settings_are_listed_if_there_are_any() {
    let mut view = example::view();
    let mut told = |settings: Option<&[(&str, &str)]>| {
        let texts = settings.map(|settings| settings.iter());
        view.environment.settings = texts.map(|texts| {
            texts
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect()
        });
        let text = render_markdown(&view);
        let line = text.lines().find(|line| line.starts_with("- settings: "));
        line.expect("a line").to_owned()
    };
    assert_eq!(told(None), "- settings: unknown");
    assert_eq!(told(Some(&[])), "- settings: the library's defaults");
    let expected = "- settings: changed from the library's defaults: `btl=a`, `coll=b`";
    assert_eq!(told(Some(&[("btl", "a"), ("coll", "b")])), expected);
}

#[test]
fn nodes_are_named_below_their_switches() {
    let mut view = example::view();
    let mut told = |nodes: &[(&str, &str)]| {
        let node = |(host, switches): &(&str, &str)| Node {
            host: (*host).to_owned(),
            switches: (*switches).to_owned(),
            ..Node::default()
        };
        view.environment.nodes = nodes.iter().map(node).collect();
        let text = render_markdown(&view);
        let line = text.lines().find(|line| line.starts_with("- switches: "));
        line.map(str::to_owned)
    };
    let nodes = [
        ("n1", "spine.leaf1"),
        ("n2", "spine.leaf2"),
        ("n3", "spine.leaf1"),
    ];
    let expected = "- switches: spine.leaf1: n1, n3; spine.leaf2: n2";
    assert_eq!(told(&nodes).as_deref(), Some(expected));
    assert_eq!(told(&[("n1", "")]), None);
}

/// The text in a column of the first row that begins like this.
fn cell(view: &View, row: &str, column: usize) -> String {
    let text = render_markdown(view);
    let mut rows = text.lines().filter(|line| line.starts_with(row));
    let line = rows.next().expect("a row");
    line.split('|')
        .nth(column)
        .expect("a cell")
        .trim()
        .to_owned()
}

#[test]
fn numbers_have_the_digits_that_matter() {
    for (value, unit, text) in [
        (0.1234, "1", "0.123"),
        (1.0, "1", "1.00"),
        (12.34, "1", "12.3"),
        (1234.5, "1", "1234"),
        (0.0, "1", "0"),
        (1.5e-10, "s/byte", "0.150 ns/byte"),
        (0.0, "s", "0.00 ns"),
    ] {
        let estimate = Estimate {
            value,
            low: value,
            high: value,
            coverage: 0.0,
            residual: 0.0,
        };
        let parameter = ParameterEstimate {
            name: "x".to_owned(),
            unit,
            estimate: Some(estimate),
            status: Status::Identified,
        };
        let view = View {
            parameters: vec![parameter],
            ..example::view()
        };
        assert_eq!(cell(&view, "| x ", 2), text);
    }
    for (ratio, text) in [
        (0.5, "0.50x"),
        (1.876, "1.88x"),
        (12.34, "12.3x"),
        (123.4, "123x"),
    ] {
        let mut view = example::view();
        view.comparisons.truncate(1);
        view.comparisons[0].sizes.clear();
        view.comparisons[0].rules.truncate(1);
        view.comparisons[0].rules[0].speedup = Some(ratio);
        assert_eq!(cell(&view, "|    0 |", 5), text);
    }
}

#[test]
fn the_use_of_both_directions_is_stated_if_launches_agree() {
    let known = |name: &str, [low, value, high]: [f64; 3], coverage| {
        let estimate = Estimate {
            value,
            low,
            high,
            coverage,
            residual: 0.1,
        };
        ParameterEstimate::from_estimate(name.to_owned(), "1", estimate)
    };
    for (factor, coverage, verdict) in [
        (
            [1.06, 1.1, 1.15],
            0.969,
            "1.10 times (1.06 to 1.15) as long as a message in one direction: both directions are used together, and \
             carry 1.82 times as much as one.",
        ),
        (
            [1.3, 1.6, 1.74],
            0.75,
            "and carry 1.25 times as much as one.",
        ),
        (
            [1.75, 2.0, 2.6],
            0.969,
            "nothing is gained by using both directions at once.",
        ),
        (
            [1.3, 1.6, 1.9],
            0.969,
            "launches differ too much to say whether both directions are used together.",
        ),
        (
            [1.1; 3],
            0.0,
            "1.10 times as long as a message in one direction: too few launches were measured to say",
        ),
        (
            [1.1, 1.1, 1.2],
            0.5,
            "too few launches were measured to say",
        ),
        (
            [0.3, 1.1, 1.5],
            0.969,
            "launches differ too much to say whether both directions are used together.",
        ),
    ] {
        let mut view = View {
            parameters: vec![
                known("network.alpha", [1e-6; 3], 0.969),
                known("network.beta", [3e-10; 3], 0.969),
                known("network.exchange_bandwidth", factor, coverage),
            ],
            ..example::view()
        };
        let beginning = "Between nodes, with messages of 4K bytes or more, an exchange takes ";
        for text in [render_markdown(&view), render_html(&view)] {
            let sentence = text.split(beginning).nth(1).unwrap_or_default();
            let sentence = sentence.split(['\n', '<']).next().unwrap_or_default();
            assert!(sentence.contains(verdict), "{factor:?}: {sentence}");
        }
        view.parameters[2].name = "network.shift_bandwidth".to_owned();
        let text = render_markdown(&view);
        assert!(text.contains("or more, sending to one rank while receiving from another takes"));
        // Without a fitted line it is unknown which messages are long.
        view.parameters.remove(1);
        assert!(!render_markdown(&view).contains("one way"));
    }
}

#[test]
fn the_time_of_launches_beside_measuring_is_told() {
    let mut view = example::view();
    let told = |current: &View| {
        let summary = render_summary(current);
        let lines = summary.lines().map(str::to_owned);
        lines
            .filter(|line| line.starts_with("Measuring took"))
            .collect::<Vec<_>>()
    };
    assert!(told(&view).is_empty());
    view.cost.confirming_seconds = 41.7;
    view.cost.launching_seconds = 30.2;
    view.cost.launches = 21;
    let launches = "Starting and ending 21 launches, with any unfinished measurements, took 30.2 s more, which counts \
                    against the budget too.";
    let measuring = "Measuring took 83.4 s, 50.0 % of that to confirm choices in fresh launches.";
    assert_eq!(told(&view), [format!("{measuring} {launches}")]);
    assert!(render_markdown(&view).replace('\n', " ").contains(launches));
}

#[test]
fn a_search_without_a_gain_and_nothing_saved_are_not_told() {
    let mut view = example::view();
    let told = |current: &View| {
        let text = render_markdown(current);
        let search = render_summary(current).contains("The search took");
        assert_eq!(text.contains("The search took"), search);
        (search, text.contains("saved about"))
    };
    let effort = |exhaustive_seconds| {
        Some(results::Effort {
            exhaustive_seconds,
            nodes: 1,
        })
    };
    view.cost.effort = effort(100.0);
    assert_eq!(told(&view), (true, true));
    view.cost.effort = effort(84.0);
    view.cost.races.saved_seconds = 0.0;
    assert_eq!(told(&view), (false, false));
    assert!(render_markdown(&view).contains("because another was significantly faster.\n"));
}

#[test]
fn a_candidate_that_is_not_confirmed_is_slower_or_without_a_sure_gain() {
    let told = |median, coverage, launches| {
        let mut view = example::view();
        let row = &mut view.comparisons[0].sizes[0];
        row.verdict = Verdict::NotConfirmed;
        row.chosen = Candidate::Default;
        for ranked in &mut row.ranking {
            ranked.beats_default = false;
            if let Some(speedup) = &mut ranked.speedup {
                speedup.median = median;
                speedup.interval.coverage = coverage;
                speedup.launches = launches;
            }
        }
        render_markdown(&view)
    };
    for (text, expected) in [
        (told(0.8, 0.0, 2), "default: faster in 2 launches"),
        (told(0.8, 0.969, 6), "default: faster"),
        (told(1.1, 0.0, 1), "default: gain not confirmed in 1 launch"),
        (told(1.1, 0.969, 6), "default: gain not confirmed"),
    ] {
        let mut cells = text.lines().flat_map(|line| line.split('|'));
        assert!(
            cells.any(|cell| cell.trim() == expected),
            "{expected}: {text}"
        );
    }
}

#[test]
fn a_default_that_was_not_beaten_is_reported() {
    let mut view = example::view();
    for row in view
        .comparisons
        .iter_mut()
        .flat_map(|comparison| &mut comparison.sizes)
    {
        row.verdict = Verdict::WithinNoise;
    }
    let text = render_summary(&view);
    assert!(
        text.contains("was not beaten at any of 9 measured points"),
        "{text}"
    );
    assert!(
        text.contains("bcast on 1x2: the default holds at 3 of 3 sizes\n"),
        "{text}"
    );
    // Sizes at which that is not known are not counted.
    let mut comparisons = view.comparisons.iter_mut();
    let bcast = comparisons.find(|of| of.collective == Collective::Bcast);
    let sizes = &mut bcast.expect("bcast").sizes;
    sizes[0].verdict = Verdict::Unconfirmed;
    sizes[1].verdict = Verdict::NoRival;
    let told = render_summary(&view);
    let open = "(not decided: 1, only the default measured: 1)";
    assert!(
        told.contains(&format!(
            "bcast on 1x2: the default holds at 1 of 3 sizes {open}\n"
        )) && told.contains(&format!("at any of 9 measured points {open}.")),
        "{told}"
    );
    assert!(!text.contains("loses"), "{text}");
    view.comparisons.truncate(1);
    view.comparisons[0].sizes.truncate(1);
    let one_point = render_summary(&view);
    assert!(
        one_point.contains("was not beaten at the one measured point."),
        "{one_point}"
    );
}

#[test]
fn collectives_without_data_have_no_sizes() {
    let mut view = example::view();
    view.comparisons.truncate(1);
    let barrier = &mut view.comparisons[0];
    barrier.collective = Collective::Barrier;
    barrier.operators = Operators::Any;
    let chosen = |row: &CellDecision| row.verdict == Verdict::Fastest;
    barrier.sizes.retain(chosen);
    barrier.sizes.truncate(1);
    barrier.sizes[0].cell.bytes = 0;
    let told = render_summary(&view);
    assert!(
        told.contains("  barrier on 1x2: the default loses: "),
        "{told}"
    );
    view.comparisons[0].sizes[0].verdict = Verdict::WithinNoise;
    let held = render_summary(&view);
    assert!(
        held.contains("  barrier on 1x2: the default holds\n"),
        "{held}"
    );
}

#[test]
fn verdicts_are_distinguished() {
    let shape = vocabulary::CommShape { nodes: 2, ppn: 2 };
    let result = || cells::result(Collective::Bcast, shape, 1 << 20);
    let decided = |verdict, chosen: &Candidate| CellDecision {
        verdict,
        chosen: chosen.clone(),
        ..result()
    };
    let ranking = result().ranking;
    let others: Vec<&Candidate> = ranking.iter().map(|ranked| &ranked.candidate).collect();
    let decisions = [
        decided(Verdict::Fastest, others[0]),
        decided(Verdict::NearFastest, others[1]),
        decided(Verdict::WithinNoise, &Candidate::Default),
        decided(Verdict::Immaterial, &Candidate::Default),
        decided(Verdict::DefaultFastest, &Candidate::Default),
        decided(Verdict::TypesDisagree, &Candidate::Default),
        decided(Verdict::NoRival, &Candidate::Default),
    ];
    let told = |decision: &CellDecision| {
        let view = View {
            cells: vec![decision.clone()],
            ..cells::empty()
        };
        let text = render_csv(&view).expect("written");
        let (_, verdict) = text.trim_end().rsplit_once(',').expect("columns");
        verdict.to_owned()
    };
    let texts: std::collections::BTreeSet<_> = decisions.iter().map(told).collect();
    assert_eq!(texts.len(), decisions.len(), "{texts:?}");
    for decision in &decisions {
        let kept = told(decision).starts_with("default: ");
        assert_eq!(kept, !decision.replaces_default(), "{decision:?}");
    }
}

#[test]
fn each_class_of_operators_counts_where_it_was_measured() {
    let mut view = example::view();
    let mut again = view.comparisons[0].clone();
    again.operators = Operators::Noncommutative;
    view.comparisons.insert(1, again);
    // In a table alone, the entries of two classes may come from one measurement.
    let mut alone = [example::view(), view.clone()];
    for of_table in &mut alone {
        of_table.basis = Basis::TableAlone;
    }
    let [once, both] = alone.each_ref().map(render_summary);
    assert_eq!(once.lines().next(), both.lines().next());
    let (before, after) = (render_summary(&example::view()), render_summary(&view));
    assert!(
        before.starts_with("The default of openmpi-4.1.4 loses at 3 of 9"),
        "{before}"
    );
    assert!(
        after.starts_with("The default of openmpi-4.1.4 loses at 6 of 15"),
        "{after}"
    );
    assert_eq!(before.lines().count() + 1, after.lines().count());
    assert!(
        after.contains("allreduce on 1x2, noncommutative operators: "),
        "{after}"
    );
}

#[test]
fn foreign_text_cannot_break_the_layout() {
    let mut view = example::view();
    view.failures[0].message =
        "line\n## not a heading\n| not | a row |\n`code` \x1b[0m  c".to_owned();
    view.provenance.warnings.push("two\nlines.".to_owned());
    view.provenance.cpu = "CPU\n# @ 2 GHz".to_owned();
    view.comparisons[0].rules[0].candidate = Candidate::Foreign {
        algorithm: "source:allreduce/a|b\nor not".to_owned(),
        parameters: Default::default(),
    };
    let (before, after) = (render_markdown(&example::view()), render_markdown(&view));
    let shape = |text: &str| {
        let of = |start| text.lines().filter(|line| line.starts_with(start)).count();
        [of("#"), of("|"), of("-")]
    };
    assert_eq!(shape(&before), shape(&after));
    check_aligned(&after);
    for text in [
        "> **Warning:** two lines.\n",
        ": `line ## not a heading | not | a row | 'code' [0m c`\n",
        "| source:a\\|b or not ",
    ] {
        assert!(after.contains(text), "{text}:\n{after}");
    }
}
