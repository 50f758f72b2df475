//! `doctor` and `export` say which part of a library carries out collectives. The measuring program is a fake.

use testkit::tables;

use crate::run::Place;

/// Rules for the library's own settings.
const COLLECTIVES: &str = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 2
        ppn: 2
        deployment: library
        rules:
          - {from: 0, candidate: 'native:bcast/binomial', speedup: 1.5, confidence: high, confirmed: true}
  alltoall:
    message_size: bytes of one block, from one rank to another
    shapes:
      - nodes: 2
        ppn: 2
        deployment: library
        rules:
          - {from: 0, candidate: default, confidence: high}
";

/// A place with a measuring program that prints these control variables, with values, beside those of `tuned`.
fn place(more: &str) -> Place {
    let place = Place::with_mpirun("exit 1");
    let tuned = ["bcast", "allreduce", "alltoall"];
    let tuned = tuned.map(|name| format!("\"coll_tuned_{name}_algorithm\": \"ignore\""));
    let variables = format!(
        "{{\"coll_tuned_priority\": \"30\", \"coll_basic_priority\": \"10\", {}{more}}}",
        tuned.join(", ")
    );
    place.add_driver(&format!(
        "case $1 in --control-variables) echo '{variables}' ;;\n\
         --settings) echo '{{\"coll_tuned_dynamic_rules_filename\": \"/etc/rules.conf\"}}' ;; esac"
    ));
    place.write(
        "table.yaml",
        tables::yaml("by-hand", "openmpi", "4.1.4", COLLECTIVES),
    );
    place
}

#[test]
fn doctor_names_the_component_with_the_highest_priority() {
    let place = place(", \"coll_han_priority\": \"35\"");
    let text = place.run(&["doctor"]).good().out;
    for line in [
        "  tuned has the highest priority for bcast, allreduce, alltoall\n",
        "  han has the highest priority for bcast, reduce, allreduce, gather, scatter, allgather, barrier, over several \
         nodes (OMPI_MCA_coll=^han leaves them to exported rules)\n",
        "advice: This environment makes the library read decision rules from /etc/rules.conf (variable \
         coll_tuned_dynamic_rules_filename); colltune switches them off while it measures.\n",
    ] {
        assert!(text.contains(line), "no `{line}` in:\n{text}");
    }
    // Settings that launches override cause no warning.
    assert!(!text.contains("`default` is not"), "{text}");
    let found = place.run(&["doctor", "--json"]).good().json();
    let serving = found["libraries"][0]["serving"].as_array().unwrap();
    let han = serving
        .iter()
        .find(|entry| entry["component"] == "han")
        .unwrap();
    assert_eq!(
        (&han["over_nodes"], &han["remedy"]),
        (&true.into(), &"OMPI_MCA_coll=^han".into())
    );
}

#[test]
fn export_names_components_that_do_not_read_its_file() {
    let export = |place: &Place| {
        let ran = place.run(&["export", "table.yaml", "--format", "openmpi"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        (ran.err, ran.out.replace("\n# ", " "))
    };
    let note = "With the library's present settings, han carries out bcast over several nodes and does not read this file; set \
                OMPI_MCA_coll=^han to change that.";
    let (notes, file) = export(&place(", \"coll_han_priority\": \"35\""));
    assert!(notes.contains(note), "{notes}");
    assert!(file.contains(note), "{file}");
    let (notes, file) = export(&place(", \"coll_han_priority\": \"0\""));
    assert!(
        !notes.contains("does not read") && !file.contains("does not read"),
        "{notes}{file}"
    );
}
