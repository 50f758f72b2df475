//! Algorithms of the measured library, by the library's names.

use import::ImportFormat;
use vocabulary::{Candidate, Parameters};

use crate::{Desk, options};

const ROWS: &str = "collective,library,algorithm,nodes,ppn,bytes,segment_bytes,seconds\n\
    bcast,default,,1,4,64K,,30e-6\n\
    bcast,native,binary_tree,1,4,64K,8K,20e-6\n\
    allgather,default,,1,3,64K,,30e-6\n\
    allgather,native,neighbor,1,3,64K,,20e-6\n";

#[test]
fn forced_algorithms_have_the_librarys_names() {
    let desk = Desk::new();
    let imported = desk
        .import(ROWS, &options(ImportFormat::Csv))
        .expect("imported");
    let candidates: Vec<Candidate> = desk.samples().into_iter().map(|s| s.candidate).collect();
    let forced = Candidate::Native {
        algorithm: "native:bcast/binary_tree".to_owned(),
        parameters: Parameters {
            segment_bytes: Some(8192),
            ..Parameters::default()
        },
    };
    assert!(candidates.contains(&forced), "{candidates:?}");
    assert_eq!(candidates.len(), 3, "{candidates:?}");
    // Open MPI runs the ring instead on odd numbers of ranks.
    let [skipped] = &imported.skipped[..] else {
        panic!("{imported:?}");
    };
    assert_eq!(skipped.line, 5);
    assert!(skipped.what.contains("another algorithm"), "{skipped:?}");
}

#[test]
fn native_algorithms_need_a_known_library() {
    let desk = Desk::new();
    for library in [None, Some(("mvapich", "2.3"))] {
        let library = library.map(|(name, version)| vocabulary::Library {
            name: name.to_owned(),
            version: version.to_owned(),
        });
        let options = import::ImportOptions {
            library,
            ..options(ImportFormat::Csv)
        };
        let refusal = desk.refusal(ROWS, &options);
        for part in [
            "times:3: library: ",
            "openmpi and mpich",
            "--library openmpi-4.1.4",
        ] {
            assert!(refusal.contains(part), "{refusal}");
        }
    }
}
