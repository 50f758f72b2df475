//! Reports mark choices that are not deployed, and distinguish algorithms with the same name.

use report::{View, render_markdown};
use testkit::tables;

/// A table with one rule beside the default, of this confidence.
pub(crate) fn view(confidence: &str) -> View {
    let rule = format!(
        "{{from: 1500, candidate: allreduce/ring, speedup: 1.5, confidence: {confidence}}}"
    );
    of_rules(&[&rule])
}

fn of_rules(rules: &[&str]) -> View {
    let rules = rules.iter().map(|rule| format!("\n          - {rule}"));
    let collectives = format!(
        "
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: commutative
        rules:
          - {{from: 0, candidate: default, confidence: low}}{}
        measured:
          bytes: [64, 1M]
          microseconds: [2, 512]
          default_microseconds: [2, 768]
",
        rules.collect::<String>()
    );
    let text = tables::table_yaml("example", "openmpi", "4.1.4", &collectives);
    View::from_table(&tables::parse_table(&text))
}

/// The last cells of the rows that begin with `row`.
fn last(text: &str, row: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| line.starts_with(row));
    let last = rows.filter_map(|line| line.trim_end_matches('|').rsplit('|').next());
    last.map(|cell| cell.trim().to_owned()).collect()
}

#[test]
fn markdown_marks_choices_that_are_not_deployed() {
    for (confidence, decision, rule) in [
        ("high, confirmed: true", "chosen", "yes"),
        ("medium, confirmed: true", "chosen", "yes"),
        (
            "low, confirmed: true",
            "chosen; not deployed: low confidence",
            "no: low confidence",
        ),
        (
            "high",
            "chosen; not deployed: not confirmed",
            "no: not confirmed",
        ),
    ] {
        let text = render_markdown(&view(confidence));
        assert_eq!(last(&text, "|    1M |"), [decision], "{text}");
        // The default is always deployed, whatever its confidence.
        assert_eq!(last(&text, "|    0 |"), ["-"], "{text}");
        assert_eq!(last(&text, "| 1500 |"), [rule], "{text}");
    }
}

#[test]
fn algorithms_that_share_a_name_are_distinguished() {
    let text = render_markdown(&of_rules(&[
        "{from: 1500, candidate: allreduce/ring, confidence: high}",
        "{from: 1M, candidate: \"native:allreduce/ring\", confidence: high}",
    ]));
    for name in ["| ring ", "| native:ring "] {
        assert!(text.contains(name), "{name}:\n{text}");
    }
}
