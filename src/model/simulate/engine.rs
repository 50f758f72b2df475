//! Runs the programs of a schedule against each other's clocks.
//!
//! A rank whose round has begun is suspended until its last transfer has ended. Where a sender has
//! one message to send in its round and the receiver one to receive, both ports are free when both
//! are there, because the transfers of earlier rounds have ended. Such messages are carried at once,
//! in whatever order the ranks come up: clocks are maxima and sums along dependencies, and no port is
//! wanted twice ([`Order::Dependency`]). All others wait in the agenda until nothing else can go on.
//! Then the one that can start first starts: whatever becomes ready later does so after it.
//!
//! Eager messages, and ports that the ranks of a node share, are in the way of messages of other
//! rounds. Then all messages go through the agenda ([`Order::Time`]).

use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};

use schedule::{Action, Program, Rank, Round, Schedule, Span};

use super::agenda::Agenda;
use super::offers::{Earlies, Offer, Offers};
use super::prices::Prices;
use super::trace::{Labour, Message, Observer, Work};
use super::{Simulation, SimulationError};

/// Which messages start without waiting for others to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Those whose ports nobody else can want.
    Dependency,
    /// None.
    Time,
}

/// Why the engine stopped before the end.
pub(super) enum Halt {
    /// An eager message in the order of dependencies.
    Eager,
    /// The schedule cannot be simulated.
    Error(SimulationError),
}

impl From<SimulationError> for Halt {
    fn from(error: SimulationError) -> Self {
        Self::Error(error)
    }
}

const NOBODY: Rank = Rank::MAX;

/// A rank in the middle of its program.
struct Process {
    program: Box<dyn Program>,
    rounds: u64,
    /// The round after the current one.
    next: u64,
    /// When the current round began, and when all of it that has ended did.
    began: f64,
    ends: f64,
    send_free: f64,
    recv_free: f64,
    /// Transfers of the current round that have not ended.
    waiting: u32,
    /// Messages sent so far.
    issued: u32,
    /// Sends and receives of the current round. If there is one, and it has not met its other end,
    /// it stands here, otherwise among the offers.
    sends: u32,
    recvs: u32,
    send_bytes: u64,
    send_to: Rank,
    recv_from: Rank,
}

/// A message whose ends have met, or which does not wait for that.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    ready: f64,
    bytes: u64,
    from: Rank,
    to: Rank,
    /// How many messages the sender has sent before.
    place: u32,
    /// Its number among those that the receiver does not wait for.
    early: Option<u32>,
}

impl Transfer {
    /// What ports are granted by.
    fn precedence(&self) -> (u64, Rank, Rank, u32) {
        (self.ready.to_bits(), self.from, self.to, self.place)
    }
}

/// One of a rank's ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Port {
    /// For sending.
    Out(Rank),
    /// For receiving.
    In(Rank),
}

/// What the agenda holds.
#[derive(Clone, Copy, Debug)]
enum Due {
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
struct Queue {
    waiting: BinaryHeap<Waiting>,
    /// When the agenda says that the port is free.
    alarm: Option<f64>,
}

/// The ports that the ranks of a node share: when each has passed all that has started.
#[derive(Clone, Copy, Default)]
struct NodePorts {
    out: f64,
    into: f64,
}

/// The programs under way.
pub(super) struct Engine<'a, O> {
    schedule: &'a Schedule,
    prices: &'a Prices,
    order: Order,
    processes: Vec<Process>,
    nodes: Vec<NodePorts>,
    runnable: Vec<Rank>,
    agenda: Agenda<Due>,
    /// Messages that are ready and wait for a port.
    queues: HashMap<Port, Queue>,
    offers: Offers,
    earlies: Earlies,
    messages: u64,
    round: Round,
    lengths: Vec<u64>,
    observer: O,
}

