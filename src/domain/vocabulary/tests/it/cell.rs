//! Cells as people and files write them.

use schedule::Collective;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Parameters};

/// Files written before other collectives could be measured remain readable.
#[test]
fn cells_of_all_measured_collectives_are_read_and_written_by_name() {
    let told = [
        (Collective::Gather, "gather 2x4 8 bytes a rank"),
        (Collective::Alltoall, "alltoall 2x4 8 bytes a block"),
        (Collective::Barrier, "barrier 2x4"),
    ];
    for (collective, text) in told {
        let bytes = if collective.has_data() { 8 } else { 0 };
        let json = format!(
            "{{\"collective\":\"{collective}\",\"shape\":{{\"nodes\":2,\"ppn\":4}},\
             \"bytes\":{bytes},\"datatype\":\"byte\"}}"
        );
        let cell = Cell {
            collective,
            shape: CommShape { nodes: 2, ppn: 4 },
            bytes,
            datatype: Datatype::Byte,
            operator: None,
            distribution: schedule::Distribution::Uniform,
        };
        assert_eq!(cell.to_string(), text);
        assert_eq!(serde_json::to_string(&cell).expect("written"), json);
        assert_eq!(serde_json::from_str::<Cell>(&json).expect("read"), cell);
    }
    let vector = |collective| Cell {
        collective,
        shape: CommShape { nodes: 2, ppn: 4 },
        bytes: 8,
        datatype: Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    };
    assert_eq!(vector(Collective::Alltoall).vector_bytes(), 64);
    assert_eq!(vector(Collective::Scan).vector_bytes(), 8);
}

/// Answers are remembered, each for its own cell and order of candidates.
#[test]
fn the_simplest_candidate_depends_on_the_cell_and_not_on_earlier_questions() {
    let ours = |name: &str| Candidate::Ours {
        algorithm: name.to_owned(),
        parameters: Parameters::default(),
    };
    let (linear, binomial) = (ours("bcast/linear"), ours("bcast/binomial"));
    let on = |ppn| Cell {
        collective: Collective::Bcast,
        shape: CommShape { nodes: 1, ppn },
        bytes: 64,
        datatype: Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    };
    for _ in 0..2 {
        // A single message.
        assert_eq!(on(2).simplest_alike(&[&linear, &binomial]), [0, 0]);
        assert_eq!(on(2).simplest_alike(&[&binomial, &linear]), [1, 1]);
        assert_eq!(on(4).simplest_alike(&[&linear, &binomial]), [0, 1]);
    }
}
