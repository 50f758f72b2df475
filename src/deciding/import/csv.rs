//! Comma-separated values with a header; each row is a repetition or the mean of several.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use ::csv::{ReaderBuilder, StringRecord, Trim};
use printable::is_unprintable;
use schedule::{Collective, Distribution, Parameter, Schedule};
use vocabulary::bounds::{BYTES, TIME};
use vocabulary::units::{UnitError, parse_bytes};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Library, Operator, Parameters};

use crate::error::{ImportError, OptionNeeded};
use crate::problem::LineProblem;
use crate::row::{Reading, Row};
use crate::{ImportFormat, ImportOptions, benchmark};

pub(crate) const COLUMNS: [&str; 12] = [
    "collective",
    "library",
    "algorithm",
    "nodes",
    "ppn",
    "bytes",
    "segment_bytes",
    "datatype",
    "operator",
    "distribution",
    "launch",
    "seconds",
];

/// The required columns.
pub(crate) const NEEDED: [&str; 3] = ["collective", "bytes", "seconds"];

/// The source of algorithms if the file names none.
const UNNAMED_SOURCE: &str = "imported";

/// Reads the rows. Lines that begin with `#` are comments.
pub(crate) fn read_rows(
    path: &Path,
    text: &str,
    options: &ImportOptions,
) -> Result<Reading, ImportError> {
    let mut reader = Reader {
        path,
        options,
        columns: BTreeMap::new(),
        default_names: BTreeMap::new(),
    };
    let mut reading = Reading::default();
    for record in parse_records(text) {
        let (number, fields) =
            record.map_err(|(number, problem)| ImportError::at_line(path, number, problem))?;
        if reader.columns.is_empty() {
            reader.read_header(number, &fields)?;
        } else {
            reader.add_row(number, &fields, &mut reading)?;
        }
    }
    if reader.columns.is_empty() {
        return Err(ImportError::at_line(path, 1, LineProblem::NoHeader));
    }
    Ok(reading)
}

/// The rows with their line numbers, including the header. Comments and empty lines are removed first, since the CSV
/// reader does not count them.
fn parse_records(text: &str) -> Vec<Result<(u64, StringRecord), (u64, LineProblem)>> {
    let is_row = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines = text.lines().zip(1..).filter(|(line, _)| is_row(line));
    let (rows, numbers): (Vec<&str>, Vec<u64>) = lines.unzip();
    let rows = rows.join("\n");
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .from_reader(rows.as_bytes());
    let number = |line: u64| {
        let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        numbers.get(index).copied().unwrap_or(line)
    };
    let records = reader.records().map(|record| match record {
        Ok(record) => Ok((number(record.position().map_or(1, |at| at.line())), record)),
        Err(error) => {
            let line = number(error.position().map_or(1, |at| at.line()));
            let problem = LineProblem::wrong_value("this line", "a row of comma-separated values");
            Err((line, problem))
        }
    });
    records.collect()
}

struct Reader<'a> {
    path: &'a Path,
    options: &'a ImportOptions,
    columns: BTreeMap<&'static str, usize>,
    /// The first name of each collective's default.
    default_names: BTreeMap<Collective, String>,
}

