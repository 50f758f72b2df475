//! Calibration: machine parameters that the experiments do not determine well are fitted to the measured times of
//! colltune's own algorithms, all at once, by simulating these algorithms.
//!
//! The parameters are starts, bytes and exchanges of each protocol, messages whose sender has received or combined data
//! before, and vectors that do not fit into caches; argmin's L-BFGS searches them. With Open MPI on one node, messages
//! of received data took about twice as long where they were long, with MPICH no longer; perhaps such data have to come
//! from another core's cache. Ping-pongs do not show this, because they send the same data again and again.
//!
//! Each parameter is pulled towards the value from the experiments. Each half of the sizes is fitted as well, and the
//! calibration is not used if the halves predict each other worse than the experiments alone. Reports and `evaluate`
//! show how many predictions are off by more than 30 %, of this and of simpler models (`expected.rs`).

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use argmin::core::{CostFunction, Executor, Gradient};
use argmin::solver::linesearch::{BacktrackingLineSearch, condition::ArmijoCondition};
use argmin::solver::quasinewton::LBFGS;
use model::{Cache, Level, Line, Link, Machine, PostAhead};
use schedule::{Collective, Schedule};
use vocabulary::{Cell, CommShape, Subject, Through};

use crate::{MachineFit, PredictionCache, prediction};
use results::{Expected, Summary};

/// Schedules with more messages are left out: the search simulates each schedule hundreds of times.
const MOST_MESSAGES: f64 = 600.0;
/// The most times that are fitted to; of more, evenly spaced ones are taken, which keeps the search short.
const MOST_TIMES: usize = 400;
/// The fewest times that are fitted to: there are up to 18 parameters, and with fewer times nothing is fitted.
const FEWEST_TIMES: usize = 12;
/// If at most this share of predictions is off by more than 30 %, the parameters from experiments are kept.
const GOOD_SHARE: f64 = 0.02;
/// The scale of the pseudo-Huber loss: the absolute logarithm of measured/predicted at which it turns from quadratic
/// to linear.
const TYPICAL_ERROR: f64 = 0.1;
/// The most iterations of L-BFGS. On measured stores the last ones changed the loss, which was 0.97 to 1.9, by less
/// than 0.0001 each.
const ITERATIONS: u64 = 25;
/// The search ends when an iteration changes the loss by less than this: line searches that can gain nothing more
/// evaluate the loss up to two hundred times.
const LEAST_CHANGE: f64 = 1e-5;
/// The factor by which a line search shortens a step that is too long.
const SHORTER: f64 = 0.5;
/// The step of the finite differences that approximate the gradient, in logarithms of the parameters.
const STEP: f64 = 1e-3;

/// A calibrated machine's predecessors, from which the model's score is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The machine with the parameters from experiments alone.
    pub(crate) measured: Machine,
    /// The machines calibrated without the sizes of half 0, and without those of half 1 ([`SeriesSizes::half_of`]).
    pub(crate) halves: [Machine; 2],
}

/// The measured time of one of colltune's algorithms in a cell.
struct FittedTime {
    cell: Cell,
    through: Through,
    schedule: Schedule,
    seconds: f64,
    /// The half of the sizes to which its size belongs; `None` for the smallest and largest, which both halves have.
    side: Option<usize>,
}

/// The sizes of messages that are sent by one protocol: from `from` up to, but without, `end` bytes.
#[derive(Clone, Copy, Debug)]
struct ProtocolSizes {
    from: u64,
    end: u64,
}

/// A parameter that is fitted. The search varies the logarithm of a factor: the parameter is this factor times its
/// value from the experiments, or the factor itself where the experiments have no such parameter.
#[derive(Clone, Copy, Debug)]
enum FittedParameter {
    Alpha(Level, ProtocolSizes),
    Beta(Level, ProtocolSizes),
    Exchange(Level, ProtocolSizes),
    Fresh(Level, ProtocolSizes),
    CacheBytes,
    Beyond,
}

impl FittedParameter {
    /// The standard deviation of the prior: how far, in logarithms, the factor is expected to be from 1.
    fn prior_deviation(self) -> f64 {
        match self {
            Self::Alpha(..) => 0.5,
            Self::Beta(..) | Self::Exchange(..) => 0.3,
            Self::Fresh(..) | Self::CacheBytes | Self::Beyond => 1.0,
        }
    }

