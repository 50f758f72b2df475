//! The fields and the legends of decision maps.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use report::{View, render_html, render_maps};
use results::{CellDecision, Verdict};
use schedule::Collective;
use table::{Confidence, Operators, Rule, Table};
use vocabulary::{Candidate, CommShape, Parameters, Through};

use crate::html::{check, choosing};
use crate::{cells, example};

/// The parts of a page or picture that begin with `start` and end with `end`.
fn between<'p>(page: &'p str, start: &str, end: &str) -> Vec<&'p str> {
    let parts = page.split(start).skip(1);
    parts
        .filter_map(|part| Some(part.split_once(end)?.0))
        .collect()
}

/// The letters of fields by the texts in the legend.
fn legend(page: &str) -> BTreeMap<&str, &str> {
    // A sample has its letter, and the name follows it.
    let samples = between(page, "<text class=\"key\"", "</text></g><text class=\"n");
    let letters = samples.iter().map(|sample| {
        let (_, letter) = sample.rsplit_once('>').expect("a letter");
        letter
    });
    let names = between(page, "</text></g><text class=\"n", "</text>");
    let names = names
        .iter()
        .map(|name| name.split_once('>').expect("a name").1);
    names.zip(letters).collect()
}

/// `ring` through the library and through shared memory.
fn rings() -> [Candidate; 2] {
    [Through::Mpi, Through::Shared].map(|through| Candidate::Ours {
        algorithm: "bcast/ring".to_owned(),
        parameters: Parameters {
            through,
            ..Parameters::default()
        },
    })
}

#[test]
fn legends_tell_transports_apart() {
    let mut view = choosing(&rings());
    for result in &mut view.cells {
        let [plain, shared] = rings();
        result.ranking[0].candidate = plain;
        result.ranking[1].candidate = shared;
    }
    let page = check(&view);
    let legend = legend(&page);
    let [plain, shared] = ["ring", "ring[through=shared]"];
    assert!(legend.contains_key(plain), "{legend:?}");
    assert_ne!(legend[plain], legend[shared], "{legend:?}");
    let curves = between(&page, "<text class=\"name\" x=\"", "</text>");
    for name in [plain, shared] {
        let is_it = |text: &&&str| text.ends_with(&format!(">{name}"));
        let found = curves.iter().filter(is_it).count();
        assert!(found > 1, "{name} is in the legends of maps and of curves");
    }
    let svg = render_maps(&view, Collective::Bcast).expect("cells");
    assert!(svg.contains(">ring[through=shared]</text>"), "{svg}");
}

#[test]
fn long_names_keep_their_ends() {
    let algorithm = format!("bcast/{}", "pipelined_".repeat(20));
    let parameters = Parameters {
        through: Through::Shared,
        ..Parameters::default()
    };
    let page = check(&choosing(&[Candidate::Ours {
        algorithm,
        parameters,
    }]));
    assert!(page.contains("…") && page.contains("pipelined_[through=shared]</text>"));
}

/// A cell in which the default stays for this reason, beside a candidate with a gain of 1.4.
fn kept(bytes: u64, verdict: Verdict) -> CellDecision {
    let shape = CommShape { nodes: 1, ppn: 2 };
    let mut result = cells::result(Collective::Bcast, shape, bytes);
    result.chosen = Candidate::Default;
    result.verdict = verdict;
    for ranked in &mut result.ranking {
        if let Some(speedup) = &mut ranked.speedup {
            speedup.median = 1.4;
        }
    }
    result
}

#[test]
fn fields_tell_why_the_default_stays() {
    let unbeaten = "default: nothing measured is shown to be";
    let undecided = "default: another may be faster, by the factor";
    let alone = "default: not compared with anything";
    for (verdict, key, text) in [
        (Verdict::DefaultFastest, "–", unbeaten),
        (Verdict::WithinNoise, "–", unbeaten),
        (Verdict::Immaterial, "–", unbeaten),
        (Verdict::NotConfirmed, "–", unbeaten),
        (Verdict::PatternsDisagree, "–", unbeaten),
        (Verdict::Refuted, "–", unbeaten),
        (Verdict::Unconfirmed, "?", undecided),
        (Verdict::NoRival, "○", alone),
        (Verdict::DefaultNotMeasured, "○", alone),
    ] {
        let page = check(&View {
            cells: vec![kept(64, verdict)],
            ..cells::empty()
        });
        let map = between(&page, "<svg class=\"map\"", "</svg>").concat();
        let keys = map.matches(&format!(">{key}</text>")).count();
        assert_eq!(
            keys, 2,
            "{verdict:?}: in the field and in the legend: {map}"
        );
        for other in [unbeaten, undecided, alone] {
            assert_eq!(map.contains(other), other == text, "{verdict:?}: {map}");
        }
        // The gain that may be there is shown where it was not confirmed in time, and only there.
        assert_eq!(map.contains(">1.40x</text>"), key == "?", "{verdict:?}");
        assert_eq!(map.contains("url(#dotted)"), key == "?", "{verdict:?}");
        assert_eq!(page.contains("not confirmed in time</th>"), key == "?");
    }
}

