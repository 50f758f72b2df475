//! Whole campaigns on real MPI, undisturbed and disturbed.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use schedule::Collective;
use serde_json::Value;
use store::Store;
use table::{Deployment, OperatorClass, Query, RulePlace, Table};
use vocabulary::{Candidate, CommShape, Library, Pattern, RankOrder, Subject};
use wire::FailureKind;

use crate::answers;
use crate::run::{Place, Ran};

const LIBRARIES: [&str; 2] = ["openmpi", "mpich"];

/// 12 cells in 3 launches, a few seconds in all.
const CAMPAIGN: &str = "
collectives: [bcast, allreduce, allgather]
shapes: [1x2]
sizes: [64, 4K, 64K, 1M]
candidates: '*'
parameters: {block_bytes: [16K], through: mpi}
strategy: exhaustive
confirmation: off
repetitions: {minimum: 10, maximum: 300, slice: 10ms}
launches: 3
watchdog: 2s
";

/// A place with real MPI and a campaign; `None` without a usable MPI.
fn place(library: &str) -> Option<Place> {
    place_with(library, CAMPAIGN)
}

/// The same with a given campaign.
pub(crate) fn place_with(library: &str, campaign: &str) -> Option<Place> {
    testkit::require("measuring programs", std::env::var_os("COLLTUNE_LIBDIR"))?;
    let place = Place::new();
    place.write(
        "campaign.yaml",
        format!("name: real\nlibrary: {library}\n{campaign}"),
    );
    Some(place)
}

pub(crate) fn start(place: &Place, args: &[&str]) -> Child {
    command(place, args).spawn().unwrap()
}

/// The binary with what it needs to launch real ranks.
pub(crate) fn command(place: &Place, args: &[&str]) -> Command {
    let inherited = |name: &str| std::env::var_os(name).unwrap_or_default();
    let mut command = place.command(args);
    for name in ["PATH", "COLLTUNE_LIBDIR", "LD_LIBRARY_PATH", "HOME"] {
        command.env(name, inherited(name));
    }
    command.env("TMPDIR", sessions(place));
    command
}

/// The folder for temporary files: simultaneous launches would conflict in the folder of Open MPI's sessions.
pub(crate) fn sessions(place: &Place) -> PathBuf {
    let folder = place.path("tmp");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

pub(crate) fn wait(place: &Place, child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        out: place.anonymous(&output.stdout),
        err: place.anonymous(&output.stderr),
    }
}

pub(crate) fn run(place: &Place, args: &[&str]) -> Ran {
    let ran = wait(place, start(place, args));
    answers::check(args, &ran.out, ran.code == Some(0));
    ran
}

