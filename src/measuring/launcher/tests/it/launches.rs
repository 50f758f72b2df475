//! Programs are started by the library's launcher, and no process of theirs survives.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use launcher::{
    Binding, Exit, Installation, Job, LaunchError, Launcher, LocalLauncher, Outcome, Running,
    discover_libraries,
};
use launcher::{LibraryName, LocalOptions, Oversubscribe};
use vocabulary::CommShape;

use crate::CORES;
use testkit::fakes::{Fakes, MPICH, OPEN_MPI_4, process_exists, wait_for};

const LONG: Duration = Duration::from_secs(30);

pub(crate) fn job(fakes: &Fakes, ranks: u32) -> Job {
    Job {
        driver: PathBuf::from("/bin/driver"),
        plan: PathBuf::from("/tmp/plan.json"),
        ranks,
        ppn: ranks,
        log: fakes.path("log"),
        environment: vec![("COLLTUNE_TEST".into(), "from the job".into())],
        timeout: None,
        begin_in: None,
        keep: false,
    }
}

pub(crate) fn local(name: LibraryName, launcher: PathBuf, options: LocalOptions) -> LocalLauncher {
    LocalLauncher::new(
        Installation {
            name,
            version: "1".into(),
            launcher,
            unknown: None,
        },
        options,
        CORES,
    )
}

fn open_mpi(fakes: &Fakes, body: &str) -> LocalLauncher {
    let launcher = fakes.write_launcher("mpirun", OPEN_MPI_4, body);
    local(LibraryName::OpenMpi, launcher, LocalOptions::default())
}

pub(crate) fn start(launcher: &LocalLauncher, job: &Job) -> Box<dyn Running> {
    launcher.start(job).expect("started")
}

pub(crate) fn finish(running: &mut dyn Running) -> Exit {
    running.wait_timeout(LONG).expect("watched").expect("ended")
}

/// A launcher starts `ranks` ranks with a command line that begins and ends like this.
fn check_arguments(name: LibraryName, options: LocalOptions, ranks: u32, expected: &str) {
    let fakes = Fakes::new();
    let launcher = fakes.write_launcher(
        "mpirun",
        "",
        "echo \"$*\"; echo \"test: $COLLTUNE_TEST $EXTRA\"",
    );
    let launcher = local(name, launcher, options);
    let exit = finish(start(&launcher, &job(&fakes, ranks)).as_mut());
    assert_eq!(exit.outcome, Outcome::Success, "{exit:?}");
    assert_eq!(
        exit.tail[0],
        format!("{expected} /bin/driver /tmp/plan.json")
    );
    assert!(exit.tail[1].contains("from the job"), "{exit:?}");
}

#[test]
fn ranks_are_bound_while_there_are_cores() {
    use LibraryName::{IntelMpi, Mpich, OpenMpi};
    let plain = LocalOptions::default;
    let always = LocalOptions {
        oversubscribe: Oversubscribe::Always,
        ..plain()
    };
    let own = LocalOptions {
        options: vec!["--bind-to".into(), "socket".into()],
        ..plain()
    };
    for (name, options, ranks, expected) in [
        (OpenMpi, plain(), 4, "-np 4 --bind-to core"),
        (OpenMpi, plain(), 5, "-np 5 --oversubscribe --bind-to none"),
        (
            OpenMpi,
            always.clone(),
            2,
            "-np 2 --oversubscribe --bind-to none",
        ),
        (OpenMpi, own, 2, "-np 2 --bind-to socket"),
        (Mpich, plain(), 4, "-launcher fork -n 4 -bind-to core"),
        (Mpich, plain(), 5, "-launcher fork -n 5 -bind-to none"),
        (Mpich, always, 2, "-launcher fork -n 2 -bind-to none"),
        (
            IntelMpi,
            plain(),
            4,
            "-launcher fork -n 4 -genv I_MPI_PIN 1",
        ),
        (
            IntelMpi,
            plain(),
            5,
            "-launcher fork -n 5 -genv I_MPI_PIN 0",
        ),
    ] {
        check_arguments(name, options, ranks, expected);
    }
}

