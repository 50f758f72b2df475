//! Errors while a file is read, before their place and field are known.

use std::fmt::Display;
use std::path::Path;

use serde::de::{self, Expected, Unexpected};

use crate::field::{Field, Step};
use crate::tree::{Extent, Node};
use crate::{Diagnostic, Kind, Mistake};

/// An error, with the known part of its place.
#[derive(Debug)]
pub(crate) struct Error {
    what: Fault,
    extent: Option<Extent>,
    /// The steps, the innermost first.
    steps: Vec<Step>,
}

#[derive(Debug)]
pub(crate) enum Fault {
    /// A feature of YAML that is not allowed, with its article.
    Feature(&'static str),
    Unfit {
        expected: String,
        found: String,
    },
    Unquoted {
        text: String,
    },
    Unknown {
        word: String,
        known: &'static [&'static str],
    },
    Mistake(Mistake),
}

impl Error {
    pub(crate) fn new(what: Fault) -> Self {
        let (extent, steps) = (None, Vec::new());
        Self {
            what,
            extent,
            steps,
        }
    }

    pub(crate) fn unfit(expected: &str) -> Self {
        let expected = match expected {
            "u8" => format!("a whole number from 0 to {}", u8::MAX),
            "u16" => format!("a whole number from 0 to {}", u16::MAX),
            "u32" => format!("a whole number from 0 to {}", u32::MAX),
            "u64" | "usize" => format!("a whole number from 0 to {}", u64::MAX),
            "f32" | "f64" => "a number".to_owned(),
            "a string" | "path string" => "a text".to_owned(),
            "a sequence" => "a list".to_owned(),
            "a map" => "a mapping (`key: value`)".to_owned(),
            structure if structure.starts_with("struct ") => "a mapping (`key: value`)".to_owned(),
            other => other.to_owned(),
        };
        let found = String::new();
        Self::new(Fault::Unfit { expected, found })
    }

    /// Adds a place to an error without one.
    pub(crate) fn with_extent(mut self, extent: Extent) -> Self {
        self.extent.get_or_insert(extent);
        self
    }

    /// Adds a value's place to an error without one.
    pub(crate) fn at_node(mut self, node: &Node<'_>) -> Self {
        if let (None, Fault::Unfit { found, .. }) = (self.extent, &mut self.what) {
            *found = node.describe();
        }
        self.with_extent(node.extent)
    }

    /// Adds the step of an enclosing list or mapping.
    pub(crate) fn under_step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// The diagnostic for the error in its file.
    pub(crate) fn into_diagnostic(self, kind: &Kind, path: &Path, text: &str) -> Box<Diagnostic> {
        let field: Field = self.steps.into_iter().rev().collect();
        let mistake = match self.what {
            Fault::Feature(feature) => Mistake::forbidden_feature(kind, feature),
            Fault::Unfit { expected, found } => Mistake::wrong_form(kind, &expected, &found),
            Fault::Unquoted { text: unquoted } => {
                Mistake::unquoted_text(field.last_key(), &unquoted)
            }
            Fault::Unknown { word, known } => {
                let what = field.last_key().unwrap_or("word");
                Mistake::unknown_word(what, &word, known.iter().copied())
            }
            Fault::Mistake(mistake) => mistake,
        };
        let extent = self.extent.unwrap_or(Extent::START);
        Diagnostic::new(path, text, extent, field, &mistake)
    }
}

impl From<Mistake> for Error {
    fn from(mistake: Mistake) -> Self {
        Self::new(Fault::Mistake(mistake))
    }
}

/// For developers; users see [`Error::into_diagnostic`].
impl Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.what)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self::from(Mistake::new(message.to_string(), "change the value"))
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::unfit(&expected.to_string())
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::unfit(&expected.to_string())
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        let word = word.to_owned();
        Self::new(Fault::Unknown { word, known })
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::from(Mistake::unknown_key(key, known))
    }

    fn missing_field(key: &'static str) -> Self {
        Self::from(Mistake::missing_key(key))
    }

    fn duplicate_field(key: &'static str) -> Self {
        Self::from(Mistake::duplicate_key(key, None))
    }
}