    fn apply_factor(self, machine: &mut Machine, factor: f64) {
        match self {
            Self::Alpha(level, sizes) => change_lines(machine, level, sizes, |line| {
                line.alpha *= factor;
                line.overhead = line.overhead.map(|overhead| overhead * factor);
            }),
            Self::Beta(level, sizes) => {
                change_lines(machine, level, sizes, |line| line.beta *= factor);
            }
            Self::Exchange(level, sizes) => change_lines(machine, level, sizes, |line| {
                line.exchange = Some(line.exchange.unwrap_or(1.0) * factor);
            }),
            Self::Fresh(level, sizes) => {
                change_lines(machine, level, sizes, |line| line.fresh = Some(factor));
            }
            Self::CacheBytes => {
                if let Some(cache) = &mut machine.cache {
                    cache.bytes *= factor;
                }
            }
            Self::Beyond => {
                if let Some(cache) = &mut machine.cache {
                    cache.beyond = factor;
                }
            }
        }
    }
}

fn link_mut(machine: &mut Machine, level: Level) -> Option<&mut Link> {
    match level {
        Level::Node => machine.node.as_mut(),
        Level::Network => machine.network.as_mut(),
        Level::Shared => machine.shared.as_mut(),
    }
}

fn change_lines(
    machine: &mut Machine,
    level: Level,
    of: ProtocolSizes,
    change: impl Fn(&mut Line),
) {
    let lines = link_mut(machine, level).map_or(&mut [][..], |link| &mut link.lines);
    let of_protocol = |line: &&mut Line| (of.from..of.end).contains(&line.from);
    lines.iter_mut().filter(of_protocol).for_each(change);
}

impl MachineFit {
    /// Fits parameters to the times of colltune's own algorithms, all at once: alpha, beta and the factor of exchanges
    /// of each protocol, the factor of messages with data that the sender has just received or combined, and the cache.
    ///
    /// This is done three times: for all sizes, and without either half of them, unless that half is empty. The fitted
    /// parameters replace those from experiments only if each half is, on the whole, predicted better by parameters
    /// that were fitted without it.
    pub fn calibrate(&mut self, summaries: &[Summary]) {
        let Some(mut measured) = self.machine.clone() else {
            return;
        };
        let times = self.times_to_fit(summaries);
        if times.len() < FEWEST_TIMES {
            return;
        }
        // Whether receives are posted ahead changes how times come about, so it is settled before factors are searched.
        measured.post_ahead = self.choose_post_ahead(&measured, &times);
        if measured.post_ahead != PostAhead::None {
            self.machine = Some(measured.clone());
            self.predictions = PredictionCache::default();
        }
        // If the experiments alone predict nearly all times, a fit could only follow noise.
        let errors = |machine: &Machine| -> Vec<f64> {
            times
                .iter()
                .map(|time| self.prediction_error(machine, time))
                .collect()
        };
        let before = errors(&measured);
        let off = before
            .iter()
            .filter(|error| Expected::is_off(**error))
            .count();
        if off as f64 <= GOOD_SHARE * times.len() as f64 {
            return;
        }
        // Searches are long, and that for all sizes is needed only if the halves show that fitting helps.
        let (start, parameters) = self.starting_machine(&measured, &times);
        let fitted = |on: &dyn Fn(&FittedTime) -> bool| {
            let search = FactorSearch {
                fit: self,
                start: &start,
                parameters: &parameters,
                times: times.iter().filter(|time| on(time)).collect(),
                best: RefCell::new(BestFactors {
                    loss: f64::INFINITY,
                    logarithms: vec![0.0; parameters.len()],
                }),
            };
            search.find_best_machine()
        };
        let fit_of_all = OnceCell::new();
        let fitted_to_all = || fit_of_all.get_or_init(|| fitted(&|_| true)).clone();
        let halves = [Some(0), Some(1)].map(|side| {
            if times.iter().any(|time| time.side == side) {
                fitted(&|time| time.side != side)
            } else {
                fitted_to_all()
            }
        });
        // Every time is judged by the fit that has not seen it.
        let losses = times.iter().zip(&before).filter_map(|(time, before)| {
            let half = &halves[time.side?];
            Some((
                pseudo_huber_loss(self.prediction_error(half, time)),
                pseudo_huber_loss(*before),
            ))
        });
        let (with_fit, without_fit) = losses
            .fold((0.0, 0.0), |(with_sum, without_sum), (with, without)| {
                (with_sum + with, without_sum + without)
            });
        if with_fit < without_fit {
            self.machine = Some(fitted_to_all());
            self.predictions = PredictionCache::default();
            self.calibration = Some(Box::new(Calibration { measured, halves }));
        }
    }

