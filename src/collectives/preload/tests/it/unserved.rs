//! Programs whose collectives are not seen: the summary names the reason.

use launcher::LibraryName;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};

use crate::corners::calls;
use crate::launch::{compiled, preloaded, run_preloaded, warnings};

#[test]
fn the_summary_says_why_no_call_was_seen_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("unserved.c", folder.path(), &["-ldl"]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    // Each line ends with the remedy.
    let mut ways = vec![
        (
            "address",
            "calls MPI's functions by addresses of its own, for instance from dlopen, and not by their names: have it look \
             them up by dlsym(RTLD_DEFAULT, ...) or in libcolltune.so, or link it to the MPI library\n",
        ),
        (
            "leave",
            "no summary: the program ended without MPI_Finalize, which all ranks must call before they end\n",
        ),
    ];
    if chosen_family() == LibraryName::Mpich {
        ways.push((
            "sessions",
            "starts MPI by sessions, without MPI_Init, and their communicators are not served: only a program that calls \
             MPI_Init, and makes its communicators from MPI_COMM_WORLD, can use a table\n",
        ));
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

/// The remedies for programs that find functions by `dlopen` help.
#[test]
fn functions_that_are_looked_up_by_their_names_are_served_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("unserved.c", folder.path(), &["-ldl"]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    for file in [String::new(), preloaded().display().to_string()] {
        let arguments = ["names".to_owned(), file.clone()];
        let text = run_preloaded(&program, &arguments, 2, &path, &[]).expect_success();
        assert!(text.contains("the program ends"), "{text}");
        assert_eq!(calls(&text, "allreduce/"), 3, "{file}: {text}");
        assert_eq!(warnings(&text), [""; 0], "{file}: {text}");
    }
}
