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
//! gather, scatter, allgather, their irregular forms and reduce_scatter_block, of the block for one rank in alltoall and
//! alltoallv, of the vector in all others. Irregular collectives get parts and blocks of one size. A barrier has no column of sizes. The size of a reduce_scatter is that of the vector up to release 2018 and
//! of a part from 2019 on. At 0 bytes the benchmarks call nothing, so these rows are left out. Builds that check
//! results have a column of defects. With `-multi`, several groups of processes run at the same time; with `-map`,
//! processes are renumbered.

use std::collections::BTreeMap;
use std::path::Path;

use schedule::Collective;
use vocabulary::bounds::RANKS;
use vocabulary::units::format_counted;
use vocabulary::{CommShape, Datatype, Operator, Warning};

use crate::benchmark::{self, Column, LineKind, Rows, Sized};
use crate::error::{ImportError, OptionNeeded};
use crate::log::{self, Line};
use crate::problem::LineProblem;
use crate::row::Reading;
use crate::statements::Statements;
use crate::{ImportFormat, ImportOptions};

/// The first release in which a reduce_scatter is sized by part.
const SIZED_BY_PART: u32 = 2019;

/// How the second field of a row without times begins.
const FAILED: [&str; 3] = ["out-of-mem", "int-overflow", "time-out"];

/// The beginning of the names of tables with several groups of processes.
const SEVERAL: &str = "Multi-";

/// Whether a comment without its `#` is one of the benchmarks with numbers of processes: not all of them are those of
/// the launch.
fn counts_processes(comment: &str) -> bool {
    let is_about_groups = comment.contains("groups of") || comment.contains("waiting in");
    comment.starts_with("#processes") || (comment.starts_with('(') && is_about_groups)
}

/// Whether the text after a `#` is a title: of a table, or of the whole output.
fn is_title(text: &str) -> bool {
    text.starts_with("Benchmarking ") || is_head(text)
}

/// Whether a comment without its `#` is the first one of an output.
fn is_head(comment: &str) -> bool {
    comment.starts_with("Intel") && comment.contains("Benchmark")
}

/// Whether a line has the names of columns. They may begin with a `#` and even with the word `#Benchmarking`.
fn is_header(line: &str) -> bool {
    line.contains("#bytes") || line.contains("#repetitions")
}

/// Reads one or several concatenated outputs; each table of a benchmark with the same number of processes is a launch.
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
    let needs = |option| ImportError::needs_option(path, ImportFormat::Imb, option);
    let lines = log::split_log(text, is_title);
    let begins = |line: &str| {
        let comment = line.strip_prefix('#').unwrap_or_default().trim_start();
        comment.starts_with("Benchmarking ") && !is_header(line)
    };
    let mut reader = Reader {
        nodes: options.nodes,
        ppn: options.ppn.ok_or_else(|| needs(OptionNeeded::Ppn))?,
        runs: BTreeMap::new(),
        statements: Statements::new(&lines, begins, needs_shape),
        streams: BTreeMap::new(),
        reading: Reading::default(),
    };
    if options.library.is_none() {
        return Err(needs(OptionNeeded::Library));
    }
    for line in lines {
        reader.read_line(line);
    }
    for (label, stream) in std::mem::take(&mut reader.streams) {
        reader.end_table(label, stream.table);
    }
    Ok(reader.reading)
}

struct Reader<'t> {
    nodes: Option<u32>,
    ppn: u32,
    /// The number of tables of each collective and number of processes so far.
    runs: BTreeMap<Run, u32>,
    statements: Statements,
    /// What is being read from the lines of each label.
    streams: BTreeMap<&'t str, Stream<'t>>,
    reading: Reading,
}

/// Tables that are repetitions of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    collective: Collective,
    ranks: u32,
}

/// The state of the lines with one label.
#[derive(Default)]
struct Stream<'t> {
    head: Head<'t>,
    table: Option<Table<'t>>,
}

/// The head of an output.
#[derive(Clone, Copy, Default)]
struct Head<'t> {
    release: Option<u32>,
    /// The name of the datatype of reductions.
    datatype: Option<&'t str>,
    /// The name of their operator.
    operator: Option<&'t str>,
}