    /// Simulates the times with all long receives posted ahead and with none, and returns what predicts them better.
    fn choose_post_ahead(&self, machine: &Machine, times: &[FittedTime]) -> PostAhead {
        let with = |post_ahead| {
            let machine = Machine {
                post_ahead,
                ..machine.clone()
            };
            times
                .iter()
                .map(|time| pseudo_huber_loss(self.prediction_error(&machine, time)))
                .sum::<f64>()
        };
        if with(PostAhead::All) < with(PostAhead::None) {
            PostAhead::All
        } else {
            PostAhead::None
        }
    }

    /// The times that are fitted to.
    fn times_to_fit(&self, summaries: &[Summary]) -> Vec<FittedTime> {
        let sizes = SeriesSizes::from_summaries(summaries);
        let mut times: Vec<FittedTime> = summaries
            .iter()
            .filter_map(|summary| {
                let cell = summary.subject.cell()?;
                let schedule = prediction::candidate_schedule(self, &cell, &summary.candidate)?;
                (model::expected_messages(&schedule) <= MOST_MESSAGES).then_some(FittedTime {
                    cell,
                    through: summary.candidate.parameters().through,
                    schedule,
                    seconds: summary.median_seconds,
                    side: sizes.half_of(&cell),
                })
            })
            .filter(|time| self.simulate_time(self.machine.as_ref(), time).is_some())
            .collect();
        let every = times.len().div_ceil(MOST_TIMES).max(1);
        let mut number = 0;
        times.retain(|_| {
            number += 1;
            number % every == 0
        });
        times
    }

    /// The machine with which the search begins, and the parameters to fit. It predicts the same times as `measured`, and
    /// has a line for each protocol and a cache, on which the parameters act.
    fn starting_machine(
        &self,
        measured: &Machine,
        times: &[FittedTime],
    ) -> (Machine, Vec<FittedParameter>) {
        let mut machine = measured.clone();
        let mut parameters = Vec::new();
        for level in [Level::Node, Level::Network, Level::Shared] {
            let Some(link) = link_mut(&mut machine, level) else {
                continue;
            };
            if link.lines.is_empty() {
                link.lines = vec![link.line_for_size(0)];
            }
            for protocol in self.protocols_of_level(level) {
                parameters.extend([
                    FittedParameter::Alpha(level, protocol),
                    FittedParameter::Beta(level, protocol),
                    FittedParameter::Exchange(level, protocol),
                    FittedParameter::Fresh(level, protocol),
                ]);
            }
        }
        if machine.node.is_some() {
            let bytes =
                |time: &FittedTime| time.cell.vector_bytes() * u64::from(time.cell.shape.ppn);
            let most = times.iter().map(bytes).max().unwrap_or(1);
            machine.cache = Some(Cache {
                bytes: most as f64 / 2.0,
                beyond: 1.0,
            });
            parameters.extend([FittedParameter::CacheBytes, FittedParameter::Beyond]);
        }
        (machine, parameters)
    }

    /// The protocols of a level, from the segments of its ping-pongs; one for all sizes if these are not known.
    fn protocols_of_level(&self, level: Level) -> Vec<ProtocolSizes> {
        let segments = self
            .segments
            .iter()
            .filter(|segment| segment.level == level);
        let froms: Vec<u64> = segments.map(|segment| segment.from_bytes).skip(1).collect();
        let ends = froms.iter().copied().chain([u64::MAX]);
        let protocols = std::iter::once(0).chain(froms.iter().copied()).zip(ends);
        protocols
            .map(|(from, end)| ProtocolSizes { from, end })
            .collect()
    }

    fn simulate_time(&self, machine: Option<&Machine>, time: &FittedTime) -> Option<f64> {
        let machine = self.machine_for_cell(&time.cell, time.through, machine?)?;
        let seconds = prediction::simulate_schedule(self, &machine, &time.cell, &time.schedule)?;
        (seconds > 0.0).then_some(seconds)
    }

