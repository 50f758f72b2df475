//! Predictions by the closed forms of the algorithm registry.

use schedule::{Algorithm, Cost, Parameter, Parameters, PipelineCost, Placed, Request, Schedule};

use crate::parts::{Part, parts_of_call, root_block_seconds};
use crate::{Pipeline, Rates, Tiers};

/// A call to predict; its root, if any, is 0.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Ranks in the communicator.
    pub ranks: u32,
    /// Length of the call as its collective counts it: that of one rank's part where
    /// [`schedule::Collective::is_sized_by_part`], otherwise that of the whole vector.
    pub bytes: u64,
    /// Bytes of the smallest piece that a vector can be cut into: the element in reductions, 1
    /// elsewhere.
    pub unit_bytes: u64,
    /// The parameters of the algorithm; block sizes are in units.
    pub parameters: Parameters<'a>,
    /// The ranks that share nodes.
    pub placed: Placed<'a>,
}

impl Default for Call<'_> {
    /// A call of one byte on two ranks, with the algorithm's default parameters.
    fn default() -> Self {
        Self {
            ranks: 2,
            bytes: 1,
            unit_bytes: 1,
            parameters: Parameters::default(),
            placed: Placed::default(),
        }
    }
}

/// The largest distance from the lemma's number and size of blocks at which whole ones are searched.
const NEAR: u64 = 2;

/// The pieces of a call that an algorithm cuts into blocks, in units.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Units of the largest piece into which the algorithm cuts the vector by itself.
    piece: u64,
    /// Blocks of each piece, as the parameters request.
    blocks: u32,
    unit_bytes: u64,
}

impl Cut {
    fn new(schedule: &Schedule, call: &Call<'_>) -> Self {
        let pieces = schedule.pieces().max(1).into();
        Self {
            piece: schedule.vector_units().div_ceil(pieces),
            blocks: schedule.shape().blocks,
            unit_bytes: call.unit_bytes.max(1),
        }
    }

    /// The largest number of nonempty blocks.
    fn max_blocks(&self) -> u32 {
        u32::try_from(self.piece).unwrap_or(u32::MAX).max(1)
    }

    /// Units of the largest block.
    fn block_units(&self, blocks: u32) -> u64 {
        self.piece.div_ceil(blocks.max(1).into())
    }

    /// The size of the largest block in bytes, a whole number of units.
    fn block_bytes(&self, blocks: u32) -> u64 {
        self.block_units(blocks).saturating_mul(self.unit_bytes)
    }

    /// The smallest number of blocks such that none has more than `units`.
    fn blocks_up_to_units(&self, units: u64) -> u32 {
        let blocks = self.piece.div_ceil(units.max(1));
        u32::try_from(blocks).unwrap_or(u32::MAX).max(1)
    }

    /// The size of the piece in blocks as large as the largest, in general not a whole number.
    fn even_blocks(&self, blocks: u32) -> f64 {
        match self.block_units(blocks) {
            0 => blocks.into(),
            units => self.piece as f64 / units as f64,
        }
    }

    /// Numbers of blocks near this one, without those that have the same largest block as a smaller number.
    fn blocks_near(self, blocks: u32) -> impl Iterator<Item = u32> {
        let units = self.block_units(blocks);
        let sizes = (0..=2 * NEAR).map(move |step| (units + step).saturating_sub(NEAR));
        let counts = (0..=2 * NEAR).map(move |step| {
            let count = (u64::from(blocks) + step).saturating_sub(NEAR);
            self.piece.div_ceil(count.max(1))
        });
        sizes
            .chain(counts)
            .map(move |size| self.blocks_up_to_units(size))
    }
}

/// `None` if the algorithm cannot serve the call.
fn schedule_for_call(algorithm: &'static Algorithm, call: &Call<'_>) -> Option<Schedule> {
    let request = Request {
        units: call.bytes.div_ceil(call.unit_bytes.max(1)),
        parameters: call.parameters,
        placed: call.placed,
        ..Request::among_ranks(call.ranks)
    };
    Schedule::new(algorithm, &request).ok()
}

/// The prediction of a closed form for a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The time of the call.
    pub seconds: f64,
    /// The number of pipeline blocks.
    pub blocks: u32,
    /// The size of the largest block.
    pub block_bytes: u64,
}

/// The number of blocks of a call and the size of the largest in bytes, as the parameters request; `None` if the
/// algorithm cannot serve the call.
pub fn requested_blocks(algorithm: &'static Algorithm, call: &Call<'_>) -> Option<(u32, u64)> {
    let cut = Cut::new(&schedule_for_call(algorithm, call)?, call);
    Some((cut.blocks, cut.block_bytes(cut.blocks)))
}

/// The time of a call with the number of blocks that its parameters give, or one.
///
/// Blocks are whole units: if they cannot be equal, the largest one fills the pipeline.
///
/// All messages of an algorithm that does not know nodes have the same rates: those between nodes, if there are
/// [`Tiers`].
///
/// `None` if the algorithm cannot serve the call or has no closed form for that many ranks, or if it combines and
/// `gamma` is unknown.
pub fn predict(
    algorithm: &'static Algorithm,
    rates: impl Into<Tiers>,
    call: &Call<'_>,
) -> Option<Prediction> {
    let schedule = schedule_for_call(algorithm, call)?;
    let cut = Cut::new(&schedule, call);
    Some(ClosedForm::new(&schedule, rates.into(), call)?.predict_with_blocks(cut.blocks, cut))
}

