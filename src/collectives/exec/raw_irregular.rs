//! Irregular collectives in terms of MPI's C interface: the arguments of functions such as `MPI_Alltoallv`, and of those
//! with large counts.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicPtr;

use mpi::ffi;
use schedule::Collective;

use crate::GivenCounts;
use crate::constants::{MPI_Comm, MPI_Datatype, in_place};
use crate::forward::LibraryFunction;

/// The blocks of one buffer of an irregular collective.
#[derive(Clone, Copy, Debug)]
pub enum RawBlocks {
    /// One block at the start of the buffer: what a rank sends in an `MPI_Gatherv` or `MPI_Allgatherv`, and what it
    /// receives in an `MPI_Scatterv`.
    One {
        /// The number of elements.
        count: i64,
        /// Their type.
        datatype: MPI_Datatype,
    },
    /// A block for each rank.
    OfRanks {
        /// The number of elements in each block.
        counts: GivenCounts,
        /// The displacement of each block from the start of the buffer: in extents of the type or, where each block has a
        /// type of its own, in bytes.
        displacements: GivenCounts,
        /// The type of the elements.
        datatypes: RawTypes,
    },
}

/// The types of the blocks of one buffer.
#[derive(Clone, Copy, Debug)]
pub enum RawTypes {
    /// The same for all blocks.
    Same(MPI_Datatype),
    /// One for each block, as in `MPI_Alltoallw`.
    OfBlocks(*const MPI_Datatype),
}

/// The arguments of an irregular collective on one rank, except for the communicator.
///
/// Arguments that are not significant on the rank may be anything; arrays that are not significant are never read.
#[derive(Clone, Copy, Debug)]
pub struct RawIrregularCall {
    /// The collective, for which [`Collective::is_irregular`].
    pub collective: Collective,
    /// The input buffer.
    pub send: *const c_void,
    /// Its blocks.
    pub sent: RawBlocks,
    /// The output buffer.
    pub recv: *mut c_void,
    /// Its blocks.
    pub received: RawBlocks,
    /// The root; 0 if there is none.
    pub root: c_int,
}

/// The buffers of a call that are significant on a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignificantBuffers {
    /// Whether the rank reads its input buffer and the arguments of that.
    pub send: bool,
    /// The same for its output buffer.
    pub recv: bool,
    /// Whether the rank gives `MPI_IN_PLACE` where MPI allows that.
    pub is_in_place: bool,
}

impl GivenCounts {
    /// The number at a place.
    ///
    /// # Safety
    ///
    /// There are more numbers than that, and they are readable.
    #[inline(always)]
    pub unsafe fn number_at(&self, place: usize) -> i64 {
        // SAFETY: the caller promises that there is a readable number at the place.
        unsafe {
            match self {
                Self::Int(numbers) => (*numbers.add(place)).into(),
                Self::Large(numbers) => *numbers.add(place),
            }
        }
    }
}

impl RawTypes {
    /// The type of a block.
    ///
    /// # Safety
    ///
    /// If there is one for each block, there are more blocks than that, and the types are readable.
    #[inline(always)]
    pub unsafe fn type_at(&self, place: usize) -> MPI_Datatype {
        match self {
            Self::Same(datatype) => *datatype,
            // SAFETY: the caller promises that there is a readable type at the place.
            Self::OfBlocks(datatypes) => unsafe { *datatypes.add(place) },
        }
    }
}

impl RawBlocks {
    /// A block for each rank, of elements of one type.
    #[inline(always)]
    pub fn of_ranks(
        counts: impl Into<GivenCounts>,
        displacements: impl Into<GivenCounts>,
        datatype: MPI_Datatype,
    ) -> Self {
        Self::OfRanks {
            counts: counts.into(),
            displacements: displacements.into(),
            datatypes: RawTypes::Same(datatype),
        }
    }

