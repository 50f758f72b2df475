//! Runs a schedule on real elements in one process, without MPI.

use crate::engine::{Domain, Engine};
use crate::fault::{Fault, Misdeed};
use crate::{Buffer, Collective, Held, Rank, Schedule};

/// Runs a schedule on real contributions and returns every rank's output.
///
/// `contributions[r]` is the input of rank `r`. Its length is that of the whole vector in broadcasts, scatters and
/// reductions (only the root's is read in the first two), that of the rank's part in gathers and allgathers, and that of
/// all blocks that the rank sends in an alltoall, also in the irregular collectives. The
/// output of a rank without a result is `None`. `operator(left, right)` is called with the value of the lower ranks
/// on the left.
///
/// # Panics
///
/// If there are fewer contributions than ranks, or one is too short.
///
/// ```
/// use schedule::{Request, Schedule, memory};
///
/// let algorithm = schedule::find_algorithm("allreduce/ring").expect("registered");
/// let schedule = Schedule::new(algorithm, &Request { units: 2, ..Request::among_ranks(3) })?;
/// let outputs = memory::run_in_memory(&schedule, &[vec![1, 2], vec![10, 20], vec![100, 200]], |a, b| a + b)?;
/// assert_eq!(outputs, vec![Some(vec![111, 222]); 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run_in_memory<T: Clone>(
    schedule: &Schedule,
    contributions: &[Vec<T>],
    operator: impl Fn(&T, &T) -> T,
) -> Result<Vec<Option<Vec<T>>>, Fault> {
    let collective = schedule.algorithm().collective;
    let layout = schedule.layout(0);
    let first = move |rank: Rank| match collective {
        Collective::Gather
        | Collective::Gatherv
        | Collective::Allgather
        | Collective::Allgatherv => layout.part_start(Buffer::Output, rank),
        _ => 0,
    };
    let elements = Elements {
        contributions,
        operator,
        first,
    };
    let mut engine = Engine::new(schedule, elements, &|rank| schedule.program(rank));
    engine.run_programs()?;
    (0..schedule.shape().ranks)
        .map(
            |rank| match collective.postcondition(schedule.shape(), rank) {
                Held::Undefined => Ok(None),
                Held::Ranks(..) | Held::Parts | Held::PartsForRank => {
                    complete_output(rank, engine.output_values(rank)).map(Some)
                }
            },
        )
        .collect()
}

fn complete_output<'a, T: Clone + 'a>(
    rank: Rank,
    output: impl Iterator<Item = (u64, Option<&'a T>)>,
) -> Result<Vec<T>, Fault> {
    output
        .map(|(unit, value)| {
            let missing = || Fault::WrongResult {
                rank,
                unit,
                found: "nothing".to_owned(),
            };
            value.cloned().ok_or_else(missing)
        })
        .collect()
}

struct Elements<'a, T, F, S> {
    contributions: &'a [Vec<T>],
    operator: F,
    /// The unit of the vector at which a rank's contribution starts.
    first: S,
}

impl<T: Clone, F: Fn(&T, &T) -> T, S: Fn(Rank) -> u64> Domain for Elements<'_, T, F, S> {
    type Value = T;

    fn initial_value(&self, rank: Rank, unit: u64) -> T {
        self.contributions[rank as usize][(unit - (self.first)(rank)) as usize].clone()
    }

    fn combine_values(&mut self, left: &T, right: &T) -> Result<T, Misdeed> {
        Ok((self.operator)(left, right))
    }
}
