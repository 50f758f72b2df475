//! Errors in lines of imported files.

use std::borrow::Cow;

use explained::Explained;
use libraries::LibraryName;
use thiserror::Error;
use vocabulary::Candidate;
use vocabulary::bounds::RANKS;
use vocabulary::units::format_counted;

use crate::csv::{COLUMNS, NEEDED};

/// An error in a line of a file, or in one of its fields.
#[derive(Clone, Debug, PartialEq, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
#[help(always)]
pub enum LineProblem {
    /// No header in a CSV file.
    #[error("there is no header")]
    #[help(list_columns())]
    NoHeader,
    /// A header without a required column.
    #[error("there is no column `{0}`")]
    #[help(list_columns())]
    NoColumn(&'static str),
    /// An unknown column.
    #[error("`{0}` is not a known column")]
    #[help(list_columns())]
    UnknownColumn(String),
    /// A repeated column.
    #[error("the header has the column `{0}` twice")]
    #[help(list_columns())]
    ColumnTwice(String),
    /// A value of another kind.
    #[error("`{found}` is not {expected}")]
    #[help("correct the value, or leave the row out")]
    Value {
        found: String,
        expected: Cow<'static, str>,
    },
    /// A field that must not be empty.
    #[error("the field is empty, but {0} is needed")]
    #[help("correct the value, or leave the row out")]
    Missing(&'static str),
    /// A line with more or fewer fields than the header.
    #[error(
        "the line has {} instead of {expected}",
        format_counted(found, "field")
    )]
    #[help("give every row the fields of the header; leave fields without a value empty")]
    Fields { found: usize, expected: usize },
    /// Not a collective that can be imported.
    #[error("there is no collective `{0}`")]
    #[help(
        "write one of {}",
        schedule::Collective::ALL.map(schedule::Collective::name).join(", ")
    )]
    Collective(String),
    /// Not an algorithm of ours.
    #[error("colltune has no algorithm `{0}`")]
    #[help(
        "`colltune schedule list` names them all; for an algorithm that is not colltune's, write its source in the \
         column `library`"
    )]
    Algorithm(String),
    /// An algorithm of a library that is not given or not known.
    #[error("colltune knows the own algorithms of {} only", known_libraries())]
    #[help(
        "name the library that was measured, as in `--library openmpi-4.1.4`; or write another word than `native` in \
         the column `library`"
    )]
    NativeOfUnknown,
    /// Not an algorithm of the measured library.
    #[error("{library} has no algorithm `{id}` of this collective")]
    #[help("write one of {known}")]
    Native {
        id: String,
        library: &'static str,
        known: String,
    },
    /// An algorithm of ours where it cannot be used.
    #[error("`{algorithm}` cannot be used here: {why}")]
    #[help("correct the row, or leave it out")]
    Unsupported { algorithm: String, why: String },
    /// A segment size for an algorithm without segments.
    #[error("`{0}` has no segments")]
    #[help("leave `segment_bytes` empty")]
    NoSegments(String),
    /// A size that is not a multiple of the element size.
    #[error(
        "the size of {} is not a whole number of {datatype}",
        format_counted(bytes, "byte")
    )]
    #[help("correct the size, or name the elements in a column `datatype`, such as int32")]
    PartOfElement { bytes: u64, datatype: &'static str },
    /// A name that tables cannot hold.
    #[error("`{0}` cannot be a name")]
    #[help(
        "leave out `:`, `/`, `[`, `]` and unprintable characters; `{}` means something else",
        Candidate::MOCKUP.trim_end_matches(':')
    )]
    Name(String),
    /// Two different algorithms that are both given as the default.
    #[error("the default is called `{found}` here and `{before}` before")]
    #[help(
        "there is one default: write the source of the other algorithms in the column `library`"
    )]
    SecondDefault { found: String, before: String },
    /// A row before the header of its table.
    #[error("there is no header with the columns of this row")]
    #[help("import the whole output of the program, its headers included")]
    NoColumns,
    /// A row that ends too early.
    #[error("the row ends before the column of its time")]
    #[help("import the whole output of the program, its headers included")]
    TooShort,
    /// A failed validation of the benchmark.
    #[error("the benchmark reports a wrong result")]
    #[help("find the cause before using its times, or leave the row out")]
    Failed,
    /// Too many ranks.
    #[error("the shape {nodes}x{ppn} does not have {RANKS}")]
    #[help("correct the value, or leave the row out")]
    Shape { nodes: u32, ppn: u32 },
    /// More processes than ranks.
    #[error("{ranks} processes are more than the nodes hold")]
    #[help("correct `--nodes` or `--ppn`")]
    TooManyProcesses { ranks: u32 },
    /// Sizes whose meaning depends on an unknown release.
    #[error("the meaning of the size depends on the release of the benchmarks, which is not known")]
    #[help("add the output's head, with the line `Intel(R) MPI Benchmarks ...`")]
    NoRelease,
    /// An algorithm that the log says was forced.
    #[error(
        "line {line} says that an algorithm was forced (`{setting}={value}`), and this format is for times of the default"
    )]
    #[help("to compare algorithms, write the times as CSV, with `native` in the column `library`")]
    Forced {
        line: u64,
        setting: String,
        value: String,
    },
    /// A number in the log that contradicts the options.
    #[error(
        "line {line} says {}{each}, and the options say {given}",
        format_counted(said, what)
    )]
    #[help(
        "give the `--nodes` and `--ppn` of this run; each import takes the tables of its shape, and the same file \
         can be imported for another one"
    )]
    Said {
        line: u64,
        said: u32,
        what: &'static str,
        /// Empty, or on what the number is.
        each: &'static str,
        given: u32,
    },
    /// Statements in the log that contradict each other.
    #[error(
        "lines {} and {} say different numbers of ranks, of nodes or other settings, and not which of them are about \
         this table",
        .0[0],
        .0[1]
    )]
    #[help("split the file, one part for each command, with that command above its tables")]
    SaidTwice([u64; 2]),
    /// Text before a title that cannot be told from what it precedes.
    #[error("`{0}` before the title is not a label that can be recognised in other lines")]
    #[help("remove what precedes the output's lines")]
    Label(String),
    /// A title without rows.
    #[error("`{0}` has no rows")]
    #[help("import the whole output of the program")]
    NoRows(String),
    /// A title with a label, and no rows with that label.
    #[error("no rows have the label `{0}` of this title")]
    #[help("remove what precedes the output's lines")]
    NoRowsOf(String),
    /// A header without a title.
    #[error("there is no title above these columns, so the collective is not known")]
    #[help("import the whole output of the program")]
    NoTitle,
    /// Elements that are not compared.
    #[error("colltune does not compare the datatype `{0}`")]
    #[help("measure with float, double, int, long or char elements")]
    Datatype(String),
    /// An operator that is not compared.
    #[error("colltune does not compare the operator `{0}`")]
    #[help("measure with sums or maxima")]
    Operator(String),
    /// A release that can combine several datatypes, without a line that names it.
    #[error(
        "the output does not say which datatype was combined, and this release can combine several"
    )]
    #[help("measure with float, double, int, long or char elements")]
    NoDatatype,
    /// A column that is no time of contiguous data in microseconds.
    #[error("the column `{0}` is not one of a time of contiguous data in microseconds")]
    #[help("run the program without options that change what it times")]
    Column(String),
    /// Sizes that do not ascend.
    #[error("the size {size} follows {before}: the lines of several outputs seem to be mixed")]
    #[help("import each output from a file of its own")]
    Order { size: u64, before: u64 },
    /// Simultaneous groups of processes.
    #[error("several groups of processes ran at the same time, and shared the network")]
    #[help("run without `-multi`")]
    Groups,
    /// Processes in another order.
    #[error("the processes were renumbered, so they may not fill one node after the other")]
    #[help("run without `-map`")]
    Renumbered,
    /// A table for which the log does not say what it says for others.
    #[error("the log does not say on which shape this table ran, and others ran on other shapes")]
    #[help("import this table from a file of its own")]
    Silent,
    /// A placement of ranks that the log says.
    #[error(
        "line {line} says that ranks do not fill one node after the other (`{option}`), as is assumed here"
    )]
    #[help("run with ranks that fill one node after the other, as with `--map-by slot`")]
    Turned { line: u64, option: String },
    /// A second head in a table.
    #[error("this line stands in another table: the lines of several outputs seem to be mixed")]
    #[help("import each output from a file of its own")]
    Mixed,
    /// No number of processes.
    #[error("the table does not say how many processes ran")]
    #[help("import the whole output of the program")]
    NoProcesses,
    /// The last line, without its end.
    #[error("the file ends within this row")]
    #[help("import the whole output of the program")]
    Cut,
    /// Times that contradict each other.
    #[error("the average {average} is not between {least} and {most}")]
    #[help("correct the row, or leave it out")]
    Average { least: f64, average: f64, most: f64 },
    /// A baseline that names two candidates of one cell.
    #[error("the baseline is both {} and {} here", .0[0], .0[1])]
    #[help("import them separately, or name a baseline that was measured with one segment size")]
    SeveralBaselines([String; 2]),
    /// A cell with both the default and the baseline.
    #[error("both the default and the baseline were measured here")]
    #[help("leave `--baseline` out")]
    DefaultBesideBaseline,
}

fn list_columns() -> String {
    format!(
        "the columns are {}; `{}` are needed, the others may be left out",
        COLUMNS.join(", "),
        NEEDED.join("`, `")
    )
}

fn known_libraries() -> String {
    LibraryName::ALL.map(LibraryName::name).join(" and ")
}

impl LineProblem {
    pub(crate) fn wrong_value(found: &str, expected: impl Into<Cow<'static, str>>) -> Self {
        Self::Value {
            found: found.to_owned(),
            expected: expected.into(),
        }
    }
}
