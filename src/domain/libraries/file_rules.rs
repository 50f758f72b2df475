//! The rules of a file as a release uses them, call by call.
//!
//! Findings say what is wrong with a file; here is what remains of it: the rules that count, with their lines, and the
//! lines that do not count or that say more than rules can.

use std::collections::BTreeSet;

use schedule::Collective;
use vocabulary::CommShape;

/// The rules of a file that a release uses.
#[derive(Clone, Debug)]
pub struct FileRules {
    /// The rules: of those that apply to a call, the first one counts.
    pub rules: Vec<RuleInFile>,
    /// Lines that decide about no call, and parts of lines that cannot be told by a rule.
    pub left_out: Vec<LeftOutLine>,
    /// What the release runs for a choice.
    pub(crate) carried_out: fn(Collective, &FileChoice, u32) -> Result<FileChoice, String>,
}

/// A rule of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInFile {
    /// The line, from 1.
    pub line: usize,
    /// The collective.
    pub collective: Collective,
    /// The smallest and the largest number of ranks, both included.
    pub ranks: [u64; 2],
    /// What else must hold for a shape.
    pub conditions: Vec<ShapeCondition>,
    /// The operators of reductions.
    pub operators: FileOperators,
    /// The smallest and the largest message, both included, in the library's measure.
    pub bytes: [u64; 2],
    /// The smallest and the largest product of a table's size and the number of ranks, both included.
    pub total_bytes: [u64; 2],
    /// The algorithm; `None` if the library decides as without the file.
    pub choice: Option<FileChoice>,
}

/// What must hold for a shape, besides its number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeCondition {
    /// One rank is on each node.
    OneRankOnNode,
    /// Several ranks are on each node.
    SeveralRanksOnNode,
    /// All ranks are on one node.
    OneNode,
    /// The number of ranks is a power of two.
    PowerOfTwoRanks,
    /// At most this many ranks are on a node.
    MostRanksOnNode(u64),
}

impl ShapeCondition {
    fn holds_for(self, shape: CommShape) -> bool {
        match self {
            Self::OneRankOnNode => shape.ppn == 1,
            Self::SeveralRanksOnNode => shape.ppn > 1,
            Self::OneNode => shape.nodes == 1,
            Self::PowerOfTwoRanks => shape.ranks().is_power_of_two(),
            Self::MostRanksOnNode(most) => u64::from(shape.ppn) <= most,
        }
    }
}

/// The operators of reductions for which a rule of a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOperators {
    /// All.
    Any,
    /// Those that commute.
    Commutative,
    /// Those that do not commute.
    Noncommutative,
}

/// An algorithm with its parameters; 0 is the library's own choice of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChoice {
    /// The algorithm's id.
    pub id: String,
    /// The size of segments in bytes.
    pub segment_bytes: u64,
    /// The fanout.
    pub fanout: u64,
    /// The most requests under way.
    pub max_requests: u64,
}

/// A line, or a part of one, that is in no rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOutLine {
    /// The line, from 1.
    pub line: usize,
    /// The reason, as a clause.
    pub why: String,
}

impl LeftOutLine {
    pub(crate) fn new(line: usize, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { line, why }
    }
}

impl RuleInFile {
    /// Whether it applies to communicators of a shape.
    pub fn is_for_shape(&self, shape: CommShape) -> bool {
        let [first, last] = self.ranks;
        let mut conditions = self.conditions.iter();
        conditions.all(|condition| condition.holds_for(shape))
            && (first..=last).contains(&u64::from(shape.ranks()))
    }
}

impl FileRules {
    /// The numbers of ranks, from 2 on, at which rules begin.
    pub fn first_ranks(&self) -> BTreeSet<u32> {
        let first = self.rules.iter().map(|rule| rule.ranks[0].max(2));
        first
            .filter_map(|ranks| u32::try_from(ranks).ok())
            .collect()
    }

    /// What the release runs for a choice on a number of ranks: another algorithm where it replaces the chosen one.
    ///
    /// # Errors
    /// The reason, as a clause, why the calls fail.
    pub fn carried_out(
        &self,
        collective: Collective,
        choice: &FileChoice,
        ranks: u32,
    ) -> Result<FileChoice, String> {
        (self.carried_out)(collective, choice, ranks)
    }
}
