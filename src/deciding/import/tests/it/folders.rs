//! Folders with the outputs of nightly benchmarks.

use import::{ImportError, ImportFormat, import_files};

use crate::{Desk, options};

fn night(seconds: f64) -> String {
    format!("# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n4    {seconds}\n")
}

/// Writes files into a folder `nights`.
fn write(desk: &Desk, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = desk.path("nights").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
}

#[test]
fn importing_a_folder_again_stores_only_new_files() {
    let desk = Desk::new();
    let [first, second, third] = [1.5, 1.25, 1.75].map(night);
    write(
        &desk,
        &[
            ("2026-10/02.txt", &second),
            ("2026-10/01.txt", &first),
            ("2026-10/copy.txt", &first),
            (".hidden", "# OSU MPI Allreduce Latency Test\n4 1\n"),
            ("README", "Made by cron."),
        ],
    );
    let import = || {
        import_files(
            &desk.path("nights"),
            &desk.path("a.db"),
            &options(ImportFormat::Osu),
        )
    };
    let imported = import().expect("imported");
    assert_eq!(imported.launches, [1, 2]);
    assert_eq!((imported.cells, imported.repetitions), (1, 2));
    assert_eq!(imported.empty, [desk.path("nights/README")]);
    assert_eq!(imported.known, [desk.path("nights/2026-10/copy.txt")]);
    let times = || {
        desk.samples()
            .iter()
            .map(|s| s.seconds[0] * 1e6)
            .collect::<Vec<f64>>()
    };
    assert_eq!(times(), [1.5, 1.25], "launches in the order of names");
    write(&desk, &[("2026-11/01.txt", &third)]);
    let later = import().expect("imported");
    assert_eq!((later.launches, later.repetitions), (vec![3], 1));
    assert_eq!(later.known.len(), 3);
    let unchanged = import().expect("nothing new");
    assert_eq!((unchanged.launches.len(), unchanged.known.len()), (0, 4));
    assert_eq!(times().len(), 3);
}

#[test]
fn stores_and_links_to_folders_among_the_files_are_skipped() {
    let desk = Desk::new();
    write(&desk, &[("nights/1", &night(1.5)), ("2", &night(1.25))]);
    let (folder, store) = (desk.path("nights"), desk.path("nights/a.db"));
    std::os::unix::fs::symlink(".", folder.join("all")).expect("linked");
    let import = || import_files(&folder, &store, &options(ImportFormat::Osu));
    assert_eq!(import().expect("imported").launches, [1, 2]);
    let again = import().expect("nothing new");
    assert_eq!((again.known.len(), again.empty.len()), (2, 0), "{again:?}");
}

#[test]
fn a_file_that_cannot_be_imported_is_left_out_of_a_folder_with_its_reason() {
    let desk = Desk::new();
    let wrong = night(1.5).replace("1.5", "nan");
    let quarter = night(1.5).replace("# Size", "# Datatype: MPI_COMPLEX.\n# Size");
    write(&desk, &[("1", &night(1.5)), ("2", &wrong), ("3", &quarter)]);
    let import = || {
        import_files(
            &desk.path("nights"),
            &desk.path("a.db"),
            &options(ImportFormat::Osu),
        )
    };
    let imported = import().expect("the first file");
    assert_eq!(imported.repetitions, 1);
    let [second, third] = &imported.refused[..] else {
        panic!("{imported:?}");
    };
    assert_eq!(second.file, desk.path("nights/2"));
    assert!(
        second.why.contains("nights/2:3: `nan` is not a time"),
        "{second:?}"
    );
    assert!(
        third
            .why
            .contains("nights/3:2: colltune does not compare the datatype `MPI_COMPLEX`"),
        "{third:?}"
    );
    assert!(
        second.help.is_some() && third.help.is_some(),
        "{imported:?}"
    );
    assert!(imported.empty.is_empty(), "{imported:?}");
}

#[test]
fn a_folder_without_a_file_that_can_be_imported_is_refused_with_the_first_reason() {
    let desk = Desk::new();
    let import = || {
        import_files(
            &desk.path("nights"),
            &desk.path("a.db"),
            &options(ImportFormat::Osu),
        )
    };
    let wrong = night(1.5).replace("1.5", "nan");
    write(&desk, &[("1", "nothing"), ("2", &wrong)]);
    let error = import().expect_err("a wrong line").to_string();
    assert!(error.contains("nights/2:3: `nan`"), "{error}");
    write(&desk, &[("1", "nothing"), ("2", "")]);
    let empty = import().expect_err("nothing to import");
    assert!(matches!(empty, ImportError::Empty { .. }), "{empty}");
    assert!(!desk.path("a.db").exists());
}
