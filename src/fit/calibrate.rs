//! Parameters that experiments leave open or do not tell well, from the collectives' own times.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use argmin::core::{CostFunction, Executor, Gradient};
use argmin::solver::linesearch::{BacktrackingLineSearch, condition::ArmijoCondition};
use argmin::solver::quasinewton::LBFGS;
use model::{Cache, Level, Line, Link, Machine, Setting, Topology, simulate};
use schedule::{Collective, Schedule};
use vocabulary::{Candidate, Cell, CommShape, Subject};

use crate::{Foreseen, MachineFit};
use results::{Expected, Summary};

/// A simulation of more messages takes too long to be repeated a thousand times.
const MOST_MESSAGES: f64 = 600.0;
/// More times tell no more.
const MOST_TIMES: usize = 400;
/// Fewer leave parameters to chance.
const FEWEST_TIMES: usize = 12;
/// Where fewer predictions are off by more than 30 %, the experiments tell enough.
const GOOD_SHARE: f64 = 0.02;
/// The error of a time, as a logarithm, beyond which it counts by its size and not by its square.
const TYPICAL_ERROR: f64 = 0.1;
/// Steps of the search, which hardly finds anything after the tenth.
const ITERATIONS: u64 = 25;
/// Difference of logarithms by which slopes are found.
const STEP: f64 = 1e-3;

/// What a machine was fitted from.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The machine by the experiments alone.
    pub(crate) measured: Machine,
    /// The machine without the sizes of side 0, and without those of side 1.
    pub(crate) halves: [Machine; 2],
}

/// A measured time of one of ours.
struct Time {
    cell: Cell,
    schedule: Schedule,
    seconds: f64,
    /// On which side it is where every second size is held out, if it ever is.
    side: Option<usize>,
}

/// Messages of one protocol, by their sizes.
#[derive(Clone, Copy, Debug)]
struct Protocol {
    from: u64,
    end: u64,
}

/// A parameter that is fitted: its value is that of the experiments, or what makes no difference, times
/// the exponential of what the search finds.
#[derive(Clone, Copy, Debug)]
enum Knob {
    Alpha(Level, Protocol),
    Beta(Level, Protocol),
    Exchange(Level, Protocol),
    Fresh(Level, Protocol),
    CacheBytes,
    Beyond,
}

impl Knob {
    /// By how much, as a standard deviation of logarithms, it is expected to differ from its start.
    fn spread(self) -> f64 {
        match self {
            Self::Alpha(..) => 0.5,
            Self::Beta(..) | Self::Exchange(..) => 0.3,
            Self::Fresh(..) | Self::CacheBytes | Self::Beyond => 1.0,
        }
    }

