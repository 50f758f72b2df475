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

/// The environment with files of the user and of the site, of which the site's one names rules.
#[test]
fn of_several_places_the_most_important_counts_and_the_others_are_not_followed() {
    let place = Place::with_mpirun("exit 1");
    place.write("rules.conf", RULES);
    let rules = place.path("rules.conf");
    let naming = |value: &str| format!("coll_tuned_dynamic_rules_filename = {value}\n");
    let switch = "coll_tuned_use_dynamic_rules = 1\n";
    place.write(
        "site.conf",
        &(naming(&rules.display().to_string()) + switch),
    );
    place.write("user.conf", naming(""));
    let lists = |files: &[&str], environment: &[(&str, &str)]| {
        let files: Vec<String> = files
            .iter()
            .map(|file| place.path(file).display().to_string())
            .collect();
        let mut command = place.command(&["audit"]);
        command.env("OMPI_MCA_mca_base_param_files", files.join(","));
        command.envs(environment.iter().copied());
        let output = command.output().unwrap();
        (output.status.code(), place.anonymous(&output.stdout))
    };
    let (of_site_code, of_site) = lists(&["site.conf"], &[]);
    assert_eq!(of_site_code, Some(1), "{of_site}");
    assert!(of_site.contains("DIR/rules.conf:6: fault"), "{of_site}");
    // The user's file comes first, and names no file.
    let (of_both_code, of_both) = lists(&["user.conf", "site.conf"], &[]);
    assert_eq!(of_both_code, Some(0), "{of_both}");
    let overridden = "DIR/site.conf:1: note: coll_tuned_dynamic_rules_filename is overridden: DIR/user.conf sets it";
    assert!(of_both.contains(overridden), "{of_both}");
    assert!(!of_both.contains("rules.conf: rules"), "{of_both}");
    let (_, of_both_swapped) = lists(&["site.conf", "user.conf"], &[]);
    assert!(
        of_both_swapped.contains("DIR/rules.conf:6: fault"),
        "{of_both_swapped}"
    );
    assert!(of_both_swapped.contains(
        "DIR/user.conf:1: note: coll_tuned_dynamic_rules_filename is overridden: DIR/site.conf"
    ));
    // The environment comes before all files.
    let off = [("OMPI_MCA_coll_tuned_use_dynamic_rules", "0")];
    let (switched_off_code, switched_off) = lists(&["site.conf"], &off);
    assert_eq!(switched_off_code, Some(1), "{switched_off}");
    assert!(
        switched_off
            .contains("DIR/site.conf:1: fault: coll_tuned_dynamic_rules_filename has no effect"),
        "{switched_off}"
    );
    assert!(switched_off.contains(
        "DIR/site.conf:2: note: coll_tuned_use_dynamic_rules is overridden: the environment sets it"
    ));
    // A file that is not there is passed over, one that cannot be read is not.
    assert_eq!(lists(&["gone.conf"], &[]).0, Some(0));
    std::fs::create_dir(place.path("folder.conf")).unwrap();
    let (with_folder_code, with_folder) = lists(&["folder.conf"], &[]);
    assert_eq!(with_folder_code, Some(1), "{with_folder}");
    assert!(
        with_folder.contains("DIR/folder.conf: fault: the file cannot be read"),
        "{with_folder}"
    );
}

#[test]
fn overriding_files_come_before_the_environment() {
    let place = Place::with_mpirun("exit 1");
    place.write(
        "openmpi-mca-params-override.conf",
        "coll_tuned_bcast_algorithm = 6\n",
    );
    place.write("job.sh", "export OMPI_MCA_coll_tuned_use_dynamic_rules=1\nexport OMPI_MCA_coll_tuned_bcast_algorithm=5\n");
    let ran = place.run(&["audit", "job.sh", "openmpi-mca-params-override.conf"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let note = "job.sh:2: note: OMPI_MCA_coll_tuned_bcast_algorithm is overridden: openmpi-mca-params-override.conf sets it";
    assert!(ran.out.contains(note), "{}", ran.out);
}

#[test]
fn text_need_not_be_utf_8() {
    let place = Place::new();
    let rules = [b"# R\xe8gles\n".as_slice(), RULES.as_bytes()].concat();
    place.write("rules.conf", rules);
    let ran = place.run(&["audit", "--library", "openmpi-4.1.4", "rules.conf"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains("rules.conf:7: fault: `010` is read as 8"),
        "{}",
        ran.out
    );
    // A file of settings leads to the same file.
    let named = format!(
        "coll_tuned_dynamic_rules_filename = {}\ncoll_tuned_use_dynamic_rules = 1\n",
        place.path("rules.conf").display()
    );
    let params = [b"# R\xe8gles\n".as_slice(), named.as_bytes()].concat();
    place.write("params.conf", params);
    let followed = place.run(&["audit", "--library", "openmpi-4.1.4", "params.conf"]);
    assert!(
        followed
            .out
            .contains("DIR/rules.conf:7: fault: `010` is read as 8"),
        "{}",
        followed.out
    );
    // Other names of a file are that file.
    let both = place.run(&[
        "audit",
        "--library",
        "openmpi-4.1.4",
        "params.conf",
        "./rules.conf",
        "rules.conf",
    ]);
    assert_eq!(
        both.out.matches("`010` is read as 8").count(),
        1,
        "{}",
        both.out
    );
    assert!(both.out.contains("\n./rules.conf:7: fault"), "{}", both.out);
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
    // Services know files by their places below the repository's root, wherever that lies.
    let sarif_uri = |file: &str| {
        let sarif = "found.sarif";
        place.run(&[
            "audit",
            "--library",
            "openmpi-4.1.4",
            "--sarif",
            sarif,
            file,
        ]);
        let answer: Value = serde_json::from_str(&place.read(sarif)).unwrap();
        let location = &answer["runs"][0]["results"][0]["locations"][0];
        location["physicalLocation"]["artifactLocation"]["uri"].clone()
    };
    let absolute = place.path("a b.conf").display().to_string();
    for file in [&*absolute, "./a b.conf", "sub/../a b.conf"] {
        std::fs::create_dir_all(place.path("sub")).unwrap();
        assert_eq!(sarif_uri(file), "a%20b.conf", "{file}");
    }
    let elsewhere = Place::new();
    elsewhere.write("b.conf", RULES);
    let outside = elsewhere.path("b.conf").canonicalize().unwrap();
    assert_eq!(
        sarif_uri(&outside.display().to_string()),
        format!("file://{}", outside.display())
    );
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
