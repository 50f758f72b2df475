//! The tree of a selection file: nested objects whose keys are conditions, in order.

use crate::ExportError;

/// A condition, and the nodes that apply if it is the first of its siblings that holds. A leaf, `algorithm=...`, has
/// its parameters below it, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// The condition, as in `comm_size<=7`.
    pub key: String,
    /// The nodes to search next, in this order.
    pub below: Vec<TreeNode>,
}

impl TreeNode {
    /// A condition.
    pub fn new(key: impl Into<String>, below: Vec<Self>) -> Self {
        Self {
            key: key.into(),
            below,
        }
    }

    /// An algorithm by its full name.
    pub(super) fn for_algorithm(name: &str) -> Self {
        Self::new(format!("algorithm={name}"), Vec::new())
    }

    /// The name of the algorithm, if this is a leaf.
    pub fn as_algorithm(&self) -> Option<&str> {
        self.key.strip_prefix("algorithm=")
    }
}

/// The deepest nesting of a selection file.
const DEEPEST: usize = 64;

/// Reads nested objects without arrays, numbers or values of other kinds.
///
/// # Errors
/// [`ExportError::Invalid`] with the line, for anything else and for keys that are given twice.
pub(super) fn parse_selection(text: &str) -> Result<Vec<TreeNode>, ExportError> {
    let mut parser = Parser {
        rest: text,
        line: 1,
    };
    let nodes = parser.parse_object(0)?;
    parser.skip_blanks();
    if parser.rest.is_empty() {
        Ok(nodes)
    } else {
        Err(parser.fault("there is text after the end"))
    }
}

struct Parser<'a> {
    rest: &'a str,
    line: usize,
}

impl Parser<'_> {
    fn parse_object(&mut self, depth: usize) -> Result<Vec<TreeNode>, ExportError> {
        if depth > DEEPEST {
            return Err(self.fault("nested too deeply"));
        }
        self.expect_char('{')?;
        let mut nodes: Vec<TreeNode> = Vec::new();
        self.skip_blanks();
        if self.take_char('}') {
            return Ok(nodes);
        }
        loop {
            let key = self.parse_key()?;
            if nodes.iter().any(|node| node.key == key) {
                return Err(self.fault(&format!("`{key}` is given twice")));
            }
            self.expect_char(':')?;
            let below = self.parse_object(depth + 1)?;
            nodes.push(TreeNode { key, below });
            self.skip_blanks();
            if self.take_char('}') {
                return Ok(nodes);
            }
            self.expect_char(',')?;
        }
    }

    fn parse_key(&mut self) -> Result<String, ExportError> {
        self.expect_char('"')?;
        let plain = |c: char| matches!(c, '!' | '#'..='[' | ']'..='~');
        let end = self.rest.find(|c| !plain(c)).unwrap_or(self.rest.len());
        let key = self.rest[..end].to_owned();
        self.rest = &self.rest[end..];
        if self.take_char('"') && !key.is_empty() {
            Ok(key)
        } else {
            Err(self.fault("a key has characters other than letters, digits and signs"))
        }
    }

    fn expect_char(&mut self, c: char) -> Result<(), ExportError> {
        self.skip_blanks();
        if self.take_char(c) {
            Ok(())
        } else {
            Err(self.fault(&format!("`{c}` is missing")))
        }
    }

    fn take_char(&mut self, c: char) -> bool {
        let after = self.rest.strip_prefix(c);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let skipped = &self.rest[..self.rest.len() - rest.len()];
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }

    fn fault(&self, message: &str) -> ExportError {
        ExportError::invalid(self.line, message)
    }
}

/// The text of a tree, one condition per line.
pub(super) fn to_text(nodes: &[TreeNode]) -> String {
    let mut text = String::new();
    write_object(nodes, 0, &mut text);
    text + "\n"
}

fn write_object(nodes: &[TreeNode], depth: usize, text: &mut String) {
    if nodes.is_empty() {
        text.push_str("{}");
        return;
    }
    text.push_str("{\n");
    for (node, place) in nodes.iter().zip(1..) {
        text.push_str(&" ".repeat(depth + 1));
        text.push_str(&format!("\"{}\": ", node.key));
        write_object(&node.below, depth + 1, text);
        text.push_str(if place == nodes.len() { "\n" } else { ",\n" });
    }
    text.push_str(&" ".repeat(depth));
    text.push('}');
}
