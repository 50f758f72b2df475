//! The README and the chapters in `docs/`: the targets of links exist, and commands do what the text says.
//!
//! The word after `console` says which test runs a block's commands. No word: [`commands_run`]. `mpi`:
//! [`commands_run_under_openmpi`]. `build`: continuous integration, which has these commands. `program`: the tests of
//! `run` and of the C interface, with other programs. `service`: the tests of the service and the browser. `cluster`:
//! no test, as they need a cluster. In commands of all kinds the test [`options_of_all_commands_exist`] checks the
//! options.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::mpi;
use crate::run::Place;

/// The campaign that the chapters name; it takes a few seconds under MPI.
const NIGHT: &str = "
name: night
library: openmpi
shapes: [1x2]
collectives: [allreduce]
sizes: [1K, 64K, 256K]
candidates: {include: [allreduce/recursive_doubling, \"native:allreduce/recursive_doubling\"]}
strategy: exhaustive
confirmation: off
repetitions: {minimum: 10, maximum: 100, slice: 10ms}
launches: 2
budget: 60s
";

/// The parts of the large simulated campaign that the chapter queries.
const FAT_TREE: &str = "
name: simulated-fat-tree
launcher: {simulated: {machine: tuning/machines/fat-tree.yaml}}
shapes: [64x32]
collectives: [bcast]
sizes: [1M, 4M]
candidates: {include: [bcast/two_tree, bcast/binomial]}
parameters: {block_bytes: [48K]}
launches: 1
confirmation: off
repetitions: {minimum: 3, maximum: 3}
budget: 12h
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The README and all chapters, by their path in the repository.
fn chapters() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(root().join("docs")).unwrap().flatten();
    let names = entries.map(|entry| format!("docs/{}", entry.file_name().to_string_lossy()));
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".md")).collect();
    names.push("README.md".to_owned());
    names.sort();
    let read = |name: String| {
        let text = std::fs::read_to_string(root().join(&name)).unwrap();
        (name, text)
    };
    names.into_iter().map(read).collect()
}

/// The commands of a document's blocks that begin with ```` ```console KIND ````.
fn commands<'t>(text: &'t str, kind: &'t str) -> impl Iterator<Item = &'t str> {
    let mut inside = false;
    text.lines().map(str::trim).filter_map(move |line| {
        if line.starts_with("```") {
            inside = line
                .strip_prefix("```console")
                .is_some_and(|rest| rest.trim() == kind);
        }
        line.strip_prefix("$ ").filter(|_| inside)
    })
}

const KINDS: [&str; 6] = ["", "mpi", "build", "program", "service", "cluster"];

/// The relative targets of the links in a Markdown text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
        .filter(|target| !target.contains("://"))
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_anchor(text: &str, wanted: &str) -> bool {
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|heading| anchor(heading) == wanted)
}

#[test]
fn the_targets_of_links_exist() {
    let others = [
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "src/ARCHITECTURE.md",
        "src/EXTENDING.md",
        "src/domain/README.md",
        "jobs/README.md",
        "reports/nodes.md",
    ];
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let others = others.map(|name| (name.to_owned(), read(name)));
    for (document, text) in chapters().into_iter().chain(others) {
        let folder = root().join(&document).parent().unwrap().to_owned();
        for link in links(&text) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = folder.join(file);
            assert!(
                file.is_empty() || target.exists(),
                "{document} links to {link}, which is not there"
            );
            let found = match file {
                "" => has_anchor(&text, place),
                _ if place.is_empty() => true,
                _ => has_anchor(&std::fs::read_to_string(&target).unwrap(), place),
            };
            assert!(found, "{document} links to {link}: no such heading");
        }
        assert!(!text.contains("@@"), "{document} has an unfilled place");
    }
    assert_eq!(links("a [b](c.md) and [d](https://e) [f](#g)").count(), 2);
    assert_eq!(anchor("## What `is` left, then"), "what-is-left-then");
}

#[test]
fn every_chapter_is_linked_from_the_readme() {
    let chapters = chapters();
    let (_, readme) = chapters
        .iter()
        .find(|(name, _)| name == "README.md")
        .unwrap();
    for (name, _) in chapters.iter().filter(|(name, _)| name != "README.md") {
        assert!(
            links(readme).any(|link| link == name),
            "{name} is not linked"
        );
    }
    assert!(readme.lines().count() <= 200);
}

