//! Application of a policy to an exported table, and notes about it.

use table::{Deployment, Deployments, Policy, Rule, ShapeRules, Table, Usage};
use vocabulary::units::format_counted;

use crate::{ExportError, Options};

/// The table as a policy deploys it, and full sentences that count the withheld rules and the rules deployed although
/// the default policy withholds them.
///
/// Rules for candidates of all kinds are counted if `of_all_kinds`, otherwise those for the library's own settings.
pub(crate) fn apply_policy(
    table: &Table,
    policy: Policy,
    of_all_kinds: bool,
) -> (Table, Vec<String>) {
    let (exported, only_colltune) = exported_rules(table, of_all_kinds);
    let usage = |of: &Table, by| of.count_usage(by, Deployment::Library);
    let (left, used) = (usage(&exported, policy), exported.deployed_by(policy).0);
    let doubtful = usage(&used, Policy::default());
    let mut notes = Vec::new();
    if left.unused_rules() > 0 {
        notes.push(format!(
            "Left to the library: {left}.{}",
            remedies_for_withheld(left)
        ));
    }
    if doubtful.unused_rules() > 0 {
        notes.push(format!("Used as requested; by default, {doubtful}."));
    }
    if only_colltune > 0 {
        notes.push(format!(
            "Left out: {} that only colltune can carry out, where the table has no decision for the library's own \
             settings; the library decides there.",
            format_counted(only_colltune, "rule")
        ));
    }
    (table.deployed_by(policy).0, notes)
}

/// The rules for a file, as entries for any deployment, and the number of rules that only colltune can carry out and
/// that are left out. Unless `of_all_kinds`, entries for colltune contribute only the library's own algorithms, and
/// only where there is no entry for the library's settings.
fn exported_rules(table: &Table, of_all_kinds: bool) -> (Table, usize) {
    let mut exported = table.clone();
    let mut only_colltune = 0;
    for (collective, entries) in &mut exported.collectives {
        let all = &table.collectives[collective];
        let is_hidden = |entry: &ShapeRules| {
            all.iter().any(|other| {
                other.deployments.hold_for(Deployment::Library)
                    && other.shape == entry.shape
                    && other.holds_for_order(entry.order)
                    && other.operators.overlap(entry.operators)
            })
        };
        entries.retain(|entry| {
            of_all_kinds || entry.deployments.hold_for(Deployment::Library) || !is_hidden(entry)
        });
        for entry in entries {
            entry.deployments = Deployments::Any;
            if !of_all_kinds {
                let before = entry.rules.len();
                let offers = |rule: &Rule| Deployment::Library.offers(&rule.candidate);
                entry.rules.retain(offers);
                only_colltune += before - entry.rules.len();
            }
        }
    }
    (exported, only_colltune)
}

/// Sentences about what deploys withheld rules, each after a space.
fn remedies_for_withheld(usage: Usage) -> String {
    let mut text = String::new();
    if usage.refuted > 0 {
        text +=
            " `colltune tune` measures again and chooses others in place of those found slower.";
    }
    if usage.numerics > 0 {
        text += " `--numerics none` also uses rules whose bits depend on placement or size.";
    }
    let options = match (usage.unconfirmed + usage.simulated > 0, usage.uncertain > 0) {
        (true, false) => "`--unconfirmed` uses",
        (true, true) => "`--unconfirmed` and `--min-confidence low` use",
        (false, true) => "`--min-confidence low` uses",
        (false, false) => return text,
    };
    let of_measured = if usage.simulated == 0 {
        "`colltune validate --confirm` measures such rules in fresh launches; "
    } else {
        ""
    };
    text + &format!(" {of_measured}{options} them as they are.")
}

/// Refuses to assume a shape that the table does not have, and two shapes with the same number of ranks.
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
                "the table has rules for {} alone",
                known.join(", ")
            ));
        }
        let same = |other: &vocabulary::CommShape| other.ranks() == shape.ranks();
        if let Some(other) = before.iter().copied().find(|other| same(other)) {
            return refuse(format!(
                "{other} has the same number of ranks and is assumed too"
            ));
        }
        before.push(shape);
    }
    Ok(())
}
