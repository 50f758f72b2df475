//! `audit`: what MPI libraries really do with files and variables.

use serde_json::Value;

use crate::run::Place;

const RULES: &str = "1 # collective\n7 # bcast\n1 # size\n1 2\n0 6 0 0\n8 9 0 010\n";

const GOOD: &str = "1 # collective\n7 # bcast\n1 # size\n1 2\n0 6 0 0\n1024 1 0 0\n";

#[test]
fn findings_are_at_their_lines() {
    let place = Place::new();
    place.write("rules.conf", RULES);
    let args = ["audit", "--library", "openmpi-4.1.4", "rules.conf"];
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let first = "rules.conf: rules of the component tuned, as openmpi-4.1.4 treats it\n";
    assert!(ran.out.starts_with(first), "{}", ran.out);
    let fault =
        "rules.conf:6: fault: `010` is read as 8 [misread]\n  help: write plain decimal numbers";
    assert!(ran.out.contains(fault), "{}", ran.out);
    let quiet = place.run(&[&args[..], &["--quiet"]].concat());
    assert!(
        quiet.out.starts_with("rules.conf:6: fault"),
        "{}",
        quiet.out
    );
    let json = place.run(&[&args[..], &["--json"]].concat());
    assert_eq!(json.code, Some(1));
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["sources"][0]["findings"][0]["line"], 6);
}

#[test]
fn exit_codes_tell_faults_from_what_cannot_be_examined() {
    let place = Place::new();
    place.write("rules.conf", RULES);
    place.write("good.conf", GOOD);
    place.write("text.txt", "nothing of this kind\n");
    let run = |words: &str| place.run_line(&format!("audit {words}"));
    assert_eq!(run("--library openmpi-4.1.4 good.conf").code, Some(0));
    assert_eq!(run("--library openmpi-4.1.4 rules.conf").code, Some(1));
    run("gone.conf").bad(2, &["cannot read gone.conf"]);
    run("text.txt").bad(2, &["text.txt looks like no file", "--format"]);
    run("--library openmpi-4.1.4 --format odd good.conf").bad(2, &["no format `odd`"]);
    run("good.conf").bad(3, &["openmpi is not installed", "--library openmpi-4.1.4"]);
    place.run(&["audit"]).bad(3, &["no MPI library was found"]);
}

#[test]
fn files_are_examined_together_and_for_the_installed_release() {
    let place = Place::with_mpirun("exit 1");
    place.write("rules.conf", GOOD);
    let rules = place.path("rules.conf");
    let line = format!("coll_tuned_dynamic_rules_filename = {}\n", rules.display());
    place.write("params.conf", &line);
    let ran = place.run(&["audit", "params.conf"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out
            .contains("params.conf:1: fault: coll_tuned_dynamic_rules_filename has no effect")
    );
    assert!(ran.out.contains("DIR/rules.conf: rules of the component tuned, as openmpi-4.1.4 treats it, named by params.conf"), "{}", ran.out);
    // The switch may stand in another file.
    place.write("job.sh", "export OMPI_MCA_coll_tuned_use_dynamic_rules=1\n");
    assert_eq!(place.run(&["audit", "params.conf", "job.sh"]).code, Some(0));
}

#[test]
fn without_files_the_environment_is_examined() {
    let place = Place::with_mpirun("exit 1");
    assert_eq!(place.run(&["audit"]).code, Some(0));
    let mut command = place.command(&["audit"]);
    command.env("OMPI_MCA_coll_tuned_use_dynamic_rule", "1");
    command.env("coll_tuned_bcast_algorithm", "6");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = place.anonymous(&output.stdout);
    for part in [
        "environment: fault: openmpi 4.1.4 has no setting `OMPI_MCA_coll_tuned_use_dynamic_rule`",
        "did you mean OMPI_MCA_coll_tuned_use_dynamic_rules?",
        "coll_tuned_bcast_algorithm has no effect: Open MPI reads OMPI_MCA_coll_tuned_bcast_algorithm",
    ] {
        let part = part.replace("openmpi 4.1.4", "Open MPI 4.1.4");
        assert!(text.contains(&part), "{part}: {text}");
    }
}

#[test]
fn sarif_names_the_file_the_line_and_the_rule() {
    let place = Place::new();
    place.write("a b.conf", RULES);
    let ran = place.run(&[
        "audit",
        "--library",
        "openmpi-4.1.4",
        "--sarif",
        "found.sarif",
        "a b.conf",
    ]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let log: Value = serde_json::from_str(&place.read("found.sarif")).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let result = &run["results"][0];
    let place_of_result = &result["locations"][0]["physicalLocation"];
    assert_eq!(place_of_result["artifactLocation"]["uri"], "a%20b.conf");
    assert_eq!(place_of_result["region"]["startLine"], 6);
    assert_eq!(
        (&result["level"], &result["ruleId"]),
        (&"error".into(), &"misread".into())
    );
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "misread");
}

#[test]
fn the_chapter_names_every_format_and_every_kind() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/audit.md");
    let chapter = std::fs::read_to_string(path).unwrap();
    let kinds = libraries::FindingKind::ALL.iter().map(|kind| kind.id());
    for name in tuner::known_formats().into_iter().chain(kinds) {
        assert!(chapter.contains(&format!("`{name}`")), "{name}");
    }
}
