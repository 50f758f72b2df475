//! The text of job scripts, and shells that run them.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use insta::assert_snapshot;
use launcher::{BatchLauncher, Installation, Job, LaunchError, Launcher, Outcome};
use launcher::{BatchOptions, JobSpecification, LibraryName, Template, batch_system};
use testkit::process;

use super::cluster::{Cluster, finish, start};
use vocabulary::Placement;

fn job() -> Job {
    Job {
        driver: PathBuf::from("/shared/lib/colltune-driver"),
        plan: PathBuf::from("/shared/night.db.launches/0001.plan.json"),
        ranks: 128,
        ppn: 32,
        log: PathBuf::from("/shared/night.db.launches/0001.log"),
        environment: Vec::new(),
        timeout: None,
        begin_in: None,
        keep: true,
    }
}

fn plain(system: &str) -> BatchOptions {
    BatchOptions::for_system(batch_system(system).expect("a batch system"))
}

fn everything(system: &str) -> BatchOptions {
    BatchOptions {
        job: JobSpecification {
            account: Some("benchmarks".into()),
            partition: Some("standard".into()),
            qos: (system == "slurm").then(|| "normal".into()),
            constraint: Some("rome".into()),
            wall_time: Duration::from_secs(26 * 3600 + 90),
            exclusive: true,
            modules: vec!["gcc/12".into(), "openmpi/4.1".into()],
            directives: vec!["-m n".into()],
            template: None,
        },
        options: vec!["--mca".into(), "btl".into(), "self,vader,tcp".into()],
        environment: [("NOTE".to_owned(), "it's; mine".to_owned())].into(),
        placement: Placement::Cyclic,
        ..plain(system)
    }
}

fn render(name: LibraryName, options: BatchOptions, job: &Job) -> Result<String, LaunchError> {
    let installation = Installation {
        name,
        version: "4".into(),
        launcher: PathBuf::from("/opt/mpi/bin/mpirun"),
        unknown: None,
    };
    let launcher = BatchLauncher::new(installation, options, "night".into(), "".into());
    Ok(launcher.render_script(job)?.expect("a script"))
}

