//! The gain of two roots over one tree, measured and by the closed forms.

use model::{Call, Rates, predict, predict_best};
use schedule::{Algorithm, Blocks, Cost, Parameters, PipelineCost};

use super::{ELEMENT_BYTES, Fallible, NAMES, Row, SHAPE};

/// The paper's blocks, in elements.
pub(crate) const BLOCK: u64 = 16_000;
/// Up to this number of elements, start-up times dominate.
const SHORT: u64 = 25;
/// From this number of elements on, vectors have two blocks or more.
pub(crate) const SEVERAL: u64 = 25_000;
/// From this number of elements on, vectors have sixteen blocks or more, and the pipeline is full most of the time.
pub(crate) const LONG: u64 = 250_000;

/// The report on pipelines between the hosts of the virtual cluster.
const VIRTUAL_CLUSTER: &str = include_str!("../../../../../../reports/dual-root.md");

/// How many times as long messages take as one in one direction, if a rank sends and receives at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Factors {
    /// It receives from one rank and sends to another.
    pub(crate) shift: f64,
    /// It exchanges with one rank.
    pub(crate) exchange: f64,
}

impl Factors {
    /// Both directions are free, as the pipelining lemma assumes.
    pub(crate) const FREE: Self = Self::alike(1.0);

    pub(crate) const fn alike(factor: f64) -> Self {
        Self {
            shift: factor,
            exchange: factor,
        }
    }

    /// Those measured between the hosts of the virtual cluster, for the time per byte.
    pub(crate) fn of_virtual_cluster() -> Fallible<Self> {
        let of = |parameter: &str| -> Fallible<f64> {
            let mut lines = VIRTUAL_CLUSTER.lines().map(|line| line.split('|'));
            let cells = lines.find(|cells| cells.clone().any(|cell| cell.trim() == parameter));
            let value = cells.and_then(|mut cells| cells.nth(2));
            Ok(value.ok_or("a factor is missing")?.trim().parse()?)
        };
        Ok(Self {
            shift: of("network.shift_bandwidth")?,
            exchange: of("network.exchange_bandwidth")?,
        })
    }

    /// The gain of two roots over one tree in full pipelines if combining takes no time.
    pub(crate) fn gain(self) -> f64 {
        2.0 * (1.0 + self.shift) / (3.0 * self.exchange)
    }
}

/// One of the two pipelines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipeline {
    algorithm: &'static Algorithm,
    /// Its column in the paper.
    column: usize,
}

impl Pipeline {
    /// One tree and two roots.
    pub(crate) fn both() -> Fallible<[Self; 2]> {
        let find = |column: usize| -> Fallible<Self> {
            let algorithm = schedule::find_algorithm(&format!("allreduce/{}", NAMES[column]));
            let algorithm = algorithm.ok_or("not in the registry")?;
            Ok(Self { algorithm, column })
        };
        Ok([find(2)?, find(3)?])
    }

    /// The constants of the pipelining lemma.
    pub(crate) fn lemma(self) -> Fallible<PipelineCost> {
        match self.algorithm.cost(SHAPE.ranks()) {
            Some(Cost::Pipelined { lemma, .. }) => Ok(lemma),
            _ => Err("no closed form".into()),
        }
    }

    /// The time with the paper's blocks.
    pub(crate) fn fixed(self, rates: Rates, elements: u64) -> Fallible<f64> {
        let predicted = predict(self.algorithm, rates, &call(elements));
        Ok(predicted.ok_or("no closed form")?.seconds)
    }

    /// The time with the best blocks, and their size in elements.
    pub(crate) fn best(self, rates: Rates, elements: u64) -> Fallible<(f64, u64)> {
        let best = predict_best(self.algorithm, rates, &call(elements)).ok_or("no closed form")?;
        Ok((best.seconds, best.block_bytes / ELEMENT_BYTES))
    }

    /// The average time of a step in a full pipeline, in times of a one-way message: half of one tree's steps are
    /// shifts, from a child to the parent or the other way, and all of two roots' are exchanges.
    fn step(self, factors: Factors) -> f64 {
        match self.algorithm.id {
            "dual_root" => factors.exchange,
            _ => f64::midpoint(1.0, factors.shift),
        }
    }

