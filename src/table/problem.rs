//! Everything that can be wrong in a table, with its remedy.

use schedule::{Collective, Unsupported};
use thiserror::Error;
use vocabulary::CommShape;

use crate::{Deployments, FORMAT_VERSION, Operators};

/// What is wrong with a table.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// No `format` at all.
    #[error("this is not a decision table: it has no `format`")]
    NotATable,
    /// A `format` that is none of ours.
    #[error("`{found}` is not the format of a decision table")]
    Format {
        /// What the file says.
        found: String,
    },
    /// Written by a later colltune.
    #[error(
        "the table has format version {found}; this colltune reads versions up to {FORMAT_VERSION}"
    )]
    NewerFormat {
        /// The file's version.
        found: u32,
    },
    /// A list that must not be empty.
    #[error("`{key}` is empty")]
    Empty {
        /// The list's key.
        key: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// Zero where something is counted.
    #[error("`{key}` must not be zero")]
    Zero {
        /// The key.
        key: &'static str,
    },
    /// An algorithm of another collective.
    #[error("`{name}` is an algorithm of {of}, not of {collective}")]
    OtherCollective {
        /// The algorithm.
        name: String,
        /// Its collective.
        of: Collective,
        /// The collective whose rule names it.
        collective: Collective,
    },
    /// A message size that means something else than here.
    #[error("message size of {collective} is defined as `{found}`")]
    MessageSize {
        /// The collective.
        collective: Collective,
        /// What the file says.
        found: String,
    },
    /// A parameter that the candidate does not have.
    #[error("`{candidate}` takes no `{parameter}`")]
    NotTaken {
        /// The candidate.
        candidate: String,
        /// The parameter.
        parameter: &'static str,
        /// The parameters that it has.
        takes: Vec<&'static str>,
    },
    /// Two ways to say how a vector is cut.
    #[error("`blocks` and `block_bytes` are both given")]
    BothBlocks,
    /// What the registry does not allow: a radix out of range, a number of ranks that the algorithm
    /// cannot serve.
    #[error(transparent)]
    Unsupported(Unsupported),
    /// An unordered algorithm where operators need not commute.
    #[error(
        "`{candidate}` combines out of rank order: wrong results for noncommutative operators, \
         which `operators: {operators}` includes"
    )]
    Unordered {
        /// The algorithm.
        candidate: String,
        /// The class of the group that names it.
        operators: Operators,
    },
    /// Something that the library's own settings cannot choose.
    #[error("`{candidate}` is not the library's own, as `deployment: {deployments}` asks")]
    NotInLibrary {
        /// The candidate.
        candidate: String,
        /// The deployments of the group that names it.
        deployments: Deployments,
    },
    /// An operator class where nothing is combined.
    #[error("{collective} combines nothing: `operators: {operators}` has no meaning")]
    NothingCombined {
        /// The collective.
        collective: Collective,
        /// The class given.
        operators: Operators,
    },
    /// The sizes below the first rule are left open.
    #[error("the first rule starts at {from_bytes} bytes: smaller messages have no rule")]
    Gap {
        /// Where it starts.
        from_bytes: u64,
    },
    /// Sizes that do not ascend.
    #[error("{bytes} bytes does not come after {previous} bytes")]
    NotAscending {
        /// The offending size.
        bytes: u64,
        /// The one before it.
        previous: u64,
    },
    /// Two groups that hold for the same calls.
    #[error(
        "`operators: {operators}` at shape {shape} overlaps an earlier entry, in line {first_line}"
    )]
    DuplicateShape {
        /// The shape.
        shape: CommShape,
        /// The class of the later entry.
        operators: Operators,
        /// Where the earlier entry stands.
        first_line: usize,
    },
    /// Rows of evidence that do not match.
    #[error("{found} values for {expected} sizes")]
    RowLength {
        /// Sizes listed in `bytes`.
        expected: usize,
        /// Values in this row.
        found: usize,
    },
}

impl strict_yaml::Problem for Problem {
    fn help(&self) -> String {
        match self {
            Self::NotATable | Self::Format { .. } => {
                format!("a table begins with `format: colltune-table {FORMAT_VERSION}`")
            }
            Self::NewerFormat { .. } => {
                "update colltune, or decide again with this version: `colltune decide`".to_owned()
            }
            Self::Empty { remedy, .. } => (*remedy).to_owned(),
            Self::Zero { key } => format!("write a positive number, or leave `{key}` out"),
            Self::OtherCollective { collective, .. } => algorithms_of(*collective),
            Self::MessageSize { collective, .. } => format!(
                "this colltune means `{}`; convert the sizes and change the text",
                crate::message_size(*collective)
            ),
            Self::NotTaken {
                takes, parameter, ..
            } if takes.is_empty() => {
                format!("it has no parameters: remove `{parameter}`")
            }
            Self::NotTaken { takes, .. } => format!("it takes: {}", takes.join(", ")),
            Self::BothBlocks => "keep one: the number of blocks, or the size of a block".to_owned(),
            Self::Unsupported(Unsupported::OddRanks { .. }) => {
                "name another candidate for this shape".to_owned()
            }
            Self::Unsupported(_) => {
                "`colltune schedule list` says what the algorithm takes".to_owned()
            }
            Self::Unordered { .. } => "name an ordered algorithm (`colltune schedule list` says \
                                       which are), or limit the entry to `operators: commutative`"
                .to_owned(),
            Self::NotInLibrary { .. } => {
                "name `default` or one of the library's own algorithms, as \
                                          in `native:bcast/ID`, or limit the entry to \
                                          `deployment: colltune`"
                    .to_owned()
            }
            Self::NothingCombined { .. } => "remove `operators`, or write `any`".to_owned(),
            Self::Gap { .. } => "let the first rule start `from: 0`".to_owned(),
            Self::NotAscending { .. } => {
                "list sizes in ascending order, each once: a rule ends where the next one starts"
                    .to_owned()
            }
            Self::DuplicateShape { .. } => {
                "keep one entry for a shape, or one for each operator class and deployment"
                    .to_owned()
            }
            Self::RowLength { .. } => "give one value for each size in `bytes`".to_owned(),
        }
    }
}

/// What can be named for a collective.
fn algorithms_of(collective: Collective) -> String {
    if !collective.has_algorithms() {
        return format!("known: native:{collective}/ID");
    }
    let names: Vec<_> = schedule::of(collective).map(|a| a.name()).collect();
    format!("algorithms of {collective}: {}", names.join(", "))
}
