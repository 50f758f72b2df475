//! A second interpreter of schedules, independent of the verifier: it checks nothing, and carries out in any order the
//! actions that a round or MPI leaves unordered.

use std::collections::{BTreeMap, HashMap, VecDeque};

use schedule::{
    Action, Buffer, Collective, Held, Layout, Partition, Place, Program, Rank, Round, Schedule,
    Span,
};

use crate::memory::{given_units, results};
use crate::random::Random;

/// The time at which a message's data leaves the sender's memory and reaches the receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    /// It is copied when the send is posted, and delivered before other work is done.
    Early,
    /// It is read when nothing else can proceed.
    Late,
    /// At any time.
    Random,
}

/// Combinations of contributions. Joining is associative; it commutes only if all weights are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    /// The letters as a number in base `BASE`, modulo 2^64.
    hash: u64,
    /// `BASE` to the power of the number of letters.
    weight: u64,
}

impl Word {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

    fn letter(random: &mut Random, ordered: bool) -> Self {
        Self {
            hash: random.next(),
            weight: if ordered { Self::BASE } else { 1 },
        }
    }

    fn join(self, right: Self) -> Self {
        Self {
            hash: self
                .hash
                .wrapping_mul(right.weight)
                .wrapping_add(right.hash),
            weight: self.weight.wrapping_mul(right.weight),
        }
    }
}

type Memory = HashMap<Buffer, Vec<Option<Word>>>;

struct Process {
    program: Box<dyn Program>,
    layout: Layout,
    memory: Memory,
    next: u64,
    /// Actions of the current round that have not ended.
    open: usize,
}

/// A send that has been posted.
enum Leaving {
    /// Its data is still in the sender's memory; an empty message has no place there.
    Posted(Option<Place>),
    /// The sender has gone on.
    Copied(Vec<Option<Word>>),
}

#[derive(Default)]
struct Pair {
    sends: VecDeque<Leaving>,
    recvs: VecDeque<Option<Place>>,
}

struct Interpreter {
    processes: Vec<Process>,
    pairs: BTreeMap<(Rank, Rank), Pair>,
    /// Combinations and copies of the current rounds.
    local: Vec<(Rank, Action)>,
    delivery: Delivery,
    random: Random,
}

/// Whether programs give the collective's result in every order that a round or MPI leaves open.
pub(crate) fn is_right(schedule: &Schedule, programs: &dyn Fn(Rank) -> Box<dyn Program>) -> bool {
    let ranks = schedule.shape().ranks;
    let mut random = Random::named("letters");
    let mut vector = |rank| -> Vec<_> {
        let letters = (0..given_units(schedule, rank))
            .map(|_| Word::letter(&mut random, schedule.is_ordered()));
        letters.collect()
    };
    let given: Vec<_> = (0..ranks).map(&mut vector).collect();
    let expected = results(schedule, &given, |left, right| left.join(*right));
    if !schedule.algorithm().collective.has_data() && !holds_back(schedule, programs) {
        return false;
    }
    let orders = [
        Delivery::Early,
        Delivery::Late,
        Delivery::Random,
        Delivery::Random,
    ];
    orders.into_iter().enumerate().all(|(turn, delivery)| {
        let of_turn = Random::named(&format!("order {turn}"));
        outputs(schedule, programs, &given, delivery, of_turn).as_ref() == Some(&expected)
    })
}

/// Whether no rank ends as long as another one has not begun, whichever it is, although no send waits for its receive.
fn holds_back(schedule: &Schedule, programs: &dyn Fn(Rank) -> Box<dyn Program>) -> bool {
    let ranks = schedule.shape().ranks;
    (0..ranks).all(|absent| {
        let processes = (0..ranks).map(|rank| Process {
            program: programs(rank),
            layout: schedule.layout(rank),
            memory: Memory::new(),
            next: 0,
            open: 0,
        });
        let mut interpreter = Interpreter {
            processes: processes.collect(),
            pairs: BTreeMap::new(),
            local: Vec::new(),
            delivery: Delivery::Early,
            random: Random::named("absent"),
        };
        let others = (0..ranks).filter(|rank| *rank != absent);
        let begun: Option<()> = others
            .clone()
            .try_for_each(|rank| interpreter.begin_rounds(rank));
        if begun.is_none() {
            return false;
        }
        interpreter.carry_on();
        let has_ended = |rank: Rank| {
            let process = &interpreter.processes[rank as usize];
            process.open == 0 && process.next == process.program.rounds()
        };
        !others.clone().any(has_ended)
    })
}