/// A table whose rows are being read.
struct Table<'t> {
    /// Its name.
    title: &'t str,
    line: u64,
    collective: Collective,
    shape: Option<CommShape>,
    /// The processes of its launch that wait while the others run.
    waiting: u32,
    launch: u32,
    columns: Option<Columns>,
    rows: Rows,
}

struct Columns {
    kinds: Vec<Column>,
    /// The column of sizes, if there is one.
    bytes: Option<usize>,
    least: Option<usize>,
    time: usize,
    average: Option<usize>,
    defects: Option<usize>,
}

impl<'t> Reader<'t> {
    fn read_line(&mut self, line: Line<'t>) {
        let Line { number, text, .. } = line;
        let comment = text.strip_prefix('#').map(str::trim).unwrap_or_default();
        let is_header = is_header(text);
        let label = log::before_title(text, is_title).filter(|label| !label.is_empty());
        if let Some(label) = label.filter(|_| !is_header) {
            let problem = LineProblem::Label(label.to_owned());
            self.reading.refuse(number, problem);
            let ended = self.streams.entry(line.label).or_default().table.take();
            self.end_table(line.label, ended);
        } else if is_header {
            if let Some(table) = &mut self.streams.entry(line.label).or_default().table {
                if let Some(shape) = table.shape {
                    let ran = shape.ranks().saturating_add(table.waiting);
                    let whole = CommShape {
                        nodes: ran.div_ceil(self.ppn),
                        ppn: self.ppn,
                    };
                    let (of_log, collective) = (&self.statements, table.collective);
                    let rows = &mut table.rows;
                    rows.check_statements(table.line, of_log, whole, collective, Some(ran));
                }
                table.read_header(text, number);
            }
        } else if let Some(name) = comment.strip_prefix("Benchmarking ") {
            self.begin_table(name.trim(), line);
        } else if let Some(count) = comment.strip_prefix("#processes =") {
            self.read_process_count(count.trim(), line);
        } else if text.starts_with('#') {
            let stream = self.streams.entry(line.label).or_default();
            if is_head(comment) {
                stream.head = Head::default();
                let ended = stream.table.take();
                self.end_table(line.label, ended);
            }
            self.read_comment(comment, line);
        } else if !text.is_empty() {
            self.read_plain_line(line);
        }
    }

    fn read_comment(&mut self, comment: &'t str, line: Line<'t>) {
        let stream = self.streams.entry(line.label).or_default();
        stream.head.update_from_comment(comment);
        if let Some(table) = &mut stream.table
            && comment.contains("groups of")
            && comment.contains("simultaneous")
        {
            table.rows.fail_table(table.line, LineProblem::Groups);
        }
        // As in `( 6 additional processes waiting in MPI_Barrier)`.
        let words = || comment.trim_start_matches('(').split_whitespace();
        if let Some(table) = &mut stream.table
            && words().any(|word| word == "waiting")
            && let Some(waiting) = words().next().and_then(|word| word.parse().ok())
        {
            table.waiting = waiting;
        }
        // Any other comment may be the heading of a script.
        if !is_head(comment) && !counts_processes(comment) {
            self.statements.take_line(line.text, line.number);
        }
    }

    fn begin_table(&mut self, name: &'t str, line: Line<'t>) {
        let ended = self.streams.entry(line.label).or_default().table.take();
        self.end_table(line.label, ended);
        self.statements.begin_table(line.number);
        let plain = name.strip_prefix(SEVERAL).unwrap_or(name);
        let collective: Option<Collective> = plain.to_ascii_lowercase().parse().ok();
        let Some(collective) = collective else {
            let why = format!("colltune does not compare the collective `{name}`");
            self.reading.skip_line(line.number, why);
            // It may be a heading.
            self.statements.take_line(line.text, line.number);
            return;
        };
        let mut table = Table {
            title: name,
            line: line.number,
            collective,
            shape: None,
            waiting: 0,
            launch: 1,
            columns: None,
            rows: Rows::default(),
        };
        if collective.is_rooted() {
            table.rows.warn(Warning::RotatingRoot);
        }
        if plain != name {
            table.rows.fail_table(line.number, LineProblem::Groups);
        }
        self.streams.entry(line.label).or_default().table = Some(table);
    }

