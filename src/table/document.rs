//! A YAML document as a tree that remembers where everything stands.
//!
//! Scalars stay text: what a text means is for the reader of a field to say, so a version `4.10`
//! is never a number and a host `no` never a boolean. Only what a table needs of YAML is allowed.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::problem::{Fault, Problem};

/// Nesting beyond this cannot be a table.
const MAXIMUM_DEPTH: usize = 16;

/// A place in the text: line and column from 1, length in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) length: usize,
}

impl From<Span> for Extent {
    fn from(span: Span) -> Self {
        let one_line = span.start.line() == span.end.line();
        Self {
            line: span.start.line(),
            column: span.start.col() + 1,
            length: if one_line { span.len().max(1) } else { 1 },
        }
    }
}

/// A value and where it stands.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) extent: Extent,
    pub(crate) content: Content,
}

/// The kinds of values.
#[derive(Debug)]
pub(crate) enum Content {
    Scalar { text: String, quoted: bool },
    Sequence(Vec<Node>),
    Mapping(Vec<Entry>),
}

/// A key of a mapping and its value.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) extent: Extent,
    pub(crate) value: Node,
}

/// A collection whose end has not been reached.
struct Open {
    extent: Extent,
    items: Items,
}

enum Items {
    Sequence(Vec<Node>),
    Mapping {
        entries: Vec<Entry>,
        key: Option<(String, Extent)>,
    },
}

/// Reads the only document of a text; `None` if there is nothing in it.
pub(crate) fn read(text: &str) -> Result<Option<Node>, Fault> {
    let mut builder = Builder {
        open: Vec::new(),
        root: None,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let mark = error.marker();
            let extent = Extent {
                line: mark.line(),
                column: mark.col() + 1,
                length: 1,
            };
            let problem = Problem::Syntax {
                message: error.info().to_owned(),
            };
            Fault {
                problem,
                extent,
                field: builder.field(),
            }
        })?;
        builder.take(event, span.into())?;
    }
    Ok(builder.root)
}

struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, extent: Extent) -> Result<(), Fault> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_decoration(anchor, tag.is_some(), extent)?;
                let quoted = style != ScalarStyle::Plain;
                self.place(Node {
                    extent,
                    content: Content::Scalar {
                        text: text.into_owned(),
                        quoted,
                    },
                })
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_decoration(anchor, tag.is_some(), extent)?;
                self.enter(extent, Items::Sequence(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_decoration(anchor, tag.is_some(), extent)?;
                self.enter(
                    extent,
                    Items::Mapping {
                        entries: Vec::new(),
                        key: None,
                    },
                )
            }
            Event::SequenceEnd | Event::MappingEnd => self.leave(),
            Event::Alias(_) => Err(self.fault(
                Problem::Yaml {
                    feature: "an alias",
                },
                extent,
            )),
            Event::DocumentStart(_) if self.root.is_some() => Err(self.fault(
                Problem::Yaml {
                    feature: "a second document",
                },
                extent,
            )),
            Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::StreamStart
            | Event::StreamEnd
            | Event::Nothing => Ok(()),
        }
    }

    fn refuse_decoration(&self, anchor: usize, tag: bool, extent: Extent) -> Result<(), Fault> {
        let feature = match (anchor, tag) {
            (0, false) => return Ok(()),
            (0, true) => "a tag",
            _ => "an anchor",
        };
        Err(self.fault(Problem::Yaml { feature }, extent))
    }

    fn enter(&mut self, extent: Extent, items: Items) -> Result<(), Fault> {
        if let Some(Open {
            items: Items::Mapping { key: None, .. },
            ..
        }) = self.open.last()
        {
            return Err(self.fault(
                Problem::Yaml {
                    feature: "a key that is not text",
                },
                extent,
            ));
        }
        if self.open.len() == MAXIMUM_DEPTH {
            return Err(self.fault(
                Problem::Yaml {
                    feature: "such deep nesting",
                },
                extent,
            ));
        }
        // The start of a collection spans its bracket at most; a caret there says enough.
        self.open.push(Open {
            extent: Extent {
                length: 1,
                ..extent
            },
            items,
        });
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Fault> {
        let Some(Open { extent, items }) = self.open.pop() else {
            return Ok(());
        };
        let content = match items {
            Items::Sequence(nodes) => Content::Sequence(nodes),
            Items::Mapping { entries, .. } => Content::Mapping(entries),
        };
        self.place(Node { extent, content })
    }

    /// Puts a complete value, or a key, where it belongs.
    fn place(&mut self, node: Node) -> Result<(), Fault> {
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(Items::Sequence(nodes)) => nodes.push(node),
            Some(Items::Mapping { entries, key }) => match key.take() {
                Some((key, extent)) => entries.push(Entry {
                    key,
                    extent,
                    value: node,
                }),
                None => {
                    let Content::Scalar { text, .. } = node.content else {
                        return Ok(());
                    };
                    let earlier = entries.iter().find(|entry| entry.key == text);
                    let earlier = earlier.map(|entry| entry.extent.line);
                    *key = Some((text.clone(), node.extent));
                    if let Some(first_line) = earlier {
                        let problem = Problem::DuplicateKey {
                            key: text,
                            first_line,
                        };
                        return Err(self.fault(problem, node.extent));
                    }
                }
            },
        }
        Ok(())
    }

    fn fault(&self, problem: Problem, extent: Extent) -> Fault {
        Fault {
            problem,
            extent,
            field: self.field(),
        }
    }

    /// The path of what is being read.
    fn field(&self) -> String {
        let mut field = String::new();
        for open in &self.open {
            match &open.items {
                Items::Sequence(nodes) => field.push_str(&format!("[{}]", nodes.len())),
                Items::Mapping {
                    key: Some((key, _)),
                    ..
                } => push_key(&mut field, key),
                Items::Mapping { key: None, .. } => {}
            }
        }
        field
    }
}

/// Appends a key to a field path.
pub(crate) fn push_key(field: &mut String, key: &str) {
    if !field.is_empty() {
        field.push('.');
    }
    field.push_str(key);
}
