//! Files as sites post them, rewritten, with their faults: each is found at its line, and nothing else is.

use std::collections::BTreeMap;

use libraries::{
    Assignment, AssignmentSource, ExaminedRelease, LibraryName, OtherSettings, SteeringFindings,
    StrongerSetting, environment_assignments, examine_assignments, find_library,
};

fn read(file: &str) -> String {
    let path = format!("{}/tests/corpus/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("readable")
}

fn release(version: &str) -> ExaminedRelease<'_> {
    ExaminedRelease {
        version,
        variables: None,
        assume_commutative: false,
    }
}

fn library(name: &str) -> LibraryName {
    find_library(name).expect("known")
}

/// What is wrong with a text, in the format that it looks like.
fn examine_text(of: &str, version: &str, text: &str) -> SteeringFindings {
    let library = library(of);
    let mut formats = library.steering_formats().iter();
    let format = formats
        .find(|format| (format.recognises)(text))
        .expect("a known format");
    let release = release(version);
    let mut found = (format.examine)(&release, text);
    if format.name == "openmpi-parameters" {
        let given = std::mem::take(&mut found.assignments);
        let settings = settings(library, &release, AssignmentSource::Parameters, &given);
        found.all.extend(settings.all);
        found
            .all
            .sort_by_key(|finding| (finding.line, finding.kind));
    }
    found
}

fn settings(
    library: LibraryName,
    release: &ExaminedRelease<'_>,
    source: AssignmentSource,
    given: &[Assignment],
) -> SteeringFindings {
    examine_assignments(library, release, source, given, &OtherSettings::default())
}

/// Lines, 0 for the whole file, and kinds.
fn lines_and_kinds(found: &SteeringFindings) -> String {
    let all = found.all.iter();
    let all: Vec<String> = all
        .map(|finding| format!("{} {}", finding.line.unwrap_or(0), finding.kind.id()))
        .collect();
    all.join(", ")
}

#[track_caller]
fn check(of: &str, version: &str, file: &str, expected: &str) {
    let found = examine_text(of, version, &read(file));
    assert_eq!(
        lines_and_kinds(&found),
        expected,
        "{file} for {version}: {:#?}",
        found.all
    );
}

#[track_caller]
fn has_message(found: &SteeringFindings, line: usize, part: &str) {
    let mut at_line = found
        .all
        .iter()
        .filter(|finding| finding.line == Some(line));
    assert!(
        at_line.any(|finding| finding.message.contains(part)),
        "{part}: {:#?}",
        found.all
    );
}

#[test]
fn correct_files_have_no_faults() {
    for version in ["4.0.7", "4.1.4", "4.1.8", "5.0.10"] {
        check("openmpi", version, "classic-good.conf", "");
    }
    check("openmpi", "5.0.10", "han-good.conf", "15 remark");
    check(
        "openmpi",
        "4.1.8",
        "classic-version-2.conf",
        "1 remark, 5 remark",
    );
}

