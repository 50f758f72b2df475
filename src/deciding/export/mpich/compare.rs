//! Comparison of a selection file with the choices.

use table::OperatorClass;

use super::guards;
use super::reader::{self, Call};
use super::tree::TreeNode;
use crate::{Choices, ExportError, Native, RanksRules};

/// Checks that the file gives the choice or, where there is none, the library's own decision.
pub(super) fn compare_with_choices(
    class: OperatorClass,
    choices: &Choices,
    file: &[TreeNode],
    stock: &[TreeNode],
) -> Result<(), ExportError> {
    for (&collective, all) in &choices.collectives {
        for rules in all {
            let sizes = guards::sizes_in_files(collective);
            for (bytes, ranks) in sizes.comparison_points(rules) {
                let call = Call {
                    collective,
                    ranks,
                    class,
                    bytes: sizes.size_in_file(bytes, ranks),
                };
                let governing = RanksRules::find_for_ranks(all, ranks);
                let native = governing.and_then(|found| sizes.expected_choice(found, bytes, ranks));
                compare_call(&call, native, file, stock)?;
            }
        }
    }
    Ok(())
}

fn compare_call(
    call: &Call,
    native: Option<&Native>,
    file: &[TreeNode],
    stock: &[TreeNode],
) -> Result<(), ExportError> {
    let native = native.filter(|native| guards::can_serve(call.collective, &native.id, call));
    let own = native.map(|native| guards::full_name(call.collective, &native.id));
    let expected = own
        .as_deref()
        .or_else(|| reader::chosen_algorithm(stock, call));
    let found = reader::chosen_algorithm(file, call);
    if found == expected {
        Ok(())
    } else {
        Err(ExportError::Unfaithful(format!(
            "for {call:?} the file says {found:?} instead of {expected:?}"
        )))
    }
}
