//! A cache of recently used communicators.

use std::cell::Cell;

use exec::constants::MPI_Comm;
use mpi::ffi;

use crate::call::{bits, mix};
use crate::state::State;

/// Some communicators with their states, indexed by handle. Querying an MPI attribute would take longer than
/// everything else in a call.
#[derive(Debug)]
pub(crate) struct Recent([Cell<(MPI_Comm, *mut State)>; PLACES]);

const BITS: u32 = 4;
const PLACES: usize = 1 << BITS;

impl Recent {
    /// A cache without a communicator.
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Cell::new(vacant())))
    }

    /// The state of a communicator, or null if it is not in the cache.
    #[inline(always)]
    pub(crate) fn get(&self, communicator: MPI_Comm) -> *mut State {
        match self.place(communicator).get() {
            (known, state) if known == communicator => state,
            _ => std::ptr::null_mut(),
        }
    }

    /// Adds a communicator, in place of one with the same index.
    pub(crate) fn set(&self, communicator: MPI_Comm, state: *mut State) {
        self.place(communicator).set((communicator, state));
    }

    /// Removes a state that is about to be freed.
    pub(crate) fn forget(&self, state: *mut State) {
        for place in &self.0 {
            if place.get().1 == state {
                place.set(vacant());
            }
        }
    }

    #[inline(always)]
    fn place(&self, communicator: MPI_Comm) -> &Cell<(MPI_Comm, *mut State)> {
        &self.0[(mix(bits(communicator)) >> (u64::BITS - BITS)) as usize]
    }
}

fn vacant() -> (MPI_Comm, *mut State) {
    // SAFETY: a constant of the library.
    (unsafe { ffi::RSMPI_COMM_NULL }, std::ptr::null_mut())
}
