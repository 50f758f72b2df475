//! Which algorithms of ours and inside libraries do the same, and so can be compared for speed.

use wire::{Candidate, Cell, Library, Parameters};

/// A library, an algorithm of ours, and the library's own that sends the same messages.
///
/// Names are no guide: Open MPI's `basic_linear` broadcast posts all sends at once, its `pipeline` is
/// a chain, its Rabenseifner reduction folds evenly, and MPICH's does not.
const TWINS: [(&str, &str, &str); 34] = [
    ("openmpi", "bcast/linear_nonblocking", "bcast/basic_linear"),
    ("openmpi", "bcast/binomial", "bcast/binomial"),
    ("openmpi", "bcast/knomial", "bcast/knomial"),
    ("openmpi", "bcast/chain", "bcast/pipeline"),
    ("openmpi", "bcast/binary_pipelined", "bcast/binary_tree"),
    (
        "openmpi",
        "bcast/scatter_allgather",
        "bcast/scatter_allgather",
    ),
    (
        "openmpi",
        "bcast/scatter_allgather_ring",
        "bcast/scatter_allgather_ring",
    ),
    ("openmpi", "reduce/linear", "reduce/linear"),
    ("openmpi", "reduce/binomial", "reduce/binomial"),
    ("openmpi", "reduce/chain", "reduce/pipeline"),
    ("openmpi", "reduce/binary_pipelined", "reduce/binary"),
    ("openmpi", "reduce/rabenseifner", "reduce/rabenseifner"),
    (
        "openmpi",
        "allreduce/recursive_doubling",
        "allreduce/recursive_doubling",
    ),
    ("openmpi", "allreduce/ring", "allreduce/ring"),
    (
        "openmpi",
        "allreduce/rabenseifner",
        "allreduce/rabenseifner",
    ),
    ("openmpi", "gather/linear", "gather/basic_linear"),
    ("openmpi", "gather/binomial", "gather/binomial"),
    ("openmpi", "scatter/linear", "scatter/basic_linear"),
    ("openmpi", "scatter/linear_nonblocking", "scatter/linear_nb"),
    ("openmpi", "scatter/binomial", "scatter/binomial"),
    ("openmpi", "allgather/ring", "allgather/ring"),
    ("openmpi", "allgather/bruck", "allgather/bruck"),
    (
        "openmpi",
        "allgather/recursive_doubling",
        "allgather/recursive_doubling",
    ),
    (
        "openmpi",
        "allgather/neighbor_exchange",
        "allgather/neighbor",
    ),
    ("openmpi", "reduce_scatter/ring", "reduce_scatter/ring"),
    (
        "openmpi",
        "reduce_scatter/recursive_halving",
        "reduce_scatter/recursive_halving",
    ),
    ("mpich", "bcast/binomial", "bcast/binomial"),
    (
        "openmpi",
        "reduce_scatter_block/recursive_halving",
        "reduce_scatter_block/recursive_halving",
    ),
    (
        "openmpi",
        "reduce_scatter_block/recursive_doubling",
        "reduce_scatter_block/recursive_doubling",
    ),
    (
        "mpich",
        "bcast/scatter_allgather_ring",
        "bcast/scatter_ring_allgather",
    ),
    ("mpich", "reduce/binomial", "reduce/binomial"),
    (
        "mpich",
        "reduce/rabenseifner_unbalanced",
        "reduce/reduce_scatter_gather",
    ),
    (
        "mpich",
        "allreduce/recursive_doubling",
        "allreduce/recursive_doubling",
    ),
    ("mpich", "allgather/ring", "allgather/ring"),
];

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
    let (_, _, native) = TWINS
        .iter()
        .find(|(of, ours, _)| *of == library.name && ours == algorithm)?;
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
    use wire::{Candidate, Cell, CommShape, Datatype, Library, Parameters};

    use super::{RIVALS, TWINS, twin};

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
        for (_, ours, native) in TWINS {
            assert!(schedule::find(ours).is_some(), "{ours}");
            let collective = |name: &str| name.split_once('/').map(|(it, _)| it.to_owned());
            assert_eq!(collective(ours), collective(native));
        }
        for name in RIVALS.iter().flat_map(|(one, other)| [one, other]) {
            assert!(schedule::find(name).is_some(), "{name}");
        }
    }
}
