//! The number of blocks to simulate with.

use std::collections::HashMap;

use schedule::{Algorithm, Blocks, Parameter, Parameters, Request, Schedule};

use super::{Setting, SimulationError, simulate};
use crate::{Call, Level, Rates, predict, predict_best};

/// A number of pipeline blocks, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestBlocks {
    /// How many.
    pub blocks: u32,
    /// Who says so.
    pub by: BlocksBy,
}

/// Where a number of blocks comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlocksBy {
    /// The pipelining lemma, with the rates of the slowest level that is used.
    Lemma,
    /// Simulations with other numbers.
    Search,
}

/// Factors between numbers of blocks that are compared, one after the other.
const FACTORS: [f64; 4] = [4.0, 2.0, 1.41, 1.19];

/// The best number of blocks for a call: by the lemma where the algorithm has a closed form on that
/// many ranks, otherwise by simulation. The request's own number is ignored.
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
    if !algorithm.takes(Parameter::Blocks) {
        return Ok(None);
    }
    let only = setting.topology.only_level(request.ranks);
    let rates = setting.machine.rates(only.unwrap_or(Level::Network));
    let call = Call {
        ranks: request.ranks,
        bytes: request.units.saturating_mul(setting.unit_bytes),
        unit_bytes: setting.unit_bytes,
        parameters: Parameters {
            blocks: None,
            ..request.parameters
        },
    };
    let best = rates.and_then(|rates| {
        let best = predict_best(algorithm, rates, &call)?;
        let whole = whole_units(algorithm, rates, &call, request, best.blocks);
        Some(whole.unwrap_or(best.blocks))
    });
    if let Some(blocks) = best {
        let by = BlocksBy::Lemma;
        return Ok(Some(BestBlocks { blocks, by }));
    }
    let blocks = Search::new(algorithm, request, setting)?.best()?;
    let by = BlocksBy::Search;
    Ok(Some(BestBlocks { blocks, by }))
}

/// The lemma cuts a vector at will; blocks are whole units, and the largest sets the pace. Of the
/// two whole sizes next to the lemma's, the one with which the vector, filled up to equal blocks,
/// takes less.
fn whole_units(
    algorithm: &'static Algorithm,
    rates: Rates,
    call: &Call<'_>,
    request: &Request<'_>,
    blocks: u32,
) -> Option<u32> {
    let pieces = algorithm.pieces(request.ranks).max(1).into();
    let schedule = Schedule::new(algorithm, request).ok()?;
    let piece = schedule.vector_units().div_ceil(pieces);
    let size = piece / u64::from(blocks);
    let candidates = [size.max(1), size + 1].map(|size| {
        let blocks = u32::try_from(piece.div_ceil(size)).ok()?.max(1);
        let filled = u64::from(blocks) as f64 * size as f64 / piece.max(1) as f64;
        let call = Call {
            bytes: (call.bytes as f64 * filled).ceil() as u64,
            parameters: Parameters {
                blocks: Some(Blocks::Count(blocks)),
                ..call.parameters
            },
            ..*call
        };
        Some((blocks, predict(algorithm, rates, &call)?.seconds))
    });
    let best = candidates.into_iter().flatten();
    best.min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(blocks, _)| blocks)
}

/// Compares numbers of blocks by simulation.
struct Search<'a> {
    algorithm: &'static Algorithm,
    request: &'a Request<'a>,
    setting: &'a Setting<'a>,
    most: u32,
    known: HashMap<u32, f64>,
}

impl<'a> Search<'a> {
    fn new(
        algorithm: &'static Algorithm,
        request: &'a Request<'a>,
        setting: &'a Setting<'a>,
    ) -> Result<Self, SimulationError> {
        let mut search = Self {
            algorithm,
            request,
            setting,
            most: 1,
            known: HashMap::new(),
        };
        let pieces = algorithm.pieces(request.ranks).max(1).into();
        let piece = search.schedule(1)?.vector_units().div_ceil(pieces);
        search.most = u32::try_from(piece).unwrap_or(u32::MAX).max(1);
        Ok(search)
    }

    fn schedule(&self, blocks: u32) -> Result<Schedule, SimulationError> {
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

    fn seconds(&mut self, blocks: u32) -> Result<f64, SimulationError> {
        if let Some(seconds) = self.known.get(&blocks) {
            return Ok(*seconds);
        }
        let seconds = simulate(&self.schedule(blocks)?, self.setting)?.seconds;
        self.known.insert(blocks, seconds);
        Ok(seconds)
    }

    /// Climbs from one block in large steps, and then in smaller ones: the time falls to the best
    /// number and rises from there, but for the rounding of blocks to units.
    fn best(&mut self) -> Result<u32, SimulationError> {
        let mut best = 1;
        for factor in FACTORS {
            loop {
                let here = f64::from(best);
                // Casts saturate.
                let up = ((here * factor).ceil() as u32).min(self.most);
                let down = ((here / factor).floor() as u32).max(1);
                let now = self.seconds(best)?;
                if self.seconds(up)? < now {
                    best = up;
                } else if self.seconds(down)? < now {
                    best = down;
                } else {
                    break;
                }
            }
        }
        Ok(best)
    }
}
