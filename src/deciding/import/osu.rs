//! The output of the OSU micro-benchmarks for collectives.
//!
//! ```text
//! # OSU MPI Allreduce Latency Test v7.0
//! # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
//! 4                     136.08             99.29            164.85        1000
//! ```
//!
//! The columns after the average are printed with `-f`, then `Validation` with `-c` and percentiles with `-z`. Sizes
//! are in bytes: of one rank's part in gather, scatter and allgather, of the block for one rank in alltoall, of the
//! vector in all others, including reduce_scatter_block. A barrier has no column of sizes. Each rank's times are
//! averaged over the iterations, then over the ranks; the maximum is the average of the slowest rank. Releases from 7.1
//! on name the datatype, and print a table for each of several; they combine `MPI_CHAR` unless told otherwise. Older
//! ones combine `MPI_FLOAT`. The number of ranks is not printed.

use std::collections::BTreeMap;
use std::path::Path;

use schedule::Collective;
use vocabulary::{CommShape, Datatype, Operator, Warning};

use crate::benchmark::{self, Column, LineKind, Rows, Sized};
use crate::error::{ImportError, OptionNeeded};
use crate::log::{self, Line};
use crate::problem::LineProblem;
use crate::row::Reading;
use crate::statements::Statements;
use crate::{ImportFormat, ImportOptions};

/// The names of tests and their collectives.
const TESTS: [(&str, Collective); 15] = [
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
    ("All-to-Allv Personalized Exchange", Collective::Alltoallv),
    ("All-to-Allw Personalized Exchange", Collective::Alltoallw),
    ("Allgatherv", Collective::Allgatherv),
    ("Gatherv", Collective::Gatherv),
    ("Scatterv", Collective::Scatterv),
];

/// The first release, as major and minor number, that names the datatype.
const NAMES_DATATYPE: [u32; 2] = [7, 1];

/// What a line says in which a test reports a wrong result at its end.
const FAILED: &str = "DATA VALIDATION ERROR";

/// Whether the text after a `#` is a title.
fn is_title(text: &str) -> bool {
    text.starts_with("OSU ")
}

/// Reads one or several concatenated outputs; each run of a test is a launch.
pub(crate) fn read_outputs(
    path: &Path,
    text: &str,
    options: &ImportOptions,
) -> Result<Reading, ImportError> {
    let reading = read_tables(path, text, options, false)?;
    match reading.other_shapes {
        // The file can be imported for each shape, so each table must have one.
        Some(_) => read_tables(path, text, options, true),
        None => Ok(reading),
    }
}

/// Reads a file. `needs_shape`: whether the log must say on which shape a table ran.
fn read_tables(
    path: &Path,
    text: &str,
    options: &ImportOptions,
    needs_shape: bool,
) -> Result<Reading, ImportError> {
    let needs = |option| ImportError::needs_option(path, ImportFormat::Osu, option);
    let nodes = options.nodes.ok_or_else(|| needs(OptionNeeded::Nodes))?;
    let ppn = options.ppn.ok_or_else(|| needs(OptionNeeded::Ppn))?;
    let shape = CommShape::try_new(nodes, ppn)
        .ok_or_else(|| ImportError::at_line(path, 1, LineProblem::Shape { nodes, ppn }))?;
    if options.library.is_none() {
        return Err(needs(OptionNeeded::Library));
    }
    let lines = log::split_log(text, is_title);
    let begins = |line: &str| log::before_title(line, is_title).is_some();
    let mut reader = Reader {
        shape,
        runs: BTreeMap::new(),
        statements: Statements::new(&lines, begins, needs_shape),
        streams: BTreeMap::new(),
        reading: Reading::default(),
    };
    for line in lines {
        reader.read_line(line);
    }
    for (label, stream) in std::mem::take(&mut reader.streams) {
        reader.end_table(label, stream);
    }
    Ok(reader.reading)
}

struct Reader<'t> {
    shape: CommShape,
    /// The number of each collective's tests so far.
    runs: BTreeMap<Collective, u32>,
    statements: Statements,
    /// What is being read from the lines of each label.
    streams: BTreeMap<&'t str, Stream<'t>>,
    reading: Reading,
}

