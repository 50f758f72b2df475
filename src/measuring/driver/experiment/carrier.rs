//! The transport of an experiment's messages.

use exec::{ChannelMessages, Communicator, ExecError, Wait};
use vocabulary::ExperimentKind;

use super::Setting;

pub(super) enum Carrier<'a> {
    Mpi(&'a Communicator, Wait),
    Shared(Box<ChannelMessages<'a>>),
}

impl<'a> Carrier<'a> {
    pub(super) fn new(kind: ExperimentKind, setting: Setting<'a>) -> Result<Self, ExecError> {
        let communicator = setting.communicator;
        let Some(channels) = setting.channels else {
            return Ok(Self::Mpi(communicator, setting.wait));
        };
        let combined = match kind {
            ExperimentKind::Combine { datatype, operator } => Some((datatype, operator)),
            _ => None,
        };
        let messages = ChannelMessages::new(communicator, channels, combined)?;
        Ok(Self::Shared(Box::new(messages)))
    }

    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Whether ranks yield their cores while they wait for MPI messages.
    pub(super) fn is_yielding(&self) -> bool {
        matches!(self, Self::Mpi(_, Wait::Yield))
    }

    pub(super) fn send(&mut self, bytes: &[u8], to: u32) -> Result<(), ExecError> {
        match self {
            Self::Mpi(communicator, _) => communicator.send_bytes(bytes, to),
            Self::Shared(messages) => messages.transfer_bytes(bytes, &[to], &mut [], &[]),
        }
    }

    pub(super) fn recv(&mut self, bytes: &mut [u8], from: u32) -> Result<(), ExecError> {
        match self {
            Self::Mpi(communicator, _) => communicator.recv_bytes(bytes, from),
            Self::Shared(messages) => messages.transfer_bytes(&[], &[], bytes, &[from]),
        }
    }

    /// Receives a vector and combines it into another as it arrives; not available through MPI.
    pub(super) fn receive_combining(
        &mut self,
        into: &mut [u8],
        from: u32,
    ) -> Result<(), ExecError> {
        match self {
            Self::Mpi(..) => Err(ExecError::NoChannels),
            Self::Shared(messages) => messages.receive_combining(into, from),
        }
    }

    pub(super) fn exchange(
        &mut self,
        send: &[u8],
        to: u32,
        recv: &mut [u8],
        from: u32,
    ) -> Result<(), ExecError> {
        match self {
            Self::Mpi(communicator, _) => communicator.exchange_bytes(send, to, recv, from),
            Self::Shared(messages) => messages.transfer_bytes(send, &[to], recv, &[from]),
        }
    }

    /// As [`Communicator::transfer_bytes`].
    pub(super) fn transfer(
        &mut self,
        send: &[u8],
        to: &[u32],
        recv: &mut [u8],
        from: &[u32],
    ) -> Result<(), ExecError> {
        match self {
            Self::Mpi(communicator, wait) => {
                communicator.transfer_bytes(send, to, recv, from, *wait)
            }
            Self::Shared(messages) => messages.transfer_bytes(send, to, recv, from),
        }
    }
}
