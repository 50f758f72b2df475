//! A simulated campaign with all collectives, from measuring to validating.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use schedule::Collective::{self, Alltoall, Barrier, Exscan, Gatherv, Scan, Scatterv};
use schedule::Distribution;
use serde_json::Value;
use table::{ShapeRules, Table};

use crate::run::Place;

const CAMPAIGN: &str = "\
name: seventeen
launcher: {simulated: {machine: fat-tree.yaml, seed: 3}}
shapes: [1x4, 2x4]
collectives: all
sizes: {default: [64, 4K], gatherv: [1K, 1M], scatterv: [1K, 1M]}
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
    let mut args = vec![verb, "tables/seventeen.yaml", "-n2", "-k4", "-c"];
    args.push(collective.name());
    if collective.decides_by_size() {
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
    for collective in Collective::ALL {
        assert!(planned.contains(collective.name()), "{planned}");
    }
    good(&["tune", "campaign.yaml"]);
    let table = Table::load(&place.path("tables/seventeen.yaml")).unwrap();
    assert!(table.collectives.keys().eq(&Collective::ALL));
    for entry in &table.collectives[&Barrier] {
        let sizes: Vec<u64> = entry.measured.iter().map(|point| point.bytes).collect();
        assert_eq!(sizes, [0]);
        assert_eq!(entry.rules.len(), 1, "{entry:?}");
    }
    // The simulated library has only a few of the algorithms, without shared memory.
    for collective in [Alltoall, Barrier, Scan, Exscan, Gatherv, Scatterv] {
        let rules = table.collectives[&collective].iter();
        let mut rules = rules.flat_map(|entry| &entry.rules);
        let is_chosen = rules.any(|rule| rule.candidate.is_ours() && rule.confirmed);
        assert!(is_chosen, "{:?}", table.collectives[&collective]);
    }

    // One rule holds for all sizes where ranks do not know a common one, and one for all distributions of a size.
    assert_eq!(
        table.provenance.distributions,
        [Distribution::Uniform, Distribution::Skewed]
    );
    for (collective, entries) in &table.collectives {
        let irregular = entries.iter().filter(|_| collective.is_irregular());
        for entry in irregular {
            let sizes: Vec<u64> = entry.measured.iter().map(|point| point.bytes).collect();
            assert!(sizes.len() >= 2, "{collective}: {sizes:?}");
            assert!(
                collective.decides_by_size() || entry.rules.len() == 1,
                "{entry:?}"
            );
        }
    }

    for collective in Collective::ALL {
        let found = good(&[&query("lookup", collective)[..], &["--json"]].concat()).json();
        assert_eq!(found["collective"], collective.name());
        assert_eq!(found["shape"], "measured");
        let explained = good(&query("explain", collective)).out;
        assert!(explained.contains("default"), "{explained}");
    }
    let report = place.read("reports/seventeen.md");
    for told in [
        "Size: bytes of one block, from one rank to another",
        "Size: always 0 bytes",
        "Size: mean bytes of a block, from one rank to another",
        "### gatherv on 2x4, skewed",
    ] {
        assert!(report.contains(told), "no `{told}` in {report}");
    }
    let page = place.read("reports/seventeen.html");
    assert!(page.contains("size: bytes of one block, from one rank to another"));
    assert!(page.contains("The collective has no data, so there is no time against size."));
    for text in [&report, &page] {
        assert!(!text.contains("NaN"), "{text}");
    }

    // Deciding again from the store gives the same table.
    let before = place.read("tables/seventeen.yaml");
    good(&[
        "decide",
        ".colltune/seventeen.db",
        "-o",
        "tables/seventeen.yaml",
    ]);
    assert_eq!(place.read("tables/seventeen.yaml"), before);
    let header = good(&["export", "tables/seventeen.yaml", "--format", "c-header"]).out;
    assert!(header.contains("COLLTUNE_EXSCAN"), "{header}");

    let validated = good(&[
        "validate",
        "tables/seventeen.yaml",
        "--campaign",
        "campaign.yaml",
        "--json",
    ]);
    let chosen = collectives_of_ours(&table);
    let validated = collectives_of_points(&validated.json());
    assert!(validated.is_superset(&chosen), "{chosen:?}: {validated:?}");

    // There are fewer points than that.
    let check = ["check", "tables/seventeen.yaml", "--cells", "100"];
    let more = ["--probes", "0", "--campaign", "campaign.yaml", "--json"];
    let checked = good(&[&check[..], &more].concat()).json();
    assert_eq!(checked["holds"], true);
    let checked = collectives_of_points(&checked);
    assert!(checked.is_superset(&chosen), "{chosen:?}: {checked:?}");

    let preloaded = format!("lib/{}/libcolltune.so", table.provenance.library);
    place.write(&preloaded, "");
    let deploy = [
        "deploy",
        "tables/seventeen.yaml",
        "--to",
        "site",
        "--preload",
    ];
    place.run(&deploy).bad(1, &["simulated"]);
    good(&[&deploy[..], &["--unconfirmed"]].concat());
    let deployed = Table::load(&place.path("site/current/table.yaml")).unwrap();
    assert_eq!(collectives_of_ours(&deployed), chosen);
}

/// The collectives for which a table chooses an algorithm of ours somewhere.
fn collectives_of_ours(table: &Table) -> BTreeSet<String> {
    let has_ours = |entries: &Vec<ShapeRules>| {
        let mut rules = entries.iter().flat_map(|entry| &entry.rules);
        rules.any(|rule| rule.candidate.is_ours())
    };
    let chosen = table.collectives.iter();
    let chosen = chosen.filter(|(_, entries)| has_ours(entries));
    chosen
        .map(|(collective, _)| collective.to_string())
        .collect()
}

/// The collectives of the points of an answer.
fn collectives_of_points(answer: &Value) -> BTreeSet<String> {
    let points = answer["points"].as_array().unwrap();
    let names = points.iter().map(|point| point["collective"].as_str());
    names.map(|name| name.unwrap().to_owned()).collect()
}

#[test]
fn sizes_of_calls_without_a_common_size_are_ignored() {
    let place = place();
    place.write(
        "campaign.yaml",
        CAMPAIGN.replace("collectives: all", "collectives: gatherv"),
    );
    assert_eq!(place.run(&["tune", "campaign.yaml"]).code, Some(0));
    let asked = |rest: &[&str]| {
        let args = [
            &[
                "lookup",
                "tables/seventeen.yaml",
                "-n2",
                "-k4",
                "--json",
                "-c",
                "gatherv",
            ],
            rest,
        ];
        let ran = place.run(&args.concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()
    };
    assert_eq!(asked(&[]), asked(&["-b4K"]));
    assert_eq!(asked(&["-b1"]), asked(&["-b1G"]));
}

#[test]
fn distributions_without_irregular_collectives_are_refused() {
    let place = place();
    for (campaign, told) in [
        (
            "name: one\ncollectives: bcast\ndistributions: skewed\n",
            "distributions are for irregular collectives, and the campaign measures none",
        ),
        (
            "name: one\ncollectives: gatherv\ndistributions: skewd\n",
            "did you mean `skewed`?",
        ),
        (
            "name: one\nshapes: 32x32\nlauncher: {simulated: {machine: fat-tree.yaml, seed: 1}}\n\
             collectives: alltoallv\nsizes: 64K\ndistributions: dominated\n",
            "sends",
        ),
    ] {
        place.write("one.yaml", campaign);
        let ran = place.run(&["plan", "one.yaml"]);
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!(ran.err.contains(told), "{}", ran.err);
    }
}