    fn read_process_count(&mut self, count: &str, line: Line<'t>) {
        let number = line.number;
        let stream = self.streams.entry(line.label).or_default();
        let Some(table) = &mut stream.table else {
            return;
        };
        if table.shape.is_some() {
            table.rows.fail_table(number, LineProblem::Mixed);
            return;
        }
        // As in `4; rank order (rowwise):`.
        let (number_of, rest) = count.split_once(';').unwrap_or((count, ""));
        let ranks = number_of.trim().parse().ok();
        let Some(ranks) = ranks.and_then(|ranks| RANKS.if_within(ranks)) else {
            let problem = LineProblem::wrong_value(count, RANKS.to_string());
            table.rows.fail_table(number, problem);
            return;
        };
        if !rest.is_empty() {
            table.rows.fail_table(number, LineProblem::Renumbered);
        }
        let collective = table.collective;
        let launch = self.runs.entry(Run { collective, ranks }).or_default();
        *launch += 1;
        table.launch = *launch;
        table.shape = shape_of_ranks(ranks, self.ppn);
        let nodes = ranks.div_ceil(self.ppn);
        if self.nodes.is_some_and(|given| nodes > given) {
            let problem = LineProblem::TooManyProcesses { ranks };
            table.rows.fail_table(number, problem);
        } else if table.shape.is_none() {
            let why = format!(
                "{} cannot fill nodes of {} ranks each",
                format_counted(ranks, "rank"),
                self.ppn
            );
            self.reading.skip_line(number, why);
            stream.table = None;
        }
    }

    fn read_plain_line(&mut self, line: Line<'t>) {
        let stream = self.streams.entry(line.label).or_default();
        let head = stream.head;
        let is_row = match &mut stream.table {
            Some(table) => table.read_row(line, &head),
            None => false,
        };
        if !is_row
            && !self.statements.take_line(line.text, line.number)
            && let Some(table) = &mut stream.table
        {
            table.rows.note_other_line(line.number, line.text);
        }
    }

    fn end_table(&mut self, label: &str, table: Option<Table<'t>>) {
        if let Some(Table {
            title, line, rows, ..
        }) = table
        {
            rows.finish_table(line, label, title, &mut self.reading);
        }
    }
}

/// The shape of the first `ranks` ranks if nodes are filled one after the other; `None` if the last node is not full.
fn shape_of_ranks(ranks: u32, ppn: u32) -> Option<CommShape> {
    let ppn = ppn.min(ranks);
    let nodes = ranks / ppn;
    (nodes * ppn == ranks).then_some(CommShape { nodes, ppn })
}

impl<'t> Head<'t> {
    fn update_from_comment(&mut self, comment: &'t str) {
        let value = comment
            .split_once(':')
            .map_or("", |(_, value)| value)
            .trim();
        if is_head(comment) {
            let number = |word: &str| {
                let word = word.trim_start_matches('V');
                let end = word
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(word.len());
                word[..end].parse().ok()
            };
            self.release = comment.split_whitespace().find_map(number);
        } else if comment.starts_with("MPI_Datatype for reductions") {
            self.datatype = Some(value);
        } else if comment.starts_with("MPI_Op ") {
            self.operator = Some(value);
        }
    }

    /// The elements that reductions combine.
    ///
    /// # Errors
    /// If they are not compared.
    fn reduction_elements(&self) -> Result<(Datatype, Operator), LineProblem> {
        let datatype = match self.datatype {
            None => Datatype::Float32,
            Some(name) => benchmark::datatype_by_mpi_name(name)
                .ok_or_else(|| LineProblem::Datatype(name.to_owned()))?,
        };
        let operator = match self.operator {
            None => Operator::Sum,
            Some(name) => benchmark::operator_by_mpi_name(name)
                .ok_or_else(|| LineProblem::Operator(name.to_owned()))?,
        };
        Ok((datatype, operator))
    }
}

