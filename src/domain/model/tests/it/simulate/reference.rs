//! The simulator compared with a slow and obviously correct one, which goes from instant to instant and examines
//! everything each time.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Link, Machine, PostAhead, Setting, Topology, simulate, simulate_from, simulate_repeated,
};
use proptest::prelude::*;
use schedule::{
    ALGORITHMS, Action, Buffer, Parameter, Parameters, Placed, Program, Rank, Request, Round,
    Schedule, Span,
};
use vocabulary::Placement;

/// A send and a receive that match; either may be absent so far.
#[derive(Default)]
struct Message {
    bytes: u64,
    /// Its place among the messages that the sender sends in its round.
    place: usize,
    /// Its sender's round.
    round: u64,
    /// The times at which the ends reached their rounds, and at which the receive was posted.
    sent: Option<f64>,
    awaited: Option<f64>,
    posted: Option<f64>,
    /// Whether it is the only message of its sender's round, and of its receiver's.
    is_only: [bool; 2],
    freed: Option<f64>,
    delivered: Option<f64>,
}

struct Process {
    program: Box<dyn Program>,
    next: u64,
    /// The time at which the local work of the current round ends.
    worked: f64,
    /// Rounds of a call.
    call: u64,
    /// The time at which each round began.
    began: Vec<f64>,
    /// The messages of the current round: sender, receiver, and number among the pair's.
    sends: Vec<(Rank, Rank, usize)>,
    recvs: Vec<(Rank, Rank, usize)>,
    send_free: f64,
    recv_free: f64,
    /// A number of rounds, and the time at which they had ended.
    mark: (u64, f64),
}

/// A program that is carried out several times.
struct Again(Box<dyn Program>, u32);

impl Program for Again {
    fn rounds(&self) -> u64 {
        u64::from(self.1) * self.0.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        self.0.round(index % self.0.rounds(), round);
    }
}

struct Slow<'a> {
    schedule: &'a Schedule,
    setting: &'a Setting<'a>,
    processes: Vec<Process>,
    messages: BTreeMap<(Rank, Rank, usize), Message>,
    /// Sends and receives posted by each pair.
    posted: BTreeMap<(Rank, Rank), [usize; 2]>,
    /// The time at which each rail of a node's port is free for sending, or for receiving.
    nodes: BTreeMap<(u32, bool), Vec<f64>>,
    /// Whether messages that are the only ones of their rounds meet no others: then they start as soon as
    /// their ends are known.
    is_apart: bool,
}

