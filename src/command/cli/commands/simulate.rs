mod curves;
mod error;
mod machine;
mod point;
pub(super) mod rows;
mod sweep;
mod timeline;
mod trace;

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::ProgressState;
use model::Topology;
use schedule::{Algorithm, Blocks, Collective, Rank, Unsupported};
use vocabulary::CommShape;
use vocabulary::units::format_seconds;

use super::schedule::call::{CountsArgs, ParameterArgs, Placing};
use super::schedule::{LengthOption, find_algorithm};
use super::{Answer, CliError, Console};
use crate::console::to_pretty_json;
use crate::values::{self, Counts};

pub(crate) use error::SimulateError;
use machine::MachineArgs;
use point::{CommonCall, SimulationPoint};
use rows::{PrintedColumns, SimulationRow, SkippedCall};
use sweep::{SweepLimit, SweepProgress};

/// Predict times by simulating schedules on a machine
///
/// Simulates the executed rounds: start-up and transfer of messages, the ports of ranks and nodes, placement, combining
/// and copying. Without --algorithm, compares all algorithms of the collective; those that do not support a call are
/// left out with a warning. Rows are printed as they come: in the order of the closed forms' times, long simulations
/// last. What is not simulated within --time-limit is left out with a warning that gives the closed form's time. Files
/// and the other formats have the fastest first. Unless --blocks or --block-bytes is given,
/// algorithms that take blocks use the best number by the pipelining lemma, or by a search if they have no closed form.
///
/// The closed form, if there is one, is shown beside the simulated time; it ignores placement, shared ports and eager
/// messages. The machine is a file like tuning/machines/reference.yaml, which is the default, or the store of a
/// campaign, whose fitted parameters are used.
///
/// --format svg draws times against bytes, or against ranks if there is one size; for one algorithm in one call, it
/// draws every rank's activity over time. --format trace prints the critical path of one call, and when each round
/// ends.
///
/// `colltune schema simulate` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune simulate --collective allreduce --nodes 36 --ppn 8 --bytes '64K..16M x16'
  colltune simulate -c allreduce --shape 200x48 --bytes 64K
  colltune simulate -c alltoallv --shape 16x8 --bytes 4K --distribution skewed
  colltune simulate -c bcast -a binomial,two_tree --ranks '2..1M x32' --bytes 64K --format csv
  colltune simulate -c allreduce -a dual_root --ranks 6 --bytes 24K --blocks 3 --format svg -o dual.svg
  colltune simulate -c reduce --ranks 288 --bytes 1M --machine .colltune/quickstart.db --json")]