    /// A block for each rank, each of elements of its own type.
    #[inline(always)]
    pub fn with_types(
        counts: impl Into<GivenCounts>,
        displacements: impl Into<GivenCounts>,
        datatypes: *const MPI_Datatype,
    ) -> Self {
        Self::OfRanks {
            counts: counts.into(),
            displacements: displacements.into(),
            datatypes: RawTypes::OfBlocks(datatypes),
        }
    }

    /// One block.
    #[inline(always)]
    pub fn one(count: impl Into<i64>, datatype: MPI_Datatype) -> Self {
        Self::One {
            count: count.into(),
            datatype,
        }
    }

    /// Whether an array is missing.
    pub fn are_missing(&self) -> bool {
        match self {
            Self::One { .. } => false,
            Self::OfRanks {
                counts,
                displacements,
                datatypes,
            } => {
                let has_no_types =
                    matches!(datatypes, RawTypes::OfBlocks(datatypes) if datatypes.is_null());
                counts.are_missing() || displacements.are_missing() || has_no_types
            }
        }
    }

    /// The number of elements of a block, and their type.
    ///
    /// # Safety
    ///
    /// There are more blocks than that, and the arrays are readable.
    pub unsafe fn elements_at(&self, place: usize) -> (i64, MPI_Datatype) {
        match self {
            Self::One { count, datatype } => (*count, *datatype),
            Self::OfRanks {
                counts, datatypes, ..
            } => {
                // SAFETY: the caller promises that there are readable entries at the place.
                unsafe { (counts.number_at(place), datatypes.type_at(place)) }
            }
        }
    }

    /// The displacement of a block, as the call gives it.
    ///
    /// # Safety
    ///
    /// There are more blocks than that, and the arrays are readable.
    pub unsafe fn displacement_at(&self, place: usize) -> i64 {
        match self {
            Self::One { .. } => 0,
            // SAFETY: the caller promises that there is a readable entry at the place.
            Self::OfRanks { displacements, .. } => unsafe { displacements.number_at(place) },
        }
    }

    /// The size of the data of all blocks in bytes, without gaps, given the sizes of the types of blocks that have any;
    /// saturates instead of overflowing.
    ///
    /// # Safety
    ///
    /// The arrays have `ranks` readable entries.
    pub unsafe fn total_bytes(
        &self,
        ranks: c_int,
        mut bytes_of: impl FnMut(MPI_Datatype) -> u64,
    ) -> u64 {
        let number = match self {
            Self::One { .. } => 1,
            Self::OfRanks { .. } => ranks as usize,
        };
        let mut total = 0_u64;
        let mut last: Option<(MPI_Datatype, u64)> = None;
        for place in 0..number {
            // SAFETY: the caller promises readable entries.
            let (count, datatype) = unsafe { self.elements_at(place) };
            let Ok(elements @ 1..) = u64::try_from(count) else {
                continue;
            };
            let size = match last {
                Some((known, size)) if known == datatype => size,
                _ => bytes_of(datatype),
            };
            last = Some((datatype, size));
            total = total.saturating_add(elements.saturating_mul(size));
        }
        total
    }

    /// The arrays of a function with large counts.
    pub(crate) fn large(&self) -> Option<[*const i64; 2]> {
        match *self {
            Self::OfRanks {
                counts: GivenCounts::Large(counts),
                displacements: GivenCounts::Large(displacements),
                ..
            } => Some([counts, displacements]),
            _ => None,
        }
    }

    /// The arguments of a function for one block: its count and its type.
    #[inline(always)]
    pub(crate) fn as_one(&self) -> (i64, MPI_Datatype) {
        match *self {
            Self::One { count, datatype } => (count, datatype),
            // SAFETY: a constant that the library has set before `main`.
            Self::OfRanks { .. } => (0, unsafe { ffi::RSMPI_DATATYPE_NULL }),
        }
    }

    /// The arguments of a function for the blocks of all ranks, if their numbers are `int`.
    #[inline(always)]
    pub(crate) fn int(&self) -> [*const c_int; 2] {
        match *self {
            Self::OfRanks {
                counts: GivenCounts::Int(counts),
                displacements: GivenCounts::Int(displacements),
                ..
            } => [counts, displacements],
            _ => [std::ptr::null(); 2],
        }
    }