/// Lines with kinds for every file with faults; 0 is the whole file.
#[test]
fn every_file_with_faults_has_its_findings() {
    for (of, version, file, expected) in [
        (
            "openmpi",
            "4.1.4",
            "classic-count.conf",
            "9 ignored-file, 9 misread",
        ),
        (
            "openmpi",
            "4.1.4",
            "classic-fifth-column.conf",
            "4 remark, 6 failing-call, 6 misread, 6 unreachable, 7 no-effect",
        ),
        (
            "openmpi",
            "4.1.4",
            "classic-octal.conf",
            "6 unreachable, 7 failing-call, 7 misread, 7 unreachable, 8 misread, 8 no-effect",
        ),
        ("openmpi", "4.1.4", "classic-rest.conf", "7 no-effect"),
        (
            "openmpi",
            "4.1.4",
            "classic-rows.conf",
            "2 no-effect, 9 unsafe, 11 unsafe, 14 unreachable, 15 no-effect",
        ),
        (
            "openmpi",
            "4.1.4",
            "classic-sizes.conf",
            "4 remark, 6 misread, 8 unreachable",
        ),
        (
            "openmpi",
            "6.0.0",
            "classic-sizes.conf",
            "4 misread, 6 unreachable, 8 misread",
        ),
        (
            "openmpi",
            "4.1.4",
            "classic-version-2.conf",
            "1 ignored-file",
        ),
        ("openmpi", "4.1.4", "han.conf", "8 ignored-file"),
        ("openmpi", "4.1.4", "han-good.conf", "15 no-effect"),
        ("openmpi", "4.1.4", "params-before-tuned.conf", ""),
        (
            "openmpi",
            "5.0.10",
            "params-before-tuned.conf",
            "2 no-effect",
        ),
        (
            "openmpi",
            "4.1.4",
            "params-without-switch.conf",
            "1 no-effect, 2 no-effect, 3 no-effect",
        ),
        (
            "openmpi",
            "4.1.4",
            "params.conf",
            "3 misread, 3 remark, 4 misread, 4 no-effect, 5 no-effect, 6 no-effect, 6 no-effect, 7 unknown-name, \
             8 unknown-name, 9 no-effect, 10 no-effect, 11 ends-programs",
        ),
        (
            "mpich",
            "4.0.2",
            "selection.json",
            "0 ends-programs, 5 unreachable, 6 failing-call, 6 misread, 8 ends-programs, 12 ends-programs, \
             13 ends-programs, 13 failing-call, 13 failing-call",
        ),
        (
            "openmpi",
            "6.0.0",
            "tuned.json",
            "8 unreachable, 13 misread, 16 unreachable, 17 unknown-name, 18 unknown-name, 18 unsafe, 21 unreachable, \
             26 ignored-file, 27 failing-call",
        ),
        (
            "openmpi",
            "5.0.10",
            "tuned.json",
            "0 ignored-file, 8 unreachable, 13 misread, 16 unreachable, 17 unknown-name, 18 unknown-name, 18 unsafe, \
             21 unreachable, 26 ignored-file",
        ),
    ] {
        check(of, version, file, expected);
    }
    let job = |of: &str, version: &str| lines_and_kinds(&examine_job(of, version));
    assert_eq!(
        job("openmpi", "4.1.4"),
        "3 unknown-name, 4 no-effect, 5 unknown-name, 11 no-effect"
    );
    assert_eq!(job("mpich", "4.0.2"), "8 ends-programs, 10 no-effect");
    assert_eq!(job("intelmpi", "2021.19.0"), "6 misread, 7 unknown-name");
}

