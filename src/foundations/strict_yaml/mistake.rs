//! Mistakes in the form of a file, with their remedies.

use std::fmt;

use crate::{Kind, Problem, nearest_name};

/// A mistake that is possible in any kind of file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    message: String,
    help: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Problem for Mistake {
    fn help(&self) -> String {
        self.help.clone()
    }
}

impl Mistake {
    pub(crate) fn new(message: String, help: impl Into<String>) -> Self {
        let help = help.into();
        Self { message, help }
    }

    /// An unknown word.
    pub fn unknown_word<'k>(
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Self {
        let message = format!("unknown {what} `{word}`");
        Self::new(message, suggest_names(word, known, "choose one of"))
    }

    /// The same mistake with a further remedy.
    #[must_use]
    pub fn with_remedy(self, remedy: &str) -> Self {
        let help = format!("{}; {remedy}", self.help);
        Self { help, ..self }
    }

    /// An unknown key.
    pub fn unknown_key(key: &str, known: &[&str]) -> Self {
        let known = known.iter().copied();
        Self::new(
            format!("unknown key `{key}`"),
            suggest_names(key, known, "keys here"),
        )
    }

    pub(crate) fn missing_key(key: &str) -> Self {
        let message = format!("the key `{key}` is missing");
        Self::new(message, format!("add `{key}: ...`"))
    }

    pub(crate) fn duplicate_key(key: &str, first_line: Option<usize>) -> Self {
        let first = first_line.map(|line| format!(", first in line {line}"));
        let first = first.unwrap_or_default();
        let message = format!("the key `{key}` is written twice{first}");
        Self::new(message, "keep one of them")
    }

    pub(crate) fn no_value(in_list: bool) -> Self {
        let (what, remedy) = if in_list {
            ("entry of the list", "or remove it")
        } else {
            ("key", "or remove the key to get its default")
        };
        let message = format!("this {what} has no value");
        Self::new(message, format!("give it a value, {remedy}"))
    }

    pub(crate) fn wrong_form(kind: &Kind, expected: &str, found: &str) -> Self {
        let reference = kind.reference.map(|reference| format!("; {reference}"));
        let help = format!("write {expected}{}", reference.unwrap_or_default());
        Self::new(format!("expected {expected}, found {found}"), help)
    }

    /// A text without quotes that YAML takes for another type. YAML would turn `4.10` into 4.1, so the text cannot be
    /// recovered from the value.
    pub(crate) fn unquoted_text(key: Option<&str>, text: &str) -> Self {
        let message =
            format!("YAML reads `{text}` as a number or truth value, where a text is expected");
        let key = key.map(|key| format!("{key}: ")).unwrap_or_default();
        Self::new(message, format!("quote it: `{key}\"{text}\"`"))
    }

    pub(crate) fn not_a_mapping(kind: &Kind) -> Self {
        let message = format!("{} is one mapping of keys to values", kind.name);
        Self::new(message, kind.start)
    }

    pub(crate) fn bad_syntax(message: &str) -> Self {
        Self::new(
            format!("this is not valid YAML: {message}"),
            "check indentation and brackets, and quote texts that hold a `: ` or begin with `*` or `[`",
        )
    }

    pub(crate) fn tab_indent() -> Self {
        let message = "this is not valid YAML: a tab indents the line";
        Self::new(message.to_owned(), "use spaces, not tabs")
    }

    pub(crate) fn forbidden_feature(kind: &Kind, feature: &str) -> Self {
        Self::new(
            format!("{feature} is not allowed in {}", kind.name),
            "write plain keys, values, lists and mappings, in one document",
        )
    }
}

/// A suggestion: the most similar name of `known`, or all of them.
fn suggest_names<'k>(written: &str, known: impl IntoIterator<Item = &'k str>, all: &str) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest_name(written, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("{all}: {}", known.join(", ")),
    }
}
