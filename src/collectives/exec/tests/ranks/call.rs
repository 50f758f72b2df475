//! The arguments of one rank in a case.

use exec::{Arguments, Elements};
use schedule::Collective;

use crate::case::Case;
use crate::kind::Kind;
use crate::memory::Memory;

/// The arguments and buffers of one rank.
pub(crate) struct Call<'a> {
    pub(crate) arguments: Arguments<'a>,
    pub(crate) is_in_place: bool,
    pub(crate) send: Memory,
    pub(crate) recv: Memory,
    /// Elements at the beginning of `recv` that the collective defines.
    pub(crate) result: u64,
}

impl Case<'_> {
    pub(crate) fn call(&self, rank: u32, others: [bool; 2], in_place: bool) -> Call<'_> {
        let is_root = rank == self.root;
        let collective = self.algorithm.collective;
        let is_part = self.is_part_in_place && rank % 2 == 1;
        let is_in_place = in_place && !is_part && (is_root || !collective.is_rooted());
        let [sent, received] = self.lengths(rank, is_in_place);
        let [send_kind, recv_kind] =
            others.map(|is_other| if is_other { self.other_kind } else { self.kind });
        let in_elements_of =
            |kind: &Kind, elements: u64| elements * self.kind.numbers() / kind.numbers();
        let mut send = Memory::new(send_kind, in_elements_of(send_kind, sent));
        let mut recv = Memory::new(recv_kind, in_elements_of(recv_kind, received));
        let value = |number: u64| contribution(rank, number);
        match self.given_in_output(rank, is_in_place) {
            Some(given) => {
                let [first, count] = given.map(|elements| in_elements_of(recv_kind, elements));
                recv.fill(first, count, value);
            }
            None => send.fill(0, in_elements_of(send_kind, sent), value),
        }
        let result = match collective {
            Collective::Bcast if is_root => 0,
            Collective::Exscan if rank == 0 => 0,
            Collective::Scatter if is_in_place => 0,
            Collective::ReduceScatter | Collective::ReduceScatterBlock => self.part(rank),
            _ => received,
        };
        Call {
            arguments: self.arguments(others),
            is_in_place,
            send,
            recv,
            result: in_elements_of(recv_kind, result),
        }
    }

    /// Elements of the two buffers.
    fn lengths(&self, rank: u32, is_in_place: bool) -> [u64; 2] {
        let collective = self.algorithm.collective;
        let whole = match collective {
            Collective::ReduceScatter => self.counts.iter().sum(),
            _ if collective.is_sized_by_part() => self.count * u64::from(self.ranks),
            _ => self.count,
        };
        let at_root = if rank == self.root { whole } else { 0 };
        match collective {
            Collective::Bcast => [0, whole],
            Collective::Reduce => [whole, at_root],
            Collective::Allreduce | Collective::Scan | Collective::Alltoall => [whole, whole],
            Collective::Exscan if rank == 0 && !is_in_place => [whole, 0],
            Collective::Exscan => [whole, whole],
            Collective::Barrier => [0, 0],
            Collective::Gather => [self.count, at_root],
            Collective::Scatter => [at_root, self.count],
            Collective::Allgather => [self.count, whole],
            Collective::ReduceScatter | Collective::ReduceScatterBlock => {
                [whole, if is_in_place { whole } else { self.part(rank) }]
            }
            Collective::Alltoallv
            | Collective::Alltoallw
            | Collective::Allgatherv
            | Collective::Gatherv
            | Collective::Scatterv => {
                panic!("calls of {collective} are tried in `irregular.rs`")
            }
        }
    }

    /// The first element that a rank contributes in its output and the number of these elements, if it contributes
    /// there.
    fn given_in_output(&self, rank: u32, is_in_place: bool) -> Option<[u64; 2]> {
        match self.algorithm.collective {
            Collective::Bcast if rank == self.root => Some([0, self.count]),
            // No element is contributed there.
            Collective::Bcast => Some([0, 0]),
            Collective::Gather | Collective::Allgather if is_in_place => {
                Some([u64::from(rank) * self.count, self.count])
            }
            Collective::Scatter => None,
            _ if is_in_place => Some([0, self.lengths(rank, true)[1]]),
            _ => None,
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
        let [send, recv] = others.map(|is_other| {
            if is_other {
                Elements {
                    count: self.count * self.kind.numbers() / self.other_kind.numbers(),
                    datatype: self.other_kind.datatype,
                }
            } else {
                Elements {
                    count: self.count,
                    datatype: self.kind.datatype,
                }
            }
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
            (Collective::Alltoall, _) => Arguments::Alltoall { send, recv },
            (Collective::Barrier, _) => Arguments::Barrier,
            (Collective::Scan, Some((_, operator))) => Arguments::Scan { data, operator },
            (Collective::Exscan, Some((_, operator))) => Arguments::Exscan { data, operator },
            _ => Arguments::Bcast { data: recv, root },
        }
    }
}

/// A small whole number that does not depend on the datatypes that describe the data.
fn contribution(rank: u32, number: u64) -> i32 {
    let mixed = (u64::from(rank) * 7919 + number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    1 + (mixed >> 58) as i32
}
