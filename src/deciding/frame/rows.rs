//! The rows of the data frame, from stores to a file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use polars::prelude::*;
use schedule::Collective;
use store::{LaunchRow, Store, StoredSample};
use vocabulary::{CommShape, Library, Subject};

use crate::columns::{LaunchContext, SampleRows};
use crate::file::FrameFile;
use crate::{COLUMNS, FrameError, FrameFormat};

/// The most rows that are made and written at once: a row group of Parquet, a batch of Arrow.
pub const BATCH_ROWS: usize = 1 << 17;

/// The samples that are wanted. Each list that is not empty must contain the sample's value.
#[derive(Clone, Debug, Default)]
pub struct SampleFilter {
    /// Libraries with their versions.
    pub libraries: Vec<Library>,
    /// Collectives; experiments have none.
    pub collectives: Vec<Collective>,
    /// Shapes of communicators.
    pub shapes: Vec<CommShape>,
    /// Sizes of calls, in bytes.
    pub bytes: Vec<u64>,
}

impl SampleFilter {
    fn admits_launch(&self, launch: &LaunchRow) -> bool {
        self.libraries.is_empty() || self.libraries.contains(&launch.library)
    }

    fn admits_sample(&self, sample: &StoredSample) -> bool {
        let (collective, bytes) = match sample.subject {
            Subject::Cell(cell) => (Some(cell.collective), cell.bytes),
            Subject::Experiment(experiment) => (None, experiment.bytes),
        };
        let has_collective = || collective.is_some_and(|it| self.collectives.contains(&it));
        (self.collectives.is_empty() || has_collective())
            && (self.shapes.is_empty() || self.shapes.contains(&sample.subject.shape()))
            && (self.bytes.is_empty() || self.bytes.contains(&bytes))
    }
}

/// The extent of a written file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenSamples {
    /// Rows.
    pub repetitions: u64,
    /// Launches with at least one row.
    pub launches: u32,
}

/// Writes the wanted samples of stores as a data frame with the [`COLUMNS`]. Setting `stop` ends this early.
///
/// # Errors
/// [`FrameError::Store`], [`FrameError::Output`] and [`FrameError::Interrupted`], after which the output is incomplete.
pub fn write_samples(
    stores: &[Store],
    wanted: &SampleFilter,
    format: FrameFormat,
    output: &mut dyn Write,
    stop: &AtomicBool,
) -> Result<WrittenSamples, FrameError> {
    let failure = RefCell::new(None);
    let mut buffered = BufWriter::with_capacity(1 << 20, output);
    let mut batch = Batch {
        file: FrameFile::begin_file(format, &mut buffered, &failure)?,
        runs: Vec::new(),
        rows: 0,
        stop,
    };
    let mut written = WrittenSamples::default();
    for store in stores {
        let campaigns = store.campaigns()?.into_iter();
        let names: HashMap<_, _> = campaigns.map(|row| (row.digest, row.name)).collect();
        for row in store.launches()? {
            if !wanted.admits_launch(&row) {
                continue;
            }
            batch.check_stop()?;
            let mut samples = store.samples_of_launch(row.number)?;
            samples.retain(|sample| wanted.admits_sample(sample) && !sample.seconds.is_empty());
            if samples.is_empty() {
                continue;
            }
            let launch = Rc::new(LaunchContext {
                store: store.path().display().to_string(),
                campaign: names.get(&row.campaign).cloned().unwrap_or_default(),
                environment: store
                    .environment_of_launch(row.number)?
                    .map(|start| start.environment),
                orders: store.rank_orders_of_launch(row.number)?,
                row,
            });
            written.launches += 1;
            for sample in samples {
                written.repetitions += sample.seconds.len() as u64;
                batch.add_sample(&launch, sample)?;
            }
        }
    }
    batch.finish()?;
    buffered.flush()?;
    Ok(written)
}

/// The rows that are written next.
struct Batch<'w> {
    file: FrameFile<'w>,
    runs: Vec<SampleRows>,
    /// Rows of all runs, fewer than [`BATCH_ROWS`].
    rows: usize,
    stop: &'w AtomicBool,
}

impl Batch<'_> {
    /// Adds the rows of a sample, and writes each batch that is full.
    fn add_sample(
        &mut self,
        launch: &Rc<LaunchContext>,
        sample: StoredSample,
    ) -> Result<(), FrameError> {
        let sample = Rc::new(sample);
        let rows = sample.seconds.len();
        let mut start = 0;
        while start < rows {
            let end = rows.min(start + BATCH_ROWS - self.rows);
            self.runs.push(SampleRows {
                launch: Rc::clone(launch),
                sample: Rc::clone(&sample),
                repetitions: start..end,
            });
            self.rows += end - start;
            start = end;
            if self.rows == BATCH_ROWS {
                self.write_batch()?;
            }
        }
        Ok(())
    }

    fn check_stop(&self) -> Result<(), FrameError> {
        if self.stop.load(Ordering::Relaxed) {
            Err(FrameError::Interrupted)
        } else {
            Ok(())
        }
    }

    fn write_batch(&mut self) -> Result<(), FrameError> {
        self.check_stop()?;
        let columns = COLUMNS.iter().map(|column| column.build_column(&self.runs));
        let frame = DataFrame::new(self.rows, columns.collect::<PolarsResult<_>>()?)?;
        self.file.write_frame(&frame)?;
        self.runs.clear();
        self.rows = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<(), FrameError> {
        if self.rows > 0 {
            self.write_batch()?;
        }
        self.file.finish()
    }
}
