//! What the ranks of an experiment do.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use exec::{Bytes, Communicator, ExecError, NodeChannels, Operands, Wait};
use vocabulary::{Experiment, ExperimentKind};

use super::carrier::Carrier;

/// What messages and vectors consist of: bytes that make ordinary numbers in every datatype.
const BYTE: u8 = 0x3f;

/// The messages of a burst.
const BURST: usize = ExperimentKind::BURST as usize;

/// Where an experiment is made.
#[derive(Clone)]
pub(crate) struct Setting<'a> {
    /// The ranks that take part.
    pub(crate) communicator: &'a Communicator,
    /// Its ranks on each node.
    pub(crate) nodes: &'a [Vec<u32>],
    /// How they wait for messages among more than two.
    pub(crate) wait: Wait,
    /// What messages go through instead of MPI, if they do.
    pub(crate) channels: Option<Rc<NodeChannels>>,
}

/// A rank's part in an experiment.
pub(super) struct Bench<'a> {
    kind: ExperimentKind,
    communicator: &'a Communicator,
    carrier: Carrier<'a>,
    rank: u32,
    part: Part,
    send: Bytes,
    recv: Bytes,
}

impl<'a> Bench<'a> {
    pub(super) fn new(experiment: &Experiment, setting: Setting<'a>) -> Result<Self, ExecError> {
        let communicator = setting.communicator;
        let bytes = experiment.bytes as usize;
        let part = Part::new(experiment.kind, &setting);
        Ok(Self {
            kind: experiment.kind,
            communicator,
            carrier: Carrier::new(experiment.kind, setting)?,
            rank: communicator.rank(),
            send: Bytes::filled(bytes, BYTE),
            // Messages under way at once each need a place of their own.
            recv: Bytes::filled(bytes * part.from.len().max(1), BYTE),
            part,
        })
    }

    /// The time of `calls` calls on this rank.
    pub(super) fn time(&mut self, calls: u32) -> Result<f64, ExecError> {
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
            self.call()?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// How many messages share the time of a call where that of one is asked for.
    pub(super) fn shares(&self) -> f64 {
        match self.kind {
            ExperimentKind::PingPong => 2.0,
            ExperimentKind::Combine { .. } if self.carrier.is_shared() => 2.0,
            ExperimentKind::Burst => ExperimentKind::BURST.into(),
            _ => 1.0,
        }
    }

    /// The same where ranks must begin together because no message makes them.
    fn time_from_barriers(&mut self, calls: u32) -> Result<f64, ExecError> {
        let mut seconds = 0.0;
        for _ in 0..calls {
            self.communicator.dissemination_barrier()?;
            let start = Instant::now();
            self.call()?;
            seconds += start.elapsed().as_secs_f64();
        }
        Ok(seconds)
    }

    /// The time that rank 0 takes to send to one that is late; of rank 1 none.
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
                // Without a word to MPI, which might receive meanwhile.
                let start = Instant::now();
                while start.elapsed().as_secs_f64() < late {
                    std::thread::yield_now();
                }
                carrier.recv(recv, 0)?;
            }
        }
        Ok(seconds)
    }

    fn call(&mut self) -> Result<(), ExecError> {
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
                (&[to], &[from]) if !carrier.yields() => carrier.exchange(send, to, recv, from),
                (to, from) => carrier.transfer(send, to, recv, from),
            },
            ExperimentKind::Burst | ExperimentKind::FanOut | ExperimentKind::Injection => {
                self.give()
            }
            ExperimentKind::FanIn => self.take(),
            // Late receivers are timed in another way.
            ExperimentKind::Late => Ok(()),
            ExperimentKind::Copy => {
                // The compiler would leave out a copy that is not read.
                black_box(&mut *recv).copy_from_slice(black_box(send));
                black_box(recv);
                Ok(())
            }
            ExperimentKind::Combine { .. } if carrier.is_shared() && self.rank == 0 => {
                carrier.send(send, 1)?;
                carrier.combine(recv, 1)
            }
            ExperimentKind::Combine { .. } if carrier.is_shared() => {
                carrier.combine(recv, 0)?;
                carrier.send(send, 0)
            }
            ExperimentKind::Combine { datatype, operator } => {
                exec::combine(datatype, operator, Operands::IntoRight(send, recv))
            }
        }
    }

    /// Messages that are answered with empty ones.
    fn give(&mut self) -> Result<(), ExecError> {
        let carrier = &mut self.carrier;
        let Part { begins, to, from } = &self.part;
        if *begins {
            return carrier.transfer(self.send.as_slice(), to, &mut [], from);
        }
        carrier.transfer(&[], &[], self.recv.as_mut_slice(), from)?;
        carrier.transfer(&[], to, &mut [], &[])
    }

    /// Empty messages that are answered with others.
    fn take(&mut self) -> Result<(), ExecError> {
        let carrier = &mut self.carrier;
        let Part { begins, to, from } = &self.part;
        if *begins {
            return carrier.transfer(&[], to, self.recv.as_mut_slice(), from);
        }
        carrier.transfer(&[], &[], &mut [], from)?;
        carrier.transfer(self.send.as_slice(), to, &mut [], &[])
    }
}

/// The peers of a rank where there are more than two, or more than one message.
#[derive(Debug, PartialEq)]
struct Part {
    /// Whether it sends first, and all at once; the others send when they have received all.
    begins: bool,
    /// The ranks that it sends to; a rank that is named twice gets two messages.
    to: Vec<u32>,
    /// The ranks that it receives from.
    from: Vec<u32>,
}

impl Part {
    fn new(kind: ExperimentKind, setting: &Setting<'_>) -> Self {
        let (rank, size) = (setting.communicator.rank(), setting.communicator.size());
        Self::of(kind, rank, size, setting.nodes)
    }

    /// The part of one of `size` ranks, of which these stand on each node.
    fn of(kind: ExperimentKind, rank: u32, size: u32, nodes: &[Vec<u32>]) -> Self {
        let begins = rank == 0;
        let part = |begins, to, from| Self { begins, to, from };
        match kind {
            ExperimentKind::Shift => {
                let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
                part(true, vec![next], vec![before])
            }
            ExperimentKind::Burst if size == 2 && begins => part(true, vec![1; BURST], vec![1]),
            ExperimentKind::Burst if size == 2 => part(false, vec![0], vec![0; BURST]),
            ExperimentKind::FanOut | ExperimentKind::FanIn if begins => {
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
            | ExperimentKind::Copy => part(begins, Vec::new(), Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Part;
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
            let parts: Vec<Part> = (0..size)
                .map(|rank| Part::of(kind, rank, size, &nodes))
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
        let part = |rank| Part::of(ExperimentKind::Injection, rank, 4, &nodes);
        let expected = |begins, peer| Part {
            begins,
            to: vec![peer],
            from: vec![peer],
        };
        assert_eq!(part(2), expected(true, 3));
        assert_eq!(part(1), expected(false, 0));
    }
}
