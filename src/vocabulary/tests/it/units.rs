//! Sizes and durations as people write them.

use vocabulary::units::{
    format_bytes, format_count, format_seconds, parse_byte_range, parse_bytes, parse_seconds,
};

#[test]
fn thousands_are_set_apart() {
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
fn times_have_three_digits_and_the_unit_that_fits() {
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
fn what_is_no_size_or_duration_is_refused() {
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
fn sizes_survive_being_written_and_read() {
    for bytes in [0, 1, 1000, 1024, 65536, 3 << 20, u64::MAX] {
        assert_eq!(parse_bytes(&format_bytes(bytes)), Ok(bytes));
    }
}
