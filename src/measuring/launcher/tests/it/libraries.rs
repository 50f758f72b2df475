//! MPI libraries are found and chosen, or their absence is explained.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use launcher::LibraryName::{Mpich, OpenMpi};
use launcher::{
    Discovery, LaunchError, LibraryChoice, LibraryName, discover_libraries, discover_within,
    driver_directories, find_driver, find_preloaded, select_installation,
};
use vocabulary::Library;

use testkit::fakes::{Fakes, INTEL_MPI, MPICH, OPEN_MPI_4, OPEN_MPI_5};

fn names(found: &Discovery) -> Vec<String> {
    found
        .installations
        .iter()
        .map(|known| known.library().to_string())
        .collect()
}

/// The library of this name, version and launcher.
fn choice(name: Option<LibraryName>, version: &str, launcher: Option<&Path>) -> LibraryChoice {
    LibraryChoice {
        name,
        version: (!version.is_empty()).then(|| version.to_owned()),
        launcher: launcher.map(Path::to_owned),
        ..LibraryChoice::default()
    }
}

#[test]
fn versions_are_recognised() {
    for (name, output, expected) in [
        ("mpirun", OPEN_MPI_4, "openmpi-4.1.4"),
        ("mpiexec.openmpi", OPEN_MPI_5, "openmpi-5.0.6"),
        ("mpiexec.hydra", MPICH, "mpich-4.0.2"),
        ("mpirun", INTEL_MPI, "intelmpi-2021.19.0"),
    ] {
        let fakes = Fakes::new();
        let launcher = fakes.write_launcher(name, output, "exit 0");
        let found = discover_libraries(&fakes.search_path());
        assert_eq!(names(&found), [expected], "{found:?}");
        assert_eq!(found.installations[0].launcher, launcher);
        assert!(found.unusable.is_empty(), "{found:?}");
    }
}

#[test]
fn unusable_launchers_are_reported() {
    let fakes = Fakes::new();
    fakes.write_launcher("mpirun", "Spectrum MPI launcher 10.4", "");
    fakes.write_script("mpiexec", "exit 3");
    fakes.write_script("mpiexec.hydra", "sleep 40");
    std::fs::write(fakes.path("mpirun.mpich"), "not executable").expect("written");
    let found = discover_within(&fakes.search_path(), Duration::from_millis(300));
    assert!(found.installations.is_empty(), "{found:?}");
    let reasons: Vec<String> = found
        .unusable
        .iter()
        .map(|unusable| unusable.reason.to_string())
        .collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(
        reasons[0].contains("printed `Spectrum MPI launcher"),
        "{reasons:?}"
    );
    assert!(reasons[1].contains("took longer than 300ms"), "{reasons:?}");
    assert!(reasons[2].contains("exit status: 3"), "{reasons:?}");
}

#[test]
fn one_library_of_several_names_is_found_once() {
    let fakes = Fakes::new();
    fakes.write_launcher("mpiexec.mpich", MPICH, "");
    fakes.write_launcher("mpiexec.hydra", MPICH, "");
    let program = fakes.write_launcher("orterun", OPEN_MPI_4, "");
    for name in ["mpirun", "mpirun.openmpi"] {
        std::os::unix::fs::symlink(&program, fakes.path(name)).expect("a link");
    }
    let found = discover_libraries(&fakes.search_path());
    assert_eq!(names(&found), ["openmpi-4.1.4", "mpich-4.0.2"]);
}

#[test]
fn the_wanted_library_is_selected() {
    let (old, new) = (Fakes::new(), Fakes::new());
    old.write_launcher("mpiexec", MPICH, "");
    old.write_launcher("mpirun", OPEN_MPI_4, "");
    let newer = new.write_launcher("mpirun", OPEN_MPI_5, "");
    let paths = [old.search_path(), new.search_path()];
    let found = discover_libraries(&std::env::join_paths(paths).expect("no colons"));
    for (wanted, expected) in [
        (LibraryChoice::default(), "openmpi-4.1.4"),
        (choice(Some(OpenMpi), "", None), "openmpi-4.1.4"),
        (choice(Some(Mpich), "", None), "mpich-4.0.2"),
        (choice(None, "5.0.6", None), "openmpi-5.0.6"),
        (choice(None, "", Some(&newer)), "openmpi-5.0.6"),
    ] {
        let selected = select_installation(&wanted, &found).map_err(|error| error.to_string());
        assert_eq!(
            selected.map(|known| known.library().to_string()),
            Ok(expected.to_owned())
        );
    }

    let refused =
        |wanted: LibraryChoice| select_installation(&wanted, &found).expect_err("not there");
    let error = refused(choice(Some(Mpich), "4.3.2", None));
    assert!(matches!(error, LaunchError::NotInstalled { .. }), "{error}");
    assert!(
        error.to_string().contains("mpich 4.3.2 is not installed"),
        "{error}"
    );
    assert!(error.to_string().contains("mpich-4.0.2"), "{error}");
    let other_library = refused(choice(Some(Mpich), "", Some(&newer)));
    assert!(
        matches!(other_library, LaunchError::OtherLibrary { .. }),
        "{other_library}"
    );
    let unusable = refused(choice(None, "", Some(Path::new("/nowhere/mpirun"))));
    assert!(
        matches!(unusable, LaunchError::Unusable { .. }),
        "{unusable}"
    );
    assert!(
        unusable.to_string().contains("/nowhere/mpirun"),
        "{unusable}"
    );
}

