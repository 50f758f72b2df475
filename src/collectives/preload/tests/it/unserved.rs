//! Programs whose collectives are not seen: the summary names the reason.

use launcher::LibraryName;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};

use crate::launch::{compiled, run_preloaded};

#[test]
fn the_summary_says_why_no_call_was_seen_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("unserved.c", folder.path(), &["-ldl"]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let mut ways = vec![
        ("address", "calls MPI's functions by addresses of its own"),
        (
            "leave",
            "no summary: the program ended without MPI_Finalize",
        ),
    ];
    if chosen_family() == LibraryName::Mpich {
        ways.push(("sessions", "starts MPI by sessions, without MPI_Init"));
    }
    for (way, why) in ways {
        let run = |more: &[(&str, &str)]| {
            let text = run_preloaded(&program, &[way.to_owned()], 2, &path, more).text;
            assert!(text.contains("the program ends"), "{way}: {text}");
            text
        };
        let text = run(&[]);
        assert_eq!(text.matches("colltune: ").count(), 1, "{way}: {text}");
        let is_unused = text.contains("colltune: the table is not used: ");
        assert_eq!(is_unused, way != "leave", "{way}: {text}");
        assert!(text.contains(why), "{way}: {text}");
        let disabled = run(&[("COLLTUNE_DISABLE", "1")]);
        assert!(!disabled.contains("colltune"), "{way}: {disabled}");
    }
}
