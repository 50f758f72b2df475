//! Checks of the project's own documents and names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn the_example_table_can_be_queried() {
    let table = table::Table::load(&root().join("tables/example.yaml")).unwrap();
    let path = root().join("tuning").join(format!("{}.yaml", table.name));
    let campaign = campaign::Campaign::load(&path).unwrap();
    assert!(table.collectives.keys().eq(campaign.sizes.keys()));
    // A guided search measures some cells more often than the campaign asks for, and none less often.
    assert!(table.provenance.launches >= campaign.launches);
    // The only warnings are those about patterns of calls that disagree.
    let mut warnings = table.provenance.warnings.iter();
    assert!(warnings.all(|warning| warning.starts_with("the default stays where ")));
    let report = std::fs::read_to_string(root().join("reports/example.md")).unwrap();
    assert!(report.contains(&table.provenance.campaign));
}

/// The text of the file of a test's module, at any depth.
fn module(folder: &Path, name: &str) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.find_map(|path| match path.is_dir() {
        true => module(&path, name),
        false if path.file_name()? == format!("{name}.rs").as_str() => {
            std::fs::read_to_string(path).ok()
        }
        false => None,
    })
}

#[test]
fn the_threat_model_names_existing_tests() {
    let text = std::fs::read_to_string(root().join("docs/service.md")).unwrap();
    let (_, threats) = text.split_once("## Threat model").unwrap();
    let mut named = 0;
    for name in threats.split('`') {
        let Some((place, function)) = name.split_once("::") else {
            continue;
        };
        let (package, file) = place.split_once(' ').unwrap();
        let tests = crate::wings::folder_of(package).join("tests/it");
        let found = module(&tests, file).unwrap_or_else(|| panic!("no tests {place}"));
        let signature = format!("fn {function}()");
        assert!(found.contains(&signature), "there is no test {name}");
        named += 1;
    }
    assert!(named > 30, "{named}");
}

/// Names that public types of several crates or files share, with their meanings.
const SHARED_NAMES: &[(&str, &str)] = &[
    ("Call", "a call on MPI; a call whose time is predicted"),
    ("Message", "in simulated time; in steps"),
    ("Parameters", "numbers in schedules; as people write them"),
    (
        "Schedule",
        "steps of a collective; times of a service's tasks",
    ),
    ("Segment", "of a curve; of a trace"),
    ("Verdict", "of a decision, a proof, and a validation"),
    ("Work", "of a trace; in steps"),
];

/// Adds the names of public types in a folder's files.
fn public_types(folder: &Path, names: &mut BTreeMap<String, BTreeSet<PathBuf>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !["tests", "benches", "examples"].contains(&name) {
                public_types(&path, names);
            }
            continue;
        }
        if !name.ends_with(".rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let kinds = ["struct", "enum", "trait", "type", "union"];
            if line.starts_with("pub ") && words.nth(1).is_some_and(|word| kinds.contains(&word)) {
                let type_name = words.next().unwrap().to_owned();
                names.entry(type_name).or_default().insert(path.clone());
            }
        }
    }
}

#[test]
fn public_types_share_only_listed_names() {
    let mut names = BTreeMap::new();
    public_types(&root().join("src"), &mut names);
    let shared = names.iter().filter(|(_, files)| files.len() > 1);
    let shared: BTreeSet<&str> = shared.map(|(name, _)| name.as_str()).collect();
    let known: BTreeSet<&str> = SHARED_NAMES.iter().map(|(name, _)| *name).collect();
    let new: Vec<_> = shared
        .difference(&known)
        .map(|name| &names[*name])
        .collect();
    assert!(new.is_empty(), "choose another name, or say why: {new:#?}");
    let gone: Vec<_> = known.difference(&shared).collect();
    assert!(gone.is_empty(), "no longer shared: {gone:?}");
}

/// Names in the documents for contributors that product code does not have.
const NAMES_OUTSIDE: &[(&str, &str)] = &[
    ("Bed", "of the tests"),
    ("COLLTUNE_SEED", "of the tests"),
    ("Makefile", "a file"),
    ("lsf", "an example of a batch system that is added"),
];