/// The time of a call with the best number of blocks; that of the parameters is ignored.
///
/// The search covers numbers around that of the lemma, which ignores units, and those with block sizes around the
/// lemma's. The result is within 2 % of the best of all numbers, and nearly always equal to it. An algorithm that takes
/// no blocks is predicted unchanged. `None` as in [`predict`].
pub fn predict_best(
    algorithm: &'static Algorithm,
    rates: impl Into<Tiers>,
    call: &Call<'_>,
) -> Option<Prediction> {
    let schedule = schedule_for_call(algorithm, call)?;
    let cut = Cut::new(&schedule, call);
    let form = ClosedForm::new(&schedule, rates.into(), call)?;
    let lemma = form
        .pipelined
        .map_or(1, |pipeline| pipeline.best_blocks(cut.max_blocks()));
    let candidates = cut
        .blocks_near(lemma)
        .map(|blocks| form.predict_with_blocks(blocks, cut));
    candidates.min_by(|a, b| {
        a.seconds
            .total_cmp(&b.seconds)
            .then(a.blocks.cmp(&b.blocks))
    })
}

/// The time of an algorithm as a function of the number of blocks.
struct ClosedForm {
    /// The part that depends on the number of blocks.
    pipelined: Option<Pipeline>,
    /// Seconds of the parts with a fixed number of blocks.
    unpipelined: f64,
}

impl ClosedForm {
    fn new(schedule: &Schedule, tiers: Tiers, call: &Call<'_>) -> Option<Self> {
        let parts = parts_of_call(schedule, tiers, call)?;
        if schedule.algorithm().is_pipelined {
            let sum = |included: &mut dyn Iterator<Item = &Part>| {
                let mut sum = Pipeline::default();
                for part in included {
                    sum = sum + time_of_each_block(part)?;
                }
                Some(sum)
            };
            let one = sum(&mut parts.iter())?;
            // A node ends its work for a block, up and down, before it begins with the next one.
            let within = sum(&mut parts.iter().filter(|part| part.is_within))?;
            let both = parts.iter().filter(|part| part.is_within).count() > 1;
            let root = root_block_seconds(schedule, tiers, call)?;
            let root = Pipeline::done_once(root[0], root[1]);
            let each = if both && within.seconds(1.0) > root.seconds(1.0) {
                within
            } else {
                root
            };
            return Some(Self {
                pipelined: Some(one.with_further_blocks(each)),
                unpipelined: 0.0,
            });
        }
        let mut form = Self {
            pipelined: None,
            unpipelined: 0.0,
        };
        for part in &parts {
            match part.algorithm.cost(part.ranks)? {
                Cost::Pipelined { lemma, .. } if part.algorithm.takes(Parameter::Blocks) => {
                    let pipeline = pipeline_of_part(lemma, part)?;
                    form.pipelined = Some(form.pipelined.unwrap_or_default() + pipeline);
                }
                _ => form.unpipelined += time_of_each_block(part)?.seconds(1.0),
            }
        }
        let further = schedule.combinations_besides_phases();
        let gamma = gamma_if_combining(further > 0, tiers.node)?;
        form.unpipelined += further as f64 * gamma * call.bytes as f64;
        Some(form)
    }

    fn predict_with_blocks(&self, blocks: u32, cut: Cut) -> Prediction {
        let blocks = if self.pipelined.is_some() {
            blocks.max(1)
        } else {
            1
        };
        // Blocks beyond the data are empty and not sent.
        let sent = blocks.min(cut.max_blocks());
        let even = cut.even_blocks(sent);
        let pipelined = self.pipelined.map_or(0.0, |pipeline| {
            pipeline.seconds(even) + pipeline.start_up() * (f64::from(sent) - even)
        });
        Prediction {
            seconds: pipelined + self.unpipelined,
            blocks,
            block_bytes: cut.block_bytes(blocks),
        }
    }
}

/// The time of a part that is carried out once for each block, on the block's length.
fn time_of_each_block(part: &Part) -> Option<Pipeline> {
    let Rates {
        alpha,
        overhead,
        beta,
        ..
    } = part.rates;
    let lemma = match part.algorithm.cost(part.ranks)? {
        Cost::Pipelined { lemma, .. } => lemma,
        Cost::AtOnce { messages } => {
            let messages = messages as f64;
            return Some(Pipeline::done_once(
                alpha + (messages - 1.0) * overhead,
                messages * beta * part.bytes,
            ));
        }
        Cost::Fixed {
            steps,
            moved,
            combined,
            parts,
        } => {
            let share = |count: u64| count as f64 / parts as f64 * part.bytes;
            let gamma = gamma_if_combining(combined > 0, part.rates)?;
            return Some(Pipeline::done_once(
                steps as f64 * alpha,
                share(moved) * beta + share(combined) * gamma,
            ));
        }
    };
    let one = PipelineCost {
        c1: lemma.c1 + lemma.c2,
        g1: lemma.g1 + lemma.g2,
        ..PipelineCost::default()
    };
    pipeline_of_part(one, part)
}

fn pipeline_of_part(cost: PipelineCost, part: &Part) -> Option<Pipeline> {
    let gamma = gamma_if_combining(cost.g1 != 0 || cost.g2 != 0, part.rates)?;
    let Rates { alpha, beta, .. } = part.rates;
    Some(Pipeline::new(cost, alpha, beta, gamma, part.bytes as u64))
}

/// The time to combine a byte; 0 if nothing is combined, `None` if it is unknown.
fn gamma_if_combining(combines: bool, rates: Rates) -> Option<f64> {
    if combines { rates.gamma } else { Some(0.0) }
}