#[test]
fn options_reach_launcher_and_ranks() {
    let options = LocalOptions {
        options: vec!["-x".into()],
        environment: [("EXTRA".to_owned(), "too".to_owned())].into(),
        ..LocalOptions::default()
    };
    let fakes = Fakes::new();
    let launcher = fakes.write_launcher("mpirun", "", "echo \"$*; $COLLTUNE_TEST $EXTRA\"");
    let launcher = local(LibraryName::Mpich, launcher, options);
    let exit = finish(start(&launcher, &job(&fakes, 2)).as_mut());
    let expected =
        "-launcher fork -n 2 -bind-to core -x /bin/driver /tmp/plan.json; from the job too";
    assert_eq!(exit.tail, [expected]);
}

#[test]
fn ranks_know_the_rules_that_a_launch_sets() {
    let check = |options: &[&str], variables: &[(&str, &str)], expected: &str| {
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let options = LocalOptions {
            options: options.iter().map(|&word| word.to_owned()).collect(),
            environment: variables.collect(),
            ..LocalOptions::default()
        };
        let fakes = Fakes::new();
        let launcher = fakes.write_launcher("mpirun", "", "echo \"rules: $COLLTUNE_RULES\"");
        let launcher = local(LibraryName::OpenMpi, launcher, options);
        let exit = finish(start(&launcher, &job(&fakes, 2)).as_mut());
        assert_eq!(exit.tail, [format!("rules: {expected}").trim_end()]);
    };
    let (variable, setting) = (
        "OMPI_MCA_coll_tuned_dynamic_rules_filename",
        "coll_tuned_dynamic_rules_filename",
    );
    check(&[], &[("OMPI_MCA_btl", "self,tcp")], "");
    // Rules of a site do not count as rules that the launch sets.
    check(&[], &[("OMPI_MCA_coll", "^han")], "OMPI_MCA_coll");
    check(&["--mca", "coll", "^han"], &[], "OMPI_MCA_coll");
    check(&[], &[(variable, "rules.conf")], variable);
    check(&["--mca", setting, "rules.conf"], &[], variable);
    check(
        &["-x", "OMPI_MCA_coll_tuned_dynamic_rules_filename=a"],
        &[],
        variable,
    );
}

/// Run by the test below, which sets variables for it.
#[test]
#[ignore = "it needs presets in its environment"]
fn presets_in_this_environment() {
    let check = |name: LibraryName, options: &[&str], expected: &[&str]| {
        let fakes = Fakes::new();
        let body = "echo \"bcast: $I_MPI_ADJUST_BCAST, reduce: $I_MPI_ADJUST_REDUCE\"\n\
                    printf '%s' \"$COLLTUNE_REMOVED\" | sort";
        let launcher = fakes.write_launcher("mpirun", "", body);
        let own = ("I_MPI_ADJUST_REDUCE".to_owned(), "5".to_owned());
        let options = LocalOptions {
            options: options.iter().map(|&word| word.to_owned()).collect(),
            environment: [own].into(),
            ..LocalOptions::default()
        };
        let exit = finish(start(&local(name, launcher, options), &job(&fakes, 2)).as_mut());
        assert_eq!(exit.tail, expected);
    };
    let removed = [
        "bcast: , reduce: 5",
        "I_MPI_ADJUST_BCAST=3:0-64",
        "I_MPI_ADJUST_REDUCE=2",
    ];
    check(LibraryName::IntelMpi, &[], &removed);
    let unrelated = ["-genv", "I_MPI_ADJUST_SCAN=1"];
    check(LibraryName::IntelMpi, &unrelated, &removed);
    check(LibraryName::Mpich, &[], &["bcast: 3:0-64, reduce: 5"]);
    // Options that name them: they pass them on, or set them.
    let kept = ["bcast: 3:0-64, reduce: 5", "I_MPI_ADJUST_REDUCE=2"];
    for options in [
        ["-genvlist", "I_MPI_ADJUST_SCAN,I_MPI_ADJUST_BCAST"],
        ["-genv", "I_MPI_ADJUST_BCAST=3:0-64"],
    ] {
        check(LibraryName::IntelMpi, &options, &kept);
    }
}

