//! Errors in lines of imported files.

use std::borrow::Cow;

use libraries::LibraryName;
use thiserror::Error;
use vocabulary::Candidate;
use vocabulary::bounds::RANKS;
use vocabulary::units::format_counted;

use crate::csv::{COLUMNS, NEEDED};

/// An error in a line of a file, or in one of its fields.
#[derive(Clone, Debug, PartialEq, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum LineProblem {
    /// No header in a CSV file.
    #[error("there is no header")]
    NoHeader,
    /// A header without a required column.
    #[error("there is no column `{0}`")]
    NoColumn(&'static str),
    /// An unknown column.
    #[error("`{0}` is not a known column")]
    UnknownColumn(String),
    /// A repeated column.
    #[error("the header has the column `{0}` twice")]
    ColumnTwice(String),
    /// A value of another kind.
    #[error("`{found}` is not {expected}")]
    Value {
        found: String,
        expected: Cow<'static, str>,
    },
    /// A field that must not be empty.
    #[error("the field is empty, but {0} is needed")]
    Missing(&'static str),
    /// A line with more or fewer fields than the header.
    #[error(
        "the line has {} instead of {expected}",
        format_counted(found, "field")
    )]
    Fields { found: usize, expected: usize },
    /// Not a collective.
    #[error("there is no collective `{0}`")]
    Collective(String),
    /// Not an algorithm of ours.
    #[error("colltune has no algorithm `{0}`")]
    Algorithm(String),
    /// An algorithm of a library that is not given or not known.
    #[error("colltune knows the own algorithms of {} only", known_libraries())]
    NativeOfUnknown,
    /// Not an algorithm of the measured library.
    #[error("{library} has no algorithm `{id}` of this collective")]
    Native {
        id: String,
        library: &'static str,
        known: String,
    },
    /// An algorithm of ours where it cannot be used.
    #[error("`{algorithm}` cannot be used here: {why}")]
    Unsupported { algorithm: String, why: String },
    /// A segment size for an algorithm without segments.
    #[error("`{0}` has no segments")]
    NoSegments(String),
    /// A size that is not a multiple of the element size.
    #[error(
        "the size of {} is not a whole number of {datatype}",
        format_counted(bytes, "byte")
    )]
    PartOfElement { bytes: u64, datatype: &'static str },
    /// A name that tables cannot hold.
    #[error("`{0}` cannot be a name")]
    Name(String),
    /// Two different algorithms that are both given as the default.
    #[error("the default is called `{found}` here and `{before}` before")]
    SecondDefault { found: String, before: String },
    /// A row before the header of its table.
    #[error("there is no header with the columns of this row")]
    NoColumns,
    /// A row that ends too early.
    #[error("the row ends before the column of its time")]
    TooShort,
    /// A failed validation of the benchmark.
    #[error("the benchmark reports a wrong result")]
    Failed,
    /// Too many ranks.
    #[error("the shape {nodes}x{ppn} does not have {RANKS}")]
    Shape { nodes: u32, ppn: u32 },
    /// More processes than ranks.
    #[error("{ranks} processes are more than the nodes hold")]
    TooManyProcesses { ranks: u32 },
    /// Sizes whose meaning depends on an unknown release.
    #[error("the meaning of the size depends on the release of the benchmarks, which is not known")]
    NoRelease,
    /// An algorithm that the log says was forced.
    #[error(
        "line {line} says that an algorithm was forced (`{setting}={value}`), and this format is for times of the default"
    )]
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
    SaidTwice([u64; 2]),
    /// Text before a title that cannot be told from what it precedes.
    #[error("`{0}` before the title is not a label that can be recognised in other lines")]
    Label(String),
    /// A title without rows.
    #[error("`{0}` has no rows")]
    NoRows(String),
    /// A title with a label, and no rows with that label.
    #[error("no rows have the label `{0}` of this title")]
    NoRowsOf(String),
    /// A header without a title.
    #[error("there is no title above these columns, so the collective is not known")]
    NoTitle,
    /// Elements that are not compared.
    #[error("colltune does not compare the datatype `{0}`")]
    Datatype(String),
    /// An operator that is not compared.
    #[error("colltune does not compare the operator `{0}`")]
    Operator(String),
    /// A release that can combine several datatypes, without a line that names it.
    #[error(
        "the output does not say which datatype was combined, and this release can combine several"
    )]
    NoDatatype,
    /// A column that is no time of contiguous data in microseconds.
    #[error("the column `{0}` is not one of a time of contiguous data in microseconds")]
    Column(String),
    /// Sizes that do not ascend.
    #[error("the size {size} follows {before}: the lines of several outputs seem to be mixed")]
    Order { size: u64, before: u64 },
    /// Simultaneous groups of processes.
    #[error("several groups of processes ran at the same time, and shared the network")]
    Groups,
    /// Processes in another order.
    #[error("the processes were renumbered, so they may not fill one node after the other")]
    Renumbered,
    /// A table for which the log does not say what it says for others.
    #[error("the log does not say on which shape this table ran, and others ran on other shapes")]
    Silent,
    /// A placement of ranks that the log says.
    #[error(
        "line {line} says that ranks do not fill one node after the other (`{option}`), as is assumed here"
    )]
    Turned { line: u64, option: String },
    /// A second head in a table.
    #[error("this line stands in another table: the lines of several outputs seem to be mixed")]
    Mixed,
    /// No number of processes.
    #[error("the table does not say how many processes ran")]
    NoProcesses,
    /// The last line, without its end.
    #[error("the file ends within this row")]
    Cut,
    /// Times that contradict each other.
    #[error("the average {average} is not between {least} and {most}")]
    Average { least: f64, average: f64, most: f64 },
    /// A baseline that names two candidates of one cell.
    #[error("the baseline is both {} and {} here", .0[0], .0[1])]
    SeveralBaselines([String; 2]),
    /// A cell with both the default and the baseline.
    #[error("both the default and the baseline were measured here")]
    DefaultBesideBaseline,
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

    /// A remedy.
    pub(crate) fn help(&self) -> String {
        match self {
            Self::NoHeader | Self::NoColumn(_) | Self::UnknownColumn(_) | Self::ColumnTwice(_) => {
                format!(
                    "the columns are {}; `{}` are needed, the others may be left out",
                    COLUMNS.join(", "),
                    NEEDED.join("`, `")
                )
            }
            Self::Value { .. } | Self::Missing(_) | Self::Shape { .. } => {
                "correct the value, or leave the row out".into()
            }
            Self::Fields { .. } => {
                "give every row the fields of the header; leave fields without a value empty".into()
            }
            Self::Collective(_) => {
                let names = schedule::Collective::MEASURED.map(schedule::Collective::name);
                format!("write one of {}", names.join(", "))
            }
            Self::Algorithm(_) => "`colltune schedule list` names them all; for an algorithm that \
                 is not colltune's, write its source in the column `library`"
                .into(),
            Self::NativeOfUnknown => {
                "name the library that was measured, as in `--library openmpi-4.1.4`; or write \
                 another word than `native` in the column `library`"
                    .into()
            }
            Self::Native { known, .. } => format!("write one of {known}"),
            Self::Unsupported { .. } => "correct the row, or leave it out".into(),
            Self::NoSegments(_) => "leave `segment_bytes` empty".into(),
            Self::PartOfElement { .. } => {
                "correct the size, or name the elements in a column `datatype`, such as int32"
                    .into()
            }
            Self::Name(_) => format!(
                "leave out `:`, `/`, `[`, `]` and unprintable characters; `{}` means something \
                 else",
                Candidate::MOCKUP.trim_end_matches(':')
            ),
            Self::SecondDefault { .. } => {
                "there is one default: write the source of the other algorithms \
                 in the column `library`"
                    .into()
            }
            Self::NoColumns | Self::TooShort => {
                "import the whole output of the program, its headers included".into()
            }
            Self::Failed => "find the cause before using its times, or leave the row out".into(),
            Self::TooManyProcesses { .. } => "correct `--nodes` or `--ppn`".into(),
            Self::NoRelease => {
                "add the output's head, with the line `Intel(R) MPI Benchmarks ...`".into()
            }
            Self::Forced { .. } => {
                "to compare algorithms, write the times as CSV, with `native` in \
                 the column `library`"
                    .into()
            }
            Self::Said { .. } => {
                "give the `--nodes` and `--ppn` of this run; each import takes the \
                 tables of its shape, and the same file can be imported for another one"
                    .into()
            }
            Self::Silent => "import this table from a file of its own".into(),
            Self::SaidTwice(_) => {
                "split the file, one part for each command, with that command above its tables"
                    .into()
            }
            Self::Label(_) | Self::NoRowsOf(_) => "remove what precedes the output's lines".into(),
            Self::NoRows(_) | Self::NoTitle | Self::NoProcesses | Self::Cut => {
                "import the whole output of the program".into()
            }
            Self::Datatype(_) | Self::NoDatatype => {
                "measure with float, double, int, long or char elements".into()
            }
            Self::Operator(_) => "measure with sums or maxima".into(),
            Self::Column(_) => "run the program without options that change what it times".into(),
            Self::Order { .. } | Self::Mixed => "import each output from a file of its own".into(),
            Self::Groups => "run without `-multi`".into(),
            Self::Renumbered => "run without `-map`".into(),
            Self::Turned { .. } => {
                "run with ranks that fill one node after the other, as with `--map-by slot`".into()
            }
            Self::Average { .. } => "correct the row, or leave it out".into(),
            Self::SeveralBaselines(_) => {
                "import them separately, or name a baseline that was measured with one segment size"
                    .into()
            }
            Self::DefaultBesideBaseline => "leave `--baseline` out".into(),
        }
    }
}
