//! Events of a measurement as lines of JSON.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use answers::{LastLine, TuningEvent};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use printable::Plain;
use serde::Serialize;
use tuner::Observer;

use crate::console::Console;
use crate::error::CliError;
use crate::progress::ProgressDisplay;

/// The option for printing events.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct EventsArg {
    /// Print events as they happen, one JSON object per line
    ///
    /// Each object has the key `event` (`recovered`, `launch`, `set_aside`, `queued`, `running`, `wall_time`, `stored`,
    /// `failed`, `died`, `replaces`, `budget_spent`) and further keys, such as `progress` (`done`, `total`). The last
    /// line has the event `outcome`, with the output of --json under `outcome`. If the reader of standard output goes
    /// away, the command ends as after an interrupt, with all measurements so far stored
    #[arg(long, conflicts_with = "json")]
    events: bool,
}

impl EventsArg {
    /// The option of verbs that print no events.
    pub(crate) const fn unwanted() -> Self {
        Self { events: false }
    }

    pub(crate) fn is_wanted(self) -> bool {
        self.events
    }

    /// An observer that prints events, or else the one that `display` makes. `stop` is set when the reader of events
    /// goes away.
    pub(crate) fn make_observer(
        self,
        console: Console,
        display: fn(Console) -> ProgressDisplay,
        stop: &Arc<AtomicBool>,
    ) -> Result<Box<dyn Observer>, CliError> {
        if !self.events {
            return Ok(Box::new(display(console)));
        }
        watch_reader(Arc::clone(stop)).map_err(CliError::Output)?;
        Ok(Box::new(EventWriter {
            // Neither progress bar nor notes.
            warnings: display(Console::new(true)),
            stop: Arc::clone(stop),
        }))
    }

    /// Prints the outcome as the last event if events are printed, or else as JSON.
    pub(crate) fn print_outcome(
        self,
        outcome: &impl Serialize,
        console: Console,
    ) -> Result<(), CliError> {
        if self.events {
            print_json_line(&LastLine::Outcome { outcome })
        } else {
            console.print_json(outcome)
        }
    }
}

/// Prints events to standard output, and warnings to standard error.
struct EventWriter {
    warnings: ProgressDisplay,
    stop: Arc<AtomicBool>,
}

impl Observer for EventWriter {
    fn notice(&mut self, event: &TuningEvent) {
        if print_json_line(event).is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        if !matches!(event, TuningEvent::SetAside { .. }) {
            self.warnings.notice(event);
        }
    }
}

fn print_json_line(value: &impl Serialize) -> Result<(), CliError> {
    let line = serde_json::to_string(value).map_err(CliError::Json)?;
    // One write for the line, so that readers of a pipe get it whole.
    let line = format!("{}\n", Plain(line));
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())
        .and_then(|()| out.flush())
        .map_err(CliError::Output)
}

/// Starts a thread that sets `stop` when the reader of standard output, a pipe or a socket, has gone away.
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
