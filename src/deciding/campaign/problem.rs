//! The problems of a campaign, with their remedies.

use std::path::PathBuf;

use launcher::HostFileError;
use schedule::{Collective, Parameters};
use thiserror::Error;
use vocabulary::CommShape;
use vocabulary::bounds::RANKS;
use vocabulary::units::{UnitError, format_bytes, format_counted};

use crate::definition::LAUNCHERS;
use crate::validate::LARGEST_SIZE_BYTES;

/// A problem at one place of a campaign file.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum Problem {
    #[error("the path `{}` does not name a file", path.display())]
    NoFileName { path: PathBuf },
    #[error("a file name of {bytes} bytes exceeds the limit of all file systems")]
    LongFileName { bytes: usize },
    #[error("the path `{}` has a NUL character", path.escape_debug())]
    NulInPath { path: String },
    #[error("`{}` is the path of `output.{other}` too", path.display())]
    SamePath { path: PathBuf, other: &'static str },
    #[error("`{}`, the path of `output.{key}`, is the same file as {input}", path.display())]
    PathOfInput {
        path: PathBuf,
        key: &'static str,
        input: String,
    },
    #[error("`{name}` cannot be the name of a campaign")]
    Name { name: String },
    #[error(transparent)]
    Unit(#[from] UnitError),
    #[error("the size {bytes} is not between 1 and {LARGEST_SIZE_BYTES} bytes")]
    Size { bytes: u64 },
    #[error("{collective} has no sizes: it moves no data")]
    NoData { collective: Collective },
    #[error(
        "{collective} of {bytes} bytes a rank on {shape} is a vector of {} bytes, more than \
         {LARGEST_SIZE_BYTES}",
        bytes.saturating_mul(u64::from(shape.ranks()))
    )]
    Vector {
        collective: Collective,
        shape: CommShape,
        bytes: u64,
    },
    #[error(
        "the radix {radix} is not between {} and {}",
        Parameters::RADICES.start(),
        Parameters::RADICES.end()
    )]
    Radix { radix: u32 },
    #[error("this list is empty")]
    EmptyList,
    #[error("the minimum of {minimum} repetitions is larger than the maximum of {maximum}")]
    MinimumAboveMaximum { minimum: u32, maximum: u32 },
    #[error("`{text}` is not a shape")]
    Shape { text: String },
    #[error("impossible shape {shape}: a collective needs at least two ranks")]
    TooFewRanks { shape: CommShape },
    #[error("impossible shape {shape}: without a host file there is one node, this machine")]
    TooManyNodes { shape: CommShape },
    #[error("impossible shape {shape}: more than {limit} ranks{}", if *on_node { " on a node" } else { "" })]
    TooManyRanks {
        shape: CommShape,
        limit: u32,
        on_node: bool,
    },
    #[error("impossible shape {shape}: nodes and ranks on each must make {RANKS}")]
    Unnumbered { shape: CommShape },
    #[error(transparent)]
    HostFile(#[from] HostFileError),
    #[error("there is nothing to place on one node")]
    PlacementWithoutHosts,
    #[error("`auto` means this machine: with a host file, `shapes` must name nodes and ranks")]
    HostShapes,
    #[error("`auto` means this machine: with a batch system, `shapes` must name nodes and ranks")]
    BatchShapes,
    #[error("cannot read the job specification `{}`: {reason}", path.display())]
    JobFile { path: PathBuf, reason: String },
    #[error("cannot read the template `{}`: {reason}", path.display())]
    TemplateFile { path: PathBuf, reason: String },
    #[error("this is not a template: {message}")]
    TemplateSyntax { message: String },
    #[error("`{}` cannot be the {what} of a job", value.escape_debug())]
    JobWord { what: &'static str, value: String },
    #[error("`{}` cannot be a directive", text.escape_debug())]
    Directive { text: String, mark: &'static str },
    #[error("{system} has no {what}")]
    Lacking {
        system: &'static str,
        what: &'static str,
    },
    #[error("`{name}` cannot be the name of a variable in a job's script")]
    ShellVariable { name: String },
    #[error("a simulated machine has no caches, so they cannot be cold")]
    SimulatedCache,
    #[error("a skewed pattern needs a global clock: ranks arrive at agreed times")]
    SkewedAtBarrier,
    #[error("exactly one launcher must be named")]
    NotOneLauncher,
    #[error("there is no MPI library in a simulation")]
    SimulatedLibrary,
    #[error("{collective} cannot be simulated: only MPI libraries have algorithms of it")]
    NotSimulated { collective: Collective },
    #[error("a simulated machine has any number of nodes: `shapes` must name nodes and ranks")]
    SimulatedShapes,
    #[error(
        "impossible shape {shape}: this machine has {} and `oversubscribe` is never",
        format_counted(cores, "core")
    )]
    Oversubscribed { shape: CommShape, cores: u32 },
    #[error("`{pattern}` is not a pattern: {message}")]
    Pattern {
        pattern: String,
        message: &'static str,
    },
    #[error("the pattern `{pattern}` matches no algorithm")]
    NoMatch {
        pattern: String,
        suggestion: Option<String>,
    },
    #[error("the candidate `default` cannot be excluded: everything is compared with it")]
    DefaultExcluded,
    #[error("no algorithm for {collective} is left to compare with the default")]
    NothingLeft { collective: String },
    #[error("`{name}` cannot be the name of an environment variable")]
    Variable { name: String },
}

