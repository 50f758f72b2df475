//! Programs that need as many communicators as the library has.

use launcher::LibraryName;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};

use crate::corners::calls;
use crate::launch::{archived, compiled, run, run_preloaded, warnings};

/// What the summary says of calls without a private communicator.
const LACKING: &str = "default (no private communicator: free unused ones earlier)";

/// Asserts that the first rank warns once that there was no private communicator for some, with the remedy.
#[track_caller]
fn check_warned_of_lack(text: &str) {
    let warned = warnings(text);
    assert_eq!(warned.len(), 1, "{text}");
    let remedy = "call a collective of the table on MPI_COMM_WORLD first";
    assert!(
        warned[0].contains("no private communicator") && warned[0].contains(remedy),
        "{text}"
    );
}

/// The number after some words at the beginning of a line.
fn number(text: &str, words: &str) -> u32 {
    let line = text.lines().find_map(|line| line.strip_prefix(words));
    let number = line.and_then(|number| number.trim().parse().ok());
    number.unwrap_or_else(|| panic!("no {words}: {text}"))
}

/// The number of communicators that `many.c` has made.
fn made(text: &str) -> u32 {
    assert!(text.contains("many communicators agree"), "{text}");
    number(text, "made")
}

#[test]
fn programs_have_as_many_communicators_as_without_a_table_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("many.c", folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let most = match chosen_family() {
        LibraryName::Mpich | LibraryName::IntelMpi => "3000",
        // It has more than a test can make.
        LibraryName::OpenMpi => "400",
    };
    let run = |more: &[(&str, &str)]| {
        run_preloaded(&program, &[most.to_owned()], 2, &path, more).expect_success()
    };
    let without = made(&run(&[("COLLTUNE_DISABLE", "1")]));
    let text = run(&[("COLLTUNE_ATTACH_AFTER", "20K")]);
    // All communicators share one of the library's.
    assert_eq!(made(&text), without, "{text}");
    assert!(calls(&text, "allreduce/") > 0, "{text}");
    // It is given back when the program needs the last one.
    let is_given_back = text.contains(LACKING);
    assert_eq!(
        is_given_back,
        chosen_family() == LibraryName::Mpich,
        "{text}"
    );
    if is_given_back {
        check_warned_of_lack(&text);
    } else {
        assert_eq!(warnings(&text), [""; 0], "{text}");
    }
}

#[test]
fn whatever_needs_the_last_communicator_gets_it_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("makers.c", folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let run = |arguments: &[String], more: &[(&str, &str)]| {
        run_preloaded(&program, arguments, 2, &path, more).expect_success()
    };
    let disabled = [("COLLTUNE_DISABLE", "1")];
    let capacity = number(&run(&[], &disabled), "capacity");
    let with_needs = |communicators: u32, needs: &[&str]| {
        let file = folder.path().join("file").display().to_string();
        let mut arguments = vec![communicators.to_string(), file];
        arguments.extend(needs.iter().map(|text| (*text).to_owned()));
        arguments
    };
    let all = match chosen_family() {
        // It divides the communicator twice.
        LibraryName::Mpich | LibraryName::IntelMpi => with_needs(capacity, &["split_type=2"]),
        // Using up its 65532 communicators takes too long for a test. So this only shows that every maker works while we
        // hold a communicator.
        LibraryName::OpenMpi => with_needs(300, &[]),
    };
    // An error would end the program.
    let text = run(&all, &[]);
    assert!(text.contains("all makers have room"), "{text}");
    // Each began while we had one.
    assert!(calls(&text, "allreduce/") >= MAKERS.len() as u64, "{text}");
    // Of what is given back, the calls afterwards are the library's.
    if text.contains(LACKING) {
        check_warned_of_lack(&text);
    } else {
        assert_eq!(warnings(&text), [""; 0], "{text}");
    }
    // The arguments are right: the makers need no more without a table.
    let without_table = run(&all, &disabled);
    assert!(
        without_table.contains("all makers have room"),
        "{without_table}"
    );
    if chosen_family() == LibraryName::OpenMpi {
        let names = MAKERS
            .iter()
            .filter(|name| !["create_group", "cart_create"].contains(name));
        let none: Vec<String> = names.map(|name| format!("{name}=0")).collect();
        let none: Vec<&str> = none.iter().map(String::as_str).collect();
        let at_capacity = run(&with_needs(capacity, &none), &[]);
        assert!(
            at_capacity.contains("all makers have room"),
            "{at_capacity}"
        );
        assert!(calls(&at_capacity, "allreduce/") >= 2, "{at_capacity}");
    }
}

