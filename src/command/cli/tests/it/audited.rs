//! `audit`: what MPI libraries really do with files and variables.

use serde_json::Value;

use crate::mpi;
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

/// Open MPI looks for the site's files in the folders that these variables name, not beside its launcher.
#[test]
fn the_files_of_the_site_are_where_variables_say() {
    let place = Place::with_mpirun("exit 1");
    std::fs::create_dir_all(place.path("moved/etc")).unwrap();
    place.write(
        "moved/etc/openmpi-mca-params.conf",
        "coll_tuned_use_dynamic_rule = 1\n",
    );
    place.write(
        "moved/etc/openmpi-mca-params-override.conf",
        "coll_tuned_bcast_algorithm = 6\n",
    );
    for (variable, folder) in [("OPAL_SYSCONFDIR", "moved/etc"), ("OPAL_PREFIX", "moved")] {
        let mut command = place.command(&["audit"]);
        command.env(variable, place.path(folder));
        let output = command.output().unwrap();
        let text = place.anonymous(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{variable}: {text}");
        for file in [
            "openmpi-mca-params.conf",
            "openmpi-mca-params-override.conf",
        ] {
            let fault = format!("DIR/moved/etc/{file}:1: fault: ");
            assert!(text.contains(&fault), "{variable}: {text}");
        }
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

#[test]
fn what_cannot_be_measured_is_said_before_anything_is_launched() {
    let place = Place::with_mpirun("exit 1");
    place.write("rules.conf", GOOD);
    place.write("params.conf", "coll_tuned_use_dynamic_rules = 1\n");
    let run = |words: &str| place.run_line(&format!("audit {words}"));
    run("--measure").bad(2, &["--measure"]);
    run("rules.conf --shapes 1x2").bad(2, &["--measure"]);
    run("rules.conf --measure --overwrite").bad(2, &["--repair"]);
    let two = run("rules.conf params.conf --measure");
    two.bad(2, &["`--measure` takes one file"]);
    let settings = run("params.conf --measure");
    settings.bad(2, &["params.conf cannot be measured", "openmpi, "]);
    let absent = run("rules.conf --measure --library openmpi-9.0.0");
    absent.bad(3, &["openmpi-9.0.0 is not installed here"]);
    let of_nodes = run("rules.conf --measure --shapes 2x2");
    of_nodes.bad(2, &["ranks are started on 2x2", "--campaign FILE"]);
    let of_no_rule = run("rules.conf --measure --shapes 1x1");
    of_no_rule.bad(2, &["no rule decides about any of the shapes"]);
    let replaced = run("rules.conf --measure --shapes 1x2 --repair ./rules.conf");
    replaced.bad(2, &["`--repair`", "the same file as `FILE`"]);
    assert_eq!(place.read("rules.conf"), GOOD);
}

#[test]
fn a_file_that_leaves_all_to_the_library_is_measured_without_launches() {
    let place = Place::with_mpirun("exit 1");
    let kept = GOOD.replace("6 0 0", "0 0 0").replace("1024 1", "1024 0");
    place.write("kept.conf", &kept);
    let args = "audit kept.conf --measure --shapes 1x2 --repair out/again.conf";
    let ran = place.run_line(args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.out.contains("out/again.conf: 0 lines handed back"),
        "{}",
        ran.out
    );
    assert_eq!(place.read("out/again.conf"), kept);
    let json = place.run_line(&format!("{args} --json"));
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["measured"]["lines"], Value::Array(Vec::new()));
    assert_eq!(json["measured"]["repaired"]["faults"], 0);
    let replaced =
        place.run_line("audit kept.conf --measure --shapes 1x2 --repair kept.conf --overwrite");
    assert_eq!(replaced.code, Some(0), "{replaced:?}");
    assert_eq!(place.read("kept.conf"), kept);
    // A file that the library ignores is a fault, and nothing to measure.
    place.write("bad.conf", "1\n7 1 4 1\n64 6 0 0\n");
    let ignored = place.run_line("audit bad.conf --measure");
    assert_eq!(ignored.code, Some(1), "{ignored:?}");
    assert!(
        ignored
            .err
            .contains("nothing is measured, since openmpi-4.1.4 ignores bad.conf")
    );
}

#[test]
fn findings_are_told_although_launches_fail() {
    let place = Place::with_mpirun("exit 1");
    // The reduction's algorithm is wrong for operators that do not commute.
    place.write("rules.conf", "2\n7 1 2 1\n0 6 0 0\n11 1 2 1\n0 5 0 0\n");
    let ran = place.run_line("audit rules.conf --measure --shapes 1x2 --sarif found.sarif");
    assert!(![Some(0), Some(1)].contains(&ran.code), "{ran:?}");
    assert!(ran.err.contains("error: "), "{}", ran.err);
    assert!(ran.out.contains("rules.conf:5: fault: "), "{}", ran.out);
    let found: Value = serde_json::from_str(&place.read("found.sarif")).unwrap();
    let results = found["runs"][0]["results"].as_array().unwrap();
    assert!(!results.is_empty(), "{found}");
}

/// Checks what is measured, not how fast it is: only what launches found slower may be handed back.
#[test]
fn lines_are_measured_and_what_loses_is_handed_back_under_openmpi() {
    let campaign = "collectives: bcast\nshapes: [1x2]\nsizes: [64, 1M]\nrepetitions: {minimum: 10, maximum: 50, \
                    slice: 5ms}\nwatchdog: 5s\n";
    let Some(place) = mpi::place_with("openmpi", campaign) else {
        return;
    };
    // The last line of the broadcast is a pipeline of very short segments. No table has the one of the reduction, which is
    // right for operators that commute only.
    let rules =
        "# of 2014\n2\n7 1 2 3\n0  6 0 0\n1000 9  0 0  # ring\n65536\t3 0 256\n11 1 2 1\n0 5 0 0\n";
    place.write("rules.conf", rules);
    let args = [
        "audit",
        "rules.conf",
        "--assume-commutative",
        "--measure",
        "--campaign",
        "campaign.yaml",
        "--shapes",
        "1x2",
        "--budget",
        "20m",
        "--repair",
        "repaired.conf",
        "--json",
    ];
    let ran = mpi::run(&place, &args);
    assert!([Some(0), Some(1)].contains(&ran.code), "{ran:?}");
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let lines = found["measured"]["lines"].as_array().unwrap();
    let points = |line: &Value| -> Vec<(u64, String)> {
        let points = line["points"].as_array().unwrap();
        points
            .iter()
            .map(|point| {
                let chosen = point["chosen"].as_str().unwrap().to_owned();
                assert!(point["launches"].as_u64().unwrap() >= 6, "{found}");
                (point["bytes"].as_u64().unwrap(), chosen)
            })
            .collect()
    };
    let measured: Vec<_> = lines
        .iter()
        .map(|line| (line["line"].as_u64().unwrap(), points(line)))
        .collect();
    let pipeline = "native:bcast/pipeline[segment_bytes=256]".to_owned();
    let expected = [
        (4, vec![(64, "native:bcast/binomial".to_owned())]),
        (
            5,
            vec![(1000, "native:bcast/scatter_allgather_ring".to_owned())],
        ),
        (6, vec![(65_536, pipeline.clone()), (1 << 20, pipeline)]),
        // The campaign has no reductions.
        (8, Vec::new()),
    ];
    assert_eq!(measured, expected);
    let left_out = &found["measured"]["left_out"];
    assert_eq!(left_out[0]["line"], 8, "{found}");
    let why = left_out[0]["why"].as_str().unwrap();
    assert!(why.contains("do not commute"), "{why}");
    assert_eq!(left_out.as_array().unwrap().len(), 1);
    assert_eq!(lines[3]["verdict"], "not_measured", "{found}");
    for line in &lines[..3] {
        let speedup = line["speedup"].as_f64().unwrap();
        let interval = &line["interval"];
        let bounds = ["low", "high"].map(|end| interval[end].as_f64().unwrap());
        assert!(bounds[0] <= speedup && speedup <= bounds[1], "{line}");
    }
    // Findings, the repaired file and the exit code say the same as the verdicts.
    let with_verdict = |verdict: &str| -> Vec<u64> {
        let all = lines.iter().filter(|line| line["verdict"] == verdict);
        all.map(|line| line["line"].as_u64().unwrap()).collect()
    };
    let (loses, mixed) = (with_verdict("loses"), with_verdict("mixed"));
    let findings = found["sources"][0]["findings"].as_array().unwrap();
    let slower = findings
        .iter()
        .filter(|finding| finding["kind"] == "slower");
    let slower: Vec<u64> = slower
        .map(|finding| finding["line"].as_u64().unwrap())
        .collect();
    let mut wrong = [loses.clone(), mixed.clone()].concat();
    wrong.sort_unstable();
    assert_eq!(slower, wrong, "{found}");
    let written = [
        (4, "0  6 0 0", "0  0 0 0"),
        (5, "1000 9  0", "1000 0  0"),
        (6, "65536\t3", "65536\t0"),
    ];
    let repaired = written
        .iter()
        .filter(|(line, ..)| loses.contains(line))
        .fold(rules.to_owned(), |text, (_, before, after)| {
            text.replace(before, after)
        });
    assert_eq!(place.read("repaired.conf"), repaired);
    assert_eq!(ran.code == Some(0), mixed.is_empty(), "{found}");
    let again = mpi::run(&place, &["audit", "repaired.conf", "--assume-commutative"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    mpi::assert_no_process_left(&place);
}

/// Algorithms that settings choose would be taken for the library's own choice, and rules in a file that overrides
/// variables would hide every line.
#[test]
fn lines_are_not_compared_with_what_settings_choose_under_openmpi() {
    let campaign = "collectives: bcast\nshapes: [1x2]\nsizes: [64]\nrepetitions: {minimum: 10, maximum: 50, \
                    slice: 5ms}\nwatchdog: 5s\n";
    let Some(place) = mpi::place_with("openmpi", campaign) else {
        return;
    };
    // The reduction's algorithm is wrong for operators that do not commute.
    place.write("rules.conf", "2\n7 1 2 1\n0 6 0 0\n11 1 2 1\n0 5 0 0\n");
    let overriding = |text: &str| {
        std::fs::create_dir_all(place.path("etc")).unwrap();
        place.write("etc/openmpi-mca-params-override.conf", text);
    };
    let args = "audit rules.conf --measure --campaign campaign.yaml --shapes 1x2 --budget 20m";
    let args: Vec<&str> = args.split(' ').collect();
    let refused = |variables: &[(&str, &str)], parts: &[&str]| {
        let mut command = mpi::command(&place, &args);
        command.envs(variables.iter().copied());
        command.env("OPAL_SYSCONFDIR", place.path("etc"));
        let ran = mpi::wait(&place, command.spawn().unwrap());
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.out.contains("rules.conf:5: fault: "), "{}", ran.out);
        for part in parts {
            assert!(ran.err.contains(part), "{part}: {}", ran.err);
        }
    };
    let switch = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
    let preset = ("OMPI_MCA_coll_tuned_bcast_algorithm", "5");
    overriding("");
    refused(
        &[switch, preset],
        &["in force: OMPI_MCA_coll_tuned_bcast_algorithm=5", "unset"],
    );
    // Without the switch it has no effect, and forcing would bring it into force.
    refused(
        &[preset],
        &[
            "cannot be made to use native:bcast/",
            "(OMPI_MCA_coll_tuned_bcast_algorithm=5)",
        ],
    );
    place.write("site.conf", "1\n7\n1\n2 1\n0 1 0 0\n");
    let site = place.path("site.conf");
    overriding(&format!(
        "coll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = {}\n",
        site.display()
    ));
    refused(
        &[],
        &["in force: coll_tuned_dynamic_rules_filename=DIR/site.conf"],
    );
    mpi::assert_no_process_left(&place);
}
