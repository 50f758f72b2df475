//! A call whose schedule is wanted.

use schedule::{Algorithm, Blocks, Parameters, Rank, Request};

use super::named;
use crate::error::CliError;
use crate::values;

/// The arguments that say which algorithm is meant, on which communicator, how.
#[derive(Debug, clap::Args)]
pub(super) struct CallArgs {
    /// The algorithm, as in allreduce/dual_root
    #[arg(value_name = "NAME")]
    name: String,
    /// Ranks in the communicator
    #[arg(long, value_parser = values::count)]
    pub(super) ranks: u32,
    /// The root, of collectives that have one
    #[arg(long, default_value_t = 0)]
    root: Rank,
    /// Call it with MPI_IN_PLACE, where MPI allows that
    #[arg(long)]
    in_place: bool,
    /// Number of pipeline blocks [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) blocks: Option<u32>,
    /// Radix of a tree, from 2 to 64 [default: 4]
    #[arg(long, value_parser = radices())]
    radix: Option<u32>,
    /// Id of the inner reduce of a composition [default: binomial]
    #[arg(long, value_name = "ID")]
    reduce: Option<String>,
    /// Id of the inner broadcast of a composition [default: binomial]
    #[arg(long, value_name = "ID")]
    bcast: Option<String>,
}

fn radices() -> clap::builder::RangedI64ValueParser<u32> {
    let (first, last) = Parameters::RADICES.into_inner();
    clap::value_parser!(u32).range(i64::from(first)..=i64::from(last))
}

impl CallArgs {
    pub(super) fn algorithm(&self) -> Result<&'static Algorithm, CliError> {
        named(&self.name)
    }

    /// The call with this length, as the collective counts it, and blocks of this size unless their
    /// number is given.
    pub(super) fn request(&self, units: u64, block_units: Option<u64>) -> Request<'_> {
        let blocks = self.blocks.map(Blocks::Count);
        Request {
            root: self.root,
            in_place: self.in_place,
            units,
            parameters: Parameters {
                blocks: blocks.or(block_units.map(Blocks::Size)),
                radix: self.radix,
                reduce: self.reduce.as_deref(),
                bcast: self.bcast.as_deref(),
            },
            ..Request::ranks(self.ranks)
        }
    }

    /// A length with which all blocks of any cut that algorithms make hold as many units, and some.
    pub(super) fn ample_units(&self) -> u64 {
        let ranks = u64::from(self.ranks);
        let blocks = u64::from(self.blocks.unwrap_or(1));
        let units = (ranks * ranks.next_power_of_two()).saturating_mul(blocks);
        // One rank's part, which there are as many of as ranks, may be meant.
        units.min(u64::MAX / ranks)
    }
}
