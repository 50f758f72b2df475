//! The names that take the place of MPI's.
//!
//! Handles are numbers as wide as a register here, so that a call can be passed on unharmed even to
//! another library than the one that this was built for: integers are the lower halves of them.

use std::ffi::{c_char, c_int, c_void};

use exec::constants::{MPI_Comm, MPI_Datatype, MPI_Op};
use runtime::RawCall;
use schedule::Collective;

use crate::lifetime::{end, start, tuner};

/// A handle of either library.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Handle(usize);

impl Handle {
    /// The handle in the type of this build's library.
    #[inline]
    fn of<Raw: Copy>(self) -> Raw {
        const {
            assert!(size_of::<Raw>() <= size_of::<usize>() && cfg!(target_endian = "little"));
        }
        // SAFETY: an integer or an address, which stands in the register's lower part.
        unsafe { std::mem::transmute_copy(&self.0) }
    }

    #[inline]
    fn communicator(self) -> MPI_Comm {
        self.of()
    }

    #[inline]
    fn datatype(self) -> MPI_Datatype {
        self.of()
    }

    #[inline]
    fn operator(self) -> MPI_Op {
        self.of()
    }
}

unsafe extern "C" {
    fn PMPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int;
    fn PMPI_Init_thread(
        argc: *mut c_int,
        argv: *mut *mut *mut c_char,
        required: c_int,
        provided: *mut c_int,
    ) -> c_int;
    fn PMPI_Finalize() -> c_int;
    fn PMPI_Bcast(
        buffer: *mut c_void,
        count: c_int,
        datatype: Handle,
        root: c_int,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Reduce(
        send: *const c_void,
        recv: *mut c_void,
        count: c_int,
        datatype: Handle,
        operator: Handle,
        root: c_int,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Allreduce(
        send: *const c_void,
        recv: *mut c_void,
        count: c_int,
        datatype: Handle,
        operator: Handle,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Gather(
        send: *const c_void,
        send_count: c_int,
        send_type: Handle,
        recv: *mut c_void,
        recv_count: c_int,
        recv_type: Handle,
        root: c_int,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Scatter(
        send: *const c_void,
        send_count: c_int,
        send_type: Handle,
        recv: *mut c_void,
        recv_count: c_int,
        recv_type: Handle,
        root: c_int,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Allgather(
        send: *const c_void,
        send_count: c_int,
        send_type: Handle,
        recv: *mut c_void,
        recv_count: c_int,
        recv_type: Handle,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Reduce_scatter(
        send: *const c_void,
        recv: *mut c_void,
        counts: *const c_int,
        datatype: Handle,
        operator: Handle,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Reduce_scatter_block(
        send: *const c_void,
        recv: *mut c_void,
        count: c_int,
        datatype: Handle,
        operator: Handle,
        communicator: Handle,
    ) -> c_int;
}

/// `MPI_Init`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    // SAFETY: the caller's.
    let code = unsafe { PMPI_Init(argc, argv) };
    if code == 0 {
        start();
    }
    code
}

/// `MPI_Init_thread`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init_thread(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    let code = unsafe { PMPI_Init_thread(argc, argv, required, provided) };
    if code == 0 {
        start();
    }
    code
}

/// `MPI_Finalize`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Finalize() -> c_int {
    end();
    // SAFETY: the caller's.
    unsafe { PMPI_Finalize() }
}

/// `MPI_Bcast`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Bcast(
    buffer: *mut c_void,
    count: c_int,
    datatype: Handle,
    root: c_int,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Bcast(buffer, count, datatype, root, communicator);
        };
        let call = RawCall::new(
            Collective::Bcast,
            std::ptr::null(),
            buffer,
            count,
            datatype.datatype(),
        )
        .at(root);
        tuner.call(communicator.communicator(), &call)
    }
}

/// `MPI_Reduce`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce(
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    datatype: Handle,
    operator: Handle,
    root: c_int,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Reduce(send, recv, count, datatype, operator, root, communicator);
        };
        let call = RawCall::new(Collective::Reduce, send, recv, count, datatype.datatype())
            .by(operator.operator())
            .at(root);
        tuner.call(communicator.communicator(), &call)
    }
}

/// `MPI_Allreduce`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allreduce(
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    datatype: Handle,
    operator: Handle,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Allreduce(send, recv, count, datatype, operator, communicator);
        };
        let call = RawCall::new(
            Collective::Allreduce,
            send,
            recv,
            count,
            datatype.datatype(),
        )
        .by(operator.operator());
        tuner.call(communicator.communicator(), &call)
    }
}

/// `MPI_Gather`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Gather(
    send: *const c_void,
    send_count: c_int,
    send_type: Handle,
    recv: *mut c_void,
    recv_count: c_int,
    recv_type: Handle,
    root: c_int,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Gather(
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
                root,
                communicator,
            );
        };
        let call = RawCall::new(
            Collective::Gather,
            send,
            recv,
            recv_count,
            recv_type.datatype(),
        )
        .sending(send_count, send_type.datatype())
        .at(root);
        tuner.call(communicator.communicator(), &call)
    }
}

/// `MPI_Scatter`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Scatter(
    send: *const c_void,
    send_count: c_int,
    send_type: Handle,
    recv: *mut c_void,
    recv_count: c_int,
    recv_type: Handle,
    root: c_int,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Scatter(
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
                root,
                communicator,
            );
        };
        let call = RawCall::new(
            Collective::Scatter,
            send,
            recv,
            recv_count,
            recv_type.datatype(),
        )
        .sending(send_count, send_type.datatype())
        .at(root);
        tuner.call(communicator.communicator(), &call)
    }
}

/// `MPI_Allgather`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allgather(
    send: *const c_void,
    send_count: c_int,
    send_type: Handle,
    recv: *mut c_void,
    recv_count: c_int,
    recv_type: Handle,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Allgather(
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
                communicator,
            );
        };
        let call = RawCall::new(
            Collective::Allgather,
            send,
            recv,
            recv_count,
            recv_type.datatype(),
        )
        .sending(send_count, send_type.datatype());
        tuner.call(communicator.communicator(), &call)
    }
}

/// `MPI_Reduce_scatter`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce_scatter(
    send: *const c_void,
    recv: *mut c_void,
    counts: *const c_int,
    datatype: Handle,
    operator: Handle,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Reduce_scatter(send, recv, counts, datatype, operator, communicator);
        };
        let call = RawCall::new(
            Collective::ReduceScatter,
            send,
            recv,
            0,
            datatype.datatype(),
        )
        .by(operator.operator())
        .parts(counts);
        tuner.call(communicator.communicator(), &call)
    }
}

/// `MPI_Reduce_scatter_block`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce_scatter_block(
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    datatype: Handle,
    operator: Handle,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Reduce_scatter_block(send, recv, count, datatype, operator, communicator);
        };
        let call = RawCall::new(
            Collective::ReduceScatterBlock,
            send,
            recv,
            count,
            datatype.datatype(),
        )
        .by(operator.operator());
        tuner.call(communicator.communicator(), &call)
    }
}
