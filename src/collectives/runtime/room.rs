//! Room for the program's own communicators, windows and files: the last ones of the library are never ours, as far as
//! the ranks that create something can see to that.
//!
//! A communicator of ours can be given back only where all of its ranks stop using it between the same two calls: in a
//! blocking call in which all of them take part. Freeing one is local in the libraries.
//!
//! The ranks of MPICH find out together that they lack a context id, by a reduction of masks, and so do those of Open MPI
//! if they have equally many. So each rank calls a function again that needs a single one, without asking the others.
//! Other functions fail on some ranks while others wait, or crash (windows and files in MPICH 4.0.2), and
//! `MPI_Intercomm_create` has exchanged messages before it needs one. Before these, the ranks agree whether the library has
//! enough, also across both groups (`bridge.rs`). Where ranks of another world take part, nothing is given back.
//!
//! Where threads call MPI at the same time, nothing is given back either ([`crate::threads`]). Instead there is a low limit
//! to ours, and none is made once the program has created much (`private.rs`).

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use exec::constants::MPI_Comm;
use exec::{Communicator, ExecError, check_code};
use mpi::ffi;

use crate::agree::{maximum_over_ranks, rank_and_size};
use crate::attach::{ErrorHandler, SilencedCommunicator};
use crate::place::{group_ranks_in, is_of_this_world, world_ranks};
use crate::{Dispatcher, FallbackReason};

/// The number of the library's communicators that one call of the program needs at most: Open MPI's windows of allocated
/// memory need three.
const NEEDED: usize = 4;

/// The number of the program's creations up to which every library has enough communicators: of the known ones MPICH has
/// the fewest, 2046.
const FEW_CREATIONS: c_int = 512;

/// The ranks that create something together.
#[derive(Clone, Copy, Debug)]
pub enum Creators {
    /// Those of the communicator that the call is on.
    All,
    /// Those of a group.
    Group(ffi::MPI_Group),
}

impl Dispatcher {
    /// Creates a communicator. If the library has no more, gives back those of ours whose ranks all take part, and tries
    /// again. All ranks do the same, also those that have none of ours: the library finds out together that it has no
    /// more. Where ranks of another world take part, which may be without colltune, nothing is tried again. Over an
    /// intercommunicator there is room before, see [`Self::give_room`].
    ///
    /// # Safety
    ///
    /// `old` and a group in `creators` are valid, and `make` is collective over the group, if there is one, or over
    /// `old`. If it succeeds, it has written the new one to `made`.
    pub unsafe fn create(
        &self,
        old: MPI_Comm,
        creators: Creators,
        made: *mut MPI_Comm,
        make: &dyn Fn() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises that `old` and a group in `creators` are valid, and that `made` holds the new
        // communicator once `make` has succeeded.
        unsafe {
            if self.is_multiple {
                if !self.busy.is_set() {
                    self.count_creation();
                }
                return self.create_with_own_handler(old, made, make);
            }
            if !self.busy.is_set() && !is_intracommunicator(old) {
                self.give_room(old);
                return make();
            }
            self.count_creation();
            // Ours have two ranks or more.
            let may_give = !self.busy.is_set() && count_creators(old, creators) > 1;
            let silenced = may_give.then(|| SilencedCommunicator::new(old));
            let Some(Ok(silenced)) = silenced else {
                return make();
            };
            let code = make();
            if code == 0 {
                // The new one has inherited the handler of the silenced one.
                silenced.handler().give_to(*made);
                return code;
            }
            drop(silenced);
            // Only now, since libraries take long to translate many ranks.
            let ranks = match creators {
                Creators::All => world_ranks(old),
                Creators::Group(group) => world_ranks_of(group),
            };
            let ranks = ranks.ok().filter(|ranks| !has_foreign(ranks));
            let Some(ranks) = ranks.filter(|_| may_be_exhausted(code)) else {
                ffi::PMPI_Comm_call_errhandler(old, code);
                return code;
            };
            self.give_back(&ranks.into_iter().collect());
            // Errors go to the program's handler now.
            make()
        }
    }

    /// Creates a communicator with the error handler that the program has given the old one. Where threads call MPI at the
    /// same time, another one may have silenced that, and the new one would inherit the handler that does so.
    ///
    /// # Safety
    ///
    /// `old` is valid. If `make` succeeds, it has written the new communicator to `made`.
    pub unsafe fn create_with_own_handler(
        &self,
        old: MPI_Comm,
        made: *mut MPI_Comm,
        make: &dyn Fn() -> c_int,
    ) -> c_int {
        // What the library makes for a call of ours is not the program's.
        if !self.is_multiple || self.busy.is_set() {
            return make();
        }
        // SAFETY: the caller promises that `old` is valid.
        let handler = unsafe { ErrorHandler::of_program(old) };
        let code = make();
        if code == 0
            && let Ok(handler) = handler
        {
            // SAFETY: the caller promises that the new communicator has been written; only this thread knows it.
            unsafe { handler.give_to(*made) };
        }
        code
    }