    /// The logarithm of measured/predicted time.
    fn prediction_error(&self, machine: &Machine, time: &FittedTime) -> f64 {
        let predicted = self.simulate_time(Some(machine), time);
        predicted.map_or(f64::INFINITY, |predicted| (time.seconds / predicted).ln())
    }
}

/// The sizes measured of each collective on each shape.
pub(crate) struct SeriesSizes(BTreeMap<(Collective, CommShape), BTreeSet<u64>>);

impl SeriesSizes {
    pub(crate) fn from_summaries(summaries: &[Summary]) -> Self {
        let mut sizes: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
        for summary in summaries {
            if let Subject::Cell(cell) = summary.subject {
                let of_series = sizes.entry((cell.collective, cell.shape)).or_default();
                of_series.insert(cell.bytes);
            }
        }
        Self(sizes)
    }

    /// The half, 0 or 1, to which a size belongs: sizes alternate between the halves. `None` for the smallest and the
    /// largest size. A size that was not measured belongs to the half of the next lower one.
    pub(crate) fn half_of(&self, cell: &Cell) -> Option<usize> {
        let sizes = self.0.get(&(cell.collective, cell.shape))?;
        let is_inner = *sizes.first()? < cell.bytes && cell.bytes < *sizes.last()?;
        is_inner.then(|| sizes.range(..=cell.bytes).count() % 2)
    }
}

/// The pseudo-Huber loss of an error in units of [`TYPICAL_ERROR`].
fn pseudo_huber_loss(error: f64) -> f64 {
    (error / TYPICAL_ERROR).hypot(1.0) - 1.0
}

/// The factors with the smallest loss so far.
struct BestFactors {
    loss: f64,
    logarithms: Vec<f64>,
}

/// The search for the factors with the smallest loss.
struct FactorSearch<'a> {
    fit: &'a MachineFit,
    start: &'a Machine,
    parameters: &'a [FittedParameter],
    times: Vec<&'a FittedTime>,
    /// The gradient jumps where another message becomes part of the critical path, so that the line search may fail; the
    /// smallest loss found before is then the result.
    best: RefCell<BestFactors>,
}

impl FactorSearch<'_> {
    fn machine_with(&self, logarithms: &[f64]) -> Machine {
        let mut machine = self.start.clone();
        for (parameter, logarithm) in self.parameters.iter().zip(logarithms) {
            parameter.apply_factor(&mut machine, logarithm.exp());
        }
        machine
    }

    /// The mean loss of all times, with the penalty of the prior.
    fn mean_loss(&self, logarithms: &[f64]) -> f64 {
        let machine = self.machine_with(logarithms);
        let errors = self
            .times
            .iter()
            .map(|time| pseudo_huber_loss(self.fit.prediction_error(&machine, time)));
        let far = self.parameters.iter().zip(logarithms);
        let far =
            far.map(|(parameter, logarithm)| (logarithm / parameter.prior_deviation()).powi(2));
        (errors.sum::<f64>() + far.sum::<f64>()) / self.times.len().max(1) as f64
    }

    /// The machine with the smallest loss that the search met.
    fn find_best_machine(self) -> Machine {
        let start = vec![0.0; self.parameters.len()];
        let search = || {
            let line_search = BacktrackingLineSearch::new(ArmijoCondition::new(1e-4)?);
            let solver =
                LBFGS::new(line_search.rho(SHORTER)?, 7).with_tolerance_cost(LEAST_CHANGE)?;
            Executor::new(&self, solver)
                .configure(|state| state.param(start).max_iters(ITERATIONS))
                .timer(false)
                .run()
        };
        // An error ends the search; `best` has what it found before.
        let _ = search();
        let best = self.best.borrow().logarithms.clone();
        self.machine_with(&best)
    }
}

impl CostFunction for &FactorSearch<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, logarithms: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        let loss = self.mean_loss(logarithms);
        let mut best = self.best.borrow_mut();
        if loss < best.loss {
            *best = BestFactors {
                loss,
                logarithms: logarithms.clone(),
            };
        }
        Ok(loss)
    }
}

impl Gradient for &FactorSearch<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, logarithms: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        let here = self.mean_loss(logarithms);
        let slope = |place: usize| {
            let mut moved = logarithms.clone();
            moved[place] += STEP;
            (self.mean_loss(&moved) - here) / STEP
        };
        Ok((0..logarithms.len()).map(slope).collect())
    }
}