    /// The one type of all blocks.
    #[inline(always)]
    pub(crate) fn datatype(&self) -> MPI_Datatype {
        match *self {
            Self::OfRanks {
                datatypes: RawTypes::Same(datatype),
                ..
            }
            | Self::One { datatype, .. } => datatype,
            // SAFETY: a constant that the library has set before `main`.
            Self::OfRanks { .. } => unsafe { ffi::RSMPI_DATATYPE_NULL },
        }
    }

    /// The types of the blocks.
    #[inline(always)]
    pub(crate) fn datatypes(&self) -> *const MPI_Datatype {
        match *self {
            Self::OfRanks {
                datatypes: RawTypes::OfBlocks(datatypes),
                ..
            } => datatypes,
            _ => std::ptr::null(),
        }
    }
}

impl RawIrregularCall {
    /// The buffers that are significant on a rank.
    #[inline]
    pub fn significant_buffers(&self, rank: c_int) -> SignificantBuffers {
        let is_root = self.root == rank;
        let [is_sent_in_place, is_received_in_place] =
            [self.send, self.recv.cast_const()].map(|buffer| buffer == in_place());
        let (sends, receives, is_in_place) = match self.collective {
            Collective::Gatherv => (true, is_root, is_root && is_sent_in_place),
            Collective::Scatterv => (is_root, true, is_root && is_received_in_place),
            _ => (true, true, is_sent_in_place),
        };
        let is_output_in_place = self.collective == Collective::Scatterv && is_in_place;
        SignificantBuffers {
            send: sends && (!is_in_place || is_output_in_place),
            recv: receives && !is_output_in_place,
            is_in_place,
        }
    }

    /// Makes the call as programs do. Returns MPI's error code.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call: the arrays are readable and the buffers as long as they say, and the output is writable.
    /// Handles that are not null are valid; the library refuses others. The counts are of type `int`.
    #[inline(always)]
    pub unsafe fn call(&self, on: MPI_Comm) -> c_int {
        let Self {
            send, recv, root, ..
        } = *self;
        let [send_counts, send_places] = self.sent.int();
        let [counts, places] = self.received.int();
        let ((send_count, send_type), (count, datatype)) =
            (self.sent.as_one(), self.received.as_one());
        let (send_count, count) = (send_count as c_int, count as c_int);
        let (block_type, sent_type) = (self.received.datatype(), self.sent.datatype());
        // SAFETY: the caller promises that handles that are not null are valid, that arrays are readable where they are
        // significant, and that the buffers are as long as they say.
        unsafe {
            match self.collective {
                Collective::Alltoallv => ffi::MPI_Alltoallv(
                    send,
                    send_counts,
                    send_places,
                    sent_type,
                    recv,
                    counts,
                    places,
                    block_type,
                    on,
                ),
                Collective::Alltoallw => ffi::MPI_Alltoallw(
                    send,
                    send_counts,
                    send_places,
                    self.sent.datatypes(),
                    recv,
                    counts,
                    places,
                    self.received.datatypes(),
                    on,
                ),
                Collective::Allgatherv => ffi::MPI_Allgatherv(
                    send, send_count, send_type, recv, counts, places, block_type, on,
                ),
                Collective::Gatherv => ffi::MPI_Gatherv(
                    send, send_count, send_type, recv, counts, places, block_type, root, on,
                ),
                Collective::Scatterv => ffi::MPI_Scatterv(
                    send,
                    send_counts,
                    send_places,
                    sent_type,
                    recv,
                    count,
                    datatype,
                    root,
                    on,
                ),
                // Their arguments are those of a `RawCall`.
                _ => ffi::MPI_ERR_OTHER as c_int,
            }
        }
    }
}

