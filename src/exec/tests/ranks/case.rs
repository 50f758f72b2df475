//! One call: an algorithm of ours against the library's own collective.

use std::fmt;

use exec::{ApplicationCall, Arguments, Communicator, Elements, ExecError, OperatorHandle, Wait};
use schedule::{Algorithm, Collective, Request, Schedule, Unsupported};
use wire::Parameters;

use crate::kind::Kind;
use crate::library;
use crate::memory::Memory;

/// A call and how it is served.
pub(crate) struct Case<'a> {
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) parameters: Parameters,
    pub(crate) kind: &'a Kind,
    /// What half of the ranks describe the same data as, where it is only moved.
    pub(crate) other_kind: &'a Kind,
    pub(crate) operator: Option<(&'static str, OperatorHandle)>,
    /// Elements of the whole vector, or of a part, as MPI counts them.
    pub(crate) count: u64,
    /// Elements of each rank's part in a `reduce_scatter`.
    pub(crate) counts: Vec<u64>,
    pub(crate) ranks: u32,
    pub(crate) root: u32,
    pub(crate) in_place: bool,
    pub(crate) wait: Wait,
    /// Whether some ranks describe the data as elements of the other kind.
    pub(crate) mixes: bool,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = self.operator.map_or("moved", |(name, _)| name);
        write!(
            f,
            "{}{} on {} ranks, root {}, {} {:?} of {} (or {}) {operator}{}, {:?}",
            self.algorithm,
            self.parameters,
            self.ranks,
            self.root,
            self.count,
            self.counts,
            self.kind.name,
            if self.mixes {
                self.other_kind.name
            } else {
                "the same"
            },
            if self.in_place { ", in place" } else { "" },
            self.wait,
        )
    }
}

/// How a case ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did the same as the library.
    Agreed,
    /// It was refused, as it has to be.
    Refused,
    /// It did something else.
    Failed(String),
}

/// What one rank passes.
struct Call<'a> {
    arguments: Arguments<'a>,
    is_in_place: bool,
    send: Memory,
    recv: Memory,
    /// Elements of `recv` that the collective defines.
    result: std::ops::Range<u64>,
}

