//! Imported measurements, from the file to the answer.

use serde_json::{Value, json};

use crate::run::{Place, keys};

/// Times of an allreduce on 36 nodes with 8 ranks each.
///
/// A few rows of table 2 in J. L. Traeff, A Doubly-pipelined, Dual-root Reduction-to-all Algorithm
/// and Implementation, 2021.
const HYDRA: &str = "\
# 288 ranks, Open MPI 4.0.5
collective,library,algorithm,nodes,ppn,bytes,segment_bytes,launch,seconds
allreduce,default,,36,8,10000,,1,1059.83e-6
allreduce,traeff,reduce_bcast,36,8,10000,,1,129.21e-6
allreduce,ours,dual_root,36,8,10000,64000,1,165.21e-6
allreduce,default,,36,8,3500000,,1,14083.86e-6
allreduce,traeff,reduce_bcast,36,8,3500000,,1,21566.69e-6
allreduce,ours,dual_root,36,8,3500000,64000,1,8158.38e-6
";

const OSU: &str = "\
# OSU MPI Allreduce Latency Test v5.8
# Size       Avg Latency(us)
4                       1.34
8                       1.17
# OSU MPI All-to-Allv Personalized Exchange Latency Test v5.8
";

const ARGS: [&str; 8] = [
    "import",
    "hydra.csv",
    "--format",
    "csv",
    "--store",
    "data/hydra.db",
    "--library",
    "openmpi-4.0.5",
];

fn place() -> Place {
    let place = Place::new();
    place.write("hydra.csv", HYDRA);
    place
}

#[test]
fn imported_times_are_used_like_our_own() {
    let place = place();
    let told = place.run(&ARGS).good().out;
    assert_eq!(
        told,
        "data/hydra.db holds 6 times of 3 candidates in 2 cells and 1 launch of openmpi-4.0.5\n"
    );
    let fit = place.run(&["fit", "data/hydra.db", "--json"]).good().json();
    assert_eq!(fit["blocks"].as_array().map(Vec::len), Some(2));
    place
        .run(&["decide", "data/hydra.db", "-o", "t.yaml"])
        .good();
    // The store has the name that the import gave it.
    place
        .run(&["decide", "--store", "data/hydra.db", "-o", "same.yaml"])
        .good();
    assert_eq!(place.read("same.yaml"), place.read("t.yaml"));
    place.run(&["fit"]).bad(2, &["STORE"]);
    for (bytes, candidate) in [
        ("10000", "traeff:allreduce/reduce_bcast"),
        ("3500000", "allreduce/dual_root[block_bytes=64000]"),
    ] {
        let query = [
            "t.yaml",
            "-c",
            "allreduce",
            "-n",
            "36",
            "-k",
            "8",
            "-b",
            bytes,
            "--json",
        ];
        let decision = place.run(&[&["lookup"], &query[..]].concat()).good().json();
        assert_eq!(decision["candidate"], candidate);
        let explained = place
            .run(&[&["explain"], &query[..]].concat())
            .good()
            .json();
        assert_eq!(
            explained["evidence"][0]["ranking"].as_array().map(Vec::len),
            Some(3)
        );
        assert_eq!(explained["disagreement"], Value::Null);
    }
    let report = place.run(&["report", "t.yaml"]).good();
    assert_eq!(
        report.out,
        place.run(&["report", "data/hydra.db"]).good().out
    );
    assert!(
        report
            .out
            .contains("**Warning:** times were imported from hydra.csv"),
        "{}",
        report.out
    );

    place
        .run(&ARGS)
        .bad(2, &["already holds hydra.csv", "name a new store"]);
}

