//! `colltune schedule`: the list, text, pictures, traces and proofs.

mod exports;
mod replays;

use schedule::{ALGORITHMS, Algorithm, Parameter};
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
            "bracketed_by",
            "collective",
            "cost",
            "id",
            "ordered",
            "ordered_at_ends",
            "parameters",
            "ranks",
            "source",
            "summary"
        ]
    );
    assert_eq!(dual_root["collective"], "allreduce");
    assert_eq!(dual_root["parameters"], json!(["block_bytes", "blocks"]));
    assert_eq!(dual_root["ranks"], "any");
    assert_eq!(dual_root["bracketed_by"], json!([]));
    for (object, algorithm) in objects.as_array().unwrap().iter().zip(ALGORITHMS) {
        assert_eq!(object["id"], algorithm.id);
        assert_eq!(object["cost"], algorithm.formula);
        let even = object["ranks"] == "even";
        assert_eq!(even, algorithm.even_ranks, "{object}");
        let taken = object["parameters"].as_array().unwrap();
        let radix = taken.contains(&json!("radix"));
        assert_eq!(radix, algorithm.takes(Parameter::Radix), "{object}");
        for part in [algorithm.formula, algorithm.summary, algorithm.source] {
            assert!(text.contains(part), "{part}");
        }
    }

    let args = ["schedule", "list", "--collective", "bcast", "--json"];
    let of_bcast = place.run(&args).good().json();
    let ids: Vec<_> = of_bcast
        .as_array()
        .unwrap()
        .iter()
        .map(|o| &o["id"])
        .collect();
    let registered: Vec<_> = schedule::algorithms_of(schedule::Collective::Bcast)
        .map(|algorithm| algorithm.id)
        .collect();
    assert_eq!(ids, registered);
}

#[test]
fn show_takes_nodes() {
    let place = Place::new();
    let show = |more: &str| {
        let args = format!("schedule show allreduce/lanes --shape 2x2 --network ring {more}");
        place.run_line(args.trim_end()).good()
    };
    assert!(
        show("")
            .out
            .starts_with("allreduce/lanes on 4 ranks of 2 nodes")
    );
    let block = show("--json").json();
    assert_eq!(block["nodes"], json!([[0, 1], [2, 3]]));
    assert_eq!(block["network"], "ring");
    let cyclic = show("--placement cyclic --json").json();
    assert_eq!(cyclic["nodes"], json!([[0, 2], [1, 3]]));
    assert!(
        show("--format svg")
            .out
            .contains("node 1, local rank 0</title>")
    );
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
    let bare = place.run_line("schedule show dual_root --ranks 3 --blocks 2");
    assert_eq!(bare.good().out, whole);

    let chain_args = "schedule show bcast/chain --ranks 4 --root 2 --blocks 3 --rank 2 --units 10";
    let one = place.run(&words(chain_args)).good().out;
    insta::assert_snapshot!(one);
    let rounds = place
        .run(&words(&format!("{chain_args} --json")))
        .good()
        .json();
    assert_eq!(
        keys(&rounds),
        [
            "algorithm",
            "bcast",
            "block_units",
            "blocks",
            "bracketing",
            "collective",
            "in_place",
            "leaders_per_node",
            "max_requests",
            "network",
            "node",
            "nodes",
            "programs",
            "radix",
            "ranks",
            "reduce",
            "root"
        ]
    );
    assert_eq!(rounds["blocks"], 3);
    assert_eq!(rounds["bracketing"], json!(null));
    assert_eq!(rounds["block_units"], json!([4, 3, 3]));
    let same = place.run(&words(&format!("{chain_args} --format json")));
    assert_eq!(same.good().json(), rounds);
    let program = &rounds["programs"][0];
    assert_eq!(program["rank"], 2);
    assert_eq!(program["rounds"][0], json!(["send output 0/3 to 3"]));
}

