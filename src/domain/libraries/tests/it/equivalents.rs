//! Our algorithms and the equivalent ones of libraries.

use schedule::Collective;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Library, Parameters};

use libraries::{LibraryName, RIVALS, library_equivalent};

fn found(library: &str, ppn: u32, algorithm: &str, parameters: Parameters) -> Option<String> {
    let library = Library {
        name: library.to_owned(),
        version: "1".to_owned(),
    };
    let cell = Cell {
        collective: Collective::Bcast,
        shape: CommShape { nodes: 1, ppn },
        bytes: 1 << 20,
        datatype: Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    };
    let candidate = Candidate::Ours {
        algorithm: algorithm.to_owned(),
        parameters,
    };
    library_equivalent(&library, &cell, &candidate).map(|equivalent| equivalent.to_string())
}

#[test]
fn equivalents_have_the_same_parameters() {
    let check = |library, ppn, algorithm, parameters, expected: Option<&str>| {
        let found = found(library, ppn, algorithm, parameters);
        assert_eq!(found.as_deref(), expected, "{algorithm} of {library}");
    };
    let none = Parameters::default;
    let radix = |radix| Parameters {
        radix: Some(radix),
        ..none()
    };
    let blocks = |blocks| Parameters {
        blocks: Some(blocks),
        ..none()
    };
    let segments = Parameters {
        block_bytes: Some(8192),
        ..none()
    };
    let pipeline = "native:bcast/pipeline[segment_bytes=8K]";
    check(
        "openmpi",
        8,
        "bcast/chain",
        segments.clone(),
        Some(pipeline),
    );
    check(
        "openmpi",
        8,
        "bcast/chain",
        blocks(1),
        Some("native:bcast/pipeline"),
    );
    check("openmpi", 8, "bcast/chain", blocks(7), None);
    check(
        "openmpi",
        8,
        "bcast/knomial",
        radix(4),
        Some("native:bcast/knomial"),
    );
    check("openmpi", 8, "bcast/knomial", radix(8), None);
    check(
        "openmpi",
        3,
        "bcast/knomial",
        radix(3),
        Some("native:bcast/knomial"),
    );
    check("openmpi", 8, "bcast/mst", none(), None);
    check(
        "mpich",
        8,
        "bcast/binomial",
        none(),
        Some("native:bcast/binomial"),
    );
    check("mpich", 8, "bcast/chain", segments, None);
    check("other", 8, "bcast/binomial", none(), None);
}

/// Libraries' Bruck and dissemination have radix 2, ours 4 unless told otherwise.
#[test]
fn exchanges_by_digits_are_equivalent_with_radix_2() {
    let found = |library, ppn, algorithm, radix| {
        let parameters = Parameters {
            radix,
            ..Parameters::default()
        };
        found(library, ppn, algorithm, parameters)
    };
    for (library, algorithm, native) in [
        (
            "openmpi",
            "alltoall/bruck",
            "native:alltoall/modified_bruck",
        ),
        ("openmpi", "barrier/dissemination", "native:barrier/bruck"),
        ("mpich", "alltoall/bruck", "native:alltoall/brucks"),
        (
            "mpich",
            "barrier/dissemination",
            "native:barrier/dissemination",
        ),
    ] {
        assert_eq!(
            found(library, 8, algorithm, Some(2)).as_deref(),
            Some(native)
        );
        for other in [None, Some(4)] {
            assert_eq!(found(library, 8, algorithm, other), None, "{algorithm}");
        }
        // Between two ranks all radices are the same.
        assert_eq!(found(library, 2, algorithm, None).as_deref(), Some(native));
    }
    let exscan = found("openmpi", 8, "exscan/linear", None);
    assert_eq!(exscan.as_deref(), Some("native:exscan/linear"));
}

/// Open MPI's linear with synchronisation has all messages under way unless it is given a number, MPICH's scattered 32.
#[test]
fn alltoalls_in_batches_are_equivalent_with_as_many_requests() {
    let of = |library, ppn, max_requests| {
        let parameters = Parameters {
            max_requests,
            ..Parameters::default()
        };
        found(library, ppn, "alltoall/batched", parameters)
    };
    let (sync, scattered) = (
        Some("native:alltoall/linear_sync"),
        Some("native:alltoall/scattered"),
    );
    let sync_of_4 = Some("native:alltoall/linear_sync[max_requests=4]");
    let sync_of_32 = Some("native:alltoall/linear_sync[max_requests=32]");
    for (library, ppn, requests, expected) in [
        // Without a number ours has 32, which are all among 33 ranks.
        ("openmpi", 33, None, sync),
        ("openmpi", 34, None, sync_of_32),
        ("openmpi", 34, Some(33), sync),
        ("openmpi", 8, Some(4), sync_of_4),
        ("openmpi", 8, Some(7), sync),
        ("mpich", 64, None, scattered),
        ("mpich", 64, Some(32), scattered),
        ("mpich", 64, Some(4), None),
        ("mpich", 64, Some(63), None),
        ("mpich", 8, Some(7), scattered),
        ("mpich", 8, Some(4), None),
    ] {
        let answer = of(library, ppn, requests);
        assert_eq!(answer.as_deref(), expected, "{library} {ppn} {requests:?}");
    }
    for name in ["alltoallv", "alltoallw"] {
        let ours = format!("{name}/batched");
        let answer = found("mpich", 64, &ours, Parameters::default());
        assert_eq!(answer, Some(format!("native:{name}/scattered")));
    }
}

#[test]
fn our_equivalents_are_in_the_registry() {
    let mut count = 0;
    for algorithm in LibraryName::ALL
        .iter()
        .flat_map(|library| library.facts().algorithms)
    {
        if let Some(equivalent) = algorithm.equivalent {
            let ours = format!("{}/{equivalent}", algorithm.collective);
            assert!(schedule::find_algorithm(&ours).is_some(), "{ours}");
            count += 1;
        }
    }
    assert_eq!(count, 72);
    for name in RIVALS.iter().flat_map(|(one, other)| [one, other]) {
        assert!(schedule::find_algorithm(name).is_some(), "{name}");
    }
}
