//! Running a user's command as if it had been started directly.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::interrupt;

/// Runs a command to its end. SIGTERM and SIGHUP are forwarded to it; an interrupt at the terminal reaches it directly.
/// A SIGHUP that is ignored, as under `nohup`, stays so for the command.
pub(crate) fn run_supervised(command: &mut Command) -> io::Result<ExitStatus> {
    let caught = [SIGINT, SIGTERM]
        .into_iter()
        .chain(interrupt::hangup_signal());
    let mut signals = Signals::new(caught)?;
    let handle = signals.handle();
    let mut child = command.spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    let forwarding = thread::spawn(move || {
        for signal in signals.forever().filter(|signal| *signal != SIGINT) {
            // The command may have ended already.
            let _ = Signal::try_from(signal).and_then(|signal| kill(pid, signal));
        }
    });
    // Waits without reaping, so that the process id stays valid until forwarding has ended.
    while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)
        == Err(nix::errno::Errno::EINTR)
    {}
    handle.close();
    let _ = forwarding.join();
    child.wait()
}

/// The exit code of a command as shells report it.
pub(crate) fn shell_exit_code(status: ExitStatus) -> u8 {
    let code = status.code();
    let code = code.or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}