/// The state of the lines with one label.
#[derive(Default)]
enum Stream<'t> {
    /// Before the first title.
    #[default]
    Start,
    /// In an output that is left out.
    Foreign,
    /// In a table.
    Table(Box<Table<'t>>),
}

/// A table that is being read.
struct Table<'t> {
    test: Test<'t>,
    /// The columns, once they are known.
    columns: Option<Columns>,
    rows: Rows,
}

/// What the lines above a table say.
#[derive(Clone, Copy)]
struct Test<'t> {
    title: &'t str,
    /// The line of the title.
    line: u64,
    collective: Collective,
    /// The number of this collective's tests in the file so far.
    launch: u32,
    datatype: TestDatatype<'t>,
}

/// The datatype of a test.
#[derive(Clone, Copy)]
enum TestDatatype<'t> {
    Known(Datatype),
    /// One that is not compared, and the line that names it.
    Unknown {
        name: &'t str,
        line: u64,
    },
    /// The line that should name it has not come yet.
    Missing,
}

/// The columns of a table.
struct Columns {
    kinds: Vec<Column>,
    size: Option<usize>,
    /// The times of the slowest rank, or else the average.
    time: usize,
    average: usize,
    least: Option<usize>,
}

impl<'t> Reader<'t> {
    fn read_line(&mut self, line: Line<'t>) {
        let Line { number, text, .. } = line;
        if let Some(label) = log::before_title(text, is_title) {
            self.begin_test(label, line);
        } else if let Some(comment) = text.strip_prefix('#') {
            self.read_comment(comment.trim(), line);
        } else if !text.is_empty() {
            // A row says nothing about launches; any other line may.
            let is_row = match self.streams.get_mut(line.label) {
                Some(Stream::Table(table)) => table.read_row(line, self.shape),
                _ => false,
            };
            if !is_row
                && !self.statements.take_line(text, number)
                && let Some(Stream::Table(table)) = self.streams.get_mut(line.label)
            {
                table.rows.note_other_line(number, text);
            }
        }
    }

    /// Begins the test with the title in a line. `label` is what precedes the title, if the line has no label that can
    /// be told from it.
    fn begin_test(&mut self, label: &str, line: Line<'t>) {
        let ended = self.streams.insert(line.label, Stream::Foreign);
        self.end_table(line.label, ended.unwrap_or_default());
        self.statements.begin_table(line.number);
        let title = line.text.split_once("OSU ").map_or("", |(_, title)| title);
        if !label.is_empty() {
            let problem = LineProblem::Label(label.to_owned());
            self.reading.refuse(line.number, problem);
            return;
        }
        let Some(test) = Test::from_title(title, line.number, &mut self.runs) else {
            let why = format!("`{title}` measures no collective that colltune compares");
            self.reading.skip_line(line.number, why);
            // It may be a heading.
            self.statements.take_line(line.text, line.number);
            return;
        };
        let mut table = Table::new(test);
        let (shape, collective) = (self.shape, test.collective);
        let of_log = &self.statements;
        table
            .rows
            .check_statements(line.number, of_log, shape, collective, None);
        self.streams
            .insert(line.label, Stream::Table(Box::new(table)));
    }

    /// Reads a comment without its `#`.
    fn read_comment(&mut self, comment: &'t str, line: Line<'t>) {
        let begins = comment.starts_with("Size") || comment.starts_with("Avg Latency");
        let is_header = begins && comment.contains("Latency");
        let stream = self.streams.entry(line.label).or_default();
        match stream {
            Stream::Start if is_header => {
                *stream = Stream::Foreign;
                self.reading.refuse(line.number, LineProblem::NoTitle);
            }
            Stream::Table(table) if comment.starts_with("Datatype:") => {
                let name = comment.trim_start_matches("Datatype:").trim();
                let name = name.trim_end_matches('.');
                let next = table.test.with_datatype(name, line.number);
                self.begin_again(line, next);
            }
            Stream::Table(table) if is_header => {
                let test = table.test;
                // A second header begins a second table.
                if table.columns.is_some() {
                    self.begin_again(line, test);
                }
                if let Some(Stream::Table(begun)) = self.streams.get_mut(line.label) {
                    begun.read_header(comment, line.number);
                }
            }
            Stream::Table(_) if comment.contains(" Test") => {
                if self.statements.take_line(line.text, line.number) {
                    return;
                }
                let why = format!("`{comment}` is not a title of the OSU benchmarks");
                self.reading.skip_line(line.number, why);
                let ended = self.streams.insert(line.label, Stream::Foreign);
                self.end_table(line.label, ended.unwrap_or_default());
            }
            _ => {
                self.statements.take_line(line.text, line.number);
            }
        }
    }