/// The part of the vector that a buffer of a rank holds, or all of it.
fn piece(buffer: Buffer, is_part: bool, schedule: &Schedule, rank: Rank) -> Span {
    if is_part {
        Span::block(
            buffer,
            Partition::parts(schedule.shape().ranks),
            rank.into(),
        )
    } else {
        Span::whole(buffer)
    }
}

fn indices(place: &Place) -> impl Iterator<Item = usize> {
    place
        .pieces()
        .flat_map(|range| range.start as usize..range.end as usize)
}

/// The outputs of all ranks; `None` if the programs do not end, access other memory than their own, or change an input.
fn outputs(
    schedule: &Schedule,
    programs: &dyn Fn(Rank) -> Box<dyn Program>,
    given: &[Vec<Word>],
    delivery: Delivery,
    random: Random,
) -> Option<Vec<Option<Vec<Word>>>> {
    let collective = schedule.algorithm().collective;
    let gives_part = matches!(
        collective,
        Collective::Gather | Collective::Gatherv | Collective::Allgather | Collective::Allgatherv
    );
    let gets_part = matches!(
        collective,
        Collective::Scatter
            | Collective::Scatterv
            | Collective::ReduceScatter
            | Collective::ReduceScatterBlock
    );
    let start = |rank: Rank| {
        let layout = schedule.layout(rank);
        let scratch = (0..layout.scratch_rooms().len()).map(|index| Buffer::Scratch(index as u8));
        let buffers = scratch.chain([Buffer::Input, Buffer::Output]);
        let mut memory: Memory = buffers
            .map(|buffer| (buffer, vec![None; layout.capacity(buffer) as usize]))
            .collect();
        let (buffer, held) = collective.precondition(schedule.shape(), rank);
        if held != Held::Undefined {
            let place = layout.locate(&piece(buffer, gives_part, schedule, rank))?;
            for (index, value) in indices(&place).zip(&given[rank as usize]) {
                memory.get_mut(&place.memory)?[index] = Some(*value);
            }
        }
        Some(Process {
            program: programs(rank),
            layout,
            memory,
            next: 0,
            open: 0,
        })
    };
    let ranks = schedule.shape().ranks;
    let processes: Vec<_> = (0..ranks).map(start).collect::<Option<_>>()?;
    let inputs = |all: &[Process]| -> Vec<_> {
        let inputs = all
            .iter()
            .map(|process| process.memory[&Buffer::Input].clone());
        inputs.collect()
    };
    let before = inputs(&processes);
    let mut interpreter = Interpreter {
        processes,
        pairs: BTreeMap::new(),
        local: Vec::new(),
        delivery,
        random,
    };
    interpreter.run()?;
    // In a scatter in place the root's result stays in its input.
    if before != inputs(&interpreter.processes) {
        return None;
    }
    (0..ranks)
        .map(
            |rank| match collective.postcondition(schedule.shape(), rank) {
                Held::Undefined => Some(None),
                Held::Ranks(..) | Held::Parts | Held::PartsForRank => {
                    let process = &interpreter.processes[rank as usize];
                    let span = piece(Buffer::Output, gets_part, schedule, rank);
                    let place = process.layout.locate(&span)?;
                    let memory = &process.memory[&place.memory];
                    let values: Option<Vec<Word>> = indices(&place).map(|i| memory[i]).collect();
                    values.map(Some)
                }
            },
        )
        .collect()
}

impl Interpreter {
    /// Runs all programs; `None` if an action can never be carried out.
    fn run(&mut self) -> Option<()> {
        for rank in 0..self.processes.len() {
            self.begin_rounds(rank as Rank)?;
        }
        self.carry_on()?;
        let ended = |process: &Process| process.open == 0;
        self.processes.iter().all(ended).then_some(())
    }

    /// Does all work and delivers all messages that are possible.
    fn carry_on(&mut self) -> Option<()> {
        loop {
            let ready: Vec<_> = self
                .pairs
                .iter()
                .filter(|(_, pair)| !pair.sends.is_empty() && !pair.recvs.is_empty())
                .map(|(ends, _)| *ends)
                .collect();
            let local = match (self.local.is_empty(), ready.is_empty()) {
                (true, true) => break,
                (true, false) => false,
                (false, true) => true,
                (false, false) => match self.delivery {
                    Delivery::Early => false,
                    Delivery::Late => true,
                    Delivery::Random => self.random.below(2) == 0,
                },
            };
            if local {
                let chosen = self.random.below(self.local.len() as u64) as usize;
                let (rank, action) = self.local.swap_remove(chosen);
                self.work(rank, &action)?;
                self.end_action(rank)?;
            } else {
                let (from, to) = self.random.pick(&ready);
                self.deliver(from, to)?;
            }
        }
        Some(())
    }

