//! The rules that are used, and the shapes on which they are used.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use schedule::Collective;
use table::{Confidence, Table};
use tempfile::TempDir;
use testkit::mpi::chosen_installation;
use testkit::process;
use testkit::tables::{forcing_table, save_table};
use vocabulary::CommShape;

use crate::launch::{compiled, preloaded, run_preloaded, warnings};

/// A program of ten allreduces, and a table for two ranks only.
struct Prepared {
    folder: TempDir,
    program: PathBuf,
}

impl Prepared {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let program = compiled("node.c", folder.path(), &["-rdynamic", "-ldl"]);
        Self { folder, program }
    }

    fn table(&self, confidence: Confidence, confirmed: bool) -> PathBuf {
        let mut table: Table = forcing_table(1, chosen_installation().library());
        for entries in table.collectives.values_mut() {
            entries.retain(|entry| entry.shape == CommShape { nodes: 1, ppn: 2 });
            for rule in entries.iter_mut().flat_map(|entry| &mut entry.rules) {
                (rule.confidence, rule.confirmed) = (confidence, confirmed);
            }
        }
        save_table(&table, self.folder.path())
    }

    fn run(&self, table: &Path, ranks: u32, more: &[(&str, &str)]) -> String {
        run_preloaded(&self.program, &[], ranks, table, more).expect_success()
    }
}

/// The summary's decision about the ten calls, and whether one of our algorithms carried them out.
fn by(text: &str) -> (String, bool) {
    let mut lines = text.lines();
    let row = lines.find_map(|line| line.strip_prefix("colltune: allreduce "));
    let words: Vec<&str> = row.expect(text).split_whitespace().collect();
    assert_eq!(words[0], "10", "{text}");
    let by = words[3..].join(" ");
    let is_ours = by.starts_with("allreduce/");
    (by, is_ours)
}

#[test]
fn shapes_that_were_not_measured_are_left_to_the_library_unless_requested_under_mpi() {
    let prepared = Prepared::new();
    let table = prepared.table(Confidence::High, true);
    let remedy = "COLLTUNE_EXTRAPOLATE=1";
    let text = prepared.run(&table, 3, &[]);
    assert_eq!(by(&text).0, "default (shape not measured)", "{text}");
    assert!(
        text.contains("calls: 10 default (shape not measured)"),
        "{text}"
    );
    assert!(text.contains(remedy), "{text}");
    let extrapolated = prepared.run(&table, 3, &[("COLLTUNE_EXTRAPOLATE", "1")]);
    let (by_nearest, is_ours) = by(&extrapolated);
    assert!(
        is_ours && by_nearest.ends_with(" (nearest 1x2)"),
        "{extrapolated}"
    );
    let served = "calls: 10 by rules of the nearest measured shape";
    assert!(
        extrapolated.contains(served) && !extrapolated.contains(remedy),
        "{extrapolated}"
    );
    let of_table = prepared.run(&table, 2, &[]);
    let (by_table, is_ours_too) = by(&of_table);
    assert!(is_ours_too && !by_table.contains("nearest"), "{of_table}");
    assert!(
        of_table.contains("calls: 10 by the table's rules"),
        "{of_table}"
    );
    assert!(!of_table.contains("not used"), "{of_table}");
}

/// As with `srun` and a program whose library needs another `--mpi`: the processes do not find each other.
#[test]
fn processes_that_are_worlds_of_their_own_say_so() {
    let prepared = Prepared::new();
    let table = prepared.table(Confidence::High, true);
    let run_in_step = |started: &str, place: &str, more: &[(&str, &str)]| {
        let mut command = Command::new(&prepared.program);
        command
            .env("LD_PRELOAD", preloaded())
            .env("COLLTUNE_TABLE", &table)
            .env("COLLTUNE_LOG", "stderr")
            .env("SLURM_STEP_NUM_TASKS", started)
            .env("SLURM_PROCID", place)
            .envs(more.iter().copied());
        let ended = process::run_to_end(&mut command, Duration::from_secs(60));
        assert!(ended.status.success(), "{}{}", ended.out, ended.err);
        ended.err
    };
    let told = "colltune: 4 processes were started together, but each is a world of one rank";
    let separate = run_in_step("4", "0", &[]);
    assert_eq!(separate.matches(told).count(), 1, "{separate}");
    // The first process says it at once, also without a summary, and with the remedy.
    for more in [[("COLLTUNE_LOG", "stderr")], [("COLLTUNE_LOG", "0")]] {
        let text = run_in_step("4", "0", &more);
        let warned = warnings(&text);
        assert_eq!(warned.len(), 1, "{text}");
        let remedy = "use the launcher of the program's MPI library, or `srun` with the `--mpi`";
        assert!(
            warned[0].contains("each is a world of one rank") && warned[0].contains(remedy),
            "{text}"
        );
        let other = run_in_step("4", "1", &more);
        assert_eq!(warnings(&other), [""; 0], "{other}");
    }
    let alone = run_in_step("1", "0", &[]);
    assert!(alone.contains("calls of rank 0 of 1;"), "{alone}");
    assert!(!alone.contains("started together"), "{alone}");
    // The library's launcher has started one rank, in a step with four processes.
    let launched = prepared.run(&table, 1, &[("SLURM_STEP_NUM_TASKS", "4")]);
    assert!(!launched.contains("started together"), "{launched}");
    // No call is lost if no rule is used.
    prepared.table(Confidence::High, false);
    let unused = run_in_step("4", "0", &[]);
    assert!(unused.contains(told), "{unused}");
    assert_eq!(warnings(&unused), [""; 0], "{unused}");
}

