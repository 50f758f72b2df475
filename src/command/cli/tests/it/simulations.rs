//! Simulated times on described machines.

use serde_json::{Value, json};

use crate::made;
use crate::run::{Place, Ran, keys};

fn simulate(place: &Place, args: &str) -> Ran {
    let args = format!("simulate {args}");
    place.run(&args.split_whitespace().collect::<Vec<_>>())
}

/// A machine with times that are easy to calculate: start-up 1 us, 1 ns per byte, combining half of that.
const FLAT: &str = "\
name: flat
ranks_per_node: 1
network: {alpha: 1e-6, beta: 1e-9}
gamma: 0.5e-9
";

fn flat() -> Place {
    let place = Place::new();
    place.write("flat.yaml", FLAT);
    place
}

#[test]
fn an_algorithm_takes_the_time_of_its_closed_form() {
    let place = flat();
    let args = "-c bcast -a chain --ranks 5 --bytes 4000 --blocks 4 -m flat.yaml";
    let object = simulate(&place, &format!("{args} --json")).good().json();
    let expected = [
        "element_bytes",
        "machine",
        "placement",
        "results",
        "skipped",
    ];
    assert_eq!(keys(&object), expected);
    assert_eq!(object["machine"], "flat");
    assert_eq!(object["skipped"], json!([]));
    let result = &object["results"][0];
    let result_keys = [
        "algorithm",
        "block_bytes",
        "blocks",
        "blocks_by",
        "bytes",
        "closed_form_seconds",
        "collective",
        "messages",
        "nodes",
        "ppn",
        "ranks",
        "seconds",
    ];
    assert_eq!(keys(result), result_keys);
    let seconds = result["seconds"].as_f64().unwrap();
    assert!((seconds - 7.0 * 2e-6).abs() < 1e-15, "{seconds}");
    let closed_form = result["closed_form_seconds"].as_f64().unwrap();
    assert!((seconds / closed_form - 1.0).abs() < 1e-9);
    assert_eq!(
        (&result["block_bytes"], &result["messages"]),
        (&json!(1000), &json!(16))
    );

    let csv = simulate(&place, &format!("{args} --format csv")).good().out;
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
    assert!(
        lines[1].starts_with("bcast,chain,5,1,5,4000,4,1000,given,1.4"),
        "{csv}"
    );
    let written = simulate(&place, &format!("{args} --format csv -o times/chain.csv")).good();
    assert_eq!(written.out, "times/chain.csv is written\n");
    assert_eq!(place.read("times/chain.csv"), csv);
    assert!(lines[1].ends_with(",\"flat\""), "{csv}");
    simulate(&place, &format!("{args} -o times/chain.txt")).good();
    let text = place.read("times/chain.txt");
    assert!(
        text.starts_with("On the machine `flat`, block placement:\n"),
        "{text}"
    );
}

#[test]
fn one_size_of_an_irregular_collective_is_refused() {
    let place = flat();
    for (collective, parts) in [
        ("alltoallv", "blocks"),
        ("alltoallw", "blocks"),
        ("allgatherv", "parts"),
        ("gatherv", "parts"),
        ("scatterv", "parts"),
    ] {
        let args = format!("-c {collective} -a linear --ranks 4 -m flat.yaml");
        let args = args.replace("allgatherv -a linear", "allgatherv -a ring");
        let told = format!("{collective} has {parts} of unlike lengths, and `--bytes` alone");
        simulate(&place, &format!("{args} --bytes 4K")).bad(
            2,
            &[
                &told,
                "add `--distribution uniform` or another distribution, or give all lengths with `--counts`",
            ],
        );
        let bare = simulate(&place, &args);
        bare.bad(2, &["not given", "--bytes 64K --distribution uniform"]);
        let uniform = format!("{args} --bytes 4K --distribution uniform --json");
        assert_eq!(
            simulate(&place, &uniform).good().json()["results"][0]["bytes"],
            4096
        );
    }
    // A reduce_scatter without counts has parts of one size, as most programs have.
    simulate(
        &place,
        "-c reduce_scatter --ranks 4 --bytes 4K -m flat.yaml",
    )
    .good();
    let wrong = "-c alltoallv --ranks 2 --counts 1,2,3,4,5 -m flat.yaml";
    simulate(&place, wrong).bad(
        2,
        &[
            "5 counts do not fit: alltoallv on 2 ranks needs 4",
            "give 4 lengths with `--counts`, or another number of ranks",
        ],
    );
}

