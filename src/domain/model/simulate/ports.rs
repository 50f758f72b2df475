//! The granting of ports that several messages need.

use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use schedule::Rank;

use super::engine::{Engine, Halt};
use super::offers::{PairHasher, pack_pair};
use super::process::Processes;
use super::trace::Observer;

/// A message whose ends have met, or that does not wait for its receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// The time at which the sender had reached its round and, unless it is eager, the receive was posted.
    pub(super) ready: f64,
    /// The time at which both ends, or for an eager message the sender, had reached their rounds.
    pub(super) met: f64,
    pub(super) bytes: u64,
    pub(super) from: Rank,
    pub(super) to: Rank,
    /// The sender's place on its node ([`super::prices::Prices::index_in_group`]), and its round, at most [`u32::MAX`].
    /// Only set if the message goes through the agenda, since the place takes a division.
    pub(super) turn: [u32; 2],
    /// Its place among the messages that the sender sends in its round.
    pub(super) place: u32,
    /// Its index among the messages that do not wait for their receivers.
    pub(super) early: Option<u32>,
}

impl Transfer {
    /// The key by which ports are granted, the smallest first. Places on nodes, rounds, and places in rounds come before
    /// ranks, so that the same messages are the first ones on nodes that are alike.
    pub(super) fn precedence(&self) -> (u64, u64, u32, u64) {
        let [place, round] = self.turn;
        // The two numbers of a pair are compared at once.
        let (turn, ends) = (pack_pair(place, round), pack_pair(self.from, self.to));
        (self.met.to_bits(), turn, self.place, ends)
    }
}

/// One of a rank's ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port {
    /// For sending.
    Out(Rank),
    /// For receiving.
    In(Rank),
}

impl Port {
    /// The port at the other end of a message that needs this one.
    fn other_port(self, transfer: &Transfer) -> Self {
        match self {
            Self::Out(_) => Self::In(transfer.to),
            Self::In(_) => Self::Out(transfer.from),
        }
    }
}

impl Hash for Port {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let pair = match *self {
            Self::Out(rank) => pack_pair(rank, 0),
            Self::In(rank) => pack_pair(rank, 1),
        };
        state.write_u64(pair);
    }
}

/// An event of the agenda.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    /// A message is ready.
    Ready(Transfer),
    /// A port that messages wait for may be free.
    Free(Port),
}

/// A message that waits for a port; the greatest one gets it first.
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
///
/// Most messages arrive in the order in which they are served, and are kept in a list. There they stay while their other
/// port is busy and another message gets this one: in an alltoall a rank may have thousands of them.
///
/// If one group of ranks is simulated for all, these thousands have few other ports, those of the group. Then they are
/// kept in bundles instead, so that neither a search nor a move to other ports touches each message.
#[derive(Default)]
pub(super) struct Queue {
    line: VecDeque<Transfer>,
    others: BinaryHeap<Waiting>,
    bundles: Vec<Bundle>,
    /// The time of the agenda's event for the port.
    alarm: Option<f64>,
}

/// The messages between two ports, in the order in which they are served. All of them wait for the same one of the two.
struct Bundle {
    /// The port that they do not wait for.
    other: Port,
    line: VecDeque<Transfer>,
}

impl Bundle {
    fn push(&mut self, transfer: Transfer) {
        let precedence = transfer.precedence();
        let place = self
            .line
            .partition_point(|waiting| waiting.precedence() <= precedence);
        self.line.insert(place, transfer);
    }
}

/// The nonempty queues.
pub(super) type Queues = HashMap<Port, Queue, BuildHasherDefault<PairHasher>>;

impl Queue {
    fn push(&mut self, transfer: Transfer, port: Port) {
        let last = self.line.back();
        if last.is_none_or(|last| last.precedence() <= transfer.precedence()) {
            self.line.push_back(transfer)
        } else {
            self.others.push(Waiting(transfer, port))
        }
    }

