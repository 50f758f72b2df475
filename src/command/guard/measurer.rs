//! Measurers of points, and the times that they return.
//!
//! There are three kinds: launches of default, chosen candidate and runner-up together, with the library's own
//! algorithms forced (`validate.rs`, `check.rs`); launches with and without an exported table in turns
//! (`alternating.rs`); and, in tests, scripts and simulated machines.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use launcher::LaunchError;
use statistics::median;
use store::Store;
use tuner::{MeasurementContext, Observer, TunerError, measure_cells};
use vocabulary::{
    CampaignProgress, Candidate, Cell, CommShape, Library, RankOrder, Sample, Warning,
};
use wire::Environment;

use crate::{GuardError, Point};

/// The measurements of some launches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchTimes {
    /// The median of each launch in seconds, by ascending launch; times of the same launch may be compared.
    pub medians: BTreeMap<(Cell, Candidate), Vec<(u32, f64)>>,
    /// Candidates that failed.
    pub broken: Vec<FailedCandidate>,
    /// Whether time was up before everything asked for was measured.
    pub is_out_of_time: bool,
    /// The order of ranks on their nodes, if the launches reported it.
    pub orders: BTreeMap<CommShape, RankOrder>,
    /// The warning of the launch during which most other work was running; `None` if there was none.
    pub busy: Option<Warning>,
    /// The warning that the default of launches was not the library's own choice; `None` if it was.
    pub steered: Option<Warning>,
    /// What was measured; `None` if no launch has told.
    pub tested_on: Option<TestedOn>,
}

/// The machine and the library that launches found, without what differs from one launch to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestedOn {
    /// The CPU model of rank 0's host.
    pub cpu: String,
    /// The kernel of rank 0's host.
    pub kernel: String,
    /// The first line of `MPI_Get_library_version`.
    pub library_text: String,
    /// The library's transports, if it reports them.
    pub transports: Vec<String>,
}

impl TestedOn {
    fn from_environment(environment: &Environment) -> Self {
        let Environment {
            cpu,
            kernel,
            library_text,
            transports,
            ..
        } = environment.clone();
        Self {
            cpu,
            kernel,
            library_text,
            transports,
        }
    }
}

/// A point that cannot be judged because its rules were made for another order of ranks on their nodes.
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
    /// The cell.
    pub cell: Cell,
    /// The candidate.
    pub candidate: Candidate,
    /// The kind of failure and its message.
    pub message: String,
}

impl LaunchTimes {
    /// The times of samples in a context's pattern of calls, with the orders of ranks of the launches in its store.
    pub(crate) fn from_samples(
        at: &MeasurementContext,
        samples: &[Sample],
        broken: Vec<FailedCandidate>,
        is_out_of_time: bool,
    ) -> Result<Self, GuardError> {
        let summaries =
            fit::summarise_samples(samples, at.campaign.pattern).map_err(TunerError::from)?;
        let medians = summaries.into_iter().filter_map(|summary| {
            let key = (summary.subject.cell()?, summary.candidate);
            Some((key, summary.launch_medians))
        });
        let store = Store::open(&at.campaign.output.store)?;
        let launches = store.environments(&at.library)?;
        let newest = launches.last();
        let tested_on = newest.map(|(_, start)| TestedOn::from_environment(&start.environment));
        let warnings = launches
            .into_iter()
            .flat_map(|(_, start)| start.environment.warnings);
        Ok(Self {
            medians: medians.collect(),
            broken,
            is_out_of_time,
            orders: store.rank_orders(&at.library)?,
            // The warnings are ordered by the load.
            busy: warnings
                .filter(|warning| matches!(warning, Warning::BusyMachine { .. }))
                .max(),
            steered: find_steered_default(&at.campaign.output.store, &at.library)?,
            tested_on,
        })
    }

    /// The points that these times can judge, and those whose rules are for another order of ranks.
    ///
    /// # Errors
    /// If nothing was measured, or no point can be judged.
    pub(crate) fn split_by_rank_order(
        &self,
        points: &[Point],
    ) -> Result<(Vec<Point>, Vec<Misplaced>), GuardError> {
        if self.medians.is_empty() && self.broken.is_empty() {
            return Err(GuardError::NothingMeasured);
        }
        let (mut judged, mut misplaced) = (Vec::new(), Vec::new());
        for point in points.iter().cloned() {
            let shape = point.cell.shape;
            match self.orders.get(&shape).map(|order| order.on_shape(shape)) {
                Some(found) if !point.order.on_shape(shape).may_be(found) => {
                    misplaced.push(Misplaced { point, found });
                }
                _ => judged.push(point),
            }
        }
        match misplaced.first().filter(|_| judged.is_empty()) {
            Some(first) => Err(GuardError::OtherOrder {
                shape: first.point.cell.shape,
                table: first.point.order,
                found: first.found,
            }),
            None => Ok((judged, misplaced)),
        }
    }