/// A query about a barrier needs no size, and ignores one; all other queries have one.
#[test]
fn a_query_about_a_barrier_needs_no_size() {
    let place = Place::new();
    place.write(
        "barrier.csv",
        "collective,library,algorithm,ppn,bytes,seconds\n\
         barrier,default,,4,,3e-6\nbarrier,mvapich,tree,4,,1e-6\n",
    );
    let args = "import barrier.csv --format csv --store b.db --library mpich-4.2.0";
    let run = |text: &str| place.run_line(text);
    run(args).good();
    run("decide b.db -o t.yaml").good();
    for verb in ["lookup", "explain"] {
        let question = format!("{verb} t.yaml -c barrier -n 1 -k 4");
        let told = run(&question).good().out;
        assert!(told.starts_with("mvapich:barrier/tree\n"), "{told}");
        for size in ["0", "64", "1G"] {
            let same = run(&format!("{question} --bytes {size}")).good().out;
            assert_eq!(same, told, "{size}");
        }
        run(&format!("{verb} t.yaml -c scan -n 1 -k 4")).bad(2, &["--bytes <BYTES>"]);
        run(&format!("{verb} t.yaml -c bcast -n 1 -k 4")).bad(2, &["--bytes <BYTES>"]);
    }
    let asked = run("lookup t.yaml -c barrier -n 1 -k 4 -b 0 --json")
        .good()
        .json();
    assert_eq!(
        (&asked["bytes"], &asked["shape"]),
        (&json!(0), &json!("measured"))
    );
}

#[test]
fn a_shape_stands_for_nodes_and_ranks_on_each() {
    let place = Place::new();
    place.write("osu.txt", OSU);
    let run = |text: &str| place.run_line(text);
    let import = "import osu.txt --format osu --library mpich-4.2.0 --store";
    for (store, shape) in [("a.db", "--nodes 3 --ppn 2"), ("b.db", "--shape 3x2")] {
        let ran = run(&format!("{import} {store} {shape}"));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        run(&format!("decide {store} -o {store}.yaml")).good();
    }
    for verb in ["lookup", "explain"] {
        let ask = |table: &str, shape: &str| {
            run(&format!("{verb} {table}.db.yaml -c allreduce -b 8 {shape}"))
        };
        let told = ask("b", "-n 3 -k 2").good().out;
        assert!(!told.contains("not measured"), "{told}");
        assert_eq!(ask("b", "--shape 3x2").good().out, told);
        assert_eq!(
            ask("a", "--shape 3x2").good().out,
            told.replace("b.db", "a.db")
        );
        for (other, name) in [("-n 3", "--nodes"), ("-k 2", "--ppn")] {
            let parts = ["--shape <SHAPE>", name, "cannot be used with"];
            ask("b", &format!("--shape 3x2 {other}")).bad(2, &parts);
        }
        ask("b", "-n 3").bad(2, &["--ppn <PPN>"]);
        ask("b", "--shape 3x0").bad(2, &["as in 2x4"]);
    }
    let both = run(&format!("{import} c.db --shape 3x2 --ppn 2"));
    both.bad(2, &["--shape", "--ppn", "cannot be used with"]);
}

#[test]
fn imports_are_reported_as_json_and_warnings_as_text() {
    let place = Place::new();
    place.write("osu.txt", OSU);
    let args = [
        "import",
        "osu.txt",
        "--format",
        "osu",
        "--store",
        "a.db",
        "--library",
        "mpich-4.2.0",
        "-n",
        "2",
        "-k",
        "4",
        "--machine",
        "Hydra",
        "--json",
    ];
    let run = place.run(&args);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(
        run.err
            .contains("warning: osu.txt:5: left out: `MPI All-to-Allv"),
        "{}",
        run.err
    );
    assert!(
        run.err
            .contains("warning: some imported times are averages"),
        "{}",
        run.err
    );
    let told = run.json();
    assert_eq!(
        keys(&told),
        [
            "candidates",
            "cells",
            "empty",
            "known",
            "launches",
            "library",
            "other_lines",
            "refused",
            "repetitions",
            "skipped",
            "store",
            "warnings",
            "without_default"
        ]
    );
    assert_eq!(told["launches"], json!([1]));
    assert_eq!(told["skipped"][0]["line"], 5);
    let report = place.run(&["report", "a.db"]).good().out;
    assert!(report.contains("mpich-4.2.0 on Hydra"), "{report}");
    assert!(report.contains("averages over ranks"), "{report}");
}

