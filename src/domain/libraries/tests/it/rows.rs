//! The rows of rules files for `tuned` that count.

use libraries::{ExaminedRelease, FileRules, SteeringFormat, find_library};

fn release(version: &str) -> ExaminedRelease<'_> {
    ExaminedRelease {
        version,
        variables: None,
        assume_commutative: true,
    }
}

fn rules_format() -> &'static SteeringFormat {
    let library = find_library("openmpi").expect("known");
    let mut formats = library.steering_formats().iter();
    formats
        .find(|format| format.name == "openmpi")
        .expect("known")
}

fn rules_of(version: &str, text: &str) -> FileRules {
    let read = rules_format().read_rules.expect("readable");
    read(&release(version), text).expect("in force")
}

/// The lines of rules with their first and last sizes.
fn lines_and_sizes(version: &str, text: &str) -> Vec<(usize, [u64; 2])> {
    let rules = rules_of(version, text).rules.into_iter();
    rules.map(|rule| (rule.line, rule.bytes)).collect()
}

#[test]
fn of_two_rows_for_no_bytes_the_last_counts_before_6_and_the_first_for_all_sizes_from_6_on() {
    let rows = "1\n7 1 4 3\n0 6 0 0\n0 5 0 0\n8192 9 0 0\n";
    let last = [(4, [0, 8191]), (5, [8192, u64::MAX])];
    assert_eq!(lines_and_sizes("4.1.4", rows), last);
    assert_eq!(lines_and_sizes("5.0.10", rows), last);
    assert_eq!(lines_and_sizes("6.0.0", rows), [(3, [0, u64::MAX])]);
    let behind = "1\n7 1 4 4\n0 6 0 0\n1024 5 0 0\n0 4 0 0\n512 9 0 0\n";
    let from_6 = [(3, [0, 1023]), (4, [1024, u64::MAX])];
    assert_eq!(lines_and_sizes("6.0.0", behind), from_6);
    let barrier = "1\n6 1 4 3\n0 1 0 0\n0 4 0 0\n9 3 0 0\n";
    assert_eq!(lines_and_sizes("4.1.4", barrier), [(4, [0, u64::MAX])]);
    assert_eq!(lines_and_sizes("6.0.0", barrier), [(3, [0, u64::MAX])]);
    let faults = |version: &str, text: &str| -> Vec<(Option<usize>, &str)> {
        let found = (rules_format().examine)(&release(version), text);
        let faults = found.all.iter().filter(|finding| finding.kind.is_fault());
        faults
            .map(|finding| (finding.line, finding.kind.id()))
            .collect()
    };
    assert_eq!(faults("4.1.4", rows), [(Some(3), "unreachable")]);
    let hidden = [(Some(4), "unreachable"), (Some(5), "unreachable")];
    assert_eq!(faults("6.0.0", rows), hidden);
    assert_eq!(faults("6.0.0", barrier), hidden);
}