/// The makers of `makers.c`.
const MAKERS: [&str; 19] = [
    "dup",
    "dup_with_info",
    "create",
    "create_group",
    "split",
    "split_type",
    "cart_create",
    "cart_sub",
    "graph_create",
    "dist_graph_create",
    "dist_graph_create_adjacent",
    "intercomm_create",
    "intercomm_merge",
    "intercomm_dup",
    "win_create",
    "win_allocate",
    "win_allocate_shared",
    "win_create_dynamic",
    "file_open",
];

#[test]
fn some_ranks_get_all_but_the_communicator_that_others_use_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("pairs.c", folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let most = match chosen_family() {
        LibraryName::Mpich | LibraryName::IntelMpi => "3000",
        // It has more than a test can make.
        LibraryName::OpenMpi => "400",
    };
    let made = |more: &[(&str, &str)]| {
        let text = run_preloaded(&program, &[most.to_owned()], 3, &path, more).expect_success();
        ["pairs alone", "pairs beside the world"].map(|words| number(&text, words))
    };
    let [alone, beside] = made(&[("COLLTUNE_DISABLE", "1")]);
    let held = u32::from(chosen_family() == LibraryName::Mpich);
    assert_eq!(made(&[]), [alone, beside - held]);
}

/// The least and the most communicators that ranks hold, at each point of `held.c`.
fn held(text: &str) -> Vec<String> {
    let names = ["unused", "parts", "whole", "parts of the whole", "freed"];
    let line = |name: &str| {
        let prefix = format!("{name}: ");
        text.lines()
            .find_map(|line| Some(line.strip_prefix(&prefix)?.to_owned()))
    };
    let held = names.iter().filter_map(|name| line(name));
    held.chain(line("table freed")).collect()
}

#[test]
fn one_communicator_serves_all_parts_of_the_world_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("held.c", folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let text = run_preloaded(&program, &[], 3, &path, &[]).expect_success();
    // The second of three ranks is in two groups, which share the whole's later on.
    let expected = ["0 to 0", "1 to 2", "1 to 1", "1 to 1", "1 to 1"];
    assert_eq!(held(&text), expected, "{text}");
    assert!(calls(&text, "allreduce/") >= 12, "{text}");
}

#[test]
fn the_interface_holds_one_communicator_until_its_table_is_freed_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let archive = archived(folder.path()).display().to_string();
    let flags = ["-DINTERFACE", archive.as_str(), "-lpthread", "-ldl", "-lm"];
    let program = compiled("held.c", folder.path(), &flags);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let arguments = [path.display().to_string()];
    let text = run(&program, &arguments, 3, &[]).expect_success();
    let expected = ["0 to 0", "1 to 2", "1 to 1", "1 to 1", "1 to 1", "0 to 0"];
    assert_eq!(held(&text), expected, "{text}");
}

#[test]
fn groups_beyond_the_first_sixteen_share_the_communicator_of_all_ranks_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("refused.c", folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let text = run_preloaded(&program, &[], 4, &path, &[]).expect_success();
    assert!(text.contains("all groups are used"), "{text}");
    // The first rank is in 18 groups: two or more are refused for their three calls before there is a communicator of all
    // ranks, and none for the thirty after.
    assert!(text.contains(LACKING), "{text}");
    check_warned_of_lack(&text);
    let refused = calls(&text, "default");
    assert!((6..=18 * 3).contains(&refused), "{text}");
    assert_eq!(calls(&text, "allreduce/") + refused, 18 * 33 + 3, "{text}");
}