/// What decides the bits of a rounded result, and the depth that bounds its error.
#[test]
fn show_says_how_contributions_are_bracketed() {
    let place = Place::new();
    let show = |args: &str| {
        let answer = place.run_line(&format!("schedule show {args} --json"));
        answer.good().json()["bracketing"].clone()
    };
    let expected = [
        (
            "allreduce/recursive_doubling --ranks 1024",
            json!({"by": [], "depth": 10}),
        ),
        (
            "allreduce/ring --ranks 9",
            json!({"by": ["element"], "depth": 8}),
        ),
        (
            "reduce/chain --ranks 9",
            json!({"by": ["root"], "depth": 8}),
        ),
        (
            "reduce/leaders --shape 2x4",
            json!({"by": ["root", "nodes"], "depth": 3}),
        ),
        (
            "reduce/chain --ranks 1",
            json!({"by": ["root"], "depth": 0}),
        ),
        ("allgather/ring --ranks 9", json!(null)),
    ];
    for (args, bracketing) in expected {
        assert_eq!(show(args), bracketing, "{args}");
    }
    let text = place
        .run_line("schedule show allreduce/ring --ranks 3")
        .good();
    assert!(
        text.out
            .ends_with("bits decided by number of ranks, element; depth 2\n"),
        "{}",
        text.out
    );
}

/// Messages that wrap around, parts in chunks, signals, compositions, calls in place.
#[test]
fn show_prints_every_kind_of_action() {
    let place = Place::new();
    for (args, lines) in [
        (
            "gather/binomial --ranks 6 --root 1",
            &[
                "gather/binomial on 6 ranks, root 1",
                "recv output 5..1/6 from 5",
            ][..],
        ),
        (
            "allgather/bruck --ranks 5 --units 3",
            &[
                "units of the 5 blocks: 3, 3, 3, 3, 3",
                "send output 4..1/5 to 2",
            ],
        ),
        (
            "gather/binary_streamed --ranks 3 --blocks 2 --units 5",
            &[
                "units of the 6 blocks: 3, 2, 3, 2, 3, 2",
                "recv output 1.1/3.2 from 1",
            ],
        ),
        ("gather/linear_sync --ranks 3", &["signal 1", "await 0"]),
        (
            "bcast/chain --ranks 3 --units 10 --block-units 4",
            &[
                "bcast/chain on 3 ranks, root 0, 3 blocks",
                "units of the 3 blocks: 4, 3, 3",
            ],
        ),
        (
            "allreduce/reduce_broadcast --ranks 9 --reduce chain --bcast knomial --radix 3 --blocks 2",
            &["on 9 ranks, reduce/chain, bcast/knomial, 2 blocks, radix 3"],
        ),
        (
            "scatter/linear --ranks 3 --in-place",
            &["scatter/linear on 3 ranks, root 0, in place"],
        ),
    ] {
        let text = place
            .run(&words(&format!("schedule show {args}")))
            .good()
            .out;
        for line in lines {
            assert!(text.contains(line), "no `{line}` in:\n{text}");
        }
    }
    let args =
        "schedule show allgather/gather_broadcast --ranks 4 --bcast knomial --in-place --json";
    let object = place.run(&words(args)).good().json();
    let parameters = [
        "radix",
        "reduce",
        "bcast",
        "in_place",
        "root",
        "blocks",
        "block_units",
    ];
    let parameters = parameters.map(|key| object[key].clone());
    let expected = json!([4, null, "knomial", true, null, 4, null]);
    assert_eq!(json!(parameters), expected);
}

#[test]
fn show_draws() {
    let place = Place::new();
    let args = "schedule show allreduce/dual_root --ranks 3 --format svg";
    let picture = place.run(&words(args)).good().out;
    insta::assert_snapshot!(picture);

    // The picture shows the messages of every block, whatever their number.
    let chain_args = "schedule show bcast/chain --ranks 3 --blocks 5 --format svg";
    let chain_picture = place.run(&words(chain_args)).good().out;
    assert!(
        chain_picture.contains("10 messages in 6 steps"),
        "{chain_picture}"
    );
    let one = place
        .run(&words(&format!("{chain_args} --rank 0")))
        .good()
        .out;
    assert_eq!(one.matches(" faint\" d=").count(), 5, "{one}");
    // With 2 bytes, three of five blocks are empty.
    let short = place
        .run(&words(&format!("{chain_args} --units 2")))
        .good()
        .out;
    assert!(short.contains("4 messages in 3 steps"), "{short}");
}