#[test]
fn shapes_have_no_more_ranks_than_the_call() {
    let place = Place::new();
    let args = "-c bcast -a chain --ppn 32 --bytes 64";
    let object = simulate(&place, &format!("{args} --ranks 8 --json"))
        .good()
        .json();
    let result = &object["results"][0];
    assert_eq!((&result["nodes"], &result["ppn"]), (&json!(1), &json!(8)));
    for (ranks, shape) in [(8, " 1x8 "), (40, " 2x32, not full "), (64, " 2x32 ")] {
        let text = simulate(&place, &format!("{args} --ranks {ranks}"))
            .good()
            .out;
        assert!(text.contains(shape), "{text}");
    }
}

#[test]
fn the_algorithms_of_a_collective_are_compared() {
    let place = flat();
    let sweep = "-c allgather --ranks 7 --bytes 1K..16Kx4 -m flat.yaml";
    let ran = simulate(&place, sweep);
    assert_eq!(ran.code, Some(0));
    // Algorithms for even numbers of ranks only are left out, with one warning.
    assert_eq!(ran.err.matches("left out").count(), 1, "{}", ran.err);
    assert!(ran.err.contains("even number of ranks"), "{}", ran.err);
    let algorithms: Vec<_> = schedule::algorithms_of(schedule::Collective::Allgather).collect();
    let (machine, rows) = ran.out.split_once('\n').unwrap();
    assert_eq!(machine, "On the machine `flat`, block placement:");
    let (fastest, rows): (Vec<&str>, Vec<&str>) =
        rows.lines().partition(|line| line.starts_with("Fastest"));
    assert_eq!(rows.len(), 1 + 3 * (algorithms.len() - 1), "{rows:?}");
    assert_eq!(fastest.len(), 3, "{fastest:?}");
    assert!(fastest[0].starts_with("Fastest of 1K on 7 ranks: allgather/"));

    let object = simulate(&place, &format!("{sweep} --json")).good().json();
    assert_eq!(object["skipped"].as_array().unwrap().len(), 3);
    let results = object["results"].as_array().unwrap();
    let time = |result: &Value| result["seconds"].as_f64().unwrap();
    for pair in results
        .windows(2)
        .filter(|pair| pair[0]["bytes"] == pair[1]["bytes"])
    {
        assert!(
            time(&pair[0]) <= time(&pair[1]),
            "the fastest first: {object}"
        );
    }
    let blocks = results.iter().filter(|result| !result["blocks"].is_null());
    assert!(blocks.clone().count() > 0, "{object}");
    let svg = simulate(&place, &format!("{sweep} --format svg -q")).out;
    assert_eq!(
        svg.matches("<polyline").count(),
        algorithms.len() - 1,
        "{svg}"
    );
}

#[test]
fn rows_come_in_the_order_of_their_closed_forms_and_columns_are_aligned() {
    let place = flat();
    let names = "ring,reduce_broadcast,recursive_doubling,rabenseifner";
    let args = format!("-c allreduce -a {names} --shape 16x1 --bytes 1000 --blocks 2 -m flat.yaml");
    insta::assert_snapshot!(simulate(&place, &args).good().out);
    // Files have the fastest first, as JSON has.
    simulate(&place, &format!("{args} -o times.txt")).good();
    let written = place.read("times.txt");
    assert!(!written.contains("Fastest"), "{written}");
    let first = written.lines().nth(2).unwrap();
    let object = simulate(&place, &format!("{args} --json")).good().json();
    let fastest = object["results"][0]["algorithm"].as_str().unwrap();
    assert!(
        first.starts_with(&format!("allreduce/{fastest} ")),
        "{written}"
    );
}