    /// Gives communicators of ours back before a call over a communicator that creates something else than what
    /// [`Self::create`] does, if the library has hardly any left. Such a call cannot be tried again: libraries crash in
    /// it, or single ranks fail while others wait. Collective over the communicator.
    ///
    /// # Safety
    ///
    /// The communicator is valid.
    pub unsafe fn give_room(&self, on: MPI_Comm) {
        if self.busy.is_set() {
            return;
        }
        self.count_creation();
        if self.is_multiple {
            return;
        }
        self.with_library_collectives(|| {
            // SAFETY: the caller promises that the communicator is valid.
            unsafe {
                // An error concerns the call that follows, which reports it.
                let _ = if is_intracommunicator(on) {
                    self.give_room_within(on)
                } else {
                    self.give_room_between(on)
                };
            }
        });
    }

    /// Counts a call by which the program creates something.
    pub fn count_creation(&self) {
        let count = |creations: c_int| creations.checked_add(1);
        // A number that is too large for another one stays.
        let _ = self
            .creations
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
    }

    /// # Safety
    ///
    /// `on` is a valid intracommunicator.
    unsafe fn give_room_within(&self, on: MPI_Comm) -> Result<(), ExecError> {
        // SAFETY: the caller promises that `on` is a valid intracommunicator.
        unsafe {
            // Ours have two ranks or more.
            if rank_and_size(on)?.1 < 2 {
                return Ok(());
            }
            // Ranks of other worlds may be without colltune, so nothing is sent to them.
            if !self.is_known_of_this_world(on) && !is_of_this_world(on)? {
                return Ok(());
            }
            let _silenced = SilencedCommunicator::new(on)?;
            self.give_room_among(on)
        }
    }

    /// Whether a communicator has been used by a collective of ours or of the library, and been found to have no ranks of
    /// another world: libraries take long to translate many ranks.
    ///
    /// # Safety
    ///
    /// A valid intracommunicator of two ranks or more.
    unsafe fn is_known_of_this_world(&self, on: MPI_Comm) -> bool {
        // SAFETY: the caller promises a valid communicator; the state of a live one has not been freed.
        unsafe {
            let state = self.attributes.find_state(on).as_ref();
            state.is_some_and(|state| match &state.attached {
                Ok(_) => true,
                Err(reasons) => !reasons.contains(&FallbackReason::OtherWorld),
            })
        }
    }

    /// # Safety
    ///
    /// A valid intracommunicator whose errors are returned, with all ranks in `MPI_COMM_WORLD`.
    pub(crate) unsafe fn give_room_among(&self, on: MPI_Comm) -> Result<(), ExecError> {
        // SAFETY: the caller promises that `on` is a valid intracommunicator.
        unsafe {
            let may_take = self.may_lack_room()
                && world_ranks(on)
                    .is_ok_and(|ranks| self.holds_within(&ranks.into_iter().collect()));
            let mut may_lack = [i32::from(may_take)];
            maximum_over_ranks(on, &mut may_lack)?;
            if may_lack == [0] {
                return Ok(());
            }
            let mut lacks = [i32::from(!has_room(|| Communicator::duplicate_of_raw(on)))];
            maximum_over_ranks(on, &mut lacks)?;
            if lacks != [0] {
                self.give_back(&world_ranks(on)?.into_iter().collect());
            }
            Ok(())
        }
    }

    /// The same for both groups of an intercommunicator.
    ///
    /// # Safety
    ///
    /// `on` is a valid intercommunicator.
    unsafe fn give_room_between(&self, on: MPI_Comm) -> Result<(), ExecError> {
        // SAFETY: the caller promises that `on` is a valid intercommunicator; the groups are written by the calls, and
        // freed.
        unsafe {
            let (mut own, mut other) = (ffi::RSMPI_GROUP_NULL, ffi::RSMPI_GROUP_NULL);
            check_code("MPI_Comm_group", ffi::PMPI_Comm_group(on, &mut own))?;
            let code = ffi::PMPI_Comm_remote_group(on, &mut other);
            check_code("MPI_Comm_remote_group", code)?;
            let done = self.give_room_to(on, own, other);
            ffi::PMPI_Group_free(&mut own);
            ffi::PMPI_Group_free(&mut other);
            done
        }
    }

