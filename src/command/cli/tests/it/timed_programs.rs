//! `validate --command` and `check --command`: whole programs, without and with a table.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use testkit::tables;

use crate::interrupt::wait_for_pids;
use crate::mpi::{place_with, run};
use crate::run::Place;

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

/// A launcher that starts its last argument as a rank would be started, with the variables that it is given, and writes
/// the summary that a rank would write.
const MPIRUN: &str = "\
while [ $# -gt 1 ]; do
    case $1 in
    -x) [ \"${2%%=*}\" = LD_PRELOAD ] || export \"$2\"; shift ;;
    esac
    shift
done
[ -z \"$COLLTUNE_LOG\" ] || echo 'colltune: a summary' > \"$COLLTUNE_LOG\"
exec \"$1\"";

/// A program that prints a time: shorter with the table.
const PROGRAM: &str = "\
echo 'Loop time of 99 steps'
if [ -n \"$COLLTUNE_TABLE\" ]; then echo \"Loop time of ${WITH:-1.6}\"; else echo 'Loop time of 2.0'; fi";

fn add_program(place: &Place, name: &str, script: &str) {
    place.write(name, format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(place.path(name), PermissionsExt::from_mode(0o755)).unwrap();
}

/// A folder with a table, a launcher and the program `app`.
fn prepared(program: &str) -> Place {
    let place = Place::with_mpirun(MPIRUN);
    place.write("lib/openmpi-4.1.4/libcolltune.so", "");
    let table = tables::table_yaml("by-hand", "openmpi", "4.1.4", COLLECTIVES);
    place.write("table.yaml", table);
    add_program(&place, "app", program);
    place
}

const FIGURE: &str = r"Loop time of ([0-9.]+)$";

/// What `--figure` finds for a command, as JSON.
struct Compared<'a> {
    verb: &'a str,
    command: &'a str,
    further: &'a [&'a str],
}

impl Compared<'_> {
    /// Times the command; the verdict and the exit code must be these.
    #[track_caller]
    fn expect(&self, place: &Place, verdict: &str, code: i32) -> Value {
        let mut args = vec![self.verb, "table.yaml", "--command", self.command, "--json"];
        args.extend(["--figure", FIGURE, "--pairs", "6", "--quiet"]);
        args.extend(self.further);
        let output = place.command(&args).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let read = serde_json::from_slice(&output.stdout);
        let found: Value = read.unwrap_or_else(|_| panic!("{errors}"));
        assert_eq!(found["verdict"], verdict, "{found}");
        assert_eq!(output.status.code(), Some(code), "{found}");
        found
    }
}

fn compared<'a>(verb: &'a str, command: &'a str) -> Compared<'a> {
    Compared {
        verb,
        command,
        further: &[],
    }
}

#[test]
fn a_figure_in_the_output_is_compared_in_pairs() {
    let place = prepared(PROGRAM);
    let before = place.files();
    for verb in ["validate", "check"] {
        let found = compared(verb, "mpirun -n 2 ./app").expect(&place, "faster", 0);
        assert_eq!(found["speedup"], 1.25, "{found}");
        assert_eq!(found["pairs"], 6, "{found}");
        // One pair does not count.
        assert_eq!(found["runs"].as_array().unwrap().len(), 14, "{found}");
        assert_eq!(found["variants"][0]["median"], 2.0, "{found}");
        let sentence = found["sentence"].as_str().unwrap();
        assert!(sentence.contains("1.250 times as good"), "{sentence}");
    }
    assert_eq!(place.files(), before, "no file is left");
    // The same figures as a rate.
    let rate = Compared {
        further: &["--higher-is-better"],
        ..compared("check", "mpirun -n 2 ./app")
    };
    let slower = rate.expect(&place, "slower", 1);
    let sentence = slower["sentence"].as_str().unwrap();
    assert!(sentence.contains("makes it slower"), "{sentence}");
}

#[test]
fn scripts_get_the_table_through_the_launchers_that_they_call() {
    let place = prepared(PROGRAM);
    add_program(&place, "job.sh", "mpirun -n 2 ./app && mpirun -n 2 ./app");
    for command in ["./job.sh", "/bin/sh -c 'mpirun ./app'"] {
        compared("validate", command).expect(&place, "faster", 0);
    }
}

#[test]
fn times_are_written_and_shown() {
    let place = prepared(PROGRAM);
    let line = [
        "validate",
        "table.yaml",
        "--command",
        "mpirun ./app",
        "--pairs",
        "6",
    ];
    let outputs = ["--times", "runs.csv", "--markdown", "found.md"];
    let ran = place.run(&[&line[..], &outputs].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    assert!(ran.out.contains("without the table"), "{ran:?}");
    assert!(ran.out.contains("times as fast"), "{ran:?}");
    let runs = place.read("runs.csv");
    assert!(
        runs.starts_with("pair,variant,seconds,figure\n0,without,"),
        "{runs}"
    );
    assert_eq!(runs.lines().count(), 15, "{runs}");
    assert!(place.read("found.md").contains("`mpirun ./app`"));
    let junit = [
        "check",
        "table.yaml",
        "--command",
        "mpirun ./app",
        "--figure",
        FIGURE,
    ];
    let junit = [&junit[..], &["--junit", "found.xml", "--pairs", "6"]].concat();
    place.run(&junit).good();
    assert!(
        place
            .read("found.xml")
            .contains("testcase name=\"mpirun ./app\"")
    );
}

#[test]
fn a_program_that_fails_with_the_table_alone_is_a_loss() {
    let place = prepared("[ -z \"$COLLTUNE_TABLE\" ] || { echo 'it broke' >&2; exit 7; }");
    for verb in ["validate", "check"] {
        let ran = place.run(&[verb, "table.yaml", "--command", "mpirun ./app"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let sentence = "in a pair that does not count, it ended with exit code 7: it broke";
        assert!(ran.out.contains(sentence), "{ran:?}");
    }
    // A figure that it does not print with the table.
    let silent = prepared("[ -n \"$COLLTUNE_TABLE\" ] || echo 'Loop time of 2.0'");
    compared("check", "mpirun ./app").expect(&silent, "fails", 1);
    let always = prepared("exit 7");
    let ran = always.run(&["validate", "table.yaml", "--command", "mpirun ./app"]);
    ran.bad(
        3,
        &["fails without the table", "exit code 7: it printed nothing"],
    );
}

#[test]
fn the_environments_differ_in_the_table_alone() {
    // Slurm's launcher passes on names of variables, whose values are in its environment.
    let place = prepared(PROGRAM);
    place.add_launcher(
        "srun",
        "slurm 22.05.8",
        "for word in \"$@\"; do last=$word; done\n\
         [ -z \"$COLLTUNE_LOG\" ] || echo 'colltune: a summary' > \"$COLLTUNE_LOG\"\n\
         exec \"$last\"",
    );
    add_program(
        &place,
        "show",
        "echo \"${COLLTUNE_TABLE##*/} ${COLLTUNE_DISABLE:-on} ${LD_PRELOAD##*/} $COLLTUNE_WITH_TABLE\" >> seen\n\
         ./app",
    );
    let line = "validate table.yaml --pairs 6 --warmups 0 --quiet --figure of.([0-9.]+)$";
    let mut args: Vec<&str> = line.split(' ').collect();
    args.extend(["--command", "srun -n 2 ./show"]);
    let site = [
        ("COLLTUNE_TABLE", "/opt/site.yaml"),
        ("COLLTUNE_DISABLE", "1"),
        ("LD_PRELOAD", "/opt/lib/libcolltune.so"),
        ("COLLTUNE_WITH_TABLE", "/opt/with-table"),
    ];
    let output = place.command(&args).envs(site).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("1.250 times as good"), "{text}{output:?}");
    let seen = place.read("seen");
    let mut seen: Vec<&str> = seen.lines().collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [" on  env", "table.yaml on  env"]);
}

/// A requirement of the site's own, or of the user's shell, does not count.
#[test]
fn the_program_gets_the_required_numerics() {
    let place = prepared(
        "echo ${COLLTUNE_NUMERICS:-unset} >> seen\n\
         if [ -n \"$COLLTUNE_TABLE\" ]; then echo Loop time of 1.6; else echo Loop time of 2.0; fi",
    );
    // Scripts start launchers through `colltune run`.
    add_program(&place, "job.sh", "mpirun -n 2 ./app");
    for command in ["mpirun -n 2 ./app", "./job.sh"] {
        for (options, given) in [
            (
                &["--numerics", "independent_of_size"][..],
                "independent_of_size",
            ),
            (&[], "none"),
        ] {
            place.write("seen", "");
            let mut args = vec!["validate", "table.yaml", "--command", command, "--quiet"];
            args.extend(["--figure", FIGURE, "--pairs", "6", "--warmups", "0"]);
            args.extend(options);
            let mut started = place.command(&args);
            started.env("COLLTUNE_NUMERICS", "independent_of_placement");
            let output = started.output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            let seen = place.read("seen");
            let mut seen: Vec<&str> = seen.lines().collect();
            seen.sort_unstable();
            seen.dedup();
            let mut expected = [given, "unset"];
            expected.sort_unstable();
            assert_eq!(seen, expected, "{command}");
        }
    }
}

#[test]
fn scripts_may_extend_their_search_path() {
    let place = prepared("solver");
    place.write("own/solver", format!("#!/bin/sh\n{PROGRAM}\n"));
    fs::set_permissions(place.path("own/solver"), PermissionsExt::from_mode(0o755)).unwrap();
    // At the end, so that the launchers that colltune puts first are found.
    add_program(
        &place,
        "job.sh",
        "PATH=$PATH:$PWD/own\nexport PATH\nmpirun ./app",
    );
    let found = compared("check", "./job.sh").expect(&place, "faster", 0);
    assert_eq!(found["intercepted"], true, "{found}");
}

#[test]
fn runs_that_did_not_use_the_table_show_nothing() {
    let place = prepared(PROGRAM);
    // No launcher is called.
    let found = compared("check", "./app").expect(&place, "nothing_shown", 3);
    assert_eq!(found["intercepted"], false, "{found}");
    let sentence = found["sentence"].as_str().unwrap();
    assert!(sentence.contains("No call was intercepted"), "{sentence}");
    // A launcher of another release than the table's.
    place.add_launcher("mpirun", "mpirun (Open MPI) 4.1.8", MPIRUN);
    add_program(&place, "job.sh", "mpirun ./app");
    let refused = place.run(&["validate", "table.yaml", "--command", "./job.sh"]);
    refused.bad(
        3,
        &[
            "could not be started with the table",
            "made for openmpi-4.1.4",
        ],
    );
    let empty = tables::table_yaml("by-hand", "openmpi", "4.1.4", "  {}");
    place.write("table.yaml", empty);
    let ran = place.run(&["validate", "table.yaml", "--command", "mpirun ./app"]);
    ran.bad(2, &["the table has no rules"]);
}

#[test]
fn a_table_whose_folder_is_read_only_is_timed_from_here() {
    let place = prepared(PROGRAM);
    let deployed = tempfile::tempdir().unwrap();
    let table = deployed.path().join("table.yaml");
    fs::copy(place.path("table.yaml"), &table).unwrap();
    fs::set_permissions(deployed.path(), PermissionsExt::from_mode(0o555)).unwrap();
    let mut args = vec![
        "validate",
        table.to_str().unwrap(),
        "--command",
        "mpirun ./app",
    ];
    args.extend(["--figure", FIGURE, "--pairs", "6", "--warmups", "0"]);
    let ran = place.run(&args).good();
    assert!(ran.out.contains("1.250 times as good"), "{ran:?}");
    fs::set_permissions(deployed.path(), PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn the_librarys_own_settings_are_put_in_place_for_the_whole_program() {
    let place = prepared("echo \"Loop time of ${OMPI_MCA_coll_tuned_dynamic_rules_filename:+1}1\"");
    let rules = "  bcast:\n    message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 1\n        \
                 ppn: 2\n        deployment: library\n        rules:\n          \
                 - {from: 0, candidate: 'native:bcast/binomial', speedup: 1.5, confidence: high, confirmed: true}\n";
    let table = tables::table_yaml("by-hand", "openmpi", "4.1.4", rules);
    place.write("table.yaml", table);
    let with_settings = Compared {
        further: &["--deployment", "library"],
        ..compared("validate", "mpirun ./app")
    };
    // 11 with the rules' file, 1 without.
    let found = with_settings.expect(&place, "slower", 1);
    assert_eq!(found["variants"][1]["median"], 11.0, "{found}");
    assert_eq!(found["intercepted"], Value::Null, "{found}");
}

#[test]
fn time_that_runs_out_ends_the_test() {
    let place = prepared(PROGRAM);
    add_program(&place, "slow", "mpirun ./app; /bin/sleep 0.4");
    let short = Compared {
        further: &["--budget", "2s", "--times", "runs.csv"],
        ..compared("check", "./slow")
    };
    let found = short.expect(&place, "nothing_shown", 3);
    assert_eq!(found["out_of_time"], true, "{found}");
    assert!(place.read("runs.csv").lines().count() > 2);
}

/// A terminal that is closed hangs up. The program is ended and no file is left, unless `nohup` has the command go on.
#[test]
fn a_hangup_ends_the_program_and_leaves_no_file() {
    // The program tells its process id, and starts another process.
    let sleeps = "/bin/sleep 1000 &\necho $$ $! > pids.part\n/bin/mv pids.part pids\nwait";
    for ignored in [false, true] {
        let place = prepared(sleeps);
        let before = place.files();
        let plain = place.command(&["validate", "table.yaml", "--command", "mpirun ./app"]);
        let mut command = Command::new("/bin/sh");
        let script = if ignored {
            "trap '' HUP; exec \"$0\" \"$@\""
        } else {
            "exec \"$0\" \"$@\""
        };
        command.args(["-c", script]).arg(plain.get_program());
        command.args(plain.get_args()).env_clear();
        let variables = plain.get_envs();
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(place.path(""));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let pids = wait_for_pids(&place);
        let command_pid = Pid::from_raw(child.id().cast_signed());
        kill(command_pid, Signal::SIGHUP).unwrap();
        if ignored {
            std::thread::sleep(Duration::from_millis(300));
            assert!(pids.iter().all(|pid| kill(*pid, None).is_ok()));
            kill(command_pid, Signal::SIGTERM).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{errors}");
        assert!(errors.contains("interrupted"), "{errors}");
        for pid in pids {
            assert_eq!(kill(pid, None), Err(Errno::ESRCH), "{pid} survives");
        }
        std::fs::remove_file(place.path("pids")).unwrap();
        assert_eq!(place.files(), before, "a file is left");
    }
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let place = prepared("echo 'Loop time of zero'; echo 'Loop time of 0'");
    let bad = |args: &[&str], parts: &[&str]| {
        let line = ["validate", "table.yaml", "--command"];
        place.run(&[&line[..], args].concat()).bad(2, parts);
    };
    let not_positive = ["mpirun ./app", "--figure", FIGURE];
    bad(
        &not_positive,
        &["has no figure for", "`0`, not a positive number"],
    );
    let without_match = ["mpirun ./app", "--figure", "speed ([0-9]+)"];
    bad(&without_match, &["nothing matches it", "first group"]);
    bad(&["mpirun './app"], &["`--command`", "close all quotes"]);
    bad(&[""], &["has no words"]);
    bad(&["mpirun ./app", "--figure", "("], &["--figure"]);
    bad(&["mpirun ./app", "--pairs", "5"], &["6..=1000"]);
    bad(&["mpirun ./app", "--repair"], &["--repair"]);
    let other = tables::table_yaml("by-hand", "openmpi", "4.1.8", COLLECTIVES);
    place.write("table.yaml", other);
    bad(&["mpirun ./app"], &["made for openmpi-4.1.8"]);
}

#[test]
fn a_program_of_open_mpi_is_timed_with_and_without_a_table() {
    let Some(place) = place_with("openmpi", "") else {
        return;
    };
    let table = tables::table_yaml("by-hand", "openmpi", "4.1.4", COLLECTIVES);
    place.write("table.yaml", table);
    place.write(
        "program.c",
        "#include <mpi.h>\n#include <stdio.h>\n\
         int main(int n, char **a) { int one = 1, sum, rank; MPI_Init(&n, &a);\n\
         for (int i = 0; i < 10; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n\
         MPI_Comm_rank(MPI_COMM_WORLD, &rank); if (rank == 0) printf(\"sum %d\\n\", sum);\n\
         MPI_Finalize(); return 0; }\n",
    );
    let compiler = std::env::var("MPICC_OPENMPI").unwrap_or_else(|_| "mpicc.openmpi".to_owned());
    let compiled = Command::new(compiler)
        .args(["-o", "program", "program.c"])
        .current_dir(place.path(""))
        .status();
    assert!(compiled.expect("the compiler starts").success());
    let launch = "mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 ./program";
    // The launcher itself, and a script that calls it.
    for command in [launch.to_owned(), format!("sh -c '{launch}'")] {
        let mut args = vec!["validate", "table.yaml", "--command", &command];
        args.extend(["--figure", "sum ([0-9]+)", "--pairs", "6", "--warmups", "0"]);
        let ran = run(&place, &args);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        assert!(
            ran.out.contains("1.000 times as good"),
            "{}{}",
            ran.out,
            ran.err
        );
        let text = format!("{}{}", ran.out, ran.err);
        let mut rows = text.lines();
        let row = rows.find(|line| line.ends_with("allreduce/recursive_doubling"));
        let calls = row.and_then(|row| row.split_whitespace().nth(2));
        assert_eq!(calls, Some("10"), "{text}");
    }
}
