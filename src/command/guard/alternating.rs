//! Launches that alternate between no table and an exported table.
//!
//! The crate `export` says which variables put a file in place.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use tuner::{MeasurementContext, Observer};
use vocabulary::{Candidate, Cell, Sample, Subject};

use crate::measurer::{NewSamples, failed_candidates, find_steered_default, measure_more};
use crate::{Activation, FailedCandidate, GuardError, LaunchTimes, Measurer};

/// Measures a library with and without its table, in two stores since the conditions differ. Both kinds of launches
/// measure the default; in launches with the table that is the table's choice.
///
/// A launch without the table and one with it make a pair. Which of them comes first alternates, so that a machine that
/// becomes slower favours neither.
pub struct AlternatingMeasurer<'a> {
    at: &'a mut MeasurementContext,
    sides: [Side; 2],
    observer: &'a mut dyn Observer,
    stop: &'a AtomicBool,
    /// The number of pairs so far.
    pairs: u32,
}

/// Launches with one environment.
struct Side {
    environment: Vec<(OsString, OsString)>,
    store: PathBuf,
}

impl<'a> AlternatingMeasurer<'a> {
    /// A measurer in a context with an empty store.
    pub fn new(
        at: &'a mut MeasurementContext,
        deployed: &Activation,
        observer: &'a mut dyn Observer,
        stop: &'a AtomicBool,
    ) -> Self {
        let without = at.campaign.output.store.clone();
        // Each of the two stores gets half of the budget.
        at.campaign.budget_seconds /= 2.0;
        let sides = [
            Side {
                environment: Vec::new(),
                store: without.clone(),
            },
            Side {
                environment: deployed.environment.clone(),
                store: without.with_extension("table.db"),
            },
        ];
        Self {
            at,
            sides,
            observer,
            stop,
            pairs: 0,
        }
    }

    /// Makes another launch with one of the environments; its samples get the number of the pair.
    fn launch_side(
        &mut self,
        side: usize,
        cells: &[(Cell, Vec<Candidate>)],
    ) -> Result<NewSamples, GuardError> {
        let Side { environment, store } = &self.sides[side];
        self.at.environment.clone_from(environment);
        self.at.campaign.output.store.clone_from(store);
        let mut new = measure_more(self.at, cells, self.pairs, self.observer, self.stop)?;
        for sample in &mut new.samples {
            sample.launch = self.pairs;
            // Only times with equal numbers of calls per repetition are compared, so the first launch sets the number.
            if let (Subject::Cell(cell), Some(calls)) =
                (&sample.subject, NonZero::new(sample.batch))
            {
                self.at.calls.entry(*cell).or_insert(calls);
            }
        }
        Ok(new)
    }
}

impl Measurer for AlternatingMeasurer<'_> {
    fn measure(
        &mut self,
        cells: &[(Cell, Vec<Candidate>)],
        launches: u32,
    ) -> Result<LaunchTimes, GuardError> {
        let defaults: Vec<(Cell, Vec<Candidate>)> = cells
            .iter()
            .map(|(cell, _)| (*cell, vec![Candidate::Default]))
            .collect();
        let (mut samples, mut failed) = (Vec::new(), Vec::new());
        let mut is_out_of_time = false;
        for _ in 0..launches {
            self.pairs += 1;
            let first = (self.pairs % 2) as usize;
            let mut is_over = false;
            for side in [first, 1 - first] {
                let new = self.launch_side(side, &defaults)?;
                is_out_of_time |= new.is_out_of_time;
                is_over |= new.samples.is_empty();
                match side {
                    0 => samples.extend(new.samples),
                    _ => {
                        samples.extend(
                            new.samples
                                .iter()
                                .flat_map(|sample| samples_of_choices(sample, cells)),
                        );
                        failed = failed_candidates(self.at)?;
                    }
                }
            }
            // Time is up; a launch without its partner cannot be compared.
            if is_over {
                break;
            }
        }
        let failed = failed.iter().flat_map(|broken| {
            let chosen = choices_in_cell(broken.cell, cells);
            chosen.map(|candidate| FailedCandidate {
                candidate: candidate.clone(),
                ..broken.clone()
            })
        });
        let failed = failed.collect();
        let mut times = LaunchTimes::from_samples(self.at, &samples, failed, is_out_of_time)?;
        // With the table the default is meant to be another one.
        times.steered = find_steered_default(&self.sides[0].store, &self.at.library)?;
        Ok(times)
    }
}

/// Turns a sample of the default with the table into samples of the table's choices.
fn samples_of_choices<'c>(
    sample: &'c Sample,
    cells: &'c [(Cell, Vec<Candidate>)],
) -> impl Iterator<Item = Sample> + 'c {
    let cell = sample.subject.cell().into_iter();
    let chosen = cell.flat_map(|cell| choices_in_cell(cell, cells));
    chosen.map(|candidate| Sample {
        candidate: candidate.clone(),
        ..sample.clone()
    })
}

/// The requested candidates of a cell other than the default.
fn choices_in_cell(
    cell: Cell,
    cells: &[(Cell, Vec<Candidate>)],
) -> impl Iterator<Item = &Candidate> {
    let asked = cells.iter().find(|(known, _)| *known == cell);
    let candidates = asked.into_iter().flat_map(|(_, candidates)| candidates);
    candidates.filter(|candidate| **candidate != Candidate::Default)
}
