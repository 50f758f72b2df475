//! Everything that can be wrong with a campaign, with its remedy.

use std::path::PathBuf;

use launcher::HostFileError;
use schedule::{Collective, Parameters};
use thiserror::Error;
use vocabulary::CommShape;
use vocabulary::units::{UnitError, format_bytes};

use crate::validate::LARGEST_SIZE_BYTES;

/// What is wrong at one place of a campaign file.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Problem {
    /// A path that ends in no name.
    #[error("the path `{}` does not name a file", path.display())]
    NoFileName {
        /// The path.
        path: PathBuf,
    },
    /// A path that is used for something else as well.
    #[error("`{}` is the path of `output.{other}` too", path.display())]
    SamePath {
        /// The path.
        path: PathBuf,
        /// The other key.
        other: &'static str,
    },
    /// A name that cannot be part of file names.
    #[error("`{name}` cannot be the name of a campaign")]
    Name {
        /// The name.
        name: String,
    },
    /// Not a size, a range or a duration.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// A size of nothing or a size beyond what is supported.
    #[error("the size {bytes} is not between 1 and {LARGEST_SIZE_BYTES} bytes")]
    Size {
        /// The size in bytes.
        bytes: u64,
    },
    /// Sizes of a collective that moves nothing.
    #[error("{collective} has no sizes: it moves no data")]
    NoData {
        /// The collective.
        collective: Collective,
    },
    /// A vector that holds a part of every rank and is thereby too long.
    #[error(
        "{collective} of {bytes} bytes a rank on {shape} is a vector of {} bytes, more than \
         {LARGEST_SIZE_BYTES}",
        bytes.saturating_mul(u64::from(shape.ranks()))
    )]
    Vector {
        /// The collective.
        collective: Collective,
        /// The largest shape.
        shape: CommShape,
        /// The size in bytes.
        bytes: u64,
    },
    /// A radix that no tree has.
    #[error(
        "the radix {radix} is not between {} and {}",
        Parameters::RADICES.start(),
        Parameters::RADICES.end()
    )]
    Radix {
        /// The radix.
        radix: u32,
    },
    /// A list without entries.
    #[error("this list is empty")]
    EmptyList,
    /// A number outside its range.
    #[error("{value} is not {expected}")]
    OutOfRange {
        /// What is written.
        value: String,
        /// The range in words.
        expected: &'static str,
    },
    /// Fewer repetitions allowed than required.
    #[error("the minimum of {minimum} repetitions is larger than the maximum of {maximum}")]
    MinimumAboveMaximum {
        /// Repetitions required.
        minimum: u32,
        /// Repetitions allowed.
        maximum: u32,
    },
    /// Not a shape.
    #[error("`{text}` is not a shape")]
    Shape {
        /// What is written.
        text: String,
    },
    /// A shape without a second rank.
    #[error("impossible shape {shape}: a collective needs at least two ranks")]
    TooFewRanks {
        /// The shape.
        shape: CommShape,
    },
    /// A shape of several nodes where only this machine is known.
    #[error("impossible shape {shape}: without a host file there is one node, this machine")]
    TooManyNodes {
        /// The shape.
        shape: CommShape,
    },
    /// A shape of more ranks than is sensible on one machine, or can be simulated.
    #[error("impossible shape {shape}: more than {limit} ranks{}", if *on_node { " on a node" } else { "" })]
    TooManyRanks {
        /// The shape.
        shape: CommShape,
        /// The most that the launcher can have.
        limit: u32,
        /// Whether that is the most on each node, not in all.
        on_node: bool,
    },
    /// A host file that cannot be used, or has too few hosts for a shape.
    #[error(transparent)]
    HostFile(#[from] HostFileError),
    /// A placement on one node.
    #[error("there is nothing to place on one node")]
    PlacementWithoutHosts,
    /// A cluster, and no word on how many of its nodes to use.
    #[error("`auto` is about one machine: with a host file, `shapes` must name nodes and ranks")]
    HostShapes,
    /// A batch system, and no word on how many nodes to ask it for.
    #[error("`auto` is about one machine: with a batch system, `shapes` must name nodes and ranks")]
    BatchShapes,
    /// A job specification that cannot be read.
    #[error("cannot read the job specification `{}`: {reason}", path.display())]
    JobFile {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A template of a script that cannot be read.
    #[error("cannot read the template `{}`: {reason}", path.display())]
    TemplateFile {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A template of a script that makes no sense.
    #[error("this is not a template: {message}")]
    TemplateSyntax {
        /// What the engine says.
        message: String,
    },
    /// A word that cannot stand in a directive.
    #[error("`{}` cannot be the {what} of a job", value.escape_debug())]
    JobWord {
        /// The key in words.
        what: &'static str,
        /// What is written.
        value: String,
    },
    /// A directive that is no single line, or not only what stands behind the system's mark.
    #[error("`{}` cannot be a directive", text.escape_debug())]
    Directive {
        /// What is written.
        text: String,
    },
    /// A quality of service where there is none.
    #[error("PBS has no quality of service")]
    PbsQos,
    /// Something that a variable of a shell cannot be called.
    #[error("`{name}` cannot be the name of a variable in a job's script")]
    ShellVariable {
        /// The name.
        name: String,
    },
    /// Cold caches of a machine that has none.
    #[error("a simulated machine has no caches that could be cold")]
    SimulatedCache,
    /// A launcher section that names no launcher, or several.
    #[error("exactly one launcher must be named")]
    NotOneLauncher,
    /// A simulation of something that is not simulated.
    #[error("there is no MPI library in a simulation")]
    SimulatedLibrary,
    /// A collective that has no schedules, in a simulation.
    #[error("{collective} cannot be simulated: only MPI libraries have algorithms of it")]
    NotSimulated {
        /// The collective.
        collective: Collective,
    },
    /// A simulation that does not say on how many nodes.
    #[error("a simulated machine has as many nodes as are asked for: `shapes` must name them")]
    SimulatedShapes,
    /// A shape that needs what `oversubscribe: never` forbids.
    #[error(
        "impossible shape {shape}: this machine has {cores} cores and `oversubscribe` is never"
    )]
    Oversubscribed {
        /// The shape.
        shape: CommShape,
        /// The cores of this machine.
        cores: u32,
    },
    /// A pattern that cannot be read.
    #[error("`{pattern}` is not a pattern: {message}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why.
        message: &'static str,
    },
    /// A pattern that selects nothing.
    #[error("the pattern `{pattern}` matches no algorithm")]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// A similar one that does match.
        suggestion: Option<String>,
    },
    /// The default cannot be left out.
    #[error("the candidate `default` cannot be excluded: everything is compared with it")]
    DefaultExcluded,
    /// Nothing to compare the default with.
    #[error("no algorithm for {collective} is left to compare with the default")]
    NothingLeft {
        /// The collective, or "any collective".
        collective: String,
    },
    /// Something that an environment variable cannot be called.
    #[error("`{name}` cannot be the name of an environment variable")]
    Variable {
        /// The name.
        name: String,
    },
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
            fixed => fixed.remedy().to_owned(),
        }
    }
}

