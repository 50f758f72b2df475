//! Parameter files of Open MPI about components.

use export::openmpi::{NodeLayout, read_parameters};
use export::{Exported, Options};
use libraries::{ExaminedRelease, LibraryName};
use schedule::Collective;
use table::Policy;

use crate::sample::{self, export, refuse};

const FORMAT: &str = "openmpi-parameters";

/// A table in which each collective has one component on a shape, for all sizes.
fn table(version: &str, choices: &[(&str, &str, &str)]) -> table::Table {
    let mut text = String::new();
    let mut written = Vec::new();
    for (collective, ..) in choices {
        if written.contains(collective) {
            continue;
        }
        written.push(*collective);
        let size = match *collective {
            "barrier" => "always 0 bytes",
            "gather" | "scatter" | "allgather" => "bytes of one rank's contribution",
            _ => "bytes of one rank's vector",
        };
        text += &format!("\n  {collective}:\n    message_size: {size}\n    shapes:\n");
        let operators = if ["reduce", "allreduce"].contains(collective) {
            " operators: commutative,"
        } else {
            ""
        };
        for (_, shape, candidate) in choices.iter().filter(|(of, ..)| of == collective) {
            let (nodes, ppn) = shape.split_once('x').expect("a shape");
            text += &format!(
                "      - {{nodes: {nodes}, ppn: {ppn},{operators} deployment: library, rules: [\n          \
                 {{from: 0, candidate: {candidate}, confidence: high}}]}}\n"
            );
        }
    }
    sample::table("openmpi", version, &text)
}

fn component(collective: &str, name: &str) -> String {
    format!("'native:{collective}/component_{name}'")
}

fn commutative() -> Options {
    Options {
        assume_commutative: true,
        ..Options::default()
    }
}

fn export_choices(version: &str, choices: &[(&str, &str, &str)]) -> Exported {
    export(FORMAT, &table(version, choices), &commutative()).expect("exported")
}

/// The lines of a file that are not comments.
fn lines(exported: &Exported) -> Vec<&str> {
    let lines = exported.text.lines();
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

/// The shared-memory component for all that it carries out on one node.
fn all_by_sm() -> Vec<(&'static str, &'static str, String)> {
    let collectives = ["barrier", "bcast", "reduce", "allreduce"];
    collectives
        .map(|of| (of, "1x4", component(of, "sm")))
        .to_vec()
}

fn borrowed<'a>(choices: &'a [(&'a str, &'a str, String)]) -> Vec<(&'a str, &'a str, &'a str)> {
    choices
        .iter()
        .map(|(collective, shape, candidate)| (*collective, *shape, candidate.as_str()))
        .collect()
}

#[test]
fn han_carries_out_what_the_table_says_and_hands_back_the_rest() {
    let text = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 2, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: 'native:bcast/component_han_up_adapt', segment_bytes: 8K, confidence: high}]}
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 2, ppn: 2, operators: commutative, deployment: library, rules: [
          {from: 0, candidate: default, confidence: high},
          {from: 16K, candidate: 'native:allreduce/component_han', confidence: high}]}
  gather:
    message_size: bytes of one rank's contribution
    shapes:
      - {nodes: 2, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: 'native:gather/component_basic', confidence: high}]}
";
    let table = sample::table("openmpi", "4.1.4", text);
    let exported = export(FORMAT, &table, &commutative()).expect("exported");
    insta::assert_snapshot!(sample::without_version(&exported.text));
    let file = read_parameters(&exported.text).expect("readable");
    let check = |layout, collective, component: &str| {
        let found = file.component_at("4.1.4", layout, collective);
        assert_eq!(found.as_deref(), Some(component), "{layout:?} {collective}");
    };
    check(NodeLayout::Divided, Collective::Bcast, "han");
    for collective in [
        Collective::Allreduce,
        Collective::Gather,
        Collective::Barrier,
    ] {
        check(NodeLayout::Divided, collective, "tuned");
    }
    check(NodeLayout::OneRankPerNode, Collective::Bcast, "tuned");
    check(NodeLayout::OneNode, Collective::Bcast, "tuned");
    let variables: Vec<_> = exported.variables.iter().collect();
    let priority = (
        "OMPI_MCA_coll_han_priority".to_owned(),
        Some("35".to_owned()),
    );
    assert!(variables.contains(&&priority), "{variables:?}");
    let names = export::find_format(FORMAT)
        .expect("a format")
        .variable_names();
    assert!(variables.iter().all(|(name, _)| names.contains(name)));
}

#[test]
fn from_5_on_han_is_there_and_only_single_collectives_are_handed_back() {
    let exported = export_choices(
        "5.0.11",
        &[
            ("bcast", "2x2", "'native:bcast/component_tuned'"),
            ("gather", "2x2", "'native:gather/component_han'"),
            ("reduce", "2x2", "'native:reduce/component_han_low_sm'"),
        ],
    );
    assert_eq!(
        lines(&exported),
        [
            "coll_han_bcast_dynamic_global_communicator_module = 3",
            "coll_han_reduce_low_module = 1",
        ]
    );
    assert!(exported.decides);
}

/// One priority holds for all collectives of a component.
#[test]
fn a_component_is_raised_only_if_it_is_chosen_for_all_that_it_carries_out() {
    let all = all_by_sm();
    let whole = export_choices("4.1.4", &borrowed(&all));
    assert_eq!(lines(&whole), ["coll_sm_priority = 35"]);
    for left_out in 0..all.len() {
        let mut fewer = all.clone();
        fewer.remove(left_out);
        let exported = export_choices("4.1.4", &borrowed(&fewer));
        assert_eq!(lines(&exported), [""; 0], "without {}", all[left_out].0);
        assert!(!exported.decides);
        let notes = exported.notes.join("\n");
        assert!(
            notes.contains("since a component has one priority"),
            "{notes}"
        );
    }
    let mut other = all.clone();
    other.push(("bcast", "1x2", "default".to_owned()));
    assert!(!export_choices("4.1.4", &borrowed(&other)).decides);
    // Reductions are not written by default, and so nothing is.
    let plain = export(
        FORMAT,
        &table("4.1.4", &borrowed(&all)),
        &Options::default(),
    );
    let plain = plain.expect("exported");
    assert!(!plain.decides);
    assert!(
        plain.text.contains("`--assume-commutative`"),
        "{}",
        plain.text
    );
}

