//! The test for ReFrame in `jobs/reframe`, in jobs of a real Slurm.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use testkit::process::{ProgramResult, find_cached, run_to_end};

use super::bed::Bed;
use crate::guarded;
use crate::guarded_mpi;
use crate::mpi;
use crate::run::Place;

/// A site: its batch system has no accounting, so ReFrame asks it for jobs in the queue.
const SITE: &str = "
site_configuration = {
    'systems': [{
        'name': 'virtual',
        'hostnames': ['.*'],
        'partitions': [{
            'name': 'debug',
            'scheduler': 'squeue',
            'launcher': 'srun',
            'access': ['--partition=debug'],
            'environs': ['builtin'],
        }],
    }],
}
";

fn find_reframe() -> Option<PathBuf> {
    testkit::require("ReFrame", find_cached("reframe/bin/reframe"))
}

/// Runs the test from a place.
#[track_caller]
fn run_reframe(reframe: &Path, bed: &Bed, place: &Place, settings: &[&str]) -> ProgramResult {
    let jobs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../jobs/reframe");
    place.write("site.py", SITE);
    let mut search = vec![
        Path::new(env!("CARGO_BIN_EXE_colltune"))
            .parent()
            .unwrap()
            .to_owned(),
    ];
    let path = std::env::var_os("PATH").unwrap_or_default();
    search.extend(std::env::split_paths(&path));
    let mut command = Command::new(reframe);
    command
        .args(["--nocolor", "-C", "site.py", "--prefix", "reframe", "-c"])
        .arg(jobs)
        .args(["--run", "--performance-report", "-S", "time_limit=5m"])
        .args(settings.iter().flat_map(|setting| ["-S", setting]))
        .current_dir(place.path(""))
        .env("PATH", std::env::join_paths(search).unwrap())
        .env("HOME", place.path(""))
        .env("TMPDIR", mpi::sessions(place))
        // The folder of the sources stays as it is.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(bed.environment());
    run_to_end(&mut command, Duration::from_secs(100))
}

#[test]
fn reframe_tells_tables_that_hold_from_wrong_ones_and_skips_what_it_cannot_tell() {
    let Some(reframe) = find_reframe() else {
        return;
    };
    let Some(bed) = Bed::up() else { return };
    let place = guarded::place();
    let table = format!("table={}", guarded::TABLE);
    let check = |settings: &[&str]| {
        let settings = [&[&*table, "deployment=colltune"], settings].concat();
        run_reframe(&reframe, &bed, &place, &settings)
    };
    let holds = check(&[]);
    assert!(holds.status.success(), "{holds:?}");
    assert!(holds.out.contains("Ran 1/1 test case(s)"), "{holds:?}");
    assert!(holds.out.contains("P: speedup: 1."), "{holds:?}");

    // Another machine than the table's cannot be measured here.
    let good = place.read(guarded::TABLE);
    let machine = "version: fat-tree-";
    assert!(good.contains(machine), "{good}");
    place.write(
        guarded::TABLE,
        good.replace(machine, "version: another-fat-tree-"),
    );
    let unknown = check(&[]);
    assert!(unknown.status.success(), "{unknown:?}");
    assert!(unknown.out.contains("1 skipped"), "{unknown:?}");
    let reason = "it is not known whether the table holds; the table is for simulated-another";
    assert!(unknown.out.contains(reason), "{unknown:?}");
    let strict = check(&["undecided=fail"]);
    assert_eq!(strict.status.code(), Some(1), "{strict:?}");
    assert!(strict.out.contains(reason), "{strict:?}");

    place.write(guarded::TABLE, good);
    guarded::spoil(&place);
    let wrong = check(&[]);
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
    let slower_points = "the table does not hold; bcast 4x4 at ";
    assert!(wrong.out.contains(slower_points), "{wrong:?}");
    assert!(wrong.out.contains("bcast/linear takes"), "{wrong:?}");
}

#[test]
fn reframe_checks_a_table_of_openmpi_in_a_job() {
    let Some(reframe) = find_reframe() else {
        return;
    };
    let campaign = format!("collectives: bcast\n{}", guarded_mpi::CAMPAIGN);
    let Some(place) = mpi::place_with("openmpi", &campaign) else {
        return;
    };
    let Some(bed) = Bed::up() else { return };
    let tuned = mpi::run(&place, &["tune", "campaign.yaml", "--quiet"]);
    assert_eq!(tuned.code, Some(0), "{tuned:?}");
    let settings = [
        "table=tables/real.yaml",
        "num_tasks=2",
        "num_tasks_per_node=2",
        // Only failures are to be found: times are not judged.
        "further_options=--tolerance,99,--materiality,99,--probes,0",
    ];
    let checked = run_reframe(&reframe, &bed, &place, &settings);
    assert!(checked.status.success(), "{checked:?}");
    assert!(checked.out.contains("[       OK ]"), "{checked:?}");
}
