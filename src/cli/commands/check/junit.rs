//! The XML that continuous integration reads: a test case a point.

use std::fmt::Write;

use super::super::guarded::{name_of, rules_of};
use super::Found;

/// One suite. A point at which the table does not hold is a failure, one that was not measured is skipped.
pub(super) fn render(found: &Found<'_>) -> String {
    let points = &found.checked.points;
    let failures = points.iter().filter(|point| point.is_regression()).count();
    let skipped = points.iter().filter(|point| !point.is_measured()).count();
    let suite = format!("colltune check {}", found.table.display());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" \
         tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n",
        escaped(&suite),
        points.len()
    );
    for checked in points {
        let class = format!("{}.{}", found.library, checked.point.cell.collective);
        let name = format!("{}: {}", name_of(&checked.point), checked.point.chosen);
        let case = format!(
            "    <testcase classname=\"{}\" name=\"{}\"",
            escaped(&class),
            escaped(&name)
        );
        let reasons = checked.reasons();
        // Writing to a string cannot fail.
        let _ = if checked.is_regression() {
            let message = escaped(&reasons.join("; "));
            let rule = escaped(&rules_of(&checked.point));
            writeln!(
                text,
                "{case}>\n      <failure type=\"regression\" message=\"{message}\">rule: {rule}</failure>\n    \
                 </testcase>"
            )
        } else if !checked.is_measured() {
            writeln!(
                text,
                "{case}>\n      <skipped message=\"not measured in the time given\"/>\n    </testcase>"
            )
        } else {
            writeln!(text, "{case}/>")
        };
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// A text inside an attribute or an element.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // XML has no other control characters, escaped or not.
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn no_text_can_end_its_element_or_attribute() {
        assert_eq!(
            escaped("a<b> & \"c\"\u{1b}\n"),
            "a&lt;b&gt; &amp; &quot;c&quot;  "
        );
    }
}
