//! The meaning of unquoted scalars in YAML.

/// The meaning of an unquoted scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    Nothing,
    Truth(bool),
    Whole(u64),
    Negative(i64),
    Fraction(f64),
    Text,
}

impl Meaning {
    /// The meaning by YAML's core schema.
    pub(crate) fn of_unquoted(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Nothing,
            "true" | "True" | "TRUE" => return Self::Truth(true),
            "false" | "False" | "FALSE" => return Self::Truth(false),
            ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
                return Self::Fraction(f64::INFINITY);
            }
            "-.inf" | "-.Inf" | "-.INF" => return Self::Fraction(f64::NEG_INFINITY),
            ".nan" | ".NaN" | ".NAN" => return Self::Fraction(f64::NAN),
            _ => {}
        }
        let negative = text.starts_with('-');
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Self::Text;
        }
        // `007` may be decimal or octal.
        let has_leading_zero = digits.len() > 1 && digits.starts_with('0');
        if has_leading_zero && digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Self::Text;
        }
        match (parse_whole(digits), negative) {
            (Some(number), false) => return Self::Whole(number),
            (Some(number), true) => {
                if let Some(number) = 0_i64.checked_sub_unsigned(number) {
                    return Self::Negative(number);
                }
            }
            (None, _) => {}
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Self::Fraction(number),
            _ => Self::Text,
        }
    }
}

fn parse_whole(digits: &str) -> Option<u64> {
    let radices = [("0x", 16), ("0o", 8), ("0b", 2)];
    for (prefix, radix) in radices {
        if let Some(digits) = digits.strip_prefix(prefix) {
            let is_signed = digits.starts_with(['+', '-']);
            return u64::from_str_radix(digits, radix)
                .ok()
                .filter(|_| !is_signed);
        }
    }
    digits.parse().ok()
}
