//! Files that are no profiles.

use profile::{CallCost, Profile};

use crate::made::{allreduce, of_calls, seconds};

/// A file, in which each shape has a line.
fn file() -> String {
    let tally = |calls| CallCost {
        calls,
        time: seconds(calls),
        longest: seconds(1),
        sampled_calls: 1,
        sampled: seconds(1),
        ..CallCost::default()
    };
    of_calls("a1", [(allreduce(8), tally(2)), (allreduce(64), tally(3))]).to_json()
}

/// Checks that the error of a text begins like this.
#[track_caller]
fn check(text: &str, expected: &str) {
    let error = Profile::from_json(text)
        .expect_err("no profile")
        .to_string();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn an_error_names_the_place() {
    let whole = file();
    assert!(Profile::from_json(&whole).is_ok(), "{whole}");
    check(
        "",
        "line 1, column 0: the file ends in the middle of the profile",
    );
    check("[]", "the key `format` is not `colltune-profile`");
    check("{\"a\": 1", "line 1, column 7: the file ends in the middle");
    check("# of mine\n", "line 1, column 1: expected value");
    check("{}", "the key `format` is not `colltune-profile`");
    check(
        &whole.replace("\"version\": 1", "\"version\": 2"),
        "version 2 of the format, of which this colltune knows 1",
    );
    check(&whole.replace("\"bytes\"", "\"octets\""), "line 8, column ");
    check(
        &whole.replacen("\"calls\":2", "\"calls\":-2", 1),
        "line 8, column ",
    );
    check(
        &whole.replacen("\"seconds\":3.0", "\"seconds\":1e300", 1),
        "line 9, column ",
    );
    check(
        &whole.replacen("\"sampled_calls\":1", "\"sampled_calls\":3", 1),
        "calls[0].cost.sampled_calls: more than all calls",
    );
    check(
        &whole.replacen("\"waiting_seconds\":0.0", "\"waiting_seconds\":1.5", 2),
        "calls[0].cost.waiting_seconds: more than the time in the sampled calls",
    );
    check(
        &whole.replace("\"bytes\":64,", "\"bytes\":8,"),
        "calls[1].call: the same shape",
    );
}

#[test]
fn a_file_that_ends_early_says_so_wherever_it_ends() {
    let whole = file();
    let end = whole.trim_end().len();
    for length in 0..end {
        let error = Profile::from_json(&whole[..length]).expect_err("no profile");
        let text = error.to_string();
        assert!(
            text.contains("the file ends in the middle"),
            "{length}: {text}"
        );
    }
}
