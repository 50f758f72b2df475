//! Private communicators: made for the first call that one of our algorithms carries out, shared, and given back.
//!
//! A library has few communicators (about two thousand under MPICH), and the program needs them. So the first
//! communicator with all ranks that loaded the table gets one of the library's, the *base*, and all of the program's
//! communicators use that from then on, also those with some of the ranks. Before there is a base, those with the same
//! ranks in the same order share one. Each has a tag of its own, since programs may be ahead on one of them.
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

use crate::agree::maximum_over_ranks;
use crate::attach::{SilencedCommunicator, any_choice};
use crate::place::{ranks_in, world_ranks};
use crate::plan::Plans;
use crate::state::{PrivateCommunicator, State, agreed, pass_on_all};
use crate::{Dispatcher, FallbackReason};

/// The most communicators of the library that we have at a time before there is a base.
const MOST_PRIVATE: c_int = 16;

impl Dispatcher {
    /// Makes the private communicator of an attached one, or leaves all calls on it to the library. Collective, with the
    /// same outcome on all ranks.
    ///
    /// # Safety
    ///
    /// The state is that of a valid communicator, and nothing of any state is borrowed.
    pub(crate) unsafe fn give_private(&self, state: *mut State) {
        let made = self.with_library_collectives(|| {
            // SAFETY: the caller promises that the state is that of a valid communicator, and that nothing of any state
            // is borrowed.
            unsafe {
                let silenced = SilencedCommunicator::new((*state).communicator);
                silenced.and_then(|_silenced| self.make_private(state))
            }
        });
        let made = made.unwrap_or(Err(FallbackReason::NoCommunicator));
        if let Ok(private) = &made {
            self.tell_if_without_channels(private.lacking);
        }
        // SAFETY: the caller promises that the state is that of a valid communicator, so it has not been freed, and
        // that nothing of it is borrowed.
        let attached = unsafe { &mut (*state).attached };
        match (made, &mut *attached) {
            (Ok(private), Ok(attached)) => attached.private = Some(private),
            (Ok(_), Err(_)) => {}
            (Err(reason), _) => *attached = pass_on_all(reason),
        }
    }

    /// Gives back all communicators of ours whose ranks are among some, given by their ranks in `MPI_COMM_WORLD`. The
    /// library carries out the calls on the program's communicators that used them from now on. All of these ranks must
    /// do this between the same two calls.
    pub(crate) fn give_back(&self, members: &HashSet<c_int>) {
        for state in self.users_within(members) {
            // SAFETY: states that are live have not been freed.
            unsafe { (*state).attached = pass_on_all(FallbackReason::NoCommunicator) };
        }
        if self.has_base_within(members) {
            self.attributes.base.replace(None);
        }
    }

    /// Whether [`Self::give_back`] would give something back.
    pub(crate) fn holds_within(&self, members: &HashSet<c_int>) -> bool {
        self.has_base_within(members) || !self.users_within(members).is_empty()
    }

    /// Whether there is a base whose ranks are among some.
    fn has_base_within(&self, members: &HashSet<c_int>) -> bool {
        let base = self.attributes.base.borrow();
        // SAFETY: the base is ours, and has not been freed.
        let is_within = |own_base: &PrivateCommunicator| unsafe { is_within(own_base, members) };
        base.as_ref().is_some_and(is_within)
    }

    /// Whether we have any communicator of the library.
    pub(crate) fn holds_any(&self) -> bool {
        self.attributes.base.borrow().is_some() || !self.numbers().is_empty()
    }

    /// The states that use a communicator of the library whose ranks are among some.
    fn users_within(&self, members: &HashSet<c_int>) -> Vec<*mut State> {
        let uses = |state: &*mut State| {
            // SAFETY: states that are live have not been freed, nor have our communicators that they use.
            unsafe { private_of(*state).is_some_and(|private| is_within(private, members)) }
        };
        self.attributes.live().into_iter().filter(uses).collect()
    }

    /// # Safety
    ///
    /// As in [`Self::give_private`]; the communicator's errors are returned.
    unsafe fn make_private(
        &self,
        state: *mut State,
    ) -> Result<Result<PrivateCommunicator, FallbackReason>, ExecError> {
        // SAFETY: the caller promises that the state is that of a valid communicator, and that nothing of it is
        // borrowed.
        let (on, nodes, rules) = unsafe {
            let Ok(attached) = &(*state).attached else {
                return Ok(Err(FallbackReason::NoCommunicator));
            };
            let rules = Rc::clone(&attached.rules);
            ((*state).communicator, attached.nodes.clone(), rules)
        };
        // SAFETY: the caller promises a valid communicator whose errors are returned, and that nothing of any state is
        // borrowed; those that are attached are intracommunicators.
        let made = unsafe { self.share_or_duplicate(on)? };
        let Some(mut private) = made else {
            return Ok(Err(FallbackReason::NoCommunicator));
        };
        if let Some(nodes) = nodes {
            private.communicator.set_nodes(nodes);
        }
        let is_shared = |choice: &Choice| choice.candidate.parameters().through == Through::Shared;
        if any_choice(&rules, is_shared) {
            // SAFETY: the caller promises a valid communicator whose errors are returned; the private one has its
            // ranks.
            unsafe {
                let communicator = &mut private.communicator;
                private.lacking = self.means.open_channels(communicator, on)?;
                self.make_room(&mut private, on)?;
            }
        }
        Ok(Ok(private))
    }