    /// The factors of alpha, beta and gamma with the paper's blocks.
    fn factors(self, elements: u64) -> Fallible<[f64; 3]> {
        let mut factors = [0.0; 3];
        for (place, factor) in factors.iter_mut().enumerate() {
            let one = |of: usize| if of == place { 1.0 } else { 0.0 };
            let rates = Rates {
                alpha: one(0),
                overhead: one(0),
                beta: one(1),
                gamma: Some(one(2)),
            };
            *factor = self.fixed(rates, elements)?;
        }
        Ok(factors)
    }

    pub(crate) fn measured(self, row: &Row) -> f64 {
        row.seconds[self.column]
    }
}

fn call(elements: u64) -> Call<'static> {
    Call {
        ranks: SHAPE.ranks(),
        bytes: ELEMENT_BYTES * elements,
        unit_bytes: ELEMENT_BYTES,
        parameters: Parameters {
            blocks: Some(Blocks::Size(BLOCK)),
            ..Parameters::default()
        },
        ..Call::default()
    }
}

/// A machine of one level with these factors, fitted to the closed forms of both pipelines.
///
/// With one block size, start-up times and times per byte cannot be distinguished if blocks are full:
/// `alpha` is the median over the short vectors, which have one block. With it, `beta` and `gamma`
/// have the least squares of relative errors over the long vectors.
pub(crate) fn rates(rows: &[Row], factors: Factors) -> Fallible<Rates> {
    let (mut alphas, mut equations) = (Vec::new(), Vec::new());
    for pipeline in Pipeline::both()? {
        let step = pipeline.step(factors);
        for row in rows {
            let seconds = pipeline.measured(row);
            let [start_up, sent, combined] = pipeline.factors(row.elements)?;
            if row.elements <= SHORT {
                alphas.push(seconds / start_up);
            } else if row.elements >= LONG {
                equations.push((seconds, [step * start_up, step * sent, combined]));
            }
        }
    }
    let alpha = statistics::median(&alphas).ok_or("no short vectors")?;
    let (mut normal, mut right) = ([[0.0; 2]; 2], [0.0; 2]);
    for (seconds, [start_up, sent, combined]) in equations {
        let (shares, left) = (
            [sent / seconds, combined / seconds],
            1.0 - start_up * alpha / seconds,
        );
        for (line, of_line) in normal.iter_mut().zip(shares) {
            for (cell, share) in line.iter_mut().zip(shares) {
                *cell += of_line * share;
            }
        }
        right = [right[0] + shares[0] * left, right[1] + shares[1] * left];
    }
    let [[a, b], [c, d]] = normal;
    let determinant = a * d - b * c;
    Ok(Rates {
        alpha,
        overhead: alpha,
        beta: (right[0] * d - right[1] * b) / determinant,
        gamma: Some((right[1] * a - right[0] * c) / determinant),
    })
}

/// One of the explanations of the long vectors' times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Explanation {
    pub(crate) factors: Factors,
    pub(crate) rates: Rates,
    /// The predicted gain for the longest vector.
    pub(crate) gain: f64,
    /// The median errors over the long vectors, of one tree and of two roots.
    pub(crate) errors: [f64; 2],
}

impl Explanation {
    pub(crate) fn new(rows: &[Row], factors: Factors) -> Fallible<Self> {
        let rates = rates(rows, factors)?;
        let gamma = rates.gamma.unwrap_or(0.0);
        let both = Pipeline::both()?;
        let seconds = |pipeline: Pipeline, row: &Row| -> Fallible<f64> {
            let [start_up, sent, combined] = pipeline.factors(row.elements)?;
            let sent = start_up * rates.alpha + sent * rates.beta;
            Ok(pipeline.step(factors) * sent + combined * gamma)
        };
        let long = || rows.iter().filter(|row| row.elements >= LONG);
        let mut errors = [f64::NAN; 2];
        for (error, pipeline) in errors.iter_mut().zip(both) {
            let of = |row: &Row| Ok((pipeline.measured(row) / seconds(pipeline, row)? - 1.0).abs());
            let all: Fallible<Vec<f64>> = long().map(of).collect();
            *error = statistics::median(&all?).ok_or("no long vectors")?;
        }
        let last = rows.last().ok_or("no rows")?;
        let [one, two] = both;
        Ok(Self {
            factors,
            rates,
            gain: seconds(one, last)? / seconds(two, last)?,
            errors,
        })
    }

