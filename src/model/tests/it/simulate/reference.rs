//! The simulator against one that is slow and obviously right: it goes from instant to instant and
//! looks at everything each time.

use std::collections::BTreeMap;

use model::{
    Link, Machine, Placement, Setting, Topology, simulate, simulate_from, simulate_repeated,
};
use proptest::prelude::*;
use schedule::{
    ALGORITHMS, Action, Parameter, Parameters, Placed, Program, Rank, Request, Round, Schedule,
};

/// A send and a receive that match; either may be absent so far.
#[derive(Default)]
struct Message {
    bytes: u64,
    place: usize,
    /// When the ends reached their rounds.
    sent: Option<f64>,
    awaited: Option<f64>,
    freed: Option<f64>,
    delivered: Option<f64>,
}

struct Process {
    program: Box<dyn Program>,
    next: u64,
    /// When the local work of the current round ends.
    worked: f64,
    /// The messages of the current round: sender, receiver, and number among the pair's.
    sends: Vec<(Rank, Rank, usize)>,
    recvs: Vec<(Rank, Rank, usize)>,
    send_free: f64,
    recv_free: f64,
    /// A number of rounds, and when they had ended.
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
    issued: usize,
    /// When each rail of a node's port is free for sending, or for receiving.
    nodes: BTreeMap<(u32, bool), Vec<f64>>,
}