impl<'a, O: Observer> Engine<'a, O> {
    pub(super) fn new(
        schedule: &'a Schedule,
        prices: &'a Prices,
        order: Order,
        observer: O,
    ) -> Self {
        let ranks = schedule.shape().ranks;
        let nodes = match prices.shares_ports_of_nodes() {
            true => prices.nodes() as usize,
            false => 0,
        };
        let process = |rank| {
            let program = schedule.program(rank);
            Process {
                rounds: program.rounds(),
                program,
                next: 0,
                began: 0.0,
                ends: 0.0,
                send_free: 0.0,
                recv_free: 0.0,
                waiting: 0,
                issued: 0,
                sends: 0,
                recvs: 0,
                send_bytes: 0,
                send_to: NOBODY,
                recv_from: NOBODY,
            }
        };
        Self {
            schedule,
            prices,
            order,
            processes: (0..ranks).map(process).collect(),
            nodes: vec![NodePorts::default(); nodes],
            runnable: (0..ranks).rev().collect(),
            agenda: Agenda::new(),
            queues: HashMap::new(),
            offers: Offers::default(),
            earlies: Earlies::default(),
            messages: 0,
            round: Round::default(),
            lengths: Vec::new(),
            observer,
        }
    }

    pub(super) fn into_observer(self) -> O {
        self.observer
    }

    /// Runs all programs to their ends.
    pub(super) fn run(&mut self) -> Result<Simulation, Halt> {
        let mut due = Vec::new();
        loop {
            while let Some(rank) = self.runnable.pop() {
                self.go_on(rank)?;
            }
            let Some(now) = self.agenda.take_next(&mut due) else {
                break;
            };
            self.grant(now, &mut due)?;
        }
        if let Some(rank) = self.processes.iter().position(|p| p.waiting > 0) {
            let round = self.processes[rank].next - 1;
            let rank = rank as Rank;
            return Err(SimulationError::Stuck { rank, round }.into());
        }
        let finished: Vec<f64> = self.processes.iter().map(|p| p.ends).collect();
        Ok(Simulation {
            seconds: finished.iter().copied().fold(0.0, f64::max),
            finished,
            messages: self.messages,
        })
    }

