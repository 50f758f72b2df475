//! Campaigns on the hosts of a file.

use campaign::Campaign;
use testkit::fakes::{Fakes, write_host_file};
use vocabulary::{CommShape, RankOrder};

use crate::errors::check;
use crate::{campaign, parse};

#[test]
fn errors_about_host_files_have_the_place_of_their_name() {
    let fakes = Fakes::new();
    let text = |file: &std::path::PathBuf, further: &str| {
        let file = file.display();
        format!("name: x\nlauncher:\n  local:\n    hostfile: {file}\n{further}")
    };
    let field = "launcher.local.hostfile";
    let gone = text(&fakes.path("gone"), "shapes: 2x1\n");
    check(&gone, (4, 15), field, "No such file", "one host per line");
    let empty = write_host_file(&fakes, "# no hosts\n\n");
    let empty = text(&empty, "shapes: 2x1\n");
    check(&empty, (4, 15), field, "names no host", "virtual-cluster");

    let file = write_host_file(&fakes, "a slots=2\nb slots=2\na\nc\n");
    let several = text(&file, "shapes: [3x1, 4x2]\n");
    check(
        &several,
        (5, 15),
        "shapes[1]",
        "names 3 hosts",
        "at most 3x2",
    );
    let spelled = text(&file, "shapes:\n  - {nodes: 5, ppn: 2}\n");
    check(
        &spelled,
        (6, 13),
        "shapes[0].nodes",
        "impossible shape 5x2",
        "3x2",
    );
    let alone = text(&file, "shapes: [1x1]\n");
    check(&alone, (5, 10), "shapes[0]", "at least two ranks", "");
    let many = text(&file, "shapes: 3x1025\n");
    check(&many, (5, 9), "shapes", "1024 ranks on a node", "fewer");
    // This machine has four cores; the launcher finds out the hosts' cores.
    let many_cores = text(&file, "    oversubscribe: never\nshapes: 2x5\n");
    let many_cores = parse(&many_cores).expect("valid");
    assert_eq!(many_cores.oversubscription_warnings(None), []);
    for auto in ["", "shapes: auto\n"] {
        let error = parse(&text(&file, auto)).expect_err("refused").to_string();
        assert!(error.contains("`shapes` must name"), "{error}");
    }
    let one = text(&write_host_file(&fakes, "a\n"), "shapes: 2x1\n");
    check(&one, (5, 9), "shapes", "names 1 host", "");
}

#[test]
fn a_placement_needs_nodes() {
    check(
        "name: x\nlauncher: {local: {placement: cyclic}}\n",
        (2, 20),
        "launcher.local.placement",
        "nothing to place on one node",
        "`hostfile: FILE`",
    );
    check(
        "name: x\nlauncher: {local: {placement: diagonal, hostfile: h}}\n",
        (2, 31),
        "launcher.local.placement",
        "unknown placement `diagonal`",
        "block, cyclic",
    );
    check(
        "name: x\nlauncher: {local: {hostfile: \"\"}}\n",
        (2, 30),
        "launcher.local.hostfile",
        "does not name a file",
        "",
    );
}

#[test]
fn a_launch_has_room_for_every_shape() {
    let fakes = Fakes::new();
    let file = write_host_file(&fakes, "a\nb\nc\nd\n");
    let several = campaign(&format!(
        "launcher: {{local: {{hostfile: {}}}}}\nshapes: [4x1, 2x3, 3x2]\n",
        file.display()
    ));
    assert_eq!(several.largest_shape(), CommShape { nodes: 4, ppn: 3 });
    let pairs: Vec<String> = several
        .experiments()
        .iter()
        .map(|e| e.shape.to_string())
        .collect();
    assert!(pairs.contains(&"1x2".to_owned()) && pairs.contains(&"2x1".to_owned()));
}

#[test]
fn options_determine_the_order_of_ranks_unless_there_are_further_ones() {
    let fakes = Fakes::new();
    let file = write_host_file(&fakes, "a\nb\n").display().to_string();
    let check = |launcher: &str, expected: RankOrder| {
        let text = format!("name: x\nlauncher: {{{launcher}}}\nshapes: 1x2\n");
        let campaign = parse(&text).expect("valid");
        assert_eq!(campaign.rank_order(), expected, "{launcher}");
    };
    check("local: {}", RankOrder::Unknown);
    let on = |more: &str| format!("local: {{hostfile: {file}{more}}}");
    check(&on(""), RankOrder::Block);
    check(&on(", placement: cyclic"), RankOrder::Cyclic);
    check(&on(", options: [--map-by, node]"), RankOrder::Unknown);
    check("slurm: {placement: cyclic}", RankOrder::Cyclic);
    check("slurm: {options: [-q]}", RankOrder::Unknown);
    check("simulated: {placement: cyclic}", RankOrder::Cyclic);
    check("simulated: {}", RankOrder::Block);
}

#[test]
fn hosts_and_placement_are_conditions() {
    let fakes = Fakes::new();
    let file = write_host_file(&fakes, "a\nb\n").display().to_string();
    let other_file = fakes.path("others");
    std::fs::copy(&file, &other_file).expect("copied");
    let text = |keys: &str| format!("name: x\nlauncher: {{local: {{{keys}}}}}\nshapes: 1x2\n");
    let on = |keys: &str| parse(&text(keys)).expect("valid");
    let plain = on(&format!("hostfile: {file}"));
    let block = on(&format!("hostfile: {file}, placement: block"));
    assert_eq!(plain.digest(), block.digest());
    assert!(plain.has_same_conditions(&block));
    let others = [
        on(""),
        on(&format!("hostfile: {file}, placement: cyclic")),
        on(&format!("hostfile: {}", other_file.display())),
    ];
    for other in others {
        assert!(!plain.has_same_conditions(&other), "{:?}", other.launcher);
        assert_ne!(plain.digest(), other.digest());
    }
}

#[test]
fn a_stored_campaign_needs_no_host_file() {
    let text = "name: x\nlauncher: {local: {hostfile: /gone/hosts, placement: cyclic}}\n\
                shapes: 99x4\n";
    assert!(parse(text).is_err());
    let stored = Campaign::parse_stored(text, "v3-").expect("valid");
    assert_eq!(stored.shapes, [CommShape { nodes: 99, ppn: 4 }]);
}
