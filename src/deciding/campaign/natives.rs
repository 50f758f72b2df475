//! Candidates other than colltune's algorithms: the library's own, and mock-ups made of its collectives.
//!
//! Which of the library's algorithms compete in a cell follows from what the library lets one force (`exec`) and from
//! its row in `libraries`: whether they combine in order, and which segment sizes or fanouts they take.

use vocabulary::{Candidate, Cell, Library, MOCKUPS, Mockup, NativeAlgorithm, Parameters};

use crate::Campaign;

impl Campaign {
    /// The mock-ups and the library's listed algorithms that compete in a cell, each with every segment size and fanout
    /// that it accepts.
    ///
    /// Algorithms that the library refuses are left out, and so are those that it is known to replace silently, since
    /// no sample may have a wrong name. For an operator that does not commute, mock-ups and algorithms that are not
    /// known to combine in rank order are left out too.
    pub fn foreign_candidates(
        &self,
        cell: &Cell,
        library: &Library,
        natives: &[NativeAlgorithm],
    ) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let known = libraries::find_library(&library.name);
        let of_cell = natives.iter().filter(|n| n.collective == cell.collective);
        for native in of_cell.filter(|native| self.selection.selects(&native.full_name())) {
            for parameters in self.native_parameters(cell, native) {
                let runs = match known {
                    Some(found) => found.runs_in_cell(cell, &native.id, &parameters),
                    None => cell.commutes(),
                };
                if runs {
                    candidates.push(Candidate::Native {
                        algorithm: native.full_name(),
                        parameters,
                    });
                }
            }
        }
        if !cell.commutes() {
            return candidates;
        }
        let mockups = MOCKUPS.iter().filter(|m| m.collective == cell.collective);
        let names = mockups.map(Mockup::full_name);
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
