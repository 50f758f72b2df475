//! Handling of signals that ask the command to stop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::CliError;

/// A flag that SIGINT and SIGTERM set. A second signal ends the process at once; measuring programs notice that and end
/// too.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let catch = |signal| -> io::Result<()> {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
        Ok(())
    };
    for signal in [SIGINT, SIGTERM] {
        catch(signal).map_err(CliError::Signals)?;
    }
    Ok(stop)
}
