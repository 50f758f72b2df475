//! Reports as people read them.

mod cells;
mod csv;
mod example;
mod html;
mod of_table;

use report::{Basis, View, render_csv, render_html, render_markdown, render_summary};
use results::{CellDecision, Verdict};
use schedule::Collective;
use table::Operators;
use vocabulary::{Candidate, Pattern};

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
fn cold_caches_are_told() {
    let mut view = example::view();
    view.environment.cold = Some(wire::ColdCaches {
        last_level_bytes: 480 << 20,
        is_assumed: false,
    });
    let told = |view: &View| {
        let text = render_markdown(view);
        let mut lines = text.lines().map(str::to_owned);
        lines.find(|line| line.starts_with("- caches: "))
    };
    insta::assert_snapshot!(told(&view).expect("a line"));
    view.environment.cold = None;
    assert_eq!(told(&view), None);
}

#[test]
fn calls_that_do_not_begin_together_are_told() {
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
fn of_older_stores_only_the_time_in_calls_is_known() {
    let mut view = example::view();
    let told = |view: &View| render_markdown(view).contains("measuring, 70.6 % in the calls, in 6");
    assert!(!told(&view));
    view.cost.shares = None;
    assert!(told(&view));
}

#[test]
fn settings_are_told_if_there_are_any() {
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
    assert_eq!(told(Some(&[])), "- settings: all as the library was built");
    let expected = "- settings: not as the library was built: `btl=a`, `coll=b`";
    assert_eq!(told(Some(&[("btl", "a"), ("coll", "b")])), expected);
}

#[test]
fn a_default_that_holds_is_said_to_hold() {
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
        text.contains("bcast on 1x2: the default holds at all 3 sizes"),
        "{text}"
    );
    assert!(!text.contains("loses"), "{text}");
}

#[test]
fn what_has_no_data_has_no_sizes() {
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
    let told = render_summary(&view);
    assert!(
        told.ends_with("  barrier on 1x2: the default holds\n"),
        "{told}"
    );
}

#[test]
fn verdicts_can_be_told_apart() {
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
fn a_cell_decided_for_two_operator_classes_counts_once() {
    let mut view = example::view();
    let mut again = view.comparisons[0].clone();
    again.operators = Operators::Noncommutative;
    view.comparisons.insert(1, again);
    let (before, after) = (render_summary(&example::view()), render_summary(&view));
    assert_eq!(before.lines().next(), after.lines().next());
    assert_eq!(before.lines().count() + 1, after.lines().count());
    assert!(
        after.contains("allreduce on 1x2, noncommutative operators: "),
        "{after}"
    );
}

#[test]
fn foreign_text_cannot_break_the_layout() {
    let mut view = example::view();
    view.failures[0].message = "line\n## not a heading\n| not | a row |\n`code`".to_owned();
    view.provenance.warnings.push("two\nlines.".to_owned());
    view.provenance.cpu = "CPU\n# @ 2 GHz".to_owned();
    let (before, after) = (render_markdown(&example::view()), render_markdown(&view));
    let shape = |text: &str| {
        let of = |start| text.lines().filter(|line| line.starts_with(start)).count();
        [of("#"), of("|"), of("-")]
    };
    assert_eq!(shape(&before), shape(&after));
    assert!(after.contains("> **Warning:** two lines.\n"), "{after}");
}
