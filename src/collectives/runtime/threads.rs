//! Programs whose threads call MPI at the same time (`MPI_THREAD_MULTIPLE`).
//!
//! MPI lets threads make collective calls on different communicators at the same time, and on one communicator one after
//! the other, in an order that is the same on all of its ranks (MPI 4.0, section 6.14). So everything that belongs to one
//! communicator (its state, plans, buffers, channels and private communicator) is used by one thread at a time without a
//! lock. What communicators share is as follows:
//!
//! | shared | how |
//! |---|---|
//! | states by handle | looked up without a lock (`recent.rs`); locked to add or remove one |
//! | the list of states, rows of the summary, rules by shape, versions of the table, what the library has answered, datatypes | locked for a moment |
//! | numbers of calls | atomic |
//! | whether a call of ours is under way | a flag of each thread ([`BusyFlag`]) |
//! | the handlers of communicators whose errors are returned for a while | counted (`attach.rs`) |
//!
//! # No deadlock
//!
//! Attaching a communicator, making its private one and opening channels are collective. If a rank did that while it
//! holds a lock, two threads that attach different communicators in another order than on another rank would wait for
//! each other: here the second one for the lock, there the first. So *no lock is held during a call that waits for other
//! ranks*. All that one thread does for a communicator are further collectives on that communicator, and on those made of
//! it, in the middle of the program's call. Any collective may wait for all ranks (MPI 4.0, section 6.1), so a program in
//! which these calls cannot end is wrong without them, too. The locks that are held during a call of the library are those
//! for questions on a communicator of this process alone, for handlers, and for attributes of datatypes. These calls wait
//! for no other rank, and functions that the library calls back take none of these locks.
//!
//! # What such programs lack
//!
//! Calls on different communicators have no common order. So the ranks of one communicator cannot agree, during a call on
//! another, to stop using something: nothing is given back for the program's own communicators (`room.rs`), no idle
//! communicator loses its channels (`idle.rs`), and there is no base that all communicators share (`private.rs`); tags on it
//! would have to be agreed on by threads that do not know of each other. Each communicator has a private one of its own,
//! up to a low limit and while the program has not created much, until the program frees it.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mpi::ffi;
use table::dispatch::CommunicatorRules;

use crate::CallSummary;
use crate::attach::ErrorHandler;
use crate::datatypes::Datatypes;
use crate::recent::RecentStates;
use crate::versions::{Version, Versions};
use crate::watch::Watch;
use crate::wrong::Answers;

/// What threads share must be made for it, as far as it has no addresses of a communicator's own; here the compiler checks
/// that.
const _: () = {
    const fn check_is_shared<T: Sync>() {}
    check_is_shared::<Version>();
    check_is_shared::<Versions>();
    check_is_shared::<CommunicatorRules>();
    check_is_shared::<Answers>();
    check_is_shared::<Datatypes>();
    check_is_shared::<RecentStates>();
    check_is_shared::<Mutex<Watch>>();
    check_is_shared::<Mutex<CallSummary>>();
    check_is_shared::<CallCounter>();
    check_is_shared::<BusyFlag>();
    check_is_shared::<ErrorHandler>();
};

/// Locks something for a moment, also after a panic: what is locked is never left half changed.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether threads may call MPI at the same time at this level.
pub(crate) fn is_multiple(level: c_int) -> bool {
    // SAFETY: a constant of the library.
    level == unsafe { ffi::RSMPI_THREAD_MULTIPLE }
}

/// Whether a call of ours is running, or a communicator is prepared for such calls.
#[derive(Debug)]
pub(crate) struct BusyFlag(AtomicU8);

const IDLE: u8 = 0;
const BUSY: u8 = 1;
/// Each thread has a flag of its own.
const BY_THREAD: u8 = 2;

thread_local! {
    /// The flag of this thread, for all dispatchers of programs with `MPI_THREAD_MULTIPLE`.
    static IS_BUSY: Cell<bool> = const { Cell::new(false) };
}

impl BusyFlag {
    pub(crate) fn new(is_multiple: bool) -> Self {
        Self(AtomicU8::new(if is_multiple { BY_THREAD } else { IDLE }))
    }

    #[inline(always)]
    pub(crate) fn is_set(&self) -> bool {
        match self.0.load(Ordering::Relaxed) {
            IDLE => false,
            mode => is_set_in(mode),
        }
    }

    #[inline(always)]
    pub(crate) fn set(&self, is_busy: bool) {
        if self.0.load(Ordering::Relaxed) == BY_THREAD {
            IS_BUSY.set(is_busy);
        } else {
            self.0.store(u8::from(is_busy), Ordering::Relaxed);
        }
    }
}

/// Apart from [`BusyFlag::is_set`], so that a call in a program with one thread at a time does not pay for it.
#[inline(never)]
fn is_set_in(mode: u8) -> bool {
    mode == BUSY || IS_BUSY.get()
}

/// A number of calls, which threads may increase at the same time.
#[derive(Debug, Default)]
pub(crate) struct CallCounter {
    calls: AtomicU64,
    is_multiple: bool,
}

impl CallCounter {
    pub(crate) fn new(is_multiple: bool) -> Self {
        Self {
            calls: AtomicU64::new(0),
            is_multiple,
        }
    }

    /// Counts a call, and returns the number of calls with it.
    #[inline(always)]
    pub(crate) fn count_call(&self) -> u64 {
        if self.is_multiple {
            return self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        }
        // Without the locked instruction, which takes as long as the rest of a call that is passed on.
        let calls = self.calls.load(Ordering::Relaxed) + 1;
        self.calls.store(calls, Ordering::Relaxed);
        calls
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::{BusyFlag, CallCounter};

    #[test]
    fn a_busy_thread_leaves_others_idle() {
        let (plain, by_thread) = (BusyFlag::new(false), BusyFlag::new(true));
        let both = || [plain.is_set(), by_thread.is_set()];
        let in_another_thread =
            || std::thread::scope(|scope| scope.spawn(both).join().expect("it ends"));
        assert_eq!(both(), [false, false]);
        for flag in [&plain, &by_thread] {
            flag.set(true);
        }
        assert_eq!(both(), [true, true]);
        assert_eq!(in_another_thread(), [true, false]);
        for flag in [&plain, &by_thread] {
            flag.set(false);
        }
        assert_eq!(both(), [false, false]);
    }

    #[test]
    fn no_call_of_a_thread_is_lost() {
        const CALLS: u64 = 20_000;
        let shared = CallCounter::new(true);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..CALLS {
                        shared.count_call();
                    }
                });
            }
        });
        assert_eq!(shared.calls(), 4 * CALLS);
        let plain = CallCounter::new(false);
        assert_eq!([plain.count_call(), plain.count_call()], [1, 2]);
        assert_eq!(plain.calls(), 2);
    }
}
