use clap::ValueEnum;
use schedule::verify::observe_bracketing;
use schedule::{
    Action, BracketedBy, Buffer, Layout, Nodes, Partition, Rank, Round, Schedule, Span, svg, text,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::call::{CallArgs, LengthOption};
use super::{Answer, CliError, Console};

/// Show the rounds of an algorithm
///
/// Prints a line for each action: the rank's round, the data that is sent, received, combined or copied, and the peer.
/// The actions of a round are independent of each other. `output 2/3` is the third of three blocks of the output,
/// `output 4..1/5` the last and the first of five in one message, `output 1.2/4.3` the third of three chunks of the
/// part of rank 1 of four. `signal` sends an empty message, which `await` receives.
///
/// For a reduction it also says how contributions are bracketed, which decides the bits of a result that is rounded:
/// what that depends on, besides the number of ranks and the parameters, and the depth, the most combinations that a
/// contribution goes through. The rounding error of a sum is at most about the depth times the machine epsilon, relative
/// to the sum of the absolute values.
///
/// The picture has ranks from top to bottom and steps from left to right. An arrow is a message, in the colours of its
/// blocks; each message takes one step after both ends are ready.
///
/// `colltune schema schedule show` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune schedule show allreduce/dual_root --ranks 6 --blocks 3
  colltune schedule show bcast/chain --ranks 4 --root 2 --blocks 3 --rank 2 --units 10
  colltune schedule show gather/binomial --ranks 16 --format svg > binomial.svg")]
pub(super) struct ScheduleShowArgs {
    #[command(flatten)]
    call: CallArgs,
    /// Show only this rank; in the picture the others are faint
    #[arg(long)]
    rank: Option<Rank>,
    /// Length of the call in units (elements in reductions, bytes elsewhere), to show the units of each block: of one
    /// rank's part in gather, scatter, allgather and reduce_scatter_block, of the block for one rank in alltoall,
    /// alltoallv and alltoallw (on average), of the whole vector in others; a barrier has none
    #[arg(long, conflicts_with = "counts")]
    units: Option<u64>,
    /// Cut into blocks of at most this many units, instead of --blocks blocks
    #[arg(
        long,
        value_name = "UNITS",
        requires = "units",
        conflicts_with = "blocks",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    block_units: Option<u64>,
    /// The output format
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    format: ShowFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ShowFormat {
    /// A line for each action
    Text,
    /// One object
    Json,
    /// A picture of the messages
    Svg,
}

impl ScheduleShowArgs {
    pub(super) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let algorithm = self.call.algorithm()?;
        let length = self
            .call
            .select_length(algorithm, self.units, LengthOption::Units)?;
        let units = length.unwrap_or_else(|| self.call.ample_units());
        let request = self.call.to_request(units, self.block_units);
        let schedule = self.call.bind(algorithm, &request, LengthOption::Units)?;
        let ranks = self.call.ranks();
        if let Some(rank) = self.rank.filter(|rank| *rank >= ranks) {
            return Err(CliError::NoSuchRank { rank, ranks });
        }
        match self.format {
            _ if self.json => console.print_json(&self.to_output(&schedule, length))?,
            ShowFormat::Json => console.print_json(&self.to_output(&schedule, length))?,
            ShowFormat::Text => {
                if length.is_some() {
                    for line in self.uneven_blocks(&schedule) {
                        console.print(line)?;
                    }
                    for cut in self.vector_cuts(&schedule) {
                        let cut_units: Vec<String> = cut.iter().map(u64::to_string).collect();
                        let (all, listed) = (cut_units.len(), cut_units.join(", "));
                        console.print(format_args!("units of the {all} blocks: {listed}"))?;
                    }
                }
                let rounds = text::render_text(&schedule, self.rank);
                console.print(rounds.trim_end())?;
                if let Some(brackets) = BracketParts::of_schedule(&schedule) {
                    console.print(brackets.describe())?;
                }
            }
            ShowFormat::Svg => match svg::render_svg(&schedule, self.rank) {
                Ok(picture) => console.print(picture.trim_end())?,
                Err(_) => {
                    let schedule = text::schedule_headline(&schedule);
                    return Err(CliError::TooLargeToDraw { schedule });
                }
            },
        }
        Ok(Answer::Good)
    }

    fn shown_ranks(&self, schedule: &Schedule) -> impl Iterator<Item = Rank> {
        let only = self.rank;
        match only {
            Some(rank) => rank..rank + 1,
            None => 0..schedule.shape().ranks,
        }
    }

    fn to_output(&self, schedule: &Schedule, length: Option<u64>) -> ScheduleShowOutput {
        use schedule::Parameter::{Bcast, Leaders, MaxRequests, Network, Node, Radix, Reduce};
        let (algorithm, shape) = (schedule.algorithm(), schedule.shape());
        let part_of_phase = |parameter| {
            let mut phases = shape.parts.phases();
            let phase = phases.find(|(phase, _)| phase.named_by == Some(parameter));
            phase.map(|(_, part)| part.id)
        };
        let finest = self.vector_cuts(schedule).into_iter().next_back();
        let programs = self.shown_ranks(schedule).map(|rank| ProgramParts {
            rank,
            rounds: describe_rounds(schedule, rank),
        });
        ScheduleShowOutput {
            collective: algorithm.collective.name(),
            algorithm: algorithm.id,
            ranks: shape.ranks,
            root: algorithm.collective.is_rooted().then_some(shape.root),
            in_place: shape.in_place,
            radix: algorithm.takes(Radix).then_some(shape.radix),
            reduce: algorithm.takes(Reduce).then_some(shape.parts.reduce.id),
            bcast: algorithm.takes(Bcast).then_some(shape.parts.bcast.id),
            node: part_of_phase(Node),
            network: part_of_phase(Network),
            leaders_per_node: algorithm.takes(Leaders).then_some(shape.leaders),
            max_requests: algorithm.takes(MaxRequests).then_some(shape.max_requests),
            nodes: ranks_by_node(&shape.nodes),
            blocks: match &finest {
                Some(finest) => finest.len(),
                None if schedule.has_uneven_blocks() => shape.ranks as usize,
                None => 1,
            },
            block_units: length.and(finest),
            bracketing: BracketParts::of_schedule(schedule),
            programs: programs.collect(),
        }
    }

    /// The blocks of each rank shown, a line each, if ranks have different ones.
    fn uneven_blocks(&self, schedule: &Schedule) -> Vec<String> {
        if !schedule.has_uneven_blocks() {
            return Vec::new();
        }
        let parts = Partition::parts(schedule.shape().ranks);
        let line = |rank| {
            let layout = schedule.layout(rank);
            let [sent, received] = [Buffer::Input, Buffer::Output].map(|buffer| {
                let place = |block| layout.locate(&Span::block(buffer, parts, block));
                let units = |block| place(block).map_or(0, |place| place.units()).to_string();
                (0..parts.blocks())
                    .map(units)
                    .collect::<Vec<_>>()
                    .join(", ")
            });
            format!(
                "units of the blocks that rank {rank} sends: {sent}; that it receives: {received}"
            )
        };
        self.shown_ranks(schedule).map(line).collect()
    }

    /// The cuts of the vector in the rounds shown, coarse cuts first, as the units of each block; none if ranks have
    /// different blocks.
    fn vector_cuts(&self, schedule: &Schedule) -> Vec<Vec<u64>> {
        if schedule.has_uneven_blocks() {
            return Vec::new();
        }
        let mut partitions: Vec<Partition> = Vec::new();
        let mut round = Round::default();
        for rank in self.shown_ranks(schedule) {
            let program = schedule.program(rank);
            for index in 0..program.rounds() {
                round.clear();
                program.round(index, &mut round);
                for partition in round.actions().iter().filter_map(action_partition) {
                    if !partitions.contains(&partition) {
                        partitions.push(partition);
                    }
                }
            }
        }
        // At least the root has the whole vector in one of its buffers.
        let layout = schedule.layout(schedule.shape().root);
        let mut cuts: Vec<Vec<u64>> = partitions
            .into_iter()
            .filter(|partition| partition.blocks() > 1)
            .map(|partition| units_by_block(&layout, partition))
            .collect();
        cuts.sort_by_key(Vec::len);
        cuts.dedup();
        cuts
    }
}

/// The output of `--json`. Parameters are null unless the algorithm takes them.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct ScheduleShowOutput {
    /// Name of the collective, as in `allreduce`.
    #[schemars(schema_with = "vocabulary::collective_name::list_in_schema")]
    collective: &'static str,
    /// Bare id.
    algorithm: &'static str,
    /// The number of ranks in the communicator.
    ranks: u32,
    /// The root; null if there is none.
    root: Option<Rank>,
    /// Whether the call is made with `MPI_IN_PLACE`.
    in_place: bool,
    /// The radix of the tree.
    radix: Option<u32>,
    /// Bare id of the inner reduce of a composition.
    reduce: Option<&'static str>,
    /// Bare id of the inner broadcast of a composition.
    bcast: Option<&'static str>,
    /// Bare id of the algorithm within nodes.
    node: Option<&'static str>,
    /// Bare id of the algorithm between nodes.
    network: Option<&'static str>,
    /// The number of ranks of each node that exchange data with other nodes.
    leaders_per_node: Option<u32>,
    /// The number of sends, and of receives, of a rank that may be under way at the same time.
    max_requests: Option<u32>,
    /// The ranks on each node.
    nodes: Vec<Vec<Rank>>,
    /// Blocks of the finest cut of the vector.
    blocks: usize,
    /// Units of each of these blocks; null without --units or --counts, or if ranks have different blocks.
    block_units: Option<Vec<u64>>,
    /// How contributions are bracketed; null if nothing is combined.
    bracketing: Option<BracketParts>,
    /// The programs of the ranks shown.
    programs: Vec<ProgramParts>,
}

