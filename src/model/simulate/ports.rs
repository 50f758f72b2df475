//! Who gets a port that several messages want.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;

use schedule::Rank;

use super::engine::{Engine, Halt};
use super::trace::Observer;

/// A message whose ends have met, or which does not wait for that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) ready: f64,
    pub(super) bytes: u64,
    pub(super) from: Rank,
    pub(super) to: Rank,
    /// How many messages the sender has sent before.
    pub(super) place: u32,
    /// Its number among those that the receiver does not wait for.
    pub(super) early: Option<u32>,
}

impl Transfer {
    /// What ports are granted by.
    pub(super) fn precedence(&self) -> (u64, Rank, Rank, u32) {
        (self.ready.to_bits(), self.from, self.to, self.place)
    }
}

/// One of a rank's ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Port {
    /// For sending.
    Out(Rank),
    /// For receiving.
    In(Rank),
}

/// What the agenda holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    /// A message is ready.
    Ready(Transfer),
    /// A port that messages wait for may be free.
    Free(Port),
}

/// A message that waits for a port; the greatest is that which gets it first.
#[derive(Clone, Copy, Debug)]
struct Waiting(Transfer, Port);

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.precedence().cmp(&self.0.precedence())
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

/// The messages that wait for a port.
#[derive(Default)]
pub(super) struct Queue {
    waiting: BinaryHeap<Waiting>,
    /// When the agenda says that the port is free.
    alarm: Option<f64>,
}

impl<O: Observer> Engine<'_, O> {
    /// Starts all messages that can start now, in the order in which ports are granted.
    pub(super) fn grant(&mut self, now: f64, due: &mut Vec<Due>) -> Result<(), Halt> {
        let (mut fresh, mut woken) = (Vec::new(), BinaryHeap::new());
        for due in due.drain(..) {
            match due {
                Due::Ready(transfer) => fresh.push(transfer),
                Due::Free(port) => self.wake(now, port, &mut woken),
            }
        }
        fresh.sort_unstable_by_key(Transfer::precedence);
        let mut fresh = fresh.into_iter().peekable();
        loop {
            let next = match (fresh.peek(), woken.peek()) {
                (Some(ready), Some(Waiting(first, _)))
                    if first.precedence() < ready.precedence() =>
                {
                    None
                }
                (Some(_), _) => fresh.next(),
                (None, Some(_)) => None,
                (None, None) => break,
            };
            let (transfer, port) = match next {
                Some(transfer) => (transfer, None),
                None => match woken.pop() {
                    Some(Waiting(transfer, port)) => (transfer, Some(port)),
                    None => break,
                },
            };
            match self.busy_port(now, &transfer) {
                None => self.carry(transfer, now)?,
                Some(busy) => self.park(transfer, busy),
            }
            if let Some(port) = port {
                self.wake(now, port, &mut woken);
            }
        }
        Ok(())
    }

    /// Puts a message down until a port is free.
    fn park(&mut self, transfer: Transfer, port: Port) {
        let free = self.port_free(port);
        let queue = self.queues.entry(port).or_default();
        queue.waiting.push(Waiting(transfer, port));
        if queue.alarm != Some(free) {
            queue.alarm = Some(free);
            self.agenda.push(free, Due::Free(port));
        }
    }

    /// Takes up the first of the messages that wait for a port, if it is still free.
    fn wake(&mut self, now: f64, port: Port, woken: &mut BinaryHeap<Waiting>) {
        let free = self.port_free(port);
        let Entry::Occupied(mut queue) = self.queues.entry(port) else {
            return;
        };
        if free <= now {
            woken.extend(queue.get_mut().waiting.pop());
            if queue.get().waiting.is_empty() {
                queue.remove();
            }
        } else if queue.get().alarm != Some(free) {
            queue.get_mut().alarm = Some(free);
            self.agenda.push(free, Due::Free(port));
        }
    }

    fn port_free(&self, port: Port) -> f64 {
        match port {
            Port::Out(rank) => self.processes[rank as usize].send_free,
            Port::In(rank) => self.processes[rank as usize].recv_free,
        }
    }

    /// The port that a message has to wait for, of two the one that is free last.
    fn busy_port(&self, now: f64, transfer: &Transfer) -> Option<Port> {
        let ports = [Port::Out(transfer.from), Port::In(transfer.to)];
        let [out, into] = ports.map(|port| self.port_free(port));
        match out.max(into) > now {
            true if out > into => Some(ports[0]),
            true => Some(ports[1]),
            false => None,
        }
    }
}