/// The library reads them before a program can remove them.
#[test]
fn presets_of_a_site_are_removed_by_the_launcher_and_those_of_the_campaign_stay() {
    let this_program = std::env::current_exe().expect("this program");
    let mut inner = Command::new(this_program);
    inner
        .args([
            "--ignored",
            "--exact",
            "launches::presets_in_this_environment",
        ])
        .env("I_MPI_ADJUST_BCAST", "3:0-64")
        .env("I_MPI_ADJUST_REDUCE", "2");
    let ran = testkit::process::run_to_end(&mut inner, LONG);
    assert!(ran.status.success(), "{ran:?}");
    assert!(ran.out.contains("1 passed"), "{ran:?}");
}

#[test]
fn ranks_are_not_bound_if_binding_fails() {
    let fakes = Fakes::new();
    let launcher = fakes.write_script(
        "mpirun",
        "case \"$*\" in *'--bind-to core'*) exit 1;; esac\necho \"$*\"",
    );
    let launcher = local(LibraryName::OpenMpi, launcher, LocalOptions::default());
    let shape = CommShape { nodes: 1, ppn: 2 };
    assert_eq!(
        launcher.determine_binding(shape).expect("asked"),
        Binding::Free
    );
    let exit = finish(start(&launcher, &job(&fakes, 2)).as_mut());
    assert!(
        exit.tail[0].starts_with("-np 2 --oversubscribe --bind-to none"),
        "{exit:?}"
    );
}

#[test]
fn impossible_launches_are_refused() {
    let fakes = Fakes::new();
    let refused = |launcher: &LocalLauncher, job: &Job| match launcher.start(job) {
        Err(error) => error,
        Ok(_) => panic!("started"),
    };
    let launcher = open_mpi(&fakes, "");
    let several = Job {
        ppn: 1,
        ..job(&fakes, 2)
    };
    let error = refused(&launcher, &several);
    assert!(matches!(error, LaunchError::SeveralNodes { .. }), "{error}");

    let no_log = Job {
        log: fakes.path("mpirun/log"),
        ..job(&fakes, 2)
    };
    let log_error = refused(&launcher, &no_log);
    assert!(matches!(log_error, LaunchError::Log { .. }), "{log_error}");

    let never = LocalOptions {
        oversubscribe: Oversubscribe::Never,
        ..LocalOptions::default()
    };
    let never_crowding = local(LibraryName::OpenMpi, fakes.path("mpirun"), never);
    let cores_error = refused(&never_crowding, &job(&fakes, 5));
    assert!(
        matches!(
            cores_error,
            LaunchError::TooFewCores {
                ranks: 5,
                cores: CORES
            }
        ),
        "{cores_error}"
    );

    let gone = local(
        LibraryName::OpenMpi,
        fakes.path("gone"),
        LocalOptions::default(),
    );
    let start_error = refused(&gone, &job(&fakes, 2));
    assert!(
        matches!(start_error, LaunchError::Start { .. }),
        "{start_error}"
    );
}

#[test]
fn a_failure_shows_the_end_of_the_log() {
    let fakes = Fakes::new();
    let body = "seq 1000; echo 'no such driver' >&2; exit 7";
    let exit = finish(start(&open_mpi(&fakes, body), &job(&fakes, 2)).as_mut());
    assert_eq!(exit.outcome, Outcome::Code(7));
    let text = exit.into_result().expect_err("failed").to_string();
    assert!(text.contains("exited with code 7"), "{text}");
    assert!(text.ends_with("  | 1000\n  | no such driver"), "{text}");
    assert!(text.lines().count() < 20, "{text}");
}

#[test]
fn a_signal_is_distinguished_from_an_exit_code() {
    let fakes = Fakes::new();
    let exit = finish(start(&open_mpi(&fakes, "kill -SEGV $$"), &job(&fakes, 2)).as_mut());
    assert_eq!(exit.outcome, Outcome::Signal(11));
    let text = exit.into_result().expect_err("failed").to_string();
    assert!(text.contains("signal 11 (SIGSEGV)"), "{text}");
}

