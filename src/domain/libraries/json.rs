//! JSON with the lines of its values, as lenient parsers of libraries accept it.

use std::collections::BTreeMap;
use std::ops::Range;

use printable::shortened;

/// The most characters of a text in a message.
const MOST_CHARACTERS: usize = 60;

/// Whether a text begins as an object does, maybe behind a byte order mark.
pub(crate) fn begins_like_object(text: &str) -> bool {
    let text_proper = text.strip_prefix('\u{feff}').unwrap_or(text);
    text_proper.trim_start().starts_with('{')
}

/// A value, the line where it begins, and its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonValue {
    pub(crate) line: usize,
    pub(crate) bytes: Range<usize>,
    pub(crate) content: JsonContent,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JsonContent {
    Object(Vec<JsonMember>),
    Array(Vec<JsonValue>),
    Text(String),
    /// A number without a fraction or an exponent.
    Integer(i64),
    /// Any other number, `true`, `false` and `null`, as it is written.
    Other(String),
}

/// A key of an object with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonMember {
    pub(crate) key: String,
    /// The line of the key with the value that counts.
    pub(crate) line: usize,
    pub(crate) value: JsonValue,
    /// The values that were given to the same key before, for parsers that keep the last one.
    pub(crate) replaced: Vec<ReplacedValue>,
}

/// A value that a later one replaces, with the line of its key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReplacedValue {
    pub(crate) line: usize,
    pub(crate) value: JsonValue,
}

/// A place where a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonFault {
    pub(crate) line: usize,
    /// What is wrong, as a clause.
    pub(crate) message: String,
}

/// What a parser accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonDialect {
    /// Comments, as in C and C++.
    pub(crate) comments: bool,
    /// Texts in single quotes.
    pub(crate) single_quotes: bool,
    /// Text behind the value.
    pub(crate) text_behind: bool,
    /// A byte order mark before the value.
    pub(crate) byte_order_mark: bool,
    /// Any character behind `\\`, which then stands for itself.
    pub(crate) any_escapes: bool,
    /// Whether a key that is given again stays at its first place and gets the last value; otherwise both are kept.
    pub(crate) replaces_values: bool,
    /// The deepest nesting.
    pub(crate) deepest: usize,
}

impl JsonMember {
    /// Replaces the value by that of a later member with the same key.
    fn replace_by(&mut self, later: Self) {
        let before = std::mem::replace(self, later);
        self.replaced = before.replaced;
        self.replaced.push(ReplacedValue {
            line: before.line,
            value: before.value,
        });
    }
}

impl JsonValue {
    /// The members of an object.
    pub(crate) fn members(&self) -> Option<&[JsonMember]> {
        match &self.content {
            JsonContent::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The first member with a key.
    pub(crate) fn member(&self, key: &str) -> Option<&JsonMember> {
        self.members()?.iter().find(|member| member.key == key)
    }

    /// The entries of an array.
    pub(crate) fn entries(&self) -> Option<&[JsonValue]> {
        match &self.content {
            JsonContent::Array(entries) => Some(entries),
            _ => None,
        }
    }
}

/// Parses a text; trailing commas are accepted in every dialect.
pub(crate) fn parse_json(text: &str, dialect: JsonDialect) -> Result<JsonValue, JsonFault> {
    let marked = text.strip_prefix('\u{feff}');
    let mut parser = JsonParser {
        length: text.len(),
        rest: marked.filter(|_| dialect.byte_order_mark).unwrap_or(text),
        line: 1,
        dialect,
    };
    let value = parser.parse_value(0)?;
    parser.skip_blanks()?;
    if parser.rest.is_empty() || dialect.text_behind {
        Ok(value)
    } else {
        Err(parser.fault("there is text behind the end"))
    }
}

struct JsonParser<'a> {
    /// The length of the whole text.
    length: usize,
    rest: &'a str,
    line: usize,
    dialect: JsonDialect,
}

impl<'a> JsonParser<'a> {
    fn fault(&self, message: impl Into<String>) -> JsonFault {
        JsonFault {
            line: self.line,
            message: message.into(),
        }
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.matches('\n').count();
        self.rest = rest;
        passed
    }

    fn skip_blanks(&mut self) -> Result<(), JsonFault> {
        loop {
            let blanks =
                self.rest.len() - self.rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.advance(blanks);
            let length = if self.rest.starts_with("//") {
                self.rest.find('\n').unwrap_or(self.rest.len())
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/");
                end.ok_or_else(|| self.fault("a comment does not end"))? + 2
            } else {
                return Ok(());
            };
            if !self.dialect.comments {
                return Err(self.fault("comments are not JSON"));
            }
            self.advance(length);
        }
    }

    fn take_char(&mut self, c: char) -> Result<bool, JsonFault> {
        self.skip_blanks()?;
        let is_there = self.rest.starts_with(c);
        if is_there {
            self.advance(c.len_utf8());
        }
        Ok(is_there)
    }

    fn parse_value(&mut self, depth: usize) -> Result<JsonValue, JsonFault> {
        self.skip_blanks()?;
        if depth > self.dialect.deepest {
            return Err(self.fault(format!(
                "it is nested more than {} levels deep",
                self.dialect.deepest
            )));
        }
        let line = self.line;
        let start = self.length - self.rest.len();
        let content = if self.take_char('{')? {
            JsonContent::Object(self.parse_members(depth)?)
        } else if self.take_char('[')? {
            JsonContent::Array(self.parse_entries(depth)?)
        } else if self.is_at_text() {
            JsonContent::Text(self.parse_text()?)
        } else {
            self.parse_word()?
        };
        let bytes = start..self.length - self.rest.len();
        Ok(JsonValue {
            line,
            bytes,
            content,
        })
    }

