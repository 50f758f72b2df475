//! `validate` and `check` on real MPI: exported files in place, and forced algorithms.

use table::{Confidence, Deployments, Rule, Table};
use wire::{Candidate, Parameters};

use crate::mpi::{assert_nobody_left, place_with, run};
use crate::run::Place;

/// Broadcasts with the library's own algorithms: a few seconds.
const CAMPAIGN: &str = "
collectives: bcast
candidates: {include: 'native:*'}
shapes: [1x2]
sizes: [64, 1M]
parameters: {block_bytes: [16K]}
strategy: exhaustive
repetitions: {minimum: 10, maximum: 100, slice: 10ms}
launches: 2
watchdog: 5s
";

const TABLE: &str = "tables/real.yaml";

/// A place with a table that is right where it is, but for what the library's own settings are to do with
/// broadcasts from 1000 bytes on.
fn place(library: &str, candidate: Candidate) -> Option<Place> {
    let place = place_with(library, CAMPAIGN)?;
    let tuned = run(&place, &["tune", "campaign.yaml"]);
    assert_eq!(tuned.code, Some(0), "{tuned:?}");
    let path = place.path(TABLE);
    let mut table = Table::load(&path).unwrap();
    let entries = table
        .collectives
        .get_mut(&schedule::Collective::Bcast)
        .unwrap();
    entries.truncate(1);
    entries[0].deployments = Deployments::Any;
    entries[0].rules = vec![
        Rule::new(0, Candidate::Default, None, Confidence::High),
        Rule::new(1000, candidate, Some(2.0), Confidence::High),
    ];
    table.save(&path).unwrap();
    Some(place)
}

/// One of the library's own broadcasts.
fn native(id: &str, segment_bytes: Option<u64>) -> Candidate {
    Candidate::Native {
        algorithm: format!("native:bcast/{id}"),
        parameters: Parameters {
            segment_bytes,
            ..Parameters::default()
        },
    }
}

#[test]
fn an_exported_table_is_validated_and_repaired_under_openmpi() {
    // Of a long message in thousands of pieces nobody will say that it is fast.
    let Some(place) = place("openmpi", native("pipeline", Some(256))) else {
        return;
    };
    let check = [
        "check",
        TABLE,
        "--deployment",
        "library",
        "--tolerance",
        "99",
    ];
    let strict = [&check[..], &["--materiality", "0.2"]].concat();
    let checked = run(&place, &strict);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let slower = "pipeline[segment_bytes=256] takes";
    assert!(checked.out.contains(slower), "{}", checked.out);

    let validate = [
        "validate",
        TABLE,
        "--deployment",
        "library",
        "--launches",
        "4",
    ];
    let repaired = run(&place, &[&validate[..], &["--repair", "--json"]].concat());
    assert_eq!(repaired.code, Some(0), "{repaired:?}");
    let found = repaired.json();
    assert_eq!(found["via"], "export");
    let points = found["points"].as_array().unwrap();
    let long = points.iter().find(|point| point["bytes"] == 1 << 20);
    let long = long.unwrap();
    assert_eq!(long["judgement"], "slower", "{found}");
    assert!(long["speedup"].as_f64().unwrap() < 0.8, "{found}");
    let table = Table::load(&place.path(TABLE)).unwrap();
    let last = table.collectives[&schedule::Collective::Bcast][0]
        .rules
        .last();
    assert_eq!(last.unwrap().candidate, Candidate::Default);
    let lenient = [&check[..], &["--materiality", "5"]].concat();
    let checked = run(&place, &lenient);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert_nobody_left(&place);
}

#[test]
fn an_exported_table_is_in_place_under_mpich() {
    let Some(place) = place("mpich", native("scatter_ring_allgather", None)) else {
        return;
    };
    let ran = run(
        &place,
        &[
            "validate",
            TABLE,
            "--deployment",
            "library",
            "--launches",
            "2",
            "--materiality",
            "9",
            "--json",
        ],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = ran.json();
    assert_eq!(
        (&found["via"], &found["not_measured"]),
        (&"export".into(), &0.into())
    );
    assert_nobody_left(&place);
}
