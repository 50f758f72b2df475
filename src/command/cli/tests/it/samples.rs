//! Files of samples, as other programs read them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use store::Store;
use testkit::process;
use vocabulary::{Pattern, Subject};

use crate::made;
use crate::run::{Place, Ran};

const STORE: &str = "disturbed.db";

/// A store with invalid repetitions and launches of different batches.
fn place() -> Place {
    let place = Place::new();
    made::disturbed_store(&place.path(STORE));
    place
}

/// The rows that DuckDB answers to a query in the place's folder; `None` without DuckDB.
fn duckdb(place: &Place, query: &str) -> Option<Value> {
    let python = process::find_cached("duckdb").map(|folder| folder.join("bin/python"));
    let python = testkit::require("DuckDB", python.filter(|python| python.exists()))?;
    let program = "import duckdb, json, sys; print(json.dumps(duckdb.sql(sys.argv[1]).fetchall()))";
    let mut command = Command::new(python);
    command
        .args(["-c", program, query])
        .current_dir(place.path(""));
    let ended = process::run_to_end(&mut command, Duration::from_secs(60));
    assert!(ended.status.success(), "{query}: {}", ended.err);
    Some(serde_json::from_str(&ended.out).unwrap())
}

/// Launch, collective, shape, size, candidate, valid repetitions and their median, from the store.
fn summaries(store: &Path) -> Vec<Value> {
    let store = Store::open(store).unwrap();
    let samples = store.samples(&made::library(), Pattern::Together).unwrap();
    let mut rows: Vec<Value> = samples
        .iter()
        .filter_map(|sample| {
            let Subject::Cell(cell) = sample.subject else {
                return None;
            };
            let median = statistics::median(&sample.seconds)?;
            Some(json!([
                sample.launch,
                cell.collective.name(),
                cell.shape.to_string(),
                cell.bytes,
                sample.candidate.to_string(),
                sample.seconds.len(),
                median
            ]))
        })
        .collect();
    rows.sort_by_key(key);
    rows
}

fn key(row: &Value) -> String {
    row.as_array().unwrap()[..5]
        .iter()
        .map(|value| format!("{value} "))
        .collect()
}

#[test]
fn duckdb_reads_what_the_store_holds() {
    let place = place();
    place
        .run(&[
            "samples",
            STORE,
            "--format",
            "parquet",
            "-o",
            "a.parquet",
            "-q",
        ])
        .good();
    place
        .run(&["samples", STORE, "--format", "csv", "-o", "a.csv", "-q"])
        .good();
    let expected = summaries(&place.path(STORE));
    assert!(expected.len() > 20, "{}", expected.len());
    for file in ["a.parquet", "a.csv"] {
        let query = format!(
            "SELECT launch, collective, shape, bytes, candidate, count(*), median(seconds)
             FROM '{file}' WHERE valid AND collective IS NOT NULL GROUP BY ALL"
        );
        let Some(Value::Array(mut rows)) = duckdb(&place, &query) else {
            return;
        };
        rows.sort_by_key(key);
        assert_eq!(rows, expected, "{file}");
        let counting_query = format!("SELECT count(*) FILTER (NOT valid), count(*) FROM '{file}'");
        let counts = duckdb(&place, &counting_query).unwrap();
        let [invalid, all] = [0, 1].map(|column| counts[0][column].as_u64().unwrap());
        assert!(0 < invalid && invalid < all, "{counts}");
    }
    // No column is a reserved word.
    let names = frame::COLUMNS.map(|column| column.name).join(", ");
    duckdb(
        &place,
        &format!("SELECT max(COLUMNS(*))::VARCHAR FROM (SELECT {names} FROM 'a.parquet')"),
    );
}

#[test]
fn the_query_of_the_documentation_is_one_of_duckdb() {
    let place = place();
    place
        .run(&[
            "samples",
            STORE,
            "--format",
            "parquet",
            "-o",
            "night.parquet",
            "-q",
        ])
        .good();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/samples.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, query) = text.split_once("```sql\n").unwrap();
    let (query, _) = query.split_once("```").unwrap();
    let Some(rows) = duckdb(&place, query) else {
        return;
    };
    let all: u64 = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row[4].as_u64().unwrap())
        .sum();
    let expected = summaries(&place.path(STORE));
    let expected: u64 = expected.iter().map(|row| row[5].as_u64().unwrap()).sum();
    assert_eq!(all, expected);
}

#[test]
fn samples_are_printed_or_written_and_what_they_are_is_told() {
    let place = place();
    let printed = place.run(&["samples", STORE, "--format", "csv"]).good().out;
    let told = place
        .run(&["samples", STORE, "--format", "csv", "--output", "new/a.csv"])
        .good()
        .out;
    assert_eq!(place.read("new/a.csv"), printed);
    let rows = printed.lines().count() - 1;
    assert_eq!(
        told,
        format!("new/a.csv is written: {rows} repetitions of 8 launches\n")
    );
    let few = [
        "samples",
        STORE,
        "--format",
        "csv",
        "-c",
        "allreduce",
        "--bytes",
        "8K",
    ];
    let few = place.run(&few).good().out;
    let rest: Vec<&str> = few.lines().skip(1).collect();
    assert!(!rest.is_empty() && rest.iter().all(|row| row.contains(",allreduce,,8192,")));
    assert!(rest.len() < rows);
}

#[test]
fn no_rows_are_a_warning() {
    let place = place();
    let ran = place.run(&["samples", STORE, "--format", "csv", "--shape", "64x64"]);
    assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 1));
    assert!(
        ran.err.contains("no repetition fits all options"),
        "{}",
        ran.err
    );
}

#[test]
fn wrong_stores_and_outputs_are_refused_and_nothing_is_written() {
    let place = place();
    place.write("text.db", "no store");
    let before = place.files();
    let samples =
        |args: &[&str]| -> Ran { place.run(&[&["samples", "--format", "parquet"], args].concat()) };
    samples(&[STORE, "absent.db", "-o", "a.parquet"]).bad(2, &["there is no store at absent.db"]);
    samples(&[STORE, "text.db", "-o", "a.parquet"]).bad(2, &["text.db is not a colltune store"]);
    samples(&[STORE, "./disturbed.db", "-o", "a.parquet"]).bad(
        2,
        &[
            "./disturbed.db is given twice",
            "help: name each store once",
        ],
    );
    samples(&[STORE, "-o", STORE]).bad(2, &["STORE", "would be replaced"]);
    samples(&[STORE, "-o", "text.db/a.parquet"]).bad(2, &["cannot write text.db/a.parquet"]);
    samples(&[STORE, "-o", "/dev/full"]).bad(3, &["cannot write /dev/full"]);
    assert_eq!(place.files(), before);
}
