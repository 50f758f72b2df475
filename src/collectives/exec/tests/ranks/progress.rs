//! Progress of the application's messages while a rank waits for a message through shared memory.

use std::ffi::c_int;
use std::time::Duration;

use exec::{Bytes, Communicator, ExecError, ScheduleExecutor, Wait, check_code};
use mpi::ffi;
use vocabulary::{Parameters, Through};

use crate::doing;
use crate::shared::{LIMIT, allreduce, connect};

/// The length of a message that needs its sender's progress until it has arrived.
const LONG: usize = 4 << 20;

/// Makes Open MPI send all messages by TCP. To be called before MPI and other threads are started.
pub(crate) fn use_tcp() {
    // SAFETY: the only thread.
    unsafe { std::env::set_var("OMPI_MCA_btl", "tcp,self") };
}

/// Rank 1 sends a long message to rank 0 and calls an allreduce, in which it waits for rank 0, after its messages to
/// and from the other node have completed. Rank 0 first receives the long message. Returns the number of failures.
pub(crate) fn run(world: &mut Communicator) -> Result<u32, ExecError> {
    let application = world.duplicate()?;
    connect(world, |rank| rank / 2, LIMIT)?;
    let call = allreduce(64);
    let parameters = Parameters::default();
    let schedule = call.schedule_with("allreduce/ring", &parameters, world.nodes())?;
    let mut executor =
        ScheduleExecutor::new(&schedule, &call, world, Through::Shared, Wait::Block)?;
    let [input, mut output] = [64; 2].map(Bytes::zeroed);
    executor.call(world, input.as_slice(), output.as_mut_slice())?;
    let mut long = Bytes::zeroed(LONG);
    let sent = match world.rank() {
        0 => {
            doing("receives".to_owned());
            std::thread::sleep(Duration::from_secs(1));
            application.recv_bytes(long.as_mut_slice(), 1)?;
            None
        }
        1 => Some(start_send(&application, long.as_slice(), 0)?),
        _ => None,
    };
    doing("waits for rank 0".to_owned());
    executor.call(world, input.as_slice(), output.as_mut_slice())?;
    if let Some(mut request) = sent {
        // SAFETY: a valid request, which is complete since the message has been received.
        let code = unsafe { ffi::MPI_Wait(&mut request, ffi::RSMPI_STATUS_IGNORE) };
        check_code("MPI_Wait", code)?;
    }
    Ok(0)
}

fn start_send(
    communicator: &Communicator,
    data: &[u8],
    to: c_int,
) -> Result<ffi::MPI_Request, ExecError> {
    // SAFETY: the data lives until the caller has waited; the request is written by the call.
    unsafe {
        let (mut request, length) = (ffi::RSMPI_REQUEST_NULL, data.len() as c_int);
        let (data, byte) = (data.as_ptr().cast(), ffi::RSMPI_UINT8_T);
        let code = ffi::MPI_Isend(data, length, byte, to, 0, communicator.raw(), &mut request);
        check_code("MPI_Isend", code).map(|()| request)
    }
}
