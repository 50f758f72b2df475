//! Candidates other than colltune's algorithms: the library's own, and mock-ups made of its collectives.
//!
//! Which of the library's algorithms compete in a cell follows from what the library lets one force (`exec`) and from
//! its row in `libraries`: whether they combine in order, and which segment sizes, fanouts or numbers of requests they
//! take.

use schedule::Collective;
use vocabulary::{Candidate, Cell, Library, MOCKUPS, Mockup, NativeAlgorithm, Parameters};

use crate::{Campaign, DefaultsVersion, ParameterGrid};

impl Campaign {
    /// The mock-ups and the library's listed algorithms that compete in a cell, each with every segment size, fanout and
    /// number of requests that it accepts.
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
        // Nonblocking calls cannot be forced, nor made of blocking ones.
        if self.pattern.is_nonblocking() {
            return candidates;
        }
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

    /// The library's own choice of parameters, and the values of `block_bytes` as segments, of
    /// `radix` as fanouts and of `max_requests`.
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
        let requests = self.native_requests(cell, native);
        let mut all = Vec::new();
        for fanout in fanouts {
            for &segment_bytes in &segments {
                // A message without segments is one request.
                let is_in_segments = !native.takes_segments || segment_bytes.is_some();
                let limits = requests.iter().copied().filter(|_| is_in_segments);
                all.extend(
                    [None]
                        .into_iter()
                        .chain(limits.map(Some))
                        .map(|max_requests| Parameters {
                            segment_bytes,
                            fanout,
                            max_requests,
                            ..Parameters::default()
                        }),
                );
            }
        }
        all
    }

    /// The numbers of requests with which an algorithm of the library is tried, besides no limit. By default only those of
    /// an alltoall: there are many candidates for a reduction already.
    fn native_requests(&self, cell: &Cell, native: &NativeAlgorithm) -> Vec<u32> {
        let is_alltoall = cell.collective == Collective::Alltoall;
        let has_defaults = is_alltoall && self.selection.defaults > DefaultsVersion::V2;
        let numbers: &[u32] = match &self.parameters.max_requests {
            _ if !native.takes_requests => &[],
            Some(named) => &named[..],
            None if has_defaults => &ParameterGrid::MAX_REQUESTS,
            None => &[],
        };
        // In an alltoall a rank has a message to every other one.
        let limits = |number: &u32| !is_alltoall || *number < cell.shape.ranks() - 1;
        numbers.iter().copied().filter(limits).collect()
    }
}