/// A launcher with ranks that are hard to end: in sessions of their own, ignoring signals, one of them an orphan, one
/// with a child that has another environment. They end by themselves after a while, so that a failing test does not
/// leave them behind.
const STUBBORN: &str = "
deaf='trap \"\" TERM INT HUP; echo $$ > \"$1\"; for i in $(seq 400); do sleep 0.1; done'
setsid sh -c \"$deaf\" rank \"$dir/own-session\" &
sh -c 'setsid sh -c \"$1\" rank \"$2\" & exit 0' _ \"$deaf\" \"$dir/orphan\"
setsid sh -c 'env -i PATH=\"$PATH\" sh -c \"$1\" rank \"$2\"; true' _ \"$deaf\" \"$dir/other-environment\" &
";
const RANKS: [&str; 3] = ["own-session", "orphan", "other-environment"];

fn ranks(fakes: &Fakes) -> Vec<i32> {
    RANKS.map(|name| fakes.wait_for_number(name)).into()
}

fn assert_gone(pids: &[i32]) {
    let left: Vec<&i32> = pids.iter().filter(|pid| process_exists(**pid)).collect();
    assert!(left.is_empty(), "left of {pids:?}: {left:?}");
}

#[test]
fn killing_leaves_nothing_behind() {
    let fakes = Fakes::new();
    let launcher = open_mpi(
        &fakes,
        &format!("trap '' TERM\n{STUBBORN}\nfor i in $(seq 400); do sleep 0.1; done"),
    );
    let mut other = Command::new("sleep")
        .arg("40")
        .spawn()
        .expect("a child of our own");
    let mut running = start(&launcher, &job(&fakes, 2));
    let pids = ranks(&fakes);
    assert!(
        running
            .wait_timeout(Duration::from_millis(10))
            .expect("watched")
            .is_none()
    );
    running.kill().expect("killed");
    assert_gone(&pids);
    assert_eq!(finish(running.as_mut()).outcome, Outcome::Killed);
    assert!(
        other.try_wait().expect("watched").is_none(),
        "a stranger was killed"
    );
    other.kill().expect("killed");
    other.wait().expect("reaped");
}

#[test]
fn a_launcher_that_handles_the_signal_may_clean_up() {
    let fakes = Fakes::new();
    let body = "trap 'echo clean > \"$dir/cleaned\"; exit 0' TERM\necho $$ > $dir/ready\n\
                for i in $(seq 800); do sleep 0.05; done";
    let mut running = start(&open_mpi(&fakes, body), &job(&fakes, 2));
    let pid = fakes.wait_for_number("ready");
    running.kill().expect("killed");
    assert!(fakes.path("cleaned").exists());
    assert_gone(&[pid]);
    assert_eq!(finish(running.as_mut()).outcome, Outcome::Killed);
}

#[test]
fn a_launch_ends_at_its_timeout() {
    let fakes = Fakes::new();
    let launcher = open_mpi(
        &fakes,
        &format!("{STUBBORN}\nfor i in $(seq 800); do sleep 0.05; done"),
    );
    let timeout = Some(Duration::from_millis(1500));
    let mut running = start(
        &launcher,
        &Job {
            timeout,
            ..job(&fakes, 2)
        },
    );
    let pids = ranks(&fakes);
    let exit = finish(running.as_mut());
    assert_eq!(exit.outcome, Outcome::TimedOut);
    assert_gone(&pids);
    assert!(
        exit.into_result()
            .expect_err("failed")
            .to_string()
            .contains("exceeded its time limit")
    );
}

#[test]
fn ranks_do_not_survive_their_launcher() {
    for (ending, outcome) in [
        ("exit 1", Outcome::Code(1)),
        ("kill -KILL $$", Outcome::Signal(9)),
    ] {
        let fakes = Fakes::new();
        let wait = RANKS.map(|name| format!("until [ -s $dir/{name} ]; do sleep 0.01; done\n"));
        let launcher = open_mpi(&fakes, &format!("{STUBBORN}\n{}\n{ending}", wait.concat()));
        let mut running = start(&launcher, &job(&fakes, 2));
        let pids = ranks(&fakes);
        assert_eq!(finish(running.as_mut()).outcome, outcome);
        assert_gone(&pids);
    }
}

#[test]
fn a_dropped_launch_is_killed() {
    let fakes = Fakes::new();
    let launcher = open_mpi(
        &fakes,
        &format!("{STUBBORN}\nfor i in $(seq 800); do sleep 0.05; done"),
    );
    let running = start(&launcher, &job(&fakes, 2));
    let pids = ranks(&fakes);
    drop(running);
    assert_gone(&pids);
}

