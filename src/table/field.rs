//! Typed access to the fields of a document; every refusal knows its place.

use std::str::FromStr;

use vocabulary::units;

use crate::document::{Content, Entry, Extent, Node, push_key};
use crate::problem::{Fault, Problem};

/// A value of the document and the path that leads to it.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    node: &'a Node,
    path: String,
}

/// A mapping whose keys are known to be allowed.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    entries: &'a [Entry],
    extent: Extent,
    path: String,
}

impl<'a> Field<'a> {
    /// The whole document.
    pub(crate) fn root(node: &'a Node) -> Self {
        Self {
            node,
            path: String::new(),
        }
    }

    /// A problem with this value.
    pub(crate) fn fault(&self, problem: Problem) -> Fault {
        Fault {
            problem,
            extent: self.node.extent,
            field: self.path.clone(),
        }
    }

    /// The line on which the value starts.
    pub(crate) fn line(&self) -> usize {
        self.node.extent.line
    }

    fn wrong_type(&self, expected: &'static str) -> Fault {
        let found = match &self.node.content {
            Content::Scalar {
                text,
                quoted: false,
            } if text.is_empty() => "nothing".to_owned(),
            Content::Scalar { text, .. } => format!("`{text}`"),
            Content::Sequence(_) => "a list".to_owned(),
            Content::Mapping(_) => "a mapping".to_owned(),
        };
        self.fault(Problem::WrongType { expected, found })
    }

    /// A mapping with free keys.
    pub(crate) fn entries(&self) -> Result<Fields<'a>, Fault> {
        let Content::Mapping(entries) = &self.node.content else {
            return Err(self.wrong_type("a mapping (`key: value`)"));
        };
        Ok(Fields {
            entries,
            extent: self.node.extent,
            path: self.path.clone(),
        })
    }

    /// A mapping that has no other keys than these.
    pub(crate) fn mapping(&self, known: &'static [&'static str]) -> Result<Fields<'a>, Fault> {
        let fields = self.entries()?;
        match fields
            .entries
            .iter()
            .find(|entry| !known.contains(&entry.key.as_str()))
        {
            None => Ok(fields),
            Some(Entry { key, extent, .. }) => {
                let problem = Problem::UnknownKey {
                    key: key.clone(),
                    known,
                };
                Err(Fault {
                    problem,
                    extent: *extent,
                    field: fields.path_of(key),
                })
            }
        }
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Result<Vec<Field<'a>>, Fault> {
        let Content::Sequence(nodes) = &self.node.content else {
            return Err(self.wrong_type("a list"));
        };
        let items = nodes.iter().enumerate();
        Ok(items
            .map(|(i, node)| Field {
                node,
                path: format!("{}[{i}]", self.path),
            })
            .collect())
    }

    /// Any text; an empty one must be quoted.
    pub(crate) fn text(&self) -> Result<&'a str, Fault> {
        match &self.node.content {
            Content::Scalar { text, quoted } if *quoted || !text.is_empty() => Ok(text),
            _ => Err(self.wrong_type("a text")),
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&self) -> Result<Vec<String>, Fault> {
        self.items()?
            .iter()
            .map(|item| item.text().map(str::to_owned))
            .collect()
    }

    /// A size in bytes, `1500` or `64K`.
    pub(crate) fn bytes(&self) -> Result<u64, Fault> {
        let size = self
            .text()
            .ok()
            .and_then(|text| units::parse_bytes(text).ok());
        size.ok_or_else(|| self.wrong_type("a size in bytes, as in 1500, 64K or 8MiB"))
    }

    /// A whole number that is not negative.
    pub(crate) fn count(&self) -> Result<u32, Fault> {
        self.number()
            .ok_or_else(|| self.wrong_type("a whole number from 0 to 4294967295"))
    }

    /// A positive, finite ratio.
    pub(crate) fn ratio(&self) -> Result<f64, Fault> {
        let value = self
            .number()
            .filter(|value: &f64| value.is_finite() && *value > 0.0);
        value.ok_or_else(|| self.wrong_type("a positive number"))
    }

    /// A positive, finite time: microseconds in the file, seconds in memory.
    pub(crate) fn microseconds(&self) -> Result<f64, Fault> {
        let text = self.text().ok();
        let seconds = text.and_then(|text| crate::decimal::scaled(text, -6));
        let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
        seconds.ok_or_else(|| self.wrong_type("a positive time in microseconds"))
    }

    /// One of a fixed list of words.
    pub(crate) fn word<T: Copy>(
        &self,
        kind: &'static str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<T, Fault> {
        let text = self.text()?;
        all.iter()
            .copied()
            .find(|value| name(*value) == text)
            .ok_or_else(|| {
                let known = all.iter().map(|value| name(*value).to_owned()).collect();
                self.fault(Problem::UnknownName {
                    kind,
                    name: text.to_owned(),
                    known,
                })
            })
    }

    fn number<T: FromStr>(&self) -> Option<T> {
        match &self.node.content {
            Content::Scalar {
                text,
                quoted: false,
            } => text.parse().ok(),
            _ => None,
        }
    }
}

impl<'a> Fields<'a> {
    fn path_of(&self, key: &str) -> String {
        let mut path = self.path.clone();
        push_key(&mut path, key);
        path
    }

    /// The value of a key, if given.
    pub(crate) fn get(&self, key: &str) -> Option<Field<'a>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Field {
            node: &entry.value,
            path: self.path_of(key),
        })
    }

    /// The value of a key that must be given.
    pub(crate) fn required(&self, key: &'static str) -> Result<Field<'a>, Fault> {
        self.get(key)
            .ok_or_else(|| self.fault(Problem::MissingKey { key }))
    }

    /// The text of a key that must be given.
    pub(crate) fn required_text(&self, key: &'static str) -> Result<String, Fault> {
        self.required(key)?.text().map(str::to_owned)
    }

    /// A problem with the mapping as a whole.
    pub(crate) fn fault(&self, problem: Problem) -> Fault {
        Fault {
            problem,
            extent: self.extent,
            field: self.path.clone(),
        }
    }

    /// Every key, as a problem with it would be placed, and its value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key<'a>, Field<'a>)> {
        self.entries.iter().map(|entry| {
            let path = self.path_of(&entry.key);
            let key = Key {
                name: &entry.key,
                extent: entry.extent,
                path: path.clone(),
            };
            (
                key,
                Field {
                    node: &entry.value,
                    path,
                },
            )
        })
    }
}

/// A key of a mapping with free keys.
#[derive(Clone, Debug)]
pub(crate) struct Key<'a> {
    pub(crate) name: &'a str,
    extent: Extent,
    path: String,
}

impl Key<'_> {
    /// A problem with the key.
    pub(crate) fn fault(&self, problem: Problem) -> Fault {
        Fault {
            problem,
            extent: self.extent,
            field: self.path.clone(),
        }
    }
}
