//! The reader of the table in a header.

use crate::ExportError;

/// The content of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether the nearest shape stands in for a shape that the header does not have.
    pub extrapolate: bool,
    /// Its rules.
    pub rows: Vec<HeaderRow>,
}

/// The constant for extrapolation.
pub(super) const EXTRAPOLATE: &str = "COLLTUNE_EXTRAPOLATE";

/// A rule in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderRow {
    /// The constant of its collective.
    pub collective: String,
    /// Nodes of its shape.
    pub nodes: u32,
    /// Ranks on each node.
    pub ppn: u32,
    /// The order of ranks: block 1, cyclic 2, another 3; 0 if unknown or without meaning.
    pub order: u32,
    /// Commutative operators 1, others 2.
    pub operators: u32,
    /// 1 for colltune, 2 for the library's own settings; 4 if only for exactly this shape.
    pub deployments: u32,
    /// The smallest size that it holds for.
    pub from_bytes: u64,
    /// The full name of its candidate.
    pub candidate: String,
}

/// Reads a header.
///
/// # Errors
/// [`ExportError::Invalid`] with the line of a row that this crate would not write, or if the header has no valid
/// constant for extrapolation.
pub fn read_header(text: &str) -> Result<Header, ExportError> {
    let says = |value: u32| text.contains(&format!("\nenum {{ {EXTRAPOLATE} = {value} }};\n"));
    let extrapolate = match [says(0), says(1)] {
        [true, false] => false,
        [false, true] => true,
        _ => {
            let message = format!("{EXTRAPOLATE} is not 0 or 1");
            return Err(ExportError::invalid(1, message));
        }
    };
    let choices = read_array(text, "colltune_choices[]")?;
    let entries = read_array(text, "colltune_entries[]")?;
    let mut rows = Vec::new();
    for (line, fields) in entries {
        let [
            collective,
            nodes,
            ppn,
            order,
            operators,
            deployments,
            first,
            count,
        ] = &fields[..]
        else {
            return Err(ExportError::invalid(line, "an entry has 8 fields"));
        };
        let number = |digits: &str| {
            digits
                .parse::<u32>()
                .map_err(|_| ExportError::invalid(line, "not a number"))
        };
        let first = number(first)? as usize;
        let of_entry = choices.get(first..first + number(count)? as usize);
        for (choice_line, choice_fields) in
            of_entry.ok_or_else(|| ExportError::invalid(line, "its choices are missing"))?
        {
            let [from, candidate, ..] = &choice_fields[..] else {
                return Err(ExportError::invalid(*choice_line, "a choice has 10 fields"));
            };
            let from = from
                .strip_prefix("UINT64_C(")
                .and_then(|f| f.strip_suffix(')'));
            let from = from.and_then(|from| from.parse().ok());
            rows.push(HeaderRow {
                collective: collective.clone(),
                nodes: number(nodes)?,
                ppn: number(ppn)?,
                order: number(order)?,
                operators: number(operators)?,
                deployments: number(deployments)?,
                from_bytes: from.ok_or_else(|| ExportError::invalid(*choice_line, "not a size"))?,
                candidate: parse_string_literal(candidate)
                    .ok_or_else(|| ExportError::invalid(*choice_line, "not a string"))?,
            });
        }
    }
    Ok(Header { extrapolate, rows })
}

/// The rows of an array without its terminating row, each with its line and its fields.
fn read_array(text: &str, name: &str) -> Result<Vec<(usize, Vec<String>)>, ExportError> {
    let mut lines = text.lines().zip(1..);
    let begins = |(line, _): &(&str, usize)| line.ends_with(&format!("{name} = {{"));
    if !lines.by_ref().any(|line| begins(&line)) {
        return Err(ExportError::invalid(1, format!("there is no {name}")));
    }
    let mut rows = Vec::new();
    for (line, number) in lines {
        let row = line.trim().strip_prefix('{');
        let row = row.and_then(|row| row.strip_suffix("},").or(row.strip_suffix('}')));
        match row {
            Some(row) if row.starts_with("0, 0, 0") => return Ok(rows),
            Some(row) => rows.push((number, split_fields(row))),
            None => return Err(ExportError::invalid(number, format!("no row of {name}"))),
        }
    }
    Err(ExportError::invalid(1, format!("{name} does not end")))
}

/// Splits a row at the commas outside strings.
fn split_fields(row: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut in_string = false;
    for c in row.chars() {
        in_string ^= c == '"';
        match (c, in_string, fields.last_mut()) {
            (',', false, _) => fields.push(String::new()),
            (' ', false, _) => {}
            (c, _, Some(field)) => field.push(c),
            _ => {}
        }
    }
    fields
}

fn parse_string_literal(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::new();
    while let Some(place) = rest.find('\\') {
        bytes.extend(rest[..place].bytes());
        let octal = rest.get(place + 1..place + 4)?;
        bytes.push(u8::from_str_radix(octal, 8).ok()?);
        rest = &rest[place + 4..];
    }
    bytes.extend(rest.bytes());
    String::from_utf8(bytes).ok()
}