#[test]
fn only_confirmed_rules_of_enough_confidence_are_used_under_mpi() {
    let prepared = Prepared::new();
    let check = |table: &Path, more: (&str, &str), lack: &str| {
        let text = prepared.run(table, 2, &[]);
        assert_eq!(by(&text).0, "default (the table's rule is not used)");
        assert_eq!(text.matches(lack).count(), 1, "no `{lack}` in\n{text}");
        assert!(text.contains(&format!("{}={}", more.0, more.1)), "{text}");
        assert_eq!(warnings(&text).len(), 0, "{text}");
        // Without a summary there is a warning.
        let quiet = prepared.run(table, 2, &[("COLLTUNE_LOG", "0")]);
        let told = warnings(&quiet);
        assert!(told.len() == 1 && told[0].contains(lack), "{quiet}");
        let allowed = prepared.run(table, 2, &[more]);
        assert!(by(&allowed).1 && !allowed.contains("not used"), "{allowed}");
    };
    let table = prepared.table(Confidence::High, false);
    // One rule for each class of operators.
    let rules: usize = Collective::ALL
        .map(|collective| 1 + usize::from(collective.is_reduction()))
        .into_iter()
        .sum();
    let lack = format!("{rules} of {rules} rules are not used: {rules} are not confirmed");
    check(&table, ("COLLTUNE_UNCONFIRMED", "1"), &lack);
    let low_table = prepared.table(Confidence::Low, true);
    let confidence_lack = format!("{rules} of {rules} rules are not used: {rules} lack confidence");
    check(
        &low_table,
        ("COLLTUNE_MIN_CONFIDENCE", "low"),
        &confidence_lack,
    );
    let medium_table = prepared.table(Confidence::Medium, true);
    assert!(by(&prepared.run(&medium_table, 2, &[])).1);
    let text = prepared.run(&medium_table, 2, &[("COLLTUNE_MIN_CONFIDENCE", "high")]);
    assert!(!by(&text).1, "{text}");
}

#[test]
fn an_unknown_confidence_gets_one_warning_under_mpi() {
    let prepared = Prepared::new();
    let table = prepared.table(Confidence::High, true);
    let text = prepared.run(&table, 2, &[("COLLTUNE_MIN_CONFIDENCE", "hihg")]);
    let told = warnings(&text);
    let why = "COLLTUNE_MIN_CONFIDENCE is `hihg`: it must be low, medium or high";
    assert!(told.len() == 1 && told[0].contains(why), "{text}");
    assert!(!text.contains("colltune: allreduce"), "{text}");
}

#[test]
fn ranks_with_different_policies_use_no_table_under_mpi() {
    let prepared = Prepared::new();
    let table = prepared.table(Confidence::High, true);
    let script = prepared.folder.path().join("start");
    for differing in [
        "COLLTUNE_EXTRAPOLATE=1",
        "COLLTUNE_UNCONFIRMED=1",
        "COLLTUNE_MIN_CONFIDENCE=high",
        "COLLTUNE_MIN_CONFIDENCE=hihg",
        "COLLTUNE_NUMERICS=independent_of_size",
        "COLLTUNE_NUMERICS=independent_of_sise",
    ] {
        let script_text = format!(
            "#!/bin/sh\nif [ \"${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\" = 1 ]; then export {differing}; fi\n\
             exec \"$@\"\n"
        );
        std::fs::write(&script, script_text).expect("written");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("executable");
        let arguments = [prepared.program.display().to_string()];
        let text = run_preloaded(&script, &arguments, 2, &table, &[]).expect_success();
        let told = warnings(&text);
        let why = "or they have different settings";
        let is_told = told.len() == 1 && told[0].contains(why);
        assert!(is_told, "{differing}: {text}");
        assert!(!text.contains("colltune: allreduce"), "{differing}: {text}");
    }
}

/// Creating a private communicator takes longer than a few calls can gain.
#[test]
fn first_calls_on_a_communicator_are_left_to_the_library_under_mpi() {
    const FIRST: &str = "default (first calls on a communicator)";
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("few.c", folder.path(), &[]);
    let table = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    // After 1 MiB, with 4 KiB for each call. The program begins with 64 KiB.
    for (after, calls, floats, first) in [
        ("", 238, 2, 238),
        ("", 300, 2, 238),
        ("", 3, 1 << 18, 0),
        ("128K", 20, 2, 14),
        ("0", 3, 2, 0),
    ] {
        let arguments = [calls, floats].map(|number: usize| number.to_string());
        let more = [("COLLTUNE_ATTACH_AFTER", after)];
        let text = run_preloaded(&program, &arguments, 2, &table, &more).expect_success();
        let rows = text
            .lines()
            .filter_map(|line| line.strip_prefix("colltune: allreduce "));
        let calls_of = |is_first: bool| {
            let rows = rows.clone().filter(|row| row.ends_with(FIRST) == is_first);
            let parsed = rows.map(|row| row.split_whitespace().next().map(str::parse::<usize>));
            parsed
                .map(|row_calls| row_calls.expect(&text).expect(&text))
                .sum::<usize>()
        };
        assert_eq!(calls_of(true), first, "{text}");
        assert_eq!(calls_of(false), calls - first, "{text}");
        assert_eq!(
            text.contains("by the table's rules"),
            first < calls,
            "{text}"
        );
    }
    let more = [("COLLTUNE_ATTACH_AFTER", "soon")];
    let text =
        run_preloaded(&program, &["1", "2"].map(str::to_owned), 2, &table, &more).expect_success();
    let refused = "COLLTUNE_ATTACH_AFTER is `soon`: it must be a size, as in 1M, or 0";
    assert!(text.contains(refused), "{text}");
}
