//! The problems of a campaign, with their remedies.

use std::path::PathBuf;

use launcher::HostFileError;
use schedule::{Collective, Distribution, Parameters};
use thiserror::Error;
use vocabulary::bounds::RANKS;
use vocabulary::units::{UnitError, format_bytes, format_counted};
use vocabulary::{CommShape, NONBLOCKING};

use crate::definition::LAUNCHERS;
use crate::validate::LARGEST_SIZE_BYTES;

/// A problem at one place of a campaign file.
#[derive(Clone, Debug, PartialEq, Error, strict_yaml::Problem)]
pub(crate) enum Problem {
    #[error("the path `{}` does not name a file", path.display())]
    #[help("name a file, or remove the key to get its default")]
    NoFileName { path: PathBuf },
    #[error("a file name of {bytes} bytes exceeds the limit of all file systems")]
    #[help("choose a name of at most 255 bytes")]
    LongFileName { bytes: usize },
    #[error("the path `{}` has a NUL character", path.escape_debug())]
    #[help("remove it")]
    NulInPath { path: String },
    #[error("`{}` is the path of `output.{other}` too", path.display())]
    #[help("give store, table and report different paths")]
    SamePath { path: PathBuf, other: &'static str },
    #[error("`{}`, the path of `output.{key}`, is the same file as {input}", path.display())]
    #[help("give `output.{key}` another path: {input} would be replaced")]
    PathOfInput {
        path: PathBuf,
        key: &'static str,
        input: String,
    },
    #[error("`{name}` cannot be the name of a campaign")]
    #[help("use letters, digits, `-` and `_`, beginning with a letter or digit, at most 64")]
    Name { name: String },
    #[error(transparent)]
    #[help(if matches!(_0, UnitError::LongDuration(_)), "write a duration within these bounds")]
    #[help(if matches!(_0, UnitError::LargeSize(_)), "write a size within these bounds")]
    #[help(if matches!(_0, UnitError::Duration(_)), "the unit is required: ms, s, m, h or d")]
    #[help("sizes are bytes, and a range is FIRST..LAST xFACTOR with 1 <= FIRST")]
    Unit(#[from] UnitError),
    #[error("the size {bytes} is not between 1 and {LARGEST_SIZE_BYTES} bytes")]
    #[help("write a size within these bounds")]
    Size { bytes: u64 },
    #[error("{collective} has no sizes: it moves no data")]
    #[help("remove the key: it is measured once on each shape")]
    NoData { collective: Collective },
    #[error(
        "{} {} bytes, more than {LARGEST_SIZE_BYTES}",
        begin_long_vector(*collective, *shape, *bytes),
        bytes.saturating_mul(u64::from(shape.ranks()))
    )]
    #[help(
        "give it sizes of its own: `sizes: {{{collective}: 8..{} x4}}`",
        format_bytes(LARGEST_SIZE_BYTES / u64::from(shape.ranks().max(1)))
    )]
    Vector {
        collective: Collective,
        shape: CommShape,
        bytes: u64,
    },
    #[error(
        "{collective} of {bytes} bytes a block on {shape}, {}, sends {row} bytes from one rank, more than \
         {LARGEST_SIZE_BYTES}",
        distribution.name()
    )]
    #[help(
        "give it smaller sizes of its own, as in `sizes: {{{collective}: 16..4K x16}}`, or other `distributions`"
    )]
    Row {
        collective: Collective,
        shape: CommShape,
        bytes: u64,
        distribution: Distribution,
        row: u64,
    },
    #[error("distributions are for irregular collectives, and the campaign measures none")]
    #[help(
        "remove the key, or add one of {} to `collectives`",
        Collective::ALL.into_iter().filter(|known| known.is_irregular()).map(Collective::name).collect::<Vec<_>>().join(", ")
    )]
    NothingDistributed,
    #[error(
        "the radix {radix} is not between {} and {}",
        Parameters::RADICES.start(),
        Parameters::RADICES.end()
    )]
    #[help("a tree's nodes have up to one child less than the radix on each level")]
    Radix { radix: u32 },
    #[error("a rank needs at least one request to send or receive anything")]
    #[help("give the requests that a rank may have under way, as in `max_requests: [4, 32]`")]
    NoRequests,
    #[error("this list is empty")]
    #[help("name at least one entry, or remove the key to get its default")]
    EmptyList,
    #[error("the minimum of {minimum} repetitions is larger than the maximum of {maximum}")]
    #[help("lower the minimum or raise the maximum")]
    MinimumAboveMaximum { minimum: u32, maximum: u32 },
    #[error("`{text}` is not a shape")]
    #[help("write NODESxRANKS_PER_NODE as in 1x2, both at least 1, or `shapes: auto`")]
    Shape { text: String },
    #[error("impossible shape {shape}: a collective needs at least two ranks")]
    #[help("write at least 1x2; more ranks than cores are allowed")]
    TooFewRanks { shape: CommShape },
    #[error("impossible shape {shape}: without a host file there is one node, this machine")]
    #[help(
        "write 1x{} to put all ranks on this machine, or name a file that lists the nodes: `launcher: {{local: \
         {{hostfile: FILE}}}}`",
        shape.ranks()
    )]
    TooManyNodes { shape: CommShape },
    #[error("impossible shape {shape}: more than {limit} ranks{}", if *on_node { " on a node" } else { "" })]
    #[help("use fewer ranks")]
    TooManyRanks {
        shape: CommShape,
        limit: u32,
        on_node: bool,
    },
    #[error("impossible shape {shape}: nodes and ranks on each must make {RANKS}")]
    #[help("use fewer ranks")]
    Unnumbered { shape: CommShape },
    #[error(transparent)]
    #[help(transparent)]
    HostFile(#[from] HostFileError),
    #[error("there is nothing to place on one node")]
    #[help("add `hostfile: FILE`, or remove `placement`")]
    PlacementWithoutHosts,
    #[error("`auto` means this machine: with a host file, `shapes` must name nodes and ranks")]
    #[help("write NODESxRANKS_PER_NODE as in `shapes: [4x1, 4x2]`")]
    HostShapes,
    #[error("`auto` means this machine: with a batch system, `shapes` must name nodes and ranks")]
    #[help("write NODESxRANKS_PER_NODE as in `shapes: [4x1, 4x32]`")]
    BatchShapes,
    #[error("cannot read the job specification `{}`: {reason}", path.display())]
    #[help("name a file by its path from the working directory; jobs/README.md shows one")]
    JobFile { path: PathBuf, reason: String },
    #[error("cannot read the template `{}`: {reason}", path.display())]
    #[help("name a file by its path from the working directory; jobs/README.md shows one")]
    TemplateFile { path: PathBuf, reason: String },
    #[error("this is not a template: {message}")]
    #[help("jobs/README.md describes templates")]
    TemplateSyntax { message: String },
    #[error("`{}` cannot be the {what} of a job", value.escape_debug())]
    #[help("use the name as the batch system lists it, without spaces or quotes")]
    JobWord { what: &'static str, value: String },
    #[error("`{}` cannot be a directive", text.escape_debug())]
    #[help("write one line with the text after `{mark}`, as in `--mem=0`")]
    Directive { text: String, mark: &'static str },
    #[error("{system} has no {what}")]
    #[help("remove it, or write your site's equivalent under `directives`")]
    Lacking {
        system: &'static str,
        what: &'static str,
    },
    #[error("`{name}` cannot be the name of a variable in a job's script")]
    #[help("use letters, digits and `_`, and no leading digit; others can be passed by `options`")]
    ShellVariable { name: String },
    #[error("a simulated machine has no caches, so they cannot be cold")]
    #[help("remove `cache`, or measure with `launcher: local`")]
    SimulatedCache,
    #[error("a skewed pattern needs a global clock: ranks arrive at agreed times")]
    #[help("add `synchronisation: window`, or use `pattern: repeated`")]
    SkewedAtBarrier,
    #[error(
        "calls beside computation are measured in campaigns with `pattern: nonblocking`, which choose among candidates first"
    )]
    #[help("write `pattern: nonblocking`: choices are then confirmed in both patterns")]
    OverlappedAlone,
    #[error("simulated machines have no nonblocking calls")]
    #[help("remove `pattern`, or measure on a real machine")]
    SimulatedNonblocking,
    #[error("messages of nonblocking calls do not go through shared memory")]
    #[help("remove `through`, or `pattern: nonblocking`")]
    SharedNonblocking,
    #[error("{collective} has no rules for nonblocking calls")]
    #[help("`pattern: nonblocking` is for {}", NONBLOCKING.map(Collective::name).join(", "))]
    NoNonblocking { collective: Collective },
    #[error("exactly one launcher must be named")]
    #[help("write {} under `launcher`", list_launchers())]
    NotOneLauncher,
    #[error("there is no MPI library in a simulation")]
    #[help("remove `library`, or `launcher: simulated`")]
    SimulatedLibrary,
    #[error("a simulated machine has any number of nodes: `shapes` must name nodes and ranks")]
    #[help("write NODESxRANKS_PER_NODE as in `shapes: [16x1, 16x32]`")]
    SimulatedShapes,
    #[error(
        "impossible shape {shape}: this machine has {} and `oversubscribe` is never",
        format_counted(cores, "core")
    )]
    #[help("use at most 1x{cores}, or set `oversubscribe: auto`")]
    Oversubscribed { shape: CommShape, cores: u32 },
    #[error("`{pattern}` is not a pattern: {message}")]
    #[help("`*` matches any text and `?` one character")]
    Pattern {
        pattern: String,
        message: &'static str,
    },
    #[error("the pattern `{pattern}` matches no algorithm")]
    #[help(if let Some(suggestion) = suggestion, "did you mean `{suggestion}`?")]
    #[help("`colltune schedule list` prints all algorithms")]
    NoMatch {
        pattern: String,
        suggestion: Option<String>,
    },
    #[error("the candidate `default` cannot be excluded: everything is compared with it")]
    #[help("remove it from `exclude`")]
    DefaultExcluded,
    #[error("no algorithm for {collective} is left to compare with the default")]
    #[help("widen `candidates`, or list only the other collectives in `collectives`")]
    NothingLeft { collective: String },
    #[error("`{name}` cannot be the name of an environment variable")]
    #[help("use a name without `=`")]
    Variable { name: String },
}

/// The keys of launchers, as in "`a`, `b` or `c`".
fn list_launchers() -> String {
    let (last, others) = LAUNCHERS.split_last().unwrap_or((&"local", &[]));
    format!("`{}` or `{last}`", others.join("`, `"))
}

/// The first words about a vector that is too long.
fn begin_long_vector(collective: Collective, shape: CommShape, bytes: u64) -> String {
    let has_blocks = collective == Collective::Alltoall || collective.has_block_counts();
    if has_blocks {
        format!(
            "{collective} of {bytes} bytes a block on {shape} sends and receives a block for each rank: both vectors \
             have"
        )
    } else {
        format!("{collective} of {bytes} bytes a rank on {shape} is a vector of")
    }
}