/// No file is without expected findings.
#[test]
fn every_file_is_examined() {
    let own = include_str!("audited.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut files = std::fs::read_dir(folder).expect("readable");
    while let Some(file) = files.next().transpose().expect("readable") {
        let name = file.file_name().into_string().expect("UTF-8");
        assert!(own.contains(&format!("\"{name}\"")), "{name}");
    }
}

#[test]
fn faults_of_classic_files_are_found_at_their_lines() {
    let octal = examine_text("openmpi", "4.1.4", &read("classic-octal.conf"));
    has_message(&octal, 7, "`08192` is read as 0 and 8192");
    has_message(&octal, 8, "`64K` is read as 64");
    let count = examine_text("openmpi", "4.1.4", &read("classic-count.conf"));
    has_message(&count, 9, "since the number of rows in line 6 is too small");
    let rest = examine_text("openmpi", "4.1.4", &read("classic-rest.conf"));
    assert_eq!(lines_and_kinds(&rest), "7 no-effect");
    has_message(&rest, 7, "since line 1 counts 1 collective");
    let fifth = examine_text("openmpi", "4.1.4", &read("classic-fifth-column.conf"));
    has_message(&fifth, 6, "the fifth number of this row");
}

/// What is wrong with the script of a job.
fn examine_job(of: &str, version: &str) -> SteeringFindings {
    let library = library(of);
    let given = environment_assignments(&read("job.sh"), library.facts().variable_prefix);
    settings(
        library,
        &release(version),
        AssignmentSource::Environment,
        &given,
    )
}

#[test]
fn settings_in_scripts_are_examined() {
    let open_mpi = examine_job("openmpi", "4.1.4");
    has_message(&open_mpi, 3, "has no setting `OMPI_MCA_use_dynamic_rules`");
    has_message(
        &open_mpi,
        4,
        "reads it only with OMPI_MCA_coll_tuned_use_dynamic_rules=1",
    );
    has_message(
        &open_mpi,
        5,
        "Open MPI reads OMPI_MCA_coll_tuned_use_dynamic_rules",
    );
    has_message(
        &open_mpi,
        11,
        "OMPI_MCA_coll_tuned_reduce_algorithm has no effect",
    );
    let mpich = examine_job("mpich", "4.0.2");
    has_message(&mpich, 8, "cannot be `binomal`");
    has_message(
        &mpich,
        10,
        "reads it only with MPIR_CVAR_DEVICE_COLLECTIVES=percoll",
    );
    let intel = examine_job("intelmpi", "2021.19.0");
    has_message(&intel, 6, "overlaps 0-4096 before");
    has_message(&intel, 7, "no collective is called `ALLREDUSE`");
}

/// The findings of a setting's file, with a file of the same settings that takes precedence.
fn settings_below(stronger: &[(&str, &str)], text: &str) -> SteeringFindings {
    let library = library("openmpi");
    let mut formats = library.steering_formats().iter();
    let format = formats
        .find(|format| format.name == "openmpi-parameters")
        .expect("a format");
    let release = release("4.1.4");
    let given = (format.examine)(&release, text).assignments;
    let place = "the environment".to_owned();
    let stronger = stronger.iter().map(|(name, value)| {
        let place = place.clone();
        let value = (*value).to_owned();
        (format!("OMPI_MCA_{name}"), StrongerSetting { value, place })
    });
    let besides = OtherSettings {
        stronger: stronger.collect(),
        weaker: BTreeMap::new(),
    };
    let source = AssignmentSource::Parameters;
    examine_assignments(library, &release, source, &given, &besides)
}

#[test]
fn stronger_settings_count_and_weaker_ones_are_not_examined() {
    let text = "coll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = /a\n";
    let alone = settings_below(&[], text);
    assert_eq!(lines_and_kinds(&alone), "");
    assert_eq!(alone.assignments.len(), 2);
    // The file's switch does not count, so its other line has no effect.
    let off = settings_below(&[("coll_tuned_use_dynamic_rules", "0")], text);
    assert_eq!(lines_and_kinds(&off), "1 remark, 2 no-effect");
    has_message(&off, 1, "is overridden: the environment sets it, too");
    // The environment names another rules file, so this one is not examined.
    let other = settings_below(&[("coll_tuned_dynamic_rules_filename", "/b")], text);
    assert_eq!(lines_and_kinds(&other), "2 remark");
    let in_force: Vec<_> = other.assignments.iter().map(|set| set.line).collect();
    assert_eq!(in_force, [Some(1)]);
    // Of one file, the last value of a name counts.
    let twice = settings_below(
        &[],
        &format!("{text}coll_tuned_dynamic_rules_filename = /c\n"),
    );
    assert_eq!(lines_and_kinds(&twice), "2 no-effect");
    let files: Vec<_> = twice.assignments.iter().map(|set| &*set.value).collect();
    assert_eq!(files, ["1", "/c"]);
}

#[test]
fn of_several_names_of_a_variable_the_strongest_counts() {
    let set = |name: &str, value: &str| Assignment {
        line: None,
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let given = [
        set("MPICH_DEVICE_COLLECTIVES", "none"),
        set("MPIR_CVAR_DEVICE_COLLECTIVES", "percoll"),
        set("MPIR_PARAM_DEVICE_COLLECTIVES", "none"),
        set("MPIR_CVAR_BCAST_DEVICE_COLLECTIVE", "0"),
    ];
    let (library, release) = (library("mpich"), release("4.0.2"));
    let found = settings(library, &release, AssignmentSource::Environment, &given);
    assert_eq!(lines_and_kinds(&found), "0 no-effect, 0 no-effect");
    let in_force: Vec<_> = found.assignments.iter().map(|kept| &*kept.name).collect();
    assert_eq!(
        in_force,
        [
            "MPIR_CVAR_DEVICE_COLLECTIVES",
            "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE"
        ]
    );
}

#[test]
fn escapes_in_json_are_decoded() {
    let file = |key: &str| format!(r#"{{"{key}": {{"{key}": 1}}, "collectives": {{}}}}"#);
    for (key, read) in [
        (r"\u0063ollectives", "collectives"),
        (r"b\ud83d\ude00", "b\u{1f600}"),
        (r"\ud83dx", "\u{fffd}x"),
        (r"\ud83d\u0041", "\u{fffd}A"),
    ] {
        let found = examine_text("openmpi", "6.0.0", &file(key));
        let expected = if read == "collectives" {
            "there is no collective `collectives`".to_owned()
        } else {
            format!("the key `{read}` is ignored")
        };
        has_message(&found, 1, &expected);
    }
    let selection = |key: &str| {
        let text = format!(
            r#"{{"{key}": {{"composition=MPIDI_Bcast_intra_composition_alpha": {{}}}},
                "collective=barrier": {{"composition=MPIDI_Barrier_intra_composition_alpha": {{}}}}}}"#
        );
        lines_and_kinds(&examine_text("mpich", "4.0.2", &text))
    };
    assert_eq!(selection(r"collective=\u0062cast"), "");
    assert_eq!(selection(r"collective=\u00zzcast"), "1 ends-programs");
    assert_eq!(selection(r"collective=\q"), "1 ends-programs");
}

/// MPICH's parser keeps the first place and the last value of a key; what stood there before has no effect, whatever it is.
#[test]
fn values_that_later_ones_replace_and_parameters_are_told_apart() {
    let binomial = r#"{"algorithm=MPIR_Bcast_intra_binomial": {"k=2": {}}}"#;
    let tree =
        |parameters: &str| format!(r#"{{"algorithm=MPIR_Bcast_intra_tree": {{{parameters}}}}}"#);
    let selection = |first: &str, last: &str| {
        let text = format!("{{\"collective=bcast\": {first},\n \"collective=bcast\": {last}}}");
        let mut found = examine_text("mpich", "4.0.2", &text);
        // The file is about one collective alone.
        found.all.retain(|finding| finding.line.is_some());
        found
    };
    let replaced = selection(r#"{"comm_colour=red": {}}"#, &tree(r#""k=2": {}"#));
    assert_eq!(lines_and_kinds(&replaced), "1 no-effect");
    has_message(&replaced, 1, "given again in line 2, which replaces this");
    let in_vain = selection("{}", binomial);
    assert_eq!(lines_and_kinds(&in_vain), "1 no-effect, 2 no-effect");
    has_message(
        &in_vain,
        2,
        "`MPIR_Bcast_intra_binomial` has no parameters, and `k=2` is ignored",
    );
    let missing = selection("{}", &tree(""));
    assert_eq!(lines_and_kinds(&missing), "1 no-effect, 2 unsafe");
    has_message(&missing, 2, "takes what its memory contains");
}

/// Every file grows tenfold; what takes ten times as long for ten times the text takes some seconds at most, and what
/// takes a hundred times as long takes hours.
#[test]
fn large_files_are_examined_in_time() {
    let many = 100_000;
    let numbers = "1a".repeat(500_000);
    let rows = (0..many).map(|row| format!("{row} 1 0 0\n"));
    let rows: String = rows.collect();
    let sizes: String = (0..many)
        .map(|size| format!("{size} 1\n0 1 0 0\n"))
        .collect();
    let rules: Vec<String> = (0..many)
        .map(|rule| format!(r#"{{"msg_size_min": {rule}, "msg_size_max": {rule}, "alg": 1}}"#))
        .collect();
    let keys: Vec<String> = (0..many).map(|key| format!(r#""k{key}": 1"#)).collect();
    let communicators: Vec<String> = (0..many)
        .map(|size| format!(r#"{{"comm_size_min": {size}, "comm_size_max": {size}, "rules": []}}"#))
        .collect();
    let json = format!(
        r#"{{{}, "collectives": {{"bcast": [{}, {{"rules": [{}]}}]}}}}"#,
        keys.join(", "),
        communicators.join(", "),
        rules.join(", "),
    );
    for (version, text) in [
        ("4.1.4", numbers),
        ("4.1.4", format!("1\n6\n1\n2 {many}\n{rows}")),
        ("6.0.0", format!("1\n7\n{many}\n{sizes}")),
        ("6.0.0", json),
        (
            "4.1.4",
            (0..many / 20)
                .map(|one| format!("coll_x{one} = 1\n"))
                .collect(),
        ),
    ] {
        let found = examine_text("openmpi", version, &text);
        let longest = found.all.iter().map(|finding| finding.message.len()).max();
        assert!(longest.unwrap_or(0) < 600, "{longest:?}");
    }
    let leaf = r#"{"algorithm=MPIR_Reduce_intra_reduce_scatter_gather": {}}"#;
    let conditions = (0..many).map(|size| format!(r#""comm_size<={size}": {leaf}"#));
    let conditions: Vec<String> = conditions.collect();
    let selection = format!(
        r#"{{"collective=reduce": {{{}, "comm_size=any": {leaf}}}}}"#,
        conditions.join(", ")
    );
    examine_text("mpich", "4.0.2", &selection);
    let ranges = (0..many).map(|size| format!("1:{size}-{size}"));
    let value = ranges.collect::<Vec<_>>().join(";");
    let given = [Assignment {
        line: None,
        name: "I_MPI_ADJUST_BCAST".to_owned(),
        value,
    }];
    let mpich = library("mpich");
    settings(
        mpich,
        &release("4.0.2"),
        AssignmentSource::Environment,
        &given,
    );
}

#[test]
fn scripts_may_have_several_commands_in_a_line_and_set_a_variable_twice() {
    let text = "export OMPI_MCA_coll_tuned_use_dynamic_rules=1; export OMPI_MCA_coll_tuned_bcast_algorithm=6&&true\n\
                mpirun --mca coll_tuned_bcast_algorithm 5 ./app | tee log\n";
    let library = library("openmpi");
    let given = environment_assignments(text, library.facts().variable_prefix);
    let values: Vec<_> = given.iter().map(|set| set.value.as_str()).collect();
    assert_eq!(values, ["1", "6", "5"]);
    let found = settings(
        library,
        &release("4.1.4"),
        AssignmentSource::Environment,
        &given,
    );
    assert!(found.all.is_empty(), "{:?}", found.all);
}

/// What the library makes of such values was seen in 2021.19 (`intelmpi/adjust.rs`).
#[test]
fn values_of_intel_mpi_are_examined_as_the_library_reads_them() {
    let found = |value: &str| {
        let text = format!("export I_MPI_ADJUST_BCAST=\"{value}\"\n");
        let library = library("intelmpi");
        let given = environment_assignments(&text, library.facts().variable_prefix);
        let release = release("2021.19.0");
        settings(library, &release, AssignmentSource::Environment, &given)
    };
    for good in ["1", "1:0-64;3:65-2147483647", "1:0-64@2-2;3:0-64@3-4"] {
        assert!(found(good).all.is_empty(), "{good}: {:?}", found(good).all);
    }
    for (wrong, part) in [
        (
            "1:0-64;3:64-128",
            "overlaps 0-64 before, which counts up to its end",
        ),
        (
            "1:0-64@2-2;3:65-128@2-2",
            "which alone counts, for all sizes",
        ),
        ("0:0-64;3:65-128", "it leaves out the library's tuning file"),
        ("23", "the presets 1 to 22 in 2021.19"),
        ("binomial", "does not begin with the number of a preset"),
        ("1:64-0", "is not a range of bytes and ranks"),
    ] {
        has_message(&found(wrong), 1, part);
    }
}