#[test]
fn show_refuses_calls_that_an_algorithm_does_not_support() {
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
            "bcast/knomial --ranks 4 --radix 1",
            &["invalid value '1' for '--radix", "2..=64"],
        ),
        (
            "allgather/neighbor_exchange --ranks 5",
            &["needs an even number of ranks, not 5"],
        ),
        (
            "bcast/chain --ranks 4 --block-units 3",
            &["--units <UNITS>"],
        ),
        (
            "bcast/chain --ranks 4 --json --format svg",
            &["'--json' cannot be used with"],
        ),
        (
            "bcast/chain --ranks 9 --blocks 1000000 --format svg",
            &["bcast/chain on 9 ranks", "items to draw", "--format text"],
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
            "gatherv/linear --ranks 3 --units 10",
            &[
                "gatherv has parts of unlike lengths, and `--units` alone",
                "add `--distribution uniform`",
            ],
        ),
        (
            "alltoallv/linear --ranks 2 --counts 1,2,3",
            &[
                "3 counts do not fit: alltoallv on 2 ranks needs 4, one for each pair of ranks",
                "give 4 lengths with `--counts`",
            ],
        ),
        (
            "scatterv/linear --ranks 3 --counts 1,2",
            &[
                "2 counts do not fit: scatterv on 3 ranks needs 3, one for each rank",
                "give 3 lengths with `--counts`",
            ],
        ),
        (
            "alltoallv/linear --ranks 2 --in-place --counts 1,2,3,4",
            &[
                "must be as long as the one in the other direction",
                "give the same length in both directions with `--counts`, or leave out `--in-place`",
            ],
        ),
        (
            "allgather/ring --ranks 2 --counts 1,2",
            &["one size", "leave out `--counts`"],
        ),
        (
            "allgather/ring --ranks 2 --units 10000000000000000000",
            &[
                "the vector is longer than",
                "a shorter length with `--units`",
            ],
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

/// The longest vector has 2^60 units, and a count on the command line is at most 2^50.
#[test]
fn counts_that_add_up_to_too_much_are_refused() {
    let place = Place::new();
    let calls = |ranks: usize| {
        let counts = vec!["1024T"; ranks].join(",");
        let call = format!("gatherv/linear --ranks {ranks} --counts {counts}");
        [
            format!("schedule show {call} --rank 1"),
            format!("simulate -a {call}"),
            format!("schedule export {call} --format simgrid"),
        ]
    };
    for args in &calls(1024)[..2] {
        place.run(&words(args)).good();
    }
    // The sum of the latter is beyond 64 bits.
    for args in [1025, 16385].map(calls).iter().flatten() {
        let parts = [
            "the vector is longer than",
            "give shorter lengths with `--counts`",
        ];
        place.run(&words(args)).bad(2, &parts);
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

    let skipping = |line: &&str| line.ends_with("(odd numbers of ranks skipped: 4)");
    let even = ALGORITHMS.iter().filter(|algorithm| algorithm.even_ranks);
    assert_eq!(text.lines().filter(skipping).count(), even.count());

    let ring_args = words("schedule verify allreduce/ring --ranks 5 --json");
    let objects = place.run(&ring_args).good().json();
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
            "skipped": 0,
            "fault": null,
        }])
    );
    let neighbor_args = words("schedule verify allgather/neighbor_exchange --ranks 5 --json");
    let object = &place.run(&neighbor_args).good().json()[0];
    assert_eq!(
        (&object["shapes"], &object["skipped"]),
        (&json!(0), &json!(1))
    );
    place
        .run(&words("schedule verify no_such --ranks 5"))
        .bad(2, &["no algorithm"]);
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}
