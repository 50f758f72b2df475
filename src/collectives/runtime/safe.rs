//! Collectives on rsmpi's communicators and on slices.

use std::ffi::{c_int, c_void};
use std::path::Path;

use exec::constants::{MPI_Comm, MPI_Datatype, in_place};
use exec::{RawBlocks, RawCall, RawIrregularCall, is_running};
use mpi::collective::Operation;
use mpi::datatype::Equivalence;
use mpi::raw::AsRaw;
use mpi::topology::Communicator;
use schedule::Collective;
use table::{Decision, Query, Table};

use crate::room::is_intracommunicator;
use crate::{CallSummary, Dispatcher, Loaded, RuntimeError, Settings};

/// A table, and collectives that follow it.
///
/// Every collective has the meaning of MPI's, and is called by all ranks of the communicator. Calls that no algorithm
/// of ours can serve are carried out by the library. Dropping the runtime is collective, too.
#[derive(Debug)]
pub struct Runtime {
    dispatcher: Dispatcher,
}

/// The blocks of a slice in an irregular collective, one for each rank.
#[derive(Clone, Copy, Debug)]
pub struct SliceBlocks<'a> {
    /// The number of elements of each.
    pub counts: &'a [i32],
    /// The index of the first element of each.
    pub displacements: &'a [i32],
}

impl SliceBlocks<'_> {
    /// Checks that there is a block for each rank, and that all are inside a slice of `length` elements.
    fn check(&self, communicator: &impl Communicating, length: usize) -> Result<(), RuntimeError> {
        let ranks = communicator.size() as usize;
        check_length(ranks, self.counts.len())?;
        check_length(ranks, self.displacements.len())?;
        for (count, start) in self.counts.iter().zip(self.displacements) {
            let end = i64::from(*start) + i64::from(*count);
            let is_inside = *count == 0 || *start >= 0 && end <= length as i64;
            if *count < 0 || !is_inside {
                return Err(RuntimeError::Length {
                    expected: usize::try_from(end).unwrap_or(0),
                    found: length,
                });
            }
        }
        Ok(())
    }

    fn as_raw(&self, datatype: MPI_Datatype) -> RawBlocks {
        RawBlocks::of_ranks(self.counts.as_ptr(), self.displacements.as_ptr(), datatype)
    }
}

/// An rsmpi communicator.
pub trait Communicating: Communicator + AsRaw<Raw = MPI_Comm> {}

impl<C: Communicator + AsRaw<Raw = MPI_Comm>> Communicating for C {}

impl Runtime {
    /// Reads a table on every rank of a communicator. Collective.
    ///
    /// # Errors
    ///
    /// As [`Dispatcher::new`]; on all ranks alike.
    pub fn load(
        path: &Path,
        communicator: &impl Communicating,
        settings: Settings,
    ) -> Result<Self, RuntimeError> {
        check_running()?;
        let loaded = Loaded::read(path).map_err(RuntimeError::from);
        // SAFETY: MPI is running, and rsmpi's communicators are valid.
        let dispatcher = unsafe { Dispatcher::new(loaded, communicator.as_raw(), settings) }?;
        Ok(Self { dispatcher })
    }

    /// The table, as [`Dispatcher::table`] has it.
    pub fn table(&self) -> &Table {
        self.dispatcher.table()
    }

