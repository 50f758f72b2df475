//! Detection of expressions that are too long for the template engine.

/// The most operators of an expression. The engine recurses once per operator, without a limit.
pub(super) const MOST_OPERATORS: usize = 200;

/// The line of the first expression or statement of a template with too many operators; `None` if none has.
///
/// Strings are skipped. The end of a tag is found as by the engine: not in a string, and not in brackets.
pub(super) fn too_long(template: &str) -> Option<usize> {
    let mut rest = template;
    while let Some(start) = ["{{", "{%", "{#"]
        .iter()
        .filter_map(|tag| rest.find(tag))
        .min()
    {
        let line = 1 + template[..template.len() - rest.len() + start]
            .matches('\n')
            .count();
        let (tag, inside) = rest[start..].split_at(2);
        if tag == "{#" {
            rest = inside.split_once("#}")?.1;
            continue;
        }
        if let Some(raw) = behind_tag(inside, "raw").filter(|_| tag == "{%") {
            let mut tags = raw.match_indices("{%");
            rest = tags.find_map(|(at, _)| behind_tag(&raw[at + 2..], "endraw"))?;
            continue;
        }
        let end = if tag == "{{" { "}}" } else { "%}" };
        let content = count_operators_until(inside, end);
        if content.operators > MOST_OPERATORS {
            return Some(line);
        }
        rest = &inside[content.length..];
    }
    None
}

/// The text after `{% NAME %}`, in a text that begins after its `{%`; `None` if it is another tag.
fn behind_tag<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let trimmed = |part: &'t str| part.strip_prefix(['-', '+']).unwrap_or(part);
    let rest = trimmed(text).trim_ascii_start().strip_prefix(name)?;
    trimmed(rest.trim_ascii_start()).strip_prefix("%}")
}

/// What is between the two ends of a tag.
struct TagInside {
    operators: usize,
    /// Its length in bytes.
    length: usize,
}

/// Counts the operators up to a tag's end.
fn count_operators_until(text: &str, end: &str) -> TagInside {
    let (mut operators, mut open) = (0, 0_usize);
    let mut word = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        // A word ends here; some are operators.
        if ["not", "and", "or", "if", "in", "is"].contains(&word.as_str()) {
            operators += 1;
        }
        word.clear();
        match c {
            // An end within brackets is that of an expression, not of the tag.
            _ if open == 0 && text[at..].starts_with(end) => {
                return TagInside {
                    operators,
                    length: at,
                };
            }
            // Nothing in a text is an operator.
            '"' | '\'' => {
                let mut is_escaped = false;
                let _ = chars.find(|(_, other)| {
                    let ends = *other == c && !is_escaped;
                    is_escaped = *other == '\\' && !is_escaped;
                    ends
                });
                continue;
            }
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => {
                open = open.saturating_sub(1);
                continue;
            }
            ',' | ':' => continue,
            _ if c.is_whitespace() => continue,
            _ => {}
        }
        // Every other sign counts as one, also if it is part of a longer operator.
        operators += 1;
    }
    TagInside {
        operators,
        length: text.len(),
    }
}
