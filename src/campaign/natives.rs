//! Candidates that are not ours: the library's own algorithms, and mock-ups made of its collectives.

use schedule::Collective;
use vocabulary::{Candidate, Cell, Library, MOCKUPS, Mockup, NativeAlgorithm, Parameters};

use crate::Campaign;

impl Campaign {
    /// The mock-ups and the library's own algorithms that compete in a cell, of those that the library
    /// lists, each with every segment size and fanout that reaches it.
    ///
    /// Left out is what the library is known to replace by something else without a word, for no
    /// sample must carry a wrong name, and what it refuses.
    pub fn foreign_candidates(
        &self,
        cell: &Cell,
        library: &Library,
        natives: &[NativeAlgorithm],
    ) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let of_cell = natives.iter().filter(|n| n.collective == cell.collective);
        for native in of_cell.filter(|native| self.selection.selects(&native.name())) {
            for parameters in self.native_parameters(cell, native) {
                let is_possible = match library.name.as_str() {
                    "openmpi" => !open_mpi_replaces(cell, &native.id, &parameters),
                    "mpich" => !mpich_refuses(cell, &native.id),
                    _ => true,
                };
                if is_possible {
                    candidates.push(Candidate::Native {
                        algorithm: native.name(),
                        parameters,
                    });
                }
            }
        }
        let mockups = MOCKUPS.iter().filter(|m| m.collective == cell.collective);
        let names = mockups.map(Mockup::name);
        let selected = names.filter(|name| self.selection.selects(name));
        candidates.extend(selected.map(|algorithm| Candidate::Mockup { algorithm }));
        candidates
    }

    /// The library's own choice of parameters, and the values of `block_bytes` as segments and of
    /// `radix` as fanouts.
    fn native_parameters(&self, cell: &Cell, native: &NativeAlgorithm) -> Vec<Parameters> {
        let mut fanouts = vec![None];
        if native.takes_fanout {
            fanouts.extend(self.parameters.radix.iter().copied().map(Some));
        }
        let mut segments = vec![None];
        if native.takes_segments {
            let sizes = self.parameters.block_bytes.iter().copied();
            let shorter = sizes.filter(|size| *size < cell.vector_bytes());
            segments.extend(shorter.map(Some));
        }
        let with = |fanout: Option<u32>| {
            segments.iter().map(move |segment_bytes| Parameters {
                segment_bytes: *segment_bytes,
                fanout,
                ..Parameters::default()
            })
        };
        fanouts.into_iter().flat_map(with).collect()
    }
}

/// Whether Open MPI (coll/tuned, 4.1) uses another algorithm than the one that is forced, or fails.
fn open_mpi_replaces(cell: &Cell, id: &str, parameters: &Parameters) -> bool {
    let ranks = u64::from(cell.shape.ranks());
    let elements = cell.bytes / cell.datatype.size_bytes();
    let segment = parameters.segment_bytes.unwrap_or(0) / cell.datatype.size_bytes();
    let power_below = 1_u64 << ranks.max(1).ilog2();
    match (cell.collective, id) {
        (_, "two_proc") => ranks != 2,
        // Each half has a segment of its own.
        (Collective::Bcast, "split_binary_tree") => elements < 2 || segment > elements / 2,
        (Collective::Bcast, "scatter_allgather" | "scatter_allgather_ring") => elements < ranks,
        (Collective::Allgather, "recursive_doubling") => !ranks.is_power_of_two(),
        (Collective::Allgather, "neighbor") => !ranks.is_multiple_of(2),
        (Collective::Allreduce, "ring") => elements < ranks,
        (Collective::Allreduce, "segmented_ring") => segment == 0 || elements < ranks * segment,
        (Collective::Allreduce | Collective::Reduce, "rabenseifner") => elements < power_below,
        _ => false,
    }
}

/// Whether MPICH (4.0) returns an error, having been told not to replace what is forced, or aborts.
fn mpich_refuses(cell: &Cell, id: &str) -> bool {
    let ranks = u64::from(cell.shape.ranks());
    let elements = cell.bytes / cell.datatype.size_bytes();
    let power_below = 1_u64 << ranks.max(1).ilog2();
    match (cell.collective, id) {
        // For calls in place only.
        (Collective::Alltoall, "pairwise_sendrecv_replace") => true,
        (Collective::Allgather, "recursive_doubling")
        | (Collective::ReduceScatterBlock, "noncommutative") => !ranks.is_power_of_two(),
        // An assertion.
        (Collective::ReduceScatter, "noncommutative") => {
            !ranks.is_power_of_two() || !elements.is_multiple_of(ranks)
        }
        (Collective::Allreduce, "reduce_scatter_allgather")
        | (Collective::Reduce, "reduce_scatter_gather") => elements < power_below,
        _ => false,
    }
}
