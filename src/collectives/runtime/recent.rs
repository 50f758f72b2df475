//! A cache of recently used communicators.

use std::sync::Mutex;

use exec::constants::MPI_Comm;
use mpi::ffi;

use crate::call::{handle_bits, mix_bits};
use crate::state::State;
use crate::steady::SteadyPair;
use crate::threads::lock;

/// Some communicators with their states. Querying an MPI attribute would take longer than everything else in a call.
///
/// There are two places for each handle, so that a program that uses two communicators in turn finds both.
///
/// Threads find states while others add and remove those of other communicators. A state that is found stays there during
/// the call: a program does not free a communicator while one of its threads makes a collective call on it.
#[derive(Debug)]
pub(crate) struct RecentStates {
    /// Handles with the addresses of their states.
    places: [SteadyPair; PLACES],
    /// Held while places are changed.
    changing: Mutex<()>,
}

const BITS: u32 = 5;
const PLACES: usize = 1 << BITS;

impl RecentStates {
    /// A cache without a communicator.
    pub(crate) fn new() -> Self {
        Self {
            places: std::array::from_fn(|_| SteadyPair::new(vacant_key(), 0)),
            changing: Mutex::new(()),
        }
    }

    /// The state of a communicator, or null if it is not in the cache.
    #[inline(always)]
    pub(crate) fn find_state(&self, communicator: MPI_Comm) -> *mut State {
        let first = first_place(communicator);
        match self.places[first].find_value(handle_bits(communicator)) {
            Some(state) => state_at(state),
            None => self.get_second(communicator, first ^ 1),
        }
    }

    #[inline(never)]
    fn get_second(&self, communicator: MPI_Comm, second: usize) -> *mut State {
        let found = self.places[second].find_value(handle_bits(communicator));
        found.map_or(std::ptr::null_mut(), state_at)
    }

    /// Adds a communicator that is not in the cache. One that was in its first place takes the second.
    pub(crate) fn add_state(&self, communicator: MPI_Comm, state: *mut State) {
        let _changing = lock(&self.changing);
        let first = first_place(communicator);
        let (earlier, earlier_state) = self.places[first].current();
        self.places[first].replace(handle_bits(communicator), state.expose_provenance());
        if earlier_state != 0 {
            self.places[first ^ 1].replace(earlier, earlier_state);
        }
    }

    /// Removes a state that is about to be freed.
    pub(crate) fn forget_state(&self, state: *mut State) {
        let _changing = lock(&self.changing);
        for place in &self.places {
            if place.current().1 == state.addr() {
                place.replace(vacant_key(), 0);
            }
        }
    }
}

/// The state at an address that [`RecentStates::add_state`] has exposed.
#[inline(always)]
fn state_at(address: usize) -> *mut State {
    std::ptr::with_exposed_provenance_mut(address)
}

/// The place in which a communicator is looked up first.
#[inline(always)]
fn first_place(communicator: MPI_Comm) -> usize {
    (mix_bits(handle_bits(communicator)) >> (u64::BITS - BITS)) as usize
}

/// The key of a place without a communicator.
fn vacant_key() -> u64 {
    // SAFETY: a constant of the library.
    handle_bits(unsafe { ffi::RSMPI_COMM_NULL })
}

#[cfg(test)]
mod tests {
    use exec::constants::MPI_Comm;

    use mpi::ffi;

    use super::{RecentStates, first_place};
    use crate::state::State;

    /// Handles and states that are not used as such.
    fn handle(number: u16) -> MPI_Comm {
        // SAFETY: a constant of the library.
        let mut handle = unsafe { ffi::RSMPI_COMM_NULL };
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
