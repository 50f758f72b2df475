//! Messages between two ranks.

use std::ffi::{c_int, c_void};

use mpi::ffi;

use crate::api::{byte_datatype, check_code, mpi_count, status_ignore};
use crate::requests::Requests;
use crate::{Communicator, ExecError, Wait};

/// One end of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// Its start; only written in receives.
    pub(crate) data: *mut c_void,
    pub(crate) count: c_int,
    pub(crate) datatype: ffi::MPI_Datatype,
    /// The other end's rank in the library's communicator.
    pub(crate) peer: c_int,
}

impl Communicator {
    /// One end of a message of bytes.
    fn message_of_bytes(
        &self,
        data: *mut u8,
        length: usize,
        peer: u32,
    ) -> Result<Message, ExecError> {
        Ok(Message {
            data: data.cast(),
            count: mpi_count(length as u64)?,
            datatype: byte_datatype(),
            peer: self.library_rank(peer),
        })
    }

    /// Sends bytes; may block until they are received.
    pub fn send_bytes(&self, bytes: &[u8], to: u32) -> Result<(), ExecError> {
        let message = self.message_of_bytes(bytes.as_ptr().cast_mut(), bytes.len(), to)?;
        // SAFETY: the slice is valid for the length given.
        unsafe { self.send(message) }
    }

    /// Receives exactly the length of the slice.
    pub fn recv_bytes(&self, bytes: &mut [u8], from: u32) -> Result<(), ExecError> {
        let message = self.message_of_bytes(bytes.as_mut_ptr(), bytes.len(), from)?;
        // SAFETY: the slice is valid for the length given.
        unsafe { self.recv(message) }
    }

    /// Sends to one rank while receiving from another.
    pub fn exchange_bytes(
        &self,
        send: &[u8],
        to: u32,
        recv: &mut [u8],
        from: u32,
    ) -> Result<(), ExecError> {
        let send = self.message_of_bytes(send.as_ptr().cast_mut(), send.len(), to)?;
        let recv = self.message_of_bytes(recv.as_mut_ptr(), recv.len(), from)?;
        // SAFETY: the slices are valid for the lengths given and do not overlap.
        unsafe { self.exchange(send, recv) }
    }

    /// Lets MPI make progress.
    pub(crate) fn make_progress(&self) -> Result<(), ExecError> {
        let mut is_there = 0;
        // SAFETY: the result is written by the call, which receives nothing.
        let code = unsafe {
            let any = ffi::RSMPI_ANY_SOURCE;
            ffi::MPI_Iprobe(any, self.tag(), self.raw(), &mut is_there, status_ignore())
        };
        check_code("MPI_Iprobe", code)
    }

    /// Sends the same bytes to each rank of `to` while receiving from each of `from`, all at once. A rank that occurs
    /// twice exchanges two messages. `recv` is divided into pieces of equal length, in the order of `from`; a
    /// remainder is not touched.
    pub fn transfer_bytes(
        &self,
        send: &[u8],
        to: &[u32],
        recv: &mut [u8],
        from: &[u32],
        wait: Wait,
    ) -> Result<(), ExecError> {
        let mut requests = Requests::default();
        requests.reserve(to.len() + from.len());
        // SAFETY: the slices are borrowed until all requests have ended.
        let outcome = unsafe { self.start_transfer(send, to, recv, from, &mut requests) };
        requests.finish_or_cancel(outcome, wait)
    }

    /// Starts the messages of [`Self::transfer_bytes`], receives first.
    ///
    /// # Safety
    ///
    /// The slices stay valid, `send` is not written, and `recv` is not touched, until all requests have ended.
    unsafe fn start_transfer(
        &self,
        send: &[u8],
        to: &[u32],
        recv: &mut [u8],
        from: &[u32],
        requests: &mut Requests,
    ) -> Result<(), Box<ExecError>> {
        let piece = recv.len() / from.len().max(1);
        let data = recv.as_mut_ptr();
        for (index, &peer) in from.iter().enumerate() {
            let message = self.message_of_bytes(data.wrapping_add(index * piece), piece, peer)?;
            // SAFETY: the pieces lie in the slice and do not overlap; the caller promises that the slice stays valid
            // and is not touched until the requests have ended.
            requests.push(unsafe { self.start_recv(message) }?);
        }
        for &peer in to {
            let message = self.message_of_bytes(send.as_ptr().cast_mut(), send.len(), peer)?;
            // SAFETY: the slice is only read; the caller promises that it stays valid and is not written until the
            // requests have ended.
            requests.push(unsafe { self.start_send(message) }?);
        }
        Ok(())
    }

    /// # Safety
    ///
    /// The message lies in memory that may be read.
    #[inline]
    pub(crate) unsafe fn send(&self, message: Message) -> Result<(), ExecError> {
        let Message {
            data,
            count,
            datatype,
            peer,
        } = message;
        // SAFETY: the caller promises that the message lies in memory that may be read.
        let code = unsafe { ffi::MPI_Send(data, count, datatype, peer, self.tag(), self.raw()) };
        check_code("MPI_Send", code)
    }

    /// # Safety
    ///
    /// The message lies in memory that may be written.
    #[inline]
    pub(crate) unsafe fn recv(&self, message: Message) -> Result<(), ExecError> {
        let Message {
            data,
            count,
            datatype,
            peer,
        } = message;
        let ignore = status_ignore();
        // SAFETY: the caller promises that the message lies in memory that may be written.
        let code =
            unsafe { ffi::MPI_Recv(data, count, datatype, peer, self.tag(), self.raw(), ignore) };
        check_code("MPI_Recv", code)
    }

    /// # Safety
    ///
    /// `send` lies in memory that may be read, `recv` in memory that may be written, and they do not overlap.
    #[inline]
    pub(crate) unsafe fn exchange(&self, send: Message, recv: Message) -> Result<(), ExecError> {
        // SAFETY: the caller promises that `send` may be read and `recv` written, and that they do not overlap.
        let code = unsafe {
            ffi::MPI_Sendrecv(
                send.data,
                send.count,
                send.datatype,
                send.peer,
                self.tag(),
                recv.data,
                recv.count,
                recv.datatype,
                recv.peer,
                self.tag(),
                self.raw(),
                status_ignore(),
            )
        };
        check_code("MPI_Sendrecv", code)
    }

    /// # Safety
    ///
    /// The message lies in memory that may be read, and is not written until the request ends.
    pub(crate) unsafe fn start_send(
        &self,
        message: Message,
    ) -> Result<ffi::MPI_Request, Box<ExecError>> {
        let Message {
            data,
            count,
            datatype,
            peer,
        } = message;
        // SAFETY: the caller promises that the message may be read, and is not written until the request ends; the
        // request is written by the call.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let code = ffi::MPI_Isend(
                data,
                count,
                datatype,
                peer,
                self.tag(),
                self.raw(),
                &mut request,
            );
            check_code("MPI_Isend", code)?;
            Ok(request)
        }
    }

    /// # Safety
    ///
    /// The message lies in memory that may be written, and is not touched until the request ends.
    pub(crate) unsafe fn start_recv(
        &self,
        message: Message,
    ) -> Result<ffi::MPI_Request, Box<ExecError>> {
        let Message {
            data,
            count,
            datatype,
            peer,
        } = message;
        // SAFETY: the caller promises that the message may be written, and is not touched until the request ends; the
        // request is written by the call.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let code = ffi::MPI_Irecv(
                data,
                count,
                datatype,
                peer,
                self.tag(),
                self.raw(),
                &mut request,
            );
            check_code("MPI_Irecv", code)?;
            Ok(request)
        }
    }
}