impl Slow<'_> {
    fn link(&self, from: Rank, to: Rank) -> Link {
        let node = |rank| self.setting.topology.node_of_rank(rank);
        let machine = self.setting.machine;
        let link = if node(from) == node(to) {
            machine.node.clone()
        } else {
            machine.network.clone()
        };
        link.unwrap()
    }

    /// The index of a rank on its node; 0 if all are on one.
    fn place(&self, rank: Rank) -> u32 {
        let topology = self.setting.topology;
        let ranks = 0..self.processes.len() as Rank;
        if ranks
            .clone()
            .all(|other| topology.node_of_rank(other) == topology.node_of_rank(0))
            && ranks.len() > 1
        {
            0
        } else {
            topology.place_on_node(rank)
        }
    }

    /// The time at which the rank's current round ends, if known.
    fn end(&self, rank: Rank) -> Option<f64> {
        let process = &self.processes[rank as usize];
        let sends = process.sends.iter().map(|key| self.messages[key].freed);
        let recvs = process.recvs.iter().map(|key| self.messages[key].delivered);
        sends
            .chain(recvs)
            .try_fold(process.worked, |end, ends| Some(end.max(ends?)))
    }

    /// Begins the next round if the end of the current one is known.
    fn go_on(&mut self, rank: Rank) -> bool {
        let Some(began) = self.end(rank) else {
            return false;
        };
        let process = &mut self.processes[rank as usize];
        if process.next == process.mark.0 {
            process.mark.1 = began;
        }
        if process.next == process.program.rounds() {
            return false;
        }
        let this = process.next;
        process.next += 1;
        process.began.push(began);
        process.worked = began;
        process.sends.clear();
        process.recvs.clear();
        let posted = self.posted(rank, this);
        for action in self.moves(rank, this) {
            match action {
                Action::Send { to, span } => {
                    let bytes = self.bytes(rank, &span);
                    self.post(rank, to, 0, bytes, began);
                }
                Action::Recv { from, .. } | Action::Await { from } => {
                    self.post(from, rank, 1, 0, began);
                    let key = *self.processes[rank as usize].recvs.last().unwrap();
                    self.messages.get_mut(&key).unwrap().posted = Some(posted);
                }
                Action::Signal { to } => self.post(rank, to, 0, 0, began),
                Action::Combine { into, .. } => {
                    let gamma = self.setting.machine.gamma.unwrap();
                    let seconds = gamma * self.bytes(rank, &into) as f64;
                    self.processes[rank as usize].worked += seconds;
                }
                Action::Copy { into, .. } => {
                    let copy = self.setting.machine.copy.unwrap();
                    let seconds = copy * self.bytes(rank, &into) as f64;
                    self.processes[rank as usize].worked += seconds;
                }
            }
        }
        let Process { sends, recvs, .. } = &self.processes[rank as usize];
        for (side, keys) in [sends, recvs].into_iter().enumerate() {
            for key in keys {
                self.messages.get_mut(key).unwrap().is_only[side] = keys.len() == 1;
            }
        }
        true
    }

    fn bytes(&self, rank: Rank, span: &Span) -> u64 {
        let place = self.schedule.layout(rank).locate(span).unwrap();
        place.units() * self.setting.unit_bytes
    }

    /// The actions of a round, except those that move nothing.
    fn moves(&self, rank: Rank, index: u64) -> Vec<Action> {
        let mut round = Round::default();
        self.processes[rank as usize]
            .program
            .round(index, &mut round);
        let layout = self.schedule.layout(rank);
        let moves = |action: &&Action| match action {
            Action::Send { span, .. } | Action::Recv { span, .. } => self.bytes(rank, span) > 0,
            Action::Signal { .. } | Action::Await { .. } => true,
            Action::Combine { into, .. } => self.bytes(rank, into) > 0,
            Action::Copy { from, into } => {
                self.bytes(rank, into) > 0 && layout.locate(from) != layout.locate(into)
            }
        };
        round.actions().iter().filter(moves).copied().collect()
    }

    /// The time at which the receives of a beginning round are posted. They are posted with the last earlier round of
    /// the call that moves anything, if those that may be posted ahead have 8 KiB together and share no unit of memory
    /// with that round.
    fn posted(&self, rank: Rank, this: u64) -> f64 {
        let process = &self.processes[rank as usize];
        let began = process.began[this as usize];
        let first = this / process.call * process.call;
        let moving = |index: &u64| !self.moves(rank, *index).is_empty();
        let before = (first..this).rev().find(moving);
        let Some(before) = before.filter(|_| self.setting.machine.post_ahead == PostAhead::All)
        else {
            return began;
        };
        let units = |span: &Span| -> Vec<(Buffer, u64)> {
            let place = self.schedule.layout(rank).locate(span).unwrap();
            let units = place.pieces().flatten();
            units.map(|unit| (place.memory, unit)).collect()
        };
        let mut used = BTreeSet::new();
        for action in self.moves(rank, before) {
            let spans = match action {
                Action::Send { span, .. } | Action::Recv { span, .. } => vec![span],
                Action::Signal { .. } | Action::Await { .. } => vec![],
                Action::Combine { left, right, into } => vec![left, right, into],
                Action::Copy { from, into } => vec![from, into],
            };
            used.extend(spans.iter().flat_map(units));
        }
        let mut arriving = BTreeSet::new();
        for action in self.moves(rank, this) {
            if let Action::Recv { span, .. } = action {
                arriving.extend(units(&span));
            }
        }
        let bytes = arriving.len() as u64 * self.setting.unit_bytes;
        if bytes >= 8192 && used.is_disjoint(&arriving) {
            process.began[before as usize]
        } else {
            began
        }
    }

    fn post(&mut self, from: Rank, to: Rank, side: usize, bytes: u64, began: f64) {
        let posted = &mut self.posted.entry((from, to)).or_default()[side];
        let key = (from, to, *posted);
        *posted += 1;
        let message = self.messages.entry(key).or_default();
        if side == 0 {
            *message = Message {
                bytes,
                place: self.processes[from as usize].sends.len(),
                round: self.processes[from as usize].next,
                sent: Some(began),
                awaited: message.awaited,
                posted: message.posted,
                is_only: [false, message.is_only[1]],
                ..Message::default()
            };
            self.processes[from as usize].sends.push(key);
        } else {
            message.awaited = Some(began);
            self.processes[to as usize].recvs.push(key);
        }
    }

    fn is_eager(&self, from: Rank, to: Rank, bytes: u64) -> bool {
        let limit = self.link(from, to).eager_limit;
        limit.is_some_and(|limit| bytes <= limit)
    }

    /// Starts the first message that has met by `now`, has not started, and finds both ports free; without a time, the
    /// first message that nothing can delay. Returns whether there was one.
    fn start_first(&mut self, now: Option<f64>) -> bool {
        let first = self.first(now);
        first.map(|key| self.start(key)).is_some()
    }

    fn first(&self, now: Option<f64>) -> Option<(Rank, Rank, usize)> {
        let ready = |(key, message): (&(Rank, Rank, usize), &Message)| {
            let (from, to, _) = *key;
            let sent = message.sent.filter(|_| message.freed.is_none())?;
            let ready = if self.is_eager(from, to, message.bytes) {
                sent
            } else {
                sent.max(message.awaited?)
            };
            let free = self.processes[from as usize]
                .send_free
                .max(self.processes[to as usize].recv_free);
            let can_start = match now {
                Some(now) => ready.max(free) <= now,
                None => self.is_apart && message.is_only == [true; 2],
            };
            let turn = (self.place(from), message.round);
            can_start.then_some((ready, turn, message.place, from, to, *key))
        };
        let all = self.messages.iter().filter_map(ready);
        let first = all.min_by(|a, b| a.partial_cmp(b).unwrap());
        first.map(|(.., key)| key)
    }

    fn start(&mut self, key: (Rank, Rank, usize)) {
        let (from, to, _) = key;
        let link = self.link(from, to);
        let message = &self.messages[&key];
        let is_eager = self.is_eager(from, to, message.bytes);
        let free = self.processes[from as usize]
            .send_free
            .max(self.processes[to as usize].recv_free);
        let posted = message.posted.filter(|_| !is_eager);
        let start = free
            .max(message.sent.unwrap())
            .max(posted.unwrap_or_default());
        let bytes = message.bytes as f64;
        let overhead = link.overhead.unwrap_or(link.alpha);
        let mut freed = start + (overhead + link.beta * bytes);
        let mut delivered = start + (link.alpha + link.beta * bytes);
        let [out, into] = [from, to].map(|rank| self.setting.topology.node_of_rank(rank));
        let machine = self.setting.machine;
        let is_shared = machine.injection_beta.is_some() || machine.injection_gap.is_some();
        if is_shared && out != into {
            let beta = machine.injection_beta.unwrap_or(0.0);
            for port in [(out, false), (into, true)] {
                let rails = vec![0.0; machine.rails.unwrap_or(1) as usize];
                let rail_times = self.nodes.entry(port).or_insert(rails);
                rail_times.sort_by(f64::total_cmp);
                let passed = rail_times[0].max(start + overhead) + beta * bytes;
                rail_times[0] = passed + machine.injection_gap.unwrap_or(0.0);
                if passed > freed {
                    freed = passed;
                    delivered = passed + (link.alpha - overhead);
                }
            }
        }
        self.processes[from as usize].send_free = freed;
        self.processes[to as usize].recv_free = freed;
        let started = self.messages.get_mut(&key).unwrap();
        started.freed = Some(freed);
        started.delivered = Some(delivered);
    }

    /// When each rank has ended, and when it had its mark; none if messages were taken to be apart, and an eager
    /// one is among them.
    ///
    /// Ranks go on when all that has met by an instant has started: what they post then comes after it.
    fn run(mut self) -> Option<Vec<(f64, f64)>> {
        let ranks = self.processes.len() as Rank;
        let mut now = 0.0;
        loop {
            while (0..ranks).any(|rank| self.go_on(rank)) || self.start_first(None) {}
            if self.start_first(Some(now)) {
                while self.start_first(Some(now)) {}
                continue;
            }
            let began = self
                .processes
                .iter()
                .filter_map(|p| p.began.last().copied());
            let ports = self
                .processes
                .iter()
                .flat_map(|p| [p.send_free, p.recv_free]);
            let later = began.chain(ports).filter(|time| *time > now);
            match later.min_by(f64::total_cmp) {
                Some(next) => now = next,
                None => break,
            }
        }
        let mut sent = self.messages.iter().filter(|(_, m)| m.sent.is_some());
        if self.is_apart && sent.any(|((from, to, _), m)| self.is_eager(*from, *to, m.bytes)) {
            return None;
        }
        let finished = |rank| {
            let process = &self.processes[rank as usize];
            assert_eq!(
                process.next,
                process.program.rounds(),
                "rank {rank} is stuck"
            );
            (self.end(rank).unwrap(), process.mark.1)
        };
        Some((0..ranks).map(finished).collect())
    }
}

