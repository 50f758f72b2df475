//! A collective as MPI's C interface has it.

use std::ffi::{c_int, c_void};

use exec::constants::{MPI_Datatype, MPI_Op, in_place};
use mpi::ffi;
use schedule::Collective;

/// A collective's arguments but for the communicator, as one rank passes them.
///
/// Where a collective has one count and datatype, or one buffer, these are the receiving ones.
#[derive(Clone, Copy, Debug)]
pub struct RawCall {
    /// What is called.
    pub collective: Collective,
    /// The buffer that is only read.
    pub send: *const c_void,
    /// The buffer that is written, by a broadcast's root read.
    pub recv: *mut c_void,
    /// Elements sent, of a scatter to one rank.
    pub send_count: c_int,
    /// Their type.
    pub send_type: MPI_Datatype,
    /// Elements received, of a gather from one rank.
    pub recv_count: c_int,
    /// Their type.
    pub recv_type: MPI_Datatype,
    /// For `MPI_Reduce_scatter`, the elements of each rank's part.
    pub counts: *const c_int,
    /// Where data is combined.
    pub operator: MPI_Op,
    /// Where there is one, otherwise 0.
    pub root: c_int,
}

/// What tells one call from another, buffers apart. What is of no significance on this rank is blank.
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

impl RawCall {
    /// A collective with one count and datatype.
    ///
    /// An operator and a root are set with [`RawCall::by`] and [`RawCall::at`].
    #[inline(always)]
    pub fn new(
        collective: Collective,
        send: *const c_void,
        recv: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
    ) -> Self {
        // SAFETY: constants that the library has set before `main`.
        let (nothing, operator) = unsafe { (ffi::RSMPI_DATATYPE_NULL, ffi::RSMPI_SUM) };
        Self {
            collective,
            send,
            recv,
            send_count: 0,
            send_type: nothing,
            recv_count: count,
            recv_type: datatype,
            counts: std::ptr::null(),
            operator,
            root: 0,
        }
    }

    /// With this root.
    #[inline(always)]
    pub fn at(self, root: c_int) -> Self {
        Self { root, ..self }
    }

    /// With this operator.
    #[inline(always)]
    pub fn by(self, operator: MPI_Op) -> Self {
        Self { operator, ..self }
    }

    /// With so many elements sent, of this type.
    #[inline(always)]
    pub fn sending(self, send_count: c_int, send_type: MPI_Datatype) -> Self {
        Self {
            send_count,
            send_type,
            ..self
        }
    }

    /// With these parts of an `MPI_Reduce_scatter`.
    #[inline(always)]
    pub fn parts(self, counts: *const c_int) -> Self {
        Self { counts, ..self }
    }

    /// Whether both buffers are one, which MPI forbids.
    #[inline(always)]
    pub(crate) fn is_aliased(&self) -> bool {
        !self.recv.is_null() && self.send == self.recv
    }

    /// Blanks what MPI says to be of no significance on this rank, and tells calls apart.
    #[inline(always)]
    pub(crate) fn significant(mut self, rank: c_int) -> (Self, Key) {
        // SAFETY: a constant that the library has set before `main`.
        let nothing = unsafe { ffi::RSMPI_DATATYPE_NULL };
        let is_root = self.root == rank;
        // Programs that say so instead of `MPI_IN_PLACE` do it on the rank whose part is the first, and
        // libraries let them: a rank must not go another way for it.
        let has_parts = matches!(
            self.collective,
            Collective::Gather | Collective::Allgather | Collective::Scatter
        );
        let is_said_so = has_parts && rank == 0 && self.is_aliased();
        let given_in_place = |buffer: *const c_void| is_said_so || buffer == in_place();
        let mut is_in_place = false;
        match self.collective {
            Collective::Gather if !is_root => {
                (self.recv, self.recv_count) = (std::ptr::null_mut(), 0);
                self.recv_type = nothing;
            }
            Collective::Scatter if !is_root => {
                (self.send, self.send_count) = (std::ptr::null(), 0);
                self.send_type = nothing;
            }
            Collective::Scatter => {
                is_in_place = given_in_place(self.recv);
                if is_in_place {
                    (self.recv_count, self.recv_type) = (0, nothing);
                }
            }
            Collective::Reduce if !is_root => self.recv = std::ptr::null_mut(),
            Collective::Bcast => {}
            _ => {
                is_in_place = given_in_place(self.send);
                if is_in_place {
                    (self.send_count, self.send_type) = (0, nothing);
                }
            }
        }
        let key = Key {
            collective: self.collective,
            in_place: is_in_place,
            is_aliased: self.is_aliased(),
            root: self.root,
            send_count: self.send_count,
            recv_count: self.recv_count,
            send_type: self.send_type,
            recv_type: self.recv_type,
            operator: self.operator,
        };
        (self, key)
    }
}

impl Key {
    /// A number that few calls of a program share.
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

/// Fibonacci hashing, whose upper bits tell most (Knuth, The Art of Computer Programming 3, section 6.4).
#[inline(always)]
pub(crate) fn mix(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A handle, an integer or an address, as a number.
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
