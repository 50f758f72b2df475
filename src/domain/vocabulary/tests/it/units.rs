//! Sizes and durations as people write them.

use vocabulary::bounds::{BYTES, DURATION};
use vocabulary::units::{
    format_bytes, format_count, format_seconds, parse_byte_range, parse_bytes, parse_seconds,
};

#[test]
fn thousands_are_separated() {
    for (number, text) in [
        (0, "0"),
        (999, "999"),
        (1000, "1 000"),
        (1_234_567, "1 234 567"),
    ] {
        assert_eq!(format_count(number), text);
    }
}

#[test]
fn times_have_three_digits_and_a_suitable_unit() {
    let check = |seconds: f64, text: &str| assert_eq!(format_seconds(seconds), text);
    check(0.0, "0.00 ns");
    check(340e-9, "340 ns");
    check(999.7e-9, "1.00 us");
    check(1.254e-6, "1.25 us");
    check(99.96e-6, "100 us");
    check(0.9999, "1.00 s");
    check(-2.1, "-2.10 s");
}

#[test]
fn texts_that_are_no_size_or_duration_are_refused() {
    for text in [
        "",
        "K",
        "8 apples",
        "-1",
        "1.5K",
        "8iB",
        "99999999999999999999",
        "16777216T",
    ] {
        assert!(parse_bytes(text).is_err(), "{text}");
    }
    for text in ["0..8", "8..4", "8..16 x1", "8..16 xx", "a..b"] {
        assert!(parse_byte_range(text).is_err(), "{text}");
    }
    for text in ["", "5", "m", "1x", "1m2", "s5"] {
        assert!(parse_seconds(text).is_err(), "{text}");
    }
    assert_eq!(parse_seconds("3 days"), Ok(259_200.0));
    assert_eq!(parse_seconds("500ms"), Ok(0.5));
}

#[test]
fn impossible_sizes_and_durations_are_refused_with_the_range() {
    let sizes = [
        "1025T",
        "1125899906842625",
        "18446744073709551615",
        "18446744073709551616",
    ];
    for text in sizes {
        let error = parse_bytes(text).expect_err(text).to_string();
        assert_eq!(error, format!("`{text}` is not {BYTES}"));
    }
    assert_eq!(
        BYTES.to_string(),
        "a size from 0 to 1024T (no machine has more memory)"
    );
    let nines = format!("{}s", "9".repeat(400));
    for text in ["0s", "0.0001ms", "367d", "18446744073709551615s", &nines] {
        let error = parse_seconds(text).expect_err(text).to_string();
        assert_eq!(error, format!("`{text}` is not {DURATION}"));
    }
    assert_eq!(
        DURATION.to_string(),
        "a duration from 1.00 us to 366 days (no campaign takes longer)"
    );
    assert_eq!(parse_seconds("366 days"), Ok(366.0 * 86400.0));
    assert_eq!(parse_seconds("0.001ms"), Ok(1e-6));
}

#[test]
fn sizes_are_unchanged_after_writing_and_reading() {
    for bytes in [0, 1, 1000, 1024, 65536, 3 << 20, BYTES.largest_value()] {
        assert_eq!(parse_bytes(&format_bytes(bytes)), Ok(bytes));
    }
}
