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
        "{{\"coll_tuned_priority\": \"30\", \"coll_basic_priority\": \"10\", \
         \"coll_tuned_use_dynamic_rules\": \"true\", \
         \"coll_tuned_dynamic_rules_filename\": \"rules.conf\", {}{more}}}",
        tuned.join(", ")
    );
    place.add_driver(&format!(
        "case $1 in --control-variables) echo '{variables}' ;;\n\
         --settings) echo '{{\"coll_tuned_dynamic_rules_filename\": \"rules.conf\", \
         \"coll_tuned_use_dynamic_rules\": \"true\"}}' ;; esac"
    ));
    place.write("rules.conf", "1 7 1 2 1 0 6 0 0\n");
    place.write(
        "table.yaml",
        tables::table_yaml("by-hand", "openmpi", "4.1.4", COLLECTIVES),
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
        "advice: This environment makes the library read decision rules from rules.conf (variable \
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

/// Settings that users believe in and that the library passes over, in the environment and in a settings file.
#[test]
fn doctor_says_why_settings_have_no_effect() {
    let place = Place::with_mpirun("exit 1");
    let file = place.path("params.conf").display().to_string();
    place.write("params.conf", "coll_tuned_use_dynamic_rule = 1\n");
    place.add_driver(&format!(
        "case $1 in --control-variables) echo '{{\"coll_tuned_use_dynamic_rules\": \"false\", \
         \"coll_tuned_bcast_algorithm\": \"chain\", \"coll_tuned_dynamic_rules_filename\": \"\", \
         \"mca_base_param_files\": \"{file}\"}}' ;;\n\
         --settings) echo '{{\"coll_tuned_bcast_algorithm\": \"chain\"}}' ;; esac"
    ));
    let run = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("OMPI_MCA_coll_tuned_bcast_algorithm", "2");
        command.env("OMPI_MCA_dynamic_rules_filename", "/etc/rules.conf");
        let output = command.output().expect("it starts");
        String::from_utf8(output.stdout).expect("text")
    };
    let text = run(&["doctor"]);
    for line in [
        "environment: OMPI_MCA_dynamic_rules_filename=/etc/rules.conf, does not affect the choice of algorithms: \
         openmpi-4.1.4 has no setting of this name",
        "advice: OMPI_MCA_dynamic_rules_filename=/etc/rules.conf has no effect: openmpi-4.1.4 has no setting of this name. \
         Did you mean OMPI_MCA_coll_tuned_dynamic_rules_filename?",
        "  coll_tuned_bcast_algorithm=chain, set in environment, does not affect the choice of algorithms: openmpi-4.1.4 \
         reads it only with coll_tuned_use_dynamic_rules=1",
        "advice: OMPI_MCA_coll_tuned_bcast_algorithm=2 has no effect: openmpi-4.1.4 reads it only with \
         coll_tuned_use_dynamic_rules=1. Set OMPI_MCA_coll_tuned_use_dynamic_rules=1, or remove it.",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "no `{line}` in:\n{text}"
        );
    }
    let misspelt = format!(
        "advice: {file}: coll_tuned_use_dynamic_rule=1 has no effect: openmpi-4.1.4 has no setting of this name. Did you \
         mean OMPI_MCA_coll_tuned_use_dynamic_rules?"
    );
    assert!(text.lines().any(|found| found == misspelt), "{text}");
    assert!(!text.contains("`default` is not"), "{text}");
    let found: serde_json::Value = serde_json::from_str(&run(&["doctor", "--json"])).expect("JSON");
    assert_eq!(found["deciding"], serde_json::json!([]));
    let reason = &found["reasons"]["OMPI_MCA_coll_tuned_bcast_algorithm"];
    assert!(
        reason.as_str().is_some_and(|why| why.contains("only with")),
        "{found}"
    );
}

/// The file is in any encoding, as the library does not mind.
#[test]
fn doctor_knows_the_file_that_overrides_the_environment() {
    let place = Place::with_mpirun("exit 1");
    place.add_driver(
        "case $1 in --control-variables) echo '{\"coll_tuned_use_dynamic_rules\": \"true\", \
         \"coll_tuned_bcast_algorithm\": \"binomial\"}' ;;\n\
         --settings) echo '{\"coll_tuned_use_dynamic_rules\": \"true\", \"coll_tuned_bcast_algorithm\": \"binomial\"}' ;; esac",
    );
    let lines = [
        b"# r\xe8gles du site\n".as_slice(),
        b"coll_tuned_bcast_algorithm = 6\ncoll_tuned_use_dynamic_rules = 1\n",
    ];
    place.write("etc/openmpi-mca-params-override.conf", lines.concat());
    let run = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("OMPI_MCA_coll_tuned_bcast_algorithm", "2");
        let output = command.output().expect("it starts");
        place.anonymous(&output.stdout)
    };
    let text = run(&["doctor"]);
    let stronger = "DIR/etc/openmpi-mca-params-override.conf takes precedence over the environment";
    for line in [
        format!(
            "advice: OMPI_MCA_coll_tuned_bcast_algorithm=2 has no effect: {stronger}. Change it there"
        ),
        format!(
            "OMPI_MCA_coll_tuned_bcast_algorithm=2, does not affect the choice of algorithms: {stronger}"
        ),
        "coll_tuned_bcast_algorithm=binomial, set in DIR/etc/openmpi-mca-params-override.conf"
            .to_owned(),
    ] {
        assert!(text.contains(&line), "no `{line}` in:\n{text}");
    }
}

/// Launches cannot set such rules aside.
#[test]
fn doctor_says_which_rules_stay_in_force_while_colltune_measures() {
    let place = place("");
    let switched_off = "colltune switches them off while it measures.\n";
    let text = place.run(&["doctor"]).good().out;
    assert!(text.contains(switched_off), "{text}");
    place.write(
        "etc/openmpi-mca-params-override.conf",
        "coll_tuned_dynamic_rules_filename = rules.conf\n",
    );
    let overridden = place.run(&["doctor"]).good().out;
    let stays = "nothing overrides DIR/etc/openmpi-mca-params-override.conf, so they stay in force while colltune measures";
    assert!(overridden.contains(stays), "{overridden}");
    assert!(!overridden.contains(switched_off), "{overridden}");
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
    let (notes_without, file_without) = export(&place(", \"coll_han_priority\": \"0\""));
    assert!(
        !notes_without.contains("does not read") && !file_without.contains("does not read"),
        "{notes_without}{file_without}"
    );
}
