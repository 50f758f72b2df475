//! Adding an MPI library takes one folder and its row: nothing else names libraries.

use std::path::{Path, PathBuf};

use libraries::LibraryName;

/// The other files that may name libraries, with the reason.
const ALLOWED: [(&str, &str); 7] = [
    ("domain/libraries", "the rows"),
    (
        "collectives/exec/native",
        "calls MPI: how algorithms are forced differs between libraries",
    ),
    (
        "deciding/export/openmpi",
        "writes and reads the library's files",
    ),
    (
        "deciding/export/mpich",
        "writes and reads the library's files",
    ),
    (
        "deciding/export/intelmpi",
        "writes and reads the library's files",
    ),
    ("deciding/export/lib.rs", "one row a format"),
    ("testkit", "is for tests alone"),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust files of the product below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        if path.is_dir() && !["tests", "benches", "examples", "target"].contains(&name) {
            files(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The names of libraries in code: their own, and the prefixes of their variables.
fn names() -> Vec<String> {
    let of = |library: &LibraryName| {
        let facts = library.facts();
        let title = facts.title.replace(' ', "_").to_lowercase();
        let variables = facts.steering_variables.iter();
        // As in `OMPI_COMM_WORLD_RANK`.
        let variables = variables.map(|name| name.trim_end_matches("MCA_").to_lowercase());
        let mut names = vec![facts.name.to_owned(), title];
        names.extend(variables);
        names
    };
    LibraryName::ALL.iter().flat_map(of).collect()
}

/// The words of a program that name libraries: identifiers, and texts without a space. Comments, sentences for people
/// and unit tests beside the code are left out, since they decide nothing.
fn named(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or(source);
    let mut words = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' {
            let length = text(rest);
            words.extend(Some(&rest[..length]).filter(|text| !text.contains(char::is_whitespace)));
            length
        } else if let Some(quoted) = ["'\"'", "'\\\"'"].iter().find(|q| rest.starts_with(**q)) {
            quoted.len()
        } else {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            words.push(&rest[..length]);
            length.max(first.len_utf8())
        };
        rest = &rest[length..];
    }
    let names = names();
    let names_one = |word: &&str| {
        let word = word.to_lowercase();
        let begins = |name: &String| word.trim_start_matches('"').starts_with(name.as_str());
        names.iter().any(begins) || LibraryName::ALL.iter().any(|l| word.contains(l.name()))
    };
    let named = words.into_iter().filter(names_one);
    named.map(str::to_owned).collect()
}

/// The length of the string literal at the start of a program.
fn text(program: &str) -> usize {
    let mut is_escaped = false;
    let end = program.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map_or(program.len(), |(place, _)| place + 1)
}

#[test]
fn only_its_own_folder_and_its_row_name_a_library() {
    let source = source();
    let mut sources = Vec::new();
    files(&source, &mut sources);
    assert!(sources.len() > 200, "only {} files", sources.len());
    let mut used = [false; ALLOWED.len()];
    let mut faults = Vec::new();
    for path in sources {
        let place = path.strip_prefix(&source).expect("below");
        let found = named(&std::fs::read_to_string(&path).expect("readable"));
        let allowed = ALLOWED.iter().position(|(allowed, _)| {
            place.starts_with(allowed) || place.with_extension("") == Path::new(allowed)
        });
        match allowed {
            _ if found.is_empty() => {}
            Some(allowed) => used[allowed] = true,
            None => faults.push(format!("{} names {}", place.display(), found.join(", "))),
        }
    }
    assert!(
        faults.is_empty(),
        "ask `libraries` instead:\n{}",
        faults.join("\n")
    );
    for ((allowed, reason), is_used) in ALLOWED.iter().zip(used) {
        assert!(is_used, "{allowed} need not be listed: {reason}");
    }
}

#[test]
fn names_are_found_only_in_code() {
    let check = |program: &str, expected: &[&str]| assert_eq!(named(program), expected);
    check("match name { \"openmpi\" => 1 }", &["\"openmpi\""]);
    check("Name::OpenMpi | Name::Mpich", &["OpenMpi", "Mpich"]);
    check(
        "let a = open_mpi(\"MPIR_CVAR_BCAST\");",
        &["open_mpi", "\"MPIR_CVAR_BCAST\""],
    );
    check(
        "std::env::var(\"OMPI_COMM_WORLD_RANK\")",
        &["\"OMPI_COMM_WORLD_RANK\""],
    );
    check("is_mpich && MPICH_NAME", &["is_mpich", "MPICH_NAME"]);
    check("// \"mpich\"\nlet a = \"as in MPICH\"; '\"'; \"\\\"\"", &[]);
    check("compile(); prompt #[cfg(test)] mpich", &[]);
}
