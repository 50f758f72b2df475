//! The engine that runs the programs of a schedule.
//!
//! A rank is started when the first other rank waits for it, and dropped when its program has ended. A rank whose round
//! has begun is suspended until its last transfer has ended. If a sender has one message to send in its round and the
//! receiver one to receive, both ports are free when both have arrived, because the transfers of earlier rounds have
//! ended. Such messages are carried at once, in any order of ranks: clocks are maxima and sums along dependencies, and
//! no two messages need the same port ([`Order::Dependency`]). All other messages wait in the agenda until no rank can
//! continue. Then the message that can start first starts: any that becomes ready later starts after it.
//!
//! Eager messages, and ports that the ranks of a node share, can delay messages of other rounds. Unless all messages that
//! need such a port come from one rank (`flows.rs`), all messages then go through the agenda ([`Order::Time`]).

use schedule::{Action, Buffer, Rank, Round, Schedule, Span};

use super::agenda::Agenda;
use super::carrying::Rail;
use super::course::Course;
use super::flows::Flows;
use super::offers::{Earlies, Offers};
use super::ports::{Due, Port, Queues, Transfer};
use super::prices::Prices;
use super::process::{Process, Processes};
use super::symmetry::Symmetry;
use super::trace::{Labour, Observer, Work};
use super::{GoOn, Simulation, SimulationError};

/// The messages that start before all others are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Those whose ports no other message can need.
    Dependency,
    /// None.
    Time,
}

/// The reason why the engine stopped early.
pub(super) enum Halt {
    /// Messages of different rounds may compete for a port, which [`Order::Dependency`] cannot decide.
    Competition,
    /// The schedule cannot be simulated.
    Error(SimulationError),
}

impl From<SimulationError> for Halt {
    fn from(error: SimulationError) -> Self {
        Self::Error(error)
    }
}

/// The number of actions, which take some milliseconds, after which a simulation asks whether to go on.
pub(super) const ACTIONS_UNASKED: usize = 1 << 14;

/// One end of a message: what a rank sends or receives in its round.
struct MessageEnd {
    is_sent: bool,
    partner: Rank,
    bytes: u64,
}

/// The running programs.
pub(super) struct Engine<'a, O> {
    pub(super) schedule: &'a Schedule,
    pub(super) prices: &'a Prices<'a>,
    course: &'a Course<'a>,
    pub(super) symmetry: Symmetry,
    pub(super) order: Order,
    pub(super) processes: Processes,
    /// The time at which each rank's program has ended.
    finished: Vec<f64>,
    /// The rails of all nodes, node by node.
    pub(super) rails: Vec<Rail>,
    /// Ranks that can continue or be started, the next one last.
    pub(super) runnable: Vec<Rank>,
    /// The first rank that has not been checked yet.
    uncalled: Rank,
    pub(super) agenda: Agenda<Due>,
    /// Messages that are ready and wait for a port.
    pub(super) queues: Queues,
    pub(super) fresh: Vec<Transfer>,
    /// Messages that wait for another port than the one that has become free.
    pub(super) blocked: Vec<(Transfer, Port)>,
    pub(super) offers: Offers,
    pub(super) earlies: Earlies,
    pub(super) flows: Flows,
    pub(super) messages: u64,
    /// Asked from time to time.
    go_on: GoOn<'a>,
    /// Actions since it was asked.
    unasked: usize,
    round: Round,
    /// A round whose receives may be posted ahead, after the one before it.
    pub(super) compared: [Round; 2],
    /// The messages of the round that is being begun.
    message_ends: Vec<MessageEnd>,
    pub(super) observer: O,
}

