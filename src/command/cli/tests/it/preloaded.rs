//! `colltune run`: programs with a table.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use testkit::tables;

use crate::mpi::{place_with, run};
use crate::run::Place;

/// A table's decisions on two ranks.
const COLLECTIVES: &str = "
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: any
        rules:
          - {from: 0, candidate: allreduce/recursive_doubling, speedup: 1.5, confidence: high, confirmed: true}
";

/// A table for a release of Open MPI.
fn table_for(version: &str) -> String {
    tables::table_yaml("by-hand", "openmpi", version, COLLECTIVES)
}

/// A launcher that prints its arguments and writes the summary that a rank would write.
const MPIRUN: &str = "\
echo \"$@\"
echo \"launcher: ${LD_PRELOAD:-nothing} preloaded\"
for word in \"$@\"; do
    case $word in COLLTUNE_LOG=*) echo 'colltune: a summary' > \"${word#*=}\" ;; esac
done
[ \"$3\" != fail ]";

fn prepared(script: &str) -> Place {
    let place = Place::with_mpirun(script);
    place.write("lib/openmpi-4.1.4/libcolltune.so", "");
    place.write("table.yaml", table_for("4.1.4"));
    place
}

#[test]
fn only_ranks_are_given_the_table() {
    let place = prepared(MPIRUN);
    let before = place.files();
    let ran = place.run(&["run", "table.yaml", "--", "mpirun", "-n", "2", "./program"]);
    let ran = ran.good();
    let command = "-x LD_PRELOAD=DIR/lib/openmpi-4.1.4/libcolltune.so \
                   -x COLLTUNE_TABLE=DIR/table.yaml -x COLLTUNE_LOG=DIR/";
    assert!(ran.out.starts_with(command), "{}", ran.out);
    assert!(ran.out.contains(" -n 2 ./program\n"), "{}", ran.out);
    assert!(
        ran.out.contains("launcher: nothing preloaded"),
        "{}",
        ran.out
    );
    assert!(ran.out.ends_with("colltune: a summary\n"), "{}", ran.out);
    assert_eq!(place.files(), before, "the summary's file is gone");
    let quiet = [
        "run",
        "table.yaml",
        "--quiet",
        "--",
        "mpirun",
        "-n",
        "2",
        "./program",
    ];
    assert!(!place.run(&quiet).good().out.contains("a summary"));
    let switched = ["run", "table.yaml", "--reload", "--", "mpirun", "a"];
    let out = place.run(&switched).good().out;
    assert!(out.contains("-x COLLTUNE_RELOAD=1"), "{out}");
    assert!(out.contains("-x COLLTUNE_FORCE=0"), "{out}");
    let policy = "-x COLLTUNE_UNCONFIRMED=0 -x COLLTUNE_EXTRAPOLATE=0 ";
    assert!(out.contains(policy), "{out}");
    let kept = [
        "run",
        "table.yaml",
        "--log",
        "log",
        "--",
        "mpirun",
        "-n",
        "2",
        "./program",
    ];
    place.run(&kept).good();
    assert_eq!(place.read("log"), "colltune: a summary\n");
}

#[test]
fn summaries_replace_only_files() {
    let place = prepared("exit 0");
    let run = |log: &str| place.run(&["run", "table.yaml", "--log", log, "--", "mpirun", "a"]);
    mkfifo(&place.path("fifo"), Mode::S_IRWXU).unwrap();
    symlink("/dev/null", place.path("null")).unwrap();
    for log in ["fifo", "null"] {
        let before = fs::metadata(place.path(log)).unwrap();
        let ran = run(log);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let after = fs::metadata(place.path(log)).unwrap();
        assert_eq!(
            (after.dev(), after.ino()),
            (before.dev(), before.ino()),
            "{log}"
        );
    }
    assert!(
        fs::symlink_metadata(place.path("null"))
            .unwrap()
            .is_symlink()
    );
    run("bin").bad(2, &["cannot write", "bin"]);
    let print = "run table.yaml --log ./table.yaml --print-environment";
    place
        .run_line(print)
        .bad(2, &["`--log`", "the same file as TABLE.yaml"]);
    // The summary of an earlier run is replaced, through a link.
    place.write("earlier", "colltune: a summary\n");
    symlink("earlier", place.path("link")).unwrap();
    let ran = run("link");
    assert!(ran.err.contains("no call was intercepted"), "{}", ran.err);
    assert!(place.read("earlier").contains("no call was intercepted"));
    assert!(!place.read("earlier").contains("a summary"));
    assert!(
        fs::symlink_metadata(place.path("link"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn ranks_are_given_the_policy_and_tables_without_deployed_rules_cause_a_warning() {
    let place = prepared(MPIRUN);
    let run = |options: &[&str]| {
        let args = [&["run", "table.yaml"], options, &["--", "mpirun", "a"]].concat();
        let ran = place.run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        (ran.out, ran.err)
    };
    let options = ["--min-confidence", "low", "--unconfirmed", "--extrapolate"];
    let (out, err) = run(&options);
    let policy =
        "-x COLLTUNE_UNCONFIRMED=1 -x COLLTUNE_EXTRAPOLATE=1 -x COLLTUNE_MIN_CONFIDENCE=low ";
    assert!(out.contains(policy), "{out}");
    assert!(!err.contains("warning"), "{err}");
    let confirmed = table_for("4.1.4");
    let check = |table: String, option: &[&str], parts: &[&str]| {
        place.write("table.yaml", table);
        let (_, err_without) = run(&[]);
        for part in parts {
            assert!(err_without.contains(part), "no `{part}` in {err_without}");
        }
        let (_, err_with) = run(option);
        assert!(!err_with.contains("warning"), "{err_with}");
    };
    check(
        confirmed.replace(", confirmed: true", ""),
        &["--unconfirmed"],
        &[
            "warning: no rule of table.yaml is used, so the library carries out all collectives",
            "1 of 1 rule is not used: 1 is not confirmed",
            "colltune validate --confirm",
            "--unconfirmed",
        ],
    );
    check(
        confirmed.replace("confidence: high", "confidence: low"),
        &["--min-confidence", "low"],
        &["1 lacks confidence", "--min-confidence low"],
    );
    place
        .run_line("run table.yaml --min-confidence hihg -- mpirun a")
        .bad(2, &["hihg", "low, medium, high"]);
}

#[test]
fn ranks_are_given_the_requirement_on_bits_even_if_it_is_none() {
    let place = prepared(MPIRUN);
    let run = |options: &[&str]| {
        let args = [&["run", "table.yaml"], options, &["--", "mpirun", "a"]].concat();
        let mut command = place.command(&args);
        command.env("COLLTUNE_NUMERICS", "independent_of_size");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let placement = "independent_of_placement";
    for (options, given) in [
        (&[][..], "independent_of_size"),
        (&["--numerics", "none"], "none"),
        (&["--numerics", placement], placement),
    ] {
        let out = run(options);
        let variable = format!("-x COLLTUNE_NUMERICS={given} ");
        assert_eq!(out.matches("COLLTUNE_NUMERICS").count(), 1, "{out}");
        assert!(out.contains(&variable), "no `{variable}` in {out}");
    }
    place
        .run_line("run table.yaml --numerics size -- mpirun a")
        .bad(
            2,
            &[
                "'size'",
                "same_on_all_ranks, independent_of_placement and independent_of_size",
            ],
        );
    // Elements of one vector have different bits.
    let ring = table_for("4.1.4")
        .replace("allreduce/recursive_doubling", "allreduce/ring")
        .replace("operators: any", "operators: commutative");
    place.write("table.yaml", ring);
    let args = [
        "run",
        "table.yaml",
        "--numerics",
        "independent_of_size",
        "--",
        "mpirun",
        "a",
    ];
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for part in [
        "1 of 1 rule is not used: 1 gives bits that depend on what `numerics` excludes",
        "--numerics none also uses rules whose bits depend on placement or size",
    ] {
        assert!(ran.err.contains(part), "no `{part}` in {}", ran.err);
    }
}

#[test]
fn ranks_are_told_where_to_record_and_to_count_the_job() {
    let place = prepared(MPIRUN);
    let mut command = place.command(&["run", "table.yaml", "--", "mpirun", "a"]);
    command
        .env("COLLTUNE_RECORD", "profiles")
        .env("COLLTUNE_USAGE", "/shared/usage");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let out = place.anonymous(&output.stdout);
    for variable in [
        "-x COLLTUNE_RECORD=DIR/profiles ",
        "-x COLLTUNE_USAGE=/shared/usage ",
    ] {
        assert!(out.contains(variable), "no `{variable}` in {out}");
    }
    let without = place.run_line("run table.yaml -- mpirun a").good().out;
    for name in ["COLLTUNE_RECORD", "COLLTUNE_USAGE"] {
        assert!(!without.contains(name), "{without}");
    }
}

#[test]
fn tables_that_do_nothing_are_reported_with_a_remedy() {
    let place = prepared("true");
    let run = ["run", "table.yaml", "--", "mpirun", "a"];
    let rule = "      - nodes: 1\n        ppn: 2\n        deployment: any\n        rules:\n          \
                - {from: 0, candidate: 'native:bcast/chain', speedup: 2.0, confidence: high, confirmed: true}\n";
    let rules =
        format!("  bcast:\n    message_size: bytes of one rank's vector\n    shapes:\n{rule}");
    place.write(
        "table.yaml",
        tables::table_yaml("natives", "openmpi", "4.1.4", &rules),
    );
    let ran = place.run(&run);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let err = ran.err;
    assert!(
        err.contains("for the library's own algorithms only"),
        "{err}"
    );
    assert!(err.contains("`colltune export`"), "{err}");
    place.write(
        "table.yaml",
        tables::table_yaml("model", "simulated", "1", COLLECTIVES),
    );
    place.run(&run).bad(2, &["`--force --unconfirmed`"]);
}

/// A program that ignores `--version` would start its work.
#[test]
fn a_forgotten_launcher_starts_nothing() {
    let place = prepared("true");
    place.write("bin/solver", "#!/bin/sh\ntouch ran\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path("bin/solver"), mode).unwrap();
    place.run(&["run", "table.yaml", "--", "solver"]).bad(
        3,
        &["names such as `mpirun`", "start ranks with a launcher"],
    );
    assert!(!place.path("ran").exists());
}

#[test]
fn every_program_of_a_launch_is_given_the_table() {
    let place = prepared("echo \"$@\"");
    let command = ["mpirun", "-n", "2", "a", ":", "-n", "1", "b"];
    let out = |words: &[&str]| {
        let ran = place.run(&[&["run", "table.yaml", "--force", "--"], words].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out
    };
    let of_openmpi = out(&command);
    assert_eq!(
        of_openmpi
            .matches("-x COLLTUNE_TABLE=DIR/table.yaml ")
            .count(),
        2
    );
    assert!(
        of_openmpi.contains(" -n 2 a : -x LD_PRELOAD="),
        "{of_openmpi}"
    );
    // MPICH sets them for all programs.
    place.add_launcher(
        "mpiexec",
        "HYDRA build details:\nVersion: 4.1.4",
        "echo \"$@\"",
    );
    place.write("lib/mpich-4.1.4/libcolltune.so", "");
    let of_mpich = out(&[&["mpiexec"], &command[1..]].concat());
    assert_eq!(
        of_mpich
            .matches("-genv COLLTUNE_TABLE DIR/table.yaml ")
            .count(),
        1
    );
    assert!(of_mpich.starts_with("-genv LD_PRELOAD "), "{of_mpich}");
    assert!(of_mpich.ends_with(" -n 2 a : -n 1 b\n"), "{of_mpich}");
}

/// Prints its arguments and what it finds in its own environment.
const SRUN: &str = "\
echo \"srun: ${LD_PRELOAD:-nothing} preloaded, table $COLLTUNE_TABLE, mode ${MODE:-none}\"
for word in \"$@\"; do echo \"argument: $word\"; done
echo 'colltune: a summary' > \"$COLLTUNE_LOG\"";

#[test]
fn srun_preloads_only_into_ranks() {
    let place = prepared("exit 1");
    place.add_launcher("srun", "slurm 22.05.8", SRUN);
    let out = |command: &[&str]| {
        let ran = place.run(&[&["run", "table.yaml", "--"], command].concat());
        ran.good().out
    };
    let names = "COLLTUNE_TABLE,COLLTUNE_LOG,COLLTUNE_FORCE,COLLTUNE_RELOAD,\
                 COLLTUNE_UNCONFIRMED,COLLTUNE_EXTRAPOLATE";
    let library = "LD_PRELOAD=DIR/lib/openmpi-4.1.4/libcolltune.so";
    let told = out(&["env", "MODE=fast", "srun", "-n", "2", "./program", "a b"]);
    let expected = format!(
        "srun: nothing preloaded, table DIR/table.yaml, mode fast\n\
         argument: --export=ALL,{library},{names}\n\
         argument: -n\nargument: 2\nargument: ./program\nargument: a b\n\
         colltune: a summary\n"
    );
    assert_eq!(told, expected);
    // Variables that the user exports stay exported.
    let exported = out(&["srun", "-n2", "--export=A=1,B", "./program"]);
    let line =
        format!("argument: --export=A=1,B,{library},{names}\nargument: -n2\nargument: ./program\n");
    assert!(exported.contains(&line), "{exported}");
    let parts = out(&["srun", "-n1", "a", ":", "-n2", "b"]);
    assert_eq!(parts.matches(&format!("--export=ALL,{library}")).count(), 2);
    let none = [
        "run",
        "table.yaml",
        "--",
        "srun",
        "--export=NONE",
        "./program",
    ];
    place.run(&none).bad(2, &["--export=NONE", "remove it"]);
    // The MPI library is not known from srun.
    let other = [
        "run",
        "table.yaml",
        "--library",
        "mpich-4.0.2",
        "--",
        "srun",
        "a",
    ];
    place
        .run(&other)
        .bad(2, &["made for openmpi-4.1.4", "mpich-4.0.2"]);
}

#[test]
fn a_command_may_begin_with_variables() {
    let place = prepared("echo \"mode $MODE\"; echo \"$@\"");
    let command = [
        "run",
        "table.yaml",
        "--force",
        "--",
        "/usr/bin/env",
        "MODE=a b",
        "mpirun",
        "a",
    ];
    let ran = place.run(&command);
    assert!(ran.out.starts_with("mode a b\n-x LD_PRELOAD="), "{ran:?}");
    assert!(ran.out.ends_with(" a\n"), "{ran:?}");
    // Our library comes before those of the assignment.
    let preloading = [
        "run",
        "table.yaml",
        "--force",
        "--",
        "env",
        "LD_PRELOAD=",
        "mpirun",
        "a",
    ];
    let ours = "-x LD_PRELOAD=DIR/lib/openmpi-4.1.4/libcolltune.so";
    let with_empty = place.run(&preloading);
    assert!(
        with_empty.out.contains(&format!("{ours} ")),
        "{with_empty:?}"
    );
    let other = place.path("other.so").display().to_string();
    let assigned = format!("LD_PRELOAD={other}");
    let preloading_other = [
        "run",
        "table.yaml",
        "--force",
        "--",
        "env",
        &assigned,
        "mpirun",
        "a",
    ];
    let with_other = place.run(&preloading_other);
    assert!(
        with_other.out.contains(&format!("{ours}:DIR/other.so ")),
        "{with_other:?}"
    );
    let nothing = ["run", "table.yaml", "--", "env", "MODE=a"];
    place
        .run(&nothing)
        .bad(3, &["does not begin with a launcher"]);
}

/// The effect of the printed lines in a shell.
#[test]
fn variables_are_printed_for_any_launcher() {
    let place = prepared("exit 1");
    let table = "a 'table'.yaml";
    place.write(table, table_for("4.1.4"));
    let args = [
        "run",
        table,
        "--print-environment",
        "--log",
        "calls.txt",
        "--reload",
    ];
    let printed = place.run(&args).good().out;
    let read = |before: &str| {
        let script = format!(
            "{before}\n{}\n/usr/bin/printf '%s|' \"$LD_PRELOAD\" \"$COLLTUNE_TABLE\" \"$COLLTUNE_LOG\" \
             \"$COLLTUNE_FORCE\" \"$COLLTUNE_RELOAD\"",
            printed.replace("export LD_PRELOAD", "LD_PRELOAD")
        );
        let output = Command::new("sh")
            .args(["-c", &script])
            .output()
            .expect("a shell");
        place.anonymous(&output.stdout)
    };
    let library = "DIR/lib/openmpi-4.1.4/libcolltune.so";
    let rest = "DIR/a 'table'.yaml|DIR/calls.txt|0|1|";
    assert_eq!(read(""), format!("{library}|{rest}"));
    assert_eq!(
        read("LD_PRELOAD=other.so"),
        format!("{library}:other.so|{rest}")
    );
    let mut lines = printed.lines();
    assert!(lines.all(|line| line.starts_with("export ")), "{printed}");
    // Nothing is started, and there is no log unless one is requested.
    assert!(!place.path("calls.txt").exists());
    let plain = place.run(&args[..3]).good().out;
    assert!(!plain.contains("COLLTUNE_LOG"), "{plain}");
    place.write("lib/openmpi-4.1.5/libcolltune.so", "");
    let other = [
        "run",
        table,
        "--force",
        "--print-environment",
        "--library",
        "openmpi-4.1.5",
    ];
    let other = place.run(&other).good().out;
    assert!(other.contains("openmpi-4.1.5/libcolltune.so"), "{other}");
}

#[test]
fn a_program_that_was_not_intercepted_causes_a_warning() {
    let place = prepared("exit 0");
    let ran = place.run(&["run", "table.yaml", "--", "mpirun", "./program"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("no call was intercepted"), "{}", ran.err);
}

#[test]
fn the_exit_code_is_the_programs() {
    let check = |script: &str, code| {
        let ran = prepared(script).run(&["run", "table.yaml", "--", "mpirun", "./program"]);
        assert_eq!(ran.code, Some(code), "{script}: {}", ran.err);
        assert!(!ran.err.contains("error: "), "{script}: {}", ran.err);
    };
    check("exit 0", 0);
    check("exit 7", 7);
    check("exit 255", 255);
    check("kill -KILL $$", 128 + 9);
    check("kill -TERM $$", 128 + 15);
}

#[test]
fn a_signal_that_ends_colltune_ends_the_program() {
    let place = prepared("trap 'exit 42' TERM; echo > started; while :; do :; done");
    let args = ["run", "table.yaml", "--", "mpirun", "./program"];
    let mut running = place.command(&args).spawn().expect("started");
    let patience = Instant::now() + Duration::from_secs(20);
    while !place.path("started").exists() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(10));
    }
    kill(Pid::from_raw(running.id() as i32), Signal::SIGTERM).expect("asked to end");
    let status = running.wait().expect("it ends");
    assert_eq!(status.code(), Some(42));
}

#[test]
fn runs_that_cannot_be_set_up_are_refused() {
    let place = prepared(MPIRUN);
    let check = |args: &[&str], code, parts: &[&str]| {
        place.run(args).bad(code, parts);
    };
    check(
        &["run", "none.yaml", "--", "mpirun", "a"],
        2,
        &["none.yaml"],
    );
    check(&["run", "table.yaml"], 2, &["COMMAND"]);
    check(&["run", "table.yaml", "--", "srun", "a"], 3, &["srun"]);
    check(
        &[
            "run",
            "table.yaml",
            "--log",
            "none/calls",
            "--",
            "mpirun",
            "a",
        ],
        2,
        &["none/calls"],
    );
    place.write("table.yaml", table_for("5.0.7"));
    let refused = ["made for openmpi-5.0.7", "openmpi-4.1.4", "--force"];
    check(&["run", "table.yaml", "--", "mpirun", "a"], 2, &refused);
    place
        .run(&["run", "table.yaml", "--force", "--", "mpirun", "a"])
        .good();
    place.add_mpirun_of("4.0.99", MPIRUN);
    let missing = ["no libcolltune.so for openmpi-4.0.99", "make driver"];
    check(
        &["run", "table.yaml", "--force", "--", "mpirun", "a"],
        3,
        &missing,
    );
}

/// A real program on two ranks.
#[test]
fn a_program_of_open_mpi_runs_with_a_table() {
    let Some(place) = place_with("openmpi", "") else {
        return;
    };
    place.write("table.yaml", table_for("4.1.4"));
    place.write(
        "program.c",
        "#include <mpi.h>\nint main(int n, char **a) { int one = 1, sum; MPI_Init(&n, &a);\n\
         for (int i = 0; i < 10; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n\
         MPI_Finalize(); return sum != 2 ? 1 : n > 1 ? 77 : 0; }\n",
    );
    let compiler = std::env::var("MPICC_OPENMPI").unwrap_or_else(|_| "mpicc.openmpi".to_owned());
    let compiled = Command::new(compiler)
        .args(["-o", "program", "program.c"])
        .current_dir(place.path(""))
        .status();
    assert!(compiled.expect("the compiler starts").success());
    let mpirun = "mpirun.openmpi";
    let command = [
        "--allow-run-as-root",
        "--oversubscribe",
        "-n",
        "2",
        "./program",
    ];
    let mut args = vec!["run", "table.yaml", "--force", "--", mpirun];
    args.extend(command);
    let ran = run(&place, &args);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let row = ran
        .out
        .lines()
        .find(|line| line.ends_with("allreduce/recursive_doubling"));
    let calls = row
        .and_then(|row| row.split_whitespace().nth(2))
        .map(str::to_owned);
    assert_eq!(calls.as_deref(), Some("10"), "{}{}", ran.out, ran.err);
    args.push("fail");
    let failed = run(&place, &args);
    assert_eq!(failed.code, Some(77), "{}{}", failed.out, failed.err);
}

#[test]
fn a_command_without_a_launcher_is_refused_with_a_remedy() {
    let place = crate::made::place();
    place
        .run(&["decide", ".colltune/made.db", "-o", "t.yaml", "--quiet"])
        .good();
    place
        .run(&["run", "t.yaml", "--", "nonesuch", "-n", "4"])
        .bad(
            3,
            &[
                "the command does not begin with a launcher",
                "help: start ranks with a launcher, as in `colltune run TABLE -- mpirun -n 4 PROGRAM`",
                "--print-environment",
            ],
        );
}
