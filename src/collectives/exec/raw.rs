//! Collectives in terms of MPI's C interface: by functions such as `MPI_Bcast`, whose counts are `int`, and by those such
//! as `MPI_Bcast_c`, whose counts are `MPI_Count`.

use std::ffi::{c_int, c_void};

use mpi::ffi;
use schedule::Collective;

use crate::constants::{MPI_Datatype, MPI_Op};

/// A collective's arguments on one rank, except for the communicator.
///
/// A collective's only count, datatype or buffer is stored as the receiving one; a barrier has none. Counts have MPI's
/// larger type, also in calls by the functions in which they are `int`.
#[derive(Clone, Copy, Debug)]
pub struct RawCall {
    /// The collective.
    pub collective: Collective,
    /// The input buffer.
    pub send: *const c_void,
    /// The output buffer; a broadcast's root reads it.
    pub recv: *mut c_void,
    /// The number of elements sent; in a scatter and an alltoall, to each rank.
    pub send_count: i64,
    /// Their type.
    pub send_type: MPI_Datatype,
    /// The number of elements received; in a gather, an allgather and an alltoall, from each rank.
    pub recv_count: i64,
    /// Their type.
    pub recv_type: MPI_Datatype,
    /// The function's counts.
    pub counts: GivenCounts,
    /// The operator of a reduction.
    pub operator: MPI_Op,
    /// The root; 0 if there is none.
    pub root: c_int,
}

/// The type of a function's counts, with the number of elements in each rank's part of an `MPI_Reduce_scatter`; null in
/// other collectives.
#[derive(Clone, Copy, Debug)]
pub enum GivenCounts {
    /// `int`, as of `MPI_Bcast`.
    Int(*const c_int),
    /// `MPI_Count`, as of `MPI_Bcast_c`.
    Large(*const i64),
}

impl GivenCounts {
    /// Whether the address is null.
    #[inline(always)]
    pub fn are_missing(&self) -> bool {
        match self {
            Self::Int(counts) => counts.is_null(),
            Self::Large(counts) => counts.is_null(),
        }
    }
}

impl From<*const c_int> for GivenCounts {
    #[inline(always)]
    fn from(counts: *const c_int) -> Self {
        Self::Int(counts)
    }
}

impl From<*const i64> for GivenCounts {
    #[inline(always)]
    fn from(counts: *const i64) -> Self {
        Self::Large(counts)
    }
}

/// The number of elements in each rank's part of an `MPI_Reduce_scatter`.
#[derive(Clone, Copy, Debug)]
pub enum PartCounts<'a> {
    /// As in `MPI_Reduce_scatter`.
    Int(&'a [c_int]),
    /// As in `MPI_Reduce_scatter_c`.
    Large(&'a [i64]),
}

impl PartCounts<'_> {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        let (int, large) = match self {
            Self::Int(counts) => (*counts, &[][..]),
            Self::Large(counts) => (&[][..], *counts),
        };
        int.iter()
            .copied()
            .map(i64::from)
            .chain(large.iter().copied())
    }

    /// The part of a rank.
    pub fn count_of_rank(&self, rank: c_int) -> Option<i64> {
        self.iter().nth(rank as usize)
    }

    /// Whether they are the same as these.
    ///
    /// Empty slices are not compared: glibc's `memcmp` uses masked loads, and an empty mask on the unmapped address
    /// of an empty slice costs a hundred nanoseconds.
    #[inline(always)]
    pub fn are_same_as(&self, others: &[c_int]) -> bool {
        match self {
            Self::Int(counts) => {
                counts.len() == others.len() && (counts.is_empty() || *counts == others)
            }
            Self::Large(counts) => {
                let others = others.iter().copied().map(i64::from);
                counts.iter().copied().eq(others)
            }
        }
    }

    /// The same as `int`; `None` if one of them is too large for that.
    pub fn as_int(&self) -> Option<Box<[c_int]>> {
        self.iter().map(|count| count.try_into().ok()).collect()
    }
}

impl RawCall {
    /// A collective with one count and datatype.
    ///
    /// An operator and a root are set with [`RawCall::with_operator`] and [`RawCall::with_root`].
    #[inline(always)]
    pub fn new(
        collective: Collective,
        send: *const c_void,
        recv: *mut c_void,
        count: impl Into<i64>,
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
            recv_count: count.into(),
            recv_type: datatype,
            counts: GivenCounts::Int(std::ptr::null()),
            operator,
            root: 0,
        }
    }

    /// A barrier, which has neither data nor an operator.
    #[inline(always)]
    pub fn barrier() -> Self {
        // SAFETY: a constant that the library has set before `main`.
        let nothing = unsafe { ffi::RSMPI_DATATYPE_NULL };
        let (nowhere, room) = (std::ptr::null(), std::ptr::null_mut());
        Self::new(Collective::Barrier, nowhere, room, 0, nothing)
    }

    /// Sets the root.
    #[inline(always)]
    pub fn with_root(self, root: c_int) -> Self {
        Self { root, ..self }
    }

    /// Sets the operator.
    #[inline(always)]
    pub fn with_operator(self, operator: MPI_Op) -> Self {
        Self { operator, ..self }
    }

    /// Sets the number and the datatype of the sent elements.
    #[inline(always)]
    pub fn with_sent_elements(self, send_count: impl Into<i64>, send_type: MPI_Datatype) -> Self {
        Self {
            send_count: send_count.into(),
            send_type,
            ..self
        }
    }

    /// Sets the parts of an `MPI_Reduce_scatter`.
    #[inline(always)]
    pub fn with_part_counts(self, counts: impl Into<GivenCounts>) -> Self {
        Self {
            counts: counts.into(),
            ..self
        }
    }

    /// Makes it a call by the function with large counts, such as `MPI_Bcast_c`.
    #[inline(always)]
    pub fn with_large_counts(self) -> Self {
        let counts = match self.counts {
            GivenCounts::Large(counts) => counts,
            GivenCounts::Int(_) => std::ptr::null(),
        };
        self.with_part_counts(counts)
    }

    /// The parts of an `MPI_Reduce_scatter`; none for other collectives, and without counts.
    ///
    /// # Safety
    ///
    /// There is one count per rank, or no counts; they are readable and do not change during `'a`.
    #[inline(always)]
    pub unsafe fn part_counts<'a>(&self, ranks: c_int) -> PartCounts<'a> {
        if self.collective != Collective::ReduceScatter || self.counts.are_missing() {
            return PartCounts::Int(&[]);
        }
        // SAFETY: the caller promises one count per rank, which are readable and do not change during `'a`.
        unsafe {
            match self.counts {
                GivenCounts::Int(counts) => {
                    PartCounts::Int(std::slice::from_raw_parts(counts, ranks as usize))
                }
                GivenCounts::Large(counts) => {
                    PartCounts::Large(std::slice::from_raw_parts(counts, ranks as usize))
                }
            }
        }
    }

    /// Whether both buffers are the same, which MPI forbids.
    #[inline(always)]
    pub fn is_aliased(&self) -> bool {
        !self.recv.is_null() && self.send == self.recv
    }
}
