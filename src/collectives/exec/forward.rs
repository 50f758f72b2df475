//! Calls passed on to the library.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};

use mpi::ffi;
use schedule::Collective;

use crate::constants::{MPI_Comm, MPI_Datatype, MPI_Op};
use crate::raw_irregular::function_place;
use crate::{GivenCounts, RawCall};

/// Defines a method that makes the call by functions with these names.
macro_rules! call_by {
    ($(#[$about:meta])* $method:ident: $bcast:ident, $reduce:ident, $allreduce:ident, $gather:ident,
     $scatter:ident, $allgather:ident, $reduce_scatter:ident, $reduce_scatter_block:ident,
     $alltoall:ident, $barrier:ident, $scan:ident, $exscan:ident) => {
        $(#[$about])*
        #[inline(always)]
        pub unsafe fn $method(&self, on: MPI_Comm) -> c_int {
            let Self { send, recv, send_type, operator, root, .. } = *self;
            let (send_count, count) = (self.send_count as c_int, self.recv_count as c_int);
            let datatype = self.recv_type;
            let counts = match self.counts {
                GivenCounts::Int(counts) => counts,
                GivenCounts::Large(_) => std::ptr::null(),
            };
            // SAFETY: the caller promises that handles that are not null are valid, and that the buffers are as long as
            // the counts and types say.
            unsafe {
                match self.collective {
                    Collective::Bcast => ffi::$bcast(recv, count, datatype, root, on),
                    Collective::Reduce => {
                        ffi::$reduce(send, recv, count, datatype, operator, root, on)
                    }
                    Collective::Allreduce => {
                        ffi::$allreduce(send, recv, count, datatype, operator, on)
                    }
                    Collective::Gather => {
                        ffi::$gather(send, send_count, send_type, recv, count, datatype, root, on)
                    }
                    Collective::Scatter => {
                        ffi::$scatter(send, send_count, send_type, recv, count, datatype, root, on)
                    }
                    Collective::Allgather => {
                        ffi::$allgather(send, send_count, send_type, recv, count, datatype, on)
                    }
                    Collective::ReduceScatter => {
                        ffi::$reduce_scatter(send, recv, counts, datatype, operator, on)
                    }
                    Collective::ReduceScatterBlock => {
                        ffi::$reduce_scatter_block(send, recv, count, datatype, operator, on)
                    }
                    Collective::Alltoall => {
                        ffi::$alltoall(send, send_count, send_type, recv, count, datatype, on)
                    }
                    Collective::Barrier => ffi::$barrier(on),
                    Collective::Scan => ffi::$scan(send, recv, count, datatype, operator, on),
                    Collective::Exscan => ffi::$exscan(send, recv, count, datatype, operator, on),
                    // Their arguments are not those of a `RawCall`.
                    Collective::Alltoallv
                    | Collective::Alltoallw
                    | Collective::Allgatherv
                    | Collective::Gatherv
                    | Collective::Scatterv => ffi::MPI_ERR_OTHER as c_int,
                }
            }
        }
    };
}

impl RawCall {
    call_by! {
        /// Makes the call as programs do. Returns MPI's error code.
        ///
        /// # Safety
        ///
        /// As MPI asks of the call: the buffers are as long as the counts and types say, and the output is writable.
        /// Handles that are not null are valid; the library refuses others. The counts are of type `int`.
        call: MPI_Bcast, MPI_Reduce, MPI_Allreduce, MPI_Gather, MPI_Scatter, MPI_Allgather,
        MPI_Reduce_scatter, MPI_Reduce_scatter_block, MPI_Alltoall, MPI_Barrier, MPI_Scan, MPI_Exscan
    }
    /// Makes the call by the library's own functions, which tools do not intercept. Returns MPI's error code.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call: the buffers are as long as the counts and types say, and the output is writable.
    /// Handles that are not null are valid; the library refuses others. For large counts, [`redirect_large`] has set
    /// the collective's function.
    #[inline(always)]
    pub unsafe fn forward(&self, on: MPI_Comm) -> c_int {
        let Self {
            send,
            recv,
            send_type,
            operator,
            root,
            ..
        } = *self;
        let counts = match self.counts {
            GivenCounts::Int(counts) => counts,
            // SAFETY: the caller promises that handles that are not null are valid, and that the buffers are as long as
            // the counts and types say; also that `redirect_large` has set the collective's function.
            GivenCounts::Large(counts) => return unsafe { self.forward_large(counts, on) },
        };
        let (send_count, count) = (self.send_count as c_int, self.recv_count as c_int);
        let datatype = self.recv_type;
        // SAFETY: the caller promises that handles that are not null are valid, and that the buffers are as long as the
        // counts and types say. By the contract of `redirect_collective`, the functions have the types of their
        // statics.
        unsafe {
            match self.collective {
                Collective::Bcast => BCAST.as_function()(recv, count, datatype, root, on),
                Collective::Reduce => {
                    REDUCE.as_function()(send, recv, count, datatype, operator, root, on)
                }
                Collective::Allreduce => {
                    ALLREDUCE.as_function()(send, recv, count, datatype, operator, on)
                }
                Collective::Gather => GATHER.as_function()(
                    send, send_count, send_type, recv, count, datatype, root, on,
                ),
                Collective::Scatter => SCATTER.as_function()(
                    send, send_count, send_type, recv, count, datatype, root, on,
                ),
                Collective::Allgather => {
                    ALLGATHER.as_function()(send, send_count, send_type, recv, count, datatype, on)
                }
                Collective::ReduceScatter => {
                    REDUCE_SCATTER.as_function()(send, recv, counts, datatype, operator, on)
                }
                Collective::ReduceScatterBlock => {
                    REDUCE_SCATTER_BLOCK.as_function()(send, recv, count, datatype, operator, on)
                }
                Collective::Alltoall => {
                    ALLTOALL.as_function()(send, send_count, send_type, recv, count, datatype, on)
                }
                Collective::Barrier => BARRIER.as_function()(on),
                Collective::Scan => SCAN.as_function()(send, recv, count, datatype, operator, on),
                Collective::Exscan => {
                    EXSCAN.as_function()(send, recv, count, datatype, operator, on)
                }
                // Their arguments are not those of a `RawCall`.
                Collective::Alltoallv
                | Collective::Alltoallw
                | Collective::Allgatherv
                | Collective::Gatherv
                | Collective::Scatterv => ffi::MPI_ERR_OTHER as c_int,
            }
        }
    }
}

impl RawCall {
    /// Makes the call by the library's function with large counts. Returns MPI's error code.
    ///
    /// # Safety
    ///
    /// As for [`Self::forward`]; [`redirect_large`] has set the collective's function.
    #[inline(never)]
    unsafe fn forward_large(&self, counts: *const i64, on: MPI_Comm) -> c_int {
        let Self {
            send,
            recv,
            send_count,
            send_type,
            operator,
            root,
            ..
        } = *self;
        let (count, datatype) = (self.recv_count, self.recv_type);
        // SAFETY: the caller promises that handles that are not null are valid, and that the buffers are as long as the
        // counts and types say; also that `redirect_large` has set the function, which by its contract has the type of
        // the static.
        unsafe {
            match self.collective {
                Collective::Bcast => LARGE_BCAST.as_function()(recv, count, datatype, root, on),
                Collective::Reduce => {
                    LARGE_REDUCE.as_function()(send, recv, count, datatype, operator, root, on)
                }
                Collective::Allreduce => {
                    LARGE_ALLREDUCE.as_function()(send, recv, count, datatype, operator, on)
                }
                Collective::Gather => LARGE_GATHER.as_function()(
                    send, send_count, send_type, recv, count, datatype, root, on,
                ),
                Collective::Scatter => LARGE_SCATTER.as_function()(
                    send, send_count, send_type, recv, count, datatype, root, on,
                ),
                Collective::Allgather => LARGE_ALLGATHER.as_function()(
                    send, send_count, send_type, recv, count, datatype, on,
                ),
                Collective::ReduceScatter => {
                    LARGE_REDUCE_SCATTER.as_function()(send, recv, counts, datatype, operator, on)
                }
                Collective::ReduceScatterBlock => LARGE_REDUCE_SCATTER_BLOCK.as_function()(
                    send, recv, count, datatype, operator, on,
                ),
                Collective::Alltoall => LARGE_ALLTOALL.as_function()(
                    send, send_count, send_type, recv, count, datatype, on,
                ),
                Collective::Scan => {
                    LARGE_SCAN.as_function()(send, recv, count, datatype, operator, on)
                }
                Collective::Exscan => {
                    LARGE_EXSCAN.as_function()(send, recv, count, datatype, operator, on)
                }
                // It has no counts, so there is only one function.
                Collective::Barrier => BARRIER.as_function()(on),
                Collective::Alltoallv
                | Collective::Alltoallw
                | Collective::Allgatherv
                | Collective::Gatherv
                | Collective::Scatterv => ffi::MPI_ERR_OTHER as c_int,
            }
        }
    }
}

/// The address of a function of the library.
pub(crate) struct LibraryFunction<F> {
    pub(crate) address: AtomicPtr<c_void>,
    has_type: PhantomData<F>,
}

// SAFETY: only an address.
unsafe impl<F> Sync for LibraryFunction<F> {}

impl<F: Copy> LibraryFunction<F> {
    pub(crate) const fn new(address: *mut c_void) -> Self {
        Self {
            address: AtomicPtr::new(address),
            has_type: PhantomData,
        }
    }

    /// # Safety
    ///
    /// `F` is the type of the function at the address, which is not null unless `F` is an option.
    #[inline(always)]
    pub(crate) unsafe fn as_function(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the caller promises that `F` is the type of the function at the address, which is not null; a
        // function pointer is an address.
        unsafe { std::mem::transmute_copy(&self.address.load(Ordering::Relaxed)) }
    }
}

type In = *const c_void;
type Out = *mut c_void;

// The functions' types, by the types of a count and of an array of counts.
type Bcast<Count> = unsafe extern "C" fn(Out, Count, MPI_Datatype, c_int, MPI_Comm) -> c_int;
type Reduce<Count> =
    unsafe extern "C" fn(In, Out, Count, MPI_Datatype, MPI_Op, c_int, MPI_Comm) -> c_int;
type Allreduce<Count> =
    unsafe extern "C" fn(In, Out, Count, MPI_Datatype, MPI_Op, MPI_Comm) -> c_int;
type Gather<Count> = unsafe extern "C" fn(
    In,
    Count,
    MPI_Datatype,
    Out,
    Count,
    MPI_Datatype,
    c_int,
    MPI_Comm,
) -> c_int;
type Allgather<Count> =
    unsafe extern "C" fn(In, Count, MPI_Datatype, Out, Count, MPI_Datatype, MPI_Comm) -> c_int;
type ReduceScatter<Counts> =
    unsafe extern "C" fn(In, Out, Counts, MPI_Datatype, MPI_Op, MPI_Comm) -> c_int;
type Barrier = unsafe extern "C" fn(MPI_Comm) -> c_int;

static BCAST: LibraryFunction<Bcast<c_int>> = LibraryFunction::new(ffi::PMPI_Bcast as *mut c_void);
static REDUCE: LibraryFunction<Reduce<c_int>> =
    LibraryFunction::new(ffi::PMPI_Reduce as *mut c_void);
static ALLREDUCE: LibraryFunction<Allreduce<c_int>> =
    LibraryFunction::new(ffi::PMPI_Allreduce as *mut c_void);
static GATHER: LibraryFunction<Gather<c_int>> =
    LibraryFunction::new(ffi::PMPI_Gather as *mut c_void);
static SCATTER: LibraryFunction<Gather<c_int>> =
    LibraryFunction::new(ffi::PMPI_Scatter as *mut c_void);
static ALLGATHER: LibraryFunction<Allgather<c_int>> =
    LibraryFunction::new(ffi::PMPI_Allgather as *mut c_void);
static REDUCE_SCATTER: LibraryFunction<ReduceScatter<*const c_int>> =
    LibraryFunction::new(ffi::PMPI_Reduce_scatter as *mut c_void);
static REDUCE_SCATTER_BLOCK: LibraryFunction<Allreduce<c_int>> =
    LibraryFunction::new(ffi::PMPI_Reduce_scatter_block as *mut c_void);
static ALLTOALL: LibraryFunction<Allgather<c_int>> =
    LibraryFunction::new(ffi::PMPI_Alltoall as *mut c_void);
static BARRIER: LibraryFunction<Barrier> = LibraryFunction::new(ffi::PMPI_Barrier as *mut c_void);
static SCAN: LibraryFunction<Allreduce<c_int>> =
    LibraryFunction::new(ffi::PMPI_Scan as *mut c_void);
static EXSCAN: LibraryFunction<Allreduce<c_int>> =
    LibraryFunction::new(ffi::PMPI_Exscan as *mut c_void);

// Not every library has those with large counts, so they are null until `redirect_large` sets them.
static LARGE_BCAST: LibraryFunction<Bcast<i64>> = LibraryFunction::new(std::ptr::null_mut());
static LARGE_REDUCE: LibraryFunction<Reduce<i64>> = LibraryFunction::new(std::ptr::null_mut());
static LARGE_ALLREDUCE: LibraryFunction<Allreduce<i64>> =
    LibraryFunction::new(std::ptr::null_mut());
static LARGE_GATHER: LibraryFunction<Gather<i64>> = LibraryFunction::new(std::ptr::null_mut());
static LARGE_SCATTER: LibraryFunction<Gather<i64>> = LibraryFunction::new(std::ptr::null_mut());
static LARGE_ALLGATHER: LibraryFunction<Allgather<i64>> =
    LibraryFunction::new(std::ptr::null_mut());
static LARGE_REDUCE_SCATTER: LibraryFunction<ReduceScatter<*const i64>> =
    LibraryFunction::new(std::ptr::null_mut());
static LARGE_REDUCE_SCATTER_BLOCK: LibraryFunction<Allreduce<i64>> =
    LibraryFunction::new(std::ptr::null_mut());
static LARGE_ALLTOALL: LibraryFunction<Allgather<i64>> = LibraryFunction::new(std::ptr::null_mut());
static LARGE_SCAN: LibraryFunction<Allreduce<i64>> = LibraryFunction::new(std::ptr::null_mut());
static LARGE_EXSCAN: LibraryFunction<Allreduce<i64>> = LibraryFunction::new(std::ptr::null_mut());

pub(crate) type CommCreate = unsafe extern "C" fn(MPI_Comm, ffi::MPI_Group, *mut MPI_Comm) -> c_int;
pub(crate) type CommSplitType =
    unsafe extern "C" fn(MPI_Comm, c_int, c_int, ffi::MPI_Info, *mut MPI_Comm) -> c_int;

static CREATE: LibraryFunction<CommCreate> =
    LibraryFunction::new(ffi::MPI_Comm_create as *mut c_void);
static SPLIT_TYPE: LibraryFunction<CommSplitType> =
    LibraryFunction::new(ffi::MPI_Comm_split_type as *mut c_void);

/// `MPI_Comm_create`, or what [`redirect_creators`] has set.
pub(crate) fn comm_create() -> CommCreate {
    // SAFETY: its type.
    unsafe { CREATE.as_function() }
}

/// `MPI_Comm_split_type`, or what [`redirect_creators`] has set.
pub(crate) fn comm_split_type() -> CommSplitType {
    // SAFETY: its type.
    unsafe { SPLIT_TYPE.as_function() }
}

/// Sets the functions by which communicators are created, where MPI's names lead to tools, which must not see ours.
///
/// # Safety
///
/// The addresses are those of the library's `PMPI_Comm_create` and `PMPI_Comm_split_type`.
pub unsafe fn redirect_creators(create: *const c_void, split_type: *const c_void) {
    for (function, address) in [(&CREATE.address, create), (&SPLIT_TYPE.address, split_type)] {
        function.store(address.cast_mut(), Ordering::Relaxed);
    }
}

pub(crate) type WaitOne =
    unsafe extern "C" fn(*mut ffi::MPI_Request, *mut ffi::MPI_Status) -> c_int;
pub(crate) type WaitAll =
    unsafe extern "C" fn(c_int, *mut ffi::MPI_Request, *mut ffi::MPI_Status) -> c_int;
pub(crate) type TestAll =
    unsafe extern "C" fn(c_int, *mut ffi::MPI_Request, *mut c_int, *mut ffi::MPI_Status) -> c_int;

static WAIT: LibraryFunction<WaitOne> = LibraryFunction::new(ffi::MPI_Wait as *mut c_void);
static WAIT_ALL: LibraryFunction<WaitAll> = LibraryFunction::new(ffi::MPI_Waitall as *mut c_void);
static TEST_ALL: LibraryFunction<TestAll> = LibraryFunction::new(ffi::MPI_Testall as *mut c_void);

/// `MPI_Wait`, or what [`redirect_completion`] has set.
#[inline(always)]
pub(crate) fn wait_one() -> WaitOne {
    // SAFETY: its type.
    unsafe { WAIT.as_function() }
}

/// `MPI_Waitall`, or what [`redirect_completion`] has set.
#[inline(always)]
pub(crate) fn wait_all() -> WaitAll {
    // SAFETY: its type.
    unsafe { WAIT_ALL.as_function() }
}

/// `MPI_Testall`, or what [`redirect_completion`] has set.
#[inline(always)]
pub(crate) fn test_all() -> TestAll {
    // SAFETY: its type.
    unsafe { TEST_ALL.as_function() }
}

/// Sets the functions by which messages are completed, where MPI's names lead to tools, which must not see ours.
///
/// # Safety
///
/// The addresses are those of the library's `PMPI_Wait`, `PMPI_Waitall` and `PMPI_Testall`.
pub unsafe fn redirect_completion(
    wait_one: *const c_void,
    wait_all: *const c_void,
    test_all: *const c_void,
) {
    for (function, address) in [
        (&WAIT.address, wait_one),
        (&WAIT_ALL.address, wait_all),
        (&TEST_ALL.address, test_all),
    ] {
        function.store(address.cast_mut(), Ordering::Relaxed);
    }
}

/// Sets the function by which [`RawCall::forward`] makes calls of a collective, where `PMPI_Bcast` and others name
/// functions that forward to it themselves.
///
/// # Safety
///
/// The address is that of the library's function for this collective.
pub unsafe fn redirect_collective(collective: Collective, function: *const c_void) {
    let place = match collective {
        Collective::Bcast => &BCAST.address,
        Collective::Reduce => &REDUCE.address,
        Collective::Allreduce => &ALLREDUCE.address,
        Collective::Gather => &GATHER.address,
        Collective::Scatter => &SCATTER.address,
        Collective::Allgather => &ALLGATHER.address,
        Collective::ReduceScatter => &REDUCE_SCATTER.address,
        Collective::ReduceScatterBlock => &REDUCE_SCATTER_BLOCK.address,
        Collective::Alltoall => &ALLTOALL.address,
        Collective::Barrier => &BARRIER.address,
        Collective::Scan => &SCAN.address,
        Collective::Exscan => &EXSCAN.address,
        Collective::Alltoallv
        | Collective::Alltoallw
        | Collective::Allgatherv
        | Collective::Gatherv
        | Collective::Scatterv => match function_place(collective, false) {
            Some(place) => place,
            None => return,
        },
    };
    place.store(function.cast_mut(), Ordering::Relaxed);
}

/// Sets the function with large counts, such as `PMPI_Bcast_c`, by which [`RawCall::forward`] makes such calls of a
/// collective. Has no effect on a barrier, which has no counts.
///
/// # Safety
///
/// The address is that of the library's function with large counts for this collective.
pub unsafe fn redirect_large(collective: Collective, function: *const c_void) {
    let place = match collective {
        Collective::Bcast => &LARGE_BCAST.address,
        Collective::Reduce => &LARGE_REDUCE.address,
        Collective::Allreduce => &LARGE_ALLREDUCE.address,
        Collective::Gather => &LARGE_GATHER.address,
        Collective::Scatter => &LARGE_SCATTER.address,
        Collective::Allgather => &LARGE_ALLGATHER.address,
        Collective::ReduceScatter => &LARGE_REDUCE_SCATTER.address,
        Collective::ReduceScatterBlock => &LARGE_REDUCE_SCATTER_BLOCK.address,
        Collective::Alltoall => &LARGE_ALLTOALL.address,
        Collective::Scan => &LARGE_SCAN.address,
        Collective::Exscan => &LARGE_EXSCAN.address,
        // It has no counts.
        Collective::Barrier => return,
        Collective::Alltoallv
        | Collective::Alltoallw
        | Collective::Allgatherv
        | Collective::Gatherv
        | Collective::Scatterv => match function_place(collective, true) {
            Some(place) => place,
            None => return,
        },
    };
    place.store(function.cast_mut(), Ordering::Relaxed);
}