/// The script without lines that are only for root.
fn without_root(script: String) -> String {
    let lines = script
        .lines()
        .filter(|line| !line.contains("ALLOW_RUN_AS_ROOT"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn scripts() -> Vec<(&'static str, String)> {
    use LibraryName::{Mpich, OpenMpi};
    let alone = Job {
        keep: false,
        ..job()
    };
    [
        ("slurm-plain-openmpi", OpenMpi, plain("slurm"), job()),
        ("slurm-full-openmpi", OpenMpi, everything("slurm"), job()),
        ("slurm-plain-mpich", Mpich, plain("slurm"), alone),
        ("pbs-plain-mpich", Mpich, plain("pbs"), job()),
        ("pbs-full-openmpi", OpenMpi, everything("pbs"), job()),
    ]
    .map(|(title, library, options, job)| {
        let script = render(library, options, &job).expect("rendered");
        (title, without_root(script))
    })
    .into()
}

/// Of the site's presets, those that the campaign does not set itself and that its options do not name.
#[test]
fn a_script_removes_the_presets_of_the_site() {
    let options = BatchOptions {
        environment: [("I_MPI_ADJUST_REDUCE".to_owned(), "5".to_owned())].into(),
        options: vec!["-genvlist".into(), "I_MPI_ADJUST_SCAN".into()],
        ..plain("slurm")
    };
    let script = render(LibraryName::IntelMpi, options.clone(), &job()).expect("rendered");
    let (_, part) = script.split_once("# Presets of the site").expect("there");
    let (part, _) = part.split_once("export COLLTUNE_REMOVED\n").expect("ends");
    let text = format!(
        "set -eu\n# {part}export COLLTUNE_REMOVED\nenv | grep -E '^(I_MPI_ADJUST|COLLTUNE_REMOVED)' | sort\n"
    );
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &text])
        .env("I_MPI_ADJUST_BCAST", "3:0-64")
        .env("I_MPI_ADJUST_SCAN", "1")
        .env("I_MPI_ADJUST_REDUCE", "5");
    let ran = process::run_to_end(&mut shell, Duration::from_secs(30));
    assert!(ran.status.success(), "{ran:?}");
    let expected =
        "COLLTUNE_REMOVED=I_MPI_ADJUST_BCAST=3:0-64\nI_MPI_ADJUST_REDUCE=5\nI_MPI_ADJUST_SCAN=1\n";
    assert_eq!(ran.out, expected);
    let of_others = render(LibraryName::Mpich, options, &job()).expect("rendered");
    assert!(!of_others.contains("COLLTUNE_REMOVED"));
}

/// A module that is loaded in the job would otherwise decide, as nothing on a login node shows.
#[test]
fn the_campaigns_variables_come_before_those_of_modules() {
    let own = [
        ("I_MPI_ADJUST_REDUCE", "5"),
        ("UCX_TLS", "tcp"),
        ("LD_LIBRARY_PATH", "/own"),
    ];
    let options = BatchOptions {
        environment: own
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        job: everything("slurm").job,
        ..plain("slurm")
    };
    let script = render(LibraryName::IntelMpi, options, &job()).expect("rendered");
    let (before, rest) = script.split_once("module load ").expect("there");
    let (_, exports) = before.split_once("export ").expect("there");
    let (exports, _) = exports.split_once("\n\n").expect("ends");
    let (part, _) = rest.split_once("export COLLTUNE_REMOVED\n").expect("ends");
    // As modules do: they set what they are about, and extend lists of folders.
    let module = "module() { [ \"$1\" != load ] || export I_MPI_ADJUST_REDUCE=7 I_MPI_ADJUST_BCAST=2 UCX_TLS=rc \
                  LD_LIBRARY_PATH=/module:$LD_LIBRARY_PATH; }";
    let text = format!(
        "{module}\nexport {exports}\nmodule load {part}export COLLTUNE_REMOVED\n\
         env | grep -E '^(I_MPI_ADJUST|COLLTUNE_REMOVED|UCX|LD_)' | sort\n"
    );
    let ran = process::run_to_end(
        Command::new("bash").args(["-c", &text]),
        Duration::from_secs(30),
    );
    assert!(ran.status.success(), "{ran:?}");
    let expected = "COLLTUNE_REMOVED=I_MPI_ADJUST_BCAST=2\nI_MPI_ADJUST_REDUCE=5\n\
                    LD_LIBRARY_PATH=/module:/own\nUCX_TLS=tcp\n";
    assert_eq!(ran.out, expected, "{text}");
}

#[test]
fn scripts_are_readable() {
    let scripts = scripts();
    let of = |title: &str| {
        scripts
            .iter()
            .find(|(name, _)| *name == title)
            .map(|s| &s.1)
    };
    assert_snapshot!("slurm", of("slurm-full-openmpi").expect("there"));
    assert_snapshot!("pbs", of("pbs-full-openmpi").expect("there"));
    let heads: Vec<String> = scripts
        .iter()
        .map(|(title, script)| {
            let telling = |line: &&str| {
                let marks = [
                    "#SBATCH",
                    "#PBS",
                    "launch=",
                    "    launch=",
                    "printf '%s",
                    "export",
                ];
                marks.iter().any(|mark| line.starts_with(mark)) || line.contains("ends=")
            };
            let lines: Vec<&str> = script.lines().filter(telling).collect();
            format!("{title}\n{}\n", lines.join("\n"))
        })
        .collect();
    assert_snapshot!("heads", heads.join("\n"));
}

#[test]
fn shells_find_no_syntax_error_in_scripts() {
    let shellcheck = testkit::require("shellcheck", process::find_program("shellcheck"));
    let folder = tempfile::tempdir().expect("a folder");
    for (title, script) in scripts() {
        let file = folder.path().join(title);
        std::fs::write(&file, script).expect("written");
        let mut checks = vec![Command::new("bash")];
        checks[0].arg("-n");
        checks.extend(shellcheck.as_ref().map(Command::new));
        for mut check in checks {
            let output = check.arg(&file).output().expect("started");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{title}: {said}");
        }
    }
}

#[test]
fn a_shell_reads_quoted_values_unchanged() {
    for text in [
        "",
        "plain",
        "a b",
        "it's",
        "$HOME `id` \\ \"",
        "~",
        "*",
        "a\nb",
        "-n",
        "#",
    ] {
        let mut options = plain("slurm");
        options.job.template = Some(Template {
            file: None,
            text: "printf %s {{ account | sh }}".into(),
        });
        options.job.account = Some(text.into());
        let script = render(LibraryName::OpenMpi, options, &job()).expect("rendered");
        let output = Command::new("bash").arg("-c").arg(script).output();
        let output = output.expect("a shell").stdout;
        assert_eq!(String::from_utf8_lossy(&output), text);
    }
}

#[test]
fn a_site_may_use_another_template() {
    let mut cluster = Cluster::slurm();
    let text = "#!/bin/bash\n#SBATCH -N {{ nodes }}\nset -euo pipefail\nhosts=(alpha beta)\n\
                ends=$(($(date +%s) + {{ wall_seconds }}))\necho site {{ campaign | sh }}\n{{ serve }}\n";
    let own = |content: &str| Template {
        file: Some("site.j2".into()),
        text: content.to_owned(),
    };
    cluster.options.job.template = Some(own(text));
    let launcher = cluster.launcher();
    let exit = finish(start(&launcher, &cluster.job(1, "echo $COLLTUNE_LAUNCHER")).as_mut());
    assert_eq!(exit.outcome, Outcome::Success, "{exit:?}");
    let script = std::fs::read_to_string(cluster.allocation("0001", "script.sh")).expect("there");
    assert!(
        script.starts_with("#!/bin/bash\n#SBATCH -N 2\n"),
        "{script}"
    );
    let output = std::fs::read_to_string(cluster.allocation("0001", "output")).expect("there");
    assert!(output.starts_with("site night\n"), "{output}");
    assert!(output.contains("on alpha beta until"), "{output}");
    launcher.close().expect("closed");

    cluster.options.job.template = Some(own("#!/bin/bash\n\n{{ acount }}\n"));
    let error = cluster.launcher().render_script(&cluster.job(2, "true"));
    let error = error.expect_err("refused").to_string();
    assert!(error.starts_with("site.j2:3: "), "{error}");
    let start_error = cluster.launcher().start(&cluster.job(2, "true")).err();
    assert!(
        matches!(start_error, Some(LaunchError::Template { line: 3, .. })),
        "{start_error:?}"
    );
}

#[test]
fn values_that_a_script_cannot_contain_are_refused() {
    let with = |job: Job| render(LibraryName::OpenMpi, plain("slurm"), &job);
    let variable = Job {
        environment: vec![("A-B".into(), "c".into())],
        ..job()
    };
    let line_break = Job {
        plan: PathBuf::from("/shared/a\nb/0001.plan.json"),
        ..job()
    };
    for (job, what) in [(variable, "`A-B`"), (line_break, "cannot contain")] {
        let error = with(job).expect_err("refused").to_string();
        assert!(error.contains(what), "{error}");
    }
    let odd = Job {
        driver: PathBuf::from("/shared/it's a $driver/`x`"),
        ..job()
    };
    let script = with(odd).expect("rendered");
    let line = r"readonly driver='/shared/it'\''s a $driver/`x`'";
    assert!(script.contains(line), "{script}");
}
