//! Whether a selection file says what it should.

use table::OperatorClass;

use super::guards;
use super::reader::{self, Call};
use super::tree::Node;
use crate::{Choices, ExportError, RanksRules};

/// Looks at every threshold and to either side of it, on the fewest and the most ranks that rules are
/// for, and on one rank more and less: there, the choice; elsewhere, what the library's own table says.
pub(super) fn compare(
    class: OperatorClass,
    choices: &Choices,
    file: &[Node],
    stock: &[Node],
) -> Result<(), ExportError> {
    for (&collective, all) in &choices.collectives {
        for rules in all {
            let thresholds = rules.choices.iter().map(|choice| choice.from_bytes);
            let bytes = thresholds.flat_map(|at| [at.saturating_sub(1), at, at + 1]);
            for bytes in bytes {
                let size = guards::size_key(collective);
                let in_file = size.map_or(0, |size| size.in_file(bytes, rules.first));
                for ranks in [
                    rules.first.saturating_sub(1),
                    rules.first,
                    rules.last,
                    rules.last + 1,
                ] {
                    let call = Call {
                        collective,
                        ranks,
                        class,
                        bytes: in_file,
                    };
                    // Rules of neighbours have thresholds of their own.
                    if ranks > 0 && governing(all, ranks).is_none_or(|governs| governs == rules) {
                        look(&call, governing(all, ranks), bytes, file, stock)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn governing(all: &[RanksRules], ranks: u32) -> Option<&RanksRules> {
    all.iter()
        .find(|rules| (rules.first..=rules.last).contains(&ranks))
}

fn look(
    call: &Call,
    rules: Option<&RanksRules>,
    bytes: u64,
    file: &[Node],
    stock: &[Node],
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