/// How the contributions to a result are bracketed.
#[derive(JsonSchema, Serialize)]
struct BracketParts {
    /// What decides it, besides the number of ranks and the parameters: `element`, `root` and `nodes`.
    by: Vec<&'static str>,
    /// The most combinations that a contribution goes through; null if there are too many ranks to find out.
    depth: Option<u32>,
}

impl BracketParts {
    /// `None` if nothing is combined.
    fn of_schedule(schedule: &Schedule) -> Option<Self> {
        let by = schedule.bracketed_by()?;
        // On one rank, nothing is combined.
        let depth = if schedule.shape().ranks == 1 {
            Some(0)
        } else {
            observe_bracketing(schedule).map(|bracketing| bracketing.depth)
        };
        Some(Self {
            by: by.into_iter().map(BracketedBy::name).collect(),
            depth,
        })
    }

    fn describe(&self) -> String {
        format!("bits {}", report::describe_bits(&self.by, self.depth))
    }
}

/// The program of a rank.
#[derive(JsonSchema, Serialize)]
struct ProgramParts {
    /// The rank, from 0.
    rank: Rank,
    /// The actions of each round, in words.
    rounds: Vec<Vec<String>>,
}

/// The ranks on each node.
fn ranks_by_node(nodes: &Nodes) -> Vec<Vec<Rank>> {
    let ranks = |node| (0..nodes.node_size(node)).map(move |local| nodes.rank_at(node, local));
    (0..nodes.node_count())
        .map(|node| ranks(node).collect())
        .collect()
}

/// The units of each block of a partition.
fn units_by_block(layout: &Layout, partition: Partition) -> Vec<u64> {
    let units = |block| {
        let buffers = [Buffer::Output, Buffer::Input];
        let mut places = buffers
            .into_iter()
            .filter_map(|buffer| layout.locate(&Span::block(buffer, partition, block)));
        places.next().map_or(0, |place| place.units())
    };
    (0..partition.blocks()).map(units).collect()
}

/// The partition of an action's data.
fn action_partition(action: &Action) -> Option<Partition> {
    match action {
        Action::Send { span, .. } | Action::Recv { span, .. } => Some(span.partition),
        Action::Combine { into, .. } | Action::Copy { into, .. } => Some(into.partition),
        Action::Signal { .. } | Action::Await { .. } => None,
    }
}

fn describe_rounds(schedule: &Schedule, rank: Rank) -> Vec<Vec<String>> {
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
