//! Imported measurements, from the file to the answer.

use serde_json::{Value, json};

use crate::run::{Place, keys};
use crate::serve::Serving;

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

const SITE_RULES: &str = "2\n7 1 4 3\n0 6 0 0\n4096 5 0 65536\n1048576 9 0 0\n11 1 4 1\n0 5 0 0\n";

#[test]
fn rules_of_a_site_become_a_table_that_other_verbs_take() {
    let place = Place::new();
    place.write("rules.conf", SITE_RULES);
    let import = "import rules.conf --library openmpi-4.1.4 --shapes 1x4,2x4 --output site.yaml";
    let ran = place.run_line(import);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let left_out = "rules.conf:7: left out: the algorithm gives wrong results for operators that do not commute";
    assert!(ran.err.contains(left_out), "{ran:?}");
    let json = place.run_line(&format!("{import} --json"));
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["library"], "openmpi-4.1.4");
    assert_eq!(json["rules"][2]["line"], 4);
    assert_eq!(
        json["rules"][2]["candidate"],
        "native:bcast/binary_tree[segment_bytes=64K]"
    );
    assert_eq!(json["left_out"][0]["line"], 7);
    let lookup = "lookup site.yaml --collective bcast --nodes 2 --ppn 4 --bytes 1M --deployment library --json";
    let found = place.run_line(lookup);
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(found.out.contains("scatter_allgather_ring"), "{found:?}");
    // Nothing was measured, so nothing is exported unless one asks for it.
    let export = "export site.yaml --format openmpi --assume-commutative";
    let kept = place.run_line(&format!("{export} --output kept.conf"));
    assert_eq!(kept.code, Some(0), "{kept:?}");
    let unconfirmed = "--unconfirmed --min-confidence low --output again.conf";
    let exported = place.run_line(&format!("{export} {unconfirmed}"));
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let again = "import again.conf --library openmpi-4.1.4 --shapes 1x4,2x4 --output again.yaml";
    assert_eq!(place.run_line(again).code, Some(0));
    let rules_of = |file: &str| {
        let text = place.read(file);
        let (_, rules) = text.split_once("collectives:").unwrap();
        rules.to_owned()
    };
    assert_eq!(rules_of("site.yaml"), rules_of("again.yaml"));
    assert!(!place.read("kept.conf").contains("4096"));
}

#[test]
fn rules_that_cannot_be_imported_are_refused_with_a_remedy() {
    let place = Place::new();
    place.write("rules.conf", SITE_RULES);
    place.write("bad.conf", "1\n7 1 4 1\n64 6 0 0\n");
    place.write("text.txt", "no numbers here\n");
    let run = |words: &str| place.run_line(&format!("import {words}"));
    let output = "--library openmpi-4.1.4 --output site.yaml";
    run(&format!("bad.conf {output}")).bad(
        2,
        &[
            "bad.conf:3: openmpi-4.1.4 ignores the whole file: the first message size is 64",
            "colltune audit",
        ],
    );
    run(&format!("text.txt {output}")).bad(2, &["does not look like rules", "--format"]);
    // What is read otherwise than people read it becomes a table, with a warning.
    place.write("misread.conf", "1\n7\n1\n2 2\n0 6 0 0\n1e6 5 0 0\n");
    let misread = run(&format!("misread.conf {output}"));
    assert_eq!(misread.code, Some(0), "{misread:?}");
    let warning = "misread.conf has 2 faults, which `colltune audit --library openmpi-4.1.4 misread.conf` names";
    assert!(misread.err.contains(warning), "{misread:?}");
    // As Open MPI does, the first rules also hold for fewer ranks.
    assert_eq!(
        run(&format!("rules.conf {output} --shapes 1x3")).code,
        Some(0)
    );
    run("rules.conf --output site.yaml").bad(2, &["a missing `--library`"]);
    run(&format!("rules.conf --format csv {output}"))
        .bad(2, &["does not go with files of measurements", "--store"]);
    run("rules.conf --format openmpi --store site.db").bad(2, &["--output"]);
    run("rules.conf --library mpich-4.0.2 --output site.yaml")
        .bad(2, &["does not look like rules of mpich-4.0.2"]);
}

