//! JUnit XML for continuous integration, with a test case for each point.

use guard::CheckedPoint;
use printable::Plain;
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::super::guarded::{name_of, rules_of};
use super::Found;

/// One suite, in which regressions are failures and points that were not decided are skipped. Its property `verdict` is
/// the sentence that says whether the table holds.
pub(super) fn render(found: &Found<'_>) -> Result<String, SerializeError> {
    let suite_name = format!("colltune check {}", found.table.display());
    let mut suite = TestSuite::new(suite_name.as_str());
    let points = &found.checked.points;
    let skipped = points.iter().filter(|point| !point.is_decided()).count();
    suite
        .extra
        .insert("skipped".into(), skipped.to_string().into());
    suite.add_property(("verdict", found.verdict().as_str()));
    for checked in points {
        let point = &checked.point;
        let name = format!("{}: {}", name_of(point), point.chosen);
        let mut case = TestCase::new(name, status(checked));
        case.set_classname(format!("{}.{}", found.library, point.cell.collective));
        suite.add_test_case(case);
    }
    let mut report = Report::new(suite_name);
    report.add_test_suite(suite);
    Ok(Plain(report.to_string()?).to_string())
}

fn status(checked: &CheckedPoint) -> TestCaseStatus {
    if checked.is_regression() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status
            .set_type("regression")
            .set_message(checked.reasons().join("; "))
            .set_description(format!("rule: {}", rules_of(&checked.point)));
        return status;
    }
    if checked.is_decided() {
        return TestCaseStatus::success();
    }
    let mut status = TestCaseStatus::skipped();
    status.set_message(match checked.is_measured() {
        true => checked.suspicions().join("; "),
        false => "not measured in the time given".to_owned(),
    });
    status
}