    /// A communicator for our messages; `None` on all ranks if the library has no more, or we have too many.
    ///
    /// # Safety
    ///
    /// `on` is a valid intracommunicator whose errors are returned; nothing of any state is borrowed.
    unsafe fn share_or_duplicate(
        &self,
        on: MPI_Comm,
    ) -> Result<Option<PrivateCommunicator>, ExecError> {
        // SAFETY: the caller promises that `on` is a valid intracommunicator.
        let (found, ranks) = unsafe { (self.sharable(on), world_ranks(on)?) };
        // Whether all ranks have found the same one, and a tag that none of them has used.
        let number = found.as_ref().map_or(0, |found| found.number);
        let own_held = self.numbers().len() as c_int;
        let mut most = [self.next_private.get(), number, -number, own_held];
        // SAFETY: the caller promises that `on` is a valid intracommunicator.
        unsafe { maximum_over_ranks(on, &mut most)? };
        let [next, greatest_number, least_number, held] = most;
        self.next_private.set(next.saturating_add(1));
        let is_common = number > 0 && greatest_number == -least_number;
        if let Some(found) = found.filter(|_| is_common && next <= most_tag()) {
            return Ok(Some(PrivateCommunicator {
                communicator: found
                    .communicator
                    .communicator_of_members(next, &found.members)?,
                number,
                lacking: None,
            }));
        }
        let is_whole = self.is_whole(&ranks);
        if held >= MOST_PRIVATE && !is_whole {
            return Ok(None);
        }
        // SAFETY: the caller promises that `on` is a valid intracommunicator whose errors are returned.
        let made = unsafe { agreed(on, Communicator::duplicate_of_raw(on)) };
        let Ok(duplicate) = made else {
            return Ok(None);
        };
        let private = |communicator| PrivateCommunicator {
            communicator,
            number: next,
            lacking: None,
        };
        if is_whole {
            let members = ranks.into_iter().collect();
            self.set_base(private(duplicate.share_with_tag(0)), &members);
        }
        Ok(Some(private(duplicate)))
    }

    /// A communicator of ours that another one may use: the base, or one with the same ranks in the same order.
    ///
    /// # Safety
    ///
    /// As in [`Self::share_or_duplicate`].
    unsafe fn sharable(&self, on: MPI_Comm) -> Option<Sharable> {
        if let Some(base) = &*self.attributes.base.borrow() {
            // SAFETY: the caller promises that `on` is a valid intracommunicator; the base is ours.
            let members = unsafe { ranks_in(base.communicator.raw(), on).ok()? };
            // SAFETY: a constant of the library.
            if !members.contains(unsafe { &ffi::RSMPI_UNDEFINED }) {
                return Some(Sharable {
                    communicator: base.communicator.share_with_tag(0),
                    number: base.number,
                    members,
                });
            }
        }
        let users = self.numbers();
        let mut latest = users.values().rev();
        latest.find_map(|state| {
            // SAFETY: states that are live have not been freed, nor has the private communicator of one.
            let private = unsafe { private_of(*state).filter(|other| is_congruent(on, other))? };
            Some(Sharable {
                communicator: private.communicator.share_with_tag(0),
                number: private.number,
                members: (0..private.communicator.size() as c_int).collect(),
            })
        })
    }

    /// Whether a communicator has all ranks that loaded the table, and no others.
    fn is_whole(&self, ranks: &[c_int]) -> bool {
        let mut ranks = ranks.to_vec();
        ranks.sort_unstable();
        ranks == self.loaded_over
    }

    /// Sets the base. All communicators of its ranks use it from their next call on, and our others are freed.
    fn set_base(&self, base: PrivateCommunicator, members: &HashSet<c_int>) {
        for state in self.users_within(members) {
            // SAFETY: states that are live have not been freed.
            if let Ok(attached) = unsafe { &mut (*state).attached } {
                // Plans are for the communicator that they were made with.
                attached.plans = Plans::default();
                attached.private = None;
            }
        }
        self.attributes.base.replace(Some(base));
    }

    /// Our communicators of the library by number, each with the state of a communicator that uses it.
    fn numbers(&self) -> BTreeMap<c_int, *mut State> {
        let with_number = |state: *mut State| {
            // SAFETY: states that are live have not been freed.
            let private = unsafe { private_of(state)? };
            Some((private.number, state))
        };
        let live = self.attributes.live().into_iter();
        live.filter_map(with_number).collect()
    }
}

/// A communicator of ours that one of the program's may use.
struct Sharable {
    communicator: Communicator,
    number: c_int,
    /// The ranks in it of the ranks that would use it.
    members: Vec<c_int>,
}

/// # Safety
///
/// The state has not been freed, and is not changed while the result is in use.
unsafe fn private_of<'a>(state: *mut State) -> Option<&'a PrivateCommunicator> {
    // SAFETY: the caller promises that the state has not been freed, and is not changed while the result is in use.
    unsafe { (*state).attached.as_ref().ok()?.private.as_ref() }
}

/// Whether all ranks of the library's communicator that a private one uses are among some.
///
/// # Safety
///
/// The library's communicator that the private one uses has not been freed.
unsafe fn is_within(private: &PrivateCommunicator, members: &HashSet<c_int>) -> bool {
    // SAFETY: the caller promises that the library's communicator has not been freed.
    let ranks = unsafe { world_ranks(private.communicator.raw()) };
    ranks.is_ok_and(|ranks| ranks.iter().all(|rank| members.contains(rank)))
}

/// Whether a communicator has the ranks of a private one, in the same order.
///
/// # Safety
///
/// The communicator is valid.
unsafe fn is_congruent(communicator: MPI_Comm, private: &PrivateCommunicator) -> bool {
    if private.communicator.is_part() {
        return false;
    }
    // SAFETY: the caller promises that the communicator is valid; the result is written by the call.
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
