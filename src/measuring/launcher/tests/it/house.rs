//! A batch system is one file, a template and a row: other code does not name batch systems.

use std::path::{Path, PathBuf};

use launcher::BATCH_SYSTEMS;

/// Sources of the product below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        let name = path.file_name().and_then(|name| name.to_str());
        let is_of_tests = ["tests", "benches", "examples", "target", "testkit"];
        if path.is_dir() && !name.is_some_and(|name| is_of_tests.contains(&name)) {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The words in code that belong to one batch system: its name, its commands, the variables of its jobs.
/// Comments, help texts and unit tests beside the code may name batch systems.
fn about(system: &str, code: &str) -> Vec<String> {
    let code = code.split("#[cfg(test)]").next().unwrap_or(code);
    let commands: &[&str] = match system {
        "slurm" => &[
            "sbatch", "srun", "squeue", "scontrol", "sacct", "sinfo", "scancel",
        ],
        "pbs" => &["qsub", "qstat", "qdel"],
        other => panic!("the commands of {other} belong here too"),
    };
    let is_about = |word: &str| {
        let word = word.to_lowercase();
        word.starts_with(system) || commands.contains(&word.as_str())
    };
    let mut lines: Vec<&str> = code.lines().map(str::trim).collect();
    lines.retain(|line| !line.starts_with("//") && !line.contains("launcher: {"));
    let words = lines
        .into_iter()
        .flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words
        .filter(|word| is_about(word))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_batch_system_is_named_only_in_its_file_and_row() {
    // It writes files that users' batch scripts read, with Slurm's variables.
    const WRITES_FOR_JOBS: &str = "deciding/export/deploy/files.rs";
    // They judge command lines and variables in logs of benchmarks.
    const READ_LOGS: [&str; 2] = [
        "deciding/import/statements.rs",
        "domain/libraries/placing.rs",
    ];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    sources(&source, &mut files);
    assert!(files.len() > 200, "only {} files", files.len());
    for system in BATCH_SYSTEMS.map(|system| system.name()) {
        let own = source.join(format!("measuring/launcher/{system}.rs"));
        assert!(files.contains(&own), "{}", own.display());
        let template = source.join(format!("../jobs/templates/{system}.sh.j2"));
        assert!(template.is_file(), "{}", template.display());
        let written_for_jobs = source.join(WRITES_FOR_JOBS);
        let read_logs = READ_LOGS.map(|file| source.join(file));
        assert!(files.contains(&written_for_jobs));
        assert!(read_logs.iter().all(|file| files.contains(file)));
        let is_apart = |file: &&PathBuf| {
            **file != own
                && !read_logs.contains(file)
                && (system != "slurm" || **file != written_for_jobs)
        };
        for file in files.iter().filter(is_apart) {
            let text = std::fs::read_to_string(file).expect("readable");
            // Its module, and its row with the imports.
            let allowed = match file.strip_prefix(source.join("measuring/launcher")) {
                Ok(place) if place == Path::new("lib.rs") => 1,
                Ok(place) if place == Path::new("batch_system.rs") => 3,
                _ => 0,
            };
            let named = about(system, &text);
            assert!(
                named.len() <= allowed,
                "{} names {named:?}: ask `BatchSystem` instead",
                file.display()
            );
        }
    }
    let code = "SLURM_JOB_ID Slurm::new \"sbatch\" // scancel\n// squeue\n/// qsub\n\"slurms\"";
    assert_eq!(
        about("slurm", code),
        ["SLURM_JOB_ID", "Slurm", "sbatch", "scancel", "slurms"]
    );
    assert_eq!(about("pbs", code), <[String; 0]>::default());
}
