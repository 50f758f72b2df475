//! The steps of a change, at each of which a test can end the process.

use std::cell::RefCell;
use std::path::Path;

/// The variable with the number of the step after which the process ends, as if it were killed.
pub(super) const LAST_STEP: &str = "COLLTUNE_TEST_LAST_STEP";

thread_local! {
    /// The steps of this thread.
    static PASSED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Notes a step; ends the process if it is the last one.
pub(super) fn passed(what: &str, path: &Path) {
    let count = PASSED.with_borrow_mut(|steps| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        steps.push(format!("{what} {name}"));
        steps.len()
    });
    let last = std::env::var(LAST_STEP).ok();
    if last.and_then(|text| text.parse().ok()) == Some(count) {
        // Nothing is dropped, as with a kill.
        std::process::exit(3);
    }
}

/// The steps of this thread since the last call.
pub(super) fn take_steps() -> Vec<String> {
    PASSED.take()
}
