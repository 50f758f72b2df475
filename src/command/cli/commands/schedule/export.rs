use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use schedule::Rank;
use schedule::export::{Scale, ScheduleExport};

use super::call::{CallArgs, LengthOption};
use super::{Answer, CliError, Console};
use super::{SimulateError, whole_units};

/// Write the messages of an algorithm as a trace for a simulator
///
/// GOAL is the language of LogGOPSim, which reads it through `txt2bin`. The statements of a round require those of the
/// round before. Combining is `calc`, in the unit of time of LogGOPSim's own parameters; choose a small unit, such as
/// picoseconds, since times are whole numbers.
///
/// SimGrid replays time-independent traces: `smpirun -np P -platform PLATFORM.xml -replay FOLDER/traces.txt`. With
/// --output, a file for each rank and the list of these files for `-replay` are written to that folder. Otherwise all
/// ranks are printed one after the other; `-replay` then needs a list with the name of that one file. A transfer that
/// is alone in its round is blocking; several are started together, and waited for after the work of the round.
/// Combining is `compute`, in flops.
///
/// In both formats copies cost nothing, signals are messages of one byte, and the messages between a pair of ranks have
/// the tags 0, 1, 2, ...
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune schedule export bcast/binomial --ranks 16 --bytes 64K --format goal --output bcast.goal
  colltune schedule export allreduce/dual_root --ranks 6 --bytes 1M --block-bytes 64K \\
      --format simgrid --output traces")]
pub(super) struct ScheduleExportArgs {
    #[command(flatten)]
    call: CallArgs,
    /// The format of the trace
    #[arg(long, value_enum)]
    format: TraceFormat,
    /// Length of the call, as in 512, 64K or 8MiB (K = 1024): of one rank's part in gather, scatter,
    /// allgather and reduce_scatter_block, of the block for one rank in alltoall, alltoallv and alltoallw (on
    /// average), of the whole vector in others; a barrier has none
    #[arg(long, short = 'b', conflicts_with = "counts", value_parser = vocabulary::units::parse_bytes)]
    bytes: Option<u64>,
    /// Cut into blocks of at most this many bytes, instead of --blocks blocks
    #[arg(
        long,
        value_name = "BYTES",
        conflicts_with = "blocks",
        value_parser = vocabulary::units::parse_bytes
    )]
    block_bytes: Option<u64>,
    /// Size of an element in a reduction: no block ends within one
    #[arg(long, value_name = "BYTES", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    element_bytes: u64,
    /// The cost of combining a byte: units of time in GOAL, flops in SimGrid
    #[arg(long, value_name = "COST", default_value_t = 1)]
    combine_cost: u64,
    /// Write to this file, or for SimGrid into this folder, instead of printing
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TraceFormat {
    /// LogGOPSim's language
    Goal,
    /// Time-independent traces for smpirun
    Simgrid,
}

/// The list of traces in a folder.
const LIST: &str = "traces.txt";

impl ScheduleExportArgs {
    pub(super) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let algorithm = self.call.algorithm()?;
        let unit_bytes = if algorithm.collective.is_reduction() {
            self.element_bytes
        } else {
            1
        };
        let given = self.bytes.map(|bytes| whole_units(bytes, unit_bytes));
        let units = self
            .call
            .select_length(algorithm, given.transpose()?, LengthOption::Bytes)?;
        let units = units.ok_or(SimulateError::NoSize {
            is_irregular: algorithm.collective.is_irregular(),
        })?;
        let block_units = self.block_bytes.map(|block_bytes| match block_bytes {
            0 => 0,
            _ => (block_bytes / unit_bytes).max(1),
        });
        let request = self.call.to_request(units, block_units);
        let schedule = self.call.bind(algorithm, &request, LengthOption::Bytes)?;
        let scale = Scale {
            unit_bytes,
            combine_cost: self.combine_cost,
        };
        let export = ScheduleExport::new(&schedule, scale)?;
        match self.format {
            TraceFormat::Goal => self.write_goal(console, &export)?,
            TraceFormat::Simgrid => self.write_simgrid(console, &export)?,
        }
        Ok(Answer::Good)
    }

    fn ranks(&self) -> std::ops::Range<Rank> {
        0..self.call.ranks()
    }

    fn write_goal(&self, console: Console, export: &ScheduleExport<'_>) -> Result<(), CliError> {
        let ranks = self.ranks().map(|rank| export.goal_of_rank(rank));
        let Some(path) = &self.output else {
            return print_trace(console, &export.goal_head(), ranks);
        };
        tuner::write_text(path, &(export.goal_head() + &ranks.collect::<String>()))?;
        console.remark(format_args!("{} is written", path.display()))
    }

    fn write_simgrid(&self, console: Console, export: &ScheduleExport<'_>) -> Result<(), CliError> {
        let Some(folder) = &self.output else {
            let ranks = self.ranks().map(|rank| export.simgrid_of_rank(rank));
            return print_trace(console, &export.simgrid_head(), ranks);
        };
        // Absolute paths, since smpirun may be started in another folder.
        let from_root = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
        let mut list = String::new();
        for rank in self.ranks() {
            let name = format!("rank-{rank}.txt");
            let text = export.simgrid_head() + &export.simgrid_of_rank(rank);
            tuner::write_text(&folder.join(&name), &text)?;
            let _ = writeln!(list, "{}", from_root.join(name).display());
        }
        // Written last, so that the list names only existing traces.
        tuner::write_text(&folder.join(LIST), &list)?;
        console.remark(replay_command(&folder.join(LIST), self.call.ranks()))
    }
}

/// Prints a trace rank by rank, since all of it may be large.
fn print_trace(
    console: Console,
    head: &str,
    mut ranks: impl Iterator<Item = String>,
) -> Result<(), CliError> {
    console.print(head.trim_end())?;
    ranks.try_for_each(|rank| console.print(rank.trim_end()))
}

/// The command that replays the traces.
fn replay_command(list: &Path, ranks: u32) -> String {
    let list = list.display();
    format!("{list} is written: smpirun -np {ranks} -platform PLATFORM.xml -replay {list}")
}
