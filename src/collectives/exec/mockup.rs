//! Mock-ups: collectives composed of the library's other collectives, for comparison with performance guidelines.
//!
//! If a library's collective is slower than its mock-up, the library should call the mock-up (Träff, Gropp, Thakur
//! 2010; Hunold, Carpen-Amarie 2018). Temporary memory is allocated in advance, and data are copied only if the parts
//! of the vector have different sizes.

use std::ffi::c_int;

use mpi::ffi;
use schedule::Collective;
use vocabulary::{Candidate, Datatype, Operator};

use crate::api::{buffer_length, check_code, datatype_handle, mpi_count};
use crate::{Bytes, Call, Communicator, ExecError, LibraryCall};

/// A composed collective, prepared for one rank.
#[derive(Debug)]
pub struct MockupCall {
    recipe: Recipe,
    /// The constituent collectives, in order.
    calls: Vec<LibraryCall>,
    scratch: Bytes,
    rank: usize,
    is_root: bool,
    /// The sizes in bytes of the vector, of a rank's part, and of a rank's result.
    whole: usize,
    part: usize,
    /// Whether the parts of all ranks make up the vector exactly, so that they can be in the result.
    is_even: bool,
    scatterv: Option<Scatterv>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recipe {
    ScatterAllgather,
    Allreduce,
    ReduceBcast,
    ReduceScatterAllgather,
    Allgather,
    Reduce,
    Bcast,
    GatherBcast,
    ReduceScatterv,
}

impl Recipe {
    fn from_name(collective: Collective, name: &str) -> Option<Self> {
        let name = name.strip_prefix(Candidate::MOCKUP)?;
        let id = name.strip_prefix(collective.name())?.strip_prefix('/')?;
        Some(match (collective, id) {
            (Collective::Bcast, "scatter+allgather") => Self::ScatterAllgather,
            (Collective::Reduce, "allreduce") => Self::Allreduce,
            (Collective::Allreduce, "reduce+bcast") => Self::ReduceBcast,
            (Collective::Allreduce, "reduce_scatter_block+allgather") => {
                Self::ReduceScatterAllgather
            }
            (Collective::Gather, "allgather") => Self::Allgather,
            (Collective::Gather, "reduce") => Self::Reduce,
            (Collective::Scatter, "bcast") => Self::Bcast,
            (Collective::Allgather, "gather+bcast") => Self::GatherBcast,
            (Collective::ReduceScatter, "reduce+scatterv") => Self::ReduceScatterv,
            _ => return None,
        })
    }
}

/// The arguments of `MPI_Scatterv` at its root, rank 0.
#[derive(Debug)]
struct Scatterv {
    counts: Vec<c_int>,
    displacements: Vec<c_int>,
    datatype: ffi::MPI_Datatype,
    /// The number of elements that this rank receives.
    mine: c_int,
}

impl MockupCall {
    /// Prepares the mock-up for one of `ranks` ranks.
    pub(crate) fn new(name: &str, call: &Call, rank: u32, ranks: u32) -> Result<Self, ExecError> {
        let recipe = Recipe::from_name(call.collective, name)
            .ok_or_else(|| ExecError::UnknownAlgorithm(name.to_owned()))?;
        if call.in_place && call.collective.allows_in_place() {
            return Err(ExecError::NotInPlace(name.to_owned()));
        }
        // In reductions, shares are whole elements.
        let share = call.unit_bytes() * (call.bytes / call.unit_bytes()).div_ceil(ranks.into());
        let (whole, part) = if call.collective.is_sized_by_part() {
            (call.bytes.saturating_mul(ranks.into()), call.bytes)
        } else {
            (call.bytes, share)
        };
        // MPICH 4.0 mistakes `MPI_IN_PLACE` for an address at roots other than 0.
        let is_even = part.saturating_mul(ranks.into()) == whole && call.root == 0;
        let is_root = rank == call.root;
        let scratch = match recipe {
            Recipe::ScatterAllgather | Recipe::ReduceScatterAllgather if is_even => 0,
            // The padded vector, and one part.
            Recipe::ScatterAllgather | Recipe::ReduceScatterAllgather => {
                part.saturating_mul(u64::from(ranks) + 1)
            }
            Recipe::Allreduce | Recipe::Allgather | Recipe::Bcast if !is_root => whole,
            Recipe::Reduce => whole,
            Recipe::ReduceScatterv if rank == 0 => whole,
            _ => 0,
        };
        let calls = constituent_calls(recipe, call, [whole, part], is_even)
            .into_iter()
            .map(|call| LibraryCall::new(&call, rank, ranks))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            recipe,
            calls,
            scratch: Bytes::filled(buffer_length(scratch)?, 0),
            rank: rank as usize,
            is_root,
            whole: buffer_length(whole)?,
            part: buffer_length(part)?,
            is_even,
            scatterv: match recipe {
                Recipe::ReduceScatterv => Some(Scatterv::new(call, rank, ranks)?),
                _ => None,
            },
        })
    }

    /// Makes the calls.
    ///
    /// # Panics
    ///
    /// If a buffer is too short for the call.
    pub(crate) fn call(
        &mut self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        match self.recipe {
            Recipe::ScatterAllgather if self.is_even => {
                self.scatter_and_allgather(communicator, output)
            }
            Recipe::ScatterAllgather => {
                if self.is_root {
                    self.pad_vector(output);
                }
                self.divide_and_gather(communicator, output)
            }
            Recipe::ReduceScatterAllgather if self.is_even => {
                let mine = &mut output[self.rank * self.part..][..self.part];
                self.calls[0].call(communicator, input, mine)?;
                self.calls[1].call(communicator, &[], output)
            }
            Recipe::ReduceScatterAllgather => {
                self.pad_vector(input);
                self.divide_and_gather(communicator, output)
            }
            Recipe::ReduceBcast | Recipe::GatherBcast => {
                self.calls[0].call(communicator, input, output)?;
                self.calls[1].call(communicator, &[], output)
            }
            Recipe::Allreduce | Recipe::Allgather => {
                let result = if self.is_root {
                    output
                } else {
                    self.scratch.as_mut_slice()
                };
                self.calls[0].call(communicator, input, result)
            }
            Recipe::Reduce => {
                let mine = self.rank * self.part;
                let scratch = self.scratch.as_mut_slice();
                scratch[mine..][..self.part].copy_from_slice(&input[..self.part]);
                self.calls[0].call(communicator, scratch, output)
            }
            Recipe::Bcast => self.bcast_and_pick(communicator, input, output),
            Recipe::ReduceScatterv => self.reduce_and_scatterv(communicator, input, output),
        }
    }

    fn scatter_and_allgather(
        &mut self,
        communicator: &Communicator,
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        let mine = self.rank * self.part;
        if self.is_root {
            self.calls[0].call(communicator, output, &mut [])?
        } else {
            let mine = &mut output[mine..][..self.part];
            self.calls[0].call(communicator, &[], mine)?;
        }
        self.calls[1].call(communicator, &[], output)
    }

    /// Copies a vector to scratch, before the padding.
    fn pad_vector(&mut self, vector: &[u8]) {
        self.scratch.as_mut_slice()[..self.whole].copy_from_slice(&vector[..self.whole]);
    }

    /// The first call computes this rank's part from the padded vector in scratch, the second one the whole from all
    /// parts.
    fn divide_and_gather(
        &mut self,
        communicator: &Communicator,
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        let scratch = self.scratch.as_mut_slice();
        let (padded, mine) = scratch.split_at_mut(scratch.len() - self.part);
        self.calls[0].call(communicator, padded, mine)?;
        self.calls[1].call(communicator, mine, padded)?;
        output[..self.whole].copy_from_slice(&padded[..self.whole]);
        Ok(())
    }

    fn bcast_and_pick(
        &mut self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        let mine = self.rank * self.part..(self.rank + 1) * self.part;
        let all = if self.is_root {
            self.calls[0].send_bcast(communicator, &input[..self.whole])?;
            input
        } else {
            let scratch = self.scratch.as_mut_slice();
            self.calls[0].call(communicator, &[], scratch)?;
            self.scratch.as_slice()
        };
        output[..self.part].copy_from_slice(&all[mine]);
        Ok(())
    }

    fn reduce_and_scatterv(
        &mut self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        let scratch = self.scratch.as_mut_slice();
        self.calls[0].call(communicator, input, scratch)?;
        match &self.scatterv {
            Some(scatterv) => scatterv.call(communicator, self.scratch.as_slice(), output),
            None => Ok(()),
        }
    }
}

