//! Limits the rate of wrong tokens.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use service::lock_ignoring_poison;

use crate::peer::Peer;

/// The number of wrong tokens that a peer may send in a row.
const BURST: u32 = 10;
/// The time after which a peer may send one more.
const PAUSE: Duration = Duration::from_secs(6);
/// The most peers that are remembered.
const PEERS: usize = 4096;

/// Counts of wrong tokens, of at most [`PEERS`] peers: each wrong token adds 1, and every [`PAUSE`] subtracts 1.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// The time at which each peer's count is 0 again.
    full_at: Mutex<HashMap<Peer, Instant>>,
}

impl Failures {
    /// The time that a peer must wait before a wrong token of its is counted again; `None` if it need not wait.
    pub(crate) fn required_wait(&self, peer: Peer, now: Instant) -> Option<Duration> {
        let full_at = lock_ignoring_poison(&self.full_at);
        let missing = full_at
            .get(&peer.to_counted_client())?
            .checked_duration_since(now)?;
        let allowed = PAUSE * (BURST - 1);
        missing.checked_sub(allowed).filter(|wait| !wait.is_zero())
    }

    /// Records a wrong token.
    pub(crate) fn note_wrong_token(&self, peer: Peer, now: Instant) {
        let mut full_at = lock_ignoring_poison(&self.full_at);
        let peer = peer.to_counted_client();
        if full_at.len() >= PEERS && !full_at.contains_key(&peer) {
            full_at.retain(|_, at| *at > now);
            // If all have failed recently, the one with the fewest failures is removed.
            let least = full_at.iter().min_by_key(|(_, at)| **at);
            if let Some(least) = least.map(|(other_peer, _)| *other_peer)
                && full_at.len() >= PEERS
            {
                full_at.remove(&least);
            }
        }
        let at = full_at.entry(peer).or_insert(now);
        *at = (*at).max(now) + PAUSE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u32) -> Peer {
        Peer::Address(std::net::Ipv4Addr::from_bits(number).into())
    }

    #[test]
    fn ten_wrong_tokens_are_counted_and_then_one_every_six_seconds() {
        let (failures, start) = (Failures::default(), Instant::now());
        for _ in 0..BURST {
            assert_eq!(failures.required_wait(peer(1), start), None);
            failures.note_wrong_token(peer(1), start);
        }
        assert_eq!(failures.required_wait(peer(1), start), Some(PAUSE));
        assert_eq!(failures.required_wait(peer(2), start), None);
        assert_eq!(failures.required_wait(peer(1), start + PAUSE), None);
        failures.note_wrong_token(peer(1), start + PAUSE);
        assert_eq!(failures.required_wait(peer(1), start + PAUSE), Some(PAUSE));
        assert_eq!(failures.required_wait(peer(1), start + PAUSE * 20), None);
    }

    #[test]
    fn the_number_of_remembered_peers_is_bounded() {
        let (failures, start) = (Failures::default(), Instant::now());
        for _ in 0..BURST {
            failures.note_wrong_token(peer(0), start);
        }
        for number in 1..3 * PEERS as u32 {
            failures.note_wrong_token(peer(number), start);
        }
        assert!(
            failures
                .full_at
                .lock()
                .is_ok_and(|known| known.len() <= PEERS)
        );
        assert_eq!(failures.required_wait(peer(0), start), Some(PAUSE));
    }
}
