//! Irregular collectives: ranks that see different counts and describe equal data by different types cannot disagree.

use launcher::LibraryName;
use schedule::Collective;
use table::Rule;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};
use vocabulary::{Candidate, Through};

use crate::corners::calls;
use crate::launch::{compiled, preloaded, run, run_preloaded, warnings};
use crate::stress::{forcing_through, has_even_only};

/// The irregular collectives.
fn irregular() -> impl Iterator<Item = Collective> {
    let served = Collective::ALL.into_iter();
    served.filter(|collective| collective.is_irregular())
}

#[test]
fn irregular_calls_are_decided_alike_on_all_ranks_whatever_these_see_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut programs = vec![compiled("irregular.c", folder.path(), &[])];
    // MPICH's ranks spin.
    let crowd = match chosen_family() {
        LibraryName::Mpich => {
            let large = folder.path().join("large");
            std::fs::create_dir(&large).expect("a folder");
            programs.push(compiled("irregular.c", &large, &["-DLARGE"]));
            3
        }
        LibraryName::IntelMpi => 3,
        LibraryName::OpenMpi => 4,
    };
    let most = irregular().map(|collective| schedule::algorithms_of(collective).count());
    for place in 0..most.max().unwrap_or_default() {
        let program = &programs[place % programs.len()];
        for (through, ranks) in [
            (Through::Mpi, crowd),
            (Through::Shared, [2, crowd][place % 2]),
        ] {
            let table = forcing_through(place, through);
            let ranks = if has_even_only(&table) { 2 } else { ranks };
            let path = save_table(&table, folder.path());
            let text = run_preloaded(program, &[], ranks, &path, &[]).expect_success();
            let about = format!("{place} {through:?}, {ranks} ranks: {text}");
            assert!(text.contains("irregular calls agree"), "{about}");
            assert!(warnings(&text).is_empty(), "{about}");
            for collective in irregular() {
                let made = format!("made {collective} ");
                let made = text.lines().find_map(|line| line.strip_prefix(&made));
                let made: u64 = made.expect("a number").parse().expect("a number");
                assert_eq!(
                    calls(&text, &format!("{collective}/")),
                    made,
                    "{collective} {about}"
                );
            }
        }
    }
}

/// Some of the sizes are the library's. Which these are is remembered by the elements of a predefined type, and ranks use
/// different types.
#[test]
fn sizes_of_an_allgatherv_that_are_left_to_the_library_are_the_same_on_all_ranks_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("irregular.c", folder.path(), &[]);
    let mut table = forcing_table(0, chosen_installation().library());
    let entries = table.collectives.get_mut(&Collective::Allgatherv);
    for entry in entries.expect("forced") {
        let of_ours = Rule {
            from_bytes: 40,
            ..entry.rules[0].clone()
        };
        let default = |from_bytes| Rule {
            from_bytes,
            candidate: Candidate::Default,
            speedup: None,
            confirmed: false,
            ..of_ours.clone()
        };
        entry.rules = vec![default(0), of_ours.clone(), default(97)];
    }
    let path = save_table(&table, folder.path());
    let library = preloaded().display().to_string();
    let shown = path.display().to_string();
    // Open MPI chooses its algorithm by the type that a rank sends, so the program hangs without colltune, too, unless all
    // ranks have the same one.
    let of_library = [
        ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
        ("OMPI_MCA_coll_tuned_allgatherv_algorithm", "3"),
    ];
    // Calls are decided in this way only if their time is not measured.
    let environment = [
        ("LD_PRELOAD", library.as_str()),
        ("COLLTUNE_TABLE", shown.as_str()),
        of_library[0],
        of_library[1],
    ];
    let untimed = run(&program, &[], 3, &environment).expect_success();
    assert!(untimed.contains("irregular calls agree"), "{untimed}");
    assert!(warnings(&untimed).is_empty(), "{untimed}");
    // Calls of both kinds are among them.
    let text = run_preloaded(&program, &[], 3, &path, &of_library).expect_success();
    let made = text
        .lines()
        .find_map(|line| line.strip_prefix("made allgatherv "));
    let made: u64 = made.expect("a number").parse().expect("a number");
    let ours = calls(&text, "allgatherv/");
    assert!(0 < ours && ours < made, "{ours} of {made}: {text}");
}

#[test]
fn wrong_arguments_of_irregular_calls_have_the_outcome_of_the_library_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("irregular.c", folder.path(), &[]);
    let table = forcing_table(1, chosen_installation().library());
    let path = save_table(&table, folder.path());
    let outcomes = |more: &[(&str, &str)]| {
        let text = run_preloaded(&program, &["wrong".to_owned()], 2, &path, more).expect_success();
        let outcomes: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("outcome "))
            .map(str::to_owned)
            .collect();
        (outcomes, text)
    };
    let (served, text) = outcomes(&[]);
    let (by_library, _) = outcomes(&[("COLLTUNE_DISABLE", "1")]);
    assert_eq!(served, by_library, "{text}");
    assert!(served.len() >= 10, "{text}");
    assert!(text.contains("default (wrong arguments)"), "{text}");
}