impl strict_yaml::Problem for Problem {
    fn help(&self) -> String {
        match self {
            Self::NoMatch {
                suggestion: Some(suggestion),
                ..
            } => {
                format!("did you mean `{suggestion}`?")
            }
            Self::TooManyNodes { shape } => {
                format!(
                    "write 1x{} to put all ranks on this machine, or name a file that lists the \
                     nodes: `launcher: {{local: {{hostfile: FILE}}}}`",
                    shape.ranks()
                )
            }
            Self::Oversubscribed { cores, .. } => {
                format!("use at most 1x{cores}, or set `oversubscribe: auto`")
            }
            Self::HostFile(error) => error.help(),
            Self::PathOfInput { key, input, .. } => {
                format!("give `output.{key}` another path: {input} would be replaced")
            }
            Self::Vector {
                collective, shape, ..
            } => {
                let most = LARGEST_SIZE_BYTES / u64::from(shape.ranks().max(1));
                let most = format_bytes(most);
                format!("give it sizes of its own: `sizes: {{{collective}: 8..{most} x4}}`")
            }
            Self::NothingLeft { collective } if is_library_only(collective) => format!(
                "only the library's own algorithms can be compared with it: add \
                 `native:{collective}/*` to `candidates: {{include: ...}}`"
            ),
            Self::NothingLeft { .. } => {
                "widen `candidates`, or list only the other collectives in `collectives`".to_owned()
            }
            Self::Directive { mark, .. } => {
                format!("write one line with the text after `{mark}`, as in `--mem=0`")
            }
            Self::NotOneLauncher => {
                let (last, others) = LAUNCHERS.split_last().unwrap_or((&"local", &[]));
                format!(
                    "write `{}` or `{last}` under `launcher`",
                    others.join("`, `")
                )
            }
            fixed => fixed.fixed_remedy().to_owned(),
        }
    }
}

impl Problem {
    /// The remedies that do not depend on the values.
    fn fixed_remedy(&self) -> &'static str {
        match self {
            Self::NoFileName { .. } => "name a file, or remove the key to get its default",
            Self::LongFileName { .. } => "choose a name of at most 255 bytes",
            Self::NulInPath { .. } => "remove it",
            Self::SamePath { .. } => "give store, table and report different paths",
            Self::Name { .. } => {
                "use letters, digits, `-` and `_`, beginning with a letter or digit, at most 64"
            }
            Self::Unit(UnitError::LongDuration(_)) => "write a duration within these bounds",
            Self::Unit(UnitError::LargeSize(_)) => "write a size within these bounds",
            Self::Unit(UnitError::Duration(_)) => "the unit is required: ms, s, m, h or d",
            Self::Unit(_) => "sizes are bytes, and a range is FIRST..LAST xFACTOR with 1 <= FIRST",
            Self::Size { .. } => "write a size within these bounds",
            Self::Radix { .. } => {
                "a tree's nodes have up to one child less than the radix on each level"
            }
            Self::NoData { .. } => "remove the key: it is measured once on each shape",
            Self::EmptyList => "name at least one entry, or remove the key to get its default",
            Self::MinimumAboveMaximum { .. } => "lower the minimum or raise the maximum",
            Self::Shape { .. } => {
                "write NODESxRANKS_PER_NODE as in 1x2, both at least 1, or `shapes: auto`"
            }
            Self::TooFewRanks { .. } => "write at least 1x2; more ranks than cores are allowed",
            Self::TooManyRanks { .. } | Self::Unnumbered { .. } => "use fewer ranks",
            Self::PlacementWithoutHosts => "add `hostfile: FILE`, or remove `placement`",
            Self::HostShapes => "write NODESxRANKS_PER_NODE as in `shapes: [4x1, 4x2]`",
            Self::BatchShapes => "write NODESxRANKS_PER_NODE as in `shapes: [4x1, 4x32]`",
            Self::JobFile { .. } | Self::TemplateFile { .. } => {
                "name a file by its path from the working directory; jobs/README.md shows one"
            }
            Self::TemplateSyntax { .. } => "jobs/README.md describes templates",
            Self::JobWord { .. } => {
                "use the name as the batch system lists it, without spaces or quotes"
            }
            Self::Lacking { .. } => "remove it, or write your site's equivalent under `directives`",
            Self::ShellVariable { .. } => {
                "use letters, digits and `_`, and no leading digit; others can be passed by `options`"
            }
            Self::SimulatedCache => "remove `cache`, or measure with `launcher: local`",
            Self::SkewedAtBarrier => "add `synchronisation: window`, or use `pattern: repeated`",
            Self::SimulatedLibrary => "remove `library`, or `launcher: simulated`",
            Self::NotSimulated { .. } => {
                "remove it from `collectives`, or measure it on MPI with `launcher: local`"
            }
            Self::SimulatedShapes => "write NODESxRANKS_PER_NODE as in `shapes: [16x1, 16x32]`",
            Self::Pattern { .. } => "`*` matches any text and `?` one character",
            Self::NoMatch { .. } => "`colltune schedule list` prints all algorithms",
            Self::DefaultExcluded => "remove it from `exclude`",
            Self::Variable { .. } => "use a name without `=`",
            _ => "`colltune init --reference` prints every key",
        }
    }
}

/// Whether this is the name of a collective of which only a library's algorithms can be compared.
pub(crate) fn is_library_only(name: &str) -> bool {
    let collective = name.parse::<Collective>();
    collective.is_ok_and(|collective| !collective.is_served())
}