impl Problem {
    /// The remedies that do not depend on the values.
    fn remedy(&self) -> &'static str {
        match self {
            Self::NoFileName { .. } => "name a file, or remove the key to get its default",
            Self::SamePath { .. } => "give store, table and report a path each",
            Self::Name { .. } => {
                "use letters, digits, `-` and `_`, beginning with a letter or digit, at most 64"
            }
            Self::Unit(UnitError::Duration(_)) => "the unit is required: ms, s, m, h or d",
            Self::Unit(_) => "sizes are bytes, and a range is FIRST..LAST xFACTOR with 1 <= FIRST",
            Self::Size { .. } => "write a size within these bounds",
            Self::Radix { .. } => "a node has up to one child less than the radix on each level",
            Self::NoData { .. } => "remove the key: it is measured once on each shape",
            Self::EmptyList => "name at least one entry, or remove the key to get its default",
            Self::OutOfRange { .. } => "change the value",
            Self::MinimumAboveMaximum { .. } => "lower the minimum or raise the maximum",
            Self::Shape { .. } => "write NODESxRANKS_PER_NODE as in 1x2, or `shapes: auto`",
            Self::TooFewRanks { .. } => "write at least 1x2; more ranks than cores are allowed",
            Self::TooManyRanks { .. } => "use fewer ranks",
            Self::PlacementWithoutHosts => "add `hostfile: FILE`, or remove `placement`",
            Self::HostShapes => "write NODESxRANKS_PER_NODE as in `shapes: [4x1, 4x2]`",
            Self::BatchShapes => "write NODESxRANKS_PER_NODE as in `shapes: [4x1, 4x32]`",
            Self::JobFile { .. } | Self::TemplateFile { .. } => {
                "name a file by its path from the working directory; jobs/README.md shows one"
            }
            Self::TemplateSyntax { .. } => "jobs/README.md says how templates are written",
            Self::JobWord { .. } => {
                "use the name as the batch system lists it, without spaces or quotes"
            }
            Self::Directive { .. } => {
                "write one line, as it stands behind `#SBATCH` or `#PBS`, as in `--mem=0`"
            }
            Self::PbsQos => "remove it, or write what your site has instead under `directives`",
            Self::ShellVariable { .. } => {
                "use letters, digits and `_`, beginning with no digit; others can be passed by `options`"
            }
            Self::SimulatedCache => "remove `cache`, or measure with `launcher: local`",
            Self::NotOneLauncher => "write `local`, `slurm`, `pbs` or `simulated` under `launcher`",
            Self::SimulatedLibrary => "remove `library`, or `launcher: simulated`",
            Self::NotSimulated { .. } => {
                "remove it from `collectives`, or measure it on MPI with `launcher: local`"
            }
            Self::SimulatedShapes => "write NODESxRANKS_PER_NODE as in `shapes: [16x1, 16x32]`",
            Self::Pattern { .. } => "`*` stands for any text and `?` for one character",
            Self::NoMatch { .. } => "`colltune schedule list` prints all algorithms",
            Self::DefaultExcluded => "remove it from `exclude`",
            Self::Variable { .. } => "use a name without `=`",
            _ => "see tuning/reference.yaml",
        }
    }
}

/// Whether this is the name of a collective of which only libraries have algorithms.
pub(crate) fn is_library_only(name: &str) -> bool {
    let collective = name.parse::<Collective>();
    collective.is_ok_and(|collective| !collective.has_algorithms())
}
