//! JUnit XML for continuous integration, with a test case for each point.

use std::collections::BTreeMap;

use guard::{CheckedPoint, Point, ProgramVerdict};
use printable::Plain;
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::super::guarded::{place_name, point_name, point_rules, seconds_or_dash};
use super::super::program::ProgramResults;
use super::CheckResults;

/// One suite, in which regressions are failures and points that were not decided are skipped. Its property `verdict` is
/// the sentence that says whether the table holds.
///
/// Names contain neither the choice nor sizes that were drawn at random, so that the history of a test goes on when the
/// table or the seed changes; the properties of a case have them. All points are measured in the same launches, so the
/// time of a case is an equal share of the time that the check took.
pub(super) fn render_suite(found: &CheckResults<'_>) -> Result<String, SerializeError> {
    let suite_name = format!("colltune check {}", found.table.display());
    let mut suite = TestSuite::new(suite_name.as_str());
    let points = &found.outcome.checked.points;
    let skipped = points.len() - found.outcome.checked.count_decided();
    suite
        .extra
        .insert("skipped".into(), skipped.to_string().into());
    suite.add_property(("verdict", found.verdict_sentence().as_str()));
    suite.set_time(found.outcome.took);
    let share = found.outcome.took / u32::try_from(points.len().max(1)).unwrap_or(u32::MAX);
    let names = names_of_points(points.iter().map(|checked| &checked.point));
    for (checked, name) in points.iter().zip(names) {
        let point = &checked.point;
        let mut case = TestCase::new(name, case_status(checked));
        case.set_classname(format!("{}.{}", found.library, point.cell.collective));
        case.set_time(share);
        let chosen = point.chosen.to_string();
        let bytes = point.cell.bytes.to_string();
        let (seconds, default) = (
            seconds_or_dash(checked.seconds),
            seconds_or_dash(checked.default_seconds),
        );
        for (property, value) in [
            ("chosen", chosen),
            ("bytes", bytes),
            ("time", seconds),
            ("default_time", default),
        ] {
            case.add_property((property, value.as_str()));
        }
        suite.add_test_case(case);
    }
    let mut report = Report::new(suite_name);
    report.set_time(found.outcome.took);
    report.add_test_suite(suite);
    Ok(Plain(report.to_string()?).to_string())
}

/// One suite with one test case: the program. It fails if the table makes the program slower or fail, and is skipped if
/// nothing is shown.
pub(super) fn render_program(found: &ProgramResults) -> Result<String, SerializeError> {
    let suite_name = format!("colltune check {}", found.table);
    let sentence = found.verdict_sentence();
    let status = match found.verdict() {
        ProgramVerdict::Faster | ProgramVerdict::NoLoss => TestCaseStatus::success(),
        ProgramVerdict::Slower | ProgramVerdict::Fails => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type("regression").set_message(sentence.as_str());
            status
        }
        ProgramVerdict::NothingShown => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(sentence.as_str());
            status
        }
    };
    let mut case = TestCase::new(found.command.as_str(), status);
    case.set_classname(format!("{}.program", found.library));
    let mut suite = TestSuite::new(suite_name.as_str());
    suite.add_property(("verdict", sentence.as_str()));
    suite.add_test_case(case);
    let mut report = Report::new(suite_name);
    report.add_test_suite(suite);
    Ok(Plain(report.to_string()?).to_string())
}

/// The names of points, in their order: those of a place with a random size are numbered, and so are points that
/// otherwise have one name.
fn names_of_points<'a>(points: impl Iterator<Item = &'a Point>) -> Vec<String> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let named = points.map(|point| {
        let name = if point.is_probe() {
            format!("{} (probe)", place_name(point))
        } else {
            point_name(point)
        };
        let number = known.entry(name.clone()).or_default();
        *number += 1;
        match *number {
            1 => name,
            nth => format!("{name} {nth}"),
        }
    });
    named.collect()
}

fn case_status(checked: &CheckedPoint) -> TestCaseStatus {
    if checked.is_regression() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status
            .set_type("regression")
            .set_message(checked.regression_reasons().join("; "))
            .set_description(format!("rule: {}", point_rules(&checked.point)));
        return status;
    }
    if checked.is_decided() {
        return TestCaseStatus::success();
    }
    let mut status = TestCaseStatus::skipped();
    status.set_message(if checked.is_measured() {
        checked.open_suspicions().join("; ")
    } else {
        "not measured in the time given".to_owned()
    });
    status
}