    /// The time of combining a byte divided by that of sending it.
    pub(crate) fn combining(&self) -> f64 {
        self.rates.gamma.unwrap_or(0.0) / self.rates.beta
    }

    /// The explanation without any time for combining, among those that differ by one number.
    pub(crate) fn without_combining(
        rows: &[Row],
        factors: impl Fn(f64) -> Factors,
    ) -> Fallible<Self> {
        // The longer an exchange takes, the less time is left for combining.
        let (mut low, mut high) = (1.0, 2.0);
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            if Self::new(rows, factors(middle))?.combining() > 0.0 {
                low = middle
            } else {
                high = middle
            }
        }
        Self::new(rows, factors(low))
    }
}

/// The predicted and the measured gain for a number of elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gain {
    pub(crate) elements: u64,
    /// The time with one tree divided by that with two roots.
    pub(crate) measured: f64,
    /// The same by the closed forms, with the paper's blocks and with the best blocks of each.
    pub(crate) fixed: f64,
    pub(crate) best: f64,
    /// The best blocks of one tree and of two roots, in elements.
    pub(crate) blocks: [u64; 2],
    /// The factors by which the best blocks shorten the times of the closed forms.
    pub(crate) by_blocks: [f64; 2],
    /// Measured divided by expected times.
    pub(crate) errors: [f64; 2],
}

impl Gain {
    pub(crate) fn new(rates: Rates, row: &Row) -> Fallible<Self> {
        let [one, two] = Pipeline::both()?;
        let of = |pipeline: Pipeline| -> Fallible<_> {
            let fixed = pipeline.fixed(rates, row.elements)?;
            Ok((fixed, pipeline.best(rates, row.elements)?))
        };
        let ((one_fixed, one_best), (two_fixed, two_best)) = (of(one)?, of(two)?);
        let measured = [one.measured(row), two.measured(row)];
        Ok(Self {
            elements: row.elements,
            measured: measured[0] / measured[1],
            fixed: one_fixed / two_fixed,
            best: one_best.0 / two_best.0,
            blocks: [one_best.1, two_best.1],
            by_blocks: [one_fixed / one_best.0, two_fixed / two_best.0],
            errors: [measured[0] / one_fixed, measured[1] / two_fixed],
        })
    }
}

/// The predicted and measured gains at all counts, if both directions are free.
pub(crate) fn gains(rows: &[Row]) -> Fallible<Vec<Gain>> {
    let rates = rates(rows, Factors::FREE)?;
    rows.iter().map(|row| Gain::new(rates, row)).collect()
}

/// The median errors of the closed forms with the fitted rates, for one tree and two roots, over vectors with several
/// blocks.
pub(crate) fn residuals(gains: &[Gain]) -> [f64; 2] {
    [0, 1].map(|place| {
        let cut = gains.iter().filter(|gain| gain.elements >= SEVERAL);
        let errors: Vec<f64> = cut.map(|gain| (gain.errors[place] - 1.0).abs()).collect();
        statistics::median(&errors).unwrap_or(f64::NAN)
    })
}

/// The cost of a further block, in bytes sent: `c2 (alpha + beta B) + g2 gamma B`, divided by `beta B`.
pub(crate) fn steady(pipeline: Pipeline, rates: Rates, block_bytes: f64) -> Fallible<f64> {
    let PipelineCost { c2, g2, .. } = pipeline.lemma()?;
    let sent = 1.0 + rates.alpha / (rates.beta * block_bytes);
    let combined = rates.gamma.unwrap_or(0.0) / rates.beta;
    Ok(c2 as f64 * sent + g2 as f64 * combined)
}
