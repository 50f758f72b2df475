//! The best number of blocks for simulations.

use std::collections::HashMap;

use schedule::{Algorithm, Blocks, Parameter, Parameters, Request, Schedule};

use super::{GoOn, Setting, SimulationError, expected_messages, simulate_while};
use crate::{Call, Level, predict_best};

/// A number of pipeline blocks, and its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestBlocks {
    /// The number of blocks.
    pub blocks: u32,
    /// The method that found it.
    pub by: BlocksBy,
}

/// The method that found a number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlocksBy {
    /// The pipelining lemma, with the rates of the slowest level that is used.
    Lemma,
    /// Simulations with several numbers.
    Search,
}

/// Factors between numbers of blocks that are compared, from coarse to fine.
const FACTORS: [f64; 4] = [4.0, 2.0, 1.41, 1.19];

/// About the most messages of a simulation that only checks the lemma's number.
const PROBED: f64 = 1e6;

/// The best number of blocks for a call: by the lemma if the algorithm has a closed form for that many ranks, otherwise
/// by simulation. The request's own number is ignored.
///
/// The lemma takes the rates of the slowest level that is used. It ignores placements, overheads shorter than `alpha`,
/// and eager messages. So if there is a [`crate::Link::eager_limit`], simulations compare the lemma's number with those
/// at which blocks are as long as the limit, and one unit longer, unless they have more than about a million messages.
///
/// `None` if the algorithm does not take blocks.
///
/// # Errors
/// The call is unsupported, or cannot be simulated.
pub fn best_blocks(
    algorithm: &'static Algorithm,
    request: &Request<'_>,
    setting: &Setting<'_>,
) -> Result<Option<BestBlocks>, SimulationError> {
    best_blocks_while(algorithm, request, setting, &|| true)
}

/// The best number of blocks as [`best_blocks`] finds it; simulations stop when `go_on` says so.
///
/// # Errors
/// The call is unsupported, or cannot be simulated; [`SimulationError::Stopped`].
pub fn best_blocks_while(
    algorithm: &'static Algorithm,
    request: &Request<'_>,
    setting: &Setting<'_>,
    go_on: GoOn<'_>,
) -> Result<Option<BestBlocks>, SimulationError> {
    let is_cut = if algorithm.knows_nodes() {
        algorithm.uses(Parameter::Blocks, &request.parameters)
    } else {
        algorithm.takes(Parameter::Blocks)
    };
    if !is_cut {
        return Ok(None);
    }
    let mut search = BlockSearch::new(algorithm, request, setting, go_on)?;
    let mut best = match search.lemma_blocks() {
        Some(blocks) => BestBlocks {
            blocks,
            by: BlocksBy::Lemma,
        },
        None => BestBlocks {
            blocks: search.climb_to_best()?,
            by: BlocksBy::Search,
        },
    };
    for blocks in search.blocks_at_eager_limits() {
        if search.is_short(best.blocks)?
            && search.is_short(blocks)?
            && search.seconds_with_blocks(blocks)? < search.seconds_with_blocks(best.blocks)?
        {
            best = BestBlocks {
                blocks,
                by: BlocksBy::Search,
            };
        }
    }
    Ok(Some(best))
}

/// Compares numbers of blocks by simulation.
struct BlockSearch<'a> {
    algorithm: &'static Algorithm,
    request: &'a Request<'a>,
    setting: &'a Setting<'a>,
    /// Units of the largest piece that is cut into blocks.
    piece: u64,
    known: HashMap<u32, f64>,
    go_on: GoOn<'a>,
}

impl<'a> BlockSearch<'a> {
    fn new(
        algorithm: &'static Algorithm,
        request: &'a Request<'a>,
        setting: &'a Setting<'a>,
        go_on: GoOn<'a>,
    ) -> Result<Self, SimulationError> {
        let mut search = Self {
            algorithm,
            request,
            setting,
            piece: 0,
            known: HashMap::new(),
            go_on,
        };
        let schedule = search.schedule_with_blocks(1)?;
        let pieces = schedule.pieces().max(1).into();
        search.piece = schedule.vector_units().div_ceil(pieces);
        Ok(search)
    }