/// A complete selection file, in which broadcasts change their algorithm behind a size.
fn selection_file(bytes: u64) -> String {
    let entries = schedule::Collective::ALL.map(|collective| {
        let name = collective.name();
        let capital = name[..1].to_uppercase() + &name[1..];
        let tree = if name == "bcast" {
            format!(
                "{{\"comm_type=intra\": {{\n  \"avg_msg_size<=1\": {{\"algorithm=MPIR_Bcast_intra_tree\": {{\"k=2\": \
                 {{}}}}}},\n  \"avg_msg_size<={bytes}\": {{\"algorithm=MPIR_Bcast_intra_binomial\": {{}}}},\n  \"avg_msg_size=any\": {{\"algorithm=MPIR_Bcast_intra_scatter_ring_allgather\": {{}}}}}}}}"
            )
        } else {
            format!("{{\"algorithm=MPIR_{capital}_allcomm_nb\": {{}}}}")
        };
        format!("\"collective={name}\": {tree}")
    });
    format!("{{{}}}\n", entries.join(",\n"))
}

#[test]
fn a_selection_file_becomes_a_table_that_other_verbs_take() {
    let place = Place::new();
    place.write("coll.json", selection_file(4096));
    place.write("newer.json", selection_file(65_536));
    for (file, table) in [("coll.json", "site.yaml"), ("newer.json", "newer.yaml")] {
        let import =
            format!("import {file} --library mpich-4.0.2 --shapes 1x4,2x4 --output {table}");
        let ran = place.run_line(&import);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.err.contains("left out: tables have no parameters of"),
            "{ran:?}"
        );
    }
    let json = place
        .run_line("import coll.json --library mpich-4.0.2 --shapes 2x4 --output again.yaml --json");
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let rules = json["rules"].as_array().unwrap();
    let of_bcast: Vec<_> = rules
        .iter()
        .filter(|rule| rule["collective"] == "bcast")
        .map(|rule| (&rule["from_bytes"], &rule["candidate"]))
        .collect();
    let expected = [
        (&json!(0), &json!("default")),
        (&json!(2), &json!("native:bcast/binomial")),
        (&json!(4097), &json!("native:bcast/scatter_ring_allgather")),
    ];
    assert_eq!(of_bcast, expected);
    let call = "--collective bcast --shape 2x4 --bytes 5000 --deployment library";
    for (table, chosen) in [
        ("site.yaml", "native:bcast/scatter_ring_allgather"),
        ("newer.yaml", "native:bcast/binomial"),
    ] {
        let found = place.run_line(&format!("lookup {table} {call}"));
        assert!(found.out.starts_with(chosen), "{found:?}");
        let explained = place.run_line(&format!("explain {table} {call}"));
        assert!(explained.out.starts_with(chosen), "{explained:?}");
        assert!(
            explained
                .out
                .contains("There is no evidence beside the table"),
            "{explained:?}"
        );
        let report = place.run_line(&format!("report {table}"));
        assert_eq!(report.code, Some(0), "{report:?}");
        assert!(
            report.out.contains("bcast") && report.out.contains("binomial"),
            "{report:?}"
        );
        // Nothing was measured anywhere.
        assert!(report.out.contains("\n\nFor mpich-4.0.2, "), "{report:?}");
        assert!(!report.err.contains("--store"), "{report:?}");
        assert!(!explained.out.contains("--store"), "{explained:?}");
    }
    let diff = place.run_line("diff site.yaml newer.yaml --exit-code");
    assert_eq!(diff.code, Some(1), "{diff:?}");
    for part in [
        "bcast",
        "native:bcast/binomial",
        "native:bcast/scatter_ring_allgather",
    ] {
        assert!(diff.out.contains(part), "{part}: {diff:?}");
    }
    let same = place.run_line("diff site.yaml site.yaml --exit-code");
    assert_eq!(same.code, Some(0), "{same:?}");
    // A file over which the library ends programs becomes no table.
    place.write("bad.json", "{\"collective=bcast\": {}}\n");
    let bad = place.run_line("import bad.json --library mpich-4.0.2 --output bad.yaml");
    bad.bad(
        2,
        &[
            "mpich-4.0.2 ends programs over this file",
            "colltune audit --library mpich-4.0.2",
        ],
    );
}

/// As people post them: comments behind numbers, a collective without rules, and algorithms that are not for all operators.
const POSTED_RULES: &str = "\
3 # number of collectives
3 # alltoall
2 # number of communicator sizes
32 # communicator size
2 # number of message sizes
0 1 0 0 # linear
32768 2 0 0 # pairwise
64 # communicator size
2 # number of message sizes
0 3 0 0 # bruck
1024 4 0 0
5 # alltoallw
0
11 # reduce
1
64
2
0 5 0 0
65536 3 4 32768
";

