//! Common parts of the outputs of benchmark programs.

use schedule::Collective;
use vocabulary::bounds::{BYTES, TIME};
use vocabulary::units::format_counted;
use vocabulary::{Cell, CommShape, Datatype, Operator, Warning};

use crate::problem::LineProblem;
use crate::row::Reading;
use crate::statements::Statements;

/// The meaning of the sizes in an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sized {
    /// The same as [`Cell::bytes`].
    Alike,
    /// The size of the whole vector, for a collective whose cells have the size of a part.
    Vector,
    /// The size of one rank's part, for a collective whose cells have the size of the vector.
    Part,
}

/// The cell of a row.
///
/// # Errors
/// A sentence if the size is not a whole number of elements for each rank.
pub(crate) fn cell_of_row(
    collective: Collective,
    shape: CommShape,
    bytes: u64,
    sized: Sized,
    datatype: Datatype,
    operator: Operator,
) -> Result<Cell, String> {
    let ranks = u64::from(shape.ranks());
    let own = match sized {
        Sized::Alike => Some(bytes),
        Sized::Vector => bytes.is_multiple_of(ranks).then(|| bytes / ranks),
        Sized::Part => bytes
            .checked_mul(ranks)
            .and_then(|bytes| BYTES.if_within(bytes)),
    };
    let reduces = collective.is_reduction();
    let datatype = if reduces { datatype } else { Datatype::Byte };
    let own = own.filter(|own| own.is_multiple_of(datatype.size_bytes()));
    let why = || {
        let datatype = datatype.name();
        format!(
            "the size of {} is not a whole number of {datatype} for each of {ranks} ranks",
            format_counted(bytes, "byte")
        )
    };
    Ok(Cell {
        collective,
        shape,
        bytes: own.ok_or_else(why)?,
        datatype,
        operator: reduces.then_some(operator),
        distribution: schedule::Distribution::Uniform,
    })
}

/// The element type with an MPI name; `None` if colltune does not measure it.
pub(crate) fn datatype_by_mpi_name(name: &str) -> Option<Datatype> {
    match name {
        "MPI_CHAR" | "MPI_SIGNED_CHAR" | "MPI_INT8_T" => Some(Datatype::Int8),
        "MPI_INT" | "MPI_INT32_T" => Some(Datatype::Int32),
        "MPI_LONG" | "MPI_LONG_LONG" | "MPI_LONG_LONG_INT" | "MPI_INT64_T" => Some(Datatype::Int64),
        "MPI_FLOAT" => Some(Datatype::Float32),
        "MPI_DOUBLE" => Some(Datatype::Float64),
        _ => None,
    }
}

/// The operator with an MPI name; `None` if colltune does not measure it.
pub(crate) fn operator_by_mpi_name(name: &str) -> Option<Operator> {
    match name {
        "MPI_SUM" => Some(Operator::Sum),
        "MPI_MAX" => Some(Operator::Max),
        _ => None,
    }
}

/// Reads a time in microseconds; returns seconds.
pub(crate) fn parse_microseconds(microseconds: &str) -> Result<f64, LineProblem> {
    let time = microseconds.parse().ok();
    let time = time.and_then(|time: f64| TIME.if_within(time * 1e-6));
    time.ok_or_else(|| LineProblem::wrong_value(microseconds, format!("{TIME}, in microseconds")))
}

/// Reads a size in bytes.
pub(crate) fn parse_size(field: &str) -> Result<u64, LineProblem> {
    let size = field.parse().ok().and_then(|size| BYTES.if_within(size));
    size.ok_or_else(|| LineProblem::wrong_value(field, format!("{BYTES}, in bytes")))
}

/// What a column of an output contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// A name.
    Name,
    /// A whole number: a size, a number of repetitions, processes or of a group.
    Count,
    /// A time in microseconds, or another number, with decimals.
    Decimal,
    /// Whether results were right: `Pass`, `Fail`, or `-` where it was not checked.
    Verdict,
}

/// What a line below the header of a table is.
#[derive(Debug)]
pub(crate) enum LineKind {
    /// A row, with its fields as the columns have them.
    Row,
    /// Probably a row, but a broken one.
    Broken(LineProblem),
    /// A line of another program.
    Other,
}

