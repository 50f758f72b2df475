//! Other people's measurements.

mod benchmarks;

use std::path::PathBuf;

use schedule::Collective;
use store::Store;
use table::{Deployment, OperatorClass, Query};
use tuner::{
    Analysis, Format, ImportOptions, Imported, Silent, TunerError, explain, import, measure,
};
use vocabulary::{Candidate, CommShape, Library, Sample};

use crate::fake;

/// Allreduce of 36 nodes with 8 ranks each, in microseconds: counts of MPI_INT, Open MPI 4.0.5's own,
/// reduce and broadcast, pipelined tree and dual root with blocks of 16000 elements.
///
/// Some rows of table 2 in J. L. Traeff, A Doubly-pipelined, Dual-root Reduction-to-all Algorithm
/// and Implementation, 2021.
const HYDRA: [(u64, [f64; 4]); 10] = [
    (1, [16.75, 24.44, 29.95, 33.6]),
    (250, [25.27, 32.17, 41.82, 44.25]),
    (2125, [99.07, 124.31, 162.24, 152.74]),
    (2500, [1059.83, 129.21, 172.16, 165.21]),
    (21250, [1218.0, 1020.46, 862.24, 805.53]),
    (87500, [1563.37, 4294.96, 1630.25, 1412.93]),
    (150000, [1854.84, 6087.61, 2276.29, 1958.36]),
    (212500, [2472.61, 7106.53, 2941.19, 2489.45]),
    (250000, [2893.0, 7835.16, 3289.41, 2765.93]),
    (875000, [14083.86, 21566.69, 9392.92, 8158.38]),
];

struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn import(&self, text: &str, options: &ImportOptions) -> Result<Imported, TunerError> {
        std::fs::write(self.path("times"), text).expect("written");
        import(&self.path("times"), &self.path("a.db"), options)
    }

    fn store(&self) -> Store {
        Store::open(&self.path("a.db")).expect("a store")
    }

    fn samples(&self) -> Vec<Sample> {
        self.store().samples(&library()).expect("samples")
    }

    fn analysis(&self) -> Analysis {
        Analysis::of(&self.store(), None, None).expect("analysed")
    }

    /// What a refused file says and advises; it must leave no store behind.
    fn refusal(&self, text: &str, options: &ImportOptions) -> String {
        let error = self.import(text, options).expect_err(text);
        assert!(!self.path("a.db").exists(), "nothing is created");
        let shown = error
            .to_string()
            .replace(&format!("{}/", self.folder.path().display()), "");
        format!("{shown} | {}", error.help().unwrap_or_default())
    }
}

fn library() -> Library {
    Library {
        name: "openmpi".to_owned(),
        version: "4.0.5".to_owned(),
    }
}

fn options(format: Format) -> ImportOptions {
    ImportOptions {
        format,
        library: Some(library()),
        nodes: Some(2),
        ppn: Some(4),
        machine: None,
        baseline: None,
        materiality: 0.02,
    }
}

fn csv() -> ImportOptions {
    options(Format::Csv)
}

fn hydra() -> String {
    let mut text = "# a comment\n\
        seconds,collective,library,algorithm,nodes,ppn,bytes,segment_bytes,datatype\n"
        .to_owned();
    for (count, [native, reduce_bcast, tree, dual_root]) in HYDRA {
        let what = format!("36,8,{}", 4 * count);
        for (microseconds, candidate, segment) in [
            (native, "default,", ""),
            (reduce_bcast, "Traeff 2021,reduce_bcast", ""),
            (tree, "ours,pipelined_tree", "64000"),
            (dual_root, "ours,allreduce/dual_root", "64000"),
        ] {
            let (library, id) = candidate.split_once(',').expect("two fields");
            text += &format!("{microseconds}e-6,allreduce,{library},{id},{what},{segment},int32\n");
        }
    }
    text
}

