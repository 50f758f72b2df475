//! Comparison of a selection file with the choices.

use table::OperatorClass;

use super::guards;
use super::reader::{self, Call};
use super::tree::TreeNode;
use crate::{Choices, ExportError, RanksRules};

/// Checks at [`RanksRules::points`] that the file gives the choice or, where there is none, the library's own decision.
pub(super) fn compare(
    class: OperatorClass,
    choices: &Choices,
    file: &[TreeNode],
    stock: &[TreeNode],
) -> Result<(), ExportError> {
    for (&collective, all) in &choices.collectives {
        for rules in all {
            for (bytes, ranks) in rules.points([]) {
                let size = guards::size_key(collective);
                let call = Call {
                    collective,
                    ranks,
                    class,
                    bytes: size.map_or(0, |size| size.in_file(bytes, rules.first)),
                };
                let governing = RanksRules::governing(all, ranks);
                // Other rules that govern these ranks are compared at their own thresholds.
                if ranks > 0 && governing.is_none_or(|governs| governs == rules) {
                    look(&call, governing, bytes, file, stock)?;
                }
            }
        }
    }
    Ok(())
}

fn look(
    call: &Call,
    rules: Option<&RanksRules>,
    bytes: u64,
    file: &[TreeNode],
    stock: &[TreeNode],
) -> Result<(), ExportError> {
    let native = rules
        .and_then(|rules| rules.at(bytes))
        .filter(|native| guards::serves(call.collective, &native.id, call));
    let own = native.map(|native| guards::full_name(call.collective, &native.id));
    let expected = own.as_deref().or_else(|| reader::decide(stock, call));
    let found = reader::decide(file, call);
    match found == expected {
        true => Ok(()),
        false => Err(ExportError::Unfaithful(format!(
            "for {call:?} the file says {found:?} instead of {expected:?}"
        ))),
    }
}