    /// # Safety
    ///
    /// `on` is a valid intercommunicator, and `own` and `other` are its groups.
    unsafe fn give_room_to(
        &self,
        on: MPI_Comm,
        own: ffi::MPI_Group,
        other: ffi::MPI_Group,
    ) -> Result<(), ExecError> {
        // SAFETY: the caller promises a valid intercommunicator and its groups, and this rank belongs to `own`;
        // `MPI_COMM_WORLD` is a constant of the library.
        unsafe {
            let mut ranks = world_ranks_of(own)?;
            ranks.extend(world_ranks_of(other)?);
            if has_foreign(&ranks) {
                return Ok(());
            }
            let world = ffi::RSMPI_COMM_WORLD;
            let _silenced = (
                SilencedCommunicator::new(on)?,
                SilencedCommunicator::new(world)?,
            );
            let may_take =
                self.may_lack_room() && self.holds_within(&ranks.iter().copied().collect());
            if greatest_between(on, i32::from(may_take))? == 0 {
                return Ok(());
            }
            // A group must not fail in the call while the other one waits for it, so each tries alone. MPICH 4.0.2 would
            // crash here, had it never been asked for the group of `MPI_COMM_WORLD`.
            let lacks = !has_room(|| Communicator::of_group(world, own));
            if greatest_between(on, i32::from(lacks))? != 0 {
                self.give_back(&ranks.into_iter().collect());
            }
            Ok(())
        }
    }

    /// Whether the library may lack communicators, and we have any.
    pub(crate) fn may_lack_room(&self) -> bool {
        self.has_created_many() && self.holds_any()
    }

    /// Whether the program has created so much that the library may have few communicators left.
    pub(crate) fn has_created_many(&self) -> bool {
        self.creations.load(Ordering::Relaxed) > FEW_CREATIONS
    }
}

/// Whether the library has all communicators that a call may need.
///
/// That says nothing of later calls: each may take as many, and what the program frees is not seen. Finding more at once
/// would be no cheaper, since each later call would need as many of those found.
pub(crate) fn has_room(mut make: impl FnMut() -> Result<Communicator, ExecError>) -> bool {
    let made: Vec<Communicator> = (0..NEEDED).map_while(|_| make().ok()).collect();
    made.len() == NEEDED
}

/// Whether some of these ranks in `MPI_COMM_WORLD` belong to another world.
pub(crate) fn has_foreign(ranks: &[c_int]) -> bool {
    // SAFETY: a constant of the library.
    ranks.contains(unsafe { &ffi::RSMPI_UNDEFINED })
}

/// The number of ranks that create something together over a communicator; 0 if the library does not know it.
///
/// # Safety
///
/// A valid communicator, and a valid group.
unsafe fn count_creators(old: MPI_Comm, creators: Creators) -> c_int {
    let mut size = 0;
    // SAFETY: the caller promises that `old` is valid for these creators; the result is written by the call.
    let code = unsafe {
        match creators {
            Creators::All => ffi::PMPI_Comm_size(old, &mut size),
            Creators::Group(group) => ffi::PMPI_Group_size(group, &mut size),
        }
    };
    if code == 0 { size } else { 0 }
}

/// For each rank of a group, its rank in `MPI_COMM_WORLD`, or `MPI_UNDEFINED`.
///
/// # Safety
///
/// The group is valid.
unsafe fn world_ranks_of(group: ffi::MPI_Group) -> Result<Vec<c_int>, ExecError> {
    // SAFETY: the caller promises that the group is valid; `MPI_COMM_WORLD` is a constant of the library.
    unsafe { group_ranks_in(ffi::RSMPI_COMM_WORLD, group) }
}

/// The maximum over both groups of an intercommunicator. Collective.
///
/// # Safety
///
/// `on` is a valid intercommunicator.
unsafe fn greatest_between(on: MPI_Comm, number: c_int) -> Result<c_int, ExecError> {
    // Each group gets what the other one has, which it then returns.
    let mut of_other = [number];
    // SAFETY: the caller promises that `on` is a valid intercommunicator.
    unsafe { maximum_over_ranks(on, &mut of_other)? };
    let mut of_own = of_other;
    // SAFETY: the caller promises that `on` is a valid intercommunicator.
    unsafe { maximum_over_ranks(on, &mut of_own)? };
    Ok(of_other[0].max(of_own[0]))
}

/// # Safety
///
/// The communicator is valid.
pub(crate) unsafe fn is_intracommunicator(communicator: MPI_Comm) -> bool {
    let mut is_inter = 0;
    // SAFETY: the caller promises that the communicator is valid; the result is written by the call.
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
