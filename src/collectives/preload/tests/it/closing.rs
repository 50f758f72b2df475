//! Programs that call collectives while `MPI_Finalize` deletes attributes.

use tempfile::TempDir;
use testkit::mpi::chosen_installation;
use testkit::tables::{forcing_table, save_table};

use crate::corners::calls;
use crate::launch::{compiled, run_preloaded, warnings};

#[test]
fn collectives_while_mpi_deletes_attributes_are_right_and_not_counted() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("closing.c", folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let profile = folder.path().join("profile.json");
    let recording = [("COLLTUNE_RECORD", profile.to_str().expect("a path"))];
    for more in [&[][..], &recording] {
        let text = run_preloaded(&program, &[], 3, &path, more).expect_success();
        assert_eq!(
            text.matches("the callback has the sums").count(),
            3,
            "{text}"
        );
        assert_eq!(calls(&text, "allreduce/"), 10, "{text}");
        assert!(!text.contains("iallreduce"), "{text}");
        assert_eq!(warnings(&text), [""; 0], "{text}");
    }
    let text = std::fs::read_to_string(&profile).expect("a profile");
    let recorded = profile::Profile::from_json(&text).unwrap_or_else(|error| panic!("{error}"));
    let of_ranks: u64 = recorded.calls.values().map(|cost| cost.calls).sum();
    assert_eq!(of_ranks, 3 * 10, "{text}");
}