/// A problem with the name of its column.
type Fault = (&'static str, LineProblem);

impl Reader<'_> {
    fn read_header(&mut self, number: u64, fields: &StringRecord) -> Result<(), ImportError> {
        for (index, name) in fields.iter().enumerate() {
            let problem = match COLUMNS.iter().find(|known| **known == name) {
                None => LineProblem::UnknownColumn(name.to_owned()),
                Some(column) => match self.columns.insert(column, index) {
                    None => continue,
                    Some(_) => LineProblem::ColumnTwice(name.to_owned()),
                },
            };
            return Err(ImportError::at_line(self.path, number, problem));
        }
        let missing = NEEDED.iter().find(|name| !self.columns.contains_key(*name));
        match missing {
            Some(name) => Err(ImportError::at_line(
                self.path,
                number,
                LineProblem::NoColumn(name),
            )),
            None if !self.columns.contains_key("ppn") && self.options.ppn.is_none() => Err(
                ImportError::needs_option(self.path, ImportFormat::Csv, OptionNeeded::Ppn),
            ),
            None => Ok(()),
        }
    }

    fn add_row(
        &mut self,
        line: u64,
        fields: &StringRecord,
        reading: &mut Reading,
    ) -> Result<(), ImportError> {
        if fields.len() != self.columns.len() {
            let (found, expected) = (fields.len(), self.columns.len());
            let problem = LineProblem::Fields { found, expected };
            return Err(ImportError::at_line(self.path, line, problem));
        }
        let row = self
            .read_row(line, fields)
            .map_err(|(field, problem)| ImportError::Line {
                path: self.path.to_owned(),
                line,
                field: Some(field),
                problem,
            })?;
        match &row.candidate {
            Candidate::Native { parameters, .. } if !self.library_runs(&row, parameters) => {
                let why = format!(
                    "on {} at this size the library runs another algorithm instead of `{}`",
                    row.cell.shape, row.candidate
                );
                reading.skip_line(line, why);
            }
            _ => reading.rows.push(row),
        }
        Ok(())
    }

    /// Whether the library runs this algorithm if it is forced, and not another one in its place.
    fn library_runs(&self, row: &Row, parameters: &Parameters) -> bool {
        let library = self.options.library.as_ref();
        let library = library.and_then(|library| libraries::find_library(&library.name));
        library
            .is_some_and(|library| library.runs_in_cell(&row.cell, row.candidate.id(), parameters))
    }

    fn read_row(&mut self, line: u64, record: &StringRecord) -> Result<Row, Fault> {
        let columns = &self.columns;
        let fields = Fields { columns, record };
        let cell = fields.parse_cell(self.options)?;
        let candidate = fields.parse_candidate(&cell, self.options.library.as_ref())?;
        let launch = fields.positive_number("launch")?.unwrap_or(1);
        let text = fields.required_text("seconds", "a time")?;
        let time = text.parse().ok().and_then(|time| TIME.if_within(time));
        let seconds = time.ok_or_else(|| unfit_value("seconds", text, TIME.to_string()))?;
        if candidate == Candidate::Default {
            let found = fields
                .text_in_column("algorithm")
                .unwrap_or("default")
                .to_owned();
            let known = self.default_names.entry(cell.collective);
            let before = known.or_insert_with(|| found.clone());
            if *before != found {
                let before = before.clone();
                return Err(("algorithm", LineProblem::SecondDefault { found, before }));
            }
        }
        Ok(Row {
            line,
            launch,
            cell,
            candidate,
            seconds,
        })
    }
}

fn unfit_value(column: &'static str, found: &str, expected: impl Into<Cow<'static, str>>) -> Fault {
    (column, LineProblem::wrong_value(found, expected))
}

/// The fields of a row.
struct Fields<'f> {
    columns: &'f BTreeMap<&'static str, usize>,
    record: &'f StringRecord,
}

impl<'f> Fields<'f> {
    /// The text in a column; `None` if it is empty or missing.
    fn text_in_column(&self, column: &'static str) -> Option<&'f str> {
        let index = self.columns.get(column).copied()?;
        self.record.get(index).filter(|text| !text.is_empty())
    }

    fn required_text(&self, column: &'static str, what: &'static str) -> Result<&'f str, Fault> {
        self.text_in_column(column)
            .ok_or((column, LineProblem::Missing(what)))
    }

    /// A whole number above 0.
    fn positive_number(&self, column: &'static str) -> Result<Option<u32>, Fault> {
        let number = |text: &str| {
            let number = text.parse().ok().filter(|number| *number > 0);
            number.ok_or_else(|| unfit_value(column, text, "a whole number above 0"))
        };
        self.text_in_column(column).map(number).transpose()
    }

