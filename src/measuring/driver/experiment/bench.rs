//! The calls of each rank in an experiment.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use exec::{Bytes, Communicator, ExecError, NodeChannels, Operands, Wait};
use vocabulary::{Experiment, ExperimentKind};

use super::carrier::Carrier;

/// The content of messages and vectors: bytes that form ordinary numbers in every datatype.
const BYTE: u8 = 0x3f;

/// The number of messages in a burst.
const BURST: usize = ExperimentKind::BURST as usize;

/// The setting of an experiment.
#[derive(Clone)]
pub(crate) struct Setting<'a> {
    /// The ranks that take part.
    pub(crate) communicator: &'a Communicator,
    /// The communicator's ranks on each node.
    pub(crate) nodes: &'a [Vec<u32>],
    /// The way ranks wait for messages from several peers.
    pub(crate) wait: Wait,
    /// The channels that carry the messages instead of MPI, if any.
    pub(crate) channels: Option<Rc<NodeChannels>>,
}

/// A rank's part in an experiment.
pub(super) struct Bench<'a> {
    kind: ExperimentKind,
    communicator: &'a Communicator,
    carrier: Carrier<'a>,
    rank: u32,
    part: ExperimentPart,
    send: Bytes,
    recv: Bytes,
}

impl<'a> Bench<'a> {
    pub(super) fn new(experiment: &Experiment, setting: Setting<'a>) -> Result<Self, ExecError> {
        let communicator = setting.communicator;
        let bytes = experiment.bytes as usize;
        let (rank, size) = (communicator.rank(), communicator.size());
        let part = ExperimentPart::new(experiment.kind, rank, size, setting.nodes);
        Ok(Self {
            kind: experiment.kind,
            communicator,
            carrier: Carrier::new(experiment.kind, setting)?,
            rank,
            send: Bytes::filled(bytes, BYTE),
            // Concurrent messages need separate buffers.
            recv: Bytes::filled(bytes * part.from.len().max(1), BYTE),
            part,
        })
    }