    /// Starts a rank's next round, and further ones until the rank has to wait.
    fn begin_rounds(&mut self, rank: Rank) -> Option<()> {
        let process = &mut self.processes[rank as usize];
        if process.open > 0 || process.next == process.program.rounds() {
            return Some(());
        }
        let mut round = Round::default();
        process.program.round(process.next, &mut round);
        process.next += 1;
        process.open = round.actions().len() + 1;
        for action in round.actions() {
            self.begin_action(rank, action)?;
        }
        self.end_action(rank)
    }

    fn end_action(&mut self, rank: Rank) -> Option<()> {
        self.processes[rank as usize].open -= 1;
        self.begin_rounds(rank)
    }

    fn begin_action(&mut self, rank: Rank, action: &Action) -> Option<()> {
        let place = |span| self.processes[rank as usize].layout.locate(span);
        let (send, ends, place) = match action {
            Action::Send { to, span } => (true, (rank, *to), Some(place(span)?)),
            Action::Recv { from, span } => (false, (*from, rank), Some(place(span)?)),
            Action::Signal { to } => (true, (rank, *to), None),
            Action::Await { from } => (false, (*from, rank), None),
            Action::Combine { .. } | Action::Copy { .. } => {
                self.local.push((rank, *action));
                return Some(());
            }
        };
        if place.as_ref().is_some_and(Place::is_empty) {
            return self.end_action(rank);
        }
        let copies = match self.delivery {
            Delivery::Early => true,
            Delivery::Late => false,
            Delivery::Random => self.random.below(2) == 0,
        };
        let pair = self.pairs.entry(ends).or_default();
        if !send {
            pair.recvs.push_back(place);
            return Some(());
        }
        if !copies {
            pair.sends.push_back(Leaving::Posted(place));
            return Some(());
        }
        let values = read(&self.processes[rank as usize], place.as_ref())?;
        pair.sends.push_back(Leaving::Copied(values));
        self.end_action(rank)
    }

    fn deliver(&mut self, from: Rank, to: Rank) -> Option<()> {
        let pair = self.pairs.get_mut(&(from, to))?;
        let (leaving, place) = (pair.sends.pop_front()?, pair.recvs.pop_front()?);
        let (values, was_posted) = match leaving {
            Leaving::Copied(values) => (values, false),
            Leaving::Posted(source) => (
                read(self.processes.get(from as usize)?, source.as_ref())?,
                true,
            ),
        };
        let process = &mut self.processes[to as usize];
        // MPI refuses a longer message but accepts a shorter one.
        if values.len() as u64 > place.as_ref().map_or(0, Place::units) {
            return None;
        }
        if let Some(place) = place {
            let memory = process.memory.get_mut(&place.memory)?;
            for (index, value) in indices(&place).zip(values) {
                *memory.get_mut(index)? = value;
            }
        }
        self.end_action(to)?;
        if was_posted {
            self.end_action(from)
        } else {
            Some(())
        }
    }

    /// Processes the elements from either end, as if all spans were arrays.
    fn work(&mut self, rank: Rank, action: &Action) -> Option<()> {
        let backwards = self.random.below(2) == 0;
        let process = &mut self.processes[rank as usize];
        let (operands, into) = match action {
            Action::Combine { left, right, into } => (vec![left, right], into),
            Action::Copy { from, into } => (vec![from], into),
            _ => return None,
        };
        let into = process.layout.locate(into)?;
        let operands: Vec<_> = operands
            .into_iter()
            .map(|span| process.layout.locate(span))
            .collect::<Option<_>>()?;
        let targets: Vec<usize> = indices(&into).collect();
        let operands: Vec<(Buffer, Vec<usize>)> = operands
            .iter()
            .map(|place| (place.memory, indices(place).collect()))
            .collect();
        for step in 0..targets.len() {
            let offset = if backwards {
                targets.len() - 1 - step
            } else {
                step
            };
            let value = |(memory, sources): &(Buffer, Vec<usize>)| -> Option<Option<Word>> {
                process.memory[memory].get(*sources.get(offset)?).copied()
            };
            let result = match &operands[..] {
                [left, right] => match (value(left)?, value(right)?) {
                    (Some(left), Some(right)) => Some(left.join(right)),
                    _ => None,
                },
                [from] => value(from)?,
                _ => return None,
            };
            let target = process.memory.get_mut(&into.memory)?;
            *target.get_mut(targets[offset])? = result;
        }
        Some(())
    }
}

fn read(process: &Process, place: Option<&Place>) -> Option<Vec<Option<Word>>> {
    let Some(place) = place else {
        return Some(Vec::new());
    };
    let memory = process.memory.get(&place.memory)?;
    indices(place)
        .map(|index| memory.get(index).copied())
        .collect()
}