pub(crate) struct SimulateArgs {
    /// The collective
    #[arg(long, short, value_parser = values::collective_parser(), required_unless_present = "algorithm")]
    collective: Option<Collective>,
    /// Algorithms, as in dual_root or allreduce/dual_root [default: all of the collective]
    #[arg(long, short, value_name = "NAME", value_delimiter = ',')]
    algorithm: Vec<String>,
    /// Ranks, on as few nodes as possible: a number, or a range as in 2..1M x2
    #[arg(
        long,
        value_name = "RANGE",
        required_unless_present_any = ["nodes", "shape"],
        conflicts_with = "nodes",
        value_parser = values::parse_rank_counts
    )]
    ranks: Option<Counts>,
    /// Nodes, all of them full: a number, or a range as in 1..64 x2
    #[arg(long, short, value_name = "RANGE", value_parser = values::parse_node_counts)]
    nodes: Option<Counts>,
    /// Ranks on each node [default: those of the machine]
    #[arg(long, short = 'k', value_parser = values::parse_rank_count)]
    ppn: Option<u32>,
    /// Nodes and ranks on each, as in 4x2, instead of --nodes and --ppn
    #[arg(
        long,
        value_name = "SHAPE",
        value_parser = values::parse_shape,
        conflicts_with_all = ["ranks", "nodes", "ppn"]
    )]
    shape: Option<CommShape>,
    /// Length of the call, a size as in 64K or a range as in 1K..4M x4: of one rank's part in gather,
    /// scatter, allgather and reduce_scatter_block, of the block for one rank in alltoall, alltoallv and
    /// alltoallw (on average), of the whole vector in others; a barrier has none
    #[arg(long, short, value_name = "RANGE", conflicts_with = "counts", value_parser = vocabulary::units::parse_byte_range)]
    bytes: Option<Sizes>,
    #[command(flatten)]
    machine: MachineArgs,
    /// The placement of ranks on nodes
    #[arg(long, value_enum, default_value_t = Placing::Block)]
    placement: Placing,
    /// Number of pipeline blocks [default: the best]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    blocks: Option<u32>,
    /// Cut into blocks of at most this many bytes, instead of --blocks blocks
    #[arg(
        long,
        value_name = "BYTES",
        conflicts_with = "blocks",
        value_parser = vocabulary::units::parse_bytes
    )]
    block_bytes: Option<u64>,
    #[command(flatten)]
    parameters: ParameterArgs,
    #[command(flatten)]
    counts: CountsArgs,
    /// The root, for collectives that have one
    #[arg(long, default_value_t = 0)]
    root: Rank,
    /// Size of an element in a reduction: no block ends within one
    #[arg(long, value_name = "BYTES", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    element_bytes: u64,
    /// Leave out what is not simulated within this time in all, as in 10m
    #[arg(
        long,
        value_name = "TIME",
        default_value = "50s",
        value_parser = vocabulary::units::parse_seconds
    )]
    time_limit: f64,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = SimulateFormat::Table)]
    format: SimulateFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write to this file instead of printing
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SimulateFormat {
    /// Columns of text
    Table,
    /// Comma-separated values, with a header
    Csv,
    /// A picture of times against bytes or ranks; for one algorithm in one call, its timeline
    Svg,
    /// For one algorithm in one call, the critical path and the rounds
    Trace,
    /// One object
    Json,
}

fn warn_of_skipped(console: Console, skipped: &[SkippedCall]) {
    for reason in rows::distinct_reasons(skipped) {
        console.warn(reason);
    }
}

/// Lengths of calls in one argument; clap would take a `Vec` for several arguments.
type Sizes = Vec<u64>;