/// When each rank has ended `before + timed` calls, having begun at its time, and when it had ended the
/// first `before`.
fn slowly(
    schedule: &Schedule,
    setting: &Setting<'_>,
    starts: &[f64],
    [before, timed]: [u32; 2],
) -> Vec<(f64, f64)> {
    let ranks = schedule.shape().ranks;
    let node = |rank| setting.topology.node_of_rank(rank);
    let shares = (setting.machine.injection_beta.is_some()
        || setting.machine.injection_gap.is_some())
        && (0..ranks).any(|r| node(r) != node(0));
    let process = |rank| Process {
        mark: (u64::from(before) * schedule.program(rank).rounds(), 0.0),
        program: Box::new(Again(schedule.program(rank), before + timed)),
        next: 0,
        worked: starts[rank as usize],
        call: schedule.program(rank).rounds().max(1),
        began: Vec::new(),
        sends: Vec::new(),
        recvs: Vec::new(),
        send_free: 0.0,
        recv_free: 0.0,
    };
    let slow = |is_apart| Slow {
        schedule,
        setting,
        processes: (0..ranks).map(process).collect(),
        messages: BTreeMap::new(),
        posted: BTreeMap::new(),
        nodes: BTreeMap::new(),
        is_apart,
    };
    let apart = Some(slow(true)).filter(|_| !shares);
    apart
        .and_then(Slow::run)
        .unwrap_or_else(|| slow(false).run().unwrap())
}

