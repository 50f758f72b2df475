//! A launcher that starts ranks which do not find each other, as `srun` does without the library's PMI.

use std::os::unix::fs::PermissionsExt;

use launcher::{LibraryChoice, LibraryName, discover_libraries, select_installation};
use store::Store;
use vocabulary::Library;

use crate::mpi::{assert_no_process_left, place_with, run};
use crate::run::{Place, Ran};

const TABLE: &str = "tables/real.yaml";

/// Two candidates in one cell.
const CAMPAIGN: &str = "
collectives: [allreduce]
shapes: [1x2]
sizes: [1K]
candidates: [allreduce/recursive_doubling]
strategy: exhaustive
confirmation: off
repetitions: {minimum: 10, maximum: 50, slice: 5ms}
launches: 2
";

/// Starts its ranks one by one unless the folder has a file `pmi`.
const LAUNCHER: &str = r#"#!/bin/sh
[ "$1" != --version ] && [ ! -e DIR/pmi ] || exec REAL "$@"
for word; do
    case $last in -n|-np) ranks=$word;; esac
    before=$last last=$word
done
[ "$last" != true ] || exit 0
while [ "$ranks" -gt 0 ]; do
    "$before" "$last" &
    ranks=$((ranks - 1))
done
wait
"#;

/// A place with such a launcher of this library, and its library.
fn place(name: LibraryName) -> Option<(Place, Library)> {
    let place = place_with(name.name(), CAMPAIGN)?;
    let choice = LibraryChoice {
        name: Some(name),
        ..LibraryChoice::default()
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = select_installation(&choice, &discover_libraries(&path)).unwrap();
    let launcher = place.path("bin/mpirun");
    let text = LAUNCHER
        .replace("DIR", &place.path("").display().to_string())
        .replace("REAL", &installed.launcher.display().to_string());
    place.write("bin/mpirun", text);
    std::fs::set_permissions(&launcher, PermissionsExt::from_mode(0o755)).unwrap();
    let campaign = place.read("campaign.yaml");
    let named = format!(
        "library: {{name: {}, launcher: '{}'}}",
        name.name(),
        launcher.display()
    );
    let campaign = campaign.replace(&format!("library: {}", name.name()), &named);
    place.write("campaign.yaml", campaign);
    Some((place, installed.library()))
}

#[track_caller]
fn assert_refused(ran: &Ran) {
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let told = "1 rank on 1 node, and not the 2 ranks of 1x2";
    assert!(ran.err.contains(told), "{ran:?}");
    assert!(ran.err.contains("do not find each other"), "{ran:?}");
}

#[test]
fn ranks_that_do_not_find_each_other_decide_nothing() {
    for name in [LibraryName::OpenMpi, LibraryName::Mpich] {
        let Some((place, library)) = place(name) else {
            return;
        };
        let store = || Store::open(&place.path(".colltune/real.db")).unwrap();
        let tune = ["tune", "campaign.yaml"];
        assert_refused(&run(&place, &tune));
        assert!(!place.path(TABLE).exists());
        assert_eq!(store().failures(&library).unwrap(), []);
        assert!(store().measured_launches(&library).unwrap().is_empty());

        place.write("pmi", "");
        let tuned = run(&place, &[&tune[..], &["--json"]].concat());
        assert_eq!(tuned.code, Some(0), "{tuned:?}");
        let found = tuned.json();
        assert_eq!(found["done"], found["total"], "{tuned:?}");
        assert_eq!(store().failures(&library).unwrap(), []);
        // A rule to judge, whatever was faster.
        let table = place.read(TABLE);
        let rule = "{from: 0, candidate: allreduce/recursive_doubling, speedup: 1.2, confidence: high, confirmed: true}";
        let (head, rules) = table.split_once("rules:\n").unwrap();
        let (_, tail) = rules.split_once('\n').unwrap();
        let indent = &rules[..rules.find('-').unwrap()];
        place.write(TABLE, format!("{head}rules:\n{indent}- {rule}\n{tail}"));

        std::fs::remove_file(place.path("pmi")).unwrap();
        let table_with_rule = place.read(TABLE);
        for further in [
            &["check", TABLE, "--probes", "0"][..],
            &["validate", TABLE],
            &["validate", TABLE, "--repair"],
            &["validate", TABLE, "--confirm"],
            &tune,
        ] {
            let is_measured = further[0] == "tune";
            let ran = run(&place, further);
            // A campaign that is measured makes no launches.
            if is_measured {
                assert_eq!(ran.code, Some(0), "{ran:?}");
            } else {
                assert_refused(&ran);
                assert_eq!(place.read(TABLE), table_with_rule, "{further:?}");
            }
            assert_eq!(store().verdicts(&library).unwrap(), [], "{further:?}");
            assert_eq!(store().failures(&library).unwrap(), [], "{further:?}");
        }
        assert_no_process_left(&place);
    }
}
