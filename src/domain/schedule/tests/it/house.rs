//! Adding an algorithm takes one file and its row in the registry: nothing else names algorithms.

use std::path::{Path, PathBuf};

use schedule::{ALGORITHMS, Algorithm, Collective};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// All files with an extension below a folder that are part of the product.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !["tests", "benches", "examples", "target"].contains(&name) {
            files(&path, extension, found);
        } else if name != "tests.rs" && path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
}

/// The algorithms that the program names in a string, by id or full name. Comments, help texts and unit tests beside
/// the code are left out, since they decide nothing.
fn named(source: &str) -> Vec<&'static str> {
    let code = source.split("#[cfg(test)]").next().unwrap_or(source);
    let mut ids: Vec<_> = ALGORITHMS
        .iter()
        .filter(|algorithm| {
            let [bare, full] = [algorithm.id.to_owned(), algorithm.name()];
            [bare, full].iter().any(|name| {
                let lines = code
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"));
                lines
                    .into_iter()
                    .any(|line| line.contains(&format!("\"{name}\"")))
            })
        })
        .map(|algorithm| algorithm.id)
        .collect();
    // Several algorithms are called `linear`.
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[test]
fn only_its_own_file_and_its_row_name_an_algorithm() {
    let source = workspace().join("src");
    let mut sources = Vec::new();
    files(&source, "rs", &mut sources);
    assert!(sources.len() > 200, "only {} files", sources.len());
    for path in sources {
        let place = path.strip_prefix(&source).unwrap();
        // These files name the libraries' own algorithms, some of which have the same names as ours.
        let is_about_libraries = [
            "collectives/exec/native",
            "domain/libraries",
            "deciding/export/openmpi",
            "deciding/export/mpich",
        ]
        .iter()
        .any(|other| place.starts_with(other));
        if is_about_libraries {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let allowed: Vec<&str> = ALGORITHMS
            .iter()
            .filter(|algorithm| {
                // Both reduce-scatters have their rows in one file.
                let folders = Collective::ALL.map(Collective::name);
                folders.iter().any(|folder| {
                    place
                        == Path::new("domain/schedule")
                            .join(folder)
                            .join(format!("{}.rs", algorithm.id))
                })
            })
            .flat_map(|algorithm| [Some(algorithm.id), algorithm.formerly])
            .flatten()
            .collect();
        for id in named(&text) {
            let is_default =
                id == "binomial" && place == Path::new("domain/schedule/parameters.rs");
            assert!(
                allowed.contains(&id) || is_default,
                "{} names the algorithm `{id}`: ask the registry instead",
                place.display()
            );
        }
    }
    assert_eq!(
        named("let a = \"ring\"; // \"mst\"\n// \"chain\""),
        ["mst", "ring"]
    );
}

#[test]
fn every_algorithm_has_its_own_file_and_every_file_a_row() {
    for algorithm in ALGORITHMS {
        let file = file_of(algorithm);
        let text = std::fs::read_to_string(workspace().join(&file)).unwrap();
        assert!(
            text.contains("pub(crate) const ALGORITHM"),
            "{}",
            file.display()
        );
    }
    for collective in Collective::ALL {
        let folder = Path::new("src/domain/schedule").join(collective.name());
        // Collectives that share all their algorithms with others have no folder.
        if !workspace().join(&folder).is_dir() {
            continue;
        }
        let mut sources = Vec::new();
        files(&workspace().join(&folder), "rs", &mut sources);
        let with_row = sources.iter().filter(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            text.contains("pub(crate) const ALGORITHM: Algorithm")
        });
        let mut of_rows: Vec<PathBuf> = ALGORITHMS.iter().map(file_of).collect();
        of_rows.retain(|file| file.starts_with(&folder));
        of_rows.sort();
        of_rows.dedup();
        assert_eq!(with_row.count(), of_rows.len(), "{collective}");
    }
}

/// The file of an algorithm: in the folder of its collective, or of the one whose algorithms that collective shares.
fn file_of(algorithm: &Algorithm) -> PathBuf {
    let others = match algorithm.collective {
        Collective::ReduceScatterBlock => Collective::ReduceScatter,
        Collective::Alltoallv | Collective::Alltoallw => Collective::Alltoall,
        Collective::Allgatherv => Collective::Allgather,
        Collective::Gatherv => Collective::Gather,
        Collective::Scatterv => Collective::Scatter,
        own => own,
    };
    let files = [algorithm.collective, others].map(|folder| {
        Path::new("src/domain/schedule")
            .join(folder.name())
            .join(format!("{}.rs", algorithm.id))
    });
    let own = files.iter().find(|file| workspace().join(file).is_file());
    own.unwrap_or(&files[0]).clone()
}

/// The worked example in src/EXTENDING.md is equal to the file that it names.
#[test]
fn the_worked_example_agrees_with_the_code() {
    let guide = std::fs::read_to_string(workspace().join("src/EXTENDING.md")).unwrap();
    let (_, rest) = guide.split_once("```rust\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let file = workspace().join("src/domain/schedule/allgather/bruck.rs");
    assert_eq!(example, std::fs::read_to_string(file).unwrap());
}