impl RawIrregularCall {
    /// Makes the call by the library's own functions, which tools do not intercept. Returns MPI's error code.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call; for large counts, [`crate::redirect_large`] has set the collective's function.
    pub unsafe fn forward(&self, on: MPI_Comm) -> c_int {
        let (sent, received) = (self.sent.large(), self.received.large());
        // SAFETY: the caller promises what MPI asks of the call, and a function for large counts where there are any. By
        // the contracts of `redirect_collective` and `redirect_large` the functions have the types of their statics.
        unsafe {
            if sent.is_some() || received.is_some() {
                let nothing = [std::ptr::null(); 2];
                let blocks = [sent, received].map(|given| given.unwrap_or(nothing));
                let functions = IrregularFunctions {
                    alltoallv: LARGE_ALLTOALLV.as_function(),
                    alltoallw: LARGE_ALLTOALLW.as_function(),
                    allgatherv: LARGE_ALLGATHERV.as_function(),
                    gatherv: LARGE_GATHERV.as_function(),
                    scatterv: LARGE_SCATTERV.as_function(),
                };
                return self.make(&functions, blocks, |count| count, on);
            }
            let blocks = [self.sent.int(), self.received.int()];
            let functions = IrregularFunctions {
                alltoallv: ALLTOALLV.as_function(),
                alltoallw: ALLTOALLW.as_function(),
                allgatherv: ALLGATHERV.as_function(),
                gatherv: GATHERV.as_function(),
                scatterv: SCATTERV.as_function(),
            };
            self.make(&functions, blocks, |count| count as c_int, on)
        }
    }

    /// # Safety
    ///
    /// As MPI asks of the call; the function of the collective is the library's.
    unsafe fn make<Count: Copy>(
        &self,
        functions: &IrregularFunctions<Count>,
        [[send_counts, send_places], [counts, places]]: [[*const Count; 2]; 2],
        to_count: impl Fn(i64) -> Count,
        on: MPI_Comm,
    ) -> c_int {
        let Self {
            send, recv, root, ..
        } = *self;
        let ((send_count, send_type), (count, datatype)) =
            (self.sent.as_one(), self.received.as_one());
        let (send_count, count) = (to_count(send_count), to_count(count));
        let (send_types, types) = (self.sent.datatypes(), self.received.datatypes());
        let (sent_type, block_type) = (self.sent.datatype(), self.received.datatype());
        // SAFETY: the caller promises what MPI asks of the call, and the library's function for it; the others are not
        // called.
        unsafe {
            match (self.collective, functions) {
                (
                    Collective::Alltoallv,
                    IrregularFunctions {
                        alltoallv: Some(alltoallv),
                        ..
                    },
                ) => alltoallv(
                    send,
                    send_counts,
                    send_places,
                    sent_type,
                    recv,
                    counts,
                    places,
                    block_type,
                    on,
                ),
                (
                    Collective::Alltoallw,
                    IrregularFunctions {
                        alltoallw: Some(alltoallw),
                        ..
                    },
                ) => alltoallw(
                    send,
                    send_counts,
                    send_places,
                    send_types,
                    recv,
                    counts,
                    places,
                    types,
                    on,
                ),
                (
                    Collective::Allgatherv,
                    IrregularFunctions {
                        allgatherv: Some(allgatherv),
                        ..
                    },
                ) => allgatherv(
                    send, send_count, send_type, recv, counts, places, block_type, on,
                ),
                (
                    Collective::Gatherv,
                    IrregularFunctions {
                        gatherv: Some(gatherv),
                        ..
                    },
                ) => gatherv(
                    send, send_count, send_type, recv, counts, places, block_type, root, on,
                ),
                (
                    Collective::Scatterv,
                    IrregularFunctions {
                        scatterv: Some(scatterv),
                        ..
                    },
                ) => scatterv(
                    send,
                    send_counts,
                    send_places,
                    sent_type,
                    recv,
                    count,
                    datatype,
                    root,
                    on,
                ),
                _ => ffi::MPI_ERR_OTHER as c_int,
            }
        }
    }
}

type In = *const c_void;
type Out = *mut c_void;