    /// Takes the message that gets the port first: the first one whose other port is free; `busy` is that port if it is
    /// not. If there is none, all messages are moved to `blocked`, to wait for their other ports.
    fn take_first(
        &mut self,
        busy: impl Fn(&Transfer) -> Option<Port>,
        blocked: &mut Vec<(Transfer, Port)>,
    ) -> Option<Transfer> {
        let place = self.line.iter().position(|waiting| busy(waiting).is_none());
        let in_line = place.map(|place| self.line[place].precedence());
        while let Some(Waiting(other, _)) = self.others.peek().copied()
            && in_line.is_none_or(|in_line| other.precedence() < in_line)
        {
            self.others.pop();
            match busy(&other) {
                None => return Some(other),
                Some(port) => blocked.push((other, port)),
            }
        }
        if let Some(place) = place {
            return self.line.remove(place);
        }
        let waiting = self.line.drain(..);
        blocked.extend(waiting.filter_map(|transfer| Some((transfer, busy(&transfer)?))));
        None
    }

    fn is_empty(&self) -> bool {
        self.line.is_empty() && self.others.is_empty() && self.bundles.is_empty()
    }

    fn has_bundle(&self, other: Port) -> bool {
        self.bundles.iter().any(|bundle| bundle.other == other)
    }

    /// Adds a message to the bundle of its other port.
    fn push_to_bundle(&mut self, transfer: Transfer, other: Port) {
        let known = self.bundles.iter_mut().find(|bundle| bundle.other == other);
        match known {
            Some(bundle) => bundle.push(transfer),
            None => self.bundles.push(Bundle {
                other,
                line: VecDeque::from([transfer]),
            }),
        }
    }

    /// Takes the message that gets the port first, as [`Self::take_first`] does; `is_free` says whether a port is. If
    /// there is none, all bundles are moved to `blocked`.
    fn take_first_of_bundles(
        &mut self,
        is_free: impl Fn(Port) -> bool,
        blocked: &mut Vec<Bundle>,
    ) -> Option<Transfer> {
        let bundles = self.bundles.iter().enumerate();
        let startable = bundles.filter(|(_, bundle)| is_free(bundle.other));
        let first = startable.min_by_key(|(_, bundle)| {
            let first = bundle.line.front();
            first.map(Transfer::precedence)
        });
        let Some((place, _)) = first else {
            blocked.append(&mut self.bundles);
            return None;
        };
        let taken = self.bundles[place].line.pop_front();
        if self.bundles[place].line.is_empty() {
            self.bundles.swap_remove(place);
        }
        taken
    }
}