/// Adds the words of a folder's product code, and the names of its files.
fn words(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let (stem, suffix) = name.rsplit_once('.').unwrap_or((name, ""));
        if path.is_dir() && !["tests", "benches", "examples"].contains(&name) {
            words(&path, found);
        } else if ["rs", "c", "sql", "toml"].contains(&suffix) {
            let text = std::fs::read_to_string(&path).unwrap();
            let of_text = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            found.extend(of_text.chain([stem]).map(str::to_owned));
        }
        if path.is_dir() {
            found.insert(name.to_owned());
        }
    }
}

#[test]
fn documents_for_contributors_name_existing_code() {
    let mut known = BTreeSet::new();
    words(&root().join("src"), &mut known);
    known.extend(NAMES_OUTSIDE.iter().map(|(name, _)| (*name).to_owned()));
    let mut checked = 0;
    // How crates work is documented in them, where the compiler checks most names.
    let documents = [
        "CONTRIBUTING.md",
        "src/ARCHITECTURE.md",
        "src/EXTENDING.md",
        "src/domain/vocabulary/glossary.md",
    ];
    for document in documents {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        // Every second part is a block of code, or a span.
        let prose: String = text.split("```").step_by(2).collect();
        for span in prose.split('`').skip(1).step_by(2) {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            if !span.split("::").all(|word| word.chars().all(is_word)) {
                continue;
            }
            for word in span.split("::") {
                assert!(known.contains(word), "{document}: `{span}` is not in src");
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

/// Words that say nothing at a call by themselves.
const VAGUE: [&str; 14] = [
    "add", "all", "at", "begin", "end", "find", "keep", "known", "of", "part", "parts", "place",
    "row", "with",
];

/// Functions with such a name that read well where they are called.
const CLEAR: [(&str, &str); 2] = [
    // A part of a buffer; as loom's type of the same name has it.
    ("src/domain/channel/stores.rs", "part"),
    ("src/domain/channel/sync.rs", "with"),
];

/// The lines that `scripts/names` prints.
fn count_names(arguments: &[&str]) -> String {
    let output = std::process::Command::new(root().join("scripts/names"))
        .args(arguments)
        .output()
        .expect("the script starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The product's functions can be searched for.
#[test]
fn at_most_a_third_of_the_functions_have_names_of_one_word() {
    let counted = count_names(&[]);
    let mut crates = 0;
    for line in counted.lines() {
        // As in `cli   79 of  391   20 %`.
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, short, "of", all, _, "%"] = words[..] else {
            panic!("{line}");
        };
        let [short, all] = [short, all].map(|number| number.parse::<u32>().expect("a number"));
        // The names of these are few, or mostly those of the algorithms' fixed pattern, or of MPI's.
        let is_apart = ["schedule", "wire", "printable", "preload"].contains(&name);
        assert!(is_apart || 3 * short <= all, "{line}");
        crates += 1;
    }
    assert!(crates > 30, "{counted}");
}

#[test]
fn no_function_has_a_vague_name() {
    let listed = count_names(&["--list"]);
    assert!(listed.lines().count() > 300, "{listed}");
    let mut vague = BTreeSet::new();
    for line in listed.lines() {
        let (place, name) = line.split_once(' ').expect("a name");
        let (file, _) = place.rsplit_once(':').expect("a line");
        // Algorithms have a vocabulary of their own, which `schedule/round.rs` defines.
        if VAGUE.contains(&name) && !file.starts_with("src/domain/schedule/") {
            vague.insert((file, name));
        }
    }
    let known: BTreeSet<(&str, &str)> = CLEAR.into_iter().collect();
    let new: Vec<_> = vague.difference(&known).collect();
    assert!(new.is_empty(), "say what these functions do: {new:#?}");
    let gone: Vec<_> = known.difference(&vague).collect();
    assert!(gone.is_empty(), "no longer there: {gone:?}");
}

/// The document shows the structure on a few pages; what one crate does is documented in the crate.
#[test]
fn the_architecture_is_short() {
    let text = std::fs::read_to_string(root().join("src/ARCHITECTURE.md")).unwrap();
    assert!(text.len() <= 12 * 1024, "{} bytes", text.len());
}

/// Lines of texts with aligned columns.
const IN_COLUMNS: &[&str] = &["./solver          # if deployed with --preload"];

/// The numbers of the lines in which a text goes on after the width of an indentation, as where a `\` is missing at the
/// end of a line. After a colon, values are aligned.
fn gaps(text: &str) -> Vec<usize> {
    let gap = " ".repeat(9);
    let has_gap = |line: &str| {
        let mut places = line.match_indices(&gap);
        places.any(|(place, _)| {
            let (before, after) = (&line[..place], line[place..].trim_start());
            let starts = before.trim().is_empty() || before.ends_with([' ', ':', '"', '#']);
            let is_line_of_its_own = before.ends_with("\\n");
            !starts && !is_line_of_its_own && !after.starts_with(['\\', '"'])
        })
    };
    let lines = text.lines().enumerate();
    let of_text = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
    let in_columns = |line: &str| IN_COLUMNS.iter().any(|known| line.contains(known));
    let found = of_text.filter(|(_, line)| has_gap(line) && !in_columns(line));
    found.map(|(number, _)| number + 1).collect()
}

/// Calls `look` with each file of product code.
fn each_file(folder: &Path, look: &mut impl FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !["tests", "benches", "examples"].contains(&name) {
            each_file(&path, look);
        } else if name.ends_with(".rs") {
            look(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The names of Rust files in the documentation at the top of a module.
fn files_named(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().take_while(|line| line.starts_with("//!"));
    let words = lines.flat_map(|line| line.split('`').skip(1).step_by(2));
    words.filter(|word| word.ends_with(".rs") && !word.contains(char::is_whitespace))
}

/// How crates work is documented at the top of their modules, which refer to each other by file.
#[test]
fn modules_refer_to_existing_files() {
    let example = "//! See `a.rs` and `b/c.rs`, not `a::b`.\nuse d; // `e.rs`";
    assert!(files_named(example).eq(["a.rs", "b/c.rs"]));
    let mut paths = Vec::new();
    let mut named = Vec::new();
    each_file(&root().join("src"), &mut |path, text| {
        paths.push(path.to_owned());
        named.extend(files_named(text).map(|name| (path.to_owned(), name.to_owned())));
    });
    assert!(named.len() > 100, "{}", named.len());
    // Some refer to tests of their own crate.
    let is_test = |from: &Path, name: &str| {
        let mut folders = from.ancestors();
        let package = folders.find(|folder| folder.join("Cargo.toml").is_file());
        let tests = package.map(|folder| folder.join("tests/it"));
        tests.is_some_and(|tests| {
            tests.join(name).is_file() || tests.join("../..").join(name).is_file()
        })
    };
    named.retain(|(from, name)| {
        !paths.iter().any(|path| path.ends_with(name)) && !is_test(from, name)
    });
    assert!(named.is_empty(), "these files are not there: {named:#?}");
}

#[test]
fn messages_have_no_gaps() {
    let joined = "format!(\n    \"task {task} found it on {date}              ({about})\"\n)";
    assert_eq!(gaps(joined), [2]);
    let mut found = Vec::new();
    each_file(&root().join("src"), &mut |path, text| {
        found.extend(
            gaps(text)
                .iter()
                .map(|line| format!("{}:{line}", path.display())),
        );
    });
    assert!(
        found.is_empty(),
        "these lines print many spaces: {found:#?}"
    );
}

/// The numbers of the lines in which a method begins that matches on variants to find their kind or remedy.
fn matches_on_variants(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let is_method = |line: &str| {
        ["fn kind(&self)", "fn help(&self)"]
            .iter()
            .any(|name| line.contains(name))
    };
    let matches_next = |number: usize| {
        lines
            .iter()
            .skip(number + 1)
            .take(2)
            .any(|line| line.contains("match self {"))
    };
    let numbered = lines.iter().enumerate();
    let found = numbered.filter(|(number, line)| is_method(line) && matches_next(*number));
    found.map(|(number, _)| number + 1).collect()
}

/// An error is added in one place (`src/EXTENDING.md`).
#[test]
fn kinds_and_remedies_are_beside_the_variants() {
    let apart = "impl E {\n    pub fn kind(&self) -> ErrorKind {\n        match self {\n";
    assert_eq!(matches_on_variants(apart), [2]);
    let mut found = Vec::new();
    let mut beside = 0;
    each_file(&root().join("src"), &mut |path, text| {
        // The crate that makes these methods.
        if path
            .components()
            .any(|folder| folder.as_os_str() == "explained")
        {
            return;
        }
        let lines = matches_on_variants(text);
        found.extend(
            lines
                .iter()
                .map(|line| format!("{}:{line}", path.display())),
        );
        beside += text.matches("#[kind(").count();
    });
    assert!(found.is_empty(), "use `#[kind]` and `#[help]`: {found:#?}");
    assert!(beside > 150, "{beside}");
}
