//! What is wrong with files and variables that steer a library, as a release of it treats them.
//!
//! The readers of libraries pass over most mistakes silently. The readers here go through the same text in the same way,
//! but say what the library does where, and continue where they can.

use std::collections::{BTreeMap, BTreeSet};

use crate::file_rules::FileRules;
use crate::handing_back::Replacement;
use crate::rules_files::release_numbers;
use crate::steering::has_pattern;

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// The library ignores the whole file.
    IgnoredFile,
    /// Programs end when they start MPI.
    EndsPrograms,
    /// Calls of a collective return an error or end the program.
    FailingCall,
    /// The library reads something else than people do.
    Misread,
    /// A line that the library does not use.
    NoEffect,
    /// A rule that applies to no call.
    Unreachable,
    /// A name that the release does not have.
    UnknownName,
    /// Correct programs can get wrong results, or stop.
    Unsafe,
    /// Launches showed that calls are slower than by the library's own choice, or fail.
    Slower,
    /// The library uses another algorithm than the one that is named.
    Replaced,
    /// What is worth knowing about a correct line.
    Remark,
    /// A format that colltune cannot examine.
    NotSupported,
}

impl FindingKind {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::IgnoredFile,
        Self::EndsPrograms,
        Self::FailingCall,
        Self::Misread,
        Self::NoEffect,
        Self::Unreachable,
        Self::UnknownName,
        Self::Unsafe,
        Self::Slower,
        Self::Replaced,
        Self::Remark,
        Self::NotSupported,
    ];

    /// Its name in outputs for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::IgnoredFile => "ignored-file",
            Self::EndsPrograms => "ends-programs",
            Self::FailingCall => "failing-call",
            Self::Misread => "misread",
            Self::NoEffect => "no-effect",
            Self::Unreachable => "unreachable",
            Self::UnknownName => "unknown-name",
            Self::Unsafe => "unsafe",
            Self::Slower => "slower",
            Self::Replaced => "replaced",
            Self::Remark => "remark",
            Self::NotSupported => "not-supported",
        }
    }

    /// What findings of this kind have in common, as a sentence.
    pub fn summary(self) -> &'static str {
        match self {
            Self::IgnoredFile => "The library ignores the whole file.",
            Self::EndsPrograms => "Programs end when they start MPI.",
            Self::FailingCall => "Calls of the collective return an error or end the program.",
            Self::Misread => "The library reads something else than people do.",
            Self::NoEffect => "The library does not use this line.",
            Self::Unreachable => "The rule applies to no call.",
            Self::UnknownName => "The release does not have this name.",
            Self::Unsafe => "Correct programs can get wrong results, or stop.",
            Self::Slower => "Calls are slower than by the library's own choice, or fail.",
            Self::Replaced => "The library uses another algorithm than the one that is named.",
            Self::Remark => "Worth knowing about a correct line.",
            Self::NotSupported => "colltune cannot examine this.",
        }
    }

    /// Whether such a finding is a fault; the others are notes.
    pub fn is_fault(self) -> bool {
        !matches!(self, Self::Replaced | Self::Remark | Self::NotSupported)
    }
}

/// Something that people should know about a file or a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SteeringFinding {
    /// The line, from 1; `None` for the whole file.
    pub line: Option<usize>,
    /// What kind of finding it is.
    pub kind: FindingKind,
    /// What the library does, as a sentence without a full stop.
    pub message: String,
    /// What to do, likewise; `None` if nothing need be done.
    pub remedy: Option<String>,
}

/// The release for which files are examined.
#[derive(Clone, Copy, Debug)]
pub struct ExaminedRelease<'a> {
    /// Its version, such as `4.1.4`; parts that are left out count as 0.
    pub version: &'a str,
    /// All control variables of the installed library with their values; `None` if they are unknown.
    pub variables: Option<&'a BTreeMap<String, String>>,
    /// Whether all operators of programs commute, so that algorithms that need it are safe.
    pub assume_commutative: bool,
}

impl ExaminedRelease<'_> {
    /// The numbers of its version.
    pub(crate) fn version_numbers(&self) -> [u32; 3] {
        release_numbers(self.version)
    }
}

/// Reads the rules of a text as a release does.
pub type ReadRules = fn(&ExaminedRelease<'_>, &str) -> Result<FileRules, SteeringFinding>;

/// Finds where a text, of which each byte is a character, names the choices of some lines.
pub type ChoicesInLines = fn(&str, &BTreeSet<usize>) -> Vec<Replacement>;

/// A format of files that steer a library.
#[derive(Clone, Copy)]
pub struct SteeringFormat {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is called in sentences.
    pub title: &'static str,
    /// The control variables that name such files; patterns as in [`SteeringSetting`](crate::SteeringSetting).
    pub settings: &'static [&'static str],
    /// Whether a text looks like one.
    pub recognises: fn(&str) -> bool,
    /// What is wrong with a text.
    pub examine: fn(&ExaminedRelease<'_>, &str) -> SteeringFindings,
    /// The rules that a release uses, or the finding about a text that it ignores as a whole; `None` if colltune does not
    /// read rules of this format.
    pub read_rules: Option<ReadRules>,
    /// Where a text names the choices of some lines; `None` if colltune does not change files of this format.
    pub choices_in_lines: Option<ChoicesInLines>,
}

impl SteeringFormat {
    /// Whether a control variable names files of this format.
    pub fn is_named_by(&self, control_variable: &str) -> bool {
        self.settings
            .iter()
            .any(|pattern| has_pattern(control_variable, pattern))
    }
}

impl std::fmt::Debug for SteeringFormat {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(self.name)
    }
}

/// What was found in a file, and what else the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SteeringFindings {
    /// The findings, by line; those about the whole file come first.
    pub all: Vec<SteeringFinding>,
    /// The settings that the file gives, in its order.
    pub assignments: Vec<Assignment>,
}

/// A setting with its value in a file or in the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The line, from 1; `None` in the environment.
    pub line: Option<usize>,
    /// The name as it is written.
    pub name: String,
    /// The value.
    pub value: String,
}

impl SteeringFindings {
    /// Reports a finding with a remedy.
    pub(crate) fn report(
        &mut self,
        line: impl Into<Option<usize>>,
        kind: FindingKind,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.all.push(SteeringFinding {
            line: line.into(),
            kind,
            message: message.into(),
            remedy: Some(remedy.into()),
        });
    }

    /// Adds a finding about which nothing need be done.
    pub(crate) fn note(
        &mut self,
        line: impl Into<Option<usize>>,
        kind: FindingKind,
        message: impl Into<String>,
    ) {
        self.all.push(SteeringFinding {
            line: line.into(),
            kind,
            message: message.into(),
            remedy: None,
        });
    }

    /// The findings by line, each once.
    pub(crate) fn sorted(mut self) -> Self {
        self.all.sort_by_key(|finding| (finding.line, finding.kind));
        self.all.dedup();
        self
    }

    /// Whether something has to be corrected.
    pub fn has_faults(&self) -> bool {
        self.all.iter().any(|finding| finding.kind.is_fault())
    }

    /// The first finding after which the library uses nothing of the file.
    pub(crate) fn dropping(&self) -> Option<&SteeringFinding> {
        let drops = [FindingKind::IgnoredFile, FindingKind::EndsPrograms];
        self.all
            .iter()
            .find(|finding| drops.contains(&finding.kind))
    }
}
