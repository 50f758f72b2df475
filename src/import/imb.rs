//! The output of the Intel MPI Benchmarks (IMB-MPI1).
//!
//! ```text
//! #    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
//! # MPI_Datatype for reductions    :   MPI_FLOAT
//! # MPI_Op                         :   MPI_SUM
//! #----------------------------------------------------------------
//! # Benchmarking Allreduce
//! # #processes = 144
//! #----------------------------------------------------------------
//!        #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
//!             8         1000         4.50        18.59        11.69
//! ```
//!
//! `t_max` is the time of the slowest rank, averaged over the repetitions. Sizes are in bytes: of one rank's part in
//! gather, scatter, allgather and reduce_scatter_block, of the block for one rank in alltoall, of the vector in all
//! others. A barrier has no column of sizes. The size of a reduce_scatter is that of the vector up to release 2018 and
//! of a part from 2019 on. At 0 bytes the benchmarks call nothing, so these rows are left out.

use std::collections::BTreeMap;
use std::path::Path;

use schedule::Collective;
use vocabulary::bounds::RANKS;
use vocabulary::units::counted;
use vocabulary::{CommShape, Datatype, Operator, Warning};

use crate::benchmark::{self, Sized};
use crate::error::{ImportError, OptionNeeded};
use crate::problem::LineProblem;
use crate::row::Reading;
use crate::{ImportFormat, ImportOptions};

/// The first release in which a reduce_scatter is sized by part.
const SIZED_BY_PART: u32 = 2019;

/// The words in a row without times.
const FAILED: [&str; 3] = ["out-of-mem.;", "int-overflow.;", "time-out.;"];

/// The head of an output.
#[derive(Default)]
struct Head {
    release: Option<u32>,
    datatype: Option<Datatype>,
    operator: Option<Operator>,
}

/// A table whose rows are being read.
struct Table {
    collective: Collective,
    shape: Option<CommShape>,
    launch: u32,
    columns: Option<Columns>,
}

struct Columns {
    count: usize,
    /// The column of sizes, if there is one.
    bytes: Option<usize>,
    time: usize,
}

/// Reads one or several concatenated outputs; each table of a benchmark with the same number of processes is a launch.
pub(crate) fn read(
    path: &Path,
    text: &str,
    options: &ImportOptions,
) -> Result<Reading, ImportError> {
    let needs = |option| ImportError::needs(path, ImportFormat::Imb, option);
    let mut reader = Reader {
        nodes: options.nodes,
        ppn: options.ppn.ok_or_else(|| needs(OptionNeeded::Ppn))?,
        head: Head::default(),
        runs: BTreeMap::new(),
        table: None,
        reading: Reading::default(),
    };
    if options.library.is_none() {
        return Err(needs(OptionNeeded::Library));
    }
    for (line, number) in text.lines().zip(1..) {
        reader
            .line(line.trim(), number)
            .map_err(|problem| ImportError::at(path, number, problem))?;
    }
    Ok(reader.reading)
}

struct Reader {
    nodes: Option<u32>,
    ppn: u32,
    head: Head,
    runs: BTreeMap<(Collective, u32), u32>,
    table: Option<Table>,
    reading: Reading,
}

impl Reader {
    fn line(&mut self, line: &str, number: u64) -> Result<(), LineProblem> {
        let comment = line.strip_prefix('#').map(str::trim).unwrap_or_default();
        // The columns may begin with a `#` and even with the word `#Benchmarking`.
        if line.contains("#bytes") || line.contains("#repetitions") {
            if let Some(table) = &mut self.table {
                table.columns = Some(Columns::of(line).ok_or(LineProblem::NoColumns)?);
            }
        } else if let Some(name) = comment.strip_prefix("Benchmarking ") {
            self.begin(name.trim(), number);
        } else if let Some(count) = comment.strip_prefix("#processes =") {
            self.processes(count.trim(), number)?;
        } else if line.starts_with('#') {
            self.head.take(comment)?;
        } else if let Some(table) = &self.table {
            table.row(line, number, &self.head, &mut self.reading)?;
        }
        Ok(())
    }

    fn begin(&mut self, name: &str, number: u64) {
        let collective: Option<Collective> = name.to_ascii_lowercase().parse().ok();
        self.table = collective.map(|collective| Table {
            collective,
            shape: None,
            launch: 1,
            columns: None,
        });
        match collective {
            None => {
                let why = format!("colltune does not compare the collective `{name}`");
                self.reading.skip(number, why);
            }
            Some(collective) if collective.is_rooted() => {
                self.reading.warnings.insert(Warning::RotatingRoot);
            }
            Some(_) => {}
        }
    }