/// A table alone knows no reasons, but whether it is sure of the default.
#[test]
fn a_table_alone_tells_defaults_of_low_confidence() {
    for (confidence, key, text) in [
        (Confidence::Medium, "–", "\">default</text>"),
        (
            Confidence::Low,
            "?",
            "default: the rule has low confidence</text>",
        ),
    ] {
        let mut result = kept(64, Verdict::OfTable);
        result.confidence = confidence;
        result.ranking.retain(|ranked| ranked.speedup.is_none());
        let page = check(&View {
            cells: vec![result],
            basis: report::Basis::TableAlone,
            ..cells::empty()
        });
        assert!(page.contains(text), "{page}");
        assert!(page.contains(&format!(">{key}</text>")));
        // One size of a rule's range may be the reason, so sizes are not counted.
        assert!(!page.contains("not confirmed in time"));
    }
}

/// Sizes that were measured on one shape alone have the rules of the others there, without a speed-up.
#[test]
fn sizes_of_other_rows_have_the_tables_rules() {
    let shape = |nodes| CommShape { nodes, ppn: 2 };
    let [ring, _] = rings();
    let mut comparison = example::view().comparisons[1].clone();
    comparison.shape = shape(4);
    comparison.operators = Operators::Any;
    comparison.rules = vec![
        Rule::new(0, Candidate::Default, None, Confidence::High),
        Rule::new(1024, ring, Some(1.3), Confidence::High),
    ];
    let cells = [(2, 64), (2, 1 << 20), (4, 512)];
    let view = View {
        cells: cells
            .map(|(nodes, bytes)| cells::result(Collective::Bcast, shape(nodes), bytes))
            .to_vec(),
        comparisons: vec![comparison],
        ..cells::empty()
    };
    let page = check(&view);
    let map = between(&page, "<svg class=\"map\"", "</svg>").concat();
    let ruled = between(&map, "<g class=\"ruled\">", "</g></g><text class=\"key\"");
    let names: Vec<&str> = ruled
        .iter()
        .filter_map(|field| field.strip_prefix("<title>")?.split_once(':'))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["default", "ring"]);
    for text in [
        "pale: this size was measured in other rows",
        // No rules are known on two nodes.
        "empty: not measured",
        ">ring</text>",
    ] {
        assert!(map.contains(text), "{text}: {map}");
    }
}

/// `scripts/picture` draws it anew.
#[test]
fn the_picture_of_the_readme_shows_the_table_beside_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let table = Table::load(&root.join("tables/simulated-map.yaml")).expect("a table");
    let drawn = render_maps(&View::from_table(&table), Collective::Allreduce).expect("cells");
    let picture = fs::read_to_string(root.join("docs/decision-map.svg")).expect("a picture");
    assert!(
        drawn == picture,
        "draw docs/decision-map.svg anew: scripts/picture"
    );
    let shapes = &table.collectives[&Collective::Allreduce];
    let mut chosen: Vec<&str> = shapes
        .iter()
        .flat_map(|entry| &entry.rules)
        .map(|rule| rule.candidate.algorithm())
        .collect();
    chosen.sort_unstable();
    chosen.dedup();
    assert!(shapes.len() > 3 && chosen.len() > 3, "{chosen:?}");
    assert!(picture.contains("Simulated speed-ups"));
    let readme = fs::read_to_string(root.join("README.md")).expect("a file");
    assert!(readme.contains("(docs/decision-map.svg)") && readme.contains("simulated"));
}

/// A file has colours for all programs, and nothing of a page.
#[test]
fn maps_are_pictures_of_their_own() {
    let view = cells::view();
    assert_eq!(render_maps(&view, Collective::Gather), None);
    let svg = render_maps(&view, Collective::Bcast).expect("cells");
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(!svg.contains("var(") && !svg.contains("@media"), "{svg}");
    assert!(svg.contains("Speed-ups over the default of openmpi-4.1.4"));
    let page = render_html(&view);
    for pattern in ["stripes", "hatched", "dotted"] {
        let id = format!(" id=\"{pattern}\"");
        assert!(svg.contains(&id) && page.contains(&id), "{pattern}");
    }
}