/// The calls of a recipe. In data movement their datatype is bytes.
fn constituent_calls(
    recipe: Recipe,
    call: &Call,
    [whole, part]: [u64; 2],
    in_place: bool,
) -> Vec<Call> {
    let of = |collective, bytes, root| Call {
        collective,
        bytes,
        root,
        ..*call
    };
    let moving = |collective, bytes, root| Call {
        datatype: Datatype::Byte,
        operator: None,
        ..of(collective, bytes, root)
    };
    let root = call.root;
    // In the result itself, where each rank's part is already in place.
    let on_result = |moved| Call { in_place, ..moved };
    let allgather = on_result(moving(Collective::Allgather, part, 0));
    match recipe {
        // The root's part stays in place.
        Recipe::ScatterAllgather => {
            vec![
                on_result(moving(Collective::Scatter, part, root)),
                allgather,
            ]
        }
        Recipe::Allreduce => vec![of(Collective::Allreduce, whole, 0)],
        Recipe::ReduceBcast => vec![
            of(Collective::Reduce, whole, 0),
            moving(Collective::Bcast, whole, 0),
        ],
        Recipe::ReduceScatterAllgather => {
            vec![of(Collective::ReduceScatterBlock, part, 0), allgather]
        }
        Recipe::Allgather => vec![moving(Collective::Allgather, part, 0)],
        Recipe::Reduce => vec![Call {
            // All ranks but one contribute zeros. The widest type that fits.
            datatype: match part {
                _ if part.is_multiple_of(8) => Datatype::Int64,
                _ if part.is_multiple_of(4) => Datatype::Int32,
                _ => Datatype::Byte,
            },
            operator: Some(Operator::Sum),
            ..of(Collective::Reduce, whole, root)
        }],
        Recipe::Bcast => vec![moving(Collective::Bcast, whole, root)],
        Recipe::GatherBcast => vec![
            moving(Collective::Gather, part, 0),
            moving(Collective::Bcast, whole, 0),
        ],
        Recipe::ReduceScatterv => vec![of(Collective::Reduce, whole, 0)],
    }
}

impl Scatterv {
    fn new(call: &Call, rank: u32, ranks: u32) -> Result<Self, ExecError> {
        let counts = (0..ranks)
            .map(|owner| mpi_count(call.part_elements(owner, ranks)))
            .collect::<Result<Vec<_>, _>>()?;
        let displacements = counts.iter().scan(0, |next, count| {
            let here = *next;
            *next += count;
            Some(here)
        });
        Ok(Self {
            displacements: displacements.collect(),
            mine: counts[rank as usize],
            datatype: datatype_handle(call.datatype),
            counts,
        })
    }

    /// # Panics
    ///
    /// If the output is too short.
    fn call(
        &self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        // SAFETY: rank 0's input is the vector that the counts divide, other ranks' input is not accessed; the output
        // is large enough for this rank's part.
        let code = unsafe {
            ffi::MPI_Scatterv(
                input.as_ptr().cast(),
                self.counts.as_ptr(),
                self.displacements.as_ptr(),
                self.datatype,
                output.as_mut_ptr().cast(),
                self.mine,
                self.datatype,
                0,
                communicator.raw(),
            )
        };
        check_code("MPI_Scatterv", code)
    }
}