#[test]
fn what_a_folder_lacks_is_told_with_its_reason() {
    let place = Place::new();
    let tagged = OSU.replace("# OSU", "0: # OSU");
    let faulty = OSU.replace("1.17\n", "1.17 Fail\n");
    place.write("nights/1", OSU);
    place.write("nights/2", faulty);
    place.write("nights/3", tagged);
    place.write("nights/README", "Made by cron.\n");
    let import = "import nights --format osu --library mpich-4.2.0 --shape 2x4 --store";
    let run = place.run_line(&format!("{import} a.db"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    for part in [
        "nights/1:5: left out: `MPI All-to-Allv",
        "left out: nights/2:4: the benchmark reports a wrong result",
        "left out: nights/3:1: no rows have the label `0:` of this title",
        "nights/README: left out: it has nothing to import",
    ] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
    let told = place.run_line(&format!("{import} b.db --json")).json();
    assert_eq!(told["repetitions"], 2);
    assert_eq!(told["refused"][0]["file"], "nights/2");
    let alone = place.run_line(&format!("{import} c.db").replace("nights", "nights/2"));
    alone.bad(2, &["nights/2:4: the benchmark reports a wrong result"]);
}

#[test]
fn errors_of_imports_name_a_remedy() {
    let place = place();
    let import = |text: &str, more: &[&str]| {
        place.write("times.csv", text);
        let args = [
            "import",
            "times.csv",
            "--format",
            "csv",
            "--store",
            "new.db",
        ];
        place.run(&[&args[..], more].concat())
    };
    import(&HYDRA.replace(",1,165.21e-6", ",1,fast"), &[])
        .bad(2, &["times.csv:5: seconds: `fast` is not", "help: "]);
    import(&HYDRA.replace("default,", "elsewhere,native"), &[])
        .bad(2, &["--baseline", "traeff:reduce_bcast"]);
    import(HYDRA, &["--library", "openmpi"]).bad(2, &["openmpi-4.1.4"]);
    import(HYDRA, &["--materiality", "much"]).bad(2, &["write a share"]);
    assert!(!place.path("new.db").exists());
    let args = [
        "import",
        "nowhere.csv",
        "--format",
        "csv",
        "--store",
        "new.db",
    ];
    place.run(&args).bad(2, &["cannot read nowhere.csv"]);
    let into_itself = [
        "import",
        "hydra.csv",
        "--format",
        "csv",
        "--store",
        "hydra.csv",
    ];
    place.run(&into_itself).bad(2, &["not a colltune store"]);
}

#[test]
fn imported_times_of_forced_algorithms_can_be_exported() {
    let place = Place::new();
    place.write(
        "times.csv",
        "collective,library,algorithm,nodes,ppn,bytes,segment_bytes,seconds\n\
         bcast,default,,4,8,64K,,300e-6\n\
         bcast,native,binary_tree,4,8,64K,8K,100e-6\n",
    );
    let args = [
        "import",
        "times.csv",
        "--format",
        "csv",
        "--store",
        "a.db",
        "--library",
        "openmpi-4.1.4",
    ];
    place.run(&args).good();
    place.run(&["decide", "a.db", "-o", "t.yaml"]).good();
    let export = [
        "export",
        "t.yaml",
        "--format",
        "openmpi",
        "--unconfirmed",
        "--min-confidence",
        "low",
        "-o",
        "rules",
    ];
    let exported = place.run(&export);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let rules = place.read("rules");
    // Algorithm 5 is the binary tree, here with segments of 8 KiB.
    assert!(
        rules.lines().any(|line| line.starts_with("0 5 0 8192")),
        "{rules}"
    );
}
