//! The catalogue, the text form and the proofs.

use schedule::{ALGORITHMS, Algorithm};
use serde_json::json;

use crate::run::{Place, keys};

#[test]
fn list_shows_the_registry() {
    let place = Place::new();
    let text = place.run(&["schedule", "list"]).good().out;
    for algorithm in ALGORITHMS {
        assert!(text.contains(&algorithm.name()), "{text}");
    }
    let objects = place.run(&["schedule", "list", "--json"]).good().json();
    assert_eq!(objects.as_array().unwrap().len(), ALGORITHMS.len());
    let dual_root = objects
        .as_array()
        .unwrap()
        .iter()
        .find(|object| object["id"] == "dual_root")
        .unwrap();
    assert_eq!(
        keys(dual_root),
        [
            "collective",
            "id",
            "ordered",
            "parameters",
            "source",
            "summary"
        ]
    );
    assert_eq!(dual_root["collective"], "allreduce");
    assert_eq!(dual_root["parameters"], json!(["block_bytes", "blocks"]));

    let args = ["schedule", "list", "--collective", "bcast", "--json"];
    let of_bcast = place.run(&args).good().json();
    let ids: Vec<_> = of_bcast
        .as_array()
        .unwrap()
        .iter()
        .map(|o| &o["id"])
        .collect();
    let registered: Vec<_> = schedule::of(schedule::Collective::Bcast)
        .map(|algorithm| algorithm.id)
        .collect();
    assert_eq!(ids, registered);
}

#[test]
fn show_prints_rounds() {
    let place = Place::new();
    let args = [
        "schedule",
        "show",
        "allreduce/dual_root",
        "--ranks",
        "3",
        "--blocks",
        "2",
    ];
    let whole = place.run(&args).good().out;
    insta::assert_snapshot!(whole);
    let bare = place.run(&[
        "schedule",
        "show",
        "dual_root",
        "--ranks",
        "3",
        "--blocks",
        "2",
    ]);
    assert_eq!(bare.good().out, whole);

    let args = "schedule show bcast/chain --ranks 4 --root 2 --blocks 3 --rank 2 --units 10";
    let one = place.run(&words(args)).good().out;
    insta::assert_snapshot!(one);
    let rounds = place.run(&words(&format!("{args} --json"))).good().json();
    assert_eq!(
        keys(&rounds),
        [
            "algorithm",
            "block_units",
            "blocks",
            "collective",
            "programs",
            "ranks",
            "root"
        ]
    );
    assert_eq!(rounds["block_units"], json!([4, 3, 3]));
    let program = &rounds["programs"][0];
    assert_eq!(program["rank"], 2);
    assert_eq!(program["rounds"][0], json!(["send output 0/3 to 3"]));
}

#[test]
fn show_refuses_what_an_algorithm_cannot_do() {
    let place = Place::new();
    for (args, parts) in [
        (
            "allreduce/dual_rot --ranks 4",
            &[
                "there is no algorithm",
                "did you mean `allreduce/dual_root`?",
            ][..],
        ),
        (
            "xyz --ranks 4",
            &["there is no algorithm `xyz`", "schedule list"],
        ),
        (
            "binomial --ranks 4",
            &["bcast/binomial, reduce/binomial", "full name"],
        ),
        (
            "bcast/binomial --ranks 4 --blocks 2",
            &["does not take the parameter `blocks`"],
        ),
        (
            "bcast/binomial --ranks 4 --root 4",
            &["root 4 is not among ranks 0 to 3"],
        ),
        (
            "bcast/binomial --ranks 4 --rank 9",
            &["rank 9 is not among ranks 0 to 3"],
        ),
        (
            "allreduce/reduce_broadcast --ranks 4 --reduce ring",
            &["no reduce algorithm `ring`"],
        ),
    ] {
        place
            .run(&words(&format!("schedule show {args}")))
            .bad(2, parts);
    }
}

#[test]
fn verify_proves_every_algorithm() {
    let place = Place::new();
    let args = words("schedule verify --all --ranks 1..9");
    let text = place.run(&args).good().out;
    let names: Vec<_> = text
        .lines()
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect();
    let registry: Vec<_> = ALGORITHMS.iter().map(Algorithm::name).collect();
    assert_eq!(names, registry);
    assert!(text.lines().all(|line| line.starts_with("ok  ")), "{text}");
    let quiet = [&args[..], &["--quiet"]].concat();
    assert_eq!(place.run(&quiet).good().out, "");

    let args = words("schedule verify ring --ranks 5 --json");
    let objects = place.run(&args).good().json();
    assert_eq!(
        objects,
        json!([{
            "collective": "allreduce",
            "algorithm": "ring",
            "ok": true,
            "ordered": false,
            // Two lengths, in place and not.
            "shapes": 4,
            "most_steps": 8,
            "fault": null,
        }])
    );
    place
        .run(&words("schedule verify no_such --ranks 5"))
        .bad(2, &["no algorithm"]);
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}
