use std::ops::RangeInclusive;

use schedule::verify::{Grid, Verdict, Verify};
use schedule::{ALGORITHMS, Algorithm};
use schemars::JsonSchema;
use serde::Serialize;

use super::find_algorithm;
use super::{Answer, CliError, Console};
use crate::values;

/// Prove algorithms correct
///
/// Follows every contribution through every message: none may be lost, duplicated or combined out of order (if the
/// algorithm claims order), no rank may wait forever, and the actions of a round may not affect each other. Checks
/// every number of ranks in the range, every root, every number of blocks, several radices, in place and not, vectors
/// that leave blocks uneven and empty, and parts of different lengths where MPI allows them. A proof holds for all
/// data and all operators, or, if the algorithm is not ordered, all commutative operators. Exits with 1 if there is a
/// fault.
///
/// In compositions, whose parts run one after the other, every part is proved once, with the default for the other
/// part. Algorithms that combine in rank order only with some parts or roots are ordered `in part`. Numbers of ranks
/// that an algorithm does not support are skipped and counted.
///
/// `colltune schema schedule verify` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true), after_help = "\
Examples:
  colltune schedule verify --all --ranks 1..64
  colltune schedule verify allreduce/dual_root --ranks 100..200 --blocks 5,16")]
pub(super) struct ScheduleVerifyArgs {
    /// The algorithm, as in allreduce/dual_root
    #[arg(value_name = "NAME", group = "which")]
    name: Option<String>,
    /// All algorithms
    #[arg(long, group = "which")]
    all: bool,
    /// Numbers of ranks, both ends included
    #[arg(long, value_name = "RANGE", default_value = "1..64", value_parser = values::parse_rank_range)]
    ranks: RangeInclusive<u32>,
    /// Numbers of blocks of pipelined algorithms
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "1,2,3,7",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    blocks: Vec<u32>,
    /// Print the proofs as JSON
    #[arg(long)]
    json: bool,
}

impl ScheduleVerifyArgs {
    pub(super) fn run(&self, console: Console) -> Result<Answer, CliError> {
        self.prove_algorithms(console, &schedule::verify::verify_schedule)
    }

    fn prove_algorithms(&self, console: Console, verify: &Verify) -> Result<Answer, CliError> {
        let algorithms: Vec<&'static Algorithm> = match &self.name {
            Some(name) => vec![find_algorithm(name)?],
            None => ALGORITHMS.iter().collect(),
        };
        let grid = Grid {
            ranks: self.ranks.clone(),
            blocks: self.blocks.clone(),
            every_root_of: u32::MAX,
        };
        let mut proofs = Vec::new();
        let mut answer = Answer::Good;
        for algorithm in algorithms {
            let verdict = grid.prove_algorithm(algorithm, verify)?;
            let refuted = verdict.fault.is_some();
            if refuted {
                answer = Answer::No;
            }
            if self.json {
                proofs.push(Proof::from_verdict(algorithm, &verdict));
            } else if refuted || !console.is_quiet() {
                console.print(verdict_line(algorithm, &verdict))?;
            }
        }
        if self.json {
            console.print_json(&proofs)?;
        }
        Ok(answer)
    }
}

fn verdict_line(algorithm: &Algorithm, verdict: &Verdict) -> String {
    let name = algorithm.name();
    if let Some(known) = &verdict.fault {
        return format!("no  {}: {}", known.call, known.fault);
    }
    if verdict.shapes == 0 {
        return format!("--  {name:<45}  skipped: it supports only even numbers of ranks");
    }
    let order = match (verdict.ordered, verdict.unordered) {
        (true, true) => "in part",
        (_, false) => "ordered",
        (false, true) => "unordered",
    };
    let skipped = match verdict.skipped {
        0 => String::new(),
        skipped => format!("  (odd numbers of ranks skipped: {skipped})"),
    };
    let Verdict {
        shapes, most_steps, ..
    } = verdict;
    format!("ok  {name:<45}  {order:<9}  {shapes:>6} shapes  steps: {most_steps} at most{skipped}")
}

/// The proof of an algorithm.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct Proof {
    /// Name of the collective, as in `allreduce`.
    #[schemars(schema_with = "vocabulary::collective_name::list_in_schema")]
    collective: &'static str,
    /// Bare id.
    algorithm: &'static str,
    /// Whether it has no fault; null if nothing was proved.
    ok: Option<bool>,
    /// Whether it combines in rank order on all shapes; null if nothing was proved.
    ordered: Option<bool>,
    /// The number of shapes that were proved.
    shapes: u64,
    /// The longest chain of messages.
    most_steps: u64,
    /// The number of skipped numbers of ranks, which the algorithm does not support.
    skipped: u64,
    /// The first fault that was found; null if there is none.
    fault: Option<FaultParts>,
}

/// A fault in a schedule.
#[derive(JsonSchema, Serialize)]
struct FaultParts {
    /// The call: its ranks, root, blocks and other parameters.
    call: String,
    /// What is wrong, as a sentence without a full stop.
    message: String,
}

impl Proof {
    fn from_verdict(algorithm: &Algorithm, verdict: &Verdict) -> Self {
        let proved_nothing = verdict.shapes == 0 && verdict.fault.is_none();
        let fault = verdict.fault.as_ref();
        Self {
            collective: algorithm.collective.name(),
            algorithm: algorithm.id,
            // Without a proof nothing is known.
            ok: (!proved_nothing).then(|| verdict.fault.is_none()),
            ordered: (!proved_nothing).then_some(!verdict.unordered),
            shapes: verdict.shapes,
            most_steps: verdict.most_steps,
            skipped: verdict.skipped,
            fault: fault.map(|known| FaultParts {
                call: known.call.clone(),
                message: known.fault.to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use schedule::{Fault, Schedule};

    use super::*;

    #[test]
    fn one_fault_makes_the_answer_no() {
        let args = ScheduleVerifyArgs {
            name: None,
            all: true,
            ranks: 2..=5,
            blocks: vec![2],
            json: false,
        };
        let refuse = |schedule: &Schedule| match schedule.algorithm().id {
            "chain" if schedule.shape().ranks > 3 => Err(Fault::LengthMismatch {
                from: 0,
                to: 1,
                sent: 2,
                expected: 3,
            }),
            _ => schedule::verify::verify_schedule(schedule),
        };
        let console = Console::new(true);
        let sound = args.prove_algorithms(console, &schedule::verify::verify_schedule);
        assert_eq!(sound.expect("proved"), Answer::Good);
        assert_eq!(
            args.prove_algorithms(console, &refuse).expect("proved"),
            Answer::No
        );

        let chain = schedule::find_algorithm("bcast/chain").expect("registered");
        let grid = Grid {
            ranks: args.ranks.clone(),
            blocks: args.blocks.clone(),
            every_root_of: u32::MAX,
        };
        let verdict = grid.prove_algorithm(chain, &refuse).expect("proved");
        assert_eq!(
            verdict_line(chain, &verdict),
            "no  bcast/chain on 4 ranks, root 0, 2 blocks, 1 units: 0 sends 2 units where 1 expects 3"
        );
        assert_eq!(Proof::from_verdict(chain, &verdict).ok, Some(false));
    }
}
