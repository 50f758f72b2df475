//! The arguments that describe a call and its schedule.

use model::Topology;
use schedule::{
    Algorithm, Blocks, Collective, Distribution, Parameters, Placed, Rank, Request, Schedule,
    Unsupported,
};
use vocabulary::{CommShape, Placement};

use super::find_algorithm;
use crate::error::CliError;
use crate::values;

/// The arguments that name an algorithm, a communicator and parameters.
#[derive(Debug, clap::Args)]
pub(super) struct CallArgs {
    /// The algorithm, as in allreduce/dual_root
    #[arg(value_name = "NAME")]
    name: String,
    /// Ranks in the communicator, all on one node
    #[arg(long, value_parser = values::parse_rank_count, required_unless_present = "shape")]
    ranks: Option<u32>,
    /// Nodes and ranks on each, as in 4x2, instead of --ranks
    #[arg(long, value_name = "SHAPE", value_parser = values::parse_shape, conflicts_with = "ranks")]
    shape: Option<CommShape>,
    /// The placement of ranks on nodes
    #[arg(long, value_enum, default_value_t = Placing::Block, requires = "shape")]
    placement: Placing,
    /// The root, for collectives that have one
    #[arg(long, default_value_t = 0)]
    root: Rank,
    /// Call it with MPI_IN_PLACE, if MPI allows that
    #[arg(long)]
    in_place: bool,
    /// Number of pipeline blocks [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) blocks: Option<u32>,
    #[command(flatten)]
    parameters: ParameterArgs,
    #[command(flatten)]
    counts: CountsArgs,
}

/// The parameters of algorithms, except blocks.
#[derive(Debug, clap::Args)]
pub(crate) struct ParameterArgs {
    /// Radix of a tree or an exchange, from 2 to 64 [default: 4]
    #[arg(long, value_parser = radix_parser())]
    radix: Option<u32>,
    /// Id of the inner reduce of a composition [default: binomial]
    #[arg(long, value_name = "ID")]
    reduce: Option<String>,
    /// Id of the inner broadcast of a composition [default: binomial]
    #[arg(long, value_name = "ID")]
    bcast: Option<String>,
    /// Id of the algorithm within nodes, for algorithms that know nodes [default: the algorithm's own]
    #[arg(long, value_name = "ID")]
    node: Option<String>,
    /// Id of the algorithm between nodes, for algorithms that know nodes [default: the algorithm's own]
    #[arg(long, value_name = "ID")]
    network: Option<String>,
    /// Ranks of each node that exchange data with other nodes [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    leaders_per_node: Option<u32>,
    /// Sends, and receives, of a rank that may be under way at the same time [default: 32]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    max_requests: Option<u32>,
}

impl ParameterArgs {
    pub(crate) fn with_blocks(&self, blocks: Option<Blocks>) -> Parameters<'_> {
        Parameters {
            blocks,
            radix: self.radix,
            reduce: self.reduce.as_deref(),
            bcast: self.bcast.as_deref(),
            node: self.node.as_deref(),
            network: self.network.as_deref(),
            leaders: self.leaders_per_node,
            max_requests: self.max_requests,
        }
    }
}

/// The arguments that say how the data of a call is divided where MPI has counts.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct CountsArgs {
    /// The distribution of the length over the ranks' parts in reduce_scatter, allgatherv, gatherv and
    /// scatterv, over the blocks from each rank to each in alltoallv and alltoallw: as even as possible; a
    /// few get most; three of four are empty; rank 0 has half of all [default: uniform in reduce_scatter; all
    /// others need it with a length]
    #[arg(long, value_name = "NAME", value_parser = values::distribution_parser())]
    distribution: Option<Distribution>,
    /// The lengths of these parts instead, one for each rank, or of these blocks, one for each pair of
    /// ranks, row by row: in elements in reduce_scatter, in bytes in others
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with = "distribution",
        value_parser = vocabulary::units::parse_bytes
    )]
    counts: Vec<u64>,
}

impl CountsArgs {
    /// The length of the call in units, if counts are given: their sum, or for blocks their mean, rounded down.
    ///
    /// # Errors
    /// The sum does not fit into a length.
    pub(crate) fn length_in_units(&self, collective: Collective) -> Result<Option<u64>, CliError> {
        let number = self.counts.len() as u128;
        if number == 0 {
            return Ok(None);
        }
        let sum: u128 = self.counts.iter().copied().map(u128::from).sum();
        let length = if collective.has_block_counts() {
            sum / number
        } else {
            sum
        };
        match u64::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) => Err(CliError::Unsupported {
                source: Unsupported::TooLong,
                length_by: LengthOption::Counts,
            }),
        }
    }

    /// Refuses one length for an irregular collective, whose parts or blocks have lengths of their own.
    ///
    /// # Errors
    /// The collective is irregular, and neither a distribution nor counts are given.
    pub(crate) fn check_division(
        &self,
        collective: Collective,
        length_by: LengthOption,
    ) -> Result<(), CliError> {
        if collective.is_irregular() && self.distribution.is_none() && self.counts.is_empty() {
            return Err(CliError::NoDistribution {
                collective,
                length_by,
            });
        }
        Ok(())
    }

    /// The option that gives the length of the call: `--counts`, or else this one.
    pub(crate) fn length_option(&self, otherwise: LengthOption) -> LengthOption {
        if self.counts.is_empty() {
            otherwise
        } else {
            LengthOption::Counts
        }
    }

    /// The request with these counts.
    pub(crate) fn divide<'a>(&'a self, request: Request<'a>) -> Request<'a> {
        Request {
            counts: (!self.counts.is_empty()).then_some(&self.counts[..]),
            distribution: self.distribution.unwrap_or_default(),
            ..request
        }
    }
}

