//! Files with measurements made without colltune.

mod benchmarks;
mod folders;
mod logs;
mod natives;
mod statements;

use std::path::PathBuf;

use import::{ImportError, ImportFormat, ImportOptions, Imported, import_files};
use store::Store;
use vocabulary::{Candidate, CommShape, Library, Pattern, Sample};

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

    fn import(&self, text: &str, options: &ImportOptions) -> Result<Imported, ImportError> {
        std::fs::write(self.path("times"), text).expect("written");
        import_files(&self.path("times"), &self.path("a.db"), options)
    }

    fn store(&self) -> Store {
        Store::open(&self.path("a.db")).expect("a store")
    }

    fn samples(&self) -> Vec<Sample> {
        self.store()
            .samples(&library(), Pattern::Together)
            .expect("samples")
    }

    /// The message and the help for a refused file, which must not create a store.
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

fn options(format: ImportFormat) -> ImportOptions {
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
    options(ImportFormat::Csv)
}

/// Two candidates of a reduction on 36 nodes.
const CSV: &str = "# a comment\n\
    seconds,collective,library,algorithm,nodes,ppn,bytes,segment_bytes,datatype\n\
    16.75e-6,allreduce,default,,36,8,4,,int32\n\
    33.6e-6,allreduce,ours,allreduce/dual_root,36,8,4,64000,int32\n";

#[test]
fn rows_are_repetitions_and_launches_are_separate() {
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
fn a_file_is_imported_once_and_another_one_is_added() {
    let desk = Desk::new();
    desk.import(CSV, &csv()).expect("imported");
    let before = desk.samples();
    let again = desk.import(CSV, &csv()).expect_err("twice");
    assert!(again.to_string().contains("would count twice"), "{again}");
    assert_eq!(desk.samples(), before);
    let more = format!("{CSV}# another file\n");
    let imported = desk.import(&more, &csv()).expect("imported");
    assert_eq!(imported.launches, [2]);
}

#[test]
fn without_a_default_a_measured_baseline_must_be_named() {
    let desk = Desk::new();
    let text = "collective,library,algorithm,ppn,bytes,seconds\n\
        bcast,mvapich,ring,4,8,3e-6\nbcast,mvapich,tree,4,8,1e-6\nbcast,ours,binomial,4,8,2e-6\n";
    let refusal = desk.refusal(text, &csv());
    assert!(refusal.contains("nothing can be decided"), "{refusal}");
    assert!(
        refusal.contains("one of mvapich:ring, mvapich:tree, ours:binomial;"),
        "{refusal}"
    );
    let with = |name: &str| ImportOptions {
        baseline: Some(name.to_owned()),
        ..csv()
    };
    let unknown = desk.refusal(text, &with("mvapich:rng"));
    assert!(
        unknown.contains("no times of the baseline `mvapich:rng`"),
        "{unknown}"
    );
    let mixed = format!("{text}bcast,default,,4,8,1e-6\n");
    let both = desk.refusal(&mixed, &with("mvapich:ring"));
    assert!(
        both.starts_with("times:5: both the default and the baseline were measured"),
        "{both}"
    );
    let cut = "collective,library,algorithm,ppn,bytes,segment_bytes,seconds\n\
        bcast,mvapich,ring,4,8,,1e-6\nbcast,mvapich,ring,4,8,4,1e-6\n";
    let segmented = desk.refusal(cut, &with("mvapich:ring"));
    assert!(
        segmented.contains("mvapich:bcast/ring[segment_bytes=4] here"),
        "{segmented}"
    );
}

#[test]
fn errors_have_line_field_and_remedy() {
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
        "alltoallx,ours,linear,1,4,8,,,1,1e-6",
        [
            "collective: there is no collective `alltoallx`",
            "bcast, reduce",
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
        "bcast,a\u{202e}b,ring,1,4,8,,,1,1e-6",
        ["cannot be a name", "unprintable characters"],
    );
    check(
        "bcast,mockup,ring,1,4,8,,,1,1e-6",
        ["library: `mockup` cannot be a name", "something else"],
    );
    check(
        "bcast,native,ring,1,4,8,,,1,1e-6",
        [
            "algorithm: openmpi has no algorithm `ring` of this collective",
            "write one of basic_linear, chain,",
        ],
    );
    check(
        "bcast,native,scatter_allgather,1,4,8,4K,,1,1e-6",
        [
            "segment_bytes: `native:bcast/scatter_allgather` has no",
            "empty",
        ],
    );
    check(
        "bcast,mvapich,,1,4,8,,,1,1e-6",
        ["algorithm: the field is empty", "correct"],
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
            "bytes: the size of 6 bytes is not a whole number of float32",
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
        ["the line has 9 fields instead of 10", "header"],
    );
}

#[test]
fn headers_name_the_columns() {
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
        "times:2: `size` is not a known column",
    );
    check(
        "bytes,bytes,seconds\n",
        "the header has the column `bytes` twice",
    );
    check("collective,bytes,seconds\n", "has no row of a collective");
    let nowhere = ImportOptions { ppn: None, ..csv() };
    let refusal = desk.refusal("collective,bytes,seconds\nbcast,8,1\n", &nowhere);
    assert!(
        refusal.contains("add the column `ppn`, or give `--ppn K`"),
        "{refusal}"
    );
}

#[test]
fn a_barrier_has_no_size() {
    let header = "collective,library,algorithm,ppn,bytes,seconds\n";
    let desk = Desk::new();
    desk.refusal(&format!("{header}scan,default,,4,,3e-6\n"), &csv());
    let refusal = desk.refusal(&format!("{header}barrier,default,,4,8,3e-6\n"), &csv());
    assert!(
        refusal.starts_with("times:2: bytes: `8` is not the size of a barrier"),
        "{refusal}"
    );
    let no_algorithm = desk.refusal(&format!("{header}alltoall,ours,ring,4,8,3e-6\n"), &csv());
    assert!(
        no_algorithm.contains("no algorithm `alltoall/ring`"),
        "{no_algorithm}"
    );
}

/// Distributions are of irregular collectives alone.
#[test]
fn rows_of_irregular_collectives_may_name_a_distribution() {
    let header = "collective,library,algorithm,ppn,bytes,distribution,seconds\n";
    let desk = Desk::new();
    let refusal = desk.refusal(
        &format!("{header}gather,default,,4,8,skewed,3e-6\n"),
        &csv(),
    );
    assert!(
        refusal.contains(
            "distribution: `skewed` is not a value here: the parts of a gather have one size"
        ),
        "{refusal}"
    );
    let unknown = desk.refusal(
        &format!("{header}gatherv,default,,4,8,skewd,3e-6\n"),
        &csv(),
    );
    assert!(
        unknown.contains("write one of uniform, skewed, sparse, dominated"),
        "{unknown}"
    );
}
