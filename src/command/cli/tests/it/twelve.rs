//! A simulated campaign with all collectives, from measuring to validating.

use std::fs;
use std::path::Path;

use schedule::Collective::{self, Alltoall, Barrier, Exscan, Scan};
use table::Table;

use crate::run::Place;

const CAMPAIGN: &str = "\
name: twelve
launcher: {simulated: {machine: fat-tree.yaml, seed: 3}}
shapes: [1x4, 2x4]
collectives: all
sizes: [64, 4K]
parameters: {block_bytes: 4K, radix: [2, 4]}
repetitions: {slice: 20ms}
launches: 3
budget: 10h
";

fn place() -> Place {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines");
    let machine = fs::read_to_string(root.join("fat-tree.yaml")).unwrap();
    place.write("fat-tree.yaml", machine);
    place.write("campaign.yaml", CAMPAIGN);
    place
}

/// The arguments of a query about one of the measured points, on eight ranks.
fn query(verb: &'static str, collective: Collective) -> Vec<&'static str> {
    let mut args = vec![verb, "tables/twelve.yaml", "-n2", "-k4", "-c"];
    args.push(collective.name());
    if collective.has_data() {
        args.push("-b4K");
    }
    args
}

#[test]
fn all_collectives_go_through_every_stage() {
    let place = place();
    let good = |args: &[&str]| {
        let ran = place.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran
    };
    let planned = good(&["plan", "campaign.yaml"]).out;
    for collective in Collective::SERVED {
        assert!(planned.contains(collective.name()), "{planned}");
    }
    good(&["tune", "campaign.yaml"]);
    let table = Table::load(&place.path("tables/twelve.yaml")).unwrap();
    assert!(table.collectives.keys().eq(&Collective::SERVED));
    for entry in &table.collectives[&Barrier] {
        let sizes: Vec<u64> = entry.measured.iter().map(|point| point.bytes).collect();
        assert_eq!(sizes, [0]);
        assert_eq!(entry.rules.len(), 1, "{entry:?}");
    }
    // The simulated library has only a few of the algorithms, without shared memory.
    for collective in [Alltoall, Barrier, Scan, Exscan] {
        let rules = table.collectives[&collective].iter();
        let mut rules = rules.flat_map(|entry| &entry.rules);
        let is_chosen = rules.any(|rule| rule.candidate.is_ours() && rule.confirmed);
        assert!(is_chosen, "{:?}", table.collectives[&collective]);
    }

    for collective in Collective::SERVED {
        let found = good(&[&query("lookup", collective)[..], &["--json"]].concat()).json();
        assert_eq!(found["collective"], collective.name());
        assert_eq!(found["shape"], "measured");
        let explained = good(&query("explain", collective)).out;
        assert!(explained.contains("default"), "{explained}");
    }
    let report = place.read("reports/twelve.md");
    for told in [
        "Size: bytes of one block, from one rank to another",
        "Size: always 0 bytes",
    ] {
        assert!(report.contains(told), "no `{told}` in {report}");
    }
    let page = place.read("reports/twelve.html");
    assert!(page.contains("size: bytes of one block, from one rank to another"));
    assert!(page.contains("The collective has no data, so there is no time against size."));
    for text in [&report, &page] {
        assert!(!text.contains("NaN"), "{text}");
    }

    // Deciding again from the store gives the same table.
    let before = place.read("tables/twelve.yaml");
    good(&["decide", ".colltune/twelve.db", "-o", "tables/twelve.yaml"]);
    assert_eq!(place.read("tables/twelve.yaml"), before);
    let header = good(&["export", "tables/twelve.yaml", "--format", "c-header"]).out;
    assert!(header.contains("COLLTUNE_EXSCAN"), "{header}");

    let validated = good(&[
        "validate",
        "tables/twelve.yaml",
        "--campaign",
        "campaign.yaml",
        "--json",
    ]);
    let text = validated.json().to_string();
    for collective in [Alltoall, Barrier, Scan, Exscan] {
        assert!(text.contains(&format!("\"{collective}\"")), "{text}");
    }
}

#[test]
fn collectives_that_are_not_tuned_yet_are_named_as_such() {
    let place = Place::new();
    for name in Collective::unserved().map(Collective::name) {
        place.write("one.yaml", format!("name: one\ncollectives: {name}\n"));
        for args in [
            &["plan", "one.yaml"][..],
            &["lookup", "one.yaml", "-n1", "-k2", "-b8", "-c", name],
        ] {
            let ran = place.run(args);
            assert_ne!(ran.code, Some(0), "{ran:?}");
            let told = format!("campaigns, tables and programs do not use {name} yet");
            assert!(ran.err.contains(&told), "{}", ran.err);
            assert!(!ran.err.contains("did you mean"), "{}", ran.err);
            assert!(!ran.err.contains("similar"), "{}", ran.err);
        }
    }
}
