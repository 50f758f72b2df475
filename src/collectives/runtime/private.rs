//! Private communicators: made for the first call that one of our algorithms carries out, shared, and given back.
//!
//! A library has few communicators (about two thousand under MPICH), and the program needs them. So those of the
//! program that have the same ranks in the same order share one of ours. Their messages have tags of their own, since
//! programs may be ahead on one of them.
//!
//! The first call that one of our algorithms is to carry out is the same one on all ranks, so they make the private
//! communicator there, and agree on its tag.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use exec::constants::MPI_Comm;
use exec::{Communicator, ExecError};
use mpi::ffi;
use table::dispatch::Choice;
use vocabulary::Through;

use crate::agree::greatest;
use crate::attach::{Silenced, any};
use crate::place::{is_of_this_world, world_ranks};
use crate::state::{Private, State, none};
use crate::{Dispatcher, FallbackReason};

/// The most communicators of the library that we have at a time.
const MOST_PRIVATE: c_int = 256;

impl Dispatcher {
    /// Makes the private communicator of an attached one, or leaves all calls on it to the library. Collective, with the
    /// same outcome on all ranks.
    ///
    /// # Safety
    ///
    /// The state is that of a valid communicator, and nothing of any state is borrowed.
    pub(crate) unsafe fn give_private(&self, state: *mut State) {
        let made = self.undisturbed(|| {
            // SAFETY: the caller's.
            unsafe {
                let silenced = Silenced::new((*state).communicator);
                silenced.and_then(|_silenced| self.make_private(state))
            }
        });
        let made = made.unwrap_or(Err(FallbackReason::NoCommunicator));
        if let Ok(private) = &made {
            self.tell_if_without_channels(private.lacking);
        }
        // SAFETY: the caller's.
        let attached = unsafe { &mut (*state).attached };
        match (made, &mut *attached) {
            (Ok(private), Ok(attached)) => attached.private = Some(private),
            (Ok(_), Err(_)) => {}
            (Err(reason), _) => *attached = none(reason),
        }
    }

    /// Creates one of the program's communicators. If the library has no more, gives back those of ours that have no other
    /// ranks than the old communicator, and tries again. All ranks do the same, also those that have none of ours: creating
    /// is collective, so all of them lack one. Where ranks of another world take part, which may be without colltune,
    /// nothing is tried again.
    ///
    /// # Safety
    ///
    /// A valid communicator, over which `make` is collective. It writes the new one to `made`.
    pub unsafe fn create(
        &self,
        old: MPI_Comm,
        made: *mut MPI_Comm,
        make: &dyn Fn() -> c_int,
    ) -> c_int {
        // SAFETY: the caller's.
        let may_try_again = !self.is_busy.get()
            && unsafe { is_intracommunicator(old) && is_of_this_world(old).unwrap_or(false) };
        if !may_try_again {
            return make();
        }
        // SAFETY: the caller's.
        let Ok(silenced) = (unsafe { Silenced::new(old) }) else {
            return make();
        };
        let code = make();
        if code == 0 {
            // The new one has inherited the handler of the silenced one.
            // SAFETY: the call has written the handle.
            unsafe { silenced.give_handler_to(*made) };
            return code;
        }
        drop(silenced);
        // SAFETY: the caller's.
        unsafe {
            if !may_be_exhausted(code) {
                ffi::PMPI_Comm_call_errhandler(old, code);
                return code;
            }
            self.give_back(old);
        }
        // Errors go to the program's handler now.
        make()
    }

    /// Gives back the private communicators of ranks that all belong to a communicator. The library carries out the calls
    /// on those that used them from now on.
    ///
    /// # Safety
    ///
    /// A valid communicator.
    unsafe fn give_back(&self, within: MPI_Comm) {
        // SAFETY: the caller's.
        let Ok(members) = (unsafe { world_ranks(within) }) else {
            return;
        };
        let members: HashSet<c_int> = members.into_iter().collect();
        for state in self.attributes.live() {
            // SAFETY: states that are live have not been freed, nor have their communicators.
            unsafe {
                let is_within = private_of(state).is_some()
                    && world_ranks((*state).communicator)
                        .is_ok_and(|ranks| ranks.iter().all(|rank| members.contains(rank)));
                if is_within {
                    (*state).attached = none(FallbackReason::NoCommunicator);
                }
            }
        }
    }

    /// # Safety
    ///
    /// As in [`Self::give_private`].
    unsafe fn make_private(
        &self,
        state: *mut State,
    ) -> Result<Result<Private, FallbackReason>, ExecError> {
        // SAFETY: the caller's.
        let (on, nodes, rules) = unsafe {
            let Ok(attached) = &(*state).attached else {
                return Ok(Err(FallbackReason::NoCommunicator));
            };
            let rules = Rc::clone(&attached.rules);
            ((*state).communicator, attached.nodes.clone(), rules)
        };
        // SAFETY: the caller's.
        let made = unsafe { self.share_or_duplicate(on)? };
        let Some(mut private) = made else {
            return Ok(Err(FallbackReason::NoCommunicator));
        };
        if let Some(nodes) = nodes {
            private.communicator.set_nodes(nodes);
        }
        let is_shared = |choice: &Choice| choice.candidate.parameters().through == Through::Shared;
        if any(&rules, is_shared) {
            private.lacking = self.means.open_channels(&mut private.communicator)?;
            self.make_room(&mut private)?;
        }
        Ok(Ok(private))
    }