/// An option that gives the length of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LengthOption {
    Bytes,
    Units,
    Counts,
}

impl LengthOption {
    /// The option as it is typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bytes => "--bytes",
            Self::Units => "--units",
            Self::Counts => "--counts",
        }
    }
}

/// The remedy for a call that is not supported because of its length or counts.
pub(crate) fn unsupported_help(error: &Unsupported, length_by: LengthOption) -> Option<String> {
    match error {
        Unsupported::TooLong if length_by == LengthOption::Counts => {
            Some("give shorter lengths with `--counts`: they add up to more".to_owned())
        }
        Unsupported::TooLong => {
            let option = length_by.name();
            Some(format!(
                "give a shorter length with `{option}`, or fewer ranks"
            ))
        }
        Unsupported::Counts {
            collective, ranks, ..
        } => {
            let number = if collective.has_block_counts() {
                u64::from(*ranks).pow(2)
            } else {
                u64::from(*ranks)
            };
            Some(format!(
                "give {number} lengths with `--counts`, or another number of ranks"
            ))
        }
        Unsupported::Asymmetric => Some(
            "give the same length in both directions with `--counts`, or leave out `--in-place`"
                .to_owned(),
        ),
        Unsupported::OneSize { .. } => Some("leave out `--counts` and `--distribution`".to_owned()),
        _ => None,
    }
}

/// The placement of ranks on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Placing {
    /// One node is filled after the other
    Block,
    /// Consecutive ranks are on consecutive nodes
    Cyclic,
}

impl Placing {
    pub(crate) fn to_placement(self) -> Placement {
        match self {
            Self::Block => Placement::Block,
            Self::Cyclic => Placement::Cyclic,
        }
    }
}

fn radix_parser() -> clap::builder::RangedI64ValueParser<u32> {
    let (first, last) = Parameters::RADICES.into_inner();
    clap::value_parser!(u32).range(i64::from(first)..=i64::from(last))
}

impl CallArgs {
    pub(super) fn algorithm(&self) -> Result<&'static Algorithm, CliError> {
        find_algorithm(&self.name)
    }

    /// The call with this length in units, and with blocks of this size unless their number is given.
    pub(super) fn to_request(&self, units: u64, block_units: Option<u64>) -> Request<'_> {
        let blocks = self.blocks.map(Blocks::Count);
        self.counts.divide(Request {
            root: self.root,
            in_place: self.in_place,
            units,
            parameters: self
                .parameters
                .with_blocks(blocks.or(block_units.map(Blocks::Size))),
            placed: self.shape.map_or(Placed::Together, |shape| {
                Topology::new(shape.nodes, shape.ppn, self.placement.to_placement()).placed()
            }),
            ..Request::among_ranks(self.ranks())
        })
    }

    /// The schedule of a call whose length this option gives, unless there are counts.
    ///
    /// # Errors
    /// If the algorithm does not support the call.
    pub(super) fn bind(
        &self,
        algorithm: &'static Algorithm,
        request: &Request<'_>,
        length_by: LengthOption,
    ) -> Result<Schedule, CliError> {
        Schedule::new(algorithm, request).map_err(|source| CliError::Unsupported {
            source,
            length_by: self.counts.length_option(length_by),
        })
    }

    pub(super) fn ranks(&self) -> u32 {
        // The argument parser requires one of the two.
        let shape = || self.shape.map_or(1, CommShape::ranks);
        self.ranks.unwrap_or_else(shape)
    }

    /// The length of a call in units, if it is known: as `length_by` gives it, that of the counts, or 0 for an algorithm
    /// that moves no data.
    ///
    /// # Errors
    /// If it has a length although the algorithm moves no data, only one length although the collective is irregular, or
    /// counts that are too large.
    pub(super) fn select_length(
        &self,
        algorithm: &Algorithm,
        given: Option<u64>,
        length_by: LengthOption,
    ) -> Result<Option<u64>, CliError> {
        let collective = algorithm.collective;
        if collective.has_data() {
            if given.is_none() {
                return self.counts.length_in_units(collective);
            }
            self.counts.check_division(collective, length_by)?;
            return Ok(given);
        }
        match given {
            None | Some(0) => Ok(Some(0)),
            Some(_) => Err(CliError::NoData { collective }),
        }
    }

    /// A length with which all blocks of any cut have the same number of units, at least one.
    pub(super) fn ample_units(&self) -> u64 {
        let ranks = u64::from(self.ranks());
        let blocks = u64::from(self.blocks.unwrap_or(1));
        let units = (ranks * ranks.next_power_of_two()).saturating_mul(blocks);
        // The length may be that of one rank's part.
        units.min(u64::MAX / ranks)
    }
}
