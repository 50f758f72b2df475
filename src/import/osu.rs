//! The output of the OSU micro-benchmarks for collectives.
//!
//! ```text
//! # OSU MPI Allreduce Latency Test v7.0
//! # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
//! 4                     136.08             99.29            164.85        1000
//! ```
//!
//! The columns after the average are printed with `-f`. Sizes are in bytes: of one rank's part in gather, scatter and
//! allgather, of the block for one rank in alltoall, of the vector in all others, including reduce_scatter_block. A
//! barrier has no column of sizes. Each rank's times are averaged over the iterations, then over the ranks; the maximum
//! is the average of the slowest rank. Releases from about 7.0 on name the datatype; older ones reduced `MPI_FLOAT`.
//! The number of ranks is not printed.

use std::collections::BTreeMap;
use std::path::Path;

use schedule::Collective;
use vocabulary::{CommShape, Datatype, Operator, Warning};

use crate::benchmark::{self, Sized};
use crate::error::{ImportError, OptionNeeded};
use crate::problem::LineProblem;
use crate::row::Reading;
use crate::{ImportFormat, ImportOptions};

/// The names of tests and their collectives.
const TESTS: [(&str, Collective); 10] = [
    ("Broadcast", Collective::Bcast),
    ("Reduce", Collective::Reduce),
    ("Allreduce", Collective::Allreduce),
    ("Gather", Collective::Gather),
    ("Scatter", Collective::Scatter),
    ("Allgather", Collective::Allgather),
    ("Reduce_scatter", Collective::ReduceScatter),
    ("Reduce_scatter_block", Collective::ReduceScatterBlock),
    ("All-to-All Personalized Exchange", Collective::Alltoall),
    ("Barrier", Collective::Barrier),
];

/// A test whose rows are being read.
struct Test {
    collective: Collective,
    /// The number of this collective's tests in the file so far.
    launch: u32,
    datatype: Datatype,
    /// Index of the column with the times, once the columns are known.
    time: Option<usize>,
}

/// Reads one or several concatenated outputs; each run of a test is a launch.
pub(crate) fn read(
    path: &Path,
    text: &str,
    options: &ImportOptions,
) -> Result<Reading, ImportError> {
    let needs = |option| ImportError::needs(path, ImportFormat::Osu, option);
    let nodes = options.nodes.ok_or_else(|| needs(OptionNeeded::Nodes))?;
    let ppn = options.ppn.ok_or_else(|| needs(OptionNeeded::Ppn))?;
    let shape = CommShape::checked(nodes, ppn)
        .ok_or_else(|| ImportError::at(path, 1, LineProblem::Shape { nodes, ppn }))?;
    if options.library.is_none() {
        return Err(needs(OptionNeeded::Library));
    }
    let mut reading = Reading::default();
    let mut runs = BTreeMap::new();
    let mut test: Option<Test> = None;
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if let Some(title) = line.strip_prefix("# OSU ") {
            test = begin(title, &mut runs);
            if test.is_none() {
                let why = format!("`{title}` measures no collective that colltune compares");
                reading.skip(number, why);
            }
        } else if let Some(current) = &mut test {
            if let Some(comment) = line.strip_prefix('#') {
                if !current.comment(comment.trim(), &mut reading) {
                    let why = format!(
                        "colltune does not compare the datatype `{}`",
                        comment.trim()
                    );
                    reading.skip(number, why);
                    test = None;
                }
            } else if line.starts_with(|c: char| c.is_ascii_digit()) {
                current
                    .row(line, number, shape, &mut reading)
                    .map_err(|problem| ImportError::at(path, number, problem))?;
            }
        }
    }
    Ok(reading)
}

/// The test with a title such as `MPI Allreduce Latency Test v5.8`.
fn begin(title: &str, runs: &mut BTreeMap<Collective, u32>) -> Option<Test> {
    let title = title.strip_prefix("MPI ").unwrap_or(title);
    let (name, _) = title.split_once(" Latency Test")?;
    let (_, collective) = TESTS.iter().find(|(known, _)| *known == name)?;
    let launch = runs.entry(*collective).or_default();
    *launch += 1;
    Some(Test {
        collective: *collective,
        launch: *launch,
        datatype: Datatype::Float32,
        time: None,
    })
}

impl Test {
    /// Reads a comment without its `#`; false for a datatype that colltune does not measure.
    fn comment(&mut self, comment: &str, reading: &mut Reading) -> bool {
        if let Some(name) = comment.strip_prefix("Datatype:") {
            let name = name.trim().trim_end_matches('.');
            match benchmark::datatype(name) {
                Some(datatype) => self.datatype = datatype,
                None => return !self.collective.is_reduction(),
            }
        }
        let first = match self.collective.has_data() {
            true => "Size",
            false => "Avg Latency",
        };
        if comment.starts_with(first) {
            let columns: Vec<&str> = comment
                .split("  ")
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .collect();
            let column = |name| columns.iter().position(|column| column.starts_with(name));
            let slowest = column("Max Latency");
            if slowest.is_none() {
                reading.warnings.insert(Warning::AverageOverRanks);
            }
            self.time = slowest.or_else(|| column("Avg Latency"));
        }
        true
    }

    fn row(
        &self,
        line: &str,
        number: u64,
        shape: CommShape,
        reading: &mut Reading,
    ) -> Result<(), LineProblem> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let Some(column) = self.time else {
            return Err(LineProblem::NoColumns);
        };
        if fields.contains(&"Fail") {
            return Err(LineProblem::Failed);
        }
        let bytes = match self.collective.has_data() {
            true => benchmark::bytes(fields[0])?,
            false => 0,
        };
        let field = fields.get(column).ok_or(LineProblem::TooShort)?;
        let seconds = benchmark::seconds(field)?;
        let sized = match self.collective {
            Collective::ReduceScatterBlock => Sized::Vector,
            _ => Sized::Alike,
        };
        let elements = (self.datatype, Operator::Sum);
        let cell = benchmark::cell(self.collective, shape, bytes, sized, elements);
        reading.add(number, self.launch, cell, seconds);
        Ok(())
    }
}