impl SimulateArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let outputs = [("`--output`", self.output.as_deref())];
        self.machine.protect_from(&outputs)?;
        let machine = self.machine.load()?;
        tuner::probe_outputs(&outputs)?;
        // Simulations may take long, so whatever may be refused has been checked before.
        let algorithms = self.select_algorithms()?;
        let sizes = self.select_sizes(&algorithms)?;
        let points = self.list_points(&algorithms, &sizes, machine.ranks_per_node);
        let call = CommonCall {
            machine: &machine,
            placement: self.placement.to_placement(),
            root: self.root,
            element_bytes: self.element_bytes,
            parameters: self.parameters.with_blocks(self.blocks.map(Blocks::Count)),
            block_bytes: self.block_bytes,
            counts: &self.counts,
        };
        let format = if self.json {
            SimulateFormat::Json
        } else {
            self.format
        };
        // One algorithm in one call is shown message by message, several only by their times.
        if let (SimulateFormat::Svg | SimulateFormat::Trace, [point]) = (format, &points[..]) {
            let traced = call.simulate_traced(*point)?;
            let text = match format {
                SimulateFormat::Svg => timeline::draw_timeline(&traced)?,
                _ => trace::describe_trace(&traced),
            };
            return self.write_text(&text, console);
        }
        if format == SimulateFormat::Trace {
            return Err(SimulateError::NotOne.into());
        }
        let heading = format!(
            "On the machine `{}`, {} placement:",
            machine.name, call.placement
        );
        // A table for a person is printed line by line, as simulations end.
        let is_printed = format == SimulateFormat::Table && self.output.is_none();
        let columns = is_printed.then(|| PrintedColumns::for_points(&points));
        if let Some(columns) = &columns {
            let table = Some((heading.as_str(), columns));
            let (mut rows, skipped) = self.simulate_points(console, &call, &points, table)?;
            rows::sort_by_call(&mut rows);
            for line in rows::describe_fastest(&rows) {
                console.remark(line)?;
            }
            warn_of_skipped(console, &skipped);
            return Ok(Answer::Good);
        }
        let (mut rows, skipped) = self.simulate_points(console, &call, &points, None)?;
        rows::sort_by_call(&mut rows);
        let text = match format {
            SimulateFormat::Csv => rows::to_csv(&call, &rows),
            SimulateFormat::Json => to_pretty_json(&rows::SimulateOutput {
                machine: &machine.name,
                placement: call.placement.name(),
                element_bytes: call.element_bytes,
                results: &rows,
                skipped: &skipped,
            })?,
            SimulateFormat::Svg => curves::draw_curves(&call, &rows)?,
            SimulateFormat::Table | SimulateFormat::Trace => {
                format!("{heading}\n{}", rows::to_table(&rows))
            }
        };
        // The JSON has them itself.
        if format != SimulateFormat::Json {
            warn_of_skipped(console, &skipped);
        }
        self.write_text(&text, console)
    }

    fn write_text(&self, text: &str, console: Console) -> Result<Answer, CliError> {
        let text = format!("{}\n", text.trim_end());
        console.write_or_print(self.output.as_deref(), &text)?;
        Ok(Answer::Good)
    }

    fn select_algorithms(&self) -> Result<Vec<&'static Algorithm>, CliError> {
        let Some(collective) = self.collective else {
            return self
                .algorithm
                .iter()
                .map(|name| find_algorithm(name))
                .collect();
        };
        if self.algorithm.is_empty() {
            return Ok(schedule::algorithms_of(collective).collect());
        }
        let of_collective = |name: &String| {
            let bare = match name.split_once('/') {
                Some((_, id)) => id,
                None => name,
            };
            let algorithm = find_algorithm(&format!("{collective}/{bare}"))?;
            if name.contains('/') && *name != algorithm.name() {
                Err(SimulateError::OtherCollective {
                    name: name.clone(),
                    collective,
                }
                .into())
            } else {
                Ok(algorithm)
            }
        };
        self.algorithm.iter().map(of_collective).collect()
    }

    /// The lengths of the calls in bytes: those that are given, or 0 for algorithms that move no data.
    fn select_sizes(&self, algorithms: &[&Algorithm]) -> Result<Sizes, CliError> {
        let of_counts = self.length_of_counts(algorithms)?;
        let mut irregular = algorithms.iter().map(|algorithm| algorithm.collective);
        let irregular = irregular.find(|collective| collective.is_irregular());
        if let (Some(collective), Some(_)) = (irregular, &self.bytes) {
            self.counts
                .check_division(collective, LengthOption::Bytes)?;
        }
        let without_data = algorithms
            .iter()
            .find(|algorithm| !algorithm.collective.has_data());
        match (&self.bytes, without_data) {
            (None, Some(_)) if algorithms.iter().all(|a| !a.collective.has_data()) => Ok(vec![0]),
            (None, _) => {
                let is_irregular = irregular.is_some();
                let length = of_counts.ok_or(SimulateError::NoSize { is_irregular })?;
                Ok(vec![length])
            }
            (Some(sizes), Some(algorithm)) if sizes.iter().any(|bytes| *bytes > 0) => {
                Err(CliError::NoData {
                    collective: algorithm.collective,
                })
            }
            (Some(sizes), _) => Ok(sizes.clone()),
        }
    }

    /// The length of the calls in bytes, if counts are given.
    fn length_of_counts(&self, algorithms: &[&Algorithm]) -> Result<Option<u64>, CliError> {
        let Some(collective) = algorithms.first().map(|algorithm| algorithm.collective) else {
            return Ok(None);
        };
        let unit_bytes = if collective.is_reduction() {
            self.element_bytes
        } else {
            1
        };
        let Some(units) = self.counts.length_in_units(collective)? else {
            return Ok(None);
        };
        let length = units.checked_mul(unit_bytes);
        let length = length.ok_or(CliError::Unsupported {
            source: Unsupported::TooLong,
            length_by: LengthOption::Counts,
        })?;
        Ok(Some(length))
    }

    /// Every algorithm on every communicator with every size.
    fn list_points(
        &self,
        algorithms: &[&'static Algorithm],
        sizes: &[u64],
        ranks_per_node: u32,
    ) -> Vec<SimulationPoint> {
        let shape = self.shape;
        let ppn = shape.map(|shape| shape.ppn).or(self.ppn);
        let ppn = ppn.unwrap_or(ranks_per_node);
        let placement = self.placement.to_placement();
        let topologies_by_ranks = self.ranks.iter().flatten().map(|ranks| {
            (
                u64::from(*ranks),
                Topology::of_ranks(*ranks, ppn, placement),
            )
        });
        let node_counts = self.nodes.iter().flatten().copied();
        let node_counts = node_counts.chain(shape.map(|shape| shape.nodes));
        let topologies_by_nodes = node_counts.map(|nodes| {
            let topology = Topology::new(nodes, ppn, placement);
            (topology.ranks(), topology)
        });
        let mut points = Vec::new();
        for (ranks, topology) in topologies_by_ranks.chain(topologies_by_nodes) {
            for bytes in sizes {
                points.extend(algorithms.iter().map(|algorithm| SimulationPoint {
                    algorithm,
                    ranks,
                    ppn,
                    topology,
                    bytes: *bytes,
                }));
            }
        }
        points
    }

    /// The simulated points, and those that were left out; prints the rows of a table with this heading as they come, if it is
    /// given.
    fn simulate_points(
        &self,
        console: Console,
        call: &CommonCall<'_>,
        points: &[SimulationPoint],
        table: Option<(&str, &PrintedColumns)>,
    ) -> Result<(Vec<SimulationRow>, Vec<SkippedCall>), CliError> {
        let template =
            "simulating {msg} [{bar:30}] {pos}/{len}, {elapsed} of at most {limit} so far";
        let bar = console.progress_bar(points.len() as u64, template);
        let most = format_seconds(self.time_limit);
        let show_limit = move |_: &ProgressState, out: &mut dyn fmt::Write| {
            // An error means that the terminal is gone.
            let _ = out.write_str(&most);
        };
        bar.set_style(bar.style().with_key("limit", show_limit));
        bar.enable_steady_tick(Duration::from_millis(250));
        let begin = Instant::now();
        let mut is_first = true;
        let limit = SweepLimit {
            time: Duration::try_from_secs_f64(self.time_limit).unwrap_or(Duration::MAX),
            elapsed: &|| begin.elapsed(),
            short: sweep::MOST_MESSAGES_OF_SHORT,
        };
        let found = sweep::simulate_within_limit(call, points, &limit, &mut |progress| {
            match progress {
                SweepProgress::Begun(point) => bar.set_message(point.algorithm.name()),
                SweepProgress::Simulated(row) => {
                    bar.inc(1);
                    let Some((heading, columns)) = table else {
                        return Ok(());
                    };
                    // An error leaves no heading behind.
                    let begins = std::mem::take(&mut is_first);
                    return bar.suspend(|| {
                        if begins {
                            console.remark(heading)?;
                            console.print(columns.heading())?;
                        }
                        console.print(columns.format_row(row))
                    });
                }
                SweepProgress::LeftOut => bar.inc(1),
            }
            Ok(())
        });
        bar.finish_and_clear();
        found
    }
}
