//! What is peculiar to barriers, alltoalls and scans.

use launcher::LibraryName;
use schedule::Collective;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};
use vocabulary::Through;

use crate::corners::calls;
use crate::launch::{compiled, run_preloaded, warnings};
use crate::stress::forcing_through;

#[test]
fn barriers_alltoalls_and_scans_do_what_mpi_says_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("synchronising.c", folder.path(), &[]);
    // MPICH's ranks spin.
    let crowd = match chosen_family() {
        LibraryName::Mpich | LibraryName::IntelMpi => 3,
        LibraryName::OpenMpi => 5,
    };
    let algorithms = [
        Collective::Alltoall,
        Collective::Barrier,
        Collective::Scan,
        Collective::Exscan,
    ]
    .map(|collective| schedule::algorithms_of(collective).count());
    let most = algorithms.into_iter().max().unwrap_or_default();
    for place in 0..most {
        for through in [Through::Mpi, Through::Shared] {
            let ranks = [2, crowd, 3][place % 3];
            let path = save_table(&forcing_through(place, through), folder.path());
            let text = run_preloaded(&program, &[], ranks, &path, &[]).expect_success();
            let place = format!("{place} {through:?}, {ranks} ranks: {text}");
            assert!(
                text.contains("all wait, and every prefix is right"),
                "{place}"
            );
            assert!(warnings(&text).is_empty(), "{place}");
            // Calls of the program by collective, apart from those without data, across groups, and on `MPI_COMM_SELF`,
            // which no algorithm carries out.
            for (collective, made) in [
                ("alltoall/", 6),
                ("barrier/", u64::from(ranks)),
                ("scan/", 6),
                ("exscan/", 6),
            ] {
                assert_eq!(calls(&text, collective), made, "{collective} {place}");
            }
            assert!(text.contains("default (no data)"), "{place}");
            assert!(text.contains("default (intercommunicator)"), "{place}");
        }
    }
}

/// The library's own calls reach the hooks in the middle of the program's.
#[test]
fn barriers_and_alltoalls_within_the_library_do_no_harm_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("files.c", folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let file = folder.path().join("numbers").display().to_string();
    // ROMIO calls MPI by its names; Open MPI's other component for files does not.
    let romio = [("OMPI_MCA_io", "^ompio")];
    let text = run_preloaded(&program, &[file], 3, &path, &romio).expect_success();
    assert!(
        text.contains("files, windows and communicators work"),
        "{text}"
    );
    assert!(warnings(&text).is_empty(), "{text}");
    assert!(calls(&text, "barrier/") > 5, "{text}");
}