    /// A size in bytes, with or without a unit.
    fn size_in_bytes(&self, column: &'static str) -> Result<Option<u64>, Fault> {
        let size = |text: &str| {
            let size = parse_bytes(text);
            size.map_err(|error| match error {
                UnitError::LargeSize(_) => unfit_value(column, text, BYTES.to_string()),
                _ => unfit_value(column, text, "a size, such as 4096 or 64K"),
            })
        };
        self.text_in_column(column).map(size).transpose()
    }

    fn parse_cell(&self, options: &ImportOptions) -> Result<Cell, Fault> {
        let name = self.required_text("collective", "a collective")?;
        let collective: Collective = name
            .parse()
            .map_err(|_| ("collective", LineProblem::Collective(name.to_owned())))?;
        let nodes = self
            .positive_number("nodes")?
            .or(options.nodes)
            .unwrap_or(1);
        let ppn = self.positive_number("ppn")?.or(options.ppn);
        let ppn = ppn.ok_or(("ppn", LineProblem::Missing("the number of ranks on a node")))?;
        let bytes = match (self.size_in_bytes("bytes")?, collective.has_data()) {
            (Some(bytes), true) | (Some(bytes @ 0), false) => bytes,
            (None, true) => return Err(("bytes", LineProblem::Missing("a size"))),
            (None, false) => 0,
            (Some(bytes), false) => {
                let expected = "the size of a barrier, which moves no data: leave the field empty";
                return Err(unfit_value("bytes", &bytes.to_string(), expected));
            }
        };
        let (datatype, operator) = if collective.is_reduction() {
            (self.parse_datatype()?, Some(self.parse_operator()?))
        } else {
            (Datatype::Byte, None)
        };
        if !bytes.is_multiple_of(datatype.size_bytes()) {
            let datatype = datatype.name();
            return Err(("bytes", LineProblem::PartOfElement { bytes, datatype }));
        }
        let distribution = self.parse_distribution(collective)?;
        Ok(Cell {
            collective,
            shape: CommShape::try_new(nodes, ppn)
                .ok_or(("ppn", LineProblem::Shape { nodes, ppn }))?,
            bytes,
            datatype,
            operator,
            distribution,
        })
    }

    /// The distribution of an irregular collective's data, uniform if none is given.
    fn parse_distribution(&self, collective: Collective) -> Result<Distribution, Fault> {
        const COLUMN: &str = "distribution";
        let Some(name) = self.text_in_column(COLUMN) else {
            return Ok(Distribution::Uniform);
        };
        if !collective.is_irregular() {
            let expected = format!(
                "a value here: the parts of a {collective} have one size, so leave the field empty"
            );
            return Err(unfit_value(COLUMN, name, expected));
        }
        let known = Distribution::ALL.map(Distribution::name).join(", ");
        Distribution::from_name(name).ok_or_else(|| {
            unfit_value(
                COLUMN,
                name,
                format!("a distribution: write one of {known}"),
            )
        })
    }

    fn parse_datatype(&self) -> Result<Datatype, Fault> {
        const KNOWN: [Datatype; 5] = [
            Datatype::Int8,
            Datatype::Int32,
            Datatype::Int64,
            Datatype::Float32,
            Datatype::Float64,
        ];
        let Some(name) = self.text_in_column("datatype") else {
            return Ok(Datatype::Float32);
        };
        let ours = KNOWN.into_iter().find(|known| known.name() == name);
        let expected = "a datatype: write int8, int32, int64, float32 or float64";
        ours.or_else(|| benchmark::datatype_by_mpi_name(name))
            .ok_or_else(|| unfit_value("datatype", name, expected))
    }

