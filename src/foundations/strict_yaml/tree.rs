//! A YAML document as a tree in which every value has its place.
//!
//! Scalars stay text; the reader of a field determines their meaning. Only a small part of YAML is allowed.

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};

use crate::Mistake;
use crate::error::{Error, Fault};
use crate::field::Step;
use crate::plain::Meaning;

/// The deepest nesting, which bounds the recursion of tree walks.
const MAXIMUM_DEPTH: usize = 16;

/// The largest number of separators between values. The parser keeps everything between two brackets, and takes about a
/// hundred times the memory of its text.
const MAXIMUM_VALUES: usize = 1 << 20;

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

    fn from_marker(mark: &Marker, length: usize) -> Self {
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
        Self::from_marker(&span.start, if one_line { span.len().max(1) } else { 1 })
    }
}

/// A value and its place.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) extent: Extent,
    pub(crate) content: Content<'a>,
}

/// The kinds of values.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// `end` is after its last character.
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
    /// The value under a step, and the place of its key.
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

    /// A description of the value.
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

    /// The node, or an error if it is null: the value of a key, or an entry of a list.
    fn refuse_nothing(self, key: Option<Extent>) -> Result<Self, Error> {
        match &self.content {
            Content::Scalar { text, quoted, .. }
                if !quoted && Meaning::of_unquoted(text) == Meaning::Nothing =>
            {
                let mistake = Mistake::no_value(key.is_none());
                Err(Error::from(mistake).with_extent(key.unwrap_or(self.extent)))
            }
            _ => Ok(self),
        }
    }
}

/// Reads the only document of a text; `None` if the text is empty.
pub(crate) fn read_tree(text: &str) -> Result<Option<Node<'_>>, Error> {
    let separators = text.bytes().filter(|byte| b",:[{\n".contains(byte));
    if separators.count() > MAXIMUM_VALUES {
        return Err(refuse_feature("such a number of values", Extent::START));
    }
    let mut reader = Reader(Parser::new_from_str(text), text);
    let mut root = None;
    loop {
        match reader.next_event()? {
            (Event::StreamEnd, _) => return Ok(root),
            (Event::DocumentStart(_), span) if root.is_some() => {
                return Err(refuse_feature("a second document", span.into()));
            }
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd, _) => {}
            (event, span) => root = Some(reader.read_node(event, span, 0)?),
        }
    }
}

/// The parser of a text, and the text.
struct Reader<'a>(Parser<'a, StrInput<'a>>, &'a str);

impl<'a> Reader<'a> {
    fn next_event(&mut self) -> Result<(Event<'a>, Span), Error> {
        let error = match self.0.next() {
            None => return Ok((Event::StreamEnd, Span::default())),
            Some(Ok((Event::Nothing, _))) => return self.next_event(),
            Some(Ok(next)) => return Ok(next),
            Some(Err(error)) => error,
        };
        let extent = Extent::from_marker(error.marker(), 1);
        let (mistake, extent) = match indenting_tab(self.1, extent.line) {
            Some(tab) => (Mistake::tab_indent(), tab),
            None => (Mistake::bad_syntax(error.info()), extent),
        };
        Err(Error::from(mistake).with_extent(extent))
    }

    /// The node that begins with an event, within `depth` others.
    fn read_node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node<'a>, Error> {
        let extent = Extent::from(span);
        // The start of a collection spans at most its bracket, which is enough for a caret.
        let bracket = Extent {
            length: 1,
            ..extent
        };
        let (extent, content) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                refuse_decoration(anchor, tag.is_some(), extent)?;
                let quoted = style != ScalarStyle::Plain;
                let end = span.end.index();
                (extent, Content::Scalar { text, quoted, end })
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if depth == MAXIMUM_DEPTH => {
                return Err(refuse_feature("such deep nesting", extent));
            }
            Event::SequenceStart(anchor, tag) => {
                refuse_decoration(anchor, tag.is_some(), extent)?;
                (bracket, Content::Sequence(self.read_items(depth + 1)?))
            }
            Event::MappingStart(anchor, tag) => {
                refuse_decoration(anchor, tag.is_some(), extent)?;
                (bracket, Content::Mapping(self.read_entries(depth + 1)?))
            }
            _ => return Err(refuse_feature("an alias", extent)),
        };
        Ok(Node { extent, content })
    }

    fn read_items(&mut self, depth: usize) -> Result<Vec<Node<'a>>, Error> {
        let mut items = Vec::new();
        loop {
            let item = match self.next_event() {
                Ok((Event::SequenceEnd, _)) => return Ok(items),
                Ok((event, span)) => self.read_node(event, span, depth),
                Err(error) => Err(error),
            };
            let item = item.and_then(|item| item.refuse_nothing(None));
            items.push(item.map_err(|error| error.under_step(Step::Index(items.len())))?);
        }
    }

    fn read_entries(&mut self, depth: usize) -> Result<Vec<Entry<'a>>, Error> {
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut lines: HashMap<Cow<'a, str>, usize> = HashMap::new();
        loop {
            let (key_event, key_span) = self.next_event()?;
            let (key, extent) = match key_event {
                Event::MappingEnd => return Ok(entries),
                Event::SequenceStart(..) | Event::MappingStart(..) => {
                    return Err(refuse_feature("a key that is not text", key_span.into()));
                }
                event => match self.read_node(event, key_span, depth)? {
                    Node {
                        content: Content::Scalar { text, .. },
                        extent,
                    } => (text, extent),
                    Node { extent, .. } => {
                        return Err(refuse_feature("a key that is not text", extent));
                    }
                },
            };
            let under = |error: Error| error.under_step(Step::Key(key.clone().into_owned()));
            if let Some(earlier) = lines.insert(key.clone(), extent.line) {
                let mistake = Mistake::duplicate_key(&key, Some(earlier));
                return Err(under(Error::from(mistake).with_extent(extent)));
            }
            let value = self.next_event();
            let value = value.and_then(|(event, span)| self.read_node(event, span, depth));
            let value = value.and_then(|value| value.refuse_nothing(Some(extent)));
            let value = value.map_err(under)?;
            entries.push(Entry { key, extent, value });
        }
    }
}

/// The first tab in the indentation of this line or the next: the parser may stop before the line with the tab.
fn indenting_tab(source: &str, first_line: usize) -> Option<Extent> {
    let lines = source
        .lines()
        .zip(1..)
        .skip(first_line.saturating_sub(1))
        .take(2);
    let mut tabs = lines.filter_map(|(text, line)| {
        let before = text.find(|c| c != ' ')?;
        let column = before + 1;
        text[before..].starts_with('\t').then_some(Extent {
            line,
            column,
            ..Extent::START
        })
    });
    tabs.next()
}

fn refuse_feature(feature: &'static str, extent: Extent) -> Error {
    Error::new(Fault::Feature(feature)).with_extent(extent)
}

fn refuse_decoration(anchor: usize, tag: bool, extent: Extent) -> Result<(), Error> {
    match (anchor, tag) {
        (0, false) => Ok(()),
        (0, true) => Err(refuse_feature("a tag", extent)),
        _ => Err(refuse_feature("an anchor", extent)),
    }
}
