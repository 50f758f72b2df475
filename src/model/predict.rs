//! Predictions by the closed forms of the algorithm registry.

use schedule::{
    Algorithm, Collective, Cost, Parameter, Parameters, PipelineCost, Placed, Request, Schedule,
};

use crate::{Pipeline, Rates};

/// A call to predict; its root, if any, is 0.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Ranks in the communicator.
    pub ranks: u32,
    /// Length of the call as its collective counts it: that of one rank's part where [`Collective::is_sized_by_part`],
    /// otherwise that of the whole vector.
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
    /// One byte on two ranks, with the algorithm's default parameters.
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
    /// `None` if the algorithm cannot serve the call.
    fn new(algorithm: &'static Algorithm, call: &Call<'_>) -> Option<Self> {
        let unit_bytes = call.unit_bytes.max(1);
        let request = Request {
            units: call.bytes.div_ceil(unit_bytes),
            parameters: call.parameters,
            placed: call.placed,
            ..Request::ranks(call.ranks)
        };
        let schedule = Schedule::new(algorithm, &request).ok()?;
        Some(Self {
            piece: schedule
                .vector_units()
                .div_ceil(schedule.pieces().max(1).into()),
            blocks: schedule.shape().blocks,
            unit_bytes,
        })
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

    /// The smallest number of blocks of which none has more units.
    fn blocks_of(&self, units: u64) -> u32 {
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
    fn near(self, blocks: u32) -> impl Iterator<Item = u32> {
        let units = self.block_units(blocks);
        let sizes = (0..=2 * NEAR).map(move |step| (units + step).saturating_sub(NEAR));
        let counts = (0..=2 * NEAR).map(move |step| {
            let count = (u64::from(blocks) + step).saturating_sub(NEAR);
            self.piece.div_ceil(count.max(1))
        });
        sizes.chain(counts).map(move |units| self.blocks_of(units))
    }
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
pub fn blocks(algorithm: &'static Algorithm, call: &Call<'_>) -> Option<(u32, u64)> {
    let cut = Cut::new(algorithm, call)?;
    Some((cut.blocks, cut.block_bytes(cut.blocks)))
}

/// The time of a call with the number of blocks that its parameters give, or one.
///
/// Blocks are whole units: if they cannot be equal, the largest one fills the pipeline.
///
/// `None` if the algorithm cannot serve the call or has no closed form for that many ranks, or if it combines and
/// `gamma` is unknown.
pub fn predict(algorithm: &'static Algorithm, rates: Rates, call: &Call<'_>) -> Option<Prediction> {
    let cut = Cut::new(algorithm, call)?;
    Some(ClosedForm::new(algorithm, rates, call)?.at(cut.blocks, cut))
}

/// The time of a call with the best number of blocks; that of the parameters is ignored.
///
/// The search covers numbers around that of the lemma, which ignores units, and those with block sizes around the
/// lemma's. The result is within 2 % of the best of all numbers, and nearly always equal to it. An algorithm that takes
/// no blocks is predicted unchanged. `None` as in [`predict`].
pub fn predict_best(
    algorithm: &'static Algorithm,
    rates: Rates,
    call: &Call<'_>,
) -> Option<Prediction> {
    let cut = Cut::new(algorithm, call)?;
    let form = ClosedForm::new(algorithm, rates, call)?;
    let lemma = form
        .pipelined
        .map_or(1, |pipeline| pipeline.best_blocks(cut.max_blocks()));
    let candidates = cut.near(lemma).map(|blocks| form.at(blocks, cut));
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
    /// Seconds per block independent of its size.
    start_up: f64,
    /// Seconds of the parts with a fixed number of blocks.
    unpipelined: f64,
}

impl ClosedForm {
    fn new(algorithm: &'static Algorithm, rates: Rates, call: &Call<'_>) -> Option<Self> {
        let mut pipelined: Option<(PipelineCost, f64)> = None;
        let mut unpipelined = 0.0;
        for Part { algorithm, bytes } in parts(algorithm, call)? {
            match algorithm.cost(call.ranks)? {
                Cost::Pipelined { lemma, .. } => {
                    let before = pipelined.map_or(PipelineCost::default(), |(cost, _)| cost);
                    pipelined = Some((sum(before, lemma), bytes));
                }
                Cost::Fixed {
                    steps,
                    moved,
                    combined,
                    parts,
                } => {
                    let bytes = |share: u64| share as f64 / parts as f64 * bytes;
                    let gamma = gamma(combined > 0, rates)?;
                    unpipelined += steps as f64 * rates.alpha
                        + bytes(moved) * rates.beta
                        + bytes(combined) * gamma;
                }
            }
        }
        let start_up = pipelined.map_or(0.0, |(cost, _)| cost.c2 as f64 * rates.alpha);
        let pipelined = match pipelined {
            Some((cost, bytes)) => Some(pipeline(cost, rates, bytes)?),
            None => None,
        };
        Some(Self {
            pipelined,
            start_up,
            unpipelined,
        })
    }

    fn at(&self, blocks: u32, cut: Cut) -> Prediction {
        let blocks = if self.pipelined.is_some() {
            blocks.max(1)
        } else {
            1
        };
        // Blocks beyond the data are empty and not sent.
        let sent = blocks.min(cut.max_blocks());
        let even = cut.even_blocks(sent);
        let pipelined = self.pipelined.map_or(0.0, |pipeline| {
            pipeline.seconds(even) + self.start_up * (f64::from(sent) - even)
        });
        Prediction {
            seconds: pipelined + self.unpipelined,
            blocks,
            block_bytes: cut.block_bytes(blocks),
        }
    }
}

/// One of several algorithms that run one after the other.
struct Part {
    algorithm: &'static Algorithm,
    /// Length of its call in bytes, as its own collective counts it.
    bytes: f64,
}

/// The algorithms that run one after the other: those of a composition, otherwise the algorithm itself. All parts with
/// blocks have the same number, and these work on the whole vector.
fn parts(algorithm: &'static Algorithm, call: &Call<'_>) -> Option<Vec<Part>> {
    let (bytes, ranks) = (call.bytes as f64, f64::from(call.ranks));
    let (whole, part) = match algorithm.collective.is_sized_by_part() {
        true => (bytes * ranks, bytes),
        false => (bytes, bytes / ranks),
    };
    let find = |collective: Collective, id: Option<&str>| {
        let id = id.unwrap_or(Parameters::DEFAULT_PART);
        let algorithm = schedule::find(&format!("{collective}/{id}"))?;
        let bytes = match collective.is_sized_by_part() {
            true => part,
            false => whole,
        };
        Some(Part { algorithm, bytes })
    };
    let reduce = || find(Collective::Reduce, call.parameters.reduce);
    let bcast = || find(Collective::Bcast, call.parameters.bcast);
    let takes = |parameter| algorithm.takes(parameter);
    match (takes(Parameter::Reduce), takes(Parameter::Bcast)) {
        (false, false) => Some(vec![Part { algorithm, bytes }]),
        (true, true) => Some(vec![reduce()?, bcast()?]),
        // The part before a broadcast of everything, or after a reduce to one rank.
        (false, true) if algorithm.collective == Collective::Allgather => {
            Some(vec![find(Collective::Gather, None)?, bcast()?])
        }
        (true, false) if !algorithm.collective.is_rooted() => {
            Some(vec![reduce()?, find(Collective::Scatter, None)?])
        }
        _ => None,
    }
}

fn pipeline(cost: PipelineCost, rates: Rates, bytes: f64) -> Option<Pipeline> {
    let gamma = gamma(cost.g1 != 0 || cost.g2 != 0, rates)?;
    let Rates { alpha, beta, .. } = rates;
    Some(Pipeline::new(cost, alpha, beta, gamma, bytes as u64))
}

/// The time to combine a byte; 0 if nothing is combined, `None` if it is unknown.
fn gamma(combines: bool, rates: Rates) -> Option<f64> {
    if combines { rates.gamma } else { Some(0.0) }
}

fn sum(a: PipelineCost, b: PipelineCost) -> PipelineCost {
    PipelineCost {
        c1: a.c1 + b.c1,
        c2: a.c2 + b.c2,
        g1: a.g1 + b.g1,
        g2: a.g2 + b.g2,
    }
}