#[test]
fn published_times_are_decided_for_the_best_candidate() {
    let desk = Desk::new();
    let imported = desk.import(&hydra(), &csv()).expect("imported");
    assert_eq!(
        (imported.cells, imported.candidates, imported.repetitions),
        (10, 4, 40)
    );
    let analysis = desk.analysis();
    let table = analysis.table().expect("a table");
    assert_eq!(
        table.provenance.warnings.len(),
        1,
        "imported: {:?}",
        table.provenance.warnings
    );
    let path = desk.path("table.yaml");
    table.save(&path).expect("a sound table");
    assert_eq!(table::Table::load(&path).expect("read"), table);
    for (count, times) in HYDRA {
        let query = Query {
            collective: Collective::Allreduce,
            shape: CommShape { nodes: 36, ppn: 8 },
            bytes: 4 * count,
            operators: OperatorClass::Commutative,
            deployment: Deployment::Colltune,
        };
        let names = ["default", "reduce_bcast", "pipelined_tree", "dual_root"];
        let chosen = table.lookup(&query).candidate.id().to_owned();
        let time = names
            .iter()
            .zip(times)
            .find(|(name, _)| **name == chosen)
            .expect("known")
            .1;
        let best = times.into_iter().fold(f64::INFINITY, f64::min);
        assert!(
            time <= 1.02 * best,
            "{count}: {chosen} takes {time} and not {best}"
        );
        let told = explain(&table, &query, &desk.path("a.db")).expect("explained");
        assert_eq!(told.evidence[0].ranking.len(), 4);
        assert_eq!(told.dissent, None);
    }
    let blocks: Vec<_> = analysis
        .blocks
        .iter()
        .map(|block| block.algorithm.as_str())
        .collect();
    assert!(blocks.contains(&"allreduce/dual_root"), "{blocks:?}");
    assert!(report::render_markdown(&analysis.view(&table)).contains("reduce_bcast"));
}

#[test]
fn rows_are_repetitions_and_launches_stay_apart() {
    let desk = Desk::new();
    let text = "collective,algorithm,ppn,bytes,launch,seconds\n\
        bcast,default,4,1K,7,1e-6\nbcast,default,4,1K,7,3e-6\n\
        bcast,default,4,1K,3,2e-6\nbcast,ring,4,1K,3,5e-6\n";
    let imported = desk.import(text, &csv()).expect("imported");
    assert_eq!(imported.launches, [1, 2]);
    let samples = desk.samples();
    let of = |launch: u32| {
        let default = |s: &&Sample| s.launch == launch && s.candidate == Candidate::Default;
        samples.iter().find(default).expect("there").seconds.clone()
    };
    assert_eq!(of(1), [2e-6]);
    assert_eq!(of(2), [1e-6, 3e-6]);
    let foreign = samples
        .iter()
        .find(|s| s.candidate != Candidate::Default)
        .expect("there");
    assert_eq!(foreign.candidate.to_string(), "imported:bcast/ring");
    assert_eq!(foreign.subject.shape(), CommShape { nodes: 2, ppn: 4 });
}

#[test]
fn a_file_is_taken_once_and_another_one_beside_it() {
    let desk = Desk::new();
    desk.import(&hydra(), &csv()).expect("imported");
    let before = desk.samples();
    let again = desk.import(&hydra(), &csv()).expect_err("twice");
    assert!(again.to_string().contains("would count twice"), "{again}");
    assert_eq!(desk.samples(), before);
    let more = format!("{}# another file\n", hydra());
    let imported = desk.import(&more, &csv()).expect("imported");
    assert_eq!(imported.launches, [2]);
    assert_eq!(desk.analysis().origin.name, "a");
}

