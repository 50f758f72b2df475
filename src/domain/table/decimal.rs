//! Exact multiplication of decimal numbers by powers of ten.
//!
//! Files give times in microseconds, memory holds seconds. Multiplying would round. Moving the decimal point in the
//! text does not, so written numbers are read back unchanged.

/// Reads a decimal number times `10^power`; `None` if the text is not a number.
pub(crate) fn parse_scaled(text: &str, power: i32) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    if !mantissa
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b'.' || b == b'-')
    {
        return None;
    }
    let exponent = exponent.parse::<i32>().ok()?.checked_add(power)?;
    format!("{mantissa}e{exponent}").parse().ok()
}

/// Writes a positive, finite number times `10^power` with the fewest digits that identify it, and with an exponent only
/// for very large or small numbers.
pub(crate) fn format_scaled(value: f64, power: i32) -> String {
    let text = format!("{value:e}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent = exponent.parse::<i32>().unwrap_or(0).saturating_add(power);
    match usize::try_from(exponent) {
        Ok(zeros) if zeros <= 12 => {
            let whole = zeros + 1;
            if digits.len() <= whole {
                format!("{digits:0<whole$}")
            } else {
                format!("{}.{}", &digits[..whole], &digits[whole..])
            }
        }
        Err(_) if exponent >= -4 => {
            let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
            format!("0.{zeros}{digits}")
        }
        _ => format!("{mantissa}e{exponent}"),
    }
}
