//! What the closed forms say about an algorithm of the registry.

use schedule::{Algorithm, Collective, Parameter, Parameters, PipelineCost};

use crate::{Pipeline, Rates};

/// A call whose time is asked for; the root, if there is one, is 0.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Ranks in the communicator.
    pub ranks: u32,
    /// Length of one rank's vector.
    pub bytes: u64,
    /// Bytes of the smallest piece that a vector can be cut into: the element in reductions, 1
    /// elsewhere.
    pub unit_bytes: u64,
    /// The parameters of the algorithm; sizes of blocks count units.
    pub parameters: Parameters<'a>,
}

impl Default for Call<'_> {
    /// One byte on two ranks, with the algorithm's default parameters.
    fn default() -> Self {
        Self {
            ranks: 2,
            bytes: 1,
            unit_bytes: 1,
            parameters: Parameters::default(),
        }
    }
}

impl Call<'_> {
    /// The length of the vector in units.
    fn units(&self) -> u64 {
        self.bytes.div_ceil(self.unit_bytes.max(1))
    }

    /// The largest number of blocks that are not empty.
    fn max_blocks(&self) -> u32 {
        u32::try_from(self.units()).unwrap_or(u32::MAX).max(1)
    }

    /// The size of the largest block, which is a whole number of units.
    fn block_bytes(&self, blocks: u32) -> u64 {
        let unit_bytes = self.unit_bytes.max(1);
        self.units()
            .div_ceil(u64::from(blocks.max(1)))
            .saturating_mul(unit_bytes)
    }
}

/// What a closed form says about a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The time of the call.
    pub seconds: f64,
    /// The number of pipeline blocks.
    pub blocks: u32,
    /// The size of the largest of them.
    pub block_bytes: u64,
}

/// The time of a call with the number of blocks that its parameters give, one if they give none.
///
/// `None` where the algorithm has no closed form on that many ranks, the parameters name a part
/// that does not exist, or the algorithm combines and `gamma` is unknown.
pub fn predict(algorithm: &Algorithm, rates: Rates, call: &Call<'_>) -> Option<Prediction> {
    let form = ClosedForm::new(algorithm, rates, call)?;
    let blocks = call
        .parameters
        .blocks
        .map_or(1, |blocks| blocks.count(call.units()));
    Some(form.at(blocks, call))
}

/// The time of a call with the best number of blocks; the parameters' own is ignored.
///
/// An algorithm that does not take blocks is predicted as it is. `None` as in [`predict`].
pub fn predict_best(algorithm: &Algorithm, rates: Rates, call: &Call<'_>) -> Option<Prediction> {
    let form = ClosedForm::new(algorithm, rates, call)?;
    let best = form
        .pipelined
        .map_or(1, |pipeline| pipeline.best_blocks(call.max_blocks()));
    Some(form.at(best, call))
}

/// The time of an algorithm as a function of the number of blocks.
struct ClosedForm {
    /// What the number of blocks governs.
    pipelined: Option<Pipeline>,
    /// Seconds of the parts whose number of blocks is fixed.
    unpipelined: f64,
}

impl ClosedForm {
    fn new(algorithm: &Algorithm, rates: Rates, call: &Call<'_>) -> Option<Self> {
        let mut pipelined: Option<PipelineCost> = None;
        let mut unpipelined = 0.0;
        for part in parts(algorithm, call.parameters)? {
            let cost = part.cost(call.ranks)?;
            match part.fixed_blocks(call.ranks) {
                None => pipelined = Some(pipelined.map_or(cost, |other| sum(other, cost))),
                Some(blocks) => {
                    unpipelined += pipeline(cost, rates, call)?.seconds(blocks.max(1).into());
                }
            }
        }
        let pipelined = match pipelined {
            Some(cost) => Some(pipeline(cost, rates, call)?),
            None => None,
        };
        Some(Self {
            pipelined,
            unpipelined,
        })
    }

    fn at(&self, blocks: u32, call: &Call<'_>) -> Prediction {
        let blocks = if self.pipelined.is_some() {
            blocks.max(1)
        } else {
            1
        };
        let pipelined = self
            .pipelined
            .map_or(0.0, |pipeline| pipeline.seconds(blocks.into()));
        Prediction {
            seconds: pipelined + self.unpipelined,
            blocks,
            block_bytes: call.block_bytes(blocks),
        }
    }
}

/// The algorithms that run one after the other: the inner ones of a composition, otherwise the
/// algorithm itself. The same number of blocks holds for all that take one.
fn parts<'a>(algorithm: &'a Algorithm, parameters: Parameters<'_>) -> Option<Vec<&'a Algorithm>> {
    let inner = |parameter, collective: Collective, id: Option<&str>| {
        algorithm
            .takes(parameter)
            .then(|| schedule::find(&format!("{collective}/{}", id.unwrap_or("binomial"))))
    };
    let reduce = inner(Parameter::Reduce, Collective::Reduce, parameters.reduce);
    let bcast = inner(Parameter::Bcast, Collective::Bcast, parameters.bcast);
    let itself = (reduce.is_none() && bcast.is_none()).then_some(Some(algorithm));
    [reduce, bcast, itself].into_iter().flatten().collect()
}

fn pipeline(cost: PipelineCost, rates: Rates, call: &Call<'_>) -> Option<Pipeline> {
    let combines = cost.g1 != 0 || cost.g2 != 0;
    let gamma = if combines { rates.gamma? } else { 0.0 };
    Some(Pipeline::new(
        cost,
        rates.alpha,
        rates.beta,
        gamma,
        call.bytes,
    ))
}

fn sum(a: PipelineCost, b: PipelineCost) -> PipelineCost {
    PipelineCost {
        c1: a.c1 + b.c1,
        c2: a.c2 + b.c2,
        g1: a.g1 + b.g1,
        g2: a.g2 + b.g2,
    }
}
