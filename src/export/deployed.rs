//! What a policy leaves of a table, and what is to be said about that.

use table::{Confidence, Deployment, Lack, Policy, Table};
use vocabulary::Candidate;

use crate::choices::counted;
use crate::{ExportError, Options};

/// The table with the library's default in place of what the policy withholds, and full sentences that sum up
/// what is withheld and what the policy uses although it would be withheld by default.
///
/// Counted are rules for candidates of all kinds, or those alone that concern the library's own settings.
pub(crate) fn deployed(table: &Table, policy: Policy, of_all_kinds: bool) -> (Table, Vec<String>) {
    let counted_table = match of_all_kinds {
        true => table.clone(),
        false => for_library(table),
    };
    let concerns = |candidate: &Candidate| of_all_kinds || Deployment::Library.offers(candidate);
    let lacks = |table: &Table, policy| -> Vec<Lack> {
        let withheld = table.deployed(policy).1.into_iter();
        let withheld = withheld.filter(|withheld| concerns(&withheld.candidate));
        withheld.map(|withheld| withheld.lack).collect()
    };
    let rules = counted_table.entries().flat_map(|entry| &entry.rules);
    let total = rules
        .filter(|rule| rule.candidate != Candidate::Default && concerns(&rule.candidate))
        .count();
    let withheld = lacks(&counted_table, policy);
    let used = counted_table.deployed(policy).0;
    let doubtful = lacks(&used, Policy::default());
    let mut notes = Vec::new();
    if !withheld.is_empty() {
        notes.push(format!(
            "Left to the library: {} of {}: {}. `colltune validate --confirm` measures such rules in fresh \
             launches; {} them as they are.",
            withheld.len(),
            counted(total, "rule"),
            reasons(&withheld),
            options(&withheld)
        ));
    }
    if !doubtful.is_empty() {
        notes.push(format!(
            "Used as asked for: {}: {}.",
            counted(doubtful.len(), "doubtful rule"),
            reasons(&doubtful)
        ));
    }
    (table.deployed(policy).0, notes)
}

/// The entries that tell what a library is told: those for its own settings and, where there are none, those for
/// colltune.
fn for_library(table: &Table) -> Table {
    let mut told = table.clone();
    for (collective, entries) in &mut told.collectives {
        let all = &table.collectives[collective];
        entries.retain(|entry| {
            let is_hidden = || {
                all.iter().any(|other| {
                    other.deployments.cover(Deployment::Library)
                        && other.shape == entry.shape
                        && other.is_in(entry.order)
                        && other.operators.overlap(entry.operators)
                })
            };
            entry.deployments.cover(Deployment::Library) || !is_hidden()
        });
    }
    told
}

/// What rules lack, as in `3 were not confirmed by fresh launches, 2 have low confidence`.
fn reasons(lacks: &[Lack]) -> String {
    let count = |lack: Lack| lacks.iter().filter(|found| **found == lack).count();
    let were = |count: usize| if count == 1 { "was" } else { "were" };
    let unconfirmed = count(Lack::Confirmation);
    let mut reasons = Vec::new();
    if unconfirmed > 0 {
        let were = were(unconfirmed);
        reasons.push(format!(
            "{unconfirmed} {were} not confirmed by fresh launches"
        ));
    }
    for confidence in [Confidence::Low, Confidence::Medium] {
        let count = count(Lack::Confidence(confidence));
        if count > 0 {
            let has = if count == 1 { "has" } else { "have" };
            reasons.push(format!("{count} {has} {confidence} confidence"));
        }
    }
    reasons.join(", ")
}

/// The options that use rules in spite of what they lack, with the verb.
fn options(lacks: &[Lack]) -> &'static str {
    let is_confidence = |lack: &Lack| matches!(lack, Lack::Confidence(_));
    match (
        lacks.contains(&Lack::Confirmation),
        lacks.iter().any(is_confidence),
    ) {
        (true, false) => "`--unconfirmed` uses",
        (false, _) => "`--min-confidence low` uses",
        (true, true) => "`--unconfirmed` and `--min-confidence low` use",
    }
}

/// Refuses to assume a shape that the table says nothing about, and two of as many ranks.
///
/// # Errors
/// [`ExportError::Shape`].
pub(crate) fn check_shapes(table: &Table, options: &Options) -> Result<(), ExportError> {
    let mut before: Vec<vocabulary::CommShape> = Vec::new();
    for &shape in &options.assume_shapes {
        let refuse = |message: String| Err(ExportError::Shape { shape, message });
        if !table.entries().any(|entry| entry.shape == shape) {
            let mut known: Vec<_> = table.entries().map(|entry| entry.shape).collect();
            known.sort_unstable();
            known.dedup();
            let known: Vec<String> = known.iter().map(ToString::to_string).collect();
            return refuse(format!(
                "the table knows nothing about it, but about {}",
                known.join(", ")
            ));
        }
        let same = |other: &vocabulary::CommShape| other.ranks() == shape.ranks();
        if let Some(other) = before.iter().copied().find(|other| same(other)) {
            return refuse(format!("{other} has as many ranks and is assumed too"));
        }
        before.push(shape);
    }
    Ok(())
}
