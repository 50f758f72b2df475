//! A YAML file with the place of each field.

use std::path::Path;

use serde::Deserialize;

use crate::deserializer::Value;
use crate::error::Error;
use crate::tree::{self, Content, Extent, Node};
use crate::{Diagnostic, Field, Mistake, Problem};

/// The kind of a file, for messages.
#[derive(Debug)]
pub struct Kind {
    /// Its name with an article, as in `a campaign`.
    pub name: &'static str,
    /// The remedy for a file of another kind.
    pub start: &'static str,
    /// The place where its keys are explained, as a sentence without a full stop.
    pub reference: Option<&'static str>,
}

/// The text of a file, which is one mapping, with the place of every field.
#[derive(Debug)]
pub struct Document<'a> {
    kind: &'static Kind,
    path: &'a Path,
    text: &'a str,
    root: Node<'a>,
}

impl<'a> Document<'a> {
    /// Reads a text; errors name `path`.
    ///
    /// # Errors
    /// Bad syntax, a duplicate key, a key without a value, or anything but one mapping of plain keys to values, lists
    /// and mappings.
    pub fn parse(
        kind: &'static Kind,
        path: &'a Path,
        text: &'a str,
    ) -> Result<Self, Box<Diagnostic>> {
        let error = match tree::read_tree(text) {
            Ok(Some(root)) if matches!(root.content, Content::Mapping(_)) => {
                return Ok(Self {
                    kind,
                    path,
                    text,
                    root,
                });
            }
            Ok(root) => {
                let extent = root.map_or(Extent::START, |root| root.extent);
                Error::from(Mistake::not_a_mapping(kind)).with_extent(extent)
            }
            Err(error) => error,
        };
        Err(error.into_diagnostic(kind, path, text))
    }

    /// Reads all keys and values.
    ///
    /// # Errors
    /// Unknown or missing keys, values of another form than expected.
    pub fn read_values<'d, T: Deserialize<'d>>(&'d self) -> Result<T, Box<Diagnostic>> {
        let diagnose = |error: Error| {
            error
                .at_node(&self.root)
                .into_diagnostic(self.kind, self.path, self.text)
        };
        T::deserialize(Value::new(&self.root)).map_err(diagnose)
    }

    /// An error about the value of a field.
    pub fn error_at_value(&self, field: &Field, problem: impl Problem) -> Box<Diagnostic> {
        let (_, value, found) = self.find_field(field);
        Diagnostic::new(self.path, self.text, value.extent, found, &problem)
    }

    /// An error about the key of a field.
    pub fn error_at_key(&self, field: &Field, problem: impl Problem) -> Box<Diagnostic> {
        let (key, value, found) = self.find_field(field);
        let is_there = found.steps().len() == field.steps().len();
        let extent = if is_there { key } else { value.extent };
        Diagnostic::new(self.path, self.text, extent, found, &problem)
    }

    /// An error about a value other than `expected`.
    pub fn unfit_value_error(&self, field: &Field, expected: &str) -> Box<Diagnostic> {
        let (_, value, _) = self.find_field(field);
        self.error_at_value(
            field,
            Mistake::wrong_form(self.kind, expected, &value.describe()),
        )
    }

    /// The meaning of one of several known words.
    ///
    /// # Errors
    /// An unknown word; `what` names the kind of word.
    pub fn parse_word<T: Copy>(
        &self,
        field: &Field,
        word: &str,
        what: &str,
        known: &[(&str, T)],
    ) -> Result<T, Box<Diagnostic>> {
        match known.iter().find(|(name, _)| *name == word) {
            Some((_, value)) => Ok(*value),
            None => {
                let known = known.iter().map(|(name, _)| *name);
                Err(self.error_at_value(field, Mistake::unknown_word(what, word, known)))
            }
        }
    }

    /// The line of a field, from 1.
    pub fn line_of_field(&self, field: &Field) -> usize {
        self.find_field(field).1.extent.line
    }

    /// The text of a scalar, as written but without quotes; `None` if the field is not a scalar.
    pub fn text_of(&self, field: &Field) -> Option<&str> {
        let mut steps = field.steps().iter();
        let node = steps.try_fold(&self.root, |node, step| Some(node.child(step)?.1))?;
        match &node.content {
            Content::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The text with another value of a field; `None` if the field is not written or not a scalar.
    pub fn with_value(&self, field: &Field, value: &str) -> Option<String> {
        self.text_of(field)?;
        let (_, node, _) = self.find_field(field);
        let Content::Scalar { end, .. } = node.content else {
            return None;
        };
        let before = self.text.chars().take(node.extent.start);
        let after = self.text.chars().skip(end);
        Some(before.chain(value.chars()).chain(after).collect())
    }

    /// The text with other values of keys of the outermost mapping, each written on its own line as given; missing keys
    /// are added at the end. Comments after a replaced value are removed. `None` if the outermost mapping is in braces.
    pub fn with_keys(&self, values: &[(&str, String)]) -> Option<String> {
        let Content::Mapping(entries) = &self.root.content else {
            return None;
        };
        let text: Vec<char> = self.text.chars().collect();
        let indent = entries.first().map_or(0, |entry| entry.extent.column - 1);
        let is_braced = text.get(self.root.extent.start) == Some(&'{');
        if is_braced {
            return None;
        }
        let margin = " ".repeat(indent);
        let mut whole = String::with_capacity(self.text.len());
        let mut copied = 0;
        for (place, entry) in entries.iter().enumerate() {
            let Some((_, value)) = values.iter().find(|(key, _)| *key == entry.key) else {
                continue;
            };
            whole.extend(&text[copied..entry.extent.start]);
            whole += &format!("{}: {value}\n", entry.key);
            match entries.get(place + 1) {
                Some(next) => {
                    whole += &margin;
                    copied = next.extent.start;
                }
                None => copied = text.len(),
            }
        }
        whole.extend(&text[copied..]);
        if !whole.ends_with('\n') && !whole.is_empty() {
            whole.push('\n');
        }
        let has = |key: &str| entries.iter().any(|entry| entry.key == key);
        for (key, value) in values.iter().filter(|(key, _)| !has(key)) {
            whole += &format!("{margin}{key}: {value}\n");
        }
        Some(whole)
    }

    /// The deepest written part of `field`, with the place of its key and its path: short forms and defaults omit parts
    /// of a path.
    fn find_field(&self, field: &Field) -> (Extent, &Node<'a>, Field) {
        let (mut key, mut node, mut found) = (self.root.extent, &self.root, 0);
        for step in field.steps() {
            let Some(child) = node.child(step) else {
                break;
            };
            (key, node) = child;
            found += 1;
        }
        let found = field.steps()[..found].iter().cloned().collect();
        (key, node, found)
    }
}