    fn processes(&mut self, count: &str, number: u64) -> Result<(), LineProblem> {
        let Some(table) = &mut self.table else {
            return Ok(());
        };
        let ranks = count
            .parse()
            .ok()
            .and_then(|ranks| RANKS.of(ranks))
            .ok_or_else(|| LineProblem::value(count, RANKS.to_string()))?;
        let launch = self.runs.entry((table.collective, ranks)).or_default();
        *launch += 1;
        table.launch = *launch;
        table.shape = shape(ranks, self.ppn);
        let nodes = ranks.div_ceil(self.ppn);
        if self.nodes.is_some_and(|given| nodes > given) {
            return Err(LineProblem::TooManyProcesses { ranks });
        }
        if table.shape.is_none() {
            let why = format!(
                "{} cannot fill nodes of {} ranks each",
                counted(ranks, "rank"),
                self.ppn
            );
            self.reading.skip(number, why);
            self.table = None;
        }
        Ok(())
    }
}

/// The shape of the first `ranks` ranks if nodes are filled one after the other; `None` if the last node is not full.
fn shape(ranks: u32, ppn: u32) -> Option<CommShape> {
    let ppn = ppn.min(ranks);
    let nodes = ranks / ppn;
    (nodes * ppn == ranks).then_some(CommShape { nodes, ppn })
}

impl Head {
    fn take(&mut self, comment: &str) -> Result<(), LineProblem> {
        let value = comment
            .split_once(':')
            .map_or("", |(_, value)| value)
            .trim();
        let unfit = |expected: &'static str| LineProblem::value(value, expected);
        if comment.starts_with("Intel") {
            let number = |word: &str| {
                let word = word.trim_start_matches('V');
                let end = word
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(word.len());
                word[..end].parse().ok()
            };
            self.release = comment.split_whitespace().find_map(number);
        } else if comment.starts_with("MPI_Datatype for reductions") {
            let known = benchmark::datatype(value);
            self.datatype = Some(known.ok_or_else(|| unfit("a datatype that colltune compares"))?);
        } else if comment.starts_with("MPI_Op ") {
            let known = benchmark::operator(value);
            self.operator = Some(known.ok_or_else(|| unfit("an operator that colltune compares"))?);
        }
        Ok(())
    }
}

impl Columns {
    fn of(header: &str) -> Option<Self> {
        let names: Vec<&str> = header.split_whitespace().collect();
        let find = |name| names.iter().position(|known| *known == name);
        Some(Self {
            count: names.len(),
            bytes: find("#bytes"),
            time: find("t_max[usec]")?,
        })
    }
}

impl Table {
    /// The size in a row of fields; 0 for a collective without data.
    fn bytes(&self, columns: &Columns, fields: &[&str]) -> Result<u64, LineProblem> {
        match (columns.bytes, self.collective.has_data()) {
            (Some(column), true) => benchmark::bytes(fields[column]),
            (None, false) => Ok(0),
            _ => Err(LineProblem::NoColumns),
        }
    }

    fn row(
        &self,
        line: &str,
        number: u64,
        head: &Head,
        reading: &mut Reading,
    ) -> Result<(), LineProblem> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (Some(first), Some(columns), Some(shape)) = (fields.first(), &self.columns, self.shape)
        else {
            return Ok(());
        };
        if fields.iter().any(|field| FAILED.contains(field)) {
            reading.skip(number, line);
            return Ok(());
        }
        if fields.len() != columns.count {
            // Other output of MPI and launchers does not begin with a number.
            return match first.starts_with(|c: char| c.is_ascii_digit()) {
                true => Err(LineProblem::Fields {
                    found: fields.len(),
                    expected: columns.count,
                }),
                false => Ok(()),
            };
        }
        let time = fields[columns.time];
        let bytes = self.bytes(columns, &fields)?;
        if bytes == 0 && self.collective.has_data() {
            return Ok(());
        }
        let seconds = benchmark::seconds(time)?;
        let sized = match (self.collective, head.release) {
            (Collective::ReduceScatter, None) => return Err(LineProblem::NoRelease),
            (Collective::ReduceScatter, Some(SIZED_BY_PART..)) => Sized::Part,
            _ => Sized::Alike,
        };
        let datatype = head.datatype.unwrap_or(Datatype::Float32);
        let elements = (datatype, head.operator.unwrap_or(Operator::Sum));
        let cell = benchmark::cell(self.collective, shape, bytes, sized, elements);
        reading.add(number, self.launch, cell, seconds);
        Ok(())
    }
}
