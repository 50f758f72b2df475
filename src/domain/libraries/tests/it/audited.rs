//! Files as sites post them, rewritten, with their faults: each is found at its line, and nothing else is.

use std::collections::BTreeMap;

use libraries::{
    Assignment, AssignmentSource, ExaminedRelease, LibraryName, SteeringFindings,
    environment_assignments, examine_assignments, find_library,
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
    examine_assignments(library, release, source, given, &BTreeMap::new())
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

#[test]
fn settings_in_scripts_are_examined() {
    let text = read("job.sh");
    let examine = |of: &str, version: &str| {
        let library = library(of);
        let given = environment_assignments(&text, library.facts().variable_prefix);
        settings(
            library,
            &release(version),
            AssignmentSource::Environment,
            &given,
        )
    };
    let open_mpi = examine("openmpi", "4.1.4");
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
    let mpich = examine("mpich", "4.0.2");
    has_message(&mpich, 8, "cannot be `binomal`");
    has_message(
        &mpich,
        10,
        "reads it only with MPIR_CVAR_DEVICE_COLLECTIVES=percoll",
    );
    let intel = examine("intelmpi", "2021.19.0");
    has_message(&intel, 6, "overlaps 0-4096 before");
    has_message(&intel, 7, "no collective is called `ALLREDUSE`");
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
