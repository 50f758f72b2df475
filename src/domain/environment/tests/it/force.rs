//! The differences despite which a table is used.

use std::ffi::OsStr;

use environment::force::Force;

fn of(value: &str) -> Option<Force> {
    Force::from_value(Some(OsStr::new(value)))
}

#[test]
fn a_value_names_differences() {
    let cpu = Force {
        cpu: true,
        ..Force::NONE
    };
    let networks = Force {
        networks: true,
        ..Force::NONE
    };
    let library = Force {
        library: true,
        version: true,
        ..Force::NONE
    };
    let version = Force {
        version: true,
        ..Force::NONE
    };
    let nonblocking = Force {
        nonblocking: true,
        ..Force::NONE
    };
    let all_and_progress = Force {
        nonblocking: true,
        progress: true,
        ..Force::ALL
    };
    assert_eq!(Force::from_value(None), Some(Force::NONE));
    for (value, expected) in [
        ("0", Force::NONE),
        ("1", Force::ALL),
        ("yes", Force::ALL),
        ("cpu", cpu),
        ("library", library),
        ("version", version),
        ("version, library", library),
        ("networks", networks),
        ("library,cpu,networks,accelerators", Force::ALL),
        ("nonblocking", nonblocking),
        ("progress,nonblocking,1", all_and_progress),
    ] {
        assert_eq!(of(value), Some(expected), "{value}");
        assert_eq!(of(&expected.to_string()), Some(expected), "{value}");
    }
    // A typing error has no silent effect.
    for value in ["cpus", "network", "2", "cpu;version", "CPU"] {
        assert_eq!(of(value), None, "{value}");
    }
    let all = [
        Force::NONE,
        Force::ALL,
        cpu,
        networks,
        library,
        version,
        nonblocking,
        all_and_progress,
    ];
    let bits: std::collections::BTreeSet<u64> = all.map(Force::difference_bits).into();
    assert_eq!(bits.len(), all.len());
}
