//! A library that colltune does not know: MPICH under another name (`scripts/unknown-mpi`).
//!
//! MPICH's measuring program is used, which says by what it preloads that it has the other library. MPICH's `libcolltune.so`
//! was not built for it, and must refuse to serve it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use store::Store;
use vocabulary::{Library, Pattern};

use crate::exports::launch;
use crate::mpi::{command, wait};
use crate::run::{Place, Ran, script};

const LIBRARY: &str = "exotic-2.3.7";

const CAMPAIGN: &str = "
collectives: [bcast, allreduce]
shapes: [1x2]
sizes: [64, 64K]
candidates: {include: [bcast/binomial, allreduce/recursive_doubling]}
parameters: {through: mpi}
strategy: exhaustive
confirmation: off
repetitions: {minimum: 10, maximum: 100, slice: 10ms}
launches: 2
";

/// A table that chooses one of our algorithms.
const TABLE: &str = "
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: any
        rules:
          - {from: 0, candidate: allreduce/recursive_doubling, speedup: 1.5, confidence: high, confirmed: true}
";

/// The calls of the program.
const CALLS: &str = "allreduce 64 plain\nbcast 64 plain\n";

/// [`TABLE`] for a library, by name and version.
fn table_of((name, version): (&str, &str)) -> String {
    testkit::tables::table_yaml("by-hand", name, version, TABLE)
}

