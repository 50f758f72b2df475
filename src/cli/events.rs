//! Events of a measurement, printed for programs.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Serialize;
use tuner::{Observer, TuningEvent};

use crate::console::Console;
use crate::error::CliError;
use crate::progress::ProgressDisplay;

/// Whether events are printed for programs.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct EventsArg {
    /// Print what happens as it happens, a JSON object a line, for programs
    ///
    /// Each has `event` (`recovered`, `launch`, `set_aside`, `queued`, `running`, `wall_time`, `stored`, `failed`,
    /// `died`, `replaces`, `budget_spent`) and what belongs to it, such as `progress` (`done`, `total`). The last
    /// line has the event `outcome` and under `outcome` what --json would print. If nothing reads standard output any
    /// more, the command ends as by an interrupt: what was measured is stored
    #[arg(long, conflicts_with = "json")]
    events: bool,
}

impl EventsArg {
    /// Whether a program watches.
    pub(crate) fn is_wanted(self) -> bool {
        self.events
    }

    /// An observer that prints events for a program, or else the one that `person` makes. `stop` is set when the
    /// program goes away.
    pub(crate) fn observer(
        self,
        console: Console,
        person: fn(Console) -> ProgressDisplay,
        stop: &Arc<AtomicBool>,
    ) -> Result<Box<dyn Observer>, CliError> {
        if !self.events {
            return Ok(Box::new(person(console)));
        }
        watch_reader(Arc::clone(stop)).map_err(CliError::Output)?;
        Ok(Box::new(EventWriter {
            // Neither bar nor notes.
            warnings: person(Console::new(true)),
            stop: Arc::clone(stop),
        }))
    }

    /// Prints the last line.
    pub(crate) fn conclude(self, outcome: &impl Serialize) -> Result<(), CliError> {
        let event = "outcome";
        print_line(&Last { event, outcome })
    }
}

/// The last line.
#[derive(Serialize)]
struct Last<'a, T> {
    event: &'static str,
    outcome: &'a T,
}

/// Prints events to standard output, and what is wrong as a warning to standard error.
struct EventWriter {
    warnings: ProgressDisplay,
    stop: Arc<AtomicBool>,
}

impl Observer for EventWriter {
    fn notice(&mut self, event: TuningEvent<'_>) {
        if print_line(&event).is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        if !matches!(event, TuningEvent::SetAside { .. }) {
            self.warnings.notice(event);
        }
    }
}

/// Prints a line.
fn print_line(value: &impl Serialize) -> Result<(), CliError> {
    let mut line = serde_json::to_string(value).map_err(CliError::Json)?;
    line.push('\n');
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())
        .and_then(|()| out.flush())
        .map_err(CliError::Output)
}

/// Sets `stop` once nothing reads standard output any more, which only a pipe or a socket can tell. The thread sleeps
/// until then.
fn watch_reader(stop: Arc<AtomicBool>) -> io::Result<()> {
    let watch = move || {
        let out = io::stdout();
        let mut ends = [PollFd::new(out.as_fd(), PollFlags::empty())];
        while poll(&mut ends, PollTimeout::NONE) == Err(Errno::EINTR) {}
        let [end] = &ends;
        let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
        if end.revents().is_some_and(|seen| seen.intersects(gone)) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    thread::Builder::new()
        .name("reader of output".to_owned())
        .spawn(watch)?;
    Ok(())
}
