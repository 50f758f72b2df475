//! Machines on which nothing can be measured.

use std::fs;

use crate::made;
use crate::run::{Place, keys};

/// Runs commands that need MPI in a place without it, and checks that nothing is written.
fn check(place: &Place, parts: &[&str]) {
    place.write("campaign.yaml", made::CAMPAIGN);
    let before = place.files();
    for verb in ["tune", "measure", "plan"] {
        place.run(&[verb, "campaign.yaml"]).bad(3, parts);
    }
    assert_eq!(place.files(), before);
}

#[test]
fn no_mpi_is_installed() {
    let place = Place::new();
    check(
        &place,
        &["no MPI library found", "DIR/bin", "help: install one"],
    );
    let ran = place.run(&["doctor"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(3), ""));
    assert!(
        ran.out
            .contains("MPI: none found in DIR/bin; supported: openmpi, mpich"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("apt-get install"), "{}", ran.out);
    let quiet = place.run(&["doctor", "--quiet"]);
    assert_eq!((quiet.code, quiet.out.as_str()), (Some(3), ""));
    assert!(
        quiet.err.starts_with("warning: No MPI library"),
        "{}",
        quiet.err
    );
}

#[test]
fn standard_output_is_on_a_full_disk() {
    let place = Place::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = place.command(&["schedule", "list"]);
    let output = command.stdout(full.unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.starts_with("error: cannot write to standard output: "),
        "{error}"
    );
}

#[test]
fn another_library_is_installed() {
    let place = Place::with_mpirun("exit 1");
    place.write(
        "campaign.yaml",
        format!("{}library: mpich\n", made::CAMPAIGN),
    );
    place.run(&["tune", "campaign.yaml"]).bad(
        3,
        &[
            "mpich is not installed here; found: openmpi-4.1.4",
            "help: ",
        ],
    );
}

#[test]
fn the_driver_is_not_built() {
    let place = Place::new();
    fs::create_dir(place.path("lib")).unwrap();
    // No driver beside the binary is built for this version.
    place.add_mpirun_of("4.0.99", "exit 1");
    check(
        &place,
        &[
            "no measuring program for openmpi-4.0.99",
            "DIR/lib/openmpi-4.0.99/colltune-driver",
            "make driver",
        ],
    );
    let ran = place.run(&["doctor"]);
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.out.contains("measuring program: not built"),
        "{}",
        ran.out
    );
}

#[test]
fn the_named_folder_of_programs_does_not_exist() {
    let place = Place::with_mpirun("exit 1");
    place.write("campaign.yaml", made::CAMPAIGN);
    let run = |verb: &[&str]| {
        let mut command = place.command(verb);
        command
            .env("COLLTUNE_LIBDIR", "/nonexist")
            .output()
            .unwrap()
    };
    let fault = "COLLTUNE_LIBDIR names `/nonexist`, which is not a folder";
    let ran = run(&["plan", "campaign.yaml"]);
    let error = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(3), "{error}");
    assert!(error.starts_with(&format!("error: {fault}")), "{error}");
    assert!(error.contains("help: correct the variable"), "{error}");
    let found = String::from_utf8(run(&["doctor"]).stdout).unwrap();
    assert!(
        found.contains(&format!("advice: {fault}: correct")),
        "{found}"
    );
    assert!(!found.contains("This machine can be tuned"), "{found}");
}