    /// Begins another table of the same test, unless the last one has no columns yet.
    fn begin_again(&mut self, line: Line<'t>, test: Test<'t>) {
        let mut table = Table::new(test);
        match self.streams.remove(line.label).unwrap_or_default() {
            Stream::Table(ended) if ended.columns.is_none() => table.rows = ended.rows,
            ended => {
                self.end_table(line.label, ended);
                let (shape, collective) = (self.shape, test.collective);
                let of_log = &self.statements;
                table
                    .rows
                    .check_statements(line.number, of_log, shape, collective, None);
            }
        }
        self.streams
            .insert(line.label, Stream::Table(Box::new(table)));
    }

    fn end_table(&mut self, label: &str, stream: Stream<'t>) {
        if let Stream::Table(table) = stream {
            let Test { line, title, .. } = table.test;
            table
                .rows
                .finish_table(line, label, title, &mut self.reading);
        }
    }
}

impl<'t> Test<'t> {
    /// The test with a title such as `MPI Allreduce Latency Test v5.8`.
    fn from_title(title: &'t str, line: u64, runs: &mut BTreeMap<Collective, u32>) -> Option<Self> {
        let plain = title.strip_prefix("MPI ").unwrap_or(title);
        let (name, release) = plain.split_once(" Latency Test")?;
        let (_, collective) = TESTS.iter().find(|(known, _)| *known == name)?;
        let launch = runs.entry(*collective).or_default();
        *launch += 1;
        let mut numbers = release.trim().trim_start_matches('v').split('.');
        let mut number = || numbers.next().and_then(|number| number.parse().ok());
        let names_datatype =
            number().is_some_and(|major| [major, number().unwrap_or(0)] >= NAMES_DATATYPE);
        let datatype = if names_datatype && collective.is_reduction() {
            TestDatatype::Missing
        } else {
            TestDatatype::Known(Datatype::Float32)
        };
        Some(Test {
            title,
            line,
            collective: *collective,
            launch: *launch,
            datatype,
        })
    }

    /// The same test with another datatype.
    fn with_datatype(self, name: &'t str, line: u64) -> Self {
        let known = benchmark::datatype_by_mpi_name(name);
        let datatype = match known {
            Some(known) => TestDatatype::Known(known),
            // What is moved has no datatype here.
            None if !self.collective.is_reduction() => self.datatype,
            None => TestDatatype::Unknown { name, line },
        };
        Self { datatype, ..self }
    }
}

impl<'t> Table<'t> {
    fn new(test: Test<'t>) -> Self {
        Self {
            test,
            columns: None,
            rows: Rows::default(),
        }
    }

    /// Reads the names of the columns.
    fn read_header(&mut self, header: &str, number: u64) {
        match self.test.datatype {
            TestDatatype::Known(_) => {}
            TestDatatype::Missing => self.rows.fail_table(number, LineProblem::NoDatatype),
            TestDatatype::Unknown { name, line } => {
                self.rows
                    .fail_table(line, LineProblem::Datatype(name.to_owned()));
            }
        }
        match Columns::from_header(header, self.test.collective.has_data()) {
            Err(problem) => self.rows.fail_table(number, problem),
            Ok(columns) => {
                if columns.time == columns.average {
                    self.rows.warn(Warning::AverageOverRanks);
                }
                self.columns = Some(columns);
            }
        }
    }

