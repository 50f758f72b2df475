//! The problems of a table, with their remedies.

use schedule::{Collective, UnknownCollective, Unsupported};
use strict_yaml::Mistake;
use thiserror::Error;
use vocabulary::{CommShape, NONBLOCKING, Pattern};

use crate::{Deployments, FORMAT_VERSION, Operators};

/// A problem of a table.
#[derive(Clone, Debug, PartialEq, Error, strict_yaml::Problem)]
pub(crate) enum Problem {
    #[error("this is not a decision table: it has no `format`")]
    #[help("a table begins with `format: colltune-table {FORMAT_VERSION}`")]
    NotATable,
    #[error("`{found}` is not the format of a decision table")]
    #[help("a table begins with `format: colltune-table {FORMAT_VERSION}`")]
    Format { found: String },
    #[error(
        "the table has format version {found}; this colltune reads versions up to {FORMAT_VERSION}"
    )]
    #[help("update colltune, or decide again with this version: `colltune decide`")]
    NewerFormat { found: u32 },
    #[error("a rule that the model predicts is not confirmed")]
    #[help("remove `confirmed`, or `source: model` if the shape was measured")]
    ConfirmedByModel,
    #[error("`{key}` is empty")]
    #[help("{remedy}")]
    Empty {
        key: &'static str,
        remedy: &'static str,
    },
    #[error("`{key}` of the library has unprintable characters, such as line ends")]
    #[help("write the library as it was measured, as in `{{name: openmpi, version: 4.1.4}}`")]
    Control { key: &'static str },
    #[error("`{key}` must not be zero")]
    #[help("write a positive number, or leave `{key}` out")]
    Zero { key: &'static str },
    #[error("`{name}` is an algorithm of {of}, not of {collective}")]
    #[help(algorithms_of(*collective))]
    OtherCollective {
        name: String,
        of: Collective,
        collective: Collective,
    },
    #[error("message size of {collective} is defined as `{found}`")]
    #[help(
        "this colltune means `{}`; convert the sizes and change the text",
        crate::message_size(*collective)
    )]
    MessageSize {
        collective: Collective,
        found: String,
    },
    #[error("`{candidate}` takes no `{parameter}`")]
    #[help(if takes.is_empty(), "it has no parameters: remove `{parameter}`")]
    #[help("it takes: {}", takes.join(", "))]
    NotTaken {
        candidate: String,
        parameter: &'static str,
        takes: Vec<&'static str>,
    },
    #[error("`{label}` gives parameters in brackets, as reports do")]
    #[help(
        "give each parameter a key of the rule: `{{candidate: {}}}`",
        brackets_as_keys(label)
    )]
    InBrackets { label: String },
    #[error("`blocks` and `block_bytes` are both given")]
    #[help("keep one: the number of blocks, or the size of a block")]
    BothBlocks,
    #[error(transparent)]
    #[help(if matches!(_0, Unsupported::OddRanks { .. }), "name another candidate for this shape")]
    #[help("`colltune schedule list` says what the algorithm takes")]
    Unsupported(Unsupported),
    #[error(
        "`{candidate}` combines out of rank order: wrong results for noncommutative operators, \
         which `operators: {operators}` includes"
    )]
    #[help(
        "name an ordered algorithm (`colltune schedule list` says which are), or limit the entry to `operators: \
         commutative`"
    )]
    Unordered {
        candidate: String,
        operators: Operators,
    },
    #[error("`{candidate}` is not the library's own, as `deployment: {deployments}` asks")]
    #[help(
        "name `default` or one of the library's own algorithms, as in `native:bcast/ID`, or limit the entry to \
         `deployment: colltune`"
    )]
    NotInLibrary {
        candidate: String,
        deployments: Deployments,
    },
    #[error("{collective} combines nothing: `operators: {operators}` has no meaning")]
    #[help("remove `operators`, or write `any`")]
    NothingCombined {
        collective: Collective,
        operators: Operators,
    },
    #[error("the first rule starts at {from_bytes} bytes: smaller messages have no rule")]
    #[help("let the first rule start `from: 0`")]
    Gap { from_bytes: u64 },
    #[error(
        "a rule of {collective} starts at {from_bytes} bytes, but ranks that know only their own counts cannot agree on a size"
    )]
    #[help("keep one rule for the shape, `from: 0`")]
    NoCommonSize {
        collective: Collective,
        from_bytes: u64,
    },
    #[error("{bytes} bytes does not come after {previous} bytes")]
    #[help("list sizes in ascending order, each once: a rule ends where the next one starts")]
    NotAscending { bytes: u64, previous: u64 },
    #[error(
        "`operators: {operators}` at shape {shape} overlaps an earlier entry, in line {first_line}"
    )]
    #[help(
        "keep one entry for a shape, or one for each operator class and deployment, and for each known `order` of \
         ranks; an entry for `any` operators must follow the one for `commutative` operators"
    )]
    DuplicateShape {
        shape: CommShape,
        operators: Operators,
        first_line: usize,
    },
    #[error("`nonblocking` is not in tables of format {version}")]
    #[help(
        "write `format: colltune-table {}`",
        crate::types::VERSION_WITH_NONBLOCKING
    )]
    LaterSection { version: u32 },
    #[error("the rules for nonblocking calls are of {section}, the table is of {table}")]
    #[help(
        "remove `nonblocking`, or tune a campaign with `pattern: nonblocking` for the library of the table"
    )]
    OtherLibraryInSection { section: String, table: String },
    #[error("the rules for nonblocking calls were measured with `pattern: {pattern}`")]
    #[help("remove `nonblocking`, or tune a campaign with `pattern: nonblocking`")]
    PatternOfSection { pattern: Pattern },
    #[error(
        "these rules were measured with nonblocking calls, and are where those for blocking calls belong"
    )]
    #[help(
        "write provenance and collectives under `nonblocking`, as `colltune tune` and `decide` do"
    )]
    OutsideSection,
    #[error("{collective} has no rules for nonblocking calls")]
    #[help("remove it: these are {}", NONBLOCKING.map(Collective::name).join(", "))]
    NoNonblockingRules { collective: Collective },
    #[error("`{candidate}` cannot be chosen for nonblocking calls")]
    #[help("name `default`, or an algorithm of colltune, as in `{collective}/NAME`")]
    NotForNonblocking {
        candidate: String,
        collective: Collective,
    },
    #[error("messages of nonblocking calls go through MPI")]
    #[help("remove `through`")]
    SharedNonblocking,
    #[error("{found} values for {expected} sizes")]
    #[help("give one value for each size in `bytes`")]
    RowLength { expected: usize, found: usize },
}

/// The mistake of a word that is no collective of campaigns and tables; `known` are the words that are possible there.
pub fn unknown_collective<'k>(
    unknown: &UnknownCollective,
    known: impl IntoIterator<Item = &'k str>,
) -> Mistake {
    Mistake::unknown_word("collective", &unknown.0, known)
}

/// The algorithms that can be named for a collective.
fn algorithms_of(collective: Collective) -> String {
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