#[test]
fn without_a_default_a_baseline_stands_for_it_and_tables_say_so() {
    let desk = Desk::new();
    let text = "collective,library,algorithm,ppn,bytes,seconds\n\
        bcast,mvapich,ring,4,8,3e-6\nbcast,mvapich,tree,4,8,1e-6\nbcast,ours,binomial,4,8,2e-6\n";
    let refusal = desk.refusal(text, &csv());
    assert!(refusal.contains("nothing could be decided"), "{refusal}");
    assert!(
        refusal.contains("one of mvapich:ring, mvapich:tree, ours:binomial;"),
        "{refusal}"
    );
    let with = |name: &str| ImportOptions {
        baseline: Some(name.to_owned()),
        ..csv()
    };
    let refusal = desk.refusal(text, &with("mvapich:rng"));
    assert!(refusal.contains("no times of `mvapich:rng`"), "{refusal}");
    let mixed = format!("{text}bcast,default,,4,8,1e-6\n");
    let refusal = desk.refusal(&mixed, &with("mvapich:ring"));
    assert!(
        refusal.starts_with("times:5: the default itself was measured"),
        "{refusal}"
    );
    let cut = "collective,library,algorithm,ppn,bytes,segment_bytes,seconds\n\
        bcast,mvapich,ring,4,8,,1e-6\nbcast,mvapich,ring,4,8,4,1e-6\n";
    let refusal = desk.refusal(cut, &with("mvapich:ring"));
    assert!(
        refusal.contains("mvapich:bcast/ring[segment_bytes=4] here"),
        "{refusal}"
    );

    desk.import(text, &with("mvapich:ring")).expect("imported");
    let table = desk.analysis().table().expect("a table");
    let rule = &table.collectives[&Collective::Bcast][0].rules[0];
    assert_eq!(rule.candidate.to_string(), "mvapich:bcast/tree");
    assert!(
        rule.speedup
            .is_some_and(|speedup| (speedup - 3.0).abs() < 0.01),
        "{rule:?}"
    );
    let warnings = table.provenance.warnings.join("\n");
    assert!(
        warnings.contains("`default` stands for mvapich:bcast/ring"),
        "{warnings}"
    );
}

#[test]
fn what_is_wrong_is_named_with_line_field_and_remedy() {
    let desk = Desk::new();
    let check = |row: &str, parts: [&str; 2]| {
        let text = format!(
            "# comment\n\n\
             collective,library,algorithm,nodes,ppn,bytes,segment_bytes,datatype,launch,seconds\n\
             bcast,default,,1,4,8,,,1,1e-6\n\
             # comment\n{row}\n"
        );
        let refusal = desk.refusal(&text, &csv());
        assert!(refusal.starts_with("times:6:"), "{refusal}");
        for part in parts {
            assert!(refusal.contains(part), "{part} in {refusal}");
        }
    };
    check(
        "bcst,default,,1,4,8,,,1,1e-6",
        ["collective: there is no collective `bcst`", "bcast, reduce"],
    );
    check(
        "bcast,ours,rng,1,4,8,,,1,1e-6",
        [
            "algorithm: colltune has no algorithm `bcast/rng`",
            "schedule list",
        ],
    );
    check(
        "bcast,ours,binomial,1,4,8,4K,,1,1e-6",
        ["segment_bytes: `bcast/binomial` has no segments", "empty"],
    );
    check(
        "allgather,ours,neighbor_exchange,1,3,8,,,1,1e-6",
        ["algorithm: `allgather/neighbor_exchange` cannot", "leave"],
    );
    check(
        "bcast,a:b,ring,1,4,8,,,1,1e-6",
        ["library: `a:b` cannot be a name", "leave out `:`"],
    );
    check(
        "bcast,native,ring,1,4,8,,,1,1e-6",
        ["library: `native` cannot be a name", "something else"],
    );
    check(
        "bcast,mvapich,,1,4,8,,,1,1e-6",
        ["algorithm: there is nothing", "correct"],
    );
    check(
        "bcast,default,ring,1,4,8,,,1,1e-6",
        [
            "algorithm: the default is called `ring` here and `default`",
            "one default",
        ],
    );
    check(
        "bcast,default,,0,4,8,,,1,1e-6",
        ["nodes: `0` is not a whole number above 0", "correct"],
    );
    check(
        "bcast,default,,1,4,8 apples,,,1,1e-6",
        ["bytes: `8 apples` is not a size", "64K"],
    );
    check(
        "reduce,default,,1,4,6,,,1,1e-6",
        [
            "bytes: 6 bytes are not a whole number of float32",
            "`datatype`",
        ],
    );
    check(
        "reduce,default,,1,4,8,,int,1,1e-6",
        ["datatype: `int` is not a datatype", "float64"],
    );
    for time in ["", "0", "-1", "inf", "NaN", "5us"] {
        check(
            &format!("bcast,default,,1,4,8,,,1,{time}"),
            ["seconds: ", "correct"],
        );
    }
    check(
        "bcast,default,,1,4,8,,,1",
        ["there are 9 fields and not 10", "header"],
    );
}

