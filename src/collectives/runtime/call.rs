//! Keys of calls.
//!
//! A call is recognised by those of its arguments that are significant on this rank.

use std::ffi::{c_int, c_void};

use exec::RawCall;
use exec::constants::{MPI_Datatype, MPI_Op, in_place};
use mpi::ffi;
use schedule::Collective;

/// The key of a call in a few words: all its arguments except the buffers. Arguments that are not significant on this
/// rank are blank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CallKey {
    /// The collective, [`IN_PLACE`] and the flags after it, and the root in the upper half.
    kind: u64,
    /// The number of elements received, and that of those sent in the upper half.
    counts: u64,
    send_type: MPI_Datatype,
    recv_type: MPI_Datatype,
    operator: MPI_Op,
}

const IN_PLACE: u64 = 1 << 8;
const ALIASED: u64 = 1 << 9;
/// The buffer is null, or not significant. With some datatypes, that is `MPI_BOTTOM`; with others it is an error, as is
/// [`MISPLACED`]. A plan is made only for calls without errors, so these flags keep wrong calls from finding one.
const NO_SEND: u64 = 1 << 10;
const NO_RECV: u64 = 1 << 11;
/// `MPI_IN_PLACE` where MPI does not allow it.
const MISPLACED: u64 = 1 << 12;
/// A number of elements that an `int` cannot hold. The key has only its lower half, so such calls have no plans.
const LARGE: u64 = 1 << 13;

/// Blanks the arguments that are not significant on this rank, and returns the key.
#[inline(always)]
pub(crate) fn significant(mut call: RawCall, rank: c_int) -> (RawCall, CallKey) {
    // SAFETY: a constant that the library has set before `main`.
    let nothing = unsafe { ffi::RSMPI_DATATYPE_NULL };
    let is_root = call.root == rank;
    let is_said_so = is_same_memory(&call, rank);
    let given_in_place = |buffer: *const c_void| is_said_so || buffer == in_place();
    let mut is_in_place = false;
    let is_misplaced;
    match call.collective {
        Collective::Gather if !is_root => {
            is_misplaced = call.send == in_place();
            (call.recv, call.recv_count) = (std::ptr::null_mut(), 0);
            call.recv_type = nothing;
        }
        Collective::Scatter if !is_root => {
            is_misplaced = call.recv.cast_const() == in_place();
            (call.send, call.send_count) = (std::ptr::null(), 0);
            call.send_type = nothing;
        }
        Collective::Scatter => {
            is_misplaced = call.send == in_place();
            is_in_place = given_in_place(call.recv);
            if is_in_place {
                (call.recv_count, call.recv_type) = (0, nothing);
            }
        }
        Collective::Reduce if !is_root => {
            is_misplaced = call.send == in_place();
            call.recv = std::ptr::null_mut();
        }
        Collective::Bcast => is_misplaced = call.recv.cast_const() == in_place(),
        // No call of the irregular ones is described as a `RawCall`.
        Collective::Barrier
        | Collective::Alltoallv
        | Collective::Alltoallw
        | Collective::Allgatherv
        | Collective::Gatherv
        | Collective::Scatterv => is_misplaced = false,
        // The first rank has no result. In place its input is there, which stays as it is. Otherwise the flags below
        // still tell outputs apart that the library may refuse, though MPI does not (`wrong::MissingOutput`).
        Collective::Exscan if rank == 0 => {
            is_in_place = call.send == in_place();
            is_misplaced = call.recv.cast_const() == in_place();
        }
        Collective::Reduce
        | Collective::Allreduce
        | Collective::Gather
        | Collective::Allgather
        | Collective::ReduceScatter
        | Collective::ReduceScatterBlock
        | Collective::Alltoall
        | Collective::Scan
        | Collective::Exscan => {
            is_misplaced = call.recv.cast_const() == in_place();
            is_in_place = given_in_place(call.send);
            if is_in_place {
                (call.send_count, call.send_type) = (0, nothing);
            }
        }
    }
    let flags = [
        (is_in_place, IN_PLACE),
        (call.is_aliased(), ALIASED),
        (call.send.is_null(), NO_SEND),
        (call.recv.is_null(), NO_RECV),
        (is_misplaced, MISPLACED),
        (!are_int(&call), LARGE),
    ];
    let flags = flags.map(|(is_set, flag)| if is_set { flag } else { 0 });
    let flags = flags.into_iter().fold(0, |all, flag| all | flag);
    if call.collective == Collective::Exscan && rank == 0 && !is_in_place {
        call.recv = std::ptr::null_mut();
    }
    let key = CallKey {
        kind: pack_halves(call.root.into(), 0) | flags | call.collective as u64,
        counts: pack_halves(call.send_count, call.recv_count),
        send_type: call.send_type,
        recv_type: call.recv_type,
        operator: call.operator,
    };
    (call, key)
}

/// Whether a call's input and output are the same elements of the same memory.
///
/// Programs pass the same buffer twice instead of `MPI_IN_PLACE`, where parts are gathered or scattered on the rank with
/// the first part, and some libraries accept that. It must not affect this rank's decision then; where the library refuses
/// it, the call does not get here (`wrong`). Elements of different datatypes may be in different places behind the same
/// address.
#[inline(always)]
fn is_same_memory(call: &RawCall, rank: c_int) -> bool {
    let are_alike = || call.send_count == call.recv_count && call.send_type == call.recv_type;
    call.is_aliased()
        && match call.collective {
            Collective::Gather | Collective::Allgather | Collective::Scatter => {
                rank == 0 && are_alike()
            }
            Collective::Alltoall => are_alike(),
            _ => true,
        }
}

/// Whether the numbers of elements that a call sends and receives are `int`.
#[inline(always)]
fn are_int(call: &RawCall) -> bool {
    let is_int = |count: i64| c_int::try_from(count).is_ok();
    is_int(call.send_count) && is_int(call.recv_count)
}

/// The lower halves of two numbers.
#[inline(always)]
fn pack_halves(upper: i64, lower: i64) -> u64 {
    u64::from(upper as u32) << 32 | u64::from(lower as u32)
}

impl CallKey {
    /// Whether this rank gives `MPI_IN_PLACE`.
    pub(crate) fn is_in_place(&self) -> bool {
        self.kind & IN_PLACE != 0
    }

    /// Whether two calls with this key may have other numbers of elements.
    #[inline(always)]
    pub(crate) fn is_large(&self) -> bool {
        self.kind & LARGE != 0
    }

    /// A hash of the key.
    #[inline(always)]
    pub(crate) fn hash(&self) -> u64 {
        let mixed = self.counts
            ^ handle_bits(self.recv_type).rotate_left(17)
            ^ handle_bits(self.send_type).rotate_left(29)
            ^ handle_bits(self.operator).rotate_left(41)
            ^ self.kind.rotate_left(7);
        mix_bits(mixed)
    }
}

/// Fibonacci hashing; the upper bits are the best (Knuth, The Art of Computer Programming 3, section 6.4).
#[inline(always)]
pub(crate) fn mix_bits(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Converts a handle, an integer or an address to a number.
#[inline(always)]
pub(crate) fn handle_bits<Handle: Copy>(handle: Handle) -> u64 {
    const { assert!(size_of::<Handle>() <= size_of::<u64>()) };
    let mut number = 0_u64;
    // SAFETY: handles are plain integers or addresses, no longer than the number.
    unsafe {
        (&raw mut number).cast::<Handle>().write(handle);
    }
    number
}
