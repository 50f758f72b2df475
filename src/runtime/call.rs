//! Keys of calls.

use std::ffi::{c_int, c_void};

use exec::RawCall;
use exec::constants::{MPI_Datatype, MPI_Op, in_place};
use mpi::ffi;
use schedule::Collective;

/// The key of a call: all its arguments except the buffers. Arguments that are not significant on this rank are
/// blank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) collective: Collective,
    /// Whether this rank gives `MPI_IN_PLACE`.
    pub(crate) in_place: bool,
    is_aliased: bool,
    pub(crate) root: c_int,
    send_count: c_int,
    recv_count: c_int,
    send_type: MPI_Datatype,
    recv_type: MPI_Datatype,
    pub(crate) operator: MPI_Op,
}

/// Blanks the arguments that are not significant on this rank, and returns the key.
#[inline(always)]
pub(crate) fn significant(mut call: RawCall, rank: c_int) -> (RawCall, Key) {
    // SAFETY: a constant that the library has set before `main`.
    let nothing = unsafe { ffi::RSMPI_DATATYPE_NULL };
    let is_root = call.root == rank;
    // Programs that pass the same buffer twice instead of `MPI_IN_PLACE` do so on the rank with the first part, and
    // libraries accept that. It must not affect this rank's decision.
    let has_parts = matches!(
        call.collective,
        Collective::Gather | Collective::Allgather | Collective::Scatter
    );
    let is_said_so = has_parts && rank == 0 && call.is_aliased();
    let given_in_place = |buffer: *const c_void| is_said_so || buffer == in_place();
    let mut is_in_place = false;
    match call.collective {
        Collective::Gather if !is_root => {
            (call.recv, call.recv_count) = (std::ptr::null_mut(), 0);
            call.recv_type = nothing;
        }
        Collective::Scatter if !is_root => {
            (call.send, call.send_count) = (std::ptr::null(), 0);
            call.send_type = nothing;
        }
        Collective::Scatter => {
            is_in_place = given_in_place(call.recv);
            if is_in_place {
                (call.recv_count, call.recv_type) = (0, nothing);
            }
        }
        Collective::Reduce if !is_root => call.recv = std::ptr::null_mut(),
        Collective::Bcast => {}
        _ => {
            is_in_place = given_in_place(call.send);
            if is_in_place {
                (call.send_count, call.send_type) = (0, nothing);
            }
        }
    }
    let key = Key {
        collective: call.collective,
        in_place: is_in_place,
        is_aliased: call.is_aliased(),
        root: call.root,
        send_count: call.send_count,
        recv_count: call.recv_count,
        send_type: call.send_type,
        recv_type: call.recv_type,
        operator: call.operator,
    };
    (call, key)
}

impl Key {
    /// A hash of the key.
    #[inline(always)]
    pub(crate) fn hash(&self) -> u64 {
        let flags = u64::from(self.is_aliased) << 9
            | u64::from(self.in_place) << 8
            | self.collective as u64;
        let counts = (self.send_count as u64) << 32 | u64::from(self.recv_count as u32);
        let mixed = counts
            ^ bits(self.recv_type).rotate_left(17)
            ^ bits(self.send_type).rotate_left(29)
            ^ bits(self.operator).rotate_left(41)
            ^ (self.root as u64).rotate_left(53)
            ^ flags.rotate_left(7);
        mix(mixed)
    }
}

/// Fibonacci hashing, whose upper bits are the best (Knuth, The Art of Computer Programming 3, section 6.4).
#[inline(always)]
pub(crate) fn mix(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Converts a handle, an integer or an address to a number.
#[inline(always)]
pub(crate) fn bits<Handle: Copy>(handle: Handle) -> u64 {
    const { assert!(size_of::<Handle>() <= size_of::<u64>()) };
    let mut number = 0_u64;
    // SAFETY: handles are plain integers or addresses, no longer than the number.
    unsafe {
        (&raw mut number).cast::<Handle>().write(handle);
    }
    number
}
