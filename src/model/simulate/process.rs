//! A rank in the middle of its program.

use schedule::{Program, Rank};

pub(super) const NOBODY: Rank = Rank::MAX;

/// A rank in the middle of its program.
pub(super) struct Process {
    pub(super) program: Box<dyn Program>,
    pub(super) rounds: u64,
    /// The round after the current one.
    pub(super) next: u64,
    /// When the current round began, and when all of it that has ended did.
    pub(super) began: f64,
    pub(super) ends: f64,
    pub(super) send_free: f64,
    pub(super) recv_free: f64,
    /// Transfers of the current round that have not ended.
    pub(super) waiting: u32,
    /// Messages sent so far.
    pub(super) issued: u32,
    /// Sends and receives of the current round. If there is one, and it has not met its other end,
    /// it stands here, otherwise among the offers.
    pub(super) sends: u32,
    pub(super) recvs: u32,
    pub(super) send_bytes: u64,
    pub(super) send_to: Rank,
    pub(super) recv_from: Rank,
}

impl Process {
    pub(super) fn new(program: Box<dyn Program>) -> Self {
        Self {
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
    }
}