impl Columns {
    fn from_header(header: &str) -> Option<Self> {
        let names: Vec<&str> = header.split_whitespace().collect();
        let find = |name| names.iter().position(|known| *known == name);
        let of_name = |name: &&str| match *name {
            "#Benchmarking" => Column::Name,
            "Group" => Column::Count,
            _ if name.starts_with('#') => Column::Count,
            _ => Column::Decimal,
        };
        Some(Self {
            kinds: names.iter().map(of_name).collect(),
            bytes: find("#bytes"),
            least: find("t_min[usec]"),
            time: find("t_max[usec]")?,
            average: find("t_avg[usec]"),
            defects: find("defects"),
        })
    }
}

impl<'t> Table<'t> {
    /// Reads the names of the columns.
    fn read_header(&mut self, text: &str, number: u64) {
        self.columns = Columns::from_header(text);
        let has_data = self.collective.has_data();
        match &self.columns {
            Some(columns) if columns.bytes.is_some() == has_data => {}
            _ => self.rows.fail_table(number, LineProblem::NoColumns),
        }
    }

    /// Reads a line; false if it is no row.
    fn read_row(&mut self, line: Line<'t>, head: &Head<'t>) -> bool {
        let Line { number, text, .. } = line;
        let fields: Vec<&str> = text.split_whitespace().collect();
        let Some(columns) = &self.columns else {
            return false;
        };
        let is_without_times = |field: &&str| FAILED.iter().any(|failed| field.starts_with(failed));
        if fields.iter().skip(1).any(is_without_times) && fields[0].parse::<u64>().is_ok() {
            self.rows.skip_line(number, text);
            return true;
        }
        match benchmark::classify_line(&fields, &columns.kinds) {
            LineKind::Other => return false,
            LineKind::Broken(problem) => self.rows.refuse(number, problem),
            LineKind::Row => {
                if let Err(problem) = self.add_row(&fields, line, head) {
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
        head: &Head<'t>,
    ) -> Result<(), LineProblem> {
        let Some(columns) = &self.columns else {
            return Ok(());
        };
        let Some(shape) = self.shape else {
            self.rows.fail_table(line.number, LineProblem::NoProcesses);
            return Ok(());
        };
        let bytes = match columns.bytes {
            Some(column) => benchmark::parse_size(fields[column])?,
            None => 0,
        };
        self.rows.check_ascending(line.number, bytes);
        if columns.bytes.is_some() && bytes == 0 {
            return Ok(());
        }
        let has_defects = |column: usize| fields[column].parse::<f64>().ok() != Some(0.0);
        if columns.defects.is_some_and(has_defects) {
            self.rows.fail_table(line.number, LineProblem::Failed);
            return Ok(());
        }
        let time = fields[columns.time];
        let seconds = benchmark::parse_microseconds(time)?;
        if let (Some(least), Some(average)) = (columns.least, columns.average) {
            benchmark::check_average(fields[least], fields[average], time)?;
        }
        let sized = match (self.collective, head.release) {
            (Collective::ReduceScatter, None) => {
                self.rows.fail_table(line.number, LineProblem::NoRelease);
                return Ok(());
            }
            (Collective::ReduceScatter, Some(SIZED_BY_PART..)) => Sized::Part,
            // All parts have this size.
            (Collective::Allgatherv | Collective::Gatherv | Collective::Scatterv, _) => Sized::Part,
            _ => Sized::Alike,
        };
        let (datatype, operator) = match head.reduction_elements() {
            Ok(elements) => elements,
            Err(problem) if self.collective.is_reduction() => {
                self.rows.fail_table(self.line, problem);
                return Ok(());
            }
            // What is moved has no datatype here.
            Err(_) => (Datatype::Byte, Operator::Sum),
        };
        let cell = benchmark::cell_of_row(self.collective, shape, bytes, sized, datatype, operator);
        self.rows.add_row(line.number, self.launch, cell, seconds);
        Ok(())
    }
}
