//! A YAML document as a tree that remembers where everything stands.
//!
//! Scalars stay text: what a text means is for the reader of a field to say. Only what files of
//! settings need of YAML is allowed.

use std::borrow::Cow;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

use crate::field::{Field, Step};
use crate::plain::Meaning;
use crate::{Kind, Mistake};

/// Nesting beyond this is no sensible file. Whatever walks a tree may recurse so deep.
const MAXIMUM_DEPTH: usize = 16;

/// A place in the text: line and column from 1, start and length in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: usize,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) length: usize,
}

impl Extent {
    /// The first character of the text.
    pub(crate) const START: Self = Self {
        start: 0,
        line: 1,
        column: 1,
        length: 1,
    };

    fn of(mark: &Marker, length: usize) -> Self {
        Self {
            start: mark.index(),
            line: mark.line(),
            column: mark.col() + 1,
            length,
        }
    }
}

impl From<Span> for Extent {
    fn from(span: Span) -> Self {
        let one_line = span.start.line() == span.end.line();
        Self::of(&span.start, if one_line { span.len().max(1) } else { 1 })
    }
}

/// A value and where it stands.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) extent: Extent,
    pub(crate) content: Content<'a>,
}

/// The kinds of values.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// `end` is behind its last character.
    Scalar {
        text: Cow<'a, str>,
        quoted: bool,
        end: usize,
    },
    Sequence(Vec<Node<'a>>),
    Mapping(Vec<Entry<'a>>),
}

/// A key of a mapping and its value.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) key: Cow<'a, str>,
    pub(crate) extent: Extent,
    pub(crate) value: Node<'a>,
}

impl<'a> Node<'a> {
    /// The value under a step, and where its key stands.
    pub(crate) fn child(&self, step: &Step) -> Option<(Extent, &Self)> {
        match (step, &self.content) {
            (Step::Key(name), Content::Mapping(entries)) => {
                let entry = entries.iter().find(|entry| entry.key == *name)?;
                Some((entry.extent, &entry.value))
            }
            (Step::Index(index), Content::Sequence(items)) => {
                items.get(*index).map(|item| (item.extent, item))
            }
            _ => None,
        }
    }

    /// What stands here, in words.
    pub(crate) fn describe(&self) -> String {
        match &self.content {
            Content::Scalar {
                text, quoted: true, ..
            } => format!("`\"{text}\"`"),
            Content::Scalar { text, .. } => format!("`{text}`"),
            Content::Sequence(_) => "a list".to_owned(),
            Content::Mapping(_) => "a mapping".to_owned(),
        }
    }

    fn is_nothing(&self) -> bool {
        match &self.content {
            Content::Scalar { text, quoted, .. } => {
                !quoted && Meaning::of(text) == Meaning::Nothing
            }
            _ => false,
        }
    }
}

/// A mistake and its place within a text.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) mistake: Mistake,
    pub(crate) extent: Extent,
    pub(crate) field: Field,
}

/// A collection whose end has not been reached.
struct Open<'a> {
    extent: Extent,
    items: Items<'a>,
}

enum Items<'a> {
    Sequence(Vec<Node<'a>>),
    Mapping {
        entries: Vec<Entry<'a>>,
        key: Option<(Cow<'a, str>, Extent)>,
    },
}

/// Reads the only document of a text; `None` if there is nothing in it.
pub(crate) fn read<'a>(kind: &'static Kind, text: &'a str) -> Result<Option<Node<'a>>, Fault> {
    let mut builder = Builder {
        kind,
        open: Vec::new(),
        root: None,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let extent = Extent::of(error.marker(), 1);
            builder.fault(Mistake::syntax(error.info()), extent)
        })?;
        builder.take(event, span)?;
    }
    Ok(builder.root)
}

struct Builder<'a> {
    kind: &'static Kind,
    open: Vec<Open<'a>>,
    root: Option<Node<'a>>,
}

impl<'a> Builder<'a> {
    fn take(&mut self, event: Event<'a>, span: Span) -> Result<(), Fault> {
        let extent = Extent::from(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_decoration(anchor, tag.is_some(), extent)?;
                let content = Content::Scalar {
                    text,
                    quoted: style != ScalarStyle::Plain,
                    end: span.end.index(),
                };
                self.place(Node { extent, content })
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_decoration(anchor, tag.is_some(), extent)?;
                self.enter(extent, Items::Sequence(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_decoration(anchor, tag.is_some(), extent)?;
                let (entries, key) = (Vec::new(), None);
                self.enter(extent, Items::Mapping { entries, key })
            }
            Event::SequenceEnd | Event::MappingEnd => self.leave(),
            Event::Alias(_) => Err(self.refuse("an alias", extent)),
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(self.refuse("a second document", extent))
            }
            Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::StreamStart
            | Event::StreamEnd
            | Event::Nothing => Ok(()),
        }
    }

    fn refuse_decoration(&self, anchor: usize, tag: bool, extent: Extent) -> Result<(), Fault> {
        match (anchor, tag) {
            (0, false) => Ok(()),
            (0, true) => Err(self.refuse("a tag", extent)),
            _ => Err(self.refuse("an anchor", extent)),
        }
    }

    fn enter(&mut self, extent: Extent, items: Items<'a>) -> Result<(), Fault> {
        let innermost = self.open.last().map(|open| &open.items);
        if matches!(innermost, Some(Items::Mapping { key: None, .. })) {
            return Err(self.refuse("a key that is not text", extent));
        }
        if self.open.len() == MAXIMUM_DEPTH {
            return Err(self.refuse("such deep nesting", extent));
        }
        // The start of a collection spans its bracket at most; a caret there says enough.
        let extent = Extent {
            length: 1,
            ..extent
        };
        self.open.push(Open { extent, items });
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
    fn place(&mut self, node: Node<'a>) -> Result<(), Fault> {
        let is_nothing = node.is_nothing();
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(Items::Sequence(_)) if is_nothing => {
                return Err(self.fault(Mistake::no_value(true), node.extent));
            }
            Some(Items::Sequence(nodes)) => nodes.push(node),
            Some(Items::Mapping {
                key: Some((_, extent)),
                ..
            }) if is_nothing => {
                let extent = *extent;
                return Err(self.fault(Mistake::no_value(false), extent));
            }
            Some(Items::Mapping { entries, key }) => match (key.take(), node.content) {
                (Some((key, extent)), content) => entries.push(Entry {
                    key,
                    extent,
                    value: Node { content, ..node },
                }),
                (None, Content::Scalar { text, .. }) => {
                    let earlier = entries.iter().find(|entry| entry.key == text);
                    let earlier = earlier.map(|entry| entry.extent.line);
                    let mistake = earlier.map(|line| Mistake::duplicate_key(&text, Some(line)));
                    *key = Some((text, node.extent));
                    if let Some(mistake) = mistake {
                        return Err(self.fault(mistake, node.extent));
                    }
                }
                (None, _) => {}
            },
        }
        Ok(())
    }

    fn refuse(&self, feature: &str, extent: Extent) -> Fault {
        self.fault(Mistake::feature(self.kind, feature), extent)
    }

    fn fault(&self, mistake: Mistake, extent: Extent) -> Fault {
        let steps = self.open.iter().filter_map(|open| match &open.items {
            Items::Sequence(nodes) => Some(Step::Index(nodes.len())),
            Items::Mapping { key, .. } => {
                let (key, _) = key.as_ref()?;
                Some(Step::Key(key.clone().into_owned()))
            }
        });
        let field = steps.collect();
        Fault {
            mistake,
            extent,
            field,
        }
    }
}