#[test]
fn what_takes_too_long_is_named_with_its_closed_form() {
    let place = flat();
    let long = "-c allgather -a neighbor_exchange --ranks 64K --bytes 8 -m flat.yaml";
    let parts = [
        "allgather/neighbor_exchange on 65536 ranks",
        "; its closed form takes",
    ];
    simulate(&place, long).bad(2, &parts);
    // Without time for anything else, nothing is simulated.
    let args = "-c allgather -a ring,bruck --ranks 4096 --bytes 8 -m flat.yaml";
    let limit_parts = [
        "allgather/ring of 8 bytes on 4096 ranks is not simulated within the limit of ",
        "allgather/bruck of 8 bytes",
        "; its closed form takes",
        "--time-limit",
    ];
    simulate(&place, &format!("{args} --time-limit 0.001ms")).bad(2, &limit_parts);
    // 9599 messages of each rank, one every 0.4 us: only the last one's latency counts.
    let cyclic = "-c alltoall -a linear --shape 200x48 --placement cyclic --bytes 8";
    let at_once_parts = [
        "alltoall/linear of 8 bytes on 9600 ranks is not simulated within the limit of ",
        "; its closed form takes 3.85 ms",
    ];
    simulate(&place, &format!("{cyclic} --time-limit 0.001ms")).bad(2, &at_once_parts);
    // One that is too long, and one that is not.
    let mixed = long.replace("neighbor_exchange", "neighbor_exchange,bruck");
    let ran = simulate(&place, &mixed);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("allgather/bruck") && !ran.out.contains("neighbor_exchange"));
    assert!(
        ran.err
            .contains("warning: left out: the simulation of allgather/neighbor_exchange on"),
        "{}",
        ran.err
    );
    let object = simulate(&place, &format!("{mixed} --json")).good().json();
    let skipped = &object["skipped"][0];
    assert_eq!(skipped["algorithm"], "neighbor_exchange");
    let seconds = skipped["closed_form_seconds"].as_f64().unwrap();
    assert!(
        (seconds / (32768.0 * 1e-6 + 65535.0 * 8e-9) - 1.0).abs() < 1e-9,
        "{object}"
    );
}

#[test]
fn a_shape_stands_for_nodes_and_ranks_on_each() {
    let place = Place::new();
    let args = "-c bcast -a chain --bytes 64 --json";
    let by = |shape: &str| simulate(&place, &format!("{args} {shape}")).good().json();
    assert_eq!(by("--shape 3x2"), by("--nodes 3 --ppn 2"));
    for other in ["--nodes 3", "--ppn 2", "--ranks 6"] {
        let both = simulate(&place, &format!("{args} --shape 3x2 {other}"));
        both.bad(
            2,
            &[
                "--shape",
                other.split(' ').next().unwrap(),
                "cannot be used with",
            ],
        );
    }
    simulate(&place, &format!("{args} --shape 3")).bad(2, &["as in 2x4"]);
}

#[test]
fn blocks_come_from_the_lemma_or_a_search() {
    let place = flat();
    let args = "-c allreduce --ranks 12 --bytes 256K -m flat.yaml --json";
    let object = simulate(&place, args).good().json();
    let results = object["results"].as_array().unwrap();
    let by = |name: &str| {
        results
            .iter()
            .filter(|result| result["blocks_by"] == name)
            .count()
    };
    assert!(by("lemma") > 2 && by("search") > 0, "{object}");
}

/// Placement and the nodes' shared ports matter on the reference machine, which is used if none is named.
#[test]
fn placement_matters() {
    let place = Place::new();
    let time = |args: &str| {
        let args = format!("-c allgather -a ring --bytes 64K --json {args}");
        let object = simulate(&place, &args).good().json();
        assert_eq!(object["machine"], "reference");
        object["results"][0]["seconds"].as_f64().unwrap()
    };
    let block = time("--nodes 4 --ppn 8");
    let cyclic = time("--nodes 4 --ppn 8 --placement cyclic");
    assert!(cyclic > 3.0 * block, "{cyclic} s against {block} s");
    assert!(time("--ranks 32") < block, "on one node");
}

#[test]
fn a_trace_shows_the_critical_path() {
    let place = flat();
    let args = "-c reduce -a chain --ranks 3 --bytes 4000 --blocks 2 -m flat.yaml";
    let trace = simulate(&place, &format!("{args} --format trace"))
        .good()
        .out;
    insta::assert_snapshot!(trace);
    let svg = simulate(&place, &format!("{args} --format svg")).good().out;
    // Four messages, each with two bars, and four combinations; five kinds and a frame in the legend.
    assert_eq!(svg.matches("<title>").count(), 1 + 2 * 4 + 4, "{svg}");
    assert!(svg.contains(">rank 2</text>") && !svg.contains(">rank 3</text>"));
    assert_eq!(svg.matches("<rect").count(), 1 + 2 * 4 + 4 + 6, "{svg}");
}

