//! Scheduling priority: measurements on this host take precedence over the service.

use rustix::process::{getpriority_process, setpriority_process};

/// The niceness of threads that serve requests while tasks measure.
const NICE: i32 = 10;

/// Lowers the priority of the calling thread, in favour of measurements. Threads and processes that it starts later
/// inherit this, so a thread that starts a measuring child calls this after the start.
pub fn lower_priority() {
    // If this fails, everything still works.
    if getpriority_process(None).is_ok_and(|nice| nice < NICE) {
        let _ = setpriority_process(None, NICE);
    }
}
