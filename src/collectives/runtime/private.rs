//! Private communicators: made for the first call that one of our algorithms carries out, shared, and given back.
//!
//! A library has few communicators (about two thousand under MPICH), and the program needs them. So the first
//! communicator with all ranks that loaded the table gets one of the library's, the *base*, and all of the program's
//! communicators use that from then on, also those with some of the ranks. Before there is a base, those with the same
//! ranks in the same order share one. Each has a tag of its own, since programs may be ahead on one of them.
//!
//! The first call that one of our algorithms is to carry out is the same one on all ranks, so they make the private
//! communicator there, and agree on its tag.
//!
//! Where threads call MPI at the same time, each of the program's communicators has one of the library's instead, which is
//! freed with it ([`crate::threads`]).

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;

use exec::constants::MPI_Comm;
use exec::{Communicator, ExecError};
use mpi::ffi;
use schedule::Collective;
use table::dispatch::Choice;
use vocabulary::Through;

use crate::agree::maximum_over_ranks;
use crate::attach::{SilencedCommunicator, any_choice};
use crate::nonblocking::first_tag_of_calls;
use crate::place::{ranks_in, world_ranks};
use crate::serve::why_all_passed;
use crate::state::{Attached, HeldCommunicator, PrivateCommunicator, Reasons, State, agreed};
use crate::{Dispatcher, FallbackReason};

/// The most communicators of the library that we have at a time before there is a base.
const MOST_PRIVATE: c_int = 16;