    fn apply(self, machine: &mut Machine, factor: f64) {
        match self {
            Self::Alpha(level, sizes) => with_lines(machine, level, sizes, |line| {
                line.alpha *= factor;
                line.overhead = line.overhead.map(|overhead| overhead * factor);
            }),
            Self::Beta(level, sizes) => {
                with_lines(machine, level, sizes, |line| line.beta *= factor);
            }
            Self::Exchange(level, sizes) => with_lines(machine, level, sizes, |line| {
                line.exchange = Some(line.exchange.unwrap_or(1.0) * factor);
            }),
            Self::Fresh(level, sizes) => {
                with_lines(machine, level, sizes, |line| line.fresh = Some(factor));
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

fn link(machine: &mut Machine, level: Level) -> Option<&mut Link> {
    match level {
        Level::Node => machine.node.as_mut(),
        Level::Network => machine.network.as_mut(),
    }
}

fn with_lines(machine: &mut Machine, level: Level, of: Protocol, change: impl Fn(&mut Line)) {
    let lines = link(machine, level).map_or(&mut [][..], |link| &mut link.lines);
    let of_protocol = |line: &&mut Line| (of.from..of.end).contains(&line.from);
    lines.iter_mut().filter(of_protocol).for_each(change);
}

impl MachineFit {
    /// Fits what experiments do not tell to the times of our algorithms, all parameters at once: starts and
    /// bytes of each line in calls, exchanges, data that the sender has just made, and caches.
    ///
    /// It is done on all sizes and on both halves of them. The fitted parameters are used if those of
    /// either half predict the other half better than the experiments alone do.
    pub fn calibrate(&mut self, summaries: &[Summary]) {
        let Some(measured) = self.machine.clone() else {
            return;
        };
        let times = self.times(summaries);
        let errors = |machine: &Machine| -> Vec<f64> {
            times.iter().map(|time| self.error(machine, time)).collect()
        };
        let before = errors(&measured);
        let off = before
            .iter()
            .filter(|error| Expected::is_off(**error))
            .count();
        if times.len() < FEWEST_TIMES || off as f64 <= GOOD_SHARE * times.len() as f64 {
            return;
        }
        let (start, knobs) = self.start(&measured, &times);
        let fitted = |on: &dyn Fn(&Time) -> bool| {
            let times = times.iter().filter(|time| on(time)).collect();
            Search::new(self, &start, &knobs, times).run()
        };
        let halves = [0, 1].map(|side| fitted(&|time: &Time| time.side != Some(side)));
        let losses = times.iter().zip(&before).filter_map(|(time, before)| {
            let half = &halves[time.side?];
            Some((loss(self.error(half, time)), loss(*before)))
        });
        let sums = losses.fold((0.0, 0.0), |sums, (with, without)| {
            (sums.0 + with, sums.1 + without)
        });
        if sums.0 < sums.1 {
            self.machine = Some(fitted(&|_| true));
            self.foreseen = Foreseen::default();
            self.calibration = Some(Box::new(Calibration { measured, halves }));
        }
    }

    /// The times that are fitted to, of which none is much longer to simulate than others.
    fn times(&self, summaries: &[Summary]) -> Vec<Time> {
        let sizes = Sizes::of(summaries);
        let mut times: Vec<Time> = summaries
            .iter()
            .filter_map(|summary| {
                let (Subject::Cell(cell), Candidate::Ours { .. }) =
                    (summary.subject, &summary.candidate)
                else {
                    return None;
                };
                let parameters = summary.candidate.parameters();
                let algorithm = schedule::find(summary.candidate.algorithm())?;
                let schedule = Schedule::new(algorithm, &cell.request(&parameters)).ok()?;
                (model::expected_messages(&schedule) <= MOST_MESSAGES).then_some(Time {
                    cell,
                    schedule,
                    seconds: summary.median_seconds,
                    side: sizes.side(&cell),
                })
            })
            .filter(|time| self.seconds(self.machine.as_ref(), time).is_some())
            .collect();
        let every = times.len().div_ceil(MOST_TIMES).max(1);
        let mut number = 0;
        times.retain(|_| {
            number += 1;
            number % every == 0
        });
        times
    }

    /// The machine that the search begins with, on which nothing takes another time, and what is fitted.
    fn start(&self, measured: &Machine, times: &[Time]) -> (Machine, Vec<Knob>) {
        let mut machine = measured.clone();
        let mut knobs = Vec::new();
        for level in [Level::Node, Level::Network] {
            let Some(link) = link(&mut machine, level) else {
                continue;
            };
            if link.lines.is_empty() {
                link.lines = vec![link.line(0)];
            }
            for protocol in self.protocols(level) {
                knobs.extend([
                    Knob::Alpha(level, protocol),
                    Knob::Beta(level, protocol),
                    Knob::Exchange(level, protocol),
                    Knob::Fresh(level, protocol),
                ]);
            }
        }
        if machine.node.is_some() {
            let bytes = |time: &Time| time.cell.vector_bytes() * u64::from(time.cell.shape.ppn);
            let most = times.iter().map(bytes).max().unwrap_or(1);
            machine.cache = Some(Cache {
                bytes: most as f64 / 2.0,
                beyond: 1.0,
            });
            knobs.extend([Knob::CacheBytes, Knob::Beyond]);
        }
        (machine, knobs)
    }

    /// The protocol segments of a level; one for all sizes if none are known.
    fn protocols(&self, level: Level) -> Vec<Protocol> {
        let segments = self
            .segments
            .iter()
            .filter(|segment| segment.level == level);
        let froms: Vec<u64> = segments.map(|segment| segment.from_bytes).skip(1).collect();
        let ends = froms.iter().copied().chain([u64::MAX]);
        let protocols = std::iter::once(0).chain(froms.iter().copied()).zip(ends);
        protocols
            .map(|(from, end)| Protocol { from, end })
            .collect()
    }

    fn seconds(&self, machine: Option<&Machine>, time: &Time) -> Option<f64> {
        let machine = self.machine_of(&time.cell, machine?);
        let setting = Setting {
            machine: &machine,
            topology: Topology::new(time.cell.shape.nodes, time.cell.shape.ppn, self.placement),
            unit_bytes: time.cell.datatype.size_bytes(),
        };
        let seconds = simulate(&time.schedule, &setting).ok()?.seconds;
        (seconds > 0.0).then_some(seconds)
    }

    /// The logarithm of the measured time to the predicted one.
    fn error(&self, machine: &Machine, time: &Time) -> f64 {
        let predicted = self.seconds(Some(machine), time);
        predicted.map_or(f64::INFINITY, |predicted| (time.seconds / predicted).ln())
    }
}

/// The sizes measured of each collective on each shape.
pub(crate) struct Sizes(BTreeMap<(Collective, CommShape), BTreeSet<u64>>);

impl Sizes {
    pub(crate) fn of(summaries: &[Summary]) -> Self {
        let mut sizes: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
        for summary in summaries {
            if let Subject::Cell(cell) = summary.subject {
                let of_series = sizes.entry((cell.collective, cell.shape)).or_default();
                of_series.insert(cell.bytes);
            }
        }
        Self(sizes)
    }

    /// The side of a size between the smallest and the largest, which have none: every second one is on
    /// side 0, the others on side 1. One that was not fitted to is on the side of the next lower one.
    pub(crate) fn side(&self, cell: &Cell) -> Option<usize> {
        let sizes = self.0.get(&(cell.collective, cell.shape))?;
        let is_inner = *sizes.first()? < cell.bytes && cell.bytes < *sizes.last()?;
        is_inner.then(|| sizes.range(..=cell.bytes).count() % 2)
    }
}

/// Pseudo-Huber, in units of [`TYPICAL_ERROR`].
fn loss(error: f64) -> f64 {
    (error / TYPICAL_ERROR).hypot(1.0) - 1.0
}

/// The search for the factors with the least loss.
struct Search<'a> {
    fit: &'a MachineFit,
    start: &'a Machine,
    knobs: &'a [Knob],
    times: Vec<&'a Time>,
    /// What has been found so far, whatever ends the search: slopes jump where another message becomes
    /// critical, which line searches do not bear.
    best: RefCell<(f64, Vec<f64>)>,
}

impl<'a> Search<'a> {
    fn new(
        fit: &'a MachineFit,
        start: &'a Machine,
        knobs: &'a [Knob],
        times: Vec<&'a Time>,
    ) -> Self {
        let best = RefCell::new((f64::INFINITY, vec![0.0; knobs.len()]));
        Self {
            fit,
            start,
            knobs,
            times,
            best,
        }
    }

    fn machine(&self, logarithms: &[f64]) -> Machine {
        let mut machine = self.start.clone();
        for (knob, logarithm) in self.knobs.iter().zip(logarithms) {
            knob.apply(&mut machine, logarithm.exp());
        }
        machine
    }

    /// The loss of all times, and one for parameters far from where they are expected.
    fn loss(&self, logarithms: &[f64]) -> f64 {
        let machine = self.machine(logarithms);
        let errors = self
            .times
            .iter()
            .map(|time| loss(self.fit.error(&machine, time)));
        let far = self.knobs.iter().zip(logarithms);
        let far = far.map(|(knob, logarithm)| (logarithm / knob.spread()).powi(2));
        (errors.sum::<f64>() + far.sum::<f64>()) / self.times.len().max(1) as f64
    }

    /// The machine with the least loss that was met.
    fn run(self) -> Machine {
        let nowhere = vec![0.0; self.knobs.len()];
        if let Ok(condition) = ArmijoCondition::new(1e-4) {
            let solver = LBFGS::new(BacktrackingLineSearch::new(condition), 7);
            // However it ends, the best is known.
            let _ = Executor::new(&self, solver)
                .configure(|state| state.param(nowhere).max_iters(ITERATIONS))
                .timer(false)
                .run();
        }
        let best = self.best.borrow().1.clone();
        self.machine(&best)
    }
}

impl CostFunction for &Search<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, logarithms: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        let loss = self.loss(logarithms);
        let mut best = self.best.borrow_mut();
        if loss < best.0 {
            *best = (loss, logarithms.clone());
        }
        Ok(loss)
    }
}

impl Gradient for &Search<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, logarithms: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        let here = self.loss(logarithms);
        let slope = |place: usize| {
            let mut moved = logarithms.clone();
            moved[place] += STEP;
            (self.loss(&moved) - here) / STEP
        };
        Ok((0..logarithms.len()).map(slope).collect())
    }
}
