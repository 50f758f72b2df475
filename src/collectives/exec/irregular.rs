//! Irregular collectives as applications call them: any counts, displacements and datatypes, different ones in each call.

use std::ffi::c_int;

use schedule::{
    Action, Algorithm, Collective, Distribution, OwnCounts, Partition, Placed, Request, Round,
    Schedule, SizeExchange, Span,
};
use vocabulary::{Parameters, Through};

use crate::blocks::{BlockList, Change};
use crate::raw_irregular::{RawIrregularCall, SignificantBuffers};
use crate::{Bytes, Communicator, ExecError, ScheduleExecutor, Wait};

/// What all ranks know of calls of an irregular collective, and what this rank knows beyond that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IrregularShape {
    /// The root; 0 if there is none.
    pub root: u32,
    /// Whether this rank gives `MPI_IN_PLACE`.
    pub in_place: bool,
    /// The size of all data in an allgatherv in bytes, which determines the number of blocks in algorithms that take a
    /// size of blocks; ignored in others.
    pub total_bytes: u64,
}

/// An algorithm bound to calls of an irregular collective on a communicator.
///
/// Each call brings its own counts, displacements and datatypes, of which a rank reads those that are significant to it
/// (MPI 4.0, sections 6.5 to 6.8). Its rounds are resolved for these; a call with the same ones as the call before only
/// compares them, and allocates nothing. Nothing that differs between ranks determines which messages are exchanged,
/// apart from leaving out those of which both ends know that they have no data.
///
/// Memory beyond the application's: what the algorithm needs as scratch memory, and a packed copy of a buffer where
/// messages must be bytes (`block_steps.rs`), both at most as long as this rank's own data and what it passes on; and a
/// few numbers for each of its blocks.
///
/// Where a rank passes on data of others (`gatherv/binomial`), it is told their sizes first, in each call again.
#[derive(Debug)]
pub struct IrregularCall {
    collective: Collective,
    shape: IrregularShape,
    rank: u32,
    ranks: u32,
    schedule: Schedule,
    executor: ScheduleExecutor,
    /// Whether all messages are bytes.
    moves_bytes: bool,
    /// Whether a message may have several blocks.
    joins_blocks: bool,
    /// What this rank is told of sizes, if it does not know all of them.
    told: Option<ToldSizes>,
    /// What takes the place of a buffer.
    copies: [Option<Bytes>; 2],
    /// Whether the rounds are resolved for the call whose blocks are stored.
    is_bound: bool,
}

impl IrregularCall {
    /// Prepares this rank's part. All ranks must name the same algorithm, parameters and root, in an allgatherv also the
    /// same size.
    ///
    /// # Errors
    ///
    /// If the algorithm cannot serve such calls, or the parameters need channels and the communicator has none.
    pub fn new(
        algorithm: &'static Algorithm,
        parameters: &Parameters,
        shape: IrregularShape,
        communicator: &Communicator,
        wait: Wait,
    ) -> Result<Self, ExecError> {
        let collective = algorithm.collective;
        let (rank, ranks) = (communicator.rank(), communicator.size());
        if !collective.is_irregular() {
            return Err(ExecError::UnknownAlgorithm(algorithm.name()));
        }
        let request = Request {
            ranks,
            root: shape.root,
            in_place: shape.in_place,
            commutative: true,
            // Programs do not depend on counts (`schedule`, `counts.rs`), except for the number of blocks.
            units: if collective == Collective::Allgatherv {
                shape.total_bytes
            } else {
                0
            },
            counts: None,
            distribution: Distribution::Uniform,
            parameters: parameters.in_units(1),
            placed: Placed::On(communicator.nodes()),
        };
        let schedule = Schedule::new(algorithm, &request)?;
        let executor =
            ScheduleExecutor::for_blocks(&schedule, communicator, parameters.through, wait)?;
        let joins_blocks = collective == Collective::Allgatherv || algorithm.tells_sizes;
        let cuts_blocks = joins_blocks && cuts_blocks(&schedule, rank);
        // What is passed on has no datatype.
        let moves_bytes =
            cuts_blocks || algorithm.tells_sizes || parameters.through == Through::Shared;
        let told = schedule.size_exchange(rank).map(ToldSizes::new);
        Ok(Self {
            collective,
            shape,
            rank,
            ranks,
            schedule,
            executor,
            moves_bytes,
            joins_blocks,
            told: told.filter(|_| rank != shape.root),
            copies: [None, None],
            is_bound: false,
        })
    }

    /// The size in bytes of the buffers that it keeps between calls.
    pub fn kept_bytes(&self) -> u64 {
        let copies = self.copies.iter().flatten();
        let copied: u64 = copies.map(|copy| copy.as_slice().len() as u64).sum();
        self.executor.kept_bytes() + copied
    }

