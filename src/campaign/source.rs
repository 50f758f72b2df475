//! A YAML file whose fields can be found again by path.

use std::path::Path;

use saphyr::{LoadableYamlNode, MarkedYaml, Marker, Scalar, ScanError, YamlData};

use crate::field::{Field, Step};
use crate::{CampaignError, Diagnostic, Problem};

/// The text of a definition with the place of every field.
pub(crate) struct Source<'a> {
    path: &'a Path,
    text: &'a str,
    root: MarkedYaml<'a>,
}

/// Which part of an entry of a mapping an error points at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Key,
    Value,
}

impl<'a> Source<'a> {
    /// Reads the marks of a text.
    ///
    /// # Errors
    /// Bad syntax, a duplicate key, a key without a value, or anything but one mapping.
    pub(crate) fn parse(path: &'a Path, text: &'a str) -> Result<Self, CampaignError> {
        let documents = MarkedYaml::load_from_str(text).map_err(|e| scan_error(path, text, &e))?;
        let mut documents = documents.into_iter();
        let (Some(root), None) = (documents.next(), documents.next()) else {
            return Err(diagnose(
                path,
                text,
                start(),
                Field::default(),
                Problem::NotAMapping,
            ));
        };
        let source = Self { path, text, root };
        if !source.root.data.is_mapping() {
            return Err(source.at_value(&Field::default(), Problem::NotAMapping));
        }
        source.refuse_empty_values(&source.root, &Field::default())?;
        Ok(source)
    }

    /// An error about the value of a field.
    pub(crate) fn at_value(&self, field: &Field, problem: Problem) -> CampaignError {
        self.error(field, problem, Part::Value)
    }

    /// An error about the key of a field.
    pub(crate) fn at_key(&self, field: &Field, problem: Problem) -> CampaignError {
        self.error(field, problem, Part::Key)
    }

    /// An error where the YAML reader that knows no fields found one, from 1.
    pub(crate) fn at(&self, line: usize, column: usize, problem: Problem) -> CampaignError {
        let place = Marker::new(0, line.max(1), column.saturating_sub(1));
        diagnose(self.path, self.text, place, Field::default(), problem)
    }

    /// The value of a field as it is written, if it is.
    pub(crate) fn text(&self, field: &Field) -> Option<String> {
        let mut steps = field.steps().iter();
        let node = steps.try_fold(&self.root, |node, step| Some(child(node, step)?.1))?;
        let written = self.text.chars().skip(node.span.start.index());
        let text: String = written.take(node.span.len()).collect();
        Some(text.trim().to_owned())
    }

    /// The whole text with another value of a field; `None` if the field is not written, or no scalar.
    pub(crate) fn with(&self, field: &Field, value: &str) -> Option<String> {
        let mut steps = field.steps().iter();
        let node = steps.try_fold(&self.root, |node, step| Some(child(node, step)?.1))?;
        if !matches!(node.data, YamlData::Value(_) | YamlData::Representation(..)) {
            return None;
        }
        let characters = || self.text.chars();
        let before = characters().take(node.span.start.index());
        let after = characters().skip(node.span.start.index() + node.span.len());
        Some(before.chain(value.chars()).chain(after).collect())
    }

    /// Points at the deepest part of `field` that is written in the file: short forms and
    /// defaults leave parts of a path out.
    fn error(&self, field: &Field, problem: Problem, part: Part) -> CampaignError {
        let mut node = &self.root;
        let mut place = if field.steps().is_empty() {
            node.span.start
        } else {
            start()
        };
        let mut found = 0;
        for (depth, step) in field.steps().iter().enumerate() {
            let Some((key, value)) = child(node, step) else {
                break;
            };
            found = depth + 1;
            let last = found == field.steps().len();
            place = if last && part == Part::Key {
                key
            } else {
                value.span.start
            };
            node = value;
        }
        diagnose(self.path, self.text, place, field.prefix(found), problem)
    }

    fn refuse_empty_values(&self, node: &MarkedYaml<'_>, at: &Field) -> Result<(), CampaignError> {
        let children: Vec<(Field, &MarkedYaml<'_>)> = match &node.data {
            YamlData::Mapping(entries) => entries
                .iter()
                .filter_map(|(key, value)| Some((at.key(key.data.as_str()?), value)))
                .collect(),
            YamlData::Sequence(items) => items
                .iter()
                .enumerate()
                .map(|(i, item)| (at.index(i), item))
                .collect(),
            _ => Vec::new(),
        };
        for (field, value) in children {
            if matches!(value.data, YamlData::Value(Scalar::Null)) {
                return Err(self.at_key(&field, Problem::NoValue));
            }
            self.refuse_empty_values(value, &field)?;
        }
        Ok(())
    }
}

fn start() -> Marker {
    Marker::new(0, 1, 0)
}

/// Where the key of a child stands, and its value.
fn child<'n, 'y>(node: &'n MarkedYaml<'y>, step: &Step) -> Option<(Marker, &'n MarkedYaml<'y>)> {
    match (step, &node.data) {
        (Step::Key(name), YamlData::Mapping(entries)) => entries
            .iter()
            .find(|(key, _)| key.data.as_str() == Some(name))
            .map(|(key, value)| (key.span.start, value)),
        (Step::Index(index), YamlData::Sequence(items)) => {
            items.get(*index).map(|item| (item.span.start, item))
        }
        _ => None,
    }
}

fn scan_error(path: &Path, text: &str, error: &ScanError) -> CampaignError {
    let place = *error.marker();
    // saphyr has no kinds of errors; a test guards this text.
    let problem = if error.info().starts_with("duplicated key") {
        let line = text
            .lines()
            .nth(place.line().saturating_sub(1))
            .unwrap_or_default();
        let rest: String = line.chars().skip(place.col()).collect();
        let key = rest.split(':').next().unwrap_or_default().trim().to_owned();
        Problem::DuplicateKey { key }
    } else {
        Problem::Syntax {
            message: error.info().to_owned(),
        }
    };
    diagnose(path, text, place, Field::default(), problem)
}

fn diagnose(
    path: &Path,
    text: &str,
    place: Marker,
    field: Field,
    problem: Problem,
) -> CampaignError {
    let line = place.line().max(1);
    CampaignError::Invalid(Box::new(Diagnostic {
        path: path.to_owned(),
        line,
        column: place.col() + 1,
        field,
        source_line: text.lines().nth(line - 1).unwrap_or_default().to_owned(),
        problem,
    }))
}
