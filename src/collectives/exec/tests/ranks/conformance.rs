//! Every algorithm compared with the library's own collectives.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use exec::{Communicator, ExecError};
use schedule::{ALGORITHMS, Nodes};
use vocabulary::Through;

use crate::case::Outcome;
use crate::kind::{Kind, kinds};
use crate::{doing, kernels, matrix, runners};

/// The fewest comparisons on several ranks for each algorithm.
const LEAST: u32 = 30;
/// On more ranks than these, half of the cases are tried.
const FEW: u32 = 4;
/// Of the cases through shared memory one in this number is tried, on several kinds of nodes.
const SHARED_EVERY: usize = 4;
/// The number of failures that a rank prints in full.
const TOLD: u32 = 5;

/// The numbers of outcomes.
#[derive(Default)]
pub(crate) struct Score {
    agreed: u32,
    refused: u32,
    pub(crate) failed: u32,
    /// Agreed cases of several ranks, by algorithm.
    compared: BTreeMap<String, u32>,
}

/// Tries all cases on 1 to 9 ranks and on all ranks; returns the number of failures on this rank.
pub(crate) fn run(world: &Communicator) -> Result<u32, ExecError> {
    let start = Instant::now();
    let kinds = kinds()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let mut score = Score::default();
    if world.rank() == 0 {
        score.failed += kernels::check(&kinds);
    }
    let sizes = (1..=world.size()).filter(|size| *size <= 9 || *size == world.size());
    for size in sizes {
        let part = world.subset(world.rank() < size)?;
        if let Some(mut part) = part {
            try_all(&mut part, &kinds, size > cores, Through::Mpi, &mut score)?;
            if size <= 4 {
                score.failed += runners::check(&part, Through::Mpi)?;
            }
            if world.rank() == 0 {
                println!("{size} ranks: {:.1} s", start.elapsed().as_secs_f64());
            }
        }
        // Idle ranks leave the cores to the others.
        world.sleeping_barrier(Duration::from_millis(1))?;
    }
    if world.rank() == 0 {
        score.report();
        score.failed += score.missing();
    }
    Ok(score.failed)
}

/// Tries all algorithms, on many ranks or through shared memory with a part of the cases.
pub(crate) fn try_all(
    communicator: &mut Communicator,
    kinds: &[Kind],
    is_crowded: bool,
    through: Through,
    score: &mut Score,
) -> Result<(), ExecError> {
    let ranks = communicator.size();
    for algorithm in ALGORITHMS.iter().filter(|a| !a.collective.is_irregular()) {
        let cases = matrix::cases(algorithm, ranks, kinds, is_crowded);
        let every = match through {
            Through::Mpi => 1,
            Through::Shared => SHARED_EVERY,
        };
        let every = if ranks > FEW { 2 * every } else { every };
        for mut case in cases
            .into_iter()
            .skip(ranks as usize % every)
            .step_by(every)
        {
            case.parameters.through = through;
            doing(format!("{} of {case}", score.agreed));
            communicator.set_nodes(case.nodes.clone());
            match case.run(communicator)? {
                Outcome::Agreed => {
                    score.agreed += 1;
                    *score.compared.entry(algorithm.name()).or_default() += u32::from(ranks > 1);
                }
                Outcome::Refused => score.refused += 1,
                Outcome::Failed(how) => {
                    score.failed += 1;
                    if score.failed <= TOLD {
                        eprintln!("rank {}: {case}: {how}", communicator.rank());
                    }
                }
            }
        }
    }
    // The following cases have no pretended nodes.
    communicator.set_nodes(Nodes::one_node(ranks));
    Ok(())
}

impl Score {
    pub(crate) fn report(&self) {
        println!(
            "{} cases agree with the library, {} are refused, {} fail",
            self.agreed, self.refused, self.failed
        );
        for (algorithm, count) in &self.compared {
            println!("{count:>6} {algorithm}");
        }
    }

    /// Algorithms that have not been compared often enough.
    pub(crate) fn missing(&self) -> u32 {
        let mut missing = 0;
        for algorithm in ALGORITHMS.iter().filter(|a| !a.collective.is_irregular()) {
            let compared = self.compared.get(&algorithm.name()).copied().unwrap_or(0);
            if compared < LEAST {
                eprintln!("{algorithm} was compared only {compared} times");
                missing += 1;
            }
        }
        missing
    }
}