    fn parse_members(&mut self, depth: usize) -> Result<Vec<JsonMember>, JsonFault> {
        let mut members: Vec<JsonMember> = Vec::new();
        let mut place_of_key: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            if self.take_char('}')? {
                return Ok(members);
            }
            let line = self.line;
            if !self.is_at_text() {
                return Err(self.fault("a key in quotes is expected"));
            }
            let key = self.parse_text()?;
            if !self.take_char(':')? {
                return Err(self.fault(format!(
                    "`:` is missing after the key `{}`",
                    shortened(&key, MOST_CHARACTERS)
                )));
            }
            let value = self.parse_value(depth + 1)?;
            let member = JsonMember {
                key,
                line,
                value,
                replaced: Vec::new(),
            };
            let known = place_of_key.get(&member.key).copied();
            match known.and_then(|place| members.get_mut(place)) {
                Some(first) => first.replace_by(member),
                None => {
                    if self.dialect.replaces_values {
                        place_of_key.insert(member.key.clone(), members.len());
                    }
                    members.push(member);
                }
            }
            if !self.take_char(',')? {
                if self.take_char('}')? {
                    return Ok(members);
                }
                return Err(self.fault("`,` or `}` is missing"));
            }
        }
    }

    fn parse_entries(&mut self, depth: usize) -> Result<Vec<JsonValue>, JsonFault> {
        let mut entries = Vec::new();
        loop {
            if self.take_char(']')? {
                return Ok(entries);
            }
            entries.push(self.parse_value(depth + 1)?);
            if !self.take_char(',')? {
                if self.take_char(']')? {
                    return Ok(entries);
                }
                return Err(self.fault("`,` or `]` is missing"));
            }
        }
    }

    fn is_at_text(&self) -> bool {
        self.rest.starts_with('"') || (self.dialect.single_quotes && self.rest.starts_with('\''))
    }

    fn parse_text(&mut self) -> Result<String, JsonFault> {
        let quote = if self.rest.starts_with('"') {
            '"'
        } else {
            '\''
        };
        self.advance(1);
        let mut text = String::new();
        loop {
            let Some(c) = self.rest.chars().next() else {
                return Err(self.fault("a text does not end"));
            };
            self.advance(c.len_utf8());
            if c == quote {
                return Ok(text);
            }
            if c == '\\' {
                text.push(self.parse_escape()?);
            } else {
                text.push(c);
            }
        }
    }

    /// The character that an escape stands for, which begins behind `\\`.
    fn parse_escape(&mut self) -> Result<char, JsonFault> {
        let Some(escaped) = self.rest.chars().next() else {
            return Err(self.fault("a text does not end"));
        };
        self.advance(escaped.len_utf8());
        Ok(match escaped {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let unit = self.parse_unit()?;
                // Characters beyond 16 bits are written as two units.
                let is_first = (0xd800..0xdc00).contains(&unit);
                let mut pair = vec![unit];
                if is_first && self.rest.starts_with("\\u") {
                    let before = (self.rest, self.line);
                    self.advance("\\u".len());
                    let second = self.parse_unit()?;
                    if (0xdc00..0xe000).contains(&second) {
                        pair.push(second);
                    } else {
                        (self.rest, self.line) = before;
                    }
                }
                let decoded = char::decode_utf16(pair).next();
                let decoded = decoded.and_then(Result::ok);
                decoded.unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            '"' | '\\' | '/' => escaped,
            _ if self.dialect.any_escapes => escaped,
            _ => {
                return Err(self.fault(format!(
                    "`\\{}` is no escape in a text",
                    escaped.escape_default()
                )));
            }
        })
    }

    /// Four hexadecimal digits.
    fn parse_unit(&mut self) -> Result<u16, JsonFault> {
        let digits = self.rest.get(..4);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let Some(unit) = unit else {
            return Err(self.fault("`\\u` is not followed by four hexadecimal digits"));
        };
        self.advance(4);
        Ok(unit)
    }

    fn parse_word(&mut self) -> Result<JsonContent, JsonFault> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let length = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let word = &self.rest[..length];
        let digits = word.strip_prefix('-').unwrap_or(word);
        let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_whole && digits.starts_with('0') && digits != "0" {
            return Err(self.fault(format!(
                "`{}` begins with 0",
                shortened(word, MOST_CHARACTERS)
            )));
        }
        let content = match word.parse::<i64>() {
            Ok(number) if is_whole => JsonContent::Integer(number),
            _ if ["true", "false", "null"].contains(&word) => JsonContent::Other(word.to_owned()),
            _ if digits.starts_with(|c: char| c.is_ascii_digit())
                && word.parse::<f64>().is_ok() =>
            {
                JsonContent::Other(word.to_owned())
            }
            _ if word.is_empty() => return Err(self.fault("a value is missing")),
            _ => {
                return Err(self.fault(format!(
                    "`{}` is not a value",
                    shortened(word, MOST_CHARACTERS)
                )));
            }
        };
        self.advance(length);
        Ok(content)
    }
}
