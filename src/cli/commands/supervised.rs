//! A command of the user's, as if it had been started without us.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Runs a command to its end. Signals that ask us to end go on to the command; an interrupt at the terminal has
/// reached it already.
pub(crate) fn supervised(command: &mut Command) -> io::Result<ExitStatus> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let handle = signals.handle();
    let mut child = command.spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    let forwarding = thread::spawn(move || {
        for signal in signals.forever().filter(|signal| *signal != SIGINT) {
            // It may have ended by itself.
            let _ = Signal::try_from(signal).and_then(|signal| kill(pid, signal));
        }
    });
    // Not reaped yet: until no signal can be sent any more, the number stays its own.
    while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)
        == Err(nix::errno::Errno::EINTR)
    {}
    handle.close();
    let _ = forwarding.join();
    child.wait()
}

/// The exit code of a command as shells have it.
pub(crate) fn code(status: ExitStatus) -> u8 {
    let code = status.code();
    let code = code.or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}
