//! Carries out one rank's program on MPI.

use std::ffi::c_int;

use mpi::ffi;
use schedule::{Program, Round, Schedule};
use wire::{Datatype, Operator};

use crate::api::check;
use crate::communicator::TAG;
use crate::kernel::{Operands, combine};
use crate::steps::{INPUT, OUTPUT, Place, Resolver, SCRATCH, Step, Transfer, Work};
use crate::{Bytes, Call, Communicator, ExecError};

/// Programs up to this many rounds are resolved once; longer ones round by round, each time, so
/// that memory does not grow with the number of blocks.
const RESOLVED_ROUNDS: u64 = 1024;

/// One rank's part in a schedule, with the scratch memory it needs.
pub struct Executor {
    resolver: Resolver,
    program: Box<dyn Program>,
    steps: Vec<Step>,
    /// The first round that is not in `steps`.
    resolved: u64,
    round: Round,
    bytes: usize,
    /// The bits that are zero in an address aligned for the call.
    alignment_mask: usize,
    needs_input: bool,
    machine: Machine,
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor")
            .field("resolver", &self.resolver)
            .finish_non_exhaustive()
    }
}

impl Executor {
    /// Prepares the part of `rank`.
    ///
    /// # Errors
    ///
    /// If a message would be too large for MPI, or a reduction has no operator.
    pub fn new(schedule: &Schedule, call: &Call, rank: u32) -> Result<Self, ExecError> {
        let operation = match call.operator {
            Some(operator) => Some((call.datatype, operator)),
            None if call.collective.is_reduction() => return Err(ExecError::NoOperator),
            None => None,
        };
        let unit_bytes = call.unit_bytes();
        let mut executor = Self {
            program: schedule.program(rank),
            resolver: Resolver::new(schedule.clone(), unit_bytes),
            steps: Vec::new(),
            resolved: 0,
            round: Round::default(),
            bytes: (schedule.units() * unit_bytes) as usize,
            alignment_mask: operation.map_or(0, |(datatype, _)| datatype.size_bytes() as usize - 1),
            needs_input: call.collective.is_reduction() && !schedule.shape().in_place,
            machine: Machine::new(schedule, unit_bytes, operation),
        };
        let rounds = executor.program.rounds();
        if rounds <= RESOLVED_ROUNDS {
            for index in 0..rounds {
                let step = executor.resolve(index)?;
                executor.steps.extend(step);
            }
            executor.resolved = rounds;
        }
        Ok(executor)
    }

    fn resolve(&mut self, index: u64) -> Result<Option<Step>, ExecError> {
        self.round.clear();
        self.program.round(index, &mut self.round);
        self.resolver.step(&self.round)
    }

    /// Carries out the program. `input` and `output` hold the call's bytes; in a reduction they are
    /// aligned to the size of the datatype, as [`Bytes`] always are.
    ///
    /// # Errors
    ///
    /// If MPI reports an error.
    ///
    /// # Panics
    ///
    /// If a buffer is shorter than the call's bytes or not aligned.
    pub fn call(
        &mut self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        // All that could panic later, when messages may be under way.
        let serves = |buffer: &[u8]| {
            buffer.len() >= self.bytes && buffer.as_ptr().addr() & self.alignment_mask == 0
        };
        assert!(serves(output) && (!self.needs_input || serves(input)));
        self.machine.bases[INPUT] = input.as_ptr().cast_mut();
        self.machine.bases[OUTPUT] = output.as_mut_ptr();
        for step in &self.steps {
            self.machine.carry_out(step, communicator)?;
        }
        for index in self.resolved..self.program.rounds() {
            if let Some(step) = self.resolve(index)? {
                self.machine.carry_out(&step, communicator)?;
            }
        }
        Ok(())
    }
}

/// The memory that steps name and what is needed to work on it.
///
/// What makes the pointers sound: the input and output are borrowed for the whole of
/// [`Executor::call`] and are as long as it asserts; [`Resolver`] has checked that places lie inside
/// their buffers and that targets and operands do not overlap; the verifier has proved that no
/// schedule writes the input or touches a place twice in a round; no round ends, with or without an
/// error, before MPI has let go of what it was given.
struct Machine {
    bases: Vec<*mut u8>,
    /// Keeps the memory of the scratch bases; reached only through them.
    _scratch: Vec<Bytes>,
    requests: Vec<ffi::MPI_Request>,
    operation: Option<(Datatype, Operator)>,
}