/// Of two components that have a collective, the one with the higher priority carries it out.
#[test]
fn components_that_share_collectives_get_different_priorities() {
    let mut all = all_by_sm();
    for choice in &mut all {
        if ["bcast", "reduce"].contains(&choice.0) {
            choice.2 = component(choice.0, "adapt_chain");
        }
    }
    for collective in ["bcast", "reduce"] {
        for shape in ["2x1", "2x2"] {
            all.push((collective, shape, component(collective, "adapt_chain")));
        }
    }
    for version in ["4.1.4", "5.0.11"] {
        let exported = export_choices(version, &borrowed(&all));
        let written = lines(&exported);
        for line in [
            "coll_adapt_bcast_algorithm = 5",
            "coll_adapt_reduce_algorithm = 5",
        ] {
            assert!(written.contains(&line), "{written:?}");
        }
        let file = read_parameters(&exported.text).expect("readable");
        for (collective, shape, candidate) in &all {
            let layout = match *shape {
                "1x4" => NodeLayout::OneNode,
                "2x2" => NodeLayout::Divided,
                _ => NodeLayout::OneRankPerNode,
            };
            let collective = Collective::ALL
                .into_iter()
                .find(|of| of.name() == *collective)
                .expect("a collective");
            let found = file
                .component_at(version, layout, collective)
                .expect("a component");
            assert!(
                candidate.contains(&format!("component_{found}")),
                "{candidate}"
            );
        }
        assert!(exported.text.contains("nonblocking broadcasts"));
    }
    // With another tree on one node there is no one setting.
    all[1].2 = component("bcast", "adapt");
    assert!(!export_choices("4.1.4", &borrowed(&all)).decides);
}

#[test]
fn choices_that_depend_on_sizes_are_left_out_unless_they_are_the_nearest_ones() {
    let text = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 2
        ppn: 2
        deployment: library
        rules:
          - {from: 0, candidate: default, confidence: high}
          - {from: 64, candidate: 'native:bcast/component_han', confidence: high}
";
    let table = sample::table("openmpi", "4.1.4", text);
    let exported = export(FORMAT, &table, &commutative()).expect("exported");
    assert!(!exported.decides);
    assert!(exported.text.contains("openmpi-han"), "{}", exported.text);
    let extending = Options {
        policy: Policy {
            extrapolate: true,
            ..Policy::default()
        },
        ..commutative()
    };
    assert!(
        export(FORMAT, &table, &extending)
            .expect("exported")
            .decides
    );
}

/// The reader of `audit`, which treats a file as the library does.
#[test]
fn audit_finds_nothing_wrong_with_a_written_file() {
    let formats = LibraryName::OpenMpi.steering_formats().iter();
    let mut known = formats.filter(|format| format.name == FORMAT);
    let known = known.next().expect("a format");
    let mut all = all_by_sm();
    all.push(("gather", "2x2", component("gather", "han")));
    let exported = export_choices("4.1.4", &borrowed(&all));
    assert_eq!(exported.variables.len(), 9, "{:?}", exported.variables);
    assert!((known.recognises)(&exported.text));
    let release = ExaminedRelease {
        version: "4.1.4",
        variables: None,
        assume_commutative: true,
    };
    let found = (known.examine)(&release, &exported.text);
    assert!(found.all.is_empty(), "{:?}", found.all);
}

#[test]
fn other_releases_and_libraries_are_refused() {
    let choices = [("gather", "2x2", "'native:gather/component_han'")];
    let error = export(FORMAT, &table("6.0.0", &choices), &commutative()).unwrap_err();
    assert!(
        error.to_string().contains("Open MPI 4.1 and 5.0"),
        "{error}"
    );
    let bcast = sample::OPEN_MPI.split("  reduce:").next().expect("bcast");
    let other = sample::table("mpich", "4.0.2", bcast);
    export(FORMAT, &other, &commutative()).unwrap_err();
}

#[test]
fn the_reader_refuses_what_the_library_takes_in_silence() {
    let plain = "# a comment\n\ncoll_han_priority = 35\ncoll_han_bcast_segsize = 8192\n";
    read_parameters(plain).expect("readable");
    let check = |from: &str, to: &str, complaint: &str| {
        assert!(plain.contains(from), "{from}");
        refuse(FORMAT, &plain.replacen(from, to, 1), complaint);
    };
    check(
        "= 35",
        "35",
        "line 3: `coll_han_priority 35` is not `NAME = VALUE`",
    );
    check("35", "035", "line 3: `035` is not a plain decimal");
    check("8192", "8K", "line 4: `8K` is not a plain decimal");
    check(
        "35",
        "35 # high",
        "line 3: `35 # high` is not a plain decimal",
    );
    check(
        "coll_han_bcast_segsize",
        "coll_han_priority",
        "line 4: coll_han_priority is given twice",
    );
    check(
        "coll_han_priority",
        "coll_han_prority",
        "line 3: `coll_han_prority` is not a setting of components that this file may have",
    );
    check(
        "coll_han_bcast_segsize",
        "coll_han_bcast_dynamic_global_communicator_module",
        "line 4: `8192` is not the number of tuned, 3",
    );
}