    /// The smallest number of blocks of which none has more units.
    fn blocks_up_to_units(&self, units: u64) -> u32 {
        let blocks = self.piece.div_ceil(units.max(1));
        u32::try_from(blocks).unwrap_or(u32::MAX).max(1)
    }

    /// The closed form's number, if there is one.
    fn lemma_blocks(&self) -> Option<u32> {
        let Setting {
            machine,
            topology,
            unit_bytes,
            ..
        } = *self.setting;
        let only = topology.only_level(self.request.ranks);
        let slowest = machine.rates(only.unwrap_or(Level::Network))?;
        let within = machine.rates(Level::Node).filter(|_| only.is_none());
        let tiers = machine.tiers_with_rates(within.unwrap_or(slowest), slowest);
        let call = Call {
            ranks: self.request.ranks,
            bytes: self.request.units.saturating_mul(unit_bytes),
            unit_bytes,
            parameters: Parameters {
                blocks: None,
                ..self.request.parameters
            },
            placed: self.request.placed,
        };
        Some(predict_best(self.algorithm, tiers, &call)?.blocks)
    }

    /// Numbers at which blocks are as long as an eager limit, and a unit longer.
    fn blocks_at_eager_limits(&self) -> Vec<u32> {
        let only = self.setting.topology.only_level(self.request.ranks);
        let used = [Level::Node, Level::Network]
            .into_iter()
            .filter(|level| only.is_none_or(|only| only == *level));
        let limits = used.filter_map(|level| self.setting.machine.link(level)?.eager_limit);
        let limits_in_units = limits.map(|limit| limit / self.setting.unit_bytes.max(1));
        let within = limits_in_units.filter(|units| (1..self.piece).contains(units));
        let sizes = within.flat_map(|units| [units, units + 1]);
        sizes.map(|units| self.blocks_up_to_units(units)).collect()
    }

    /// Whether a simulation is short enough for a comparison.
    fn is_short(&self, blocks: u32) -> Result<bool, SimulationError> {
        Ok(expected_messages(&self.schedule_with_blocks(blocks)?) <= PROBED)
    }

    fn schedule_with_blocks(&self, blocks: u32) -> Result<Schedule, SimulationError> {
        let parameters = Parameters {
            blocks: Some(Blocks::Count(blocks)),
            ..self.request.parameters
        };
        let request = Request {
            parameters,
            ..*self.request
        };
        Ok(Schedule::new(self.algorithm, &request)?)
    }

    fn seconds_with_blocks(&mut self, blocks: u32) -> Result<f64, SimulationError> {
        if let Some(seconds) = self.known.get(&blocks) {
            return Ok(*seconds);
        }
        let seconds = simulate_while(
            &self.schedule_with_blocks(blocks)?,
            self.setting,
            self.go_on,
        )?
        .seconds;
        self.known.insert(blocks, seconds);
        Ok(seconds)
    }

    /// Climbs from one block in large steps, then in smaller ones: apart from the rounding of blocks to units, the time
    /// falls up to the best number and rises from there.
    fn climb_to_best(&mut self) -> Result<u32, SimulationError> {
        let (most, mut best) = (self.blocks_up_to_units(1), 1);
        for factor in FACTORS {
            loop {
                let here = f64::from(best);
                // Casts saturate.
                let up = ((here * factor).ceil() as u32).min(most);
                let down = ((here / factor).floor() as u32).max(1);
                let now = self.seconds_with_blocks(best)?;
                if self.seconds_with_blocks(up)? < now {
                    best = up;
                } else if self.seconds_with_blocks(down)? < now {
                    best = down;
                } else {
                    break;
                }
            }
        }
        Ok(best)
    }
}