impl<O: Observer> Engine<'_, O> {
    /// Starts all messages that can start now, in the order in which ports are granted.
    pub(super) fn grant_ports(&mut self, now: f64, due: &mut Vec<Due>) -> Result<(), Halt> {
        let mut woken = BinaryHeap::new();
        let mut fresh = std::mem::take(&mut self.fresh);
        for event in due.drain(..) {
            match event {
                Due::Ready(transfer) => fresh.push(transfer),
                Due::Free(port) => self.wake_first_waiting(now, port, &mut woken),
            }
        }
        fresh.sort_unstable_by_key(Transfer::precedence);
        let mut ready = fresh.drain(..).peekable();
        loop {
            let is_woken = match (ready.peek(), woken.peek()) {
                (Some(ready), Some(Waiting(first, _))) => first.precedence() < ready.precedence(),
                (ready, _) => ready.is_none(),
            };
            let next = if is_woken {
                woken
                    .pop()
                    .map(|Waiting(transfer, port)| (transfer, Some(port)))
            } else {
                ready.next().map(|transfer| (transfer, None))
            };
            let Some((transfer, port)) = next else {
                break;
            };
            match self.message_start(now, &transfer) {
                Ok(start) => self.carry_message(transfer, start)?,
                Err(busy) => self.queue_for_port(transfer, busy),
            }
            if let Some(port) = port {
                self.wake_first_waiting(now, port, &mut woken);
            }
        }
        drop(ready);
        self.fresh = fresh;
        Ok(())
    }

    /// Queues a message until a port is free.
    fn queue_for_port(&mut self, transfer: Transfer, port: Port) {
        if self.symmetry.groups == 1 {
            self.queues.entry(port).or_default().push(transfer, port);
            return self.set_alarm(port);
        }
        // The others of its bundle may wait for its other port; it joins them.
        let other = port.other_port(&transfer);
        let waits_for_other = |queue: &Queue| queue.has_bundle(port);
        let [port, other] = if self.queues.get(&other).is_some_and(waits_for_other) {
            [other, port]
        } else {
            [port, other]
        };
        let queue = self.queues.entry(port).or_default();
        queue.push_to_bundle(transfer, other);
        self.set_alarm(port);
    }

    /// Has the messages that wait for a port looked at when it is free.
    fn set_alarm(&mut self, port: Port) {
        let free = port_free_at(&self.processes, port);
        let queue = self.queues.entry(port).or_default();
        if queue.alarm != Some(free) {
            queue.alarm = Some(free);
            self.agenda.push(free, Due::Free(port));
        }
    }

    /// Takes the first of the messages that wait for a port and can start, if the port is still free.
    fn wake_first_waiting(&mut self, now: f64, port: Port, woken: &mut BinaryHeap<Waiting>) {
        let Entry::Occupied(mut queue) = self.queues.entry(port) else {
            return;
        };
        // Without a queue the rank may have ended.
        let free = port_free_at(&self.processes, port);
        if free > now {
            if queue.get().alarm != Some(free) {
                queue.get_mut().alarm = Some(free);
                self.agenda.push(free, Due::Free(port));
            }
        } else if self.symmetry.groups > 1 {
            let is_free = |other| port_free_at(&self.processes, other) <= now;
            let mut blocked = Vec::new();
            let first = queue.get_mut().take_first_of_bundles(is_free, &mut blocked);
            woken.extend(first.map(|first| Waiting(first, port)));
            if queue.get().is_empty() {
                queue.remove();
            }
            for Bundle { other, line } in blocked {
                let bundle = Bundle { other: port, line };
                self.queues.entry(other).or_default().bundles.push(bundle);
                self.set_alarm(other);
            }
        } else {
            let processes = &self.processes;
            let busy = |transfer: &Transfer| {
                let other = port.other_port(transfer);
                (port_free_at(processes, other) > now).then_some(other)
            };
            let mut blocked = std::mem::take(&mut self.blocked);
            let first = queue.get_mut().take_first(busy, &mut blocked);
            woken.extend(first.map(|first| Waiting(first, port)));
            if queue.get().is_empty() {
                queue.remove();
            }
            for (transfer, other) in blocked.drain(..) {
                self.queue_for_port(transfer, other);
            }
            self.blocked = blocked;
        }
    }

    /// The start of a message: the time at which it was ready and its ports were free, which may be before the present
    /// if it was posted ahead.
    ///
    /// # Errors
    /// The port that the message has to wait for; of two, the one that is free last.
    fn message_start(&self, now: f64, transfer: &Transfer) -> Result<f64, Port> {
        let ports = [Port::Out(transfer.from), Port::In(transfer.to)];
        let [out, into] = ports.map(|port| port_free_at(&self.processes, port));
        match out.max(into) > now {
            true if out > into => Err(ports[0]),
            true => Err(ports[1]),
            false => Ok(transfer.ready.max(out).max(into)),
        }
    }
}

/// The time at which a port of a running rank is free.
fn port_free_at(processes: &Processes, port: Port) -> f64 {
    match port {
        Port::Out(rank) => processes.get(rank).send_free,
        Port::In(rank) => processes.get(rank).recv_free,
    }
}

#[cfg(test)]
mod tests {
    use super::{Port, Queue, Transfer};