#[test]
fn headers_say_what_is_there() {
    let desk = Desk::new();
    let check = |text: &str, part: &str| {
        let refusal = desk.refusal(text, &csv());
        assert!(refusal.contains(part), "{refusal}");
    };
    check(
        "",
        "times:1: there is no header | the columns are collective, library",
    );
    check("# only this\n", "there is no header");
    check(
        "collective,bytes\n",
        "times:1: there is no column `seconds`",
    );
    check(
        "#\ncollective,size,seconds\n",
        "times:2: there is no such column as `size`",
    );
    check(
        "bytes,bytes,seconds\n",
        "the column `bytes` stands there twice",
    );
    check("collective,bytes,seconds\n", "has no row of a collective");
    let nowhere = ImportOptions { ppn: None, ..csv() };
    let refusal = desk.refusal("collective,bytes,seconds\nbcast,8,1\n", &nowhere);
    assert!(
        refusal.contains("add the column `ppn`, or give `--ppn K`"),
        "{refusal}"
    );
}

/// A barrier has no size to be written, and nothing of ours to be compared with.
#[test]
fn what_only_libraries_have_is_imported_and_decided() {
    let header = "collective,library,algorithm,ppn,bytes,seconds\n";
    let rows = "barrier,default,,4,,3e-6\nbarrier,mvapich,tree,4,0,1e-6\n\
        alltoall,default,,4,64,1e-6\nalltoall,mvapich,pairwise,4,64,2e-6\n\
        scan,default,,4,64,2e-6\nscan,mvapich,linear,4,64,1e-6\n";
    let desk = Desk::new();
    desk.refusal(&format!("{header}scan,default,,4,,3e-6\n"), &csv());
    let refusal = desk.refusal(&format!("{header}barrier,default,,4,8,3e-6\n"), &csv());
    assert!(
        refusal.starts_with("times:2: bytes: `8` is not what a barrier moves"),
        "{refusal}"
    );
    let refusal = desk.refusal(&format!("{header}alltoall,ours,ring,4,8,3e-6\n"), &csv());
    assert!(
        refusal.contains("no algorithm `alltoall/ring`"),
        "{refusal}"
    );
    desk.import(&format!("{header}{rows}"), &csv())
        .expect("imported");
    let table = desk.analysis().table().expect("a table");
    for (collective, bytes, expected) in [
        (Collective::Barrier, 0, "mvapich:barrier/tree"),
        (Collective::Alltoall, 64, "default"),
        (Collective::Scan, 64, "mvapich:scan/linear"),
    ] {
        let query = Query {
            collective,
            shape: CommShape { nodes: 2, ppn: 4 },
            bytes,
            operators: OperatorClass::Commutative,
            deployment: Deployment::Colltune,
        };
        let decision = table.lookup(&query);
        assert_eq!(decision.candidate.to_string(), expected, "{collective}");
        assert!(decision.expected_seconds.is_some_and(f64::is_normal));
    }
    let again = table::Table::parse(&table.to_yaml(), "t.yaml".as_ref()).expect("read");
    assert_eq!(again.collectives.len(), 3);
}

#[test]
fn imports_and_measurements_are_not_mixed() {
    let bench = fake::Bench::new("");
    let never = std::sync::atomic::AtomicBool::new(false);
    let path = bench.campaign().output.store;
    let file = bench.path("times");
    std::fs::write(&file, hydra()).expect("written");
    let same = ImportOptions {
        library: Some(fake::library()),
        ..csv()
    };
    import(&file, &path, &same).expect("imported");
    let error = measure(&bench.workplace(), &mut Silent, &never).expect_err("mixed");
    assert!(
        matches!(error, TunerError::OtherConditions { .. }),
        "{error}"
    );

    let bench = fake::Bench::new("");
    measure(&bench.workplace(), &mut Silent, &never).expect("measured");
    let path = bench.campaign().output.store;
    let error = import(&file, &path, &same).expect_err("mixed");
    assert!(error.to_string().contains("not mixed"), "{error}");
    assert!(
        error
            .help()
            .is_some_and(|help| help.contains("another store"))
    );
    import(&file, &path, &csv()).expect("another library beside it");
}