    /// The table's decision about a call: [`Table::lookup`] among the rules that the policy deploys, including
    /// interpolated ones if it deploys these. On other shapes that were not measured the decision is the default,
    /// unless the policy extrapolates.
    pub fn decide(&self, query: &Query) -> Decision<'_> {
        let decision = self.table().lookup(query);
        if decision.matched.is_stand_in() && !self.dispatcher.is_extrapolating() {
            Decision::without_rule(query)
        } else {
            decision
        }
    }

    /// The calls so far on this rank, with what carried them out.
    pub fn summary(&self) -> CallSummary {
        self.dispatcher.summary()
    }

    /// `MPI_Bcast`: sends the root's elements to every rank.
    ///
    /// # Errors
    ///
    /// If there is no such root, or MPI reports an error.
    pub fn bcast<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        data: &mut [T],
        root: i32,
    ) -> Result<(), RuntimeError> {
        let buffers = CallBuffers::from_output(std::ptr::null(), data);
        self.call_collective::<T>(communicator, Collective::Bcast, &buffers, |call| {
            call.with_root(root)
        })
    }

    /// `MPI_Reduce`: combines all ranks' elements into the root's buffer.
    ///
    /// # Errors
    ///
    /// If there is no such root, the root's buffer has another length, or MPI reports an error.
    pub fn reduce<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        recv: Option<&mut [T]>,
        operation: impl Operation,
        root: i32,
    ) -> Result<(), RuntimeError> {
        let room = self.root_buffer(communicator, recv, root, send.len())?;
        let buffers = CallBuffers::from_input(send, send.len(), room);
        let by = operation.as_raw();
        self.call_collective::<T>(communicator, Collective::Reduce, &buffers, |call| {
            call.with_operator(by).with_root(root)
        })
    }

    /// `MPI_Allreduce`: combines all ranks' elements, on all ranks.
    ///
    /// # Errors
    ///
    /// If the slices differ in length, or MPI reports an error.
    pub fn allreduce<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        recv: &mut [T],
        operation: impl Operation,
    ) -> Result<(), RuntimeError> {
        check_length(send.len(), recv.len())?;
        let by = operation.as_raw();
        let buffers = CallBuffers::from_output(send.as_ptr(), recv);
        self.call_collective::<T>(communicator, Collective::Allreduce, &buffers, |call| {
            call.with_operator(by)
        })
    }

    /// `MPI_Allreduce` with `MPI_IN_PLACE`: the elements are replaced by their combination.
    ///
    /// # Errors
    ///
    /// If MPI reports an error.
    pub fn allreduce_in_place<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        data: &mut [T],
        operation: impl Operation,
    ) -> Result<(), RuntimeError> {
        let by = operation.as_raw();
        let buffers = CallBuffers::from_output(in_place().cast(), data);
        self.call_collective::<T>(communicator, Collective::Allreduce, &buffers, |call| {
            call.with_operator(by)
        })
    }

    /// `MPI_Gather`: collects all ranks' elements, in rank order, in the root's buffer.
    ///
    /// # Errors
    ///
    /// If there is no such root, the root's buffer has another length, or MPI reports an error.
    pub fn gather<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        recv: Option<&mut [T]>,
        root: i32,
    ) -> Result<(), RuntimeError> {
        let ranks = communicator.size() as usize;
        let room = self.root_buffer(communicator, recv, root, send.len() * ranks)?;
        let buffers = CallBuffers::from_input(send, send.len(), room);
        self.call_collective::<T>(communicator, Collective::Gather, &buffers, |call| {
            call.with_root(root)
        })
    }

    /// `MPI_Scatter`: sends to every rank its part of the root's elements.
    ///
    /// # Errors
    ///
    /// If there is no such root, the root's slice has another length, or MPI reports an error.
    pub fn scatter<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: Option<&[T]>,
        recv: &mut [T],
        root: i32,
    ) -> Result<(), RuntimeError> {
        check_root(communicator, root)?;
        let send = send.filter(|_| communicator.rank() == root);
        if communicator.rank() == root {
            let all = recv.len() * communicator.size() as usize;
            check_length(all, send.map_or(0, <[T]>::len))?;
        }
        let buffers = CallBuffers::from_output(send.map_or(std::ptr::null(), <[T]>::as_ptr), recv);
        self.call_collective::<T>(communicator, Collective::Scatter, &buffers, |call| {
            call.with_root(root)
        })
    }

    /// `MPI_Allgather`: collects all ranks' elements, in rank order, on all ranks.
    ///
    /// # Errors
    ///
    /// If the lengths of the slices do not match, or MPI reports an error.
    pub fn allgather<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        recv: &mut [T],
    ) -> Result<(), RuntimeError> {
        check_length(send.len() * communicator.size() as usize, recv.len())?;
        let buffers = CallBuffers::from_input(send, send.len(), recv.as_mut_ptr());
        self.call_collective::<T>(communicator, Collective::Allgather, &buffers, |call| call)
    }

    /// `MPI_Reduce_scatter`: combines all ranks' elements, and gives every rank its part of `counts[rank]` elements.
    ///
    /// # Errors
    ///
    /// If the lengths of slices and counts do not match, or MPI reports an error.
    pub fn reduce_scatter<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        recv: &mut [T],
        counts: &[i32],
        operation: impl Operation,
    ) -> Result<(), RuntimeError> {
        check_length(communicator.size() as usize, counts.len())?;
        let elements = |count: &i32| usize::try_from(*count).unwrap_or(0);
        check_length(counts.iter().map(elements).sum(), send.len())?;
        check_length(elements(&counts[communicator.rank() as usize]), recv.len())?;
        let by = operation.as_raw();
        let buffers = CallBuffers::from_output(send.as_ptr(), recv);
        self.call_collective::<T>(communicator, Collective::ReduceScatter, &buffers, |call| {
            call.with_operator(by).with_part_counts(counts.as_ptr())
        })
    }

    /// `MPI_Reduce_scatter_block`: combines all ranks' elements, and gives every rank its part, all of the same
    /// length.
    ///
    /// # Errors
    ///
    /// If the lengths of the slices do not match, or MPI reports an error.
    pub fn reduce_scatter_block<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        recv: &mut [T],
        operation: impl Operation,
    ) -> Result<(), RuntimeError> {
        check_length(recv.len() * communicator.size() as usize, send.len())?;
        let by = operation.as_raw();
        let buffers = CallBuffers::from_output(send.as_ptr(), recv);
        self.call_collective::<T>(
            communicator,
            Collective::ReduceScatterBlock,
            &buffers,
            |call| call.with_operator(by),
        )
    }

    /// `MPI_Alltoall`: sends to every rank its block of the elements, and collects all ranks' blocks for this rank, in
    /// rank order.
    ///
    /// # Errors
    ///
    /// If the slices differ in length, or do not consist of blocks of one length for all ranks, or MPI reports an error.
    pub fn alltoall<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        recv: &mut [T],
    ) -> Result<(), RuntimeError> {
        check_length(recv.len(), send.len())?;
        let ranks = communicator.size() as usize;
        let block = recv.len() / ranks;
        check_length(block * ranks, recv.len())?;
        let buffers = CallBuffers::from_input(send, block, recv.as_mut_ptr());
        self.call_collective::<T>(communicator, Collective::Alltoall, &buffers, |call| call)
    }

    /// `MPI_Alltoallv`: sends to every rank its block of the elements, and collects all ranks' blocks for this rank.
    ///
    /// # Errors
    ///
    /// If there is not one block for each rank within its slice, or MPI reports an error.
    pub fn alltoallv<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        sent: SliceBlocks<'_>,
        recv: &mut [T],
        received: SliceBlocks<'_>,
    ) -> Result<(), RuntimeError> {
        sent.check(communicator, send.len())?;
        received.check(communicator, recv.len())?;
        self.call_irregular::<T>(communicator, |datatype| RawIrregularCall {
            collective: Collective::Alltoallv,
            send: send.as_ptr().cast(),
            sent: sent.as_raw(datatype),
            recv: recv.as_mut_ptr().cast(),
            received: received.as_raw(datatype),
            root: 0,
        })
    }

    /// `MPI_Allgatherv`: collects all ranks' elements on all ranks; each may have another number of them.
    ///
    /// # Errors
    ///
    /// If there is not one block for each rank within its slice, or MPI reports an error.
    pub fn allgatherv<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        recv: &mut [T],
        received: SliceBlocks<'_>,
    ) -> Result<(), RuntimeError> {
        received.check(communicator, recv.len())?;
        let count = count_of(send)?;
        self.call_irregular::<T>(communicator, |datatype| RawIrregularCall {
            collective: Collective::Allgatherv,
            send: send.as_ptr().cast(),
            sent: RawBlocks::one(count, datatype),
            recv: recv.as_mut_ptr().cast(),
            received: received.as_raw(datatype),
            root: 0,
        })
    }

    /// `MPI_Gatherv`: collects all ranks' elements at the root; each rank may have another number of them. The root alone
    /// reads `recv` and its blocks.
    ///
    /// # Errors
    ///
    /// If the root has not one block for each rank within its slice, or MPI reports an error.
    pub fn gatherv<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        recv: &mut [T],
        received: SliceBlocks<'_>,
        root: i32,
    ) -> Result<(), RuntimeError> {
        check_root(communicator, root)?;
        if communicator.rank() == root {
            received.check(communicator, recv.len())?;
        }
        let count = count_of(send)?;
        self.call_irregular::<T>(communicator, |datatype| RawIrregularCall {
            collective: Collective::Gatherv,
            send: send.as_ptr().cast(),
            sent: RawBlocks::one(count, datatype),
            recv: recv.as_mut_ptr().cast(),
            received: received.as_raw(datatype),
            root,
        })
    }

    /// `MPI_Scatterv`: gives every rank its block of the root's elements. The root alone reads `send` and its blocks.
    ///
    /// # Errors
    ///
    /// If the root has not one block for each rank within its slice, or MPI reports an error.
    pub fn scatterv<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        sent: SliceBlocks<'_>,
        recv: &mut [T],
        root: i32,
    ) -> Result<(), RuntimeError> {
        check_root(communicator, root)?;
        if communicator.rank() == root {
            sent.check(communicator, send.len())?;
        }
        let count = count_of(recv)?;
        self.call_irregular::<T>(communicator, |datatype| RawIrregularCall {
            collective: Collective::Scatterv,
            send: send.as_ptr().cast(),
            sent: sent.as_raw(datatype),
            recv: recv.as_mut_ptr().cast(),
            received: RawBlocks::one(count, datatype),
            root,
        })
    }

    /// `MPI_Barrier`: returns when all ranks have called it.
    ///
    /// # Errors
    ///
    /// If MPI reports an error.
    pub fn barrier(&self, communicator: &impl Communicating) -> Result<(), RuntimeError> {
        self.make_call(communicator, RawCall::barrier())
    }

    /// `MPI_Scan`: combines the elements of all ranks up to this one.
    ///
    /// # Errors
    ///
    /// If the slices differ in length, or MPI reports an error.
    pub fn scan<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        recv: &mut [T],
        operation: impl Operation,
    ) -> Result<(), RuntimeError> {
        check_length(send.len(), recv.len())?;
        let by = operation.as_raw();
        let buffers = CallBuffers::from_output(send.as_ptr(), recv);
        self.call_collective::<T>(communicator, Collective::Scan, &buffers, |call| {
            call.with_operator(by)
        })
    }

    /// `MPI_Exscan`: combines the elements of all ranks below this one. On rank 0 `recv` stays as it is.
    ///
    /// # Errors
    ///
    /// If the slices differ in length, or MPI reports an error.
    pub fn exscan<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        send: &[T],
        recv: &mut [T],
        operation: impl Operation,
    ) -> Result<(), RuntimeError> {
        check_length(send.len(), recv.len())?;
        let by = operation.as_raw();
        let buffers = CallBuffers::from_output(send.as_ptr(), recv);
        self.call_collective::<T>(communicator, Collective::Exscan, &buffers, |call| {
            call.with_operator(by)
        })
    }

    fn root_buffer<T>(
        &self,
        communicator: &impl Communicating,
        recv: Option<&mut [T]>,
        root: i32,
        expected: usize,
    ) -> Result<*mut T, RuntimeError> {
        check_root(communicator, root)?;
        if communicator.rank() != root {
            return Ok(std::ptr::null_mut());
        }
        let recv = recv.unwrap_or_default();
        check_length(expected, recv.len())?;
        Ok(recv.as_mut_ptr())
    }

    fn call_collective<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        collective: Collective,
        buffers: &CallBuffers,
        more: impl FnOnce(RawCall) -> RawCall,
    ) -> Result<(), RuntimeError> {
        check_running()?;
        let datatype = T::equivalent_datatype();
        let count = c_int::try_from(buffers.count).map_err(|_| RuntimeError::Length {
            expected: c_int::MAX as usize,
            found: buffers.count,
        })?;
        let raw = datatype.as_raw();
        let call = RawCall::new(collective, buffers.send, buffers.recv, count, raw);
        let call = more(call.with_sent_elements(count, raw));
        if collective.is_rooted() {
            check_root(communicator, call.root)?;
        }
        self.make_call(communicator, call)
    }

    /// Makes a call of an irregular collective, whose blocks are within slices.
    fn call_irregular<T: Equivalence>(
        &self,
        communicator: &impl Communicating,
        describe: impl FnOnce(MPI_Datatype) -> RawIrregularCall,
    ) -> Result<(), RuntimeError> {
        check_running()?;
        // SAFETY: rsmpi's handles are valid.
        if !unsafe { is_intracommunicator(communicator.as_raw()) } {
            return Err(RuntimeError::Intercommunicator);
        }
        let datatype = T::equivalent_datatype();
        let call = describe(datatype.as_raw());
        // SAFETY: rsmpi's handles are valid, and the blocks are within the slices.
        match unsafe { self.dispatcher.call_irregular(communicator.as_raw(), &call) } {
            0 => Ok(()),
            code => Err(RuntimeError::Collective(code)),
        }
    }

    /// Makes a call, whose buffers are slices as long as it says.
    fn make_call(
        &self,
        communicator: &impl Communicating,
        call: RawCall,
    ) -> Result<(), RuntimeError> {
        check_running()?;
        // There the number of parts is that of the other group's ranks, so that slices might be too short.
        // SAFETY: rsmpi's handles are valid.
        if !unsafe { is_intracommunicator(communicator.as_raw()) } {
            return Err(RuntimeError::Intercommunicator);
        }
        // SAFETY: rsmpi's handles are valid, and the slices as long as the call says.
        match unsafe { self.dispatcher.call(communicator.as_raw(), call) } {
            0 => Ok(()),
            code => Err(RuntimeError::Collective(code)),
        }
    }
}