/// Tunes to the end; everything is measured then, once in each launch, whatever was disturbed before.
#[track_caller]
fn finish(place: &Place) -> Value {
    let ran = run(place, &["tune", "campaign.yaml", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let outcome = ran.json();
    assert_eq!(outcome["done"], outcome["total"], "{}", ran.err);
    assert!(place.path("tables/real.yaml").exists() && place.path("reports/real.md").exists());
    let store = Store::open(&place.path(".colltune/real.db")).unwrap();
    let library: Library = serde_json::from_value(outcome["library"].clone()).unwrap();
    let failed: Vec<_> = store.failures(&library).unwrap();
    for ((subject, candidate), launches) in
        store.launch_counts(&library, Pattern::Together).unwrap()
    {
        let has_failed = failed
            .iter()
            .any(|f| f.subject == subject && f.candidate == candidate);
        assert!(
            launches == 3 || has_failed,
            "{candidate} in {subject}: {launches} launches"
        );
    }
    outcome
}

/// Processes with the place's folder as working directory, by the end of their program's name.
pub(crate) fn processes(place: &Place, program: &str) -> Vec<Pid> {
    let folder = std::fs::canonicalize(place.path("")).unwrap();
    let is_ours = |pid: &i32| {
        let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_else(|_| PathBuf::new());
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let name = command.split(|byte| *byte == 0).next().unwrap_or_default();
        cwd == folder && String::from_utf8_lossy(name).contains(program)
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(is_ours)
        .map(Pid::from_raw)
        .collect()
}

pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < end, "{what}: this never happened");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the second launch measures a cell; the first has only experiments.
fn wait_for_cells(place: &Place, child: &mut Child) {
    wait_for_cells_of(place, child, 2);
}

/// The same for any launch.
#[track_caller]
fn wait_for_cells_of(place: &Place, child: &mut Child, launch: u32) {
    let spool = place.path(&format!(".colltune/real.db.launches/{launch:04}.spool"));
    wait_until("a cell is measured", || {
        if let Some(status) = child.try_wait().unwrap() {
            let mut errors = String::new();
            let pipe = child.stderr.as_mut().unwrap();
            pipe.read_to_string(&mut errors).unwrap();
            panic!("the command ended before launch {launch}, {status}: {errors}");
        }
        std::fs::read_to_string(&spool).is_ok_and(|text| text.contains("\"trying\""))
    });
}

pub(crate) fn assert_no_process_left(place: &Place) {
    wait_until("ranks and launcher end", || {
        processes(place, "colltune-driver").is_empty() && processes(place, "mpi").is_empty()
    });
}

#[test]
fn a_campaign_becomes_a_table_under_either_library() {
    for library in LIBRARIES {
        let Some(place) = place(library) else { return };
        let few = "collectives: [bcast, allreduce, allgather]\n";
        let all = "collectives: all\n";
        place.write(
            "campaign.yaml",
            place.read("campaign.yaml").replace(few, all),
        );
        let outcome = finish(&place);
        let table = table::Table::load(&place.path("tables/real.yaml")).unwrap();
        assert!(table.collectives.keys().eq(&Collective::ALL));
        assert_eq!(outcome["library"]["name"], library);
        assert_eq!(
            (&outcome["launches"], &outcome["failures"]),
            (&4.into(), &0.into())
        );
        let begun = Instant::now();
        assert_eq!(finish(&place)["launches"], 0);
        // The campaign stays the same if the library is named on the command line.
        let named = run(&place, &["tune", "campaign.yaml", "--library", library]);
        assert_eq!((named.code, named.err.as_str()), (Some(0), ""));
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "nothing is left to measure"
        );
        let query = [
            "lookup",
            "tables/real.yaml",
            "--collective",
            "allreduce",
            "--nodes",
            "1",
            "--ppn",
            "2",
            "--bytes",
            "64K",
            "--json",
        ];
        let decision = run(&place, &query).json();
        let seconds = |key: &str| decision[key].as_f64().unwrap();
        assert!(seconds("expected_seconds") > 0.0 && seconds("default_seconds") > 0.0);
        let candidate = decision["candidate"].as_str().unwrap();
        let id = decision["algorithm"].as_str().unwrap();
        assert!(candidate == "default" || candidate.starts_with(&format!("allreduce/{id}")));
        assert_no_process_left(&place);
    }
}

/// Where ranks have no memory in common, a campaign that names no transports measures through MPI alone; one that names
/// shared memory reports what fails.
#[test]
fn shared_memory_is_left_out_where_there_is_none() {
    const SMALL: &str = "
collectives: [bcast]
candidates: [bcast/binomial, bcast/linear]
shapes: [1x2]
sizes: [4K]
strategy: exhaustive
confirmation: off
repetitions: {minimum: 5, maximum: 20, slice: 2ms}
launches: 2
launcher: {local: {environment: {COLLTUNE_SHARED_MEMORY: '0'}}}
";
    let warning = "ranks of one node have no memory in common (shared memory is switched off)";
    let named = format!("{SMALL}parameters: {{through: [mpi, shared]}}\n");
    for (campaign, fails) in [(SMALL, false), (&named, true)] {
        let Some(place) = place_with("openmpi", campaign) else {
            return;
        };
        let ran = run(&place, &["tune", "campaign.yaml", "--json"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let outcome = ran.json();
        assert_eq!(outcome["done"], outcome["total"], "{}", ran.err);
        assert_eq!(outcome["failures"].as_u64() > Some(0), fails, "{}", ran.err);
        assert_eq!(
            ran.err.contains("through shared memory and is left out"),
            fails
        );
        assert_eq!(ran.out.matches(warning).count(), 1, "{}", ran.out);
        let store = Store::open(&place.path(".colltune/real.db")).unwrap();
        let library = store.libraries().unwrap().remove(0);
        let counts = store.launch_counts(&library, Pattern::Together).unwrap();
        assert!(
            counts
                .keys()
                .all(|(_, candidate)| candidate.parameters().through.is_mpi())
        );
        assert!(counts.values().any(|launches| *launches == 2));
    }
}

/// The library's own algorithms of these collectives alone.
const LIBRARY_ONLY: &str = "
collectives: [alltoall, barrier, scan]
candidates: {include: 'native:*'}
shapes: [1x2]
sizes: [64, 4K]
strategy: exhaustive
repetitions: {minimum: 10, maximum: 300, slice: 10ms}
launches: 3
watchdog: 2s
";

#[test]
fn collectives_with_only_the_librarys_algorithms_become_a_table_under_either_library() {
    for (library, barrier) in [("openmpi", "tree"), ("mpich", "dissemination")] {
        let Some(place) = place(library) else { return };
        place.write(
            "campaign.yaml",
            format!("name: real\nlibrary: {library}\n{LIBRARY_ONLY}"),
        );
        let planned = run(&place, &["plan", "campaign.yaml"]);
        let native = format!("native:barrier/{barrier}");
        assert!(planned.out.contains(&native), "{}", planned.out);
        assert_eq!(finish(&place)["failures"], 0);
        let table = table::Table::load(&place.path("tables/real.yaml")).unwrap();
        let named = [Collective::Alltoall, Collective::Barrier, Collective::Scan];
        assert!(table.collectives.keys().eq(&named), "{table:?}");
        let measured = &table.collectives[&Collective::Barrier][0].measured;
        let sizes: Vec<u64> = measured.iter().map(|point| point.bytes).collect();
        assert_eq!(sizes, [0]);
        let explain = ["explain", "tables/real.yaml", "--json", "-n1", "-k2", "-c"];
        let ranking = |question: &[&str]| {
            let told = run(&place, &[&explain, question].concat()).json();
            told["evidence"][0]["ranking"].to_string()
        };
        assert!(ranking(&["barrier"]).contains(&native));
        for question in [["alltoall", "-b64"], ["scan", "-b4K"]] {
            let prefix = format!("native:{}/", question[0]);
            assert!(ranking(&question).contains(&prefix), "{question:?}");
        }
        assert_no_process_left(&place);
    }
}

#[test]
fn a_killed_colltune_leaves_no_rank_and_continues_where_it_was() {
    for library in LIBRARIES {
        let Some(place) = place(library) else { return };
        for milliseconds in [300, 1100, 1900, 2500] {
            let mut child = start(&place, &["tune", "campaign.yaml"]);
            std::thread::sleep(Duration::from_millis(milliseconds));
            child.kill().unwrap();
            child.wait().unwrap();
            // The next command starts at once; the ranks of the killed one must still end.
            if milliseconds == 1900 {
                assert_no_process_left(&place);
            }
        }
        finish(&place);
        assert_no_process_left(&place);
    }
}

#[test]
fn an_interrupt_ends_the_ranks_and_the_same_command_continues() {
    for library in LIBRARIES {
        let Some(place) = place(library) else { return };
        let mut child = start(&place, &["tune", "campaign.yaml"]);
        wait_for_cells(&place, &mut child);
        kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
        assert_eq!(wait(&place, child).code, Some(130));
        assert_no_process_left(&place);
        finish(&place);
    }
}

#[test]
fn a_killed_mpirun_is_started_again() {
    for (library, launcher) in [("openmpi", "mpirun"), ("mpich", "mpiexec")] {
        let Some(place) = place(library) else { return };
        let mut child = start(&place, &["tune", "campaign.yaml"]);
        wait_for_cells(&place, &mut child);
        for pid in processes(&place, launcher) {
            kill(pid, Signal::SIGKILL).unwrap();
        }
        let ran = wait(&place, child);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(
            ran.err.contains("warning: launch 2 ended early"),
            "{}",
            ran.err
        );
        assert_eq!(finish(&place)["failures"], 0);
        assert_no_process_left(&place);
    }
}

#[test]
fn a_rank_that_dies_or_hangs_costs_only_its_candidate() {
    let kinds = [FailureKind::Crash, FailureKind::Hang];
    for library in LIBRARIES {
        let Some(place) = place(library) else { return };
        // Long turns, so that the signal always arrives during one.
        let campaign = place
            .read("campaign.yaml")
            .replace("[64, 4K, 64K, 1M]", "4M")
            .replace(
                "[bcast, allreduce, allgather]",
                "[bcast, scatter, allgather]",
            )
            .replace(
                "candidates: '*'",
                "candidates: {include: ['*/binomial', '*/chain', '*/ring', '*/linear']}",
            );
        place.write(
            "campaign.yaml",
            campaign.replace("minimum: 10", "minimum: 300"),
        );
        let mut child = start(&place, &["tune", "campaign.yaml"]);
        // One rank in the first launch of cells, another one in the launch that replaces it.
        for (launch, signal) in [(2, Signal::SIGABRT), (3, Signal::SIGSTOP)] {
            wait_for_cells_of(&place, &mut child, launch);
            let ranks = processes(&place, "/colltune-driver");
            kill(*ranks.last().unwrap(), signal).unwrap();
        }
        let ran = wait(&place, child);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        for kind in kinds {
            let expected = format!("left out there ({})", kind.name());
            assert!(ran.err.contains(&expected), "{library}: {}", ran.err);
        }
        assert_eq!(finish(&place)["failures"], 2);
        let report = place.read("reports/real.md");
        let (_, failures) = report.split_once("## Failures").unwrap();
        let (failures, _) = failures.split_once("## How").unwrap();
        for kind in kinds {
            assert!(failures.contains(kind.name()), "{failures}");
        }
        let again = run(
            &place,
            &["tune", "campaign.yaml", "--retry-failed", "--json"],
        );
        assert_eq!(again.json()["failures"], 0, "{}", again.err);
        assert_no_process_left(&place);
    }
}

/// Settings in a file are not in any environment variable.
#[test]
fn settings_in_a_file_of_openmpi_are_reported_before_and_after_measuring() {
    let Some(place) = place("openmpi") else {
        return;
    };
    let home = std::fs::canonicalize(place.path("")).unwrap();
    std::fs::create_dir(place.path(".openmpi")).unwrap();
    place.write(
        ".openmpi/mca-params.conf",
        "coll_tuned_use_dynamic_rules = 1\ncoll_tuned_allreduce_algorithm = 4\n",
    );
    let text = "collectives: allreduce\nsizes: 8\nshapes: 1x2\nlaunches: 1\n\
                repetitions: {maximum: 20}\ncandidates: {include: allreduce/ring}\n";
    place.write(
        "campaign.yaml",
        format!(
            "name: real\nlibrary: openmpi\nlauncher: {{local: {{environment: {{HOME: {}}}}}}}\n{text}",
            home.display()
        ),
    );
    let setting = "coll_tuned_allreduce_algorithm=ring";
    let output = place.command(&["doctor"]);
    let output = with_home(output, &home);
    assert!(
        output.contains(&format!(
            "  {setting}, set in {}/.openmpi/mca-params.conf, affects the choice of algorithms\n",
            home.display()
        )),
        "{output}"
    );
    let warning = format!(
        "`default` is not the library's own choice, but was changed by settings ({setting})"
    );
    assert!(output.contains(&format!("warning: {warning}")), "{output}");
    let ran = run(&place, &["tune", "campaign.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let report = place.read("reports/real.md");
    assert!(
        report.contains(&format!("**Warning:** {warning}")),
        "{report}"
    );
    let facts = report.lines().find(|line| line.starts_with("- settings: "));
    let facts = facts.expect("what is set");
    assert!(facts.contains(&format!("`{setting}`")), "{facts}");
}

/// The output of a command with this home directory.
fn with_home(mut command: std::process::Command, home: &std::path::Path) -> String {
    for name in ["PATH", "COLLTUNE_LIBDIR", "LD_LIBRARY_PATH"] {
        command.env(name, std::env::var_os(name).unwrap_or_default());
    }
    let output = command.env("HOME", home).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Open MPI's default switches its algorithm at 4096 bytes, between sizes of the campaign.
#[test]
fn rules_where_a_library_switches_are_confirmed() {
    let campaign = "collectives: allreduce\nshapes: 1x2\nsizes: [128, 2K, 32K]\n\
                    candidates: {include: [\"*/dual_root\", \"*/recursive_doubling\"]}\n\
                    repetitions: {slice: 10ms}\nbudget: 2m\n";
    let Some(place) = place_with("openmpi", campaign) else {
        return;
    };
    let ran = run(&place, &["tune", "campaign.yaml", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // At 32K it is always slower than another candidate, so that the choice there is also tried between 2K and 32K.
    let table = Table::load(&place.path("tables/real.yaml")).unwrap();
    let measured = table.entries().flat_map(|entry| &entry.measured);
    let sizes: Vec<u64> = measured.map(|point| point.bytes).collect();
    assert!(sizes.contains(&8192), "{sizes:?}");
    let question = "-c allreduce -n 1 -k 2 --json -b";
    for bytes in ["2K", "4096", "8K"] {
        let mut args = vec!["lookup", "tables/real.yaml"];
        args.extend(question.split(' ').chain([bytes]));
        let answer = run(&place, &args).json();
        let is_default = answer["candidate"] == "default";
        assert!(
            is_default || answer["confirmed"] == true,
            "{bytes}: {answer}"
        );
    }
}

/// Results are checked, so that an algorithm that combines in a wrong order would fail. A table has rules for
/// noncommutative operators, except where only sums were measured.
#[test]
fn a_campaign_measures_noncommutative_operators_on_real_mpi() {
    for library in LIBRARIES {
        for (operators, has_rules) in [("[sum, noncommutative]", true), ("sum", false)] {
            let campaign = format!(
                "collectives: [reduce, allreduce]\nshapes: 1x2\nsizes: [8, 4K]\n\
                 operator: {operators}\nstrategy: exhaustive\nconfirmation: off\nlaunches: 1\n\
                 candidates: {{include: [\"*/linear\", \"*/rabenseifner\", \"native:*\"]}}\n\
                 parameters: {{block_bytes: 64K, radix: 2}}\n\
                 repetitions: {{minimum: 5, maximum: 30, slice: 5ms}}\nwatchdog: 10s\n"
            );
            let Some(place) = place_with(library, &campaign) else {
                continue;
            };
            let ran = run(&place, &["tune", "campaign.yaml", "--json"]);
            assert_eq!(ran.code, Some(0), "{library}: {}", ran.err);
            let told: Library = serde_json::from_value(ran.json()["library"].clone()).unwrap();
            let store = Store::open(&place.path(".colltune/real.db")).unwrap();
            let failures = store.failures(&told).unwrap();
            assert!(failures.is_empty(), "{failures:?}");
            let counts = store.launch_counts(&told, Pattern::Together).unwrap();
            let natives: Vec<&Candidate> = counts
                .keys()
                .filter(|(subject, _)| matches!(subject, Subject::Cell(cell) if !cell.commutes()))
                .map(|(_, candidate)| candidate)
                .filter(|candidate| matches!(candidate, Candidate::Native { .. }))
                .collect();
            assert_eq!(!natives.is_empty(), has_rules, "{counts:?}");
            let mut replaced = natives.iter().filter(|it| it.id() == "rabenseifner");
            assert_eq!(replaced.next(), None);
            let table = Table::load(&place.path("tables/real.yaml")).unwrap();
            for collective in [Collective::Reduce, Collective::Allreduce] {
                let found = table.lookup(&Query {
                    collective,
                    shape: CommShape { nodes: 1, ppn: 2 },
                    order: RankOrder::Unknown,
                    bytes: 4096,
                    operators: OperatorClass::Noncommutative,
                    deployment: Deployment::Colltune,
                });
                let is_absent = matches!(found.rule, RulePlace::Absent(_));
                assert_eq!(is_absent, !has_rules, "{library}: {found:?}");
            }
        }
    }
}