    fn parse_operator(&self) -> Result<Operator, Fault> {
        let Some(name) = self.text_in_column("operator") else {
            return Ok(Operator::Sum);
        };
        let mut known = Operator::ALL.into_iter();
        let ours = known.find(|known| known.name() == name);
        let expected = "an operator: write sum, max or noncommutative";
        ours.or_else(|| benchmark::operator_by_mpi_name(name))
            .ok_or_else(|| unfit_value("operator", name, expected))
    }

    fn parse_candidate(&self, cell: &Cell, measured: Option<&Library>) -> Result<Candidate, Fault> {
        let prefix = format!("{}/", cell.collective);
        let id = self.text_in_column("algorithm");
        let id = id.map(|id| id.strip_prefix(&prefix).unwrap_or(id));
        let library = match (self.text_in_column("library"), id) {
            (Some(library), _) => library,
            (None, None | Some("default")) => "default",
            (None, Some(_)) => UNNAMED_SOURCE,
        };
        if library == "default" {
            return Ok(Candidate::Default);
        }
        let id = id.ok_or(("algorithm", LineProblem::Missing("an algorithm")))?;
        let segment = self
            .size_in_bytes("segment_bytes")?
            .filter(|size| *size > 0);
        if library == "ours" {
            return our_candidate(format!("{prefix}{id}"), segment, cell);
        }
        if library == "native" {
            return native_candidate(id, segment, cell, measured);
        }
        for (field, name) in [("library", library), ("algorithm", id)] {
            let forbidden = |c: char| is_unprintable(c) || ":/[]".contains(c);
            if name.contains(forbidden) || library == "mockup" {
                return Err((field, LineProblem::Name(name.to_owned())));
            }
        }
        Ok(Candidate::Foreign {
            algorithm: format!("{library}:{prefix}{id}"),
            parameters: Parameters {
                segment_bytes: segment,
                ..Parameters::default()
            },
        })
    }
}

/// One of our algorithms, if it can be used in the cell.
fn our_candidate(algorithm: String, segment: Option<u64>, cell: &Cell) -> Result<Candidate, Fault> {
    let known = schedule::find_algorithm(&algorithm);
    let Some(known) = known else {
        return Err(("algorithm", LineProblem::Algorithm(algorithm)));
    };
    if segment.is_some() && !known.takes(Parameter::Blocks) {
        return Err(("segment_bytes", LineProblem::NoSegments(algorithm)));
    }
    let parameters = Parameters {
        block_bytes: segment,
        ..Parameters::default()
    };
    match Schedule::new(known, &cell.schedule_request(&parameters)) {
        Ok(_) => Ok(Candidate::Ours {
            algorithm,
            parameters,
        }),
        Err(unsupported) => {
            let why = unsupported.to_string();
            Err(("algorithm", LineProblem::Unsupported { algorithm, why }))
        }
    }
}

/// One of the measured library's own algorithms, by the library's name for it.
fn native_candidate(
    id: &str,
    segment: Option<u64>,
    cell: &Cell,
    measured: Option<&Library>,
) -> Result<Candidate, Fault> {
    let library = measured.and_then(|library| libraries::find_library(&library.name));
    let library = library.ok_or(("library", LineProblem::NativeOfUnknown))?;
    let all = library.facts().algorithms.iter();
    let of_collective = all.filter(|known| known.collective == cell.collective);
    let Some(known) = of_collective.clone().find(|known| known.id == id) else {
        let known: Vec<&str> = of_collective.map(|known| known.id).collect();
        let (id, library, known) = (id.to_owned(), library.name(), known.join(", "));
        return Err(("algorithm", LineProblem::Native { id, library, known }));
    };
    let algorithm = format!("{}{}/{id}", Candidate::NATIVE, cell.collective);
    if segment.is_some() && !known.takes_segments {
        return Err(("segment_bytes", LineProblem::NoSegments(algorithm)));
    }
    Ok(Candidate::Native {
        algorithm,
        parameters: Parameters {
            segment_bytes: segment,
            ..Parameters::default()
        },
    })
}
