use schedule::{Blocks, Parameters, Partition, Rank, Request, Round, Schedule, text};
use serde_json::{Value, json};

use super::named;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;

/// Show the rounds of an algorithm
///
/// A line an action: the rank's round, what is sent to or received from whom, combined, copied.
/// `output 2/3` is the third of three blocks of the output. The actions of a round are independent
/// of each other.
///
/// With --json, prints one object: `collective`, `algorithm`, `ranks`, `root` (null if there is
/// none), `blocks`, `block_units` (units of each block; null without --units) and `programs`, each
/// with `rank` and `rounds`, an array of arrays of actions in words.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The algorithm, as in allreduce/dual_root
    #[arg(value_name = "NAME")]
    name: String,
    /// Ranks in the communicator
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    ranks: u32,
    /// Number of pipeline blocks [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    blocks: Option<u32>,
    /// Id of the inner reduce of a composition [default: binomial]
    #[arg(long, value_name = "ID")]
    reduce: Option<String>,
    /// Id of the inner broadcast of a composition [default: binomial]
    #[arg(long, value_name = "ID")]
    bcast: Option<String>,
    /// The root, of collectives that have one
    #[arg(long, default_value_t = 0)]
    root: Rank,
    /// Show this rank only
    #[arg(long)]
    rank: Option<Rank>,
    /// Length of the vector, to see how many units (elements, or bytes in a broadcast) each block
    /// holds
    #[arg(long)]
    units: Option<u64>,
    /// Print the rounds as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  colltune schedule show allreduce/dual_root --ranks 6 --blocks 3
  colltune schedule show bcast/chain --ranks 4 --root 2 --blocks 3 --rank 2 --units 10";

impl Args {
    pub(super) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let schedule = Schedule::new(
            named(&self.name)?,
            &Request {
                ranks: self.ranks,
                root: self.root,
                in_place: false,
                units: self.units.unwrap_or(1),
                parameters: Parameters {
                    blocks: self.blocks.map(Blocks::Count),
                    reduce: self.reduce.as_deref(),
                    bcast: self.bcast.as_deref(),
                },
            },
        )?;
        let ranks = self.ranks;
        if let Some(rank) = self.rank.filter(|rank| *rank >= ranks) {
            return Err(CliError::NoSuchRank { rank, ranks });
        }
        let sizes = self.units.map(|units| block_units(&schedule, units));
        if self.json {
            console.json(&self.to_json(&schedule, sizes))?;
        } else {
            if let Some(sizes) = sizes {
                let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
                console.print(format_args!("units of the blocks: {}", sizes.join(", ")))?;
            }
            console.print(text::render(&schedule, self.rank).trim_end())?;
        }
        Ok(Answer::Good)
    }

    fn to_json(&self, schedule: &Schedule, sizes: Option<Vec<u64>>) -> Value {
        let algorithm = schedule.algorithm();
        let shape = schedule.shape();
        let shown = (0..shape.ranks).filter(|rank| self.rank.is_none_or(|only| only == *rank));
        let programs = shown.map(|rank| json!({"rank": rank, "rounds": rounds(schedule, rank)}));
        json!({
            "collective": algorithm.collective.name(),
            "algorithm": algorithm.id,
            "ranks": shape.ranks,
            "root": algorithm.collective.is_rooted().then_some(shape.root),
            "blocks": blocks(schedule),
            "block_units": sizes,
            "programs": programs.collect::<Vec<_>>(),
        })
    }
}

/// The number of blocks that the vector is cut into.
fn blocks(schedule: &Schedule) -> u32 {
    let shape = schedule.shape();
    let fixed = schedule.algorithm().fixed_blocks(shape.ranks);
    fixed.unwrap_or(shape.blocks)
}

fn block_units(schedule: &Schedule, units: u64) -> Vec<u64> {
    let partition = Partition::Even(blocks(schedule));
    (0..partition.blocks())
        .map(|block| partition.start(block + 1, units) - partition.start(block, units))
        .collect()
}

fn rounds(schedule: &Schedule, rank: Rank) -> Vec<Vec<String>> {
    let program = schedule.program(rank);
    let mut round = Round::default();
    (0..program.rounds())
        .map(|index| {
            round.clear();
            program.round(index, &mut round);
            round.actions().iter().map(ToString::to_string).collect()
        })
        .collect()
}