    /// A communicator for our messages; `None` on all ranks if the library has no more, or we have too many.
    ///
    /// # Safety
    ///
    /// A valid intracommunicator whose errors are returned; nothing of any state is borrowed.
    unsafe fn share_or_duplicate(&self, on: MPI_Comm) -> Result<Option<Private>, ExecError> {
        let ours = self.private();
        // SAFETY: states that are live have not been freed, nor has the private communicator of one.
        let alike = unsafe {
            let mut latest = ours.values().rev();
            latest.find(|state| private_of(**state).is_some_and(|other| is_congruent(on, other)))
        };
        // SAFETY: as before.
        let alike = alike.and_then(|state| unsafe { private_of(*state) });
        // Whether all ranks still have the same one, and a number that none of them has used.
        let number = alike.map_or(0, |private| private.number);
        let mut most = [
            self.next_private.get(),
            number,
            -number,
            ours.len() as c_int,
        ];
        // SAFETY: the caller's.
        unsafe { greatest(on, &mut most)? };
        let [next, greatest_number, least_number, count] = most;
        self.next_private.set(next.saturating_add(1));
        let is_common = number > 0 && greatest_number == -least_number;
        if let Some(alike) = alike.filter(|_| is_common && next <= most_tag()) {
            return Ok(Some(Private {
                communicator: alike.communicator.sharing(next),
                number,
                lacking: None,
            }));
        }
        if count >= MOST_PRIVATE {
            return Ok(None);
        }
        // SAFETY: the caller's.
        let made = unsafe { Communicator::duplicate_of_raw(on) };
        let mut failed = [i32::from(made.is_err())];
        // SAFETY: the caller's.
        unsafe { greatest(on, &mut failed)? };
        let made = made.ok().filter(|_| failed == [0]);
        Ok(made.map(|communicator| Private {
            communicator,
            number: next,
            lacking: None,
        }))
    }

    /// Our communicators of the library by number, each with the state of a communicator that uses it.
    fn private(&self) -> BTreeMap<c_int, *mut State> {
        let with_number = |state: *mut State| {
            // SAFETY: states that are live have not been freed.
            let private = unsafe { private_of(state)? };
            Some((private.number, state))
        };
        let live = self.attributes.live().into_iter();
        live.filter_map(with_number).collect()
    }
}

/// # Safety
///
/// The state has not been freed, and is not changed while the result is in use.
unsafe fn private_of<'a>(state: *mut State) -> Option<&'a Private> {
    // SAFETY: the caller's.
    unsafe { (*state).attached.as_ref().ok()?.private.as_ref() }
}

/// # Safety
///
/// A valid communicator.
unsafe fn is_intracommunicator(communicator: MPI_Comm) -> bool {
    let mut is_inter = 0;
    // SAFETY: the caller's; the result is written by the call.
    let code = unsafe { ffi::PMPI_Comm_test_inter(communicator, &mut is_inter) };
    code == 0 && is_inter == 0
}

/// Whether an error of creating a communicator may say that the library has no more, and not that arguments are wrong.
fn may_be_exhausted(code: c_int) -> bool {
    let mut class = 0;
    // SAFETY: the result is written by the call.
    let known = unsafe { ffi::PMPI_Error_class(code, &mut class) };
    known == 0 && [ffi::MPI_ERR_OTHER, ffi::MPI_ERR_INTERN].contains(&(class as u32))
}

/// Whether a communicator has the ranks of a private one, in the same order.
///
/// # Safety
///
/// The communicator is valid.
unsafe fn is_congruent(communicator: MPI_Comm, private: &Private) -> bool {
    // SAFETY: the caller's; the result is written by the call.
    unsafe {
        let mut outcome = ffi::RSMPI_UNEQUAL;
        let private = private.communicator.raw();
        let code = ffi::PMPI_Comm_compare(communicator, private, &mut outcome);
        code == 0 && outcome == ffi::RSMPI_CONGRUENT
    }
}

/// The greatest tag that the library allows, 32767 or more (MPI 4.0, section 9.1.2).
fn most_tag() -> c_int {
    const LEAST: c_int = 32767;
    let (mut value, mut flag) = (std::ptr::null_mut::<c_int>(), 0);
    // SAFETY: the result is the address of a number, written by the call.
    unsafe {
        let code = ffi::PMPI_Comm_get_attr(
            ffi::RSMPI_COMM_WORLD,
            ffi::MPI_TAG_UB as c_int,
            (&raw mut value).cast::<c_void>(),
            &mut flag,
        );
        if code == 0 && flag != 0 && !value.is_null() {
            value.read()
        } else {
            LEAST
        }
    }
}
