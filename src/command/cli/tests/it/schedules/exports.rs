//! The text of traces.

use super::words;
use crate::run::Place;

#[test]
fn export_prints_goal() {
    let place = Place::new();
    let args = "schedule export allreduce/dual_root --ranks 3 --bytes 40 --blocks 2 \
                --element-bytes 8 --combine-cost 250 --format goal";
    let text = place.run(&words(args)).good().out;
    insta::assert_snapshot!(text);

    let written = place.run(&words(&format!("{args} --output traces/dual.goal")));
    assert_eq!(written.good().out, "traces/dual.goal is written\n");
    assert_eq!(place.read("traces/dual.goal"), text);
    assert_eq!(place.files().len(), 1, "nothing else is left");
    let quiet = place.run(&words(&format!("{args} --output dual.goal --quiet")));
    assert_eq!(quiet.good().out, "");
}

#[test]
fn export_prints_simgrid() {
    let place = Place::new();
    let args = "schedule export gather/linear_sync --ranks 3 --root 1 --bytes 1K --format simgrid";
    let text = place.run(&words(args)).good().out;
    insta::assert_snapshot!(text);
}

#[test]
fn simgrid_gets_a_file_for_each_rank_and_a_list() {
    let place = Place::new();
    let args = "schedule export reduce/binomial --ranks 3 --bytes 1K --format simgrid -o traces";
    let said = place.run(&words(args)).good().out;
    assert!(
        said.contains("smpirun -np 3 -platform PLATFORM.xml -replay traces/traces.txt"),
        "{said}"
    );
    let list = place.anonymous(place.read("traces/traces.txt").as_bytes());
    let ranks = [0, 1, 2].map(|rank| format!("DIR/traces/rank-{rank}.txt\n"));
    assert_eq!(list, ranks.concat());
    assert_eq!(place.files().len(), 4);
    // 256 elements of 4 bytes from either child; combining costs a flop a byte.
    let root = place.read("traces/rank-0.txt");
    let root: Vec<&str> = root.lines().filter(|line| !line.starts_with('#')).collect();
    let expected = [
        "0 init",
        "0 recv 1 0 1024",
        "0 compute 1024",
        "0 recv 2 0 1024",
        "0 compute 1024",
        "0 finalize",
    ];
    assert_eq!(root, expected);
}

#[test]
fn export_refuses_impossible_calls() {
    let place = Place::new();
    let simgrid = "--format simgrid";
    for (args, parts) in [
        (
            "reduce/binomial --ranks 3 --bytes 10 --format goal",
            &["the size of 10 bytes is not a whole number of elements of 4 bytes"][..],
        ),
        (
            "gather/binomial --ranks 4 --bytes 1G --format goal",
            &[
                "2147483648 bytes",
                "ranks 0 and 2",
                "longer than the 2147483647",
            ],
        ),
        (
            "bcast/chain --ranks 4 --bytes 1G --block-bytes 0 --format goal",
            &["at least 1"],
        ),
        (
            "bcast/binomial --ranks 4 --bytes 1K --block-bytes 1 --format goal",
            &["does not take the parameter `blocks`"],
        ),
        ("bcast/binomial --ranks 4 --bytes 1K", &["--format"]),
        ("bcast/binomial --ranks 4 --format goal", &["--bytes"]),
        (
            &format!("bcast/binomial --ranks 4 --bytes 1K {simgrid} -o file"),
            &["DIR", "file"][1..],
        ),
    ] {
        place.write("file", "in the way");
        place
            .run(&words(&format!("schedule export {args}")))
            .bad(2, parts);
    }
}
