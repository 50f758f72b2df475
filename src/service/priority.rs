//! What is measured on this host goes first.

use rustix::process::{getpriority_process, setpriority_process};

/// The priority (`nice`) of what serves while others measure.
const NICE: i32 = 10;

/// Lets the calling thread leave the cores to what is measured. Threads and processes that it starts later do the same,
/// so a thread that starts a child which measures calls this afterwards.
pub fn lower_priority() {
    // Only this thread gives way. Without it everything works as well.
    if getpriority_process(None).is_ok_and(|nice| nice < NICE) {
        let _ = setpriority_process(None, NICE);
    }
}
