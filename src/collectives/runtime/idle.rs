//! Releases the shared memory of idle communicators for a new one; not where threads call MPI at the same time, see
//! [`crate::threads`].

use std::collections::HashSet;
use std::ffi::c_int;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering;

use exec::constants::MPI_Comm;
use exec::{ExecError, NoChannels};

use crate::Dispatcher;
use crate::agree::maximum_over_ranks;
use crate::place::world_ranks;
use crate::state::{Attached, PrivateCommunicator, State};

/// The number of our calls on other communicators after which a communicator is idle. A program that alternates
/// between some communicators thus keeps their channels even if it uses another one once.
const IDLE_CALLS: u64 = 1000;

/// An idle communicator with all of its ranks in the new one.
struct IdleCommunicator {
    state: *mut State,
    /// The number of our calls since its last one.
    calls: u64,
    /// An identifier that is the same on all of its ranks, and differs between communicators.
    name: u64,
}

impl Dispatcher {
    /// If the limit of shared memory has left a new communicator without channels, closes the channels of idle
    /// communicators, the least recently used first, until there is room. Collective over the new communicator.
    ///
    /// All ranks of a communicator must stop using its channels between the same two calls. The first call of ours on a
    /// communicator that contains all of them is such a point, because programs call the collectives of two
    /// communicators in the same order on all ranks that belong to both (MPI 4.0, section 6.14). So only communicators
    /// with all of their ranks in the new one are considered.
    ///
    /// # Safety
    ///
    /// `on` is a valid intracommunicator with the ranks of the private one, and its errors are returned.
    pub(crate) unsafe fn make_room(
        &self,
        private: &mut PrivateCommunicator,
        on: MPI_Comm,
    ) -> Result<(), ExecError> {
        // Where threads call MPI at the same time, another one may be in a call on an idle communicator.
        if private.lacking != Some(NoChannels::Limit) || self.is_multiple {
            return Ok(());
        }
        // SAFETY: the caller promises that `on` is a valid intracommunicator.
        let idle = unsafe { self.find_idle(on)? };
        while private.lacking == Some(NoChannels::Limit) {
            // SAFETY: the caller promises that `on` is a valid intracommunicator.
            let Some(name) = (unsafe { least_recent(&idle, on)? }) else {
                break;
            };
            if let Some(idle) = idle.iter().find(|idle| idle.name == name) {
                // SAFETY: live, not the new one, and not in a call.
                unsafe { give_up(&mut *idle.state) };
            }
            // SAFETY: the caller promises that `on` is a valid intracommunicator with the ranks of the private one, and
            // that its errors are returned.
            private.lacking = unsafe { self.means.open_channels(&mut private.communicator, on)? };
        }
        Ok(())
    }

    /// # Safety
    ///
    /// `communicator` is a valid intracommunicator.
    unsafe fn find_idle(&self, communicator: MPI_Comm) -> Result<Vec<IdleCommunicator>, ExecError> {
        // SAFETY: the caller promises that the communicator is a valid intracommunicator.
        let members: HashSet<c_int> = unsafe { world_ranks(communicator)? }.into_iter().collect();
        let mut idle: Vec<IdleCommunicator> = Vec::new();
        for state in self.live_states() {
            // SAFETY: states that are live have not been freed.
            let (other, attached) = unsafe { ((*state).communicator, &(*state).attached) };
            let Ok(attached) = attached else {
                continue;
            };
            // SAFETY: their communicators are live, too.
            let ranks = unsafe { world_ranks(other)? };
            let is_within = ranks.iter().all(|rank| members.contains(rank));
            if !attached.has_channels() || !is_within {
                continue;
            }
            // Communicators with the same ranks were created in the same order on all of them.
            let mut hasher = DefaultHasher::new();
            ranks.hash(&mut hasher);
            let mut name = hasher.finish();
            while idle.iter().any(|idle| idle.name == name) {
                name = name.wrapping_add(1);
            }
            let calls = self.calls.load(Ordering::Relaxed) - attached.used.get();
            idle.push(IdleCommunicator { state, calls, name });
        }
        Ok(idle)
    }
}

/// The identifier of the least recently used one; `None` if no rank knows an idle one. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
unsafe fn least_recent(
    communicators: &[IdleCommunicator],
    communicator: MPI_Comm,
) -> Result<Option<u64>, ExecError> {
    let is_open = |idle: &&IdleCommunicator| {
        // SAFETY: states that are live have not been freed.
        let attached = unsafe { &(*idle.state).attached };
        attached.as_ref().is_ok_and(Attached::has_channels)
    };
    let open = communicators.iter().filter(is_open);
    let mine = open
        .filter(|idle| idle.calls >= IDLE_CALLS)
        .max_by_key(|idle| (idle.calls, idle.name));
    let mut longest = [mine.map_or(0, |idle| idle.calls)];
    // SAFETY: the caller promises that the communicator is a valid intracommunicator.
    unsafe { maximum_over_ranks(communicator, &mut longest)? };
    let named = mine.filter(|idle| idle.calls == longest[0]);
    let mut name = [named.map_or(0, |idle| idle.name)];
    // SAFETY: the caller promises that the communicator is a valid intracommunicator.
    unsafe { maximum_over_ranks(communicator, &mut name)? };
    Ok((longest[0] > 0).then_some(name[0]))
}

/// Closes a communicator's channels: calls that need them are now left to the library.
fn give_up(state: &mut State) {
    if let Ok(attached) = &mut state.attached {
        attached.drop_plans();
        if let Some(private) = &mut attached.private {
            private.communicator.close_channels();
            private.lacking = Some(NoChannels::Limit);
        }
    }
}