/// The most that we have at a time where threads call MPI at the same time, as far as threads see each other's: a small
/// part of the library's, since nothing is given back for the program's own.
const MOST_OF_THREADS: c_int = 32;

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
            (Err(reason), _) => {
                *attached = Err(reasons_without_private(attached, reason));
                // The call for which it is made would be ours.
                self.tell_of_lacking_communicator();
            }
        }
    }

    /// Gives back all communicators of ours whose ranks are among some, given by their ranks in `MPI_COMM_WORLD`. The
    /// library carries out the calls on the program's communicators that used them from now on. All of these ranks must
    /// do this between the same two calls.
    pub(crate) fn give_back(&self, members: &HashSet<c_int>) {
        for state in self.states_using(&self.held_within(members)) {
            // SAFETY: states that are live have not been freed.
            unsafe {
                let attached = &mut (*state).attached;
                *attached = Err(reasons_without_private(
                    attached,
                    FallbackReason::NoCommunicator,
                ));
            }
        }
        if self.has_base_within(members) {
            self.base().replace(None);
        }
    }

    /// Whether [`Self::give_back`] would give something back.
    pub(crate) fn holds_within(&self, members: &HashSet<c_int>) -> bool {
        self.has_base_within(members) || !self.held_within(members).is_empty()
    }

    /// All states, which no other thread uses or frees.
    pub(crate) fn live_states(&self) -> Vec<*mut State> {
        debug_assert!(!self.is_multiple, "other threads use and free states");
        self.attributes.live()
    }

    /// The base, if there is one.
    fn base(&self) -> &RefCell<Option<PrivateCommunicator>> {
        debug_assert!(!self.is_multiple, "threads share no base");
        &self.attributes.base
    }

    /// Whether there is a base whose ranks are among some.
    fn has_base_within(&self, members: &HashSet<c_int>) -> bool {
        let base = self.base().borrow();
        base.as_ref().is_some_and(|own| own.held.is_within(members))
    }

    /// Whether we have any communicator of the library.
    pub(crate) fn holds_any(&self) -> bool {
        self.base().borrow().is_some() || !self.held_communicators().is_empty()
    }

    /// The numbers of our communicators of the library whose ranks are among some.
    fn held_within(&self, members: &HashSet<c_int>) -> HashSet<c_int> {
        let is_within = |state: &*mut State| {
            // SAFETY: states that are live have not been freed.
            let private = unsafe { private_of(*state) };
            private.is_some_and(|private| private.held.is_within(members))
        };
        // Each is checked once, however many states use it.
        let held = self.held_communicators().into_iter();
        held.filter(|(_, state)| is_within(state))
            .map(|(number, _)| number)
            .collect()
    }

    /// The states that use communicators of the library with some numbers.
    fn states_using(&self, numbers: &HashSet<c_int>) -> Vec<*mut State> {
        let uses = |state: &*mut State| {
            // SAFETY: states that are live have not been freed.
            let private = unsafe { private_of(*state) };
            private.is_some_and(|private| numbers.contains(&private.held.number))
        };
        self.live_states().into_iter().filter(uses).collect()
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
            let rules = Arc::clone(&attached.rules);
            ((*state).communicator, attached.nodes.clone(), rules)
        };
        // SAFETY: the caller promises the state of a valid intracommunicator, and that nothing of any state is borrowed.
        let made = unsafe {
            if self.is_multiple {
                self.duplicate_for_threads(on)?
            } else {
                self.share_or_duplicate(state)?
            }
        };
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

    /// A communicator of the library for the messages on one of the program's alone; `None` on all ranks if the library has
    /// no more, or some rank has too many, or has created so much that the program may need the library's last ones.
    ///
    /// # Safety
    ///
    /// `on` is a valid intracommunicator whose errors are returned.
    unsafe fn duplicate_for_threads(
        &self,
        on: MPI_Comm,
    ) -> Result<Option<PrivateCommunicator>, ExecError> {
        let user = Arc::clone(&self.private_users);
        // Without the dispatcher's own share and this one.
        let own = Arc::strong_count(&user).saturating_sub(2) as c_int;
        let mut most = [own, i32::from(self.has_created_many())];
        // SAFETY: the caller promises a valid intracommunicator.
        unsafe { maximum_over_ranks(on, &mut most)? };
        let [held, has_created_many] = most;
        if held >= MOST_OF_THREADS || has_created_many != 0 {
            return Ok(None);
        }
        // SAFETY: the caller promises a valid intracommunicator whose errors are returned.
        let made = unsafe { agreed(on, Communicator::duplicate_of_raw(on)) };
        let private = |communicator| PrivateCommunicator {
            communicator,
            held: Rc::new(HeldCommunicator {
                // Only shared communicators are looked up by their numbers.
                number: 0,
                world_ranks: Vec::new(),
                next_tag: Cell::new(1),
                _user: Some(user),
            }),
            lacking: None,
        };
        Ok(made.ok().map(private))
    }

    /// A communicator for the messages on a state's; `None` on all ranks if the library has no more, we have too many, or
    /// the one to share has no tags left.
    ///
    /// # Safety
    ///
    /// The state is that of a valid intracommunicator whose errors are returned; nothing of any state is borrowed.
    unsafe fn share_or_duplicate(
        &self,
        state: *mut State,
    ) -> Result<Option<PrivateCommunicator>, ExecError> {
        // SAFETY: the caller promises a state that has not been freed, and that its communicator is valid.
        let (on, found, ranks) = unsafe {
            let on = (*state).communicator;
            (on, self.sharable(on), world_ranks(on)?)
        };
        // Whether all ranks have found the same one, and a tag on it that none of them has used; and a number that none
        // of them has used, if a new one is made.
        let (number, next_tag) = found.as_ref().map_or((0, 0), |sharable| {
            (sharable.held.number, sharable.held.next_tag.get())
        });
        let own_held = self.held_communicators().len() as c_int;
        let mut most = [self.next_private.get(), number, -number, next_tag, own_held];
        // SAFETY: the caller promises that `on`, the state's, is a valid intracommunicator.
        unsafe { maximum_over_ranks(on, &mut most)? };
        let [next, greatest_number, least_number, tag, held] = most;
        let is_common = number > 0 && greatest_number == -least_number;
        if let Some(found) = found.filter(|_| is_common) {
            // Another one would take the place of one that works.
            if tag >= first_tag_of_calls(most_tag()) {
                return Ok(None);
            }
            found.held.next_tag.set(tag + 1);
            return Ok(Some(PrivateCommunicator {
                communicator: found
                    .communicator
                    .communicator_of_members(tag, &found.members)?,
                held: found.held,
                lacking: None,
            }));
        }
        let is_whole = self.is_whole(&ranks);
        if held >= MOST_PRIVATE && !is_whole {
            // SAFETY: the caller promises a state that has not been freed, of which nothing is borrowed.
            unsafe { (*state).awaits_base = true };
            return Ok(None);
        }
        self.next_private.set(next.saturating_add(1));
        // SAFETY: the caller promises that `on`, the state's, is a valid intracommunicator whose errors are returned.
        let made = unsafe { agreed(on, Communicator::duplicate_of_raw(on)) };
        let Ok(duplicate) = made else {
            return Ok(None);
        };
        let new_held = Rc::new(HeldCommunicator {
            number: next,
            world_ranks: ranks,
            // The one for this state has tag 0.
            next_tag: Cell::new(1),
            _user: None,
        });
        let private = |communicator| PrivateCommunicator {
            communicator,
            held: Rc::clone(&new_held),
            lacking: None,
        };
        if is_whole {
            self.set_base(private(duplicate.share_with_tag(0)));
        }
        Ok(Some(private(duplicate)))
    }

    /// A communicator of ours that another one may use: the base, or one with the same ranks in the same order.
    ///
    /// # Safety
    ///
    /// As in [`Self::share_or_duplicate`].
    unsafe fn sharable(&self, on: MPI_Comm) -> Option<Sharable> {
        if let Some(base) = &*self.base().borrow() {
            // SAFETY: the caller promises that `on` is a valid intracommunicator; the base is ours.
            let members = unsafe { ranks_in(base.communicator.raw(), on).ok()? };
            // SAFETY: a constant of the library.
            if !members.contains(unsafe { &ffi::RSMPI_UNDEFINED }) {
                return Some(Sharable {
                    communicator: base.communicator.share_with_tag(0),
                    held: Rc::clone(&base.held),
                    members,
                });
            }
        }
        let users = self.held_communicators();
        let mut latest = users.values().rev();
        latest.find_map(|state| {
            // SAFETY: states that are live have not been freed, nor has the private communicator of one.
            let private = unsafe { private_of(*state).filter(|other| is_congruent(on, other))? };
            Some(Sharable {
                communicator: private.communicator.share_with_tag(0),
                held: Rc::clone(&private.held),
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

    /// Sets the base. All communicators of its ranks use it from their next call on, and our others are freed. All of its
    /// ranks do so between the same two calls on each communicator whose ranks are among them.
    fn set_base(&self, base: PrivateCommunicator) {
        let members: HashSet<c_int> = base.held.world_ranks.iter().copied().collect();
        self.admit_refused(&members);
        for state in self.states_using(&self.held_within(&members)) {
            // SAFETY: states that are live have not been freed.
            if let Ok(attached) = unsafe { &mut (*state).attached } {
                // Plans are for the communicator that they were made with.
                attached.drop_plans();
                attached.private = None;
            }
        }
        self.base().replace(Some(base));
    }

    /// Lets communicators whose ranks are among some be served, if they have not been because we had too many.
    fn admit_refused(&self, members: &HashSet<c_int>) {
        for state in self.live_states() {
            // SAFETY: states that are live have not been freed, nor have their communicators.
            unsafe {
                let awaits_base = (*state).awaits_base;
                let ranks = awaits_base.then(|| world_ranks((*state).communicator).ok());
                let is_within = |found: Vec<c_int>| found.iter().all(|rank| members.contains(rank));
                if ranks.flatten().is_some_and(is_within) {
                    (*state).attach_again();
                }
            }
        }
    }

    /// Our communicators of the library by number, each with the state of a communicator that uses it.
    fn held_communicators(&self) -> BTreeMap<c_int, *mut State> {
        let with_number = |state: *mut State| {
            // SAFETY: states that are live have not been freed.
            let private = unsafe { private_of(state)? };
            Some((private.held.number, state))
        };
        let live = self.live_states().into_iter();
        live.filter_map(with_number).collect()
    }
}

/// The reasons why calls on a communicator are passed on that has no private one: that one, unless its rules leave all
/// calls of a collective to the library anyway.
fn reasons_without_private(
    attached: &Result<Attached, Reasons>,
    reason: FallbackReason,
) -> Reasons {
    let lacks_any = |collective| match attached {
        Ok(known) => known.least_bytes(collective) != u64::MAX,
        Err(_) => true,
    };
    Box::new(Collective::ALL.map(|collective| {
        if lacks_any(collective) {
            reason
        } else {
            why_all_passed(attached, collective)
        }
    }))
}

/// A communicator of ours that one of the program's may use.
struct Sharable {
    communicator: Communicator,
    held: Rc<HeldCommunicator>,
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
pub(crate) fn most_tag() -> c_int {
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