/// A folder with MPICH's programs as those of the library: its measuring program preloads the library's function for its
/// name.
fn programs(place: &Place, mpich: &launch::Library, shim: &Path) -> Option<PathBuf> {
    let libdir = std::env::var_os("COLLTUNE_LIBDIR").map(PathBuf::from);
    let of_mpich = libdir.map(|folder| folder.join(format!("mpich-{}", mpich.version)));
    let of_mpich = testkit::require("measuring programs", of_mpich)?;
    let folder = place.path("lib");
    let own = folder.join(LIBRARY);
    fs::create_dir_all(&own).unwrap();
    let driver = own.join("colltune-driver");
    let text = format!(
        "#!/bin/sh\nLD_PRELOAD='{}' exec '{}' \"$@\"\n",
        shim.display(),
        of_mpich.join("colltune-driver").display()
    );
    fs::write(&driver, text).unwrap();
    fs::set_permissions(&driver, fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(of_mpich.join("libcolltune.so"), own.join("libcolltune.so")).unwrap();
    Some(folder)
}

#[test]
fn a_library_that_colltune_does_not_know_is_measured_under_mpich() {
    let mpich = launch::Library::find("MPICC_MPICH", "mpicc.mpich", "mpiexec.mpich", "Version:");
    let Some(mpich) = testkit::require("MPICH 4.0", mpich) else {
        return;
    };
    let place = Place::new();
    let folder = place.path("exotic");
    let (made, printed) = script("unknown-mpi", &[&folder.display().to_string()]);
    assert_eq!(made, Some(0), "{printed}");
    let Some(libdir) = programs(&place, &mpich, &folder.join("libexotic.so")) else {
        return;
    };
    let run = |args: &[&str]| -> Ran {
        let mut asked = command(&place, args);
        asked.env("COLLTUNE_LIBDIR", &libdir);
        asked.stdout(std::process::Stdio::piped());
        asked.stderr(std::process::Stdio::piped());
        wait(&place, asked.spawn().unwrap())
    };
    let launcher = mpich.mpirun.display().to_string();

    // Without version and launcher the name counts as a mistake.
    place.write(
        "campaign.yaml",
        format!("name: real\nlibrary: exotic\n{CAMPAIGN}"),
    );
    let mistaken = run(&["plan", "campaign.yaml"]);
    assert_ne!(mistaken.code, Some(0));
    assert!(mistaken.err.contains("exotic"), "{}", mistaken.err);

    // It is measured: the library's own choice and our algorithms.
    place.write(
        "campaign.yaml",
        format!(
            "name: real\nlibrary: {{name: exotic, version: 2.3.7, launcher: {launcher}}}\n{CAMPAIGN}"
        ),
    );
    let tuned = run(&["tune", "campaign.yaml", "--json"]);
    assert_eq!(tuned.code, Some(0), "{}", tuned.err);
    let outcome = tuned.json();
    assert_eq!(outcome["done"], outcome["total"], "{}", tuned.err);
    assert_eq!(outcome["failures"], 0, "{outcome}");
    let library: Library = serde_json::from_value(outcome["library"].clone()).unwrap();
    assert_eq!(library.to_string(), LIBRARY);
    let store = Store::open(&place.path(".colltune/real.db")).unwrap();
    let samples = store.samples(&library, Pattern::Together).unwrap();
    let names: BTreeSet<String> = samples
        .iter()
        .filter(|sample| sample.subject.cell().is_some())
        .map(|sample| sample.candidate.to_string())
        .collect();
    let expected = ["allreduce/recursive_doubling", "bcast/binomial", "default"];
    assert_eq!(names, BTreeSet::from(expected.map(str::to_owned)));

    // No file can be written for it.
    for (format, releases) in [
        ("openmpi", "Open MPI 4.0, 4.1 and 5.0"),
        ("openmpi-parameters", "Open MPI 4.1 and 5.0"),
        ("mpich", "MPICH"),
        ("intelmpi", "Intel MPI 2021"),
    ] {
        let refused = run(&["export", "tables/real.yaml", "--format", format]);
        assert_ne!(refused.code, Some(0), "{format}");
        let why = format!("no file is known that {LIBRARY} reads: `{format}` is for {releases}");
        assert!(refused.err.contains(&why), "{}", refused.err);
        assert!(
            refused.err.contains("colltune run --library exotic-2.3.7"),
            "{}",
            refused.err
        );
    }

    // The measuring program is found, and the advice names what a campaign must say.
    let doctor = run(&["doctor"]);
    for said in [
        "exotic-2.3.7, which colltune does not know:",
        "advice: colltune does not know exotic: campaigns name it",
    ] {
        assert!(doctor.out.contains(said), "{}", doctor.out);
    }
    let found = &run(&["doctor", "--json"]).json()["unknown_libraries"];
    assert_eq!(found[0]["name"], "exotic", "{found}");
    assert_eq!(found[0]["version"], "2.3.7", "{found}");

    // The table's library counts, not the one that the launcher shows. A build for another library passes calls on, and
    // says so, whether it is named or not.
    let compiler = launch::Library::at(folder.join("mpicc"), mpich.mpirun.clone(), "Version:");
    let program = compiler.unwrap().compile(&place, "exports/calls.c", &[]);
    place.write("calls.txt", CALLS);
    place.write(
        "tables/by-hand.yaml",
        table_of(LIBRARY.split_once('-').unwrap()),
    );
    let (program, calls) = (
        program.display().to_string(),
        place.path("calls.txt").display().to_string(),
    );
    let words = ["--", &launcher, "-n", "2", &program, &calls];
    let why = "was built for mpich 4, but the program runs with exotic-2.3.7";
    for options in [
        &["run", "tables/by-hand.yaml"][..],
        &["run", "--library", LIBRARY, "tables/by-hand.yaml"],
        &["record", "--library", LIBRARY, "--output", "calls.json"],
        &["record", "--output", "calls.json"],
    ] {
        let ran = run(&[options, &words[..]].concat());
        assert_eq!(ran.code, Some(0), "{options:?}: {}", ran.err);
        assert!(ran.out.contains("2 calls are right"), "{}", ran.out);
        assert_eq!(ran.err.matches(why).count(), 1, "{options:?}: {}", ran.err);
    }
    // A library that is named as another one is not the table's.
    let other = ["run", "--library", "mpich-4.0.2", "tables/by-hand.yaml"];
    let refused = run(&[&other, &words[..]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("made for exotic-2.3.7"),
        "{}",
        refused.err
    );
}

/// Under a build for it (`scripts/test-long unknown`), programs are served, recorded and timed as under other libraries.
#[test]
fn programs_are_served_under_a_library_that_colltune_does_not_know() {
    let Some(folder) = std::env::var_os("COLLTUNE_UNKNOWN_MPI").map(PathBuf::from) else {
        return;
    };
    let mpich = launch::Library::find("MPICC_MPICH", "mpicc.mpich", "mpiexec.mpich", "Version:");
    let launcher = mpich.expect("MPICH is here").mpirun;
    let place = Place::new();
    let compiler = launch::Library::at(folder.join("mpicc"), launcher.clone(), "Version:");
    let program = compiler.unwrap().compile(&place, "exports/calls.c", &[]);
    place.write("calls.txt", CALLS);
    place.write("table.yaml", table_of(LIBRARY.split_once('-').unwrap()));
    let words = [
        launcher.display().to_string(),
        "-n".to_owned(),
        "2".to_owned(),
        program.display().to_string(),
        place.path("calls.txt").display().to_string(),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();

    let served = crate::mpi::run(&place, &[&["run", "table.yaml", "--"], &words[..]].concat());
    assert_eq!(served.code, Some(0), "{}", served.err);
    assert_eq!(
        crate::unmodified::calls(&served, "allreduce/recursive_doubling"),
        1,
        "{}",
        served.err
    );

    let options = ["record", "--library", LIBRARY, "-o", "calls.json", "--"];
    let recorded = crate::mpi::run(&place, &[&options, &words[..]].concat());
    assert_eq!(recorded.code, Some(0), "{}", recorded.err);
    let profile: serde_json::Value = serde_json::from_str(&place.read("calls.json")).unwrap();
    assert_eq!(profile["jobs"][0]["job"]["library"], LIBRARY, "{profile}");

    let command = words.join(" ");
    let timed = [
        "validate",
        "table.yaml",
        "--pairs",
        "6",
        "--warmups",
        "0",
        "--command",
        &command,
    ];
    let timed = crate::mpi::run(&place, &timed);
    assert_ne!(timed.code, Some(2), "{}", timed.err);
    assert_ne!(timed.code, Some(3), "{}", timed.err);
}