    /// Reads a line; false if it is no row.
    fn read_row(&mut self, line: Line<'t>, shape: CommShape) -> bool {
        let Line { number, text, .. } = line;
        let fields: Vec<&str> = text.split_whitespace().collect();
        let (verdicts, numbers): (Vec<&str>, Vec<&str>) =
            fields.iter().partition(|field| **field == "Fail");
        let is_failure = !verdicts.is_empty()
            && !numbers.is_empty()
            && numbers.iter().all(|field| field.parse::<f64>().is_ok());
        if is_failure || text.starts_with(FAILED) {
            self.rows.fail_table(number, LineProblem::Failed);
            return true;
        }
        let Some(columns) = &self.columns else {
            // Rows of all tables begin with a number, and have decimals.
            let is_row = fields.len() > 1
                && fields.iter().all(|field| field.parse::<f64>().is_ok())
                && text.contains('.');
            if is_row {
                self.rows.fail_table(number, LineProblem::NoColumns);
            }
            return is_row;
        };
        match benchmark::classify_line(&fields, &columns.kinds) {
            LineKind::Other => return false,
            LineKind::Broken(problem) => self.rows.refuse(number, problem),
            LineKind::Row => {
                if let Err(problem) = self.add_row(&fields, line, shape) {
                    self.rows.refuse(number, problem);
                }
            }
        }
        true
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If the row alone is wrong.
    fn add_row(
        &mut self,
        fields: &[&str],
        line: Line<'t>,
        shape: CommShape,
    ) -> Result<(), LineProblem> {
        let (Some(columns), TestDatatype::Known(datatype)) = (&self.columns, self.test.datatype)
        else {
            return Ok(());
        };
        let Test {
            collective, launch, ..
        } = self.test;
        let time = fields[columns.time];
        // Times have two decimals, so fewer ones show that the last digits are missing.
        let decimals = time
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        if line.is_cut && columns.time + 1 == fields.len() && decimals < 2 {
            return Err(LineProblem::Cut);
        }
        let seconds = benchmark::parse_microseconds(time)?;
        if let Some(least) = columns.least {
            benchmark::check_average(fields[least], fields[columns.average], time)?;
        }
        let bytes = match columns.size {
            Some(column) => benchmark::parse_size(fields[column])?,
            None => 0,
        };
        self.rows.check_ascending(line.number, bytes);
        let sized = match collective {
            Collective::ReduceScatterBlock => Sized::Vector,
            // All parts have this size.
            Collective::Allgatherv | Collective::Gatherv | Collective::Scatterv => Sized::Part,
            _ => Sized::Alike,
        };
        let operator = Operator::Sum;
        let cell = benchmark::cell_of_row(collective, shape, bytes, sized, datatype, operator);
        self.rows.add_row(line.number, launch, cell, seconds);
        Ok(())
    }
}

impl Columns {
    /// The columns in a header without its `#`.
    fn from_header(header: &str, has_data: bool) -> Result<Self, LineProblem> {
        let names = column_names(header);
        let mut kinds = Vec::new();
        for name in &names {
            kinds.push(match &**name {
                "Size" | "Iterations" => Column::Count,
                "Validation" => Column::Verdict,
                _ if name.contains(" Lat") && name.ends_with("(us)") => Column::Decimal,
                _ => return Err(LineProblem::Column(name.clone())),
            });
        }
        let column = |name: &str| names.iter().position(|known| known == name);
        let size = column("Size");
        let average = column("Avg Latency(us)").ok_or(LineProblem::NoColumns)?;
        if size.is_some() != has_data {
            return Err(LineProblem::NoColumns);
        }
        Ok(Self {
            kinds,
            size,
            time: column("Max Latency(us)").unwrap_or(average),
            average,
            least: column("Min Latency(us)"),
        })
    }
}

/// The names of columns: each is a word or, with a unit, several.
fn column_names(header: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name: Vec<&str> = Vec::new();
    for word in header.split_whitespace() {
        name.push(word);
        if word.ends_with(')') || ["Size", "Iterations", "Validation"].contains(&word) {
            names.push(name.join(" "));
            name.clear();
        }
    }
    if !name.is_empty() {
        names.push(name.join(" "));
    }
    names
}
