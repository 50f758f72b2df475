//! Files of colltune 0.1.0, from before campaigns had digests of version 2; `fixtures/v0.1/README.md` says how they
//! were made. All later versions must read, report on and continue them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use model::Machine;
use rusqlite::Connection;
use schedule::Collective;
use store::{LaunchOutcome, Store};
use table::{Deployment, MeasuredPoint, OperatorClass, Operators, Rule, ShapeRules, Table};
use vocabulary::{Candidate, Library, Pattern, RankOrder, Sample, Subject};

use crate::run::Place;

/// Puts files into a place: databases are text, and `@DIR@` stands for the place. `change` may edit the text of each file.
pub(crate) fn put(place: &Place, from: &Path, to: &str, change: fn(String) -> String) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_symlink() {
            symlink(
                fs::read_link(&path).unwrap(),
                place.path(&format!("{to}{name}")),
            )
            .unwrap();
            continue;
        }
        if path.is_dir() {
            // Git ignores folders with the names of stores' folders.
            let name = if name == "store" {
                ".colltune".to_owned()
            } else {
                name
            };
            fs::create_dir_all(place.path(&format!("{to}{name}"))).unwrap();
            put(place, &path, &format!("{to}{name}/"), change);
            continue;
        }
        let folder = place.path("").display().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("@DIR@", folder.trim_end_matches('/'));
        let text = change(text);
        match name.strip_suffix(".sql") {
            Some(store) => {
                fs::create_dir_all(place.path(to)).unwrap();
                let store = Connection::open(place.path(&format!("{to}{store}"))).unwrap();
                store.execute_batch(&text).unwrap();
            }
            None => place.write(&format!("{to}{name}"), text),
        }
        // Git keeps no modes, and a service keeps its secret from other users.
        if name == "token" {
            let secret = place.path(&format!("{to}{name}"));
            fs::set_permissions(secret, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// A place with one folder of the fixtures.
fn fixture(name: &str, place: Place) -> Place {
    changed_fixture(name, place, |text| text)
}

fn changed_fixture(name: &str, place: Place, change: fn(String) -> String) -> Place {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v0.1");
    put(&place, &folder.join(name), "", change);
    place
}

/// A table without the parts that may differ: remarks, the day, the versions of the format and of colltune, and speed-ups
/// at measured sizes, which version 0.1 did not write.
fn content(table: &str) -> Vec<&str> {
    let lines = table.lines();
    lines
        .filter(|line| {
            let may_differ = ["date:", "speedup:", "format:", "colltune:"];
            let is = |start| line.trim().starts_with(start);
            !line.starts_with('#') && !may_differ.into_iter().any(is)
        })
        .collect()
}

/// Asserts that a table names this colltune as the one that decided, also about an old store.
fn assert_made_by_this_version(table: &str) {
    let line = format!("  colltune: \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(table.lines().any(|found| found == line), "{table}");
}

/// A table without the rules for noncommutative operators: version 0.1 measured commutative ones for both classes.
/// Of several entries for the same shape only the first counts. Orders of ranks, which version 0.1 did not know, are
/// ignored.
fn of_commutative(text: &str) -> Vec<(Collective, ShapeRules)> {
    let table = Table::parse(text, "table.yaml".as_ref()).unwrap();
    let mut found: Vec<(Collective, ShapeRules)> = Vec::new();
    for (collective, entries) in table.collectives {
        for mut entry in entries {
            entry.order = RankOrder::Unknown;
            // It had no times of other candidates, and other thresholds between measured sizes.
            entry.candidates.clear();
            let at = entry.measured.iter().map(|point| point.bytes);
            entry.rules = at
                .filter_map(|bytes| {
                    Some(Rule {
                        from_bytes: bytes,
                        ..table::rule_at(&entry.rules, bytes)?.clone()
                    })
                })
                .collect();
            // It had no speed-ups at measured sizes.
            for point in &mut entry.measured {
                *point = MeasuredPoint::new(point.bytes, point.seconds, point.default_seconds);
            }
            let covers = entry.operators.hold_for(OperatorClass::Commutative);
            if collective.is_reduction() {
                entry.operators = Operators::Commutative;
            }
            let is_same = |(known, other): &(Collective, ShapeRules)| {
                (*known, other.shape, other.deployments)
                    == (collective, entry.shape, entry.deployments)
            };
            if covers && !found.iter().any(is_same) {
                found.push((collective, entry));
            }
        }
    }
    found
}

/// Whether a table has rules for operators that do not commute, other than those of a library's settings for all
/// operators.
fn decides_for_others(text: &str) -> bool {
    let table = Table::parse(text, "table.yaml".as_ref()).unwrap();
    let mut reductions = table.collectives.iter().filter(|(c, _)| c.is_reduction());
    reductions.any(|(_, entries)| {
        entries.iter().any(|entry| {
            entry.deployments.hold_for(Deployment::Colltune)
                && entry.operators.hold_for(OperatorClass::Noncommutative)
        })
    })
}

/// The lines of a table that have an order of ranks.
fn orders(table: &str) -> Vec<&str> {
    let lines = table.lines().map(str::trim);
    lines.filter(|line| line.starts_with("order:")).collect()
}

/// A store with its only library.
fn opened(place: &Place, store: &str) -> (Store, Library) {
    let store = Store::open(&place.path(store)).unwrap();
    let library = store.libraries().unwrap().pop().unwrap();
    (store, library)
}

/// Asserts that a store has one campaign, with the digest that the version of the fixtures gave it.
fn check_campaign(place: &Place, store: &str) {
    let (store, _) = opened(place, store);
    let rows = store.campaigns().unwrap();
    let digests: Vec<_> = rows.iter().map(|row| row.digest.as_str()).collect();
    let table = place.read("expected-table.yaml");
    assert_eq!(digests.len(), 1, "{digests:?}");
    assert!(table.contains(digests[0]), "{digests:?}");
}

/// Asserts that each measurement was made once in each launch.
fn check_once(samples: &[Sample]) {
    let mut seen = BTreeSet::new();
    for sample in samples {
        let key: (u32, Subject, Candidate) =
            (sample.launch, sample.subject, sample.candidate.clone());
        assert!(seen.insert(key), "{sample:?}");
    }
}

const STORE: &str = ".colltune/sim.db";
const IMPORTED: &str = ".colltune/imported.db";

/// A line of a report without its column at this place from the end.
fn without_column(line: &str, from_end: usize) -> String {
    let mut columns: Vec<&str> = line.split(',').collect();
    columns.remove(columns.len().saturating_sub(from_end));
    columns.join(",")
}

/// A line of a report without the model's predictions, which may improve; measurements and conclusions from them must
/// not change.
fn without_expectation(line: &str) -> String {
    without_column(line, 3)
}

/// The same without the launches of the speed-up and the distribution, which are newer than the fixtures.
fn as_before(line: &str) -> String {
    let line = without_column(&without_expectation(line), 5);
    let mut columns: Vec<&str> = line.split(',').collect();
    // Texts with commas come later.
    let distribution = columns.remove(4);
    assert!(["distribution", ""].contains(&distribution), "{line}");
    columns.join(",")
}

#[test]
fn an_old_store_gives_the_same_report_and_table() {
    for (name, store) in [
        ("simulated", STORE),
        ("real", ".colltune/real.db"),
        ("imported", IMPORTED),
    ] {
        let place = fixture(name, Place::new());
        let report = place.run(&["report", store, "--format", "csv"]).good();
        // Noncommutative operators had the times of commutative ones.
        let expected = place.read("expected-report.csv");
        let expected: Vec<String> = expected
            .lines()
            .filter(|line| !line.contains(",noncommutative,"))
            .map(without_expectation)
            .collect();
        let found: Vec<String> = report.out.lines().map(as_before).collect();
        assert_eq!(found, expected, "{name}");
        let told = place.run(&["report", store]).good().out;
        assert!(told.starts_with("# "), "{told}");
        let decided = place.run(&["decide", store]).good().out;
        let expected_table = place.read(match name {
            "simulated" => "expected-decisions.yaml",
            _ => "expected-table.yaml",
        });
        assert_eq!(
            of_commutative(&decided),
            of_commutative(&expected_table),
            "{name}"
        );
        assert!(!decides_for_others(&decided), "{name}: {decided}");
        let head = |table| {
            let mut lines = content(table);
            lines.truncate(
                lines
                    .iter()
                    .position(|line| *line == "collectives:")
                    .unwrap(),
            );
            lines.join("\n")
        };
        assert_eq!(head(&decided), head(&expected_table), "{name}");
        assert_made_by_this_version(&decided);
        check_campaign(&place, store);
    }
}

/// As if version 0.1 had measured the gather that it called `binary_chunked`.
#[test]
fn the_old_name_of_an_algorithm_is_known_in_old_stores_and_tables() {
    let place = changed_fixture("imported", Place::new(), |text| {
        let text = text.replace("bcast/binomial", "gather/binary_chunked");
        text.replace(
            "bytes of one rank's vector",
            "bytes of one rank's contribution",
        )
        .replace("bcast", "gather")
        .replace("gather/chain", "gather/binomial")
    });
    let decided = place.run(&["decide", IMPORTED]).good().out;
    let old = place.read("expected-table.yaml");
    for (text, name, other) in [
        (&old, "gather/binary_chunked", "binary_streamed"),
        (&decided, "gather/binary_streamed", "binary_chunked"),
    ] {
        assert!(text.contains(name) && !text.contains(other), "{text}");
    }
    assert_eq!(of_commutative(&decided), of_commutative(&old));
}

#[test]
fn an_interrupted_old_campaign_is_continued() {
    let place = fixture("simulated", Place::new());
    let (old_store, old_library) = opened(&place, STORE);
    let (before, launches) = (
        old_store.samples(&old_library, Pattern::Together).unwrap(),
        old_store.launches().unwrap(),
    );
    assert_eq!(launches.len(), 3);
    assert_eq!(launches[2].outcome, None, "it was killed");
    drop(old_store);

    let ran = place.run(&["tune", "campaign.yaml", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = ran.json();
    assert_eq!(told["done"], told["total"]);

    let (store, library) = opened(&place, STORE);
    assert_eq!(library.version, "lab-93fe3176");
    let after = store.samples(&library, Pattern::Together).unwrap();
    assert!(before.iter().all(|sample| after.contains(sample)));
    check_once(&after);
    let now = store.launches().unwrap();
    assert_eq!(now[..2], launches[..2]);
    assert_eq!(now[2].outcome, Some(LaunchOutcome::Interrupted));
    let of_third = after.iter().filter(|sample| sample.launch == 3);
    let tasks: BTreeSet<Subject> = of_third.map(|sample| sample.subject).collect();
    assert_eq!(tasks.len(), 9, "as many as its spool had");
    check_campaign(&place, STORE);
    // The result is that of an uninterrupted campaign.
    let (table, expected) = (
        place.read("tables/sim.yaml"),
        place.read("expected-table.yaml"),
    );
    // Launches report the order of ranks now; those of version 0.1 did not.
    let (found_orders, then) = (orders(&table), orders(&expected));
    assert!(!found_orders.is_empty() && found_orders.iter().all(|line| *line == "order: block"));
    assert!(then.is_empty(), "{then:?}");
    // Of an allreduce of one double on four ranks other candidates are compared now: those whose messages are the same for
    // elements of all sizes. The choice is the same; the launches, and so the default's time, are not.
    let without_single_double = |text: &str| {
        let mut entries = of_commutative(text);
        for (collective, entry) in &mut entries {
            if *collective == Collective::Allreduce {
                entry.measured.retain(|point| point.bytes != 8);
            }
        }
        entries
    };
    assert_eq!(
        without_single_double(&table),
        without_single_double(&expected)
    );
    assert!(decides_for_others(&expected) && !decides_for_others(&table));
    // Nothing is left to do.
    let again = place.run(&["tune", "campaign.yaml", "--json"]).json();
    assert_eq!(again["launches"], 0);

    place
        .run(&["fit", STORE, "--machine", "fitted.yaml"])
        .good();
    let [fitted, expected_machine] = ["fitted.yaml", "expected-machine.yaml"]
        .map(|file| Machine::from_yaml(&place.read(file)).unwrap());
    assert_eq!(fitted, expected_machine);
}

#[test]
fn an_old_table_is_explained_from_its_store() {
    let place = fixture("real", Place::new());
    place.write("tables/real.yaml", place.read("expected-table.yaml"));
    let ask = |verb, further: &[&str]| {
        let question = ["-c", "bcast", "-n", "1", "-k", "2", "-b", "8", "--json"];
        let args = [&[verb, "tables/real.yaml"], &question[..], further].concat();
        place.run(&args).good().json()
    };
    let answer = ask("lookup", &[]);
    assert_eq!(answer["candidate"], "native:bcast/chain");
    assert_eq!(answer["expected_seconds"], 4.795e-7);
    let evidence = ask("explain", &[]);
    assert_eq!(evidence["decision"], answer);
    // It has no orders of ranks, so it holds for all.
    for order in ["block", "cyclic", "other"] {
        let of_order = ask("lookup", &["--order", order]);
        assert_eq!(
            (&of_order["shape"], &of_order["order"]),
            (&"measured".into(), &order.into())
        );
    }
    // It has rules for operators that do not commute, which were not measured.
    let disagreement = evidence["disagreement"].as_str().unwrap_or_default();
    assert!(disagreement.contains("`colltune decide`"), "{evidence}");
    let chosen = &evidence["evidence"][0];
    assert_eq!(chosen["chosen"], "native:bcast/chain");
    assert_eq!(chosen["ranking"][0]["launches"], 2);
}

#[test]
fn imports_in_an_old_store_are_not_repeated() {
    let place = fixture("imported", Place::new());
    place
        .run(&[
            "import",
            "times.csv",
            "--format",
            "csv",
            "--store",
            IMPORTED,
        ])
        .bad(2, &["already holds times.csv"]);
}

/// A table names its campaign by the digest that it had.
#[test]
fn an_old_table_finds_its_campaign_in_its_store() {
    let place = fixture("simulated", Place::new());
    place.write("tables/sim.yaml", place.read("expected-decisions.yaml"));
    let ran = place.run(&["check", "tables/sim.yaml", "--json"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
}

#[test]
fn an_old_machine_file_is_simulated() {
    let place = fixture("simulated", Place::new());
    let machine = "expected-machine.yaml";
    let question = "-c allreduce --ranks 4 --bytes 64K --json -m";
    let mut args = vec!["simulate"];
    args.extend(question.split(' ').chain([machine]));
    let told = place.run(&args).good().json();
    let seconds = |algorithm: &str| {
        let mut results = told["results"].as_array().unwrap().iter();
        let found = results.find(|result| result["algorithm"] == algorithm);
        found.unwrap()["seconds"].as_f64().unwrap()
    };
    assert_eq!(seconds("rabenseifner"), 0.00001940635999720381);
    assert_eq!(seconds("ring"), 0.000026467348243833482);
    // Measurements on it are those of a library of this name.
    let campaign = place.read("campaign.yaml").replace("machine.yaml", machine);
    place.write("campaign.yaml", campaign);
    let plan = place.run(&["plan", "campaign.yaml", "--json"]).json();
    assert_eq!(plan["library"]["version"], "sim-8e27ece2");
}

#[test]
fn a_job_of_an_old_version_is_continued() {
    let place = fixture("batch", Place::with_mpirun("exit 1"));
    let jobs = place.run(&["jobs", "--json"]).good().json();
    let told: Vec<_> = jobs.as_array().unwrap().iter().collect();
    let of = |key: &str| told.iter().map(|job| job[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("id"), ["2", "4"]);
    assert_eq!(of("state"), ["done", "done"]);
    assert_eq!(of("measured"), [36, 1]);

    let (old_store, old_library) = opened(&place, ".colltune/small.db");
    let before = old_store.samples(&old_library, Pattern::Together).unwrap();
    drop(old_store);
    let ran = place.run(&["tune", "campaign.yaml", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let tuned = ran.json();
    assert_eq!(tuned["done"], tuned["total"]);
    assert_eq!(tuned["launches"], 0);
    let (store, library) = opened(&place, ".colltune/small.db");
    let after = store.samples(&library, Pattern::Together).unwrap();
    assert!(before.iter().all(|sample| after.contains(sample)));
    check_once(&after);
    let outcomes = store.launches().unwrap().into_iter().map(|row| row.outcome);
    assert!(outcomes.eq([Some(LaunchOutcome::Complete), Some(LaunchOutcome::Complete)]));
    check_campaign(&place, ".colltune/small.db");
    let (table, expected) = (
        place.read("tables/small.yaml"),
        place.read("expected-table.yaml"),
    );
    assert_eq!(content(&table), content(&expected));
    assert_made_by_this_version(&table);
}
