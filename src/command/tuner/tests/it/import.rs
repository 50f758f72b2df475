//! Decisions from imported measurements.

use std::path::PathBuf;

use import::{ImportFormat, ImportOptions, import_files};
use schedule::Collective;
use store::Store;
use table::{Deployment, OperatorClass, Query};
use tuner::{CampaignAnalysis, Silent, TunerError, explain_decision, measure_campaign};
use vocabulary::{CommShape, Library, RankOrder};

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

    fn import(&self, text: &str, options: &ImportOptions) {
        std::fs::write(self.path("times"), text).expect("written");
        import_files(&self.path("times"), &self.path("a.db"), options).expect("imported");
    }

    fn analysis(&self) -> CampaignAnalysis {
        let store = Store::open(&self.path("a.db")).expect("a store");
        CampaignAnalysis::from_store(&store, None, None).expect("analysed")
    }
}

fn library() -> Library {
    Library {
        name: "openmpi".to_owned(),
        version: "4.0.5".to_owned(),
    }
}

fn csv() -> ImportOptions {
    ImportOptions {
        format: ImportFormat::Csv,
        library: Some(library()),
        nodes: Some(2),
        ppn: Some(4),
        machine: None,
        baseline: None,
        materiality: 0.02,
    }
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
    desk.import(&hydra(), &csv());
    let analysis = desk.analysis();
    assert_eq!(analysis.origin.name, "a");
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
            order: RankOrder::Unknown,
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
        let told = explain_decision(&table, &query, &desk.path("a.db")).expect("explained");
        assert_eq!(told.evidence[0].ranking.len(), 4);
        assert_eq!(told.disagreement, None);
    }
    let blocks: Vec<_> = analysis
        .found
        .blocks
        .iter()
        .map(|block| block.algorithm.as_str())
        .collect();
    assert!(blocks.contains(&"allreduce/dual_root"), "{blocks:?}");
    assert!(report::render_markdown(&analysis.report_view(&table)).contains("reduce_bcast"));
}

#[test]
fn a_baseline_replaces_the_default_and_tables_say_so() {
    let desk = Desk::new();
    let text = "collective,library,algorithm,ppn,bytes,seconds\n\
        bcast,mvapich,ring,4,8,3e-6\nbcast,mvapich,tree,4,8,1e-6\nbcast,ours,binomial,4,8,2e-6\n";
    let options = ImportOptions {
        baseline: Some("mvapich:ring".to_owned()),
        ..csv()
    };
    desk.import(text, &options);
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
        warnings.contains("`default` means mvapich:bcast/ring"),
        "{warnings}"
    );
}

#[test]
fn alltoall_barriers_and_scans_are_imported_and_decided() {
    let header = "collective,library,algorithm,ppn,bytes,seconds\n";
    let rows = "barrier,default,,4,,3e-6\nbarrier,mvapich,tree,4,0,1e-6\n\
        barrier,ours,linear,4,,2e-6\n\
        alltoall,default,,4,64,3e-6\nalltoall,mvapich,pairwise,4,64,2e-6\n\
        alltoall,ours,pairwise,4,64,1e-6\n\
        scan,default,,4,64,2e-6\nscan,mvapich,linear,4,64,1e-6\n\
        exscan,default,,4,64,2e-6\nexscan,ours,linear,4,64,1e-6\n";
    let desk = Desk::new();
    desk.import(&format!("{header}{rows}"), &csv());
    let table = desk.analysis().table().expect("a table");
    for (collective, bytes, expected) in [
        (Collective::Barrier, 0, "mvapich:barrier/tree"),
        (Collective::Alltoall, 64, "alltoall/pairwise"),
        (Collective::Scan, 64, "mvapich:scan/linear"),
        (Collective::Exscan, 64, "exscan/linear"),
    ] {
        let query = Query {
            order: RankOrder::Unknown,
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
    assert_eq!(again.collectives.len(), 4);
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
    import_files(&file, &path, &same).expect("imported");
    let error = measure_campaign(&bench.workplace(), &mut Silent, &never).expect_err("mixed");
    assert!(
        matches!(error, TunerError::OtherConditions { .. }),
        "{error}"
    );

    let measured_bench = fake::Bench::new("");
    measure_campaign(&measured_bench.workplace(), &mut Silent, &never).expect("measured");
    let measured_path = measured_bench.campaign().output.store;
    let import_error = import_files(&file, &measured_path, &same).expect_err("mixed");
    assert!(
        import_error.to_string().contains("not mixed"),
        "{import_error}"
    );
    assert!(
        import_error
            .help()
            .is_some_and(|help| help.contains("another store"))
    );
    import_files(&file, &measured_path, &csv()).expect("another library beside it");
}