/// Compares the fields of a line with the columns of a table. Only a line in which every field is as its column says is
/// a row: lines of other programs may begin with numbers, too.
pub(crate) fn classify_line(fields: &[&str], columns: &[Column]) -> LineKind {
    let is_number = |field: &str| {
        field.replacen(',', ".", 1).parse::<f64>().is_ok()
            || field.chars().all(|c| c == '-' || c == '*')
    };
    let may_fit = |column: Option<&Column>, field: &str| match column {
        Some(Column::Name) => true,
        Some(Column::Verdict) => VERDICTS.contains(&field),
        _ => is_number(field),
    };
    let mut all = fields.iter().enumerate();
    if !all.all(|(index, field)| may_fit(columns.get(index), field)) {
        return LineKind::Other;
    }
    if fields.len() < columns.len() {
        return LineKind::Broken(LineProblem::TooShort);
    }
    if fields.len() > columns.len() {
        return LineKind::Broken(LineProblem::Fields {
            found: fields.len(),
            expected: columns.len(),
        });
    }
    let has_only = |field: &str, allowed: fn(char) -> bool| field.chars().all(allowed);
    let misfit = |(column, field): (&Column, &&str)| match column {
        Column::Count if !has_only(field, |c| c.is_ascii_digit()) => {
            Some(LineProblem::wrong_value(field, "a whole number"))
        }
        Column::Decimal
            if !(field.contains('.') && has_only(field, |c| c.is_ascii_digit() || c == '.')) =>
        {
            let is_positive = field
                .replacen(',', ".", 1)
                .parse()
                .is_ok_and(|time: f64| time > 0.0 && time.is_finite());
            let expected = if is_positive {
                "a time as the benchmark prints it, in microseconds with decimals".to_owned()
            } else {
                format!("{TIME}, in microseconds")
            };
            Some(LineProblem::wrong_value(field, expected))
        }
        _ => None,
    };
    let problem = columns.iter().zip(fields).find_map(misfit);
    problem.map_or(LineKind::Row, LineKind::Broken)
}

/// The values of [`Column::Verdict`].
const VERDICTS: [&str; 3] = ["Pass", "Fail", "-"];

/// Checks that an average is between two times, apart from rounding: otherwise the line has other columns than the
/// header, or characters of two lines.
pub(crate) fn check_average(least: &str, average: &str, most: &str) -> Result<(), LineProblem> {
    let [Ok(least), Ok(average), Ok(most)] = [least.parse(), average.parse(), most.parse()] else {
        return Ok(());
    };
    let rounding = 0.011;
    if least <= average + rounding && average <= most + rounding {
        return Ok(());
    }
    Err(LineProblem::Average {
        least,
        average,
        most,
    })
}

/// The rows of a table until it ends: a table with a fault is left out as a whole, and no other one with it.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    reading: Reading,
    /// The last size.
    before: Option<u64>,
    fault: Option<Fault>,
}

#[derive(Debug)]
struct Fault {
    line: u64,
    problem: LineProblem,
}

impl Rows {
    /// Adds a row.
    pub(crate) fn add_row(
        &mut self,
        line: u64,
        launch: u32,
        cell: Result<Cell, String>,
        seconds: f64,
    ) {
        self.reading.add_row(line, launch, cell, seconds);
    }

    /// Checks that the sizes ascend: else the rows of several outputs are mixed, and the whole table is left out.
    pub(crate) fn check_ascending(&mut self, line: u64, size: u64) {
        if let Some(before) = self.before.filter(|before| size <= *before) {
            self.fail_table(line, LineProblem::Order { size, before });
        }
        self.before = Some(size);
    }

    /// Adds a reason to trust the times less, which counts if the table is imported.
    pub(crate) fn warn(&mut self, warning: Warning) {
        self.reading.warnings.insert(warning);
    }

    /// Compares what a log says about the table in a line with what is asked for; the parameters are those of
    /// [`Statements::find_objection`].
    pub(crate) fn check_statements(
        &mut self,
        line: u64,
        statements: &Statements,
        shape: CommShape,
        collective: Collective,
        ran: Option<u32>,
    ) {
        if let Some(problem) = statements.find_objection(shape, collective, ran) {
            self.fail_table(line, problem);
        }
        let settings = statements.changed_settings(collective);
        if !settings.is_empty() {
            self.warn(Warning::SteeredDefault {
                settings: settings.into_iter().collect(),
            });
        }
    }

    /// Leaves out a line.
    pub(crate) fn skip_line(&mut self, line: u64, what: impl AsRef<str>) {
        self.reading.skip_line(line, what);
    }

    /// Leaves out a broken row.
    pub(crate) fn refuse(&mut self, line: u64, problem: LineProblem) {
        self.reading.refuse(line, problem);
    }

    /// Notes a line of another program.
    pub(crate) fn note_other_line(&mut self, line: u64, text: &str) {
        self.reading.note_other_line(line, text);
    }

    /// Leaves out the whole table for its first fault.
    pub(crate) fn fail_table(&mut self, line: u64, problem: LineProblem) {
        self.fault.get_or_insert(Fault { line, problem });
    }

    /// Ends the table with a title, and the label before it, in a line.
    pub(crate) fn finish_table(
        mut self,
        line: u64,
        label: &str,
        title: &str,
        reading: &mut Reading,
    ) {
        reading.others.append(&mut self.reading.others);
        if let Some(Fault { line: at, problem }) = self.fault {
            reading.refuse(at, problem);
            return;
        }
        if self.reading.rows.is_empty() && self.reading.skipped.is_empty() {
            let problem = if label.is_empty() {
                LineProblem::NoRows(title.to_owned())
            } else {
                LineProblem::NoRowsOf(label.to_owned())
            };
            reading.refuse(line, problem);
        }
        if !self.reading.rows.is_empty() {
            reading.warnings.append(&mut self.reading.warnings);
        }
        reading.rows.append(&mut self.reading.rows);
        reading.skipped.append(&mut self.reading.skipped);
    }
}