#[test]
fn doctor_finds_libraries_and_drivers() {
    let place = Place::with_mpirun("exit 1");
    let findings = place.run(&["doctor", "--json"]).good().json();
    assert_eq!(
        keys(&findings),
        [
            "advice",
            "cores",
            "cpu",
            "deciding",
            "fit",
            "governor",
            "kernel",
            "libraries",
            "load",
            "networks",
            "no_shared_memory",
            "reasons",
            "searched",
            "shared_memory_bytes",
            "threads",
            "timer_overhead_seconds",
            "timer_resolution_seconds",
            "unknown_libraries",
            "unreadable_memory",
            "unusable",
            "variables",
            "warnings"
        ]
    );
    assert_eq!(findings["fit"], true);
    assert_eq!(findings["shared_memory_bytes"], 64 << 20);
    assert_eq!(findings["no_shared_memory"], serde_json::Value::Null);
    for (limit, said) in [
        ("0", "COLLTUNE_SHARED_MEMORY=0 switches it off"),
        (
            "1K",
            "COLLTUNE_SHARED_MEMORY=1K is too little for two ranks",
        ),
        (
            "much",
            "COLLTUNE_SHARED_MEMORY is \"much\", not a size, as in 64M, or 0",
        ),
    ] {
        let (text, json) = doctor(&place, &[("COLLTUNE_SHARED_MEMORY", limit)]);
        assert!(
            text.contains(&format!("none for channels, {said}")),
            "{text}"
        );
        assert_eq!(json["no_shared_memory"], said);
        assert_eq!(json["shared_memory_bytes"], serde_json::Value::Null);
    }
    let library = &findings["libraries"][0];
    assert_eq!(
        keys(library),
        [
            "driver", "launcher", "name", "serving", "settings", "version"
        ]
    );
    assert_eq!(
        (&library["name"], &library["version"]),
        (&"openmpi".into(), &"4.1.4".into())
    );
    assert_eq!(place.run(&["doctor", "--quiet"]).good().out, "");

    fs::write(place.path("bin/mpirun"), "#!/bin/sh\necho something else\n").unwrap();
    let ran = place.run(&["doctor"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.out.contains("DIR/bin/mpirun: unusable"), "{}", ran.out);
}

/// Runs the doctor with these environment variables, as text and as JSON.
fn doctor(place: &Place, variables: &[(&str, &str)]) -> (String, serde_json::Value) {
    let print = |args: &[&str]| {
        let mut command = place.command(args);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let json = serde_json::from_str(&print(&["doctor", "--json"])).unwrap();
    (print(&["doctor"]), json)
}

#[test]
fn doctor_warns_before_measuring_of_conditions_that_disturb_times() {
    let place = Place::with_mpirun("exit 1");
    let settings = [
        ("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "tree"),
        ("UCX_TLS", "tcp"),
        ("UNRELATED", "1"),
    ];
    let (text, json) = doctor(&place, &settings);
    // Other warnings depend on the machine.
    let told = |diagnosis: &serde_json::Value| {
        let sentences = diagnosis["warnings"].as_array().unwrap().iter();
        let about = sentences.filter(|sentence| sentence.as_str().unwrap().contains("`default`"));
        about.count()
    };
    assert_eq!(told(&json), 1, "{json}");
    assert_eq!(
        json["variables"],
        serde_json::json!({
            "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "tree", "UCX_TLS": "tcp"
        })
    );
    let setting = "MPIR_CVAR_BCAST_INTRA_ALGORITHM=tree";
    let name = "MPIR_CVAR_BCAST_INTRA_ALGORITHM";
    assert_eq!(json["deciding"], serde_json::json!([name]));
    for line in [
        "warning: `default` is not",
        "environment: UCX_TLS=tcp, does not affect the choice of algorithms",
        "environment: MPIR_CVAR_BCAST_INTRA_ALGORITHM=tree, affects the choice of algorithms",
        "This machine can be tuned.",
    ] {
        assert!(
            text.lines().any(|found| found.starts_with(line)),
            "{line}: {text}"
        );
    }
    assert_eq!(text.matches(setting).count(), 2, "{text}");
    for label in [
        "cores", "CPU", "networks", "kernel", "governor", "load", "timer",
    ] {
        let begin = format!("{label}: ");
        assert!(
            text.lines().any(|found| found.starts_with(&begin)),
            "{label}: {text}"
        );
    }
    let (text_without, json_without) = doctor(&place, &[]);
    assert_eq!(
        (told(&json_without), &json_without["variables"]),
        (0, &serde_json::json!({}))
    );
    assert!(!text_without.contains("environment: "), "{text_without}");
    assert!(
        json_without["cores"].as_u64() <= json_without["threads"].as_u64(),
        "{json_without}"
    );
}

#[test]
fn the_launcher_fails() {
    let place = Place::with_mpirun("echo cannot start daemons >&2; exit 7");
    place.write("campaign.yaml", made::CAMPAIGN);
    let old = made::old_table();
    place.write("tables/made.yaml", &old);
    place.write("reports/made.md", "old report");
    place.run(&["tune", "campaign.yaml"]).bad(
        3,
        &[
            "the launcher exited with code 7",
            "cannot start daemons",
            ".colltune/made.db.launches",
        ],
    );
    assert_eq!(place.read("tables/made.yaml"), old);
    assert_eq!(place.read("reports/made.md"), "old report");
    // The failed launch is stored, and prevents nothing.
    place
        .run(&["fit", ".colltune/made.db"])
        .bad(2, &["holds no measurements"]);
}

#[test]
fn a_campaign_without_a_library_uses_one_that_can_be_measured() {
    let place = Place::new();
    // Open MPI would come first, but its measuring program is not built.
    place.add_mpirun_of("4.0.99", "exit 1");
    let hydra = "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'HYDRA build details:'; \
                 echo '    Version: 4.0.98'; exit 0; fi\nexit 1\n";
    place.write("bin/mpiexec.mpich", hydra);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path("bin/mpiexec.mpich"), executable).unwrap();
    place.write("lib/mpich-4.0.98/colltune-driver", "");
    place.write("campaign.yaml", made::CAMPAIGN);
    let plan = place
        .run(&["plan", "campaign.yaml", "--json"])
        .good()
        .json();
    assert_eq!(plan["library"]["name"], "mpich");
    let asked = ["plan", "campaign.yaml", "--library", "openmpi"];
    place
        .run(&asked)
        .bad(3, &["no measuring program for openmpi-4.0.99"]);
}
