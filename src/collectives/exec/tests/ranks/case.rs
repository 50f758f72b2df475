//! One call: one of our algorithms compared with the library's own collective.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use exec::{ApplicationCall, Communicator, ExecError, OperatorHandle, Wait};
use schedule::{
    About, Algorithm, Collective, Nodes, Phase, Placed, Request, Schedule, Unsupported,
};
use vocabulary::Parameters;

use crate::kind::Kind;
use crate::library;
use crate::memory::Memory;

/// The time by which one rank comes late to a barrier, much longer than its messages take.
const PAUSE: Duration = Duration::from_micros(300);

/// A time in seconds, for comparison between ranks of one machine.
fn seconds(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

/// A call and the algorithm that serves it.
pub(crate) struct Case<'a> {
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) parameters: Parameters,
    pub(crate) kind: &'a Kind,
    /// The kind as which half of the ranks describe the same data, in data movement.
    pub(crate) other_kind: &'a Kind,
    pub(crate) operator: Option<(&'static str, OperatorHandle)>,
    /// Elements of the whole vector, or of a part, as MPI counts them.
    pub(crate) count: u64,
    /// Elements of each rank's part in a `reduce_scatter`.
    pub(crate) counts: Vec<u64>,
    pub(crate) ranks: u32,
    /// The pretended nodes of the ranks.
    pub(crate) nodes: Nodes,
    /// The root; of a barrier, the rank that comes late.
    pub(crate) root: u32,
    pub(crate) in_place: bool,
    /// Whether only even ranks are in place, where MPI does not ask all ranks for the same.
    pub(crate) is_part_in_place: bool,
    pub(crate) wait: Wait,
    /// Whether some ranks describe the data as elements of the other kind.
    pub(crate) mixes: bool,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = self.operator.map_or("moved", |(name, _)| name);
        write!(
            f,
            "{}{} on {} ranks ({:?}), root {}, {} {:?} of {} (or {}) {operator}{}, {:?}",
            self.algorithm,
            self.parameters,
            self.ranks,
            self.nodes,
            self.root,
            self.count,
            self.counts,
            self.kind.name,
            if self.mixes {
                self.other_kind.name
            } else {
                "the same"
            },
            match (self.in_place, self.is_part_in_place) {
                (true, true) => ", in place on even ranks",
                (true, false) => ", in place",
                (false, _) => "",
            },
            self.wait,
        )
    }
}

/// The outcome of a case.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The algorithm gave the same result as the library.
    Agreed,
    /// It was refused, as it must be.
    Refused,
    /// It gave another result, with a description.
    Failed(String),
}

impl Case<'_> {
    /// Whether the algorithm must be refused: out of order, on an odd number of ranks, on unlike nodes, or with more
    /// leaders than a node has ranks.
    fn must_be_refused(&self) -> bool {
        let is_odd = self.ranks > 1 && self.ranks % 2 == 1;
        if self.algorithm.even_ranks && is_odd {
            return true;
        }
        let needs_lanes = self.algorithm.id == "lanes";
        let is_own = |phase: &Phase| phase.about == About::Own;
        let mut phases = self.algorithm.phases.iter();
        let has_parts = phases.any(is_own) || self.algorithm.knows_nodes_itself;
        let parts_differ = self.algorithm.collective == Collective::ReduceScatter;
        let is_cyclic = self.nodes.are_cyclic() && self.nodes.are_alike() && !parts_differ;
        // In order a node's contributions can be combined only if no other rank's are between them.
        let is_scan_by_nodes =
            self.algorithm.collective.is_prefix_reduction() && self.algorithm.knows_nodes();
        let leaders = self.parameters.leaders_per_node.unwrap_or(1);
        if needs_lanes && !self.nodes.are_alike()
            || leaders > self.nodes.smallest_node_size()
            || has_parts && !self.nodes.are_consecutive() && !is_cyclic
            || is_scan_by_nodes && !self.nodes.are_consecutive()
        {
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
            placed: Placed::On(&self.nodes),
            ..Request::among_ranks(self.ranks)
        };
        Schedule::new(self.algorithm, &request).is_ok_and(|schedule| !schedule.is_ordered())
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
                    Unsupported::Unordered { .. }
                    | Unsupported::OddRanks { .. }
                    | Unsupported::UnlikeNodes { .. }
                    | Unsupported::TooManyLeaders { .. },
                )),
                true,
            ) => return Ok(Outcome::Refused),
            (Ok(_), true) => return Ok(Outcome::Failed("it was not refused".to_owned())),
            (Err(error), _) => return Ok(Outcome::Failed(error.to_string())),
        };
        let known = self.by_library(communicator);
        let mut expected = call.recv.clone();
        expected.take(call.result, &known);
        let mut outcome = Outcome::Agreed;
        // A second call must not see data that the first one left behind. All ranks make both calls.
        for turn in ["first", "second"] {
            let (mut send, mut recv) = (call.send.clone(), call.recv.clone());
            // The first rank's output is not significant in an exscan.
            let output = match self.algorithm.collective {
                Collective::Exscan if rank == 0 && !call.is_in_place => std::ptr::null_mut(),
                _ => recv.address(),
            };
            let begun = self.begin_late(rank == self.root);
            // SAFETY: the memory is what the arguments say.
            unsafe {
                ours.call(communicator, send.address().cast(), output.cast())?;
            }
            if self.algorithm.collective == Collective::Barrier {
                let ended = SystemTime::now();
                let mut last = [seconds(begun)];
                communicator.maximum_over_ranks(&mut last)?;
                if seconds(ended) < last[0] {
                    outcome =
                        Outcome::Failed(format!("{turn} call: it ended before all had begun"));
                }
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

    /// The time at which this rank begins its call, in a barrier after a pause if it is the late one.
    fn begin_late(&self, is_late: bool) -> SystemTime {
        if is_late && self.algorithm.collective == Collective::Barrier {
            std::thread::sleep(PAUSE);
        }
        SystemTime::now()
    }

    /// For each of the two buffers, whether a rank describes it as elements of the other kind.
    fn others(&self, rank: u32) -> [bool; 2] {
        [rank % 2 == 1, rank / 2 % 2 == 1].map(|is_other| self.mixes && is_other)
    }

    /// The library's result. Known defects of libraries are avoided: data is moved as plain numbers (if ranks describe
    /// it differently, Open MPI 4.1 cuts messages differently; MPICH 4.0 scatters pairs with their gaps), and no call
    /// is in place (with a user's datatype MPICH 4.0 mistakes `MPI_IN_PLACE` for an address).
    fn by_library(&self, communicator: &Communicator) -> Memory {
        let kind = self.kind.stand_in();
        let case = Case {
            kind,
            operator: self
                .operator
                .and_then(|(name, _)| Some((name, kind.operator(name)?))),
            parameters: self.parameters.clone(),
            counts: self.counts.clone(),
            nodes: self.nodes.clone(),
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
        call.recv
    }
}