impl Case<'_> {
    /// Whether the algorithm must be refused: out of order, or on an odd number of ranks.
    fn must_be_refused(&self) -> bool {
        let is_odd = self.ranks > 1 && self.ranks % 2 == 1;
        if self.algorithm.even_ranks && is_odd {
            return true;
        }
        let commutes = |(_, operator): (_, OperatorHandle)| operator.is_commutative();
        if self.operator.is_none_or(commutes) {
            return false;
        }
        let request = Request {
            root: self.root,
            in_place: self.in_place,
            units: self.count,
            parameters: self.parameters.in_units(1),
            ..Request::ranks(self.ranks)
        };
        Schedule::new(self.algorithm, &request).is_ok_and(|schedule| !schedule.ordered())
    }

    /// Runs it on all ranks of a communicator.
    pub(crate) fn run(&self, communicator: &Communicator) -> Result<Outcome, ExecError> {
        let rank = communicator.rank();
        let call = self.call(rank, self.others(rank), self.in_place);
        let prepared = ApplicationCall::new(
            self.algorithm,
            &self.parameters,
            &call.arguments,
            call.is_in_place,
            communicator,
            self.wait,
        );
        let mut ours = match (prepared, self.must_be_refused()) {
            (Ok(ours), false) => ours,
            (
                Err(ExecError::Unsupported(
                    Unsupported::Unordered { .. } | Unsupported::OddRanks { .. },
                )),
                true,
            ) => return Ok(Outcome::Refused),
            (Ok(_), true) => return Ok(Outcome::Failed("it was not refused".to_owned())),
            (Err(error), _) => return Ok(Outcome::Failed(error.to_string())),
        };
        let known = self.by_library(communicator);
        let mut expected = call.recv.clone();
        expected.take(call.result.clone(), &known.0, known.1);
        let mut outcome = Outcome::Agreed;
        // What a first call leaves behind must not be seen by a second. No rank stays behind.
        for turn in ["first", "second"] {
            let (mut send, mut recv) = (call.send.clone(), call.recv.clone());
            // SAFETY: the memory is what the arguments say.
            unsafe {
                ours.call(communicator, send.address().cast(), recv.address().cast())?;
            }
            if send.bytes() != call.send.bytes() {
                outcome = Outcome::Failed(format!("{turn} call: the input was written"));
            }
            let differs = |(found, wanted): (&u8, &u8)| found != wanted;
            let mut bytes = recv.bytes().iter().zip(expected.bytes());
            if let Some(at) = bytes.position(differs) {
                outcome = Outcome::Failed(format!(
                    "{turn} call: byte {at} of {} is {:#x} and not {:#x}, which was {:#x} before",
                    recv.bytes().len(),
                    recv.bytes()[at],
                    expected.bytes()[at],
                    call.recv.bytes()[at]
                ));
            }
            if self.count > 1000 {
                break;
            }
        }
        Ok(outcome)
    }

    /// Which of its two buffers a rank describes as elements of the other kind.
    fn others(&self, rank: u32) -> [bool; 2] {
        [rank % 2 == 1, rank / 2 % 2 == 1].map(|is_other| self.mixes && is_other)
    }

    /// What the library makes of it, which is spared what it gets wrong: data is moved as plain
    /// numbers (where ranks describe it differently, Open MPI 4.1 cuts messages differently; MPICH
    /// 4.0 scatters pairs with their gaps), and nothing is in place (with a type of the user's MPICH
    /// 4.0 takes `MPI_IN_PLACE` for an address).
    fn by_library(&self, communicator: &Communicator) -> (Memory, u64) {
        let kind = self.kind.stand_in();
        let case = Case {
            kind,
            operator: self
                .operator
                .and_then(|(name, _)| Some((name, kind.operator(name)?))),
            parameters: self.parameters.clone(),
            counts: self.counts.clone(),
            ..*self
        };
        let is_moved = self.operator.is_none();
        let mut call = case.call(communicator.rank(), [is_moved; 2], false);
        // SAFETY: the memory is what the arguments say.
        unsafe {
            library::call(
                &call.arguments,
                communicator,
                call.send.address().cast(),
                call.recv.address().cast(),
            );
        }
        (call.recv, call.result.start)
    }

    fn call(&self, rank: u32, others: [bool; 2], in_place: bool) -> Call<'_> {
        use Collective::{
            Allgather, Allreduce, Bcast, Gather, Reduce, ReduceScatter, ReduceScatterBlock, Scatter,
        };
        let (count, all, root) = (self.count, u64::from(self.ranks), self.root);
        let is_root = rank == root;
        let collective = self.algorithm.collective;
        let whole: u64 = match collective {
            ReduceScatter => self.counts.iter().sum(),
            _ if collective.is_sized_by_part() => count * all,
            _ => count,
        };
        let is_in_place = in_place && (is_root || !collective.is_rooted());
        // Elements of the two buffers in ordinary elements.
        let (sent, received) = match collective {
            Bcast => (0, whole),
            Reduce => (whole, if is_root { whole } else { 0 }),
            Allreduce => (whole, whole),
            Gather => (count, if is_root { whole } else { 0 }),
            Scatter => (if is_root { whole } else { 0 }, count),
            Allgather => (count, whole),
            ReduceScatter | ReduceScatterBlock => {
                (whole, if is_in_place { whole } else { self.part(rank) })
            }
        };
        // Whether the rank's input stands in its output, and where.
        let at = match collective {
            _ if !is_in_place => None,
            Gather | Allgather => Some(u64::from(rank) * count),
            Scatter => None,
            _ => Some(0),
        };
        let at = if collective == Bcast && is_root {
            Some(0)
        } else {
            at
        };
        let result = match collective {
            Reduce | Gather if !is_root => 0..0,
            Bcast if is_root => 0..0,
            Scatter if is_in_place => 0..0,
            ReduceScatter | ReduceScatterBlock => 0..self.part(rank),
            _ => 0..received,
        };
        let describe = |is_other: bool, elements: u64| match is_other {
            true => {
                let numbers = elements * self.kind.fields.len() as u64;
                (
                    self.other_kind,
                    numbers / self.other_kind.fields.len() as u64,
                )
            }
            false => (self.kind, elements),
        };
        let (send_kind, send_count) = describe(others[0], sent);
        let (recv_kind, recv_count) = describe(others[1], received);
        let result = match others[1] {
            true => describe(true, result.start).1..describe(true, result.end).1,
            false => result,
        };
        let mut send = Memory::new(send_kind, send_count);
        let mut recv = Memory::new(recv_kind, recv_count);
        let value = |number: u64| contribution(rank, number);
        let is_idle = (collective == Scatter || collective == Bcast) && !is_root;
        match at {
            _ if is_idle => {}
            Some(first) => {
                let length = if collective == Gather || collective == Allgather {
                    count
                } else {
                    received
                };
                recv.fill(
                    describe(others[1], first).1,
                    describe(others[1], length).1,
                    value,
                );
            }
            None => send.fill(0, send_count, value),
        }
        Call {
            arguments: self.arguments(others),
            is_in_place,
            send,
            recv,
            result,
        }
    }

    /// Elements of a rank's part of the result.
    fn part(&self, rank: u32) -> u64 {
        match self.algorithm.collective {
            Collective::ReduceScatter => self.counts[rank as usize],
            _ => self.count,
        }
    }

    fn arguments(&self, others: [bool; 2]) -> Arguments<'_> {
        let root = self.root;
        let [send, recv] = others.map(|is_other| match is_other {
            true => {
                let numbers = self.count * self.kind.fields.len() as u64;
                Elements {
                    count: numbers / self.other_kind.fields.len() as u64,
                    datatype: self.other_kind.datatype,
                }
            }
            false => Elements {
                count: self.count,
                datatype: self.kind.datatype,
            },
        });
        let data = send;
        match (self.algorithm.collective, self.operator) {
            (Collective::Reduce, Some((_, operator))) => Arguments::Reduce {
                data,
                operator,
                root,
            },
            (Collective::Allreduce, Some((_, operator))) => Arguments::Allreduce { data, operator },
            (Collective::ReduceScatter, Some((_, operator))) => Arguments::ReduceScatter {
                counts: &self.counts,
                datatype: self.kind.datatype,
                operator,
            },
            (Collective::ReduceScatterBlock, Some((_, operator))) => {
                Arguments::ReduceScatterBlock {
                    part: data,
                    operator,
                }
            }
            (Collective::Gather, _) => Arguments::Gather { send, recv, root },
            (Collective::Scatter, _) => Arguments::Scatter { send, recv, root },
            (Collective::Allgather, _) => Arguments::Allgather { send, recv },
            _ => Arguments::Bcast { data: recv, root },
        }
    }
}

/// A small whole number, the same however the data is described.
fn contribution(rank: u32, number: u64) -> i32 {
    let mixed = (u64::from(rank) * 7919 + number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    1 + (mixed >> 58) as i32
}
