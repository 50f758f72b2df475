//! The times of a schedule's messages, if each takes one step.

use std::collections::{HashMap, VecDeque};

use thiserror::Error;

use crate::{Action, Layout, Program, Rank, Round, Schedule, Span};

/// The messages and the local work of all ranks on one clock.
///
/// A message takes one step and begins once both ends are ready, as [`crate::Tally::steps`] counts;
/// local work takes no time. Transfers of empty spans do not occur.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Steps from the first message to the last.
    pub steps: u64,
    /// Every message, in the order of matching.
    pub messages: Vec<Message>,
    /// Every combination and copy.
    pub work: Vec<Work>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The step in which it is under way, from 1.
    pub step: u64,
    /// The sender.
    pub from: Rank,
    /// The receiver.
    pub to: Rank,
    /// The span that the sender reads; `None` for a signal.
    pub span: Option<Span>,
    /// Its length.
    pub units: u64,
}

/// Local work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The step after which it is done; 0 before all messages of the rank.
    pub after: u64,
    /// The rank that works.
    pub rank: Rank,
    /// A combination or a copy.
    pub action: Action,
}

/// The schedule has more than the limit of messages or work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("more than {limit} actions, or than {limit} ranks times steps")]
pub struct TooMuch {
    /// The limit that was given.
    pub limit: u64,
}

/// A rank in the middle of its program.
struct Process {
    program: Box<dyn Program>,
    layout: Layout,
    next: u64,
    /// Transfers of the current round that have not been matched.
    waiting: usize,
    began: u64,
    ends: u64,
}

/// Transfers between one sender and one receiver that have not been matched.
#[derive(Default)]
struct UnmatchedPair {
    sends: VecDeque<(Option<Span>, u64)>,
    recvs: usize,
}

/// Whether an action copies data to the same place, as in calls in place.
pub(crate) fn is_idle(action: &Action, layout: &Layout) -> bool {
    match action {
        Action::Copy { from, into } => layout.locate(from) == layout.locate(into),
        _ => false,
    }
}

struct Stepper {
    processes: Vec<Process>,
    pairs: HashMap<(Rank, Rank), UnmatchedPair>,
    runnable: Vec<Rank>,
    timeline: Timeline,
    limit: u64,
}

impl Timeline {
    /// Runs the programs of a correct schedule.
    ///
    /// # Errors
    /// If there are more than `limit` messages and pieces of work, or more than `limit` ranks times
    /// steps: a pipeline may have millions.
    pub fn new(schedule: &Schedule, limit: u64) -> Result<Self, TooMuch> {
        let ranks = schedule.shape().ranks;
        if u64::from(ranks) > limit {
            return Err(TooMuch { limit });
        }
        let start = |rank| Process {
            program: schedule.program(rank),
            layout: schedule.layout(rank),
            next: 0,
            waiting: 0,
            began: 0,
            ends: 0,
        };
        let mut stepper = Stepper {
            processes: (0..ranks).map(start).collect(),
            pairs: HashMap::new(),
            runnable: (0..ranks).rev().collect(),
            timeline: Self::default(),
            limit,
        };
        let mut round = Round::default();
        while let Some(rank) = stepper.runnable.pop() {
            while stepper.begin_round(rank, &mut round)? {}
        }
        Ok(stepper.timeline)
    }
}

impl Stepper {
    /// Starts the rank's next round. Returns false if it has ended or waits.
    fn begin_round(&mut self, rank: Rank, round: &mut Round) -> Result<bool, TooMuch> {
        let process = &mut self.processes[rank as usize];
        if process.waiting > 0 || process.next == process.program.rounds() {
            return Ok(false);
        }
        process.began = process.ends;
        round.clear();
        process.program.round(process.next, round);
        process.next += 1;
        for action in round.actions() {
            self.post_action(rank, action);
            self.check_limit()?;
        }
        Ok(true)
    }

    fn post_action(&mut self, rank: Rank, action: &Action) {
        let process = &mut self.processes[rank as usize];
        let units = |span| process.layout.locate(span).map_or(0, |place| place.units());
        let (from, to) = match action {
            Action::Send { to, span } => match units(span) {
                0 => return,
                units => {
                    let sends = &mut self.pairs.entry((rank, *to)).or_default().sends;
                    sends.push_back((Some(*span), units));
                    (rank, *to)
                }
            },
            Action::Signal { to } => {
                let sends = &mut self.pairs.entry((rank, *to)).or_default().sends;
                sends.push_back((None, 0));
                (rank, *to)
            }
            Action::Recv { span, .. } if units(span) == 0 => return,
            Action::Recv { from, .. } | Action::Await { from } => {
                self.pairs.entry((*from, rank)).or_default().recvs += 1;
                (*from, rank)
            }
            Action::Copy { into, .. } | Action::Combine { into, .. } => {
                if units(into) > 0 && !is_idle(action, &process.layout) {
                    self.timeline.work.push(Work {
                        after: process.began,
                        rank,
                        action: *action,
                    });
                }
                return;
            }
        };
        process.waiting += 1;
        self.match_pair(from, to);
    }

    /// Passes the pair's first message if both ends are posted.
    fn match_pair(&mut self, from: Rank, to: Rank) {
        let Some(pair) = self.pairs.get_mut(&(from, to)) else {
            return;
        };
        if pair.recvs == 0 {
            return;
        }
        let Some((span, units)) = pair.sends.pop_front() else {
            return;
        };
        pair.recvs -= 1;
        let [sender, receiver] = [from, to].map(|rank| self.processes[rank as usize].began);
        let step = sender.max(receiver) + 1;
        for rank in [from, to] {
            let process = &mut self.processes[rank as usize];
            process.ends = process.ends.max(step);
            process.waiting -= 1;
            if process.waiting == 0 {
                self.runnable.push(rank);
            }
        }
        self.timeline.steps = self.timeline.steps.max(step);
        self.timeline.messages.push(Message {
            step,
            from,
            to,
            span,
            units,
        });
    }

    fn check_limit(&self) -> Result<(), TooMuch> {
        let Timeline {
            steps,
            messages,
            work,
        } = &self.timeline;
        let actions = (messages.len() + work.len()) as u64;
        let cells = steps.saturating_mul(self.processes.len() as u64);
        if actions.max(cells) > self.limit {
            Err(TooMuch { limit: self.limit })
        } else {
            Ok(())
        }
    }
}