#[test]
fn a_store_can_be_the_machine() {
    let place = made::place();
    let store = ".colltune/made.db";
    let args = format!("-c bcast -a binomial --ranks 2 --bytes 1K --json -m {store}");
    let object = simulate(&place, &args).good().json();
    assert!(object["results"][0]["seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_million_ranks_are_simulated() {
    let place = flat();
    let args = "-c bcast -a binomial --ranks 1M --bytes 1K -m flat.yaml --json";
    let object = simulate(&place, args).good().json();
    let seconds = object["results"][0]["seconds"].as_f64().unwrap();
    assert!(
        (seconds / (20.0 * 2.024e-6) - 1.0).abs() < 1e-9,
        "{seconds}"
    );
    // All ranks of a ring do the same, so one is simulated. This is not known of all algorithms.
    let ring_args = "-c allgather -a ring --ranks 1M --bytes 1K -m flat.yaml";
    simulate(&place, ring_args).good();
    let long_args = "-c allgather -a neighbor_exchange --ranks 1M --bytes 1K -m flat.yaml";
    let parts = [
        "allgather/neighbor_exchange on 1048576 ranks",
        "fewer ranks",
    ];
    simulate(&place, long_args).bad(2, &parts);
}

#[test]
fn errors_say_what_is_wrong() {
    let place = flat();
    place.write("typo.yaml", FLAT.replace("gamma", "gama"));
    place.write("no-gamma.yaml", FLAT.replace("gamma: 0.5e-9\n", ""));
    for (args, parts) in [
        ("--ranks 4 --bytes 8", &["--collective"][..]),
        ("-c bcast --bytes 8", &["--ranks"]),
        ("-c bcast --ranks 0 --bytes 8", &["2..1K x2"]),
        ("-c bcast --ranks 4 --bytes much", &["much"]),
        (
            "-c bcast -a chian --ranks 4 --bytes 8",
            &["bcast/chian", "bcast/chain"],
        ),
        (
            "-c bcast -a reduce/chain --ranks 4 --bytes 8",
            &["not an algorithm of bcast"],
        ),
        (
            "-c reduce --ranks 4 --bytes 10",
            &["10 bytes", "--element-bytes"],
        ),
        ("-c bcast --ranks 4 --bytes 8 --root 4", &["root 4"]),
        ("-c bcast --ranks 4G --bytes 8", &["number"]),
        ("-c bcast --ranks 1G --bytes 8", &["1073741824 ranks"]),
        (
            "-c bcast --ranks 4 --bytes 8 -m none.yaml",
            &["cannot read", "none.yaml"],
        ),
        (
            "-c bcast --ranks 4 --bytes 8 -m typo.yaml",
            &["typo.yaml:4:1", "4 | gama: 0.5e-9", "did you mean `gamma`?"],
        ),
        (
            "-c reduce --ranks 4 --bytes 8 -m no-gamma.yaml",
            &["no `gamma`", "reference.yaml"],
        ),
        (
            "-c bcast --ranks 4 --ppn 2 --bytes 8 -m flat.yaml",
            &["no `node`"],
        ),
        (
            "-c bcast --ranks 4 --bytes 8 --format trace",
            &["one algorithm"],
        ),
        ("-c bcast --ranks 4 --bytes 8 --format svg", &["as a range"]),
        (
            "-c bcast --ranks 1 --bytes 8..64 --format svg",
            &["all times are 0"],
        ),
        (
            "-c bcast -a chain --ranks 400 --bytes 8 --format svg",
            &["has too much to draw"],
        ),
        (
            "-c barrier --ranks 4 --bytes 8",
            &["a call of barrier has no data", "leave out `--bytes`"],
        ),
        (
            "-c scan --ranks 4",
            &["the length of the call is not given", "--bytes 64K"],
        ),
    ] {
        simulate(&place, args).bad(2, parts);
    }
}

/// Collectives that campaigns do not compare with algorithms of ours yet can be simulated like all others.
#[test]
fn every_collective_can_be_simulated() {
    let place = Place::new();
    for collective in schedule::Collective::ALL {
        let size = if collective.has_data() {
            "--bytes 64 --distribution uniform"
        } else {
            ""
        };
        let args = format!("-c {collective} --shape 4x2 --element-bytes 4 {size} --format csv");
        let table = simulate(&place, &args).good().out;
        for algorithm in schedule::algorithms_of(collective) {
            let row = format!("{collective},{},4,2,", algorithm.id);
            assert!(table.contains(&row), "{algorithm}: {table}");
        }
    }
}
