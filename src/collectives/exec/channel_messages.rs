//! Single messages through channels, for experiments.

use std::rc::Rc;

use schedule::Run;
use vocabulary::{Datatype, Operator};

use crate::api::byte_datatype;
use crate::combiner::Combiner;
use crate::fused::Arrival;
use crate::machine::Machine;
use crate::steps::{INPUT, MemoryPlace, OUTPUT, Step, Transfer, Ways, mark_repeated};
use crate::unit::Unit;
use crate::{Communicator, ExecError, NodeChannels, Wait};

/// Messages between ranks of one node, carried out like the rounds of a schedule.
pub struct ChannelMessages<'a> {
    communicator: &'a Communicator,
    channels: Rc<NodeChannels>,
    unit: Unit,
    machine: Machine,
    sends: Vec<Transfer>,
    recvs: Vec<Transfer>,
}

impl<'a> ChannelMessages<'a> {
    /// Prepares messages of bytes; with a datatype and an operator, messages of elements that can be combined.
    ///
    /// # Errors
    ///
    /// If the operator is not defined for the datatype.
    pub fn new(
        communicator: &'a Communicator,
        channels: Rc<NodeChannels>,
        combined: Option<(Datatype, Operator)>,
    ) -> Result<Self, ExecError> {
        let (unit, combiner) = match combined {
            None => (1, None),
            Some((datatype, operator)) => (
                datatype.size_bytes() as usize,
                Some(Combiner::for_elements(datatype, operator)?),
            ),
        };
        // How ranks wait affects only messages through MPI.
        let (unit, wait) = (Unit::of_bytes(unit), Wait::Block);
        Ok(Self {
            communicator,
            machine: Machine::without_scratch(&unit, combiner, wait, Some(Rc::clone(&channels))),
            unit,
            channels,
            sends: Vec::new(),
            recvs: Vec::new(),
        })
    }

    /// Sends the same bytes to each rank of `to` while receiving from each of `from`, all at once, as
    /// [`Communicator::transfer_bytes`].
    ///
    /// # Errors
    ///
    /// If one of the ranks is not on this rank's node, or its message has another length.
    pub fn transfer_bytes(
        &mut self,
        send: &[u8],
        to: &[u32],
        recv: &mut [u8],
        from: &[u32],
    ) -> Result<(), ExecError> {
        let piece = recv.len() / from.len().max(1);
        self.sends.clear();
        self.recvs.clear();
        for &peer in to {
            let message = self.make_transfer(peer, INPUT, 0, send.len())?;
            self.sends.push(message);
        }
        mark_repeated(&mut self.sends);
        for (index, &peer) in from.iter().enumerate() {
            let message = self.make_transfer(peer, OUTPUT, index * piece, piece)?;
            self.recvs.push(message);
        }
        self.carry_out(send, recv)
    }

    /// Receives a vector from a rank and combines it with `into`, directly from the channel.
    ///
    /// # Errors
    ///
    /// If the rank is not on this rank's node, or its message has another length.
    ///
    /// # Panics
    ///
    /// If the vector is not aligned for the datatype or holds no whole number of elements.
    pub fn receive_combining(&mut self, into: &mut [u8], from: u32) -> Result<(), ExecError> {
        let combiner = self.machine.combiner.as_ref();
        let mask = combiner.map_or(0, |combiner| combiner.alignment_mask());
        assert!(into.is_empty() || (into.as_ptr().addr() | into.len()) & mask == 0);
        let place = MemoryPlace {
            slot: OUTPUT,
            start: 0,
            length: into.len(),
        };
        let message = Transfer {
            arrival: Some(Arrival {
                other: place,
                into: place,
                is_left: true,
            }),
            ..self.make_transfer(from, OUTPUT, 0, into.len())?
        };
        self.sends.clear();
        self.recvs.clear();
        self.recvs.push(message);
        self.carry_out(&[], into)
    }

    fn make_transfer(
        &self,
        peer: u32,
        slot: usize,
        start: usize,
        length: usize,
    ) -> Result<Transfer, ExecError> {
        let place = self.channels.places().get(peer as usize).copied().flatten();
        let end = start + length;
        let runs = [Run::from(start as u64..end as u64), Run::from(0..0)];
        Ok(Transfer {
            peer: peer as i32,
            place: Some(place.ok_or(ExecError::NoChannels)?),
            slot,
            runs,
            start,
            // Used only for messages through MPI.
            count: 0,
            datatype: byte_datatype(),
            is_repeated: false,
            arrival: None,
            message: self.unit.message_size(&runs),
        })
    }

    fn carry_out(&mut self, send: &[u8], recv: &mut [u8]) -> Result<(), ExecError> {
        let step = Step {
            sends: &self.sends,
            recvs: &self.recvs,
            work: &[],
            ways: Ways::for_messages(&self.sends, &self.recvs, &self.unit),
            is_posted_ahead: false,
        };
        self.machine.lend_buffers(send.as_ptr(), recv.as_mut_ptr());
        let outcome = self.machine.carry_out(step, None, self.communicator);
        if outcome.is_err() {
            self.machine.abandon(self.communicator);
        }
        outcome
    }
}