/// Few different values, so that many messages are ready at the same time.
fn links() -> impl Strategy<Value = Link> {
    let eager = prop_oneof![
        Just(None),
        (0u64..200).prop_map(Some),
        (0u64..40_000).prop_map(Some)
    ];
    (1u32..4, 0u32..3, 0u32..3, eager).prop_map(|(alpha, less, beta, eager_limit)| {
        let alpha = f64::from(alpha);
        Link {
            alpha,
            overhead: Some(alpha / f64::from(1 << less)),
            beta: f64::from(beta) / 64.0,
            eager_limit,
            ..Link::default()
        }
    })
}

fn machines() -> impl Strategy<Value = Machine> {
    let part = |of| {
        prop_oneof![
            Just(None),
            (1u32..4).prop_map(move |b| Some(f64::from(b) / of))
        ]
    };
    let injection = (part(128.0), part(2.0), 1u32..4);
    let post_ahead = prop_oneof![Just(PostAhead::None), Just(PostAhead::All)];
    (links(), links(), injection, 0u32..3, 0u32..3, post_ahead).prop_map(
        |(network, node, (injection_beta, injection_gap, rails), gamma, copy, post_ahead)| {
            Machine {
                name: "any".to_owned(),
                ranks_per_node: 1,
                network: Some(network),
                node: Some(node),
                shared: None,
                injection_beta,
                injection_gap,
                rails: (injection_beta.or(injection_gap).is_some()).then_some(rails),
                post_ahead,
                gamma: Some(f64::from(gamma) / 32.0),
                copy: Some(f64::from(copy) / 64.0),
                combining: Vec::new(),
                copying: Vec::new(),
                cache: None,
                noise: None,
            }
        },
    )
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let any = (
        0..ALGORITHMS.len(),
        1u32..14,
        0u32..14,
        0u64..60,
        1u32..9,
        any::<bool>(),
    );
    any.prop_filter_map(
        "supported",
        |(algorithm, ranks, root, units, blocks, in_place)| {
            let algorithm = &ALGORITHMS[algorithm];
            let parameters = if algorithm.takes(Parameter::Blocks) {
                Parameters::with_blocks(blocks)
            } else {
                Parameters::default()
            };
            let request = Request {
                root: root % ranks,
                units,
                in_place,
                parameters,
                placed: Placed::Cyclic { nodes: blocks },
                ..Request::among_ranks(ranks)
            };
            Schedule::new(algorithm, &request).ok()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_slow_simulator_agrees(
        schedule in schedules(),
        machine in machines(),
        ranks_per_node in 1u32..5,
        // Receives are posted ahead from 8 KiB on.
        unit_bytes in prop::sample::select(&[4, 512, 4096][..]),
        placement in prop::sample::select(&Placement::ALL[..]),
        starts in prop::collection::vec(0u32..20, 14),
        calls in [0u32..3, 1u32..4],
    ) {
        let ranks = schedule.shape().ranks;
        let setting = Setting {
            machine: &machine,
            topology: Topology::of_ranks(ranks, ranks_per_node, placement),
            unit_bytes,
        };
        let is_close = |found: f64, expected: f64| (found - expected).abs() <= 1e-12 * expected;
        let check = |given: &[f64], finished: Vec<f64>| {
            let expected_ends = slowly(&schedule, &setting, given, [0, 1]);
            for (rank, (found, (expected, _))) in finished.iter().zip(&expected_ends).enumerate() {
                prop_assert!(
                    is_close(*found, *expected),
                    "{:?} {:?} {:?}: rank {} ends at {}, not at {}",
                    schedule, setting, given, rank, found, expected
                );
            }
            Ok(())
        };
        let (together, starts) = ([0.0; 14], starts.into_iter().map(f64::from));
        let starts: Vec<f64> = starts.collect();
        check(&together, simulate(&schedule, &setting).unwrap().finished)?;
        check(&starts, simulate_from(&schedule, &setting, &starts).unwrap().finished)?;

        let [before, timed] = calls;
        let found = simulate_repeated(&schedule, &setting, before, timed).unwrap();
        let ends = slowly(&schedule, &setting, &together, calls).into_iter();
        let slowest = ends.map(|(end, mark)| end - mark).fold(0.0, f64::max);
        let expected = slowest / f64::from(timed);
        prop_assert!(
            (found - expected).abs() <= 1e-9 * expected,
            "{:?} {:?} {:?}: {} a call, not {}",
            schedule, setting, calls, found, expected
        );
    }
}