    /// Carries out the collective on this rank.
    ///
    /// # Errors
    ///
    /// As in [`ScheduleExecutor::call`]; [`ExecError::Lengths`] if this rank's own block differs in size between its
    /// input and its output.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call: its significant arrays are readable and have one entry for each rank, the buffers are as
    /// long as these say and do not overlap, the output is writable, and handles are valid. The root, and whether it is
    /// in place on this rank, are those of the shape.
    pub unsafe fn call(
        &mut self,
        communicator: &Communicator,
        call: &RawIrregularCall,
    ) -> Result<(), ExecError> {
        // SAFETY: the caller promises readable arrays and valid handles where they are significant.
        unsafe { self.bind(call, communicator)? };
        let mut bases = [call.send.cast::<u8>(), call.recv.cast_const().cast()];
        let only = self.own_part_in_output();
        let Some(buffers) = self.executor.blocks_mut() else {
            return Ok(());
        };
        for (slot, copy) in self.copies.iter_mut().enumerate() {
            let list = &buffers.lists[slot];
            bases[slot] = match copy {
                None => list.origin_in(bases[slot]),
                Some(copy) => {
                    let is_given = slot == 0 || self.shape.in_place;
                    if is_given {
                        // SAFETY: the caller promises that the buffers are as long as the arrays say.
                        unsafe {
                            list.pack(bases[slot], only.filter(|_| slot == 1), copy, communicator)?
                        };
                    }
                    copy.as_slice().as_ptr()
                }
            };
        }
        let [input, mut output] = bases;
        if let Some(copy) = &mut self.copies[1] {
            output = copy.as_mut_slice().as_mut_ptr();
        }
        // SAFETY: the caller promises that the buffers are as long as the arrays say, that the output is writable, and
        // that they do not overlap; what takes the place of a buffer is as long as all its blocks.
        unsafe {
            self.executor
                .run_unchecked(communicator, input, output.cast_mut())?;
            if let (Some(copy), Some(after)) = (&self.copies[1], self.executor.blocks_mut()) {
                after.lists[1].unpack(copy, call.recv.cast(), communicator)?;
            }
            Ok(())
        }
    }

    /// In place, the part of the output that is also input: all of it in an alltoall.
    fn own_part_in_output(&self) -> Option<u32> {
        (!self.collective.has_block_counts()).then_some(self.rank)
    }

    /// Takes over the arguments of a call, and resolves the rounds unless they are the same as before.
    ///
    /// # Safety
    ///
    /// As for [`Self::call`].
    unsafe fn bind(
        &mut self,
        call: &RawIrregularCall,
        communicator: &Communicator,
    ) -> Result<(), ExecError> {
        let was_bound = std::mem::replace(&mut self.is_bound, false);
        let (rank, ranks) = (self.rank, self.ranks);
        let significant = call.significant_buffers(rank as c_int);
        let Some(buffers) = self.executor.blocks_mut() else {
            return Ok(());
        };
        let [sent, received] = &mut buffers.lists;
        let send = significant.send.then_some(&call.sent);
        let recv = significant.recv.then_some(&call.received);
        // SAFETY: the caller promises that significant arrays have one readable entry for each rank and that handles are
        // valid.
        let mut change = unsafe {
            let of_input = sent.update(send, rank, ranks)?;
            of_input.max(received.update(recv, rank, ranks)?)
        };
        if let Some(told) = &mut self.told {
            let own = if significant.send {
                sent.size_of(rank)
            } else {
                received.size_of(rank)
            };
            if told.exchange(own, communicator)? {
                change = Change::Sizes;
            }
        }
        if change == Change::Nothing && was_bound {
            self.is_bound = true;
            return Ok(());
        }
        let lists = &buffers.lists;
        check_own_block(self.collective, lists, rank, significant)?;
        let layout = if change == Change::Sizes || !was_bound {
            let own = match &self.told {
                Some(told) => told.as_counts(),
                None => own_counts(self.collective, lists, significant, rank),
            };
            let found = self.schedule.layout_with_counts(rank, own);
            Some(found.ok_or(ExecError::TooLarge { bytes: u64::MAX })?)
        } else {
            None
        };
        for (slot, list) in lists.iter().enumerate() {
            let is_joined = self.joins_blocks && list.is_joined();
            // One block alone is never in pieces.
            let is_apart = !self.moves_bytes || !self.joins_blocks && list.is_dense();
            buffers.are_joined[slot] = !is_apart;
            let needs_copy = !is_apart && !is_joined;
            fit_copy(&mut self.copies[slot], needs_copy.then(|| list.sizes()))?;
        }
        buffers.is_typed = !self.moves_bytes;
        self.executor.bind_call(layout)?;
        self.is_bound = true;
        Ok(())
    }
}