    #[test]
    fn a_port_is_given_to_the_first_whatever_the_order_of_arrival() {
        let mut queue = Queue::default();
        let ready = [3, 5, 4, 6, 1, 5, 2];
        for (place, time) in (0..).zip(ready) {
            let transfer = Transfer {
                ready: f64::from(time),
                met: f64::from(time),
                bytes: 1,
                from: 0,
                to: 1,
                turn: [0, 0],
                place,
                early: None,
            };
            queue.push(transfer, Port::In(1));
        }
        let mut blocked = Vec::new();
        let next = || {
            let first = queue.take_first(|_| None, &mut blocked);
            first.map(|first| (first.ready, first.place))
        };
        let order: Vec<_> = std::iter::from_fn(next).collect();
        let expected = [
            (1.0, 4),
            (2.0, 6),
            (3.0, 0),
            (4.0, 2),
            (5.0, 1),
            (5.0, 5),
            (6.0, 3),
        ];
        assert_eq!(order, expected);
        assert!(queue.is_empty());
    }

    #[test]
    fn bundles_give_a_port_to_the_same_messages_as_a_line() {
        // From rank 0 to three others.
        let ends = [[1, 3], [2, 3], [3, 1], [1, 1], [3, 3], [2, 2], [1, 2]];
        let transfers = (0..).zip(ends).map(|(place, [to, time])| Transfer {
            ready: f64::from(time),
            met: f64::from(time),
            bytes: 1,
            from: 0,
            to,
            turn: [0, 0],
            place,
            early: None,
        });
        let mut transfers: Vec<Transfer> = transfers.collect();
        let (mut line, mut bundles) = (Queue::default(), Queue::default());
        for transfer in &transfers {
            bundles.push_to_bundle(*transfer, Port::In(transfer.to));
        }
        transfers.sort_unstable_by_key(Transfer::precedence);
        for transfer in transfers {
            line.push(transfer, Port::Out(0));
        }
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        // The port of one rank after the other is busy; in the end, all are.
        for busy in [3, 1, 2, 0, 0, 2] {
            let is_busy = |port: Port| port == Port::In(busy);
            let expected = line.take_first(
                |waiting| Some(Port::In(waiting.to)).filter(|port| is_busy(*port)),
                &mut alone,
            );
            let found = bundles.take_first_of_bundles(|port| !is_busy(port), &mut together);
            let place = |transfer: Transfer| transfer.place;
            assert!(expected.is_some());
            assert_eq!(found.map(place), expected.map(place));
        }
        assert!(
            bundles
                .take_first_of_bundles(|_| false, &mut together)
                .is_none()
        );
        assert!(
            line.take_first(|waiting| Some(Port::In(waiting.to)), &mut alone)
                .is_none()
        );
        assert!(bundles.is_empty() && line.is_empty());
        let left = |transfer: &Transfer| (transfer.to, transfer.place);
        let alone: Vec<_> = alone.iter().map(|(transfer, _)| left(transfer)).collect();
        let together: Vec<_> = together
            .iter()
            .flat_map(|bundle| bundle.line.iter().map(left))
            .collect();
        assert_eq!(together, alone);
    }

    #[test]
    fn messages_whose_other_port_is_busy_are_passed_over() {
        let mut queue = Queue::default();
        for to in 1..=3 {
            let transfer = Transfer {
                ready: 0.0,
                met: 0.0,
                bytes: 1,
                from: 0,
                to,
                turn: [0, 0],
                place: to,
                early: None,
            };
            queue.push(transfer, Port::Out(0));
        }
        let mut blocked = Vec::new();
        let first = queue.take_first(
            |waiting| (waiting.to < 3).then_some(Port::In(waiting.to)),
            &mut blocked,
        );
        assert_eq!(first.map(|first| first.to), Some(3));
        // The others wait on here, unless no message takes the port.
        assert!(blocked.is_empty() && !queue.is_empty());
        let none = queue.take_first(|waiting| Some(Port::In(waiting.to)), &mut blocked);
        let ports: Vec<Port> = blocked.iter().map(|(_, port)| *port).collect();
        assert!(none.is_none() && queue.is_empty());
        assert_eq!(ports, [Port::In(1), Port::In(2)]);
    }
}