#[test]
fn the_terminals_interrupt_does_not_reach_the_launcher() {
    let fakes = Fakes::new();
    let launcher = fakes.write_launcher(
        "mpiexec",
        MPICH,
        "echo $$ > $dir/pid; ps -o pgid= -p $$ > $dir/group; sleep 40",
    );
    let launcher = local(LibraryName::Mpich, launcher, LocalOptions::default());
    let mut running = start(&launcher, &job(&fakes, 2));
    assert_eq!(fakes.wait_for_number("group"), fakes.wait_for_number("pid"));
    running.kill().expect("killed");
}

/// Runs a check with every MPI library of this machine; there may be none.
fn with_real_launchers(check: impl Fn(&LocalLauncher)) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for installation in discover_libraries(&path).installations {
        let options = LocalOptions::default();
        check(&LocalLauncher::new(
            installation,
            options,
            launcher::usable_cores(),
        ));
    }
}

/// Open MPI's launchers share a folder for each user, which here is made and removed all the time.
#[test]
fn simultaneous_openmpi_launches_do_not_conflict() {
    const ENDED: &str = "ended";
    with_real_launchers(|launcher| {
        let fakes = Fakes::new();
        let shared = fakes.path("shared");
        std::fs::create_dir(&shared).expect("created");
        let launch = |number: usize| {
            let job = Job {
                driver: PathBuf::from("/bin/true"),
                log: fakes.path(&format!("log.{number}")),
                environment: vec![("TMPDIR".into(), shared.clone().into())],
                ..job(&fakes, 1)
            };
            for _ in 0..8 {
                let exit = finish(start(launcher, &job).as_mut());
                assert_eq!(exit.outcome, Outcome::Success, "{exit:?}");
            }
        };
        std::thread::scope(|scope| {
            let remover = scope.spawn(|| {
                while !shared.join(ENDED).exists() {
                    let entries = std::fs::read_dir(&shared).expect("readable");
                    let names = entries.filter_map(|entry| Some(entry.ok()?.path()));
                    // Like the launchers, only if it is empty.
                    for name in names.filter(|path| path.to_string_lossy().contains("/ompi.")) {
                        let _ = std::fs::remove_dir(name);
                    }
                }
            });
            let launches = [0, 1, 2].map(|number| scope.spawn(move || launch(number)));
            let ended = launches.map(|thread| thread.join());
            std::fs::write(shared.join(ENDED), "").expect("written");
            remover.join().expect("no panic");
            assert!(ended.iter().all(Result::is_ok));
        });
        let left: Vec<_> = std::fs::read_dir(&shared).expect("readable").collect();
        assert_eq!(left.len(), 1, "{left:?}");
    });
}

#[test]
fn real_launchers_start_all_ranks() {
    with_real_launchers(|launcher| {
        for ranks in [2, launcher::usable_cores() + 1] {
            let fakes = Fakes::new();
            let driver = fakes.write_script("driver", "echo rank >> $1");
            let plan = fakes.path("ranks");
            let job = Job {
                driver,
                plan,
                ..job(&fakes, ranks)
            };
            let exit = finish(start(launcher, &job).as_mut());
            assert_eq!(exit.outcome, Outcome::Success, "{launcher:?}: {exit:?}");
            let text = std::fs::read_to_string(&job.plan).expect("written");
            assert_eq!(text.lines().count(), ranks as usize, "{launcher:?}");
        }
    });
}

#[test]
fn ranks_of_real_launchers_are_killed() {
    with_real_launchers(|launcher| {
        let fakes = Fakes::new();
        let body = "trap '' TERM\necho $$ >> $1\nfor i in $(seq 400); do sleep 0.1; done";
        let (driver, plan) = (fakes.write_script("deaf", body), fakes.path("pids"));
        let job = Job {
            driver,
            plan,
            ..job(&fakes, 3)
        };
        let mut running = start(launcher, &job);
        let pids: Vec<i32> = wait_for(&format!("all ranks of {launcher:?}"), || {
            let text = std::fs::read_to_string(&job.plan).ok()?;
            let pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
            (pids.len() == 3).then_some(pids)
        });
        running.kill().expect("killed");
        assert_gone(&pids);
    });
}