/// What a rank is told of sizes, in bytes.
#[derive(Debug)]
struct ToldSizes {
    own: u64,
    /// The ranks that tell it, with what they told last.
    others: Vec<(u32, u64)>,
    /// The rank that it tells.
    to: Option<u32>,
}

impl ToldSizes {
    fn new(exchange: SizeExchange) -> Self {
        Self {
            own: 0,
            others: exchange.from.into_iter().map(|from| (from, 0)).collect(),
            to: exchange.to,
        }
    }

    /// Is told sizes, and tells the sum of these and this rank's own. Returns whether any has changed.
    fn exchange(&mut self, own: u64, communicator: &Communicator) -> Result<bool, ExecError> {
        communicator.check_usable()?;
        let mut has_changed = self.own != own;
        self.own = own;
        let mut sum = own;
        for (from, known) in &mut self.others {
            let mut bytes = [0; size_of::<u64>()];
            communicator.recv_bytes(&mut bytes, *from)?;
            let told = u64::from_ne_bytes(bytes);
            has_changed |= told != *known;
            *known = told;
            // A sum that is too large for a vector is refused when the rounds are resolved.
            sum = sum.saturating_add(told);
        }
        if let Some(to) = self.to {
            communicator.send_bytes(&sum.to_ne_bytes(), to)?;
        }
        Ok(has_changed)
    }

    fn as_counts(&self) -> OwnCounts<'_> {
        OwnCounts::Told {
            own: self.own,
            others: &self.others,
        }
    }
}

/// Makes the copy of a buffer as long as its blocks, or removes it.
fn fit_copy(copy: &mut Option<Bytes>, sizes: Option<&[u64]>) -> Result<(), ExecError> {
    const TOO_LARGE: ExecError = ExecError::TooLarge { bytes: u64::MAX };
    let Some(sizes) = sizes else {
        *copy = None;
        return Ok(());
    };
    let mut sum = sizes
        .iter()
        .try_fold(0_u64, |sum, size| sum.checked_add(*size));
    let length = sum.take().filter(|sum| *sum <= isize::MAX as u64);
    let length = length.ok_or(TOO_LARGE)? as usize;
    if copy
        .as_ref()
        .is_none_or(|kept| kept.as_slice().len() != length)
    {
        *copy = Some(Bytes::zeroed(length));
    }
    Ok(())
}

/// Whether messages or copies of a rank have parts of blocks, or are described by other blocks than those of ranks.
fn cuts_blocks(schedule: &Schedule, rank: u32) -> bool {
    let program = schedule.program(rank);
    let mut round = Round::default();
    (0..program.rounds()).any(|index| {
        round.clear();
        program.round(index, &mut round);
        let mut spans = round.actions().iter().flat_map(|action| match action {
            Action::Send { span, .. } | Action::Recv { span, .. } => [Some(*span), None],
            Action::Copy { from, into } => [Some(*from), Some(*into)],
            Action::Combine { .. } | Action::Signal { .. } | Action::Await { .. } => [None; 2],
        });
        let is_cut = |span: Span| span.partition != Partition::parts(schedule.shape().ranks);
        spans.any(|span| span.is_some_and(is_cut))
    })
}

/// What this rank knows of the lengths in a call.
fn own_counts<'a>(
    collective: Collective,
    [sent, received]: &'a [BlockList; 2],
    significant: SignificantBuffers,
    rank: u32,
) -> OwnCounts<'a> {
    match collective {
        Collective::Gatherv if !significant.recv => OwnCounts::Part(sent.size_of(rank)),
        Collective::Scatterv if !significant.send => OwnCounts::Part(received.size_of(rank)),
        Collective::Scatterv => OwnCounts::Parts(sent.sizes()),
        Collective::Alltoallv | Collective::Alltoallw => OwnCounts::Blocks {
            sent: if significant.is_in_place {
                received.sizes()
            } else {
                sent.sizes()
            },
            received: received.sizes(),
        },
        _ => OwnCounts::Parts(received.sizes()),
    }
}

/// Checks that a rank gives itself as much as it takes.
fn check_own_block(
    collective: Collective,
    [sent, received]: &[BlockList; 2],
    rank: u32,
    significant: SignificantBuffers,
) -> Result<(), ExecError> {
    let [sent, received] = [sent.size_of(rank), received.size_of(rank)];
    if significant.send && significant.recv && sent != received {
        return Err(ExecError::Lengths {
            collective,
            sent,
            received,
        });
    }
    Ok(())
}