/// A call's slices.
struct CallBuffers {
    send: *const c_void,
    recv: *mut c_void,
    /// The number of elements in a part, or in the whole vector if there are no parts.
    count: usize,
}

impl CallBuffers {
    fn from_input<T>(send: &[T], count: usize, recv: *mut T) -> Self {
        Self {
            send: send.as_ptr().cast(),
            recv: recv.cast(),
            count,
        }
    }

    fn from_output<T>(send: *const T, recv: &mut [T]) -> Self {
        Self {
            send: send.cast(),
            count: recv.len(),
            recv: recv.as_mut_ptr().cast(),
        }
    }
}

/// The length of a slice as MPI counts it.
fn count_of<T>(slice: &[T]) -> Result<c_int, RuntimeError> {
    c_int::try_from(slice.len()).map_err(|_| RuntimeError::Length {
        expected: c_int::MAX as usize,
        found: slice.len(),
    })
}

fn check_running() -> Result<(), RuntimeError> {
    if is_running() {
        Ok(())
    } else {
        Err(RuntimeError::NotRunning)
    }
}

fn check_length(expected: usize, found: usize) -> Result<(), RuntimeError> {
    if expected == found {
        Ok(())
    } else {
        Err(RuntimeError::Length { expected, found })
    }
}

fn check_root(communicator: &impl Communicating, root: i32) -> Result<(), RuntimeError> {
    let ranks = communicator.size();
    if (0..ranks).contains(&root) {
        Ok(())
    } else {
        Err(RuntimeError::Root { root, ranks })
    }
}