/// Its launcher is that of the library from which it derives.
#[test]
fn a_library_that_is_not_known_has_the_launcher_of_a_known_one() {
    let fakes = Fakes::new();
    let launcher = fakes.write_launcher("mpirun", MPICH, "");
    let wanted = LibraryChoice {
        unknown_name: Some("mvapich".to_owned()),
        ..choice(None, "2.3.7", Some(&launcher))
    };
    let selected = select_installation(&wanted, &Discovery::default()).expect("selected");
    assert_eq!(selected.library().to_string(), "mvapich-2.3.7");
    assert_eq!(selected.name, Mpich);
    let other = fakes.write_launcher("mpiexec", "Spectrum MPI launcher 10.4", "");
    let unusable = LibraryChoice {
        launcher: Some(other),
        ..wanted
    };
    select_installation(&unusable, &Discovery::default()).expect_err("an unknown launcher");
}

#[test]
fn without_mpi_the_error_says_how_to_install_it() {
    let empty = Fakes::new();
    let error = select_installation(
        &LibraryChoice::default(),
        &discover_libraries(&empty.search_path()),
    )
    .expect_err("nothing");
    assert!(matches!(error, LaunchError::NoMpi { .. }), "{error}");
    assert!(
        error.to_string().contains(
            &empty
                .path("")
                .display()
                .to_string()
                .trim_end_matches('/')
                .to_owned()
        )
    );
    assert!(
        error
            .help()
            .is_some_and(|help| help.contains("apt-get install openmpi-bin"))
    );
}

#[test]
fn drivers_are_found_by_library() {
    let (first, second) = (Fakes::new(), Fakes::new());
    let library = Library {
        name: "openmpi".into(),
        version: "4.1.4".into(),
    };
    let directories = [first.path(""), second.path("")];

    let error = find_driver(&library, &directories).expect_err("not built");
    let text = error.to_string();
    for directory in &directories {
        let file = directory.join("openmpi-4.1.4/colltune-driver");
        assert!(text.contains(&file.display().to_string()), "{text}");
    }
    assert!(
        error
            .help()
            .is_some_and(|help| help.contains("make driver MPICC="))
    );

    for fakes in [&second, &first] {
        std::fs::create_dir(fakes.path("openmpi-4.1.4")).expect("created");
        let driver = fakes.write_script("openmpi-4.1.4/colltune-driver", "");
        assert_eq!(find_driver(&library, &directories).expect("built"), driver);
    }
}

/// A table names any library, and what is found is executed or preloaded.
#[test]
fn names_of_libraries_do_not_lead_to_other_folders() {
    let fakes = Fakes::new();
    for folder in ["lib", "evil-1"] {
        std::fs::create_dir(fakes.path(folder)).expect("created");
    }
    fakes.write_script("evil-1/colltune-driver", "");
    fakes.write_script("evil-1/libcolltune.so", "");
    let absolute = fakes.path("evil").display().to_string();
    for (name, version) in [("../evil", "1"), (&absolute, "1"), ("x", "/../../evil-1")] {
        let library = Library {
            name: name.to_owned(),
            version: version.to_owned(),
        };
        let folder = fakes.path("lib");
        find_driver(&library, std::slice::from_ref(&folder)).expect_err("not a library");
        find_preloaded(&library, &[folder]).expect_err("not a library");
    }
}

#[test]
fn driver_directories_prefer_the_named_one() {
    let executable = Path::new("/opt/colltune/bin/colltune");
    let installed = PathBuf::from("/opt/colltune/lib/colltune");
    let named = PathBuf::from("/lib/own");
    let named_first = driver_directories(Some(OsStr::new("/lib/own")), executable);
    assert_eq!(named_first, [named, installed.clone()]);
    for absent in [None, Some(OsStr::new(""))] {
        assert_eq!(
            driver_directories(absent, executable),
            std::slice::from_ref(&installed)
        );
    }
}
