//! Calls passed on to the library.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};

use mpi::ffi;
use schedule::Collective;

use crate::RawCall;
use crate::constants::{MPI_Comm, MPI_Datatype, MPI_Op};

/// Defines a method that makes the call by functions with these names.
macro_rules! call_by {
    ($(#[$about:meta])* $method:ident: $bcast:ident, $reduce:ident, $allreduce:ident, $gather:ident,
     $scatter:ident, $allgather:ident, $reduce_scatter:ident, $reduce_scatter_block:ident,
     $alltoall:ident, $barrier:ident, $scan:ident) => {
        $(#[$about])*
        #[inline(always)]
        pub unsafe fn $method(&self, on: MPI_Comm) -> c_int {
            let Self { send, recv, send_count, send_type, counts, operator, root, .. } = *self;
            let (count, datatype) = (self.recv_count, self.recv_type);
            // SAFETY: the caller's.
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
        /// As MPI asks of the call.
        call: MPI_Bcast, MPI_Reduce, MPI_Allreduce, MPI_Gather, MPI_Scatter, MPI_Allgather,
        MPI_Reduce_scatter, MPI_Reduce_scatter_block, MPI_Alltoall, MPI_Barrier, MPI_Scan
    }
    /// Makes the call by the library's own functions, which tools do not intercept. Returns MPI's error code.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call.
    #[inline(always)]
    pub unsafe fn forward(&self, on: MPI_Comm) -> c_int {
        let Self {
            send,
            recv,
            send_count,
            send_type,
            counts,
            operator,
            root,
            ..
        } = *self;
        let (count, datatype) = (self.recv_count, self.recv_type);
        // SAFETY: the caller's.
        unsafe {
            match self.collective {
                Collective::Bcast => BCAST.get()(recv, count, datatype, root, on),
                Collective::Reduce => REDUCE.get()(send, recv, count, datatype, operator, root, on),
                Collective::Allreduce => ALLREDUCE.get()(send, recv, count, datatype, operator, on),
                Collective::Gather => {
                    GATHER.get()(send, send_count, send_type, recv, count, datatype, root, on)
                }
                Collective::Scatter => {
                    SCATTER.get()(send, send_count, send_type, recv, count, datatype, root, on)
                }
                Collective::Allgather => {
                    ALLGATHER.get()(send, send_count, send_type, recv, count, datatype, on)
                }
                Collective::ReduceScatter => {
                    REDUCE_SCATTER.get()(send, recv, counts, datatype, operator, on)
                }
                Collective::ReduceScatterBlock => {
                    REDUCE_SCATTER_BLOCK.get()(send, recv, count, datatype, operator, on)
                }
                Collective::Alltoall => {
                    ffi::PMPI_Alltoall(send, send_count, send_type, recv, count, datatype, on)
                }
                Collective::Barrier => ffi::PMPI_Barrier(on),
                Collective::Scan => ffi::PMPI_Scan(send, recv, count, datatype, operator, on),
            }
        }
    }
}

/// The address of a function of the library.
struct Function<F> {
    address: AtomicPtr<c_void>,
    has_type: PhantomData<F>,
}

// SAFETY: only an address.
unsafe impl<F> Sync for Function<F> {}

impl<F: Copy> Function<F> {
    const fn new(address: *mut c_void) -> Self {
        Self {
            address: AtomicPtr::new(address),
            has_type: PhantomData,
        }
    }

    /// # Safety
    ///
    /// `F` is the function's type.
    #[inline(always)]
    unsafe fn get(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the caller's; a function pointer is an address.
        unsafe { std::mem::transmute_copy(&self.address.load(Ordering::Relaxed)) }
    }
}

type In = *const c_void;
type Out = *mut c_void;

static BCAST: Function<unsafe extern "C" fn(Out, c_int, MPI_Datatype, c_int, MPI_Comm) -> c_int> =
    Function::new(ffi::PMPI_Bcast as *mut c_void);
static REDUCE: Function<
    unsafe extern "C" fn(In, Out, c_int, MPI_Datatype, MPI_Op, c_int, MPI_Comm) -> c_int,
> = Function::new(ffi::PMPI_Reduce as *mut c_void);
static ALLREDUCE: Function<
    unsafe extern "C" fn(In, Out, c_int, MPI_Datatype, MPI_Op, MPI_Comm) -> c_int,
> = Function::new(ffi::PMPI_Allreduce as *mut c_void);
static GATHER: Function<
    unsafe extern "C" fn(
        In,
        c_int,
        MPI_Datatype,
        Out,
        c_int,
        MPI_Datatype,
        c_int,
        MPI_Comm,
    ) -> c_int,
> = Function::new(ffi::PMPI_Gather as *mut c_void);
static SCATTER: Function<
    unsafe extern "C" fn(
        In,
        c_int,
        MPI_Datatype,
        Out,
        c_int,
        MPI_Datatype,
        c_int,
        MPI_Comm,
    ) -> c_int,
> = Function::new(ffi::PMPI_Scatter as *mut c_void);
static ALLGATHER: Function<
    unsafe extern "C" fn(In, c_int, MPI_Datatype, Out, c_int, MPI_Datatype, MPI_Comm) -> c_int,
> = Function::new(ffi::PMPI_Allgather as *mut c_void);
static REDUCE_SCATTER: Function<
    unsafe extern "C" fn(In, Out, *const c_int, MPI_Datatype, MPI_Op, MPI_Comm) -> c_int,
> = Function::new(ffi::PMPI_Reduce_scatter as *mut c_void);
static REDUCE_SCATTER_BLOCK: Function<
    unsafe extern "C" fn(In, Out, c_int, MPI_Datatype, MPI_Op, MPI_Comm) -> c_int,
> = Function::new(ffi::PMPI_Reduce_scatter_block as *mut c_void);

pub(crate) type Create = unsafe extern "C" fn(MPI_Comm, ffi::MPI_Group, *mut MPI_Comm) -> c_int;
pub(crate) type SplitType =
    unsafe extern "C" fn(MPI_Comm, c_int, c_int, ffi::MPI_Info, *mut MPI_Comm) -> c_int;

static CREATE: Function<Create> = Function::new(ffi::MPI_Comm_create as *mut c_void);
static SPLIT_TYPE: Function<SplitType> = Function::new(ffi::MPI_Comm_split_type as *mut c_void);

/// `MPI_Comm_create`, or what [`redirect_creators`] has set.
pub(crate) fn create() -> Create {
    // SAFETY: its type.
    unsafe { CREATE.get() }
}

/// `MPI_Comm_split_type`, or what [`redirect_creators`] has set.
pub(crate) fn split_type() -> SplitType {
    // SAFETY: its type.
    unsafe { SPLIT_TYPE.get() }
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

/// Sets the function by which [`RawCall::forward`] makes calls of a collective, where `PMPI_Bcast` and others name
/// functions that forward to it themselves. Has no effect on collectives without tables.
///
/// # Safety
///
/// The address is that of the library's function for this collective.
pub unsafe fn redirect(collective: Collective, function: *const c_void) {
    let place = match collective {
        Collective::Bcast => &BCAST.address,
        Collective::Reduce => &REDUCE.address,
        Collective::Allreduce => &ALLREDUCE.address,
        Collective::Gather => &GATHER.address,
        Collective::Scatter => &SCATTER.address,
        Collective::Allgather => &ALLGATHER.address,
        Collective::ReduceScatter => &REDUCE_SCATTER.address,
        Collective::ReduceScatterBlock => &REDUCE_SCATTER_BLOCK.address,
        Collective::Alltoall | Collective::Barrier | Collective::Scan => return,
    };
    place.store(function.cast_mut(), Ordering::Relaxed);
}