impl Slow<'_> {
    fn link(&self, from: Rank, to: Rank) -> Link {
        let node = |rank| self.setting.topology.node(rank);
        let machine = self.setting.machine;
        let link = match node(from) == node(to) {
            true => machine.node.clone(),
            false => machine.network.clone(),
        };
        link.unwrap()
    }

    /// When the rank's current round ends, if that is known.
    fn end(&self, rank: Rank) -> Option<f64> {
        let process = &self.processes[rank as usize];
        let sends = process.sends.iter().map(|key| self.messages[key].freed);
        let recvs = process.recvs.iter().map(|key| self.messages[key].delivered);
        sends
            .chain(recvs)
            .try_fold(process.worked, |end, ends| Some(end.max(ends?)))
    }

    /// Begins the next round if the current one has ended by `now`.
    fn go_on(&mut self, rank: Rank, now: f64) -> bool {
        let Some(began) = self.end(rank).filter(|end| *end <= now) else {
            return false;
        };
        let process = &mut self.processes[rank as usize];
        if process.next == process.mark.0 {
            process.mark.1 = began;
        }
        if process.next == process.program.rounds() {
            return false;
        }
        let mut round = Round::default();
        process.program.round(process.next, &mut round);
        process.next += 1;
        process.worked = began;
        process.sends.clear();
        process.recvs.clear();
        let layout = self.schedule.layout(rank);
        let bytes = |span| layout.locate(span).unwrap().units() * self.setting.unit_bytes;
        for action in round.actions() {
            match action {
                Action::Send { to, span } if bytes(span) > 0 => {
                    self.post(rank, *to, 0, bytes(span), began);
                }
                Action::Recv { from, span } if bytes(span) > 0 => {
                    self.post(*from, rank, 1, bytes(span), began);
                }
                Action::Send { .. } | Action::Recv { .. } => {}
                Action::Signal { to } => self.post(rank, *to, 0, 0, began),
                Action::Await { from } => self.post(*from, rank, 1, 0, began),
                Action::Combine { into, .. } => {
                    let seconds = self.setting.machine.gamma.unwrap() * bytes(into) as f64;
                    self.processes[rank as usize].worked += seconds;
                }
                Action::Copy { from, into } => {
                    if layout.locate(from) != layout.locate(into) {
                        let seconds = self.setting.machine.copy.unwrap() * bytes(into) as f64;
                        self.processes[rank as usize].worked += seconds;
                    }
                }
            }
        }
        true
    }

    fn post(&mut self, from: Rank, to: Rank, side: usize, bytes: u64, began: f64) {
        let posted = &mut self.posted.entry((from, to)).or_default()[side];
        let key = (from, to, *posted);
        *posted += 1;
        self.issued += 1;
        let message = self.messages.entry(key).or_default();
        if side == 0 {
            *message = Message {
                bytes,
                place: self.issued,
                sent: Some(began),
                awaited: message.awaited,
                ..Message::default()
            };
            self.processes[from as usize].sends.push(key);
        } else {
            message.awaited = Some(began);
            self.processes[to as usize].recvs.push(key);
        }
    }

    /// What is ready by `now`, has not started, and finds both ports free: the first of it.
    fn first(&self, now: f64) -> Option<(Rank, Rank, usize)> {
        let ready = |(key, message): (&(Rank, Rank, usize), &Message)| {
            let (from, to, _) = *key;
            let sent = message.sent.filter(|_| message.freed.is_none())?;
            let is_eager = self
                .link(from, to)
                .eager_limit
                .is_some_and(|l| message.bytes <= l);
            let ready = match is_eager {
                true => sent,
                false => sent.max(message.awaited?),
            };
            let free = self.processes[from as usize].send_free <= now
                && self.processes[to as usize].recv_free <= now;
            (ready <= now && free).then_some((ready, from, to, message.place, *key))
        };
        let all = self.messages.iter().filter_map(ready);
        let first = all.min_by(|a, b| a.partial_cmp(b).unwrap());
        first.map(|(.., key)| key)
    }

    fn start(&mut self, key: (Rank, Rank, usize), now: f64) {
        let (from, to, _) = key;
        let link = self.link(from, to);
        let bytes = self.messages[&key].bytes as f64;
        let overhead = link.overhead.unwrap_or(link.alpha);
        let mut freed = now + (overhead + link.beta * bytes);
        let mut delivered = now + (link.alpha + link.beta * bytes);
        let [out, into] = [from, to].map(|rank| self.setting.topology.node(rank));
        let machine = self.setting.machine;
        let is_shared = machine.injection_beta.is_some() || machine.injection_gap.is_some();
        if is_shared && out != into {
            let beta = machine.injection_beta.unwrap_or(0.0);
            for port in [(out, false), (into, true)] {
                let rails = vec![0.0; machine.rails.unwrap_or(1) as usize];
                let free = self.nodes.entry(port).or_insert(rails);
                free.sort_by(f64::total_cmp);
                let passed = free[0].max(now + overhead) + beta * bytes;
                free[0] = passed + machine.injection_gap.unwrap_or(0.0);
                if passed > freed {
                    freed = passed;
                    delivered = passed + (link.alpha - overhead);
                }
            }
        }
        self.processes[from as usize].send_free = freed;
        self.processes[to as usize].recv_free = freed;
        let message = self.messages.get_mut(&key).unwrap();
        message.freed = Some(freed);
        message.delivered = Some(delivered);
    }

    /// When each rank has ended, and when it had its mark.
    fn run(mut self) -> Vec<(f64, f64)> {
        let ranks = self.processes.len() as Rank;
        let mut now = 0.0;
        loop {
            while (0..ranks).any(|rank| self.go_on(rank, now)) {}
            if let Some(key) = self.first(now) {
                self.start(key, now);
                continue;
            }
            let ends = (0..ranks).filter_map(|rank| self.end(rank));
            let ports = self
                .processes
                .iter()
                .flat_map(|p| [p.send_free, p.recv_free]);
            let later = ends.chain(ports).filter(|time| *time > now);
            match later.min_by(f64::total_cmp) {
                Some(next) => now = next,
                None => break,
            }
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
        (0..ranks).map(finished).collect()
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
    let process = |rank| Process {
        mark: (u64::from(before) * schedule.program(rank).rounds(), 0.0),
        program: Box::new(Again(schedule.program(rank), before + timed)),
        next: 0,
        worked: starts[rank as usize],
        sends: Vec::new(),
        recvs: Vec::new(),
        send_free: 0.0,
        recv_free: 0.0,
    };
    let slow = Slow {
        schedule,
        setting,
        processes: (0..schedule.shape().ranks).map(process).collect(),
        messages: BTreeMap::new(),
        posted: BTreeMap::new(),
        issued: 0,
        nodes: BTreeMap::new(),
    };
    slow.run()
}

/// Few different values, so that much is ready at the same time.
fn links() -> impl Strategy<Value = Link> {
    let eager = prop_oneof![Just(None), (0u64..200).prop_map(Some)];
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
    (links(), links(), injection, 0u32..3, 0u32..3).prop_map(
        |(network, node, (injection_beta, injection_gap, rails), gamma, copy)| Machine {
            name: "any".to_owned(),
            ranks_per_node: 1,
            network: Some(network),
            node: Some(node),
            shared: None,
            injection_beta,
            injection_gap,
            rails: (injection_beta.or(injection_gap).is_some()).then_some(rails),
            gamma: Some(f64::from(gamma) / 32.0),
            copy: Some(f64::from(copy) / 64.0),
            combining: Vec::new(),
            copying: Vec::new(),
            cache: None,
            noise: None,
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
            let parameters = match algorithm.takes(Parameter::Blocks) {
                true => Parameters::blocks(blocks),
                false => Parameters::default(),
            };
            let request = Request {
                root: root % ranks,
                units,
                in_place,
                parameters,
                placed: Placed::Cyclic { nodes: blocks },
                ..Request::ranks(ranks)
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
        placement in prop::sample::select(&Placement::ALL[..]),
        starts in prop::collection::vec(0u32..20, 14),
        calls in [0u32..3, 1u32..4],
    ) {
        let ranks = schedule.shape().ranks;
        let setting = Setting {
            machine: &machine,
            topology: Topology::of_ranks(ranks, ranks_per_node, placement),
            unit_bytes: 4,
        };
        let is_close = |found: f64, expected: f64| (found - expected).abs() <= 1e-12 * expected;
        let check = |starts: &[f64], found: Vec<f64>| {
            let expected = slowly(&schedule, &setting, starts, [0, 1]);
            for (rank, (found, (expected, _))) in found.iter().zip(&expected).enumerate() {
                prop_assert!(
                    is_close(*found, *expected),
                    "{:?} {:?} {:?}: rank {} ends at {}, not at {}",
                    schedule, setting, starts, rank, found, expected
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
