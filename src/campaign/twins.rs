//! Which algorithms of ours and inside libraries do the same, and so can be compared for speed.

use vocabulary::{Candidate, Cell, Library, Parameters};

/// An algorithm of ours, and Open MPI's own that sends the same messages.
///
/// Names are no guide: its `basic_linear` broadcast posts all sends at once, its `pipeline` is a
/// chain, its Rabenseifner reduction folds evenly.
const OPEN_MPI: [(&str, &str); 28] = [
    ("bcast/linear_nonblocking", "bcast/basic_linear"),
    ("bcast/binomial", "bcast/binomial"),
    ("bcast/knomial", "bcast/knomial"),
    ("bcast/chain", "bcast/pipeline"),
    ("bcast/binary_pipelined", "bcast/binary_tree"),
    ("bcast/scatter_allgather", "bcast/scatter_allgather"),
    (
        "bcast/scatter_allgather_ring",
        "bcast/scatter_allgather_ring",
    ),
    ("reduce/linear", "reduce/linear"),
    ("reduce/binomial", "reduce/binomial"),
    ("reduce/chain", "reduce/pipeline"),
    ("reduce/binary_pipelined", "reduce/binary"),
    ("reduce/rabenseifner", "reduce/rabenseifner"),
    (
        "allreduce/recursive_doubling",
        "allreduce/recursive_doubling",
    ),
    ("allreduce/ring", "allreduce/ring"),
    ("allreduce/rabenseifner", "allreduce/rabenseifner"),
    ("gather/linear", "gather/basic_linear"),
    ("gather/binomial", "gather/binomial"),
    ("scatter/linear", "scatter/basic_linear"),
    ("scatter/linear_nonblocking", "scatter/linear_nb"),
    ("scatter/binomial", "scatter/binomial"),
    ("allgather/ring", "allgather/ring"),
    ("allgather/bruck", "allgather/bruck"),
    (
        "allgather/recursive_doubling",
        "allgather/recursive_doubling",
    ),
    ("allgather/neighbor_exchange", "allgather/neighbor"),
    ("reduce_scatter/ring", "reduce_scatter/ring"),
    (
        "reduce_scatter/recursive_halving",
        "reduce_scatter/recursive_halving",
    ),
    (
        "reduce_scatter_block/recursive_halving",
        "reduce_scatter_block/recursive_halving",
    ),
    (
        "reduce_scatter_block/recursive_doubling",
        "reduce_scatter_block/recursive_doubling",
    ),
];

/// The same of MPICH, whose Rabenseifner reduction does not fold evenly.
const MPICH: [(&str, &str); 6] = [
    ("bcast/binomial", "bcast/binomial"),
    (
        "bcast/scatter_allgather_ring",
        "bcast/scatter_ring_allgather",
    ),
    ("reduce/binomial", "reduce/binomial"),
    (
        "reduce/rabenseifner_unbalanced",
        "reduce/reduce_scatter_gather",
    ),
    (
        "allreduce/recursive_doubling",
        "allreduce/recursive_doubling",
    ),
    ("allgather/ring", "allgather/ring"),
];

/// The twins in a library; none in one that is not known.
fn twins(library: &str) -> &'static [(&'static str, &'static str)] {
    match library {
        "openmpi" => &OPEN_MPI,
        "mpich" => &MPICH,
        _ => &[],
    }
}

/// Pairs among our own that are a question of their own: each at its best block size.
pub const RIVALS: [(&str, &str); 1] = [("allreduce/dual_root", "allreduce/pipelined_tree")];

/// The radix of Open MPI's k-nomial tree unless somebody changes it for the whole job.
const KNOMIAL_RADIX: u32 = 4;

/// The library's own algorithm that does the same as this candidate of ours, if it has one.
pub fn twin(library: &Library, cell: &Cell, candidate: &Candidate) -> Option<Candidate> {
    let Candidate::Ours {
        algorithm,
        parameters,
    } = candidate
    else {
        return None;
    };
    let mut twins = twins(&library.name).iter();
    let (_, native) = twins.find(|(ours, _)| ours == algorithm)?;
    // What has a radix of 4 on fewer ranks is called by their number.
    let radix = KNOMIAL_RADIX.min(cell.shape.ranks());
    let is_other = parameters.radix.is_some_and(|given| given != radix)
        || parameters.blocks.is_some_and(|blocks| blocks != 1);
    (!is_other).then(|| Candidate::Native {
        algorithm: format!("{}{native}", Candidate::NATIVE),
        parameters: Parameters {
            segment_bytes: parameters.block_bytes,
            ..Parameters::default()
        },
    })
}

#[cfg(test)]
mod tests {
    use schedule::Collective;
    use vocabulary::{Candidate, Cell, CommShape, Datatype, Library, Parameters};

    use super::{MPICH, OPEN_MPI, RIVALS, twin};

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
        };
        let candidate = Candidate::Ours {
            algorithm: algorithm.to_owned(),
            parameters,
        };
        twin(&library, &cell, &candidate).map(|twin| twin.to_string())
    }

    #[test]
    fn twins_have_the_same_parameters() {
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

    #[test]
    fn ours_are_in_the_catalogue() {
        for (ours, native) in OPEN_MPI.into_iter().chain(MPICH) {
            assert!(schedule::find(ours).is_some(), "{ours}");
            let collective = |name: &str| name.split_once('/').map(|(it, _)| it.to_owned());
            assert_eq!(collective(ours), collective(native));
        }
        for name in RIVALS.iter().flat_map(|(one, other)| [one, other]) {
            assert!(schedule::find(name).is_some(), "{name}");
        }
    }
}
