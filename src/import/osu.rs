//! What the collectives of the OSU micro-benchmarks print.
//!
//! ```text
//! # OSU MPI Allreduce Latency Test v7.0
//! # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
//! 4                     136.08             99.29            164.85        1000
//! ```
//!
//! The columns behind the average are there with `-f`. Sizes are in bytes: of one rank's part in
//! gather, scatter and allgather, of the block for one rank in alltoall, of the vector in all others,
//! reduce_scatter_block included. A barrier has no column of sizes.
//! Each rank's times are averaged over the iterations, then over the ranks; the maximum is that of
//! the slowest rank. From some version 7 on a line names the datatype; before, reductions were of
//! `MPI_FLOAT`. The number of ranks is not told.

use std::collections::BTreeMap;
use std::path::Path;

use schedule::Collective;
use vocabulary::{Candidate, CommShape, Datatype, Operator, Warning};

use crate::benchmark::{self, Sized};
use crate::error::{ImportError, OptionNeeded};
use crate::problem::LineProblem;
use crate::row::{Reading, Row};
use crate::{ImportFormat, ImportOptions};

/// The names of tests, and which collective they are about.
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
    /// The how-manieth of this collective in the file.
    launch: u32,
    datatype: Datatype,
    /// Index of the column that is taken, once the columns are known.
    time: Option<usize>,
}

/// Reads one or several outputs, one after the other; another run of a test is another launch.
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
                let why = format!("`{title}` measures no collective that is compared");
                reading.skip(number, why);
            }
        } else if let Some(current) = &mut test {
            if let Some(comment) = line.strip_prefix('#') {
                if !current.comment(comment.trim(), &mut reading) {
                    let why = format!("`{}` is no datatype that is compared", comment.trim());
                    reading.skip(number, why);
                    test = None;
                }
            } else if line.starts_with(|c: char| c.is_ascii_digit()) {
                let row = current.row(line, number, shape, &mut reading);
                reading
                    .rows
                    .extend(row.map_err(|problem| ImportError::at(path, number, problem))?);
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
    /// Takes in what stands behind a `#`; false for a datatype that cannot be compared.
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
    ) -> Result<Option<Row>, LineProblem> {
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
        let Some(cell) = benchmark::cell(self.collective, shape, bytes, sized, elements) else {
            let why = format!("{bytes} bytes are not whole elements of {shape} ranks");
            reading.skip(number, why);
            return Ok(None);
        };
        Ok(Some(Row {
            line: number,
            launch: self.launch,
            cell,
            candidate: Candidate::Default,
            seconds,
        }))
    }
}
