//! The program that the tests of this crate start on several ranks.
//!
//! usage: `exec-ranks conformance|shared|irregular|lean|progress [DEADLINE-SECONDS]`. Rank 0 prints a summary; the exit code is 0
//! only if no rank found a failure. `exec-ranks preset`, on its own, prints which of the library's algorithms the
//! environment forces.

mod call;
mod case;
mod conformance;
mod irregular;
mod kernels;
mod kind;
mod lean;
mod library;
mod matrix;
mod memory;
mod progress;
mod runners;
mod shared;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use exec::{ExecError, Universe, exit_now};

/// The limit of a run, which takes less time.
const DEADLINE_SECONDS: u64 = 270;

/// The current action of this rank, which is printed if it hangs.
static NOW: Mutex<String> = Mutex::new(String::new());

/// Records the current action of this rank.
pub(crate) fn doing(what: String) {
    *NOW.lock().unwrap_or_else(PoisonError::into_inner) = what;
}

fn main() -> Result<(), ExecError> {
    exec::allow_forcing();
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_default();
    let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
    if mode == "preset" {
        for algorithm in exec::preset_natives()? {
            println!("{}", algorithm.full_name());
        }
        return Ok(());
    }
    if mode == "progress" {
        progress::use_tcp();
    }
    watch(Duration::from_secs(seconds.unwrap_or(DEADLINE_SECONDS)));
    let universe = Universe::start()?;
    let failures = match mode.as_str() {
        "conformance" => conformance::run(universe.world())?,
        "shared" => shared::run(universe.world())?,
        "irregular" => irregular::run(universe.world())?,
        "progress" => progress::run(&mut universe.world().duplicate()?)?,
        "lean" => lean::run(&mut universe.world().duplicate()?)?,
        _ => {
            eprintln!("usage: exec-ranks conformance|shared|irregular|lean|progress|preset");
            exit_now(2);
        }
    };
    let mut failed = [failures as f64];
    universe.world().maximum_over_ranks(&mut failed)?;
    universe.finish()?;
    if failed[0] > 0.0 {
        exit_now(1);
    }
    Ok(())
}

/// Ends this rank, and with it the launch, if it hangs or its launcher is gone.
fn watch(deadline: Duration) {
    let (start, parent) = (Instant::now(), std::os::unix::process::parent_id());
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(500));
            if std::os::unix::process::parent_id() != parent {
                exit_now(3);
            }
            if start.elapsed() > deadline {
                eprintln!(
                    "hangs: {}",
                    NOW.lock().unwrap_or_else(PoisonError::into_inner)
                );
                exit_now(3);
            }
        }
    });
}
