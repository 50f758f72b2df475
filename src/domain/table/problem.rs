//! The problems of a table, with their remedies.

use schedule::{Collective, Unsupported};
use thiserror::Error;
use vocabulary::CommShape;

use crate::{Deployments, FORMAT_VERSION, Operators};

/// A problem of a table.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum Problem {
    #[error("this is not a decision table: it has no `format`")]
    NotATable,
    #[error("`{found}` is not the format of a decision table")]
    Format { found: String },
    #[error(
        "the table has format version {found}; this colltune reads versions up to {FORMAT_VERSION}"
    )]
    NewerFormat { found: u32 },
    #[error("a rule that the model predicts is not confirmed")]
    ConfirmedByModel,
    #[error("`{key}` is empty")]
    Empty {
        key: &'static str,
        remedy: &'static str,
    },
    #[error("`{key}` of the library has unprintable characters, such as line ends")]
    Control { key: &'static str },
    #[error("`{key}` must not be zero")]
    Zero { key: &'static str },
    #[error("`{name}` is an algorithm of {of}, not of {collective}")]
    OtherCollective {
        name: String,
        of: Collective,
        collective: Collective,
    },
    #[error("message size of {collective} is defined as `{found}`")]
    MessageSize {
        collective: Collective,
        found: String,
    },
    #[error("`{candidate}` takes no `{parameter}`")]
    NotTaken {
        candidate: String,
        parameter: &'static str,
        takes: Vec<&'static str>,
    },
    #[error("`{label}` gives parameters in brackets, as reports do")]
    InBrackets { label: String },
    #[error("`blocks` and `block_bytes` are both given")]
    BothBlocks,
    #[error(transparent)]
    Unsupported(Unsupported),
    #[error(
        "`{candidate}` combines out of rank order: wrong results for noncommutative operators, \
         which `operators: {operators}` includes"
    )]
    Unordered {
        candidate: String,
        operators: Operators,
    },
    #[error("`{candidate}` is not the library's own, as `deployment: {deployments}` asks")]
    NotInLibrary {
        candidate: String,
        deployments: Deployments,
    },
    #[error("{collective} combines nothing: `operators: {operators}` has no meaning")]
    NothingCombined {
        collective: Collective,
        operators: Operators,
    },
    #[error("the first rule starts at {from_bytes} bytes: smaller messages have no rule")]
    Gap { from_bytes: u64 },
    #[error("{bytes} bytes does not come after {previous} bytes")]
    NotAscending { bytes: u64, previous: u64 },
    #[error(
        "`operators: {operators}` at shape {shape} overlaps an earlier entry, in line {first_line}"
    )]
    DuplicateShape {
        shape: CommShape,
        operators: Operators,
        first_line: usize,
    },
    #[error("{found} values for {expected} sizes")]
    RowLength { expected: usize, found: usize },
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
            Self::ConfirmedByModel => {
                "remove `confirmed`, or `source: model` if the shape was measured".to_owned()
            }
            Self::Empty { remedy, .. } => (*remedy).to_owned(),
            Self::Control { .. } => {
                "write the library as it was measured, as in `{name: openmpi, version: 4.1.4}`"
                    .to_owned()
            }
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
            Self::InBrackets { label } => {
                format!("give each parameter a key of the rule: `{{candidate: {}}}`", brackets_as_keys(label))
            }
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
                "keep one entry for a shape, or one for each operator class and deployment, and for each known \
                 `order` of ranks; an entry for `any` operators must follow the one for `commutative` operators"
                    .to_owned()
            }
            Self::RowLength { .. } => "give one value for each size in `bytes`".to_owned(),
        }
    }
}

/// The algorithms that can be named for a collective.
fn algorithms_of(collective: Collective) -> String {
    if !collective.is_served() {
        return format!("known: native:{collective}/ID");
    }
    let names: Vec<_> = schedule::algorithms_of(collective)
        .map(|a| a.name())
        .collect();
    format!("algorithms of {collective}: {}", names.join(", "))
}

/// A candidate as reports write it, `reduce/chain[block_bytes=8K]`, as the keys of a rule.
fn brackets_as_keys(label: &str) -> String {
    let keys = label.trim_end_matches(']').replace(['[', ','], ", ");
    keys.replace('=', ": ")
}
