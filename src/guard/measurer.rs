//! Launching points.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use launcher::LaunchError;
use store::Store;
use tuner::{CampaignProgress, MeasurementContext, Observer, TunerError, measure_cells};
use vocabulary::{Candidate, Cell, CommShape, Pattern, RankOrder, Sample, Subject};

use crate::{GuardError, Point};

/// What some launches measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// The median of each launch in seconds, by ascending launch: pairs of one launch may be compared.
    pub medians: BTreeMap<(Cell, Candidate), Vec<(u32, f64)>>,
    /// Candidates that failed.
    pub broken: Vec<FailedCandidate>,
    /// Whether time was up before everything asked for was measured.
    pub is_out_of_time: bool,
    /// The order in which ranks stood on their nodes, where launches told it.
    pub orders: BTreeMap<CommShape, RankOrder>,
}

/// A point of which nothing can be told, as ranks stood in another order on their nodes than when its rules
/// were made.
#[derive(Clone, Debug, PartialEq)]
pub struct Misplaced {
    /// The point.
    pub point: Point,
    /// The order of ranks in the launches.
    pub found: RankOrder,
}

/// A candidate that could not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCandidate {
    /// Where.
    pub cell: Cell,
    /// Which.
    pub candidate: Candidate,
    /// The kind of failure, and what was seen.
    pub message: String,
}

impl Times {
    /// The points of which these times tell, and those of rules for another order of ranks than that of the
    /// launches.
    pub(crate) fn in_order(
        &self,
        points: &[Point],
    ) -> Result<(Vec<Point>, Vec<Misplaced>), GuardError> {
        let (mut told, mut misplaced) = (Vec::new(), Vec::new());
        for point in points.iter().cloned() {
            let shape = point.cell.shape;
            match self.orders.get(&shape).map(|order| order.on(shape)) {
                Some(found) if !point.order.on(shape).may_be(found) => {
                    misplaced.push(Misplaced { point, found });
                }
                _ => told.push(point),
            }
        }
        match misplaced.first().filter(|_| told.is_empty()) {
            Some(first) => Err(GuardError::OtherOrder {
                shape: first.point.cell.shape,
                table: first.point.order,
                found: first.found,
            }),
            None => Ok((told, misplaced)),
        }
    }

    /// The medians of a candidate; none if it was not measured.
    pub fn of(&self, cell: &Cell, candidate: &Candidate) -> &[(u32, f64)] {
        let known = self.medians.get(&(*cell, candidate.clone()));
        known.map_or(&[], Vec::as_slice)
    }

    /// How a candidate failed in a cell.
    pub fn broken(&self, cell: &Cell, candidate: &Candidate) -> Option<&FailedCandidate> {
        let is_it =
            |broken: &&FailedCandidate| broken.cell == *cell && broken.candidate == *candidate;
        self.broken.iter().find(is_it)
    }
}

/// Whatever can measure cells.
pub trait Measurer {
    /// Measures cells with all their candidates, the default first, in `launches` further launches; returns what
    /// these launches measured. It may be less than asked for, when time is up.
    ///
    /// # Errors
    /// If nothing can be launched.
    fn measure(
        &mut self,
        cells: &[(Cell, Vec<Candidate>)],
        launches: u32,
    ) -> Result<Times, GuardError>;
}

/// Launches in the workplace's own way, into its store.
pub struct Launches<'a> {
    at: &'a MeasurementContext,
    observer: &'a mut dyn Observer,
    stop: &'a AtomicBool,
    /// Launches asked for so far.
    asked: u32,
}

impl<'a> Launches<'a> {
    /// Launches into a store in which nothing is yet; setting `stop` ends the one under way.
    pub fn new(
        at: &'a MeasurementContext,
        observer: &'a mut dyn Observer,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            at,
            observer,
            stop,
            asked: 0,
        }
    }
}

impl Measurer for Launches<'_> {
    fn measure(
        &mut self,
        cells: &[(Cell, Vec<Candidate>)],
        launches: u32,
    ) -> Result<Times, GuardError> {
        self.asked += launches;
        let more = measure_more(self.at, cells, self.asked, self.observer, self.stop)?;
        let pattern = self.at.campaign.pattern;
        let mut times =
            Times::of_samples(&more.samples, pattern, broken(self.at)?, orders(self.at)?)?;
        times.is_out_of_time = more.is_out_of_time;
        Ok(times)
    }
}

impl Times {
    /// What samples and failures say, and how ranks stood.
    pub(crate) fn of_samples(
        samples: &[Sample],
        pattern: Pattern,
        broken: Vec<FailedCandidate>,
        orders: BTreeMap<CommShape, RankOrder>,
    ) -> Result<Self, GuardError> {
        let mut medians = BTreeMap::new();
        for summary in fit::summarise(samples, pattern).map_err(TunerError::from)? {
            if let Subject::Cell(cell) = summary.subject {
                medians.insert((cell, summary.candidate), summary.launch_medians);
            }
        }
        Ok(Self {
            medians,
            broken,
            orders,
            is_out_of_time: false,
        })
    }
}

/// What further launches measured.
pub(crate) struct More {
    pub(crate) samples: Vec<Sample>,
    /// The value of [`Times::is_out_of_time`].
    pub(crate) is_out_of_time: bool,
}

/// Measures cells until the workplace's store has `launches` launches of them; returns what was added to it.
pub(crate) fn measure_more(
    at: &MeasurementContext,
    cells: &[(Cell, Vec<Candidate>)],
    launches: u32,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<More, GuardError> {
    let path = &at.campaign.output.store;
    let first = match path.exists() {
        true => Store::open(path)?.next_launch()?,
        false => 1,
    };
    let measured = measure_cells(at, cells, launches, observer, stop);
    // Launchers of one user may get into each other's way: Open MPI's share a folder for their sessions,
    // which the last to end removes, perhaps under the next one's feet.
    let CampaignProgress { done, total } = match measured {
        Err(TunerError::Launch(LaunchError::Failed { .. })) => {
            measure_cells(at, cells, launches, observer, stop)?
        }
        measured => measured?,
    }
    .progress;
    let mut samples = Store::open(path)?.samples(&at.library, at.campaign.pattern)?;
    samples.retain(|sample| sample.launch >= first);
    Ok(More {
        samples,
        is_out_of_time: done < total,
    })
}

/// How ranks stood in the launches of the workplace's store.
pub(crate) fn orders(
    at: &MeasurementContext,
) -> Result<BTreeMap<CommShape, RankOrder>, GuardError> {
    Ok(Store::open(&at.campaign.output.store)?.rank_orders(&at.library)?)
}

/// What failed in the workplace's store.
pub(crate) fn broken(at: &MeasurementContext) -> Result<Vec<FailedCandidate>, GuardError> {
    let failures = Store::open(&at.campaign.output.store)?.failures(&at.library)?;
    let of_cell = failures.into_iter().filter_map(|failure| {
        let Subject::Cell(cell) = failure.subject else {
            return None;
        };
        Some(FailedCandidate {
            cell,
            candidate: failure.candidate,
            message: format!("{}: {}", failure.kind.name(), failure.message),
        })
    });
    Ok(of_cell.collect())
}
