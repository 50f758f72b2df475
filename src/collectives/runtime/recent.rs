//! A cache of recently used communicators.

use std::cell::Cell;

use exec::constants::MPI_Comm;
use mpi::ffi;

use crate::call::{handle_bits, mix_bits};
use crate::state::State;

/// Some communicators with their states. Querying an MPI attribute would take longer than everything else in a call.
///
/// There are two places for each handle, so that a program that uses two communicators in turn finds both.
#[derive(Debug)]
pub(crate) struct RecentStates([Cell<(MPI_Comm, *mut State)>; PLACES]);

const BITS: u32 = 4;
const PLACES: usize = 1 << BITS;

impl RecentStates {
    /// A cache without a communicator.
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Cell::new(vacant_entry())))
    }

    /// The state of a communicator, or null if it is not in the cache.
    #[inline(always)]
    pub(crate) fn find_state(&self, communicator: MPI_Comm) -> *mut State {
        let first = first_place(communicator);
        match self.0[first].get() {
            (known, state) if known == communicator => state,
            _ => self.get_second(communicator, first ^ 1),
        }
    }

    #[inline(never)]
    fn get_second(&self, communicator: MPI_Comm, second: usize) -> *mut State {
        match self.0[second].get() {
            (known, state) if known == communicator => state,
            _ => std::ptr::null_mut(),
        }
    }

    /// Adds a communicator that is not in the cache. One that was in its first place takes the second.
    pub(crate) fn add_state(&self, communicator: MPI_Comm, state: *mut State) {
        let first = first_place(communicator);
        let earlier = self.0[first].replace((communicator, state));
        if !earlier.1.is_null() {
            self.0[first ^ 1].set(earlier);
        }
    }

    /// Removes a state that is about to be freed.
    pub(crate) fn forget_state(&self, state: *mut State) {
        for place in &self.0 {
            if place.get().1 == state {
                place.set(vacant_entry());
            }
        }
    }
}

/// The place in which a communicator is looked up first.
#[inline(always)]
fn first_place(communicator: MPI_Comm) -> usize {
    (mix_bits(handle_bits(communicator)) >> (u64::BITS - BITS)) as usize
}

fn vacant_entry() -> (MPI_Comm, *mut State) {
    // SAFETY: a constant of the library.
    (unsafe { ffi::RSMPI_COMM_NULL }, std::ptr::null_mut())
}

#[cfg(test)]
mod tests {
    use exec::constants::MPI_Comm;

    use super::{RecentStates, first_place, vacant_entry};
    use crate::state::State;

    /// Handles and states that are not used as such.
    fn handle(number: u16) -> MPI_Comm {
        let (mut handle, _) = vacant_entry();
        // SAFETY: handles are integers or addresses, of at least four bytes.
        unsafe { (&raw mut handle).cast::<u16>().write(number) };
        handle
    }

    fn state(number: u16) -> *mut State {
        std::ptr::without_provenance_mut(1 + usize::from(number))
    }

    #[test]
    fn two_communicators_with_the_same_place_are_both_found() {
        let shares = |number: &u16| first_place(handle(*number)) == first_place(handle(1));
        let numbers: Vec<u16> = (1..).filter(shares).take(3).collect();
        let recent = RecentStates::new();
        let found = || -> Vec<bool> {
            let is_found = |number: &u16| recent.find_state(handle(*number)) == state(*number);
            numbers.iter().map(is_found).collect()
        };
        for number in &numbers[..2] {
            recent.add_state(handle(*number), state(*number));
        }
        assert_eq!(found(), [true, true, false]);
        recent.add_state(handle(numbers[2]), state(numbers[2]));
        assert_eq!(found(), [false, true, true]);
        recent.forget_state(state(numbers[1]));
        assert_eq!(found(), [false, false, true]);
        assert!(recent.find_state(handle(numbers[1])).is_null());
        recent.add_state(handle(numbers[1]), state(numbers[1]));
        assert_eq!(found(), [false, true, true]);
    }
}
