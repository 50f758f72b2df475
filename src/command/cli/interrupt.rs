//! Handling of signals that ask the command to stop.

use std::ffi::c_int;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::CliError;

/// A flag that SIGINT and SIGTERM set. A second signal ends the process at once; measuring programs notice that and end
/// too.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, CliError> {
    flag_of_signals(&[SIGINT, SIGTERM])
}

/// The same with SIGHUP, for commands that remove files and end programs when they stop, and continue nothing later.
pub(crate) fn stop_flag_with_hangup() -> Result<Arc<AtomicBool>, CliError> {
    let mut signals = vec![SIGINT, SIGTERM];
    signals.extend(hangup_signal());
    flag_of_signals(&signals)
}

/// SIGHUP, unless it is ignored, as under `nohup`: then this command and those that it starts go on without a terminal.
pub(crate) fn hangup_signal() -> Option<c_int> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    (!is_ignored(SIGHUP, &status)).then_some(SIGHUP)
}

/// Whether a process ignores a signal, by its status in `/proc`.
fn is_ignored(signal: c_int, status: &str) -> bool {
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

fn flag_of_signals(signals: &[c_int]) -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let catch = |signal| -> io::Result<()> {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
        Ok(())
    };
    for signal in signals {
        catch(*signal).map_err(CliError::Signals)?;
    }
    Ok(stop)
}
