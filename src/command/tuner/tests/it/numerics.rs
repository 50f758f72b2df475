//! Campaigns that require something of the bits of sums, on a simulated machine.

use table::{OperatorClass, Policy, Table};
use tempfile::TempDir;

use crate::operators::{query, tuned};

/// The best algorithm for long vectors, a ring, brackets each element in another way.
#[test]
fn a_campaign_says_what_its_requirement_on_bits_costs() {
    let folder = TempDir::new().expect("a folder");
    let (_, tuned) = tuned(&folder, "operator: sum\nnumerics: independent_of_size");
    let table = Table::load(&tuned.table_path).expect("a table");
    let required = table.provenance.numerics;
    assert_eq!(required.to_string(), "independent_of_size");
    // The choice stays in the table, and is not deployed.
    let decision = table.lookup(&query(OperatorClass::Commutative));
    let chosen = decision.candidate.to_string();
    assert!(chosen.starts_with("allreduce/ring"), "{chosen}");
    let policy = Policy {
        unconfirmed: true,
        ..Policy::default()
    };
    let reason = decision.reason_withheld(policy);
    assert_eq!(reason.as_deref(), Some("other bits at another size"));
    let free = Policy {
        numerics: Some("none".parse().expect("no requirement")),
        ..policy
    };
    assert_eq!(decision.reason_withheld(free), None);
    // The terminal and the report say what that costs.
    let view = tuned.analysis.report_view(&tuned.table);
    let factor = view.numerics.first().map(|cost| cost.mean_factor);
    assert!(factor.is_some_and(|factor| factor > 1.5), "{factor:?}");
    let told = "`numerics: independent_of_size` leaves 1 rule to the library's default, through libcolltune.so; at 2 \
                measured sizes calls take";
    let summary = report::render_summary(&view);
    assert!(summary.contains(told), "{summary}");
    let report = std::fs::read_to_string(&tuned.report_path).expect("a report");
    assert!(
        report.contains("leaves 1 rule to the library's default"),
        "{report}"
    );
}