impl Machine {
    fn new(schedule: &Schedule, unit_bytes: u64, operation: Option<(Datatype, Operator)>) -> Self {
        let mut bases = vec![std::ptr::null_mut(); SCRATCH];
        let mut buffers = Vec::new();
        for scratch in schedule.scratch() {
            let mut buffer =
                Bytes::zeroed((scratch.capacity(schedule.units()) * unit_bytes) as usize);
            bases.push(buffer.as_mut_slice().as_mut_ptr());
            buffers.push(buffer);
        }
        Self {
            bases,
            _scratch: buffers,
            requests: Vec::new(),
            operation,
        }
    }

    fn pointer(&self, place: &Place) -> *mut u8 {
        // SAFETY: in bounds, see `Machine`.
        unsafe { self.bases[place.slot].add(place.start) }
    }

    fn read(&self, place: &Place) -> &[u8] {
        // SAFETY: in bounds and not written while the slice lives, see `Machine`.
        unsafe { std::slice::from_raw_parts(self.pointer(place), place.length) }
    }

    #[expect(
        clippy::mut_from_ref,
        reason = "disjoint places of the same memory are in use at once"
    )]
    fn write(&self, place: &Place) -> &mut [u8] {
        // SAFETY: in bounds and not otherwise in use while the slice lives, see `Machine`.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(place), place.length) }
    }

    fn carry_out(&mut self, step: &Step, communicator: &Communicator) -> Result<(), ExecError> {
        match step {
            Step::Send(send) => communicator.send_bytes(self.read(&send.place), send.peer as u32),
            Step::Recv(recv) => communicator.recv_bytes(self.write(&recv.place), recv.peer as u32),
            Step::Exchange { send, recv } => communicator.exchange_bytes(
                self.read(&send.place),
                send.peer as u32,
                self.write(&recv.place),
                recv.peer as u32,
            ),
            Step::Work(work) => self.work(work),
            Step::Mixed { sends, recvs, work } => {
                // After an error too, all is started that can be: peers may be waiting for it.
                let mut outcome = Ok(());
                for recv in recvs {
                    outcome = outcome.and(self.start_recv(recv, communicator));
                }
                for send in sends {
                    outcome = outcome.and(self.start_send(send, communicator));
                }
                for work in work {
                    outcome = outcome.and(self.work(work));
                }
                outcome.and(self.wait_all())
            }
        }
    }

    fn work(&self, work: &Work) -> Result<(), ExecError> {
        match work {
            Work::Copy { from, into } => {
                self.write(into).copy_from_slice(self.read(from));
                Ok(())
            }
            Work::Combine { left, right, into } => {
                let (datatype, operator) = self.operation.ok_or(ExecError::NoOperator)?;
                let operands = if left == into {
                    Operands::IntoLeft(self.write(into), self.read(right))
                } else if right == into {
                    Operands::IntoRight(self.read(left), self.write(into))
                } else {
                    Operands::Into(self.read(left), self.read(right), self.write(into))
                };
                combine(datatype, operator, operands)
            }
        }
    }

    fn start_recv(&mut self, recv: &Transfer, to: &Communicator) -> Result<(), ExecError> {
        let pointer = self.pointer(&recv.place).cast();
        // SAFETY: the memory is ours until `wait_all`, which every path of the round reaches.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let code = ffi::MPI_Irecv(
                pointer,
                recv.count,
                ffi::RSMPI_UINT8_T,
                recv.peer,
                TAG,
                to.raw(),
                &mut request,
            );
            check("MPI_Irecv", code)?;
            self.requests.push(request);
            Ok(())
        }
    }

    fn start_send(&mut self, send: &Transfer, from: &Communicator) -> Result<(), ExecError> {
        let pointer = self.pointer(&send.place).cast();
        // SAFETY: as in `start_recv`; the memory is only read.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let code = ffi::MPI_Isend(
                pointer,
                send.count,
                ffi::RSMPI_UINT8_T,
                send.peer,
                TAG,
                from.raw(),
                &mut request,
            );
            check("MPI_Isend", code)?;
            self.requests.push(request);
            Ok(())
        }
    }

    /// Waits for all that has been started, after an error as well.
    fn wait_all(&mut self) -> Result<(), ExecError> {
        // SAFETY: the requests are valid; those that have ended become null, which
        // `MPI_Wait` takes for ended.
        unsafe {
            let code = ffi::MPI_Waitall(
                self.requests.len() as c_int,
                self.requests.as_mut_ptr(),
                ffi::RSMPI_STATUSES_IGNORE,
            );
            let mut outcome = check("MPI_Waitall", code);
            if outcome.is_err() {
                // Some may be under way still.
                for request in &mut self.requests {
                    let code = ffi::MPI_Wait(request, ffi::RSMPI_STATUS_IGNORE);
                    outcome = outcome.and(check("MPI_Wait", code));
                }
            }
            self.requests.clear();
            outcome
        }
    }
}
