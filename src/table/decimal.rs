//! Decimal numbers times a power of ten, exactly.
//!
//! Files give times in microseconds, memory holds seconds. Multiplying would round; moving the
//! decimal point in the text does not, so what is written is read back as the same number.

/// Reads a decimal number times `10^power`; `None` if it is not one.
pub(crate) fn scaled(text: &str, power: i32) -> Option<f64> {
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

/// Writes a positive, finite number times `10^power` with the fewest digits that identify it;
/// without exponent where people would write none.
pub(crate) fn shifted(value: f64, power: i32) -> String {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{scaled, shifted};

    #[test]
    fn moves_the_point() {
        let cases = [
            (3.1e-7, "0.31"),
            (1e-6, "1"),
            (1.25e-6, "1.25"),
            (0.0105, "10500"),
            (0.010_532_5, "10532.5"),
            (2.5e-9, "0.0025"),
            (2.5e-13, "2.5e-7"),
            (1e9, "1e15"),
        ];
        for (seconds, text) in cases {
            assert_eq!(shifted(seconds, 6), text);
            assert_eq!(scaled(text, -6), Some(seconds), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_decimal() {
        for text in [
            "",
            "-",
            "inf",
            "nan",
            "1e",
            "1e99999999999",
            "0x10",
            "1_000",
            "1 2",
            "e5",
        ] {
            assert_eq!(scaled(text, -6), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn round_trip(value in prop::num::f64::POSITIVE | prop::num::f64::SUBNORMAL) {
            let value = value.abs();
            prop_assume!(value > 0.0 && value.is_finite());
            prop_assert_eq!(scaled(&shifted(value, 6), -6), Some(value));
        }
    }
}