/// A verb and its options, in words that begin with `colltune` or with the alias `remote`.
fn verb_and_options(command: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let command = command.split(" # ").next()?;
    let own = command.split(" -- ").next()?;
    let start = ["colltune ", "remote "]
        .into_iter()
        .find_map(|name| own.find(name))?;
    let mut words = own[start..].trim_end_matches(')').split_whitespace();
    let nested = |verb: &str| ["remote", "schedule"].contains(&verb);
    let mut verb = match words.next()? {
        "remote" => vec!["remote"],
        _ => vec![words.next()?],
    };
    let rest: Vec<_> = words.collect();
    if nested(verb[0]) {
        let known = |word: &&&str| !word.contains(['-', '/', '.', ':']);
        verb.extend(rest.iter().find(known).copied());
    }
    let options = rest.iter().filter_map(|word| word.split('=').next());
    let options = options.filter(|word| word.starts_with("--"));
    Some((verb, options.collect()))
}

#[test]
fn options_of_all_commands_exist() {
    let place = Place::new();
    let mut seen = 0;
    for (document, text) in chapters() {
        let of_kinds = KINDS.iter().flat_map(|kind| commands(&text, kind));
        let of_kinds: Vec<_> = of_kinds.collect();
        let all = text
            .lines()
            .filter(|line| line.trim().starts_with("$ "))
            .count();
        assert_eq!(of_kinds.len(), all, "{document}: a block of no known kind");
        for command in of_kinds {
            let Some((verb, options)) = verb_and_options(command) else {
                continue;
            };
            let ran = place.run(&[&verb[..], &["--help"]].concat());
            assert_eq!(ran.code, Some(0), "{document}: {command}: {}", ran.err);
            let words: Vec<_> = ran
                .out
                .split(|c: char| !c.is_alphanumeric() && c != '-')
                .collect();
            for option in options {
                assert!(
                    words.contains(&option),
                    "{document}: {command}: no {option}"
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

/// A project's folder with everything that chapters name.
fn project(place: &Place) {
    for folder in ["tuning", "jobs"] {
        let copied = Command::new("cp")
            .arg("-r")
            .arg(root().join(folder))
            .arg(place.path(""))
            .status();
        assert!(copied.unwrap().success());
    }
    place.write("night.yaml", NIGHT);
    place.write(
        "tuning/quickstart.yaml",
        NIGHT.replace("night", "quickstart"),
    );
    place.write("tuning/simulated-fat-tree.yaml", FAT_TREE);
    // What a site may already have.
    place.write(
        "site/rules.conf",
        "1 # collective\n7 # bcast\n1 1 1\n0 6 0 0\n",
    );
    place.write(
        "site/openmpi-mca-params.conf",
        "coll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = site/rules.conf\n",
    );
}

/// Runs the commands of one kind of all chapters, in the order in which `docs/campaigns.md` comes first.
fn run_all(place: &Place, kind: &str, environment: impl Fn(&mut Command)) -> usize {
    let mut chapters = chapters();
    chapters.sort_by_key(|(name, _)| name != "docs/campaigns.md");
    let mut count = 0;
    for (document, text) in &chapters {
        for line in commands(text, kind) {
            let mut command = Command::new("/bin/sh");
            command.args(["-euc", line]).current_dir(place.path(""));
            environment(&mut command);
            let ended = testkit::process::run_to_end(&mut command, Duration::from_secs(100));
            // These may find that the table does not hold, that the machine became slower (5), or on a busy or noisy
            // machine that a point stays undecided (3).
            let may_say_no = ["colltune validate ", "colltune check "];
            let judges = may_say_no.iter().any(|verb| line.starts_with(verb));
            let has_judged = judges && ended.out.contains("point ");
            let good = match ended.status.code() {
                Some(0) => true,
                Some(1) => judges,
                Some(5) => has_judged && line.starts_with("colltune check "),
                Some(3) => has_judged && ended.out.contains("undecided"),
                _ => false,
            };
            assert!(good, "{document}: {line}: {}{}", ended.out, ended.err);
            count += 1;
        }
    }
    count
}

/// A search path with the binary's folder first.
fn search_path() -> std::ffi::OsString {
    let mut path = Path::new(env!("CARGO_BIN_EXE_colltune"))
        .parent()
        .unwrap()
        .as_os_str()
        .to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path
}

#[test]
fn commands_run() {
    let place = Place::new();
    project(&place);
    let count = run_all(&place, "", |command| {
        command.env("PATH", search_path());
    });
    assert!(count > 5, "{count}");
}

#[test]
fn commands_run_under_openmpi() {
    let Some(place) = mpi::place_with("openmpi", NIGHT) else {
        return;
    };
    project(&place);
    let environment = |command: &mut Command| {
        command
            .env("PATH", search_path())
            .env("TMPDIR", mpi::sessions(&place));
    };
    let mut first = Command::new("colltune");
    first
        .args(["tune", "tuning/quickstart.yaml", "--quiet"])
        .current_dir(place.path(""));
    environment(&mut first);
    assert!(
        testkit::process::run_to_end(&mut first, Duration::from_secs(100))
            .status
            .success()
    );
    let count = run_all(&place, "mpi", environment);
    assert!(count > 10, "{count}");
}
