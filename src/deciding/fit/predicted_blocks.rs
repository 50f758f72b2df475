//! Block sizes that are predicted to be best.

use std::collections::BTreeMap;

use schedule::Algorithm;
use vocabulary::units::nearest_power_of_two;
use vocabulary::{Candidate, Cell, Parameters};

use crate::MachineFit;
use crate::prediction::{best_blocks, is_simulated, predicted_seconds};

/// The smallest block that is tried, in bytes.
const LEAST_BLOCK_BYTES: u64 = 1 << 10;
/// The first block that is tried if the algorithm has no closed form, in bytes.
const FIRST_BLOCK_BYTES: u64 = 32 << 10;

/// The size of blocks in bytes with which an algorithm with these parameters is predicted to be fastest in a cell; `None`
/// if the machine is not known well enough.
///
/// The pipelining lemma knows one line of time per byte and neither overheads nor protocols. So its block is only where
/// a search begins: simulations compare it with blocks of half and twice the size and go on as long as the time falls,
/// also from blocks as long as the level's eager limit. The search keeps to powers of two. If the lemma's own schedule has
/// more than about twenty thousand messages, it is not simulated, and the lemma's block is the prediction.
pub fn predicted_block_bytes(
    machine: &MachineFit,
    cell: &Cell,
    algorithm: &'static Algorithm,
    parameters: &Parameters,
) -> Option<u64> {
    let lemma = best_blocks(machine, cell, algorithm, parameters);
    let lemma_bytes = lemma.map(|lemma| lemma.block_bytes.max(1));
    let mut search = BlockSearch {
        machine,
        cell,
        algorithm,
        parameters,
        known: BTreeMap::new(),
    };
    let first = lemma_bytes.unwrap_or(FIRST_BLOCK_BYTES);
    let eager_limit = machine.eager_limit(cell, parameters.through);
    let Some(mut best) = search.descend_from(first) else {
        return lemma_bytes;
    };
    if let Some(found) = eager_limit.and_then(|limit| search.descend_from(limit))
        && found.seconds < best.seconds
    {
        best = found;
    }
    Some(best.bytes)
}

/// A size of blocks in bytes, with the simulated time of a call in seconds.
#[derive(Clone, Copy, Debug)]
struct TimedBlock {
    bytes: u64,
    seconds: f64,
}

/// Compares block sizes by simulation.
struct BlockSearch<'a> {
    machine: &'a MachineFit,
    cell: &'a Cell,
    algorithm: &'static Algorithm,
    parameters: &'a Parameters,
    /// The times of the sizes that were simulated, in seconds; `None` for schedules that are too long.
    known: BTreeMap<u64, Option<f64>>,
}

impl BlockSearch<'_> {
    /// Halves or doubles the size, beginning with `start`, as long as the simulated time falls, and returns the last one.
    /// `None` if the schedule with the first size is too long to be simulated.
    fn descend_from(&mut self, start: u64) -> Option<TimedBlock> {
        let whole = self.cell.vector_bytes().max(1).next_power_of_two();
        let least = LEAST_BLOCK_BYTES.min(whole);
        let mut best = self.time_block(nearest_power_of_two(start).clamp(least, whole))?;
        loop {
            let neighbours = [best.bytes / 2, best.bytes.saturating_mul(2)];
            let within = neighbours
                .into_iter()
                .filter(|size| (least..=whole).contains(size));
            let timed = within.filter_map(|size| self.time_block(size));
            let fastest = timed.min_by(|a, b| a.seconds.total_cmp(&b.seconds));
            match fastest {
                Some(faster) if faster.seconds < best.seconds => best = faster,
                _ => return Some(best),
            }
        }
    }

    fn time_block(&mut self, bytes: u64) -> Option<TimedBlock> {
        let seconds = self.block_seconds(bytes)?;
        Some(TimedBlock { bytes, seconds })
    }

    fn block_seconds(&mut self, bytes: u64) -> Option<f64> {
        if let Some(known) = self.known.get(&bytes) {
            return *known;
        }
        let unit = self.cell.datatype.size_bytes();
        let candidate = Candidate::Ours {
            algorithm: self.algorithm.name(),
            parameters: Parameters {
                block_bytes: Some(bytes.next_multiple_of(unit)),
                blocks: None,
                ..self.parameters.clone()
            },
        };
        let seconds = if is_simulated(self.machine, self.cell, &candidate) {
            predicted_seconds(self.machine, self.cell, &candidate)
        } else {
            None
        };
        self.known.insert(bytes, seconds);
        seconds
    }
}
