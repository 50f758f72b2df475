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

    /// Carries out the program.
    ///
    /// # Errors
    ///
    /// If MPI reports an error.
    ///
    /// # Panics
    ///
    /// If a buffer is shorter than the call's bytes.
    pub fn call(
        &mut self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        assert!(output.len() >= self.bytes && (!self.needs_input || input.len() >= self.bytes));
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
/// [`Executor::call`] and are as long as its first line asserts; [`Resolver`] has checked that
/// places lie inside their buffers and that targets and operands do not overlap; the verifier has
/// proved that no schedule writes the input or touches a place twice in a round.
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
                for recv in recvs {
                    self.start_recv(recv, communicator)?;
                }
                for send in sends {
                    self.start_send(send, communicator)?;
                }
                for work in work {
                    self.work(work)?;
                }
                self.wait_all()
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
        // SAFETY: the memory is ours until `wait_all`, which every path of the round reaches
        // unless MPI has failed, after which the communicator is not used again.
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
            self.requests.push(request);
            check("MPI_Irecv", code)
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
            self.requests.push(request);
            check("MPI_Isend", code)
        }
    }

    fn wait_all(&mut self) -> Result<(), ExecError> {
        // SAFETY: the requests are valid and each is waited for once.
        let code = unsafe {
            ffi::MPI_Waitall(
                self.requests.len() as c_int,
                self.requests.as_mut_ptr(),
                ffi::RSMPI_STATUSES_IGNORE,
            )
        };
        self.requests.clear();
        check("MPI_Waitall", code)
    }
}