/// The file comes from elsewhere, and the release that reads it is not installed.
#[test]
fn posted_rules_for_another_release_are_compared_reported_and_explained() {
    let place = Place::with_mpirun("exit 1");
    place.write("posted.conf", POSTED_RULES);
    for release in ["4.1.4", "5.0.7", "6.0.0"] {
        let import = format!(
            "import posted.conf --library openmpi-{release} --shapes 1x32,2x32 --output of-{release}.yaml"
        );
        let ran = place.run_line(&import);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for part in ["posted.conf:18: left out", "posted.conf:19: left out"] {
            assert!(ran.err.contains(part), "{part}: {ran:?}");
        }
    }
    let call = "--collective alltoall --shape 2x32 --bytes 4K --deployment library";
    for (release, chosen) in [
        ("4.1.4", "native:alltoall/linear_sync"),
        ("5.0.7", "native:alltoall/linear_sync"),
        // From 6.0 on the size is that of all blocks together.
        ("6.0.0", "native:alltoall/linear_sync"),
    ] {
        let explained = place.run_line(&format!("explain of-{release}.yaml {call}"));
        assert!(explained.out.starts_with(chosen), "{explained:?}");
        let reason = "no evidence beside the table: nothing was measured for it.";
        assert!(explained.out.contains(reason), "{explained:?}");
        let report = place.run_line(&format!("report of-{release}.yaml"));
        assert_eq!(report.code, Some(0), "{report:?}");
        for part in [
            &format!("For openmpi-{release}, "),
            "The rules were imported from posted.conf, and nothing was measured",
            "native:linear_sync",
        ] {
            assert!(report.out.contains(part), "{part}: {report:?}");
        }
        assert!(report.err.is_empty(), "{report:?}");
        let page = place.run_line(&format!("report of-{release}.yaml --format html"));
        assert_eq!(page.code, Some(0), "{page:?}");
    }
    let same = place.run_line("diff of-4.1.4.yaml of-5.0.7.yaml --exit-code");
    assert_eq!(same.code, Some(0), "{same:?}");
    let note = "two releases of a library, openmpi-4.1.4 and openmpi-5.0.7";
    assert!(same.out.contains(note), "{same:?}");
    // What 6.0 does with the numbers of ranks of such a file is different.
    let newer = place.run_line("diff of-5.0.7.yaml of-6.0.0.yaml --exit-code");
    assert_eq!(newer.code, Some(1), "{newer:?}");
    assert!(
        newer.out.contains("alltoall    1x32   library"),
        "{newer:?}"
    );
}

/// The gates refuse rules that were never measured. An administrator may override them; the released table then leaves all
/// calls to the library, since unconfirmed rules are not deployed.
#[test]
fn imported_rules_are_released_only_if_gates_are_overridden() {
    let place = Place::new();
    place.write("posted.conf", POSTED_RULES);
    let import = "import posted.conf --library openmpi-4.1.4 --shapes 1x32 --output posted.yaml";
    assert_eq!(place.run_line(import).code, Some(0));
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut serving = Serving::start(&mut command);
    let url = format!("http://{}", serving.address());
    let line = serving.line();
    let token = line.strip_prefix("token for changes: ").unwrap();
    place.write("token", token);
    let added = ureq::post(format!("{url}/api/v1/machines/local/tables"))
        .header("Authorization", format!("Bearer {token}"))
        .header("Content-Type", "application/yaml")
        .send(place.read("posted.yaml"));
    let added = added.unwrap().body_mut().read_to_string().unwrap();
    let added: Value = serde_json::from_str(&added).unwrap();
    let digest = added["digest"].as_str().unwrap();
    let release = format!(
        "remote --url {url} --token-file token release {digest} --machine local --library openmpi-4.1.4"
    );
    let closed = place.run_line(&release);
    assert_eq!(closed.code, Some(1), "{closed:?}");
    for part in ["not confirmed", "submit a task `validate`"] {
        assert!(closed.err.contains(part), "{part}: {closed:?}");
    }
    let overridden = place.run_line(&format!("{release} --override-gates --reason known"));
    assert_eq!(overridden.code, Some(0), "{overridden:?}");
    let channel = "service/channels/local/openmpi-4.1.4/production/current";
    let readme = place.read(&format!("{channel}/README.txt"));
    for part in [
        "Made for openmpi-4.1.4 on ",
        "WARNING: The rules were imported from posted.conf, and nothing was measured.",
    ] {
        assert!(readme.contains(part), "{part}: {readme}");
    }
    // Without a rule there is no file of rules either.
    assert!(!place.path(&format!("{channel}/openmpi.conf")).exists());
}