    /// Returns the time of `calls` calls on this rank, in seconds.
    pub(super) fn time_calls(&mut self, calls: u32) -> Result<f64, ExecError> {
        match self.kind {
            ExperimentKind::Injection => return self.time_from_barriers(calls),
            ExperimentKind::Burst if self.communicator.size() > 2 => {
                return self.time_from_barriers(calls);
            }
            ExperimentKind::Late => return self.time_until_sent(calls),
            _ => {}
        }
        let start = Instant::now();
        for _ in 0..calls {
            self.call_once()?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// The number of messages among which the time of a call is divided.
    pub(super) fn messages_per_call(&self) -> f64 {
        match self.kind {
            ExperimentKind::PingPong => 2.0,
            ExperimentKind::Combine { .. } if self.carrier.is_shared() => 2.0,
            ExperimentKind::Burst => ExperimentKind::BURST.into(),
            _ => 1.0,
        }
    }

    /// As [`Self::time_calls`], with a barrier before each call, where no message makes the ranks start together.
    fn time_from_barriers(&mut self, calls: u32) -> Result<f64, ExecError> {
        let mut seconds = 0.0;
        for _ in 0..calls {
            self.communicator.dissemination_barrier()?;
            let start = Instant::now();
            self.call_once()?;
            seconds += start.elapsed().as_secs_f64();
        }
        Ok(seconds)
    }

    /// The time in seconds that rank 0 takes to send to a late receiver; 0 on rank 1.
    fn time_until_sent(&mut self, calls: u32) -> Result<f64, ExecError> {
        let late = ExperimentKind::LATE_SECONDS;
        let (send, recv) = (self.send.as_slice(), self.recv.as_mut_slice());
        let carrier = &mut self.carrier;
        let mut seconds = 0.0;
        for _ in 0..calls {
            if self.rank == 0 {
                carrier.recv(&mut [], 1)?;
                let start = Instant::now();
                carrier.send(send, 1)?;
                seconds += start.elapsed().as_secs_f64();
            } else {
                carrier.send(&[], 0)?;
                // Without calling MPI, which might make progress on the message.
                let start = Instant::now();
                while start.elapsed().as_secs_f64() < late {
                    std::thread::yield_now();
                }
                carrier.recv(recv, 0)?;
            }
        }
        Ok(seconds)
    }

    fn call_once(&mut self) -> Result<(), ExecError> {
        let (send, recv) = (self.send.as_slice(), self.recv.as_mut_slice());
        let carrier = &mut self.carrier;
        match self.kind {
            ExperimentKind::PingPong if self.rank == 0 => {
                carrier.send(send, 1)?;
                carrier.recv(recv, 1)
            }
            ExperimentKind::PingPong => {
                carrier.recv(recv, 0)?;
                carrier.send(send, 0)
            }
            ExperimentKind::Exchange => {
                let peer = 1 - self.rank.min(1);
                carrier.exchange(send, peer, recv, peer)
            }
            ExperimentKind::Shift => match (&self.part.to[..], &self.part.from[..]) {
                (&[to], &[from]) if !carrier.is_yielding() => {
                    carrier.exchange(send, to, recv, from)
                }
                (to, from) => carrier.transfer(send, to, recv, from),
            },
            ExperimentKind::Burst | ExperimentKind::FanOut | ExperimentKind::Injection => {
                self.send_first()
            }
            ExperimentKind::FanIn => self.request_data(),
            // Late receivers are timed by [`Self::time_until_sent`].
            ExperimentKind::Late => Ok(()),
            ExperimentKind::Copy => {
                // `black_box` keeps the compiler from removing an unused copy.
                black_box(&mut *recv).copy_from_slice(black_box(send));
                black_box(recv);
                Ok(())
            }
            ExperimentKind::Combine { .. } if carrier.is_shared() && self.rank == 0 => {
                carrier.send(send, 1)?;
                carrier.receive_combining(recv, 1)
            }
            ExperimentKind::Combine { .. } if carrier.is_shared() => {
                carrier.receive_combining(recv, 0)?;
                carrier.send(send, 0)
            }
            ExperimentKind::Combine { datatype, operator } => {
                exec::combine_vectors(datatype, operator, Operands::IntoRight(send, recv))
            }
        }
    }

    /// Sends messages that are answered with empty ones.
    fn send_first(&mut self) -> Result<(), ExecError> {
        let carrier = &mut self.carrier;
        let ExperimentPart { begins, to, from } = &self.part;
        if *begins {
            return carrier.transfer(self.send.as_slice(), to, &mut [], from);
        }
        carrier.transfer(&[], &[], self.recv.as_mut_slice(), from)?;
        carrier.transfer(&[], to, &mut [], &[])
    }

    /// Sends empty messages that are answered with data.
    fn request_data(&mut self) -> Result<(), ExecError> {
        let carrier = &mut self.carrier;
        let ExperimentPart { begins, to, from } = &self.part;
        if *begins {
            return carrier.transfer(&[], to, self.recv.as_mut_slice(), from);
        }
        carrier.transfer(&[], &[], &mut [], from)?;
        carrier.transfer(self.send.as_slice(), to, &mut [], &[])
    }
}

/// The peers of a rank in experiments with several ranks or messages.
#[derive(Debug, PartialEq)]
struct ExperimentPart {
    /// Whether the rank sends first; the others send once they have received everything.
    begins: bool,
    /// The destination of each message; a rank may occur several times.
    to: Vec<u32>,
    /// The source of each message.
    from: Vec<u32>,
}

impl ExperimentPart {
    /// The part of `rank` among `size` ranks, with these ranks on each node.
    fn new(kind: ExperimentKind, rank: u32, size: u32, nodes: &[Vec<u32>]) -> Self {
        let is_first = rank == 0;
        let part = |begins, to, from| Self { begins, to, from };
        match kind {
            ExperimentKind::Shift => {
                let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
                part(true, vec![next], vec![before])
            }
            ExperimentKind::Burst if size == 2 && is_first => part(true, vec![1; BURST], vec![1]),
            ExperimentKind::Burst if size == 2 => part(false, vec![0], vec![0; BURST]),
            ExperimentKind::FanOut | ExperimentKind::FanIn if is_first => {
                part(true, (1..size).collect(), (1..size).collect())
            }
            ExperimentKind::FanOut | ExperimentKind::FanIn => part(false, vec![0], vec![0]),
            ExperimentKind::Injection | ExperimentKind::Burst => {
                let count = if kind == ExperimentKind::Burst {
                    BURST
                } else {
                    1
                };
                let [first, second] = [0, 1].map(|node| nodes.get(node).map_or(&[][..], |n| n));
                let mut pairs = first.iter().zip(second);
                match pairs.find(|(from, to)| **from == rank || **to == rank) {
                    Some((from, to)) if *from == rank => part(true, vec![*to; count], vec![*to]),
                    Some((from, _)) => part(false, vec![*from], vec![*from; count]),
                    None => part(false, Vec::new(), Vec::new()),
                }
            }
            ExperimentKind::PingPong
            | ExperimentKind::Exchange
            | ExperimentKind::Late
            | ExperimentKind::Combine { .. }
            | ExperimentKind::Copy => part(is_first, Vec::new(), Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ExperimentPart;
    use vocabulary::ExperimentKind;

    #[test]
    fn everything_sent_is_received() {
        let nodes = [vec![0, 2, 4], vec![1, 3, 5]];
        for kind in [
            ExperimentKind::Shift,
            ExperimentKind::Burst,
            ExperimentKind::FanOut,
            ExperimentKind::FanIn,
            ExperimentKind::Injection,
        ] {
            let size = if kind == ExperimentKind::Burst { 2 } else { 6 };
            let parts: Vec<ExperimentPart> = (0..size)
                .map(|rank| ExperimentPart::new(kind, rank, size, &nodes))
                .collect();
            let count = |peers: &[u32], peer| peers.iter().filter(|of| **of == peer).count();
            for (from, sender) in (0..).zip(&parts) {
                for (to, receiver) in (0..).zip(&parts) {
                    let (sent, received) = (count(&sender.to, to), count(&receiver.from, from));
                    assert_eq!(sent, received, "{kind:?} {from} {to}");
                }
                assert!(!sender.to.is_empty(), "{kind:?} {from}");
            }
        }
    }

    #[test]
    fn partners_stand_on_different_nodes() {
        let nodes = [vec![0, 2], vec![1, 3]];
        let part = |rank| ExperimentPart::new(ExperimentKind::Injection, rank, 4, &nodes);
        let expected = |begins, peer| ExperimentPart {
            begins,
            to: vec![peer],
            from: vec![peer],
        };
        assert_eq!(part(2), expected(true, 3));
        assert_eq!(part(1), expected(false, 0));
    }
}