    /// Adds the times of later launches.
    pub(crate) fn add_later(&mut self, later: Self) {
        for (key, medians) in later.medians {
            self.medians.entry(key).or_default().extend(medians);
        }
        self.broken.extend(later.broken);
        self.is_out_of_time |= later.is_out_of_time;
        self.orders.extend(later.orders);
        self.busy = self.busy.take().max(later.busy);
        self.steered = later.steered.or(self.steered.take());
        self.tested_on = later.tested_on.or(self.tested_on.take());
    }

    /// The medians of a candidate; empty if it was not measured.
    pub fn launch_medians(&self, cell: &Cell, candidate: &Candidate) -> &[(u32, f64)] {
        let known = self.medians.get(&(*cell, candidate.clone()));
        known.map_or(&[], Vec::as_slice)
    }

    /// The median of a candidate's medians.
    pub(crate) fn median_seconds(&self, cell: &Cell, candidate: &Candidate) -> Option<f64> {
        let medians = self.launch_medians(cell, candidate).iter();
        median(&medians.map(|(_, seconds)| *seconds).collect::<Vec<f64>>())
    }

    /// The failure of a candidate in a cell.
    pub fn failure_of(&self, cell: &Cell, candidate: &Candidate) -> Option<&FailedCandidate> {
        let is_it =
            |broken: &&FailedCandidate| broken.cell == *cell && broken.candidate == *candidate;
        self.broken.iter().find(is_it)
    }
}

/// The warning of the first launch in a store whose default was not the library's own choice.
pub(crate) fn find_steered_default(
    store: &Path,
    library: &Library,
) -> Result<Option<Warning>, GuardError> {
    let launches = Store::open(store)?.environments(library)?;
    let mut warnings = launches
        .into_iter()
        .flat_map(|(_, start)| start.environment.warnings);
    Ok(warnings.find(|warning| matches!(warning, Warning::SteeredDefault { .. })))
}

/// A way to measure cells.
pub trait Measurer {
    /// Measures cells with all their candidates, the default first, in `launches` further launches. Returns the times
    /// of these launches; some are missing if time was up.
    ///
    /// # Errors
    /// If nothing can be launched.
    fn measure(
        &mut self,
        cells: &[(Cell, Vec<Candidate>)],
        launches: u32,
    ) -> Result<LaunchTimes, GuardError>;
}

/// A measurer that launches in a measurement context and keeps the samples in the context's store.
pub struct LaunchMeasurer<'a> {
    at: &'a MeasurementContext,
    observer: &'a mut dyn Observer,
    stop: &'a AtomicBool,
    /// The number of launches requested so far.
    requested: u32,
}

impl<'a> LaunchMeasurer<'a> {
    /// A measurer in a context with an empty store; setting `stop` ends the current launch.
    pub fn new(
        at: &'a MeasurementContext,
        observer: &'a mut dyn Observer,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            at,
            observer,
            stop,
            requested: 0,
        }
    }
}

impl Measurer for LaunchMeasurer<'_> {
    fn measure(
        &mut self,
        cells: &[(Cell, Vec<Candidate>)],
        launches: u32,
    ) -> Result<LaunchTimes, GuardError> {
        self.requested += launches;
        let new = measure_more(self.at, cells, self.requested, self.observer, self.stop)?;
        LaunchTimes::from_samples(
            self.at,
            &new.samples,
            failed_candidates(self.at)?,
            new.is_out_of_time,
        )
    }
}

/// The samples of further launches.
pub(crate) struct NewSamples {
    pub(crate) samples: Vec<Sample>,
    /// As [`LaunchTimes::is_out_of_time`].
    pub(crate) is_out_of_time: bool,
}

/// Measures cells until the context's store has `launches` launches of them.
pub(crate) fn measure_more(
    at: &MeasurementContext,
    cells: &[(Cell, Vec<Candidate>)],
    launches: u32,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<NewSamples, GuardError> {
    let path = &at.campaign.output.store;
    let first = if path.exists() {
        Store::open(path)?.next_launch()?
    } else {
        1
    };
    let measured = measure_cells(at, cells, launches, observer, stop);
    // One retry: Open MPI's launchers of one user share a session folder, and one that ends may remove it while the
    // next one starts.
    let CampaignProgress { done, total } = match measured {
        Err(TunerError::Launch(LaunchError::Failed { .. })) => {
            measure_cells(at, cells, launches, observer, stop)?
        }
        other => other?,
    }
    .progress;
    let mut samples = Store::open(path)?.samples(&at.library, at.campaign.pattern)?;
    samples.retain(|sample| sample.launch >= first);
    Ok(NewSamples {
        samples,
        is_out_of_time: done < total,
    })
}

/// The candidates that failed, by the context's store.
pub(crate) fn failed_candidates(
    at: &MeasurementContext,
) -> Result<Vec<FailedCandidate>, GuardError> {
    let failures = Store::open(&at.campaign.output.store)?.failures(&at.library)?;
    let of_cell = failures.into_iter().filter_map(|failure| {
        Some(FailedCandidate {
            cell: failure.subject.cell()?,
            candidate: failure.candidate,
            message: format!("{}: {}", failure.kind.name(), failure.message),
        })
    });
    Ok(of_cell.collect())
}