impl<'a, O: Observer> Engine<'a, O> {
    pub(super) fn new(
        schedule: &'a Schedule,
        prices: &'a Prices<'a>,
        course: &'a Course<'a>,
        symmetry: Symmetry,
        order: Order,
        (observer, go_on): (O, GoOn<'a>),
    ) -> Self {
        let ranks = symmetry.ranks;
        let rails = prices.nodes() as usize * prices.rails_per_node();
        Self {
            schedule,
            prices,
            course,
            symmetry,
            order,
            processes: Processes::new(symmetry),
            finished: vec![0.0; ranks as usize],
            rails: vec![Rail::default(); rails],
            runnable: Vec::new(),
            uncalled: 0,
            agenda: Agenda::new(),
            queues: Queues::default(),
            fresh: Vec::new(),
            blocked: Vec::new(),
            offers: Offers::default(),
            earlies: Earlies::default(),
            flows: Flows::new(prices),
            messages: 0,
            go_on,
            unasked: 0,
            round: Round::default(),
            compared: Default::default(),
            message_ends: Vec::new(),
            observer,
        }
    }

    pub(super) fn into_observer(self) -> O {
        self.observer
    }

    /// Runs all programs to their ends.
    pub(super) fn run_programs(&mut self) -> Result<Simulation, Halt> {
        let ranks = self.symmetry.ranks;
        let mut due = Vec::new();
        loop {
            while let Some(rank) = self.runnable.pop() {
                self.advance_rank(rank)?;
            }
            if self.uncalled < ranks {
                self.call_rank(self.uncalled);
                self.uncalled += 1;
                continue;
            }
            let Some(now) = self.agenda.take_next(&mut due) else {
                break;
            };
            self.ask_whether_to_go_on(due.len())?;
            self.grant_ports(now, &mut due)?;
        }
        let stuck = |rank: &Rank| {
            self.processes
                .find_running(*rank)
                .is_some_and(|p| p.waiting > 0)
        };
        if let Some(rank) = (0..ranks).find(stuck) {
            let round = self.processes.get(rank).next - 1;
            if self.order == Order::Dependency && self.flows.has_eager() {
                // A sender that does not wait for its receiver may go on.
                return Err(Halt::Competition);
            }
            return Err(SimulationError::Stuck { rank, round }.into());
        }
        let groups = self.symmetry.groups;
        Ok(Simulation {
            seconds: self.finished.iter().copied().fold(0.0, f64::max),
            finished: self.symmetry.repeat_values(&self.finished),
            messages: self.messages * u64::from(groups),
        })
    }

    /// Asks now and then whether to go on, after so many more actions.
    fn ask_whether_to_go_on(&mut self, actions: usize) -> Result<(), Halt> {
        self.unasked += actions;
        if self.unasked >= ACTIONS_UNASKED {
            self.unasked = 0;
            if !(self.go_on)() {
                return Err(SimulationError::Stopped.into());
            }
        }
        Ok(())
    }

    pub(super) fn process_mut(&mut self, rank: Rank) -> &mut Process {
        self.processes.get_mut(rank)
    }

    /// Schedules a rank to be started next, unless it has been called before.
    ///
    /// A rank is called by the first rank that exchanges something with it. So trees are traversed depth-first, and few
    /// ranks are running at any time.
    pub(super) fn call_rank(&mut self, rank: Rank) {
        let rank = self.processes.simulated_rank(rank);
        if self.processes.call_rank(rank) {
            self.runnable.push(rank);
        }
    }

    /// Begins rounds until one of them has to wait for other ranks.
    fn advance_rank(&mut self, rank: Rank) -> Result<(), Halt> {
        if self.processes.is_called(rank) {
            let actual = self.symmetry.rank_of(rank);
            let program = self.course.program_of_rank(self.schedule, actual);
            self.processes
                .start_rank(rank, program, self.course.start_of_rank(actual));
        }
        let mut round = std::mem::take(&mut self.round);
        loop {
            let process = self.process_mut(rank);
            if process.next == process.rounds {
                self.end_rank(rank);
                break;
            }
            round.clear();
            process.program.round(process.next, &mut round);
            self.ask_whether_to_go_on(1 + round.actions().len())?;
            if self.call_partners(rank, round.actions()) {
                break;
            }
            self.begin_round(rank, round.actions())?;
            self.post_messages(rank)?;
            let begun = self.process_mut(rank);
            begun.waiting -= 1;
            if begun.waiting > 0 {
                break;
            }
        }
        self.round = round;
        Ok(())
    }

    /// Schedules the ranks with which a rank is about to exchange something to start first, and the rank to continue
    /// after them; returns whether there were any.
    ///
    /// Their messages to and from this rank are then in the rank itself and need no search among the offers.
    fn call_partners(&mut self, rank: Rank, actions: &[Action]) -> bool {
        // The rank itself has room for one transfer in each direction.
        if actions.len() <= 2 || self.processes.are_all_called() {
            return false;
        }
        let before = self.runnable.len();
        self.runnable.push(rank);
        // The first partner ends on top.
        for action in actions.iter().rev() {
            if let Some(partner) = action_partner(action) {
                let partner = self.symmetry.number_of(partner);
                let (_, partner) = self.symmetry.simulated_ends(rank, partner);
                self.call_rank(partner);
            }
        }
        let called = self.runnable.len() > before + 1;
        if !called {
            self.runnable.pop();
        }
        called
    }

    /// Handles the end of a rank's program.
    fn end_rank(&mut self, rank: Rank) {
        let process = self.processes.get(rank);
        if let Some((round, end)) = process.last_round() {
            self.observer
                .round_ended(self.symmetry.rank_of(rank), round, end);
        }
        self.finished[rank as usize] = process.ends;
        // In order of time, eager messages may still need its ports.
        if self.order == Order::Dependency {
            self.processes.end_rank(rank);
        }
    }

    /// Begins a round: finds its messages and does its local work.
    fn begin_round(&mut self, rank: Rank, actions: &[Action]) -> Result<(), Halt> {
        let (mut sends, mut recvs, mut recv_bytes) = (0, 0, 0);
        let (mut combines, mut works, mut several) = (false, false, false);
        let mut first = None;
        let actual = self.symmetry.rank_of(rank);
        let process = self.processes.get_mut(rank);
        if let Some((round, end)) = process.last_round() {
            self.observer.round_ended(actual, round, end);
        }
        let is_first = match self.course.calls {
            ..2 => process.next == 0,
            calls => process
                .next
                .is_multiple_of(process.rounds / u64::from(calls)),
        };
        process.begin_round(is_first);
        let mut processor = process.began;
        for action in actions {
            let bytes_of = |span: &Span| self.prices.span_bytes(self.schedule, actual, span);
            // Without data there is no message.
            let nonempty = |span| Some(bytes_of(span)).filter(|bytes| *bytes > 0);
            let (is_sent, partner, length) = match action {
                Action::Send { to, span } => (true, *to, nonempty(span)),
                Action::Recv { from, span } => (false, *from, nonempty(span)),
                Action::Signal { to } => (true, *to, Some(0)),
                Action::Await { from } => (false, *from, Some(0)),
                Action::Combine { into, .. } => {
                    let bytes = bytes_of(into);
                    combines = true;
                    works |= bytes > 0;
                    let seconds = self.prices.combine_seconds(bytes)?;
                    processor = self.do_work(rank, Labour::Combine, bytes, processor, seconds)?;
                    continue;
                }
                Action::Copy { from, into } => {
                    let bytes = bytes_of(into);
                    let seconds = self.prices.copy_seconds(bytes);
                    if (seconds > 0.0 || !works)
                        && is_copied(self.schedule, actual, from, into, bytes)
                    {
                        works = true;
                        processor = self.do_work(rank, Labour::Copy, bytes, processor, seconds)?;
                    }
                    continue;
                }
            };
            several |= *first.get_or_insert(partner) != partner;
            let Some(bytes) = length else {
                continue;
            };
            if is_sent {
                sends += 1;
            } else {
                recvs += 1;
                recv_bytes += bytes;
            }
            self.message_ends.push(MessageEnd {
                is_sent,
                partner: self.symmetry.number_of(partner),
                bytes,
            });
        }
        let begun = self.process_mut(rank);
        begun.sends = sends;
        begun.recvs = recvs;
        begun.recv_bytes = recv_bytes;
        begun.has_several_partners = several;
        begun.makes_fresh = combines || recvs > 0;
        // One more, so that the round cannot end before all of it is posted.
        begun.waiting = sends + recvs + 1;
        begun.ends = processor;
        begun.moves = works || sends + recvs > 0;
        Ok(())
    }

    /// Does local work from `start` and returns its end. Work that takes no time is not observed.
    fn do_work(
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
        let round = self.process_mut(rank).next - 1;
        self.observer.work_ended(Work {
            rank,
            round,
            labour,
            bytes,
            start,
            end,
        })?;
        Ok(end)
    }

    /// Posts the messages of a round.
    fn post_messages(&mut self, rank: Rank) -> Result<(), Halt> {
        let mut ends = std::mem::take(&mut self.message_ends);
        let mut sent = 0;
        for MessageEnd {
            is_sent,
            partner,
            bytes,
        } in ends.drain(..)
        {
            if is_sent {
                self.post_send(rank, partner, bytes, sent)?;
                sent += 1;
            } else {
                self.post_receive(partner, rank)?;
            }
        }
        self.message_ends = ends;
        Ok(())
    }
}

/// Whether a copy moves data; it does not if source and destination are the same memory.
pub(super) fn is_copied(
    schedule: &Schedule,
    rank: Rank,
    from: &Span,
    into: &Span,
    bytes: u64,
) -> bool {
    if bytes == 0 || from == into {
        return false;
    }
    let buffers = [from.buffer, into.buffer];
    let is_scratch = |buffer: &Buffer| matches!(buffer, Buffer::Scratch(_));
    let in_place = schedule.shape().in_place && !buffers.iter().any(is_scratch);
    if buffers[0] != buffers[1] && !in_place {
        return true;
    }
    let layout = schedule.layout(rank);
    layout.locate(from) != layout.locate(into)
}

/// The other rank of a message; `None` for local work.
fn action_partner(action: &Action) -> Option<Rank> {
    match *action {
        Action::Send { to: partner, .. }
        | Action::Recv { from: partner, .. }
        | Action::Signal { to: partner }
        | Action::Await { from: partner } => Some(partner),
        Action::Combine { .. } | Action::Copy { .. } => None,
    }
}