// The functions' types, by the type of a count; that of a displacement is as wide. Null addresses are `None`.
type Alltoallv<Count> = Option<
    unsafe extern "C" fn(
        In,
        *const Count,
        *const Count,
        MPI_Datatype,
        Out,
        *const Count,
        *const Count,
        MPI_Datatype,
        MPI_Comm,
    ) -> c_int,
>;
type Alltoallw<Count> = Option<
    unsafe extern "C" fn(
        In,
        *const Count,
        *const Count,
        *const MPI_Datatype,
        Out,
        *const Count,
        *const Count,
        *const MPI_Datatype,
        MPI_Comm,
    ) -> c_int,
>;
type Allgatherv<Count> = Option<
    unsafe extern "C" fn(
        In,
        Count,
        MPI_Datatype,
        Out,
        *const Count,
        *const Count,
        MPI_Datatype,
        MPI_Comm,
    ) -> c_int,
>;
type Gatherv<Count> = Option<
    unsafe extern "C" fn(
        In,
        Count,
        MPI_Datatype,
        Out,
        *const Count,
        *const Count,
        MPI_Datatype,
        c_int,
        MPI_Comm,
    ) -> c_int,
>;
type Scatterv<Count> = Option<
    unsafe extern "C" fn(
        In,
        *const Count,
        *const Count,
        MPI_Datatype,
        Out,
        Count,
        MPI_Datatype,
        c_int,
        MPI_Comm,
    ) -> c_int,
>;

/// The library's functions with one type of counts.
struct IrregularFunctions<Count> {
    alltoallv: Alltoallv<Count>,
    alltoallw: Alltoallw<Count>,
    allgatherv: Allgatherv<Count>,
    gatherv: Gatherv<Count>,
    scatterv: Scatterv<Count>,
}

static ALLTOALLV: LibraryFunction<Alltoallv<c_int>> =
    LibraryFunction::new(ffi::PMPI_Alltoallv as *mut c_void);
static ALLTOALLW: LibraryFunction<Alltoallw<c_int>> =
    LibraryFunction::new(ffi::PMPI_Alltoallw as *mut c_void);
static ALLGATHERV: LibraryFunction<Allgatherv<c_int>> =
    LibraryFunction::new(ffi::PMPI_Allgatherv as *mut c_void);
static GATHERV: LibraryFunction<Gatherv<c_int>> =
    LibraryFunction::new(ffi::PMPI_Gatherv as *mut c_void);
static SCATTERV: LibraryFunction<Scatterv<c_int>> =
    LibraryFunction::new(ffi::PMPI_Scatterv as *mut c_void);

// Null until `redirect_large` sets them.
static LARGE_ALLTOALLV: LibraryFunction<Alltoallv<i64>> =
    LibraryFunction::new(std::ptr::null_mut());
static LARGE_ALLTOALLW: LibraryFunction<Alltoallw<i64>> =
    LibraryFunction::new(std::ptr::null_mut());
static LARGE_ALLGATHERV: LibraryFunction<Allgatherv<i64>> =
    LibraryFunction::new(std::ptr::null_mut());
static LARGE_GATHERV: LibraryFunction<Gatherv<i64>> = LibraryFunction::new(std::ptr::null_mut());
static LARGE_SCATTERV: LibraryFunction<Scatterv<i64>> = LibraryFunction::new(std::ptr::null_mut());

/// The place of the address of an irregular collective's function, with large counts or not.
pub(crate) fn function_place(
    collective: Collective,
    is_large: bool,
) -> Option<&'static AtomicPtr<c_void>> {
    let [plain, large] = match collective {
        Collective::Alltoallv => [&ALLTOALLV.address, &LARGE_ALLTOALLV.address],
        Collective::Alltoallw => [&ALLTOALLW.address, &LARGE_ALLTOALLW.address],
        Collective::Allgatherv => [&ALLGATHERV.address, &LARGE_ALLGATHERV.address],
        Collective::Gatherv => [&GATHERV.address, &LARGE_GATHERV.address],
        Collective::Scatterv => [&SCATTERV.address, &LARGE_SCATTERV.address],
        _ => return None,
    };
    Some(if is_large { large } else { plain })
}
