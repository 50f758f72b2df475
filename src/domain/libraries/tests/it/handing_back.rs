//! Lines handed back to the library, byte for byte, and the rows that count.

use std::collections::BTreeSet;

use libraries::{ExaminedRelease, FileRules, SteeringFormat, find_library, hand_back_lines};

fn release(version: &str) -> ExaminedRelease<'_> {
    ExaminedRelease {
        version,
        variables: None,
        assume_commutative: true,
    }
}

fn format_of(name: &str) -> &'static SteeringFormat {
    let library = find_library("openmpi").expect("known");
    let mut formats = library.steering_formats().iter();
    formats.find(|format| format.name == name).expect("known")
}

fn rules_of(version: &str, text: &str) -> FileRules {
    let read = format_of("openmpi").read_rules.expect("readable");
    read(&release(version), text).expect("in force")
}

/// The file with these lines handed back; `None` if that cannot be done.
fn handed_back(format: &str, version: &str, file: &[u8], lines: &[usize]) -> Option<Vec<u8>> {
    let lines: BTreeSet<usize> = lines.iter().copied().collect();
    hand_back_lines(file, format_of(format), &release(version), &lines)
}

const CLASSIC: &[u8] =
    b"# R\xe8gles de 2014\r\n1\t# collectives\r\n7 # bcast\r\n1\r\n64 3 # ranks, rows\r\n\
    0  6  0  0   # short\r\n4096   5 0 65536  # 5 is the binary tree\r\n1048576 9 0 0\r\n# end";

#[test]
fn only_the_algorithms_of_the_lines_change() {
    let found = handed_back("openmpi", "4.1.4", CLASSIC, &[7]).expect("a file");
    let before = b"4096   5 0 65536  # 5";
    let place = CLASSIC
        .windows(before.len())
        .position(|part| part == before)
        .expect("the row");
    let mut expected = CLASSIC.to_vec();
    expected[place + 7] = b'0';
    assert_eq!(found, expected);
    let none = handed_back("openmpi", "4.1.4", CLASSIC, &[]).expect("a file");
    assert_eq!(none, CLASSIC);
    // What is handed back is nothing to correct.
    let text = String::from_utf8_lossy(&found);
    let examined = (format_of("openmpi").examine)(&release("4.1.4"), &text);
    assert!(!examined.has_faults(), "{examined:?}");
    let all = handed_back("openmpi", "4.1.4", CLASSIC, &[6, 7, 8]).expect("a file");
    let left = rules_of("4.1.4", &String::from_utf8_lossy(&all));
    assert!(left.rules.iter().all(|rule| rule.choice.is_none()));
}

#[test]
fn the_fifth_column_and_json_are_kept() {
    let second = b"rule-file-version-2\n1\n3 1 4 2\n0 2 0 0 7\n512 4 0 0 16 # requests\n";
    let found = handed_back("openmpi", "5.0.7", second, &[5]).expect("a file");
    let expected = b"rule-file-version-2\n1\n3 1 4 2\n0 2 0 0 7\n512 0 0 0 16 # requests\n";
    assert_eq!(found, expected);
    let json = "\u{feff}{\"module\": \"tuned\", \"collectives\": {\"bcast\": [{\"comm_size_min\": 2,\n\
        \"rules\": [\n  {\"msg_size_max\": 99, \"alg\" : 6},\n  {\"alg\" : \"chain\", \"faninout\": 2, }]}]}}\n";
    let changes = [
        (4, "\"chain\"", "\"ignore\""),
        (3, "\"alg\" : 6", "\"alg\" : \"ignore\""),
    ];
    for (line, before, after) in changes {
        let written = handed_back("openmpi-json", "6.0.0", json.as_bytes(), &[line]);
        let text = String::from_utf8(written.expect("a file")).expect("text");
        assert_eq!(text, json.replace(before, after));
    }
}

/// Before `x1` a 0 would begin a hexadecimal number.
#[test]
fn a_line_is_left_alone_if_others_would_be_read_otherwise() {
    let odd = b"1\n7 1 4 1\n0 5x1 0 0\n";
    assert_eq!(handed_back("openmpi", "4.1.4", odd, &[3]), None);
    assert_eq!(
        handed_back("openmpi-parameters", "4.1.4", b"a = 1\n", &[1]),
        None
    );
}