    /// Starts all messages that can start now, in the order in which ports are granted.
    fn grant(&mut self, now: f64, due: &mut Vec<Due>) -> Result<(), Halt> {
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

    fn process(&mut self, rank: Rank) -> &mut Process {
        &mut self.processes[rank as usize]
    }

    /// Begins rounds until one of them has to wait for others.
    fn go_on(&mut self, rank: Rank) -> Result<(), Halt> {
        let mut round = std::mem::take(&mut self.round);
        loop {
            let process = self.process(rank);
            if process.next > 0 {
                let (index, end) = (process.next - 1, process.ends);
                self.observer.round(rank, index, end);
            }
            let process = self.process(rank);
            if process.next == process.rounds {
                break;
            }
            round.clear();
            process.program.round(process.next, &mut round);
            process.next += 1;
            process.began = process.ends;
            self.measure(rank, round.actions())?;
            self.post(rank, round.actions())?;
            let process = self.process(rank);
            process.waiting -= 1;
            if process.waiting > 0 {
                break;
            }
        }
        self.round = round;
        Ok(())
    }

    /// Takes the lengths of the messages of a round, and does its local work.
    fn measure(&mut self, rank: Rank, actions: &[Action]) -> Result<(), Halt> {
        self.lengths.clear();
        let (mut sends, mut recvs) = (0, 0);
        let mut processor = self.process(rank).began;
        for action in actions {
            let bytes = |span: &Span| self.prices.bytes(self.schedule, span);
            let length = match action {
                Action::Send { span, .. } | Action::Recv { span, .. } => bytes(span),
                Action::Combine { into, .. } => {
                    let bytes = bytes(into);
                    let seconds = self.prices.combine(bytes)?;
                    processor = self.work(rank, Labour::Combine, bytes, processor, seconds)?;
                    continue;
                }
                Action::Copy { from, into } => {
                    let bytes = bytes(into);
                    let seconds = self.copy_seconds(rank, from, into, bytes);
                    processor = self.work(rank, Labour::Copy, bytes, processor, seconds)?;
                    continue;
                }
                Action::Signal { .. } | Action::Await { .. } => 0,
            };
            match action {
                Action::Send { .. } if length > 0 => sends += 1,
                Action::Recv { .. } if length > 0 => recvs += 1,
                Action::Signal { .. } => sends += 1,
                Action::Await { .. } => recvs += 1,
                _ => {}
            }
            self.lengths.push(length);
        }
        let process = self.process(rank);
        process.sends = sends;
        process.recvs = recvs;
        // One more: nothing of it is over before all of it is put forward.
        process.waiting = sends + recvs + 1;
        process.ends = processor;
        Ok(())
    }

    /// The time for a copy, which moves nothing where both of its ends are the same memory.
    fn copy_seconds(&self, rank: Rank, from: &Span, into: &Span, bytes: u64) -> f64 {
        let seconds = self.prices.copy(bytes);
        if seconds == 0.0 || from == into {
            return 0.0;
        }
        let layout = self.schedule.layout(rank);
        match layout.locate(from) == layout.locate(into) {
            true => 0.0,
            false => seconds,
        }
    }

    /// Does local work from `start`; returns its end. What takes no time is nothing to see.
    fn work(
        &mut self,
        rank: Rank,
        labour: Labour,
        bytes: u64,
        start: f64,
        seconds: f64,
    ) -> Result<f64, Halt> {
        if seconds == 0.0 {
            return Ok(start);
        }
        let end = start + seconds;
        let round = self.process(rank).next - 1;
        self.observer.work(Work {
            rank,
            round,
            labour,
            bytes,
            start,
            end,
        })?;
        Ok(end)
    }

    /// Puts the transfers of a round forward.
    fn post(&mut self, rank: Rank, actions: &[Action]) -> Result<(), Halt> {
        let mut place = 0;
        for action in actions {
            let is_transfer = !matches!(action, Action::Combine { .. } | Action::Copy { .. });
            let length = match is_transfer {
                true => self.lengths[place],
                false => continue,
            };
            place += 1;
            match *action {
                Action::Send { to, .. } if length > 0 => self.send(rank, to, length)?,
                Action::Recv { from, .. } if length > 0 => self.receive(from, rank)?,
                Action::Signal { to } => self.send(rank, to, 0)?,
                Action::Await { from } => self.receive(from, rank)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn send(&mut self, from: Rank, to: Rank, bytes: u64) -> Result<(), Halt> {
        let is_eager = self.prices.is_eager(from, to, bytes);
        if is_eager && self.order == Order::Dependency {
            return Err(Halt::Eager);
        }
        if self.take_recv(from, to) {
            return self.launch(from, to, bytes, is_eager, None);
        }
        if is_eager {
            let early = self.earlies.add();
            self.offers.put_send(from, to, Offer::Early(early));
            return self.launch(from, to, bytes, true, Some(early));
        }
        let sender = self.process(from);
        if sender.sends == 1 {
            sender.send_to = to;
            sender.send_bytes = bytes;
        } else {
            self.offers.put_send(from, to, Offer::Waiting(bytes));
        }
        Ok(())
    }

    fn receive(&mut self, from: Rank, to: Rank) -> Result<(), Halt> {
        match self.take_send(from, to) {
            Some(Offer::Waiting(bytes)) => self.launch(from, to, bytes, false, None)?,
            Some(Offer::Early(number)) => {
                let early = self.earlies.get_mut(number);
                early.is_claimed = true;
                if let Some(delivered) = early.delivered {
                    let observed = early.observed;
                    self.earlies.forget(number);
                    let receiver = self.process(to);
                    let round = receiver.next - 1;
                    receiver.ends = receiver.ends.max(delivered);
                    receiver.waiting -= 1;
                    self.observer.received(observed, round);
                }
            }
            None => {
                let receiver = self.process(to);
                if receiver.recvs == 1 {
                    receiver.recv_from = from;
                } else {
                    self.offers.put_recv(from, to);
                }
            }
        }
        Ok(())
    }

    /// Whether the receiver waits for the sender; it does no longer.
    fn take_recv(&mut self, from: Rank, to: Rank) -> bool {
        let receiver = self.process(to);
        match receiver.recvs {
            1 if receiver.recv_from == from => {
                receiver.recv_from = NOBODY;
                true
            }
            0 | 1 => false,
            _ => self.offers.take_recv(from, to),
        }
    }

    /// The first message that the sender has for the receiver.
    fn take_send(&mut self, from: Rank, to: Rank) -> Option<Offer> {
        // Those under way are of earlier rounds than the one that waits.
        if self.order == Order::Time
            && let Some(offer) = self.offers.take_send(from, to)
        {
            return Some(offer);
        }
        let sender = self.process(from);
        match sender.sends {
            1 if sender.send_to == to => {
                sender.send_to = NOBODY;
                Some(Offer::Waiting(sender.send_bytes))
            }
            0 | 1 => None,
            _ => self.offers.take_send(from, to),
        }
    }

    /// Carries a message that nothing can be in the way of, and leaves others to the agenda.
    fn launch(
        &mut self,
        from: Rank,
        to: Rank,
        bytes: u64,
        is_eager: bool,
        early: Option<u32>,
    ) -> Result<(), Halt> {
        let receiver = self.process(to);
        let (arrived, recvs) = (receiver.began, receiver.recvs);
        let sender = self.process(from);
        let place = sender.issued;
        sender.issued += 1;
        let ready = match is_eager {
            true => sender.began,
            false => sender.began.max(arrived),
        };
        let is_free = sender.sends == 1 && recvs == 1;
        let transfer = Transfer {
            ready,
            bytes,
            from,
            to,
            place,
            early,
        };
        if self.order == Order::Dependency && is_free {
            self.carry(transfer, ready)
        } else {
            self.agenda.push(ready, Due::Ready(transfer));
            Ok(())
        }
    }

    /// Carries a message whose ports are free.
    fn carry(&mut self, transfer: Transfer, start: f64) -> Result<(), Halt> {
        let Transfer {
            ready,
            bytes,
            from,
            to,
            early,
            ..
        } = transfer;
        let tariff = self.prices.tariff(from, to);
        let (latency, overhead) = (tariff.alpha - tariff.overhead, tariff.overhead);
        // In this order, so that the result is what the closed forms say to the last bit or so.
        let gap = tariff.beta * bytes as f64;
        let (mut freed, mut delivered) = (start + (overhead + gap), start + (tariff.alpha + gap));
        if let Some(passed) = self.inject(&transfer, start + overhead)
            && passed > freed
        {
            freed = passed;
            delivered = passed + latency;
        }
        self.messages += 1;
        let sender = self.process(from);
        let from_round = sender.next - 1;
        sender.send_free = freed;
        self.ends(from, freed);
        let receiver = self.process(to);
        receiver.recv_free = freed;
        let is_awaited = match early {
            None => true,
            Some(number) => self.earlies.get_mut(number).is_claimed,
        };
        let to_round = is_awaited.then(|| self.process(to).next - 1);
        let observed = self.observer.message(Message {
            from,
            to,
            from_round,
            to_round,
            level: self.prices.level(from, to),
            bytes,
            ready,
            start,
            freed,
            delivered,
        })?;
        if is_awaited {
            self.ends(to, delivered);
        }
        match early {
            Some(number) if is_awaited => self.earlies.forget(number),
            Some(number) => {
                let early = self.earlies.get_mut(number);
                early.delivered = Some(delivered);
                early.observed = observed;
            }
            None => {}
        }
        Ok(())
    }

    /// When the last byte of a message has passed the shared ports of its nodes, if there are any
    /// on its way and the first is there at `first`.
    fn inject(&mut self, transfer: &Transfer, first: f64) -> Option<f64> {
        let Transfer {
            from, to, bytes, ..
        } = *transfer;
        let ([out, into], seconds) = self.prices.injection(from, to, bytes)?;
        let out = &mut self.nodes[out as usize].out;
        *out = out.max(first) + seconds;
        let out = *out;
        let into = &mut self.nodes[into as usize].into;
        *into = into.max(first) + seconds;
        Some(out.max(*into))
    }

    /// One of the transfers of a rank's round ends.
    fn ends(&mut self, rank: Rank, time: f64) {
        let process = self.process(rank);
        process.ends = process.ends.max(time);
        process.waiting -= 1;
        if process.waiting == 0 {
            self.runnable.push(rank);
        }
    }
}
