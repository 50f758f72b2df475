//! Comparison of a selection file with the choices.

use table::OperatorClass;

use super::guards;
use super::reader::{self, Call};
use super::tree::TreeNode;
use crate::{Choices, ExportError, Native, RanksRules};

/// Checks that the file gives the choice or, where there is none, the library's own decision.
pub(super) fn compare(
    class: OperatorClass,
    choices: &Choices,
    file: &[TreeNode],
    stock: &[TreeNode],
) -> Result<(), ExportError> {
    for (&collective, all) in &choices.collectives {
        for rules in all {
            let sizes = guards::sizes(collective);
            for (bytes, ranks) in sizes.points(rules) {
                let call = Call {
                    collective,
                    ranks,
                    class,
                    bytes: sizes.of(bytes, ranks),
                };
                let governing = RanksRules::governing(all, ranks);
                let native = governing.and_then(|rules| sizes.expected(rules, bytes, ranks));
                look(&call, native, file, stock)?;
            }
        }
    }
    Ok(())
}

fn look(
    call: &Call,
    native: Option<&Native>,
    file: &[TreeNode],
    stock: &[TreeNode],
) -> Result<(), ExportError> {
    let native = native.filter(|native| guards::serves(call.collective, &native.id, call));
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
