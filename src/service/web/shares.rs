//! Places that clients share, such as connections. Whatever one client takes, some are left for others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use service::lock_ignoring_poison;

use crate::peer::Peer;

/// A client may take this many times the places that are free. So one client alone gets three quarters of all
/// places, and each further one at most three quarters of what is left.
const TIMES_FREE: usize = 3;

/// A number of places.
#[derive(Clone, Debug)]
pub(crate) struct Shares(Arc<SharedPlaces>);

#[derive(Debug)]
struct SharedPlaces {
    places: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by: HashMap<Peer, usize>,
}

/// The reason why a client gets no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// The client has its share: this many places.
    Share(usize),
    /// All places are taken.
    All,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct TakenPlace {
    of: Shares,
    client: Option<Peer>,
}

impl Shares {
    pub(crate) fn new(places: usize) -> Self {
        let taken = Mutex::default();
        Self(Arc::new(SharedPlaces { places, taken }))
    }

    /// Takes a place for a client; `None` stands for those without a limit of their own: the service itself, and a
    /// proxy, which has many clients.
    pub(crate) fn take_place(&self, client: Option<Peer>) -> Result<TakenPlace, Full> {
        let mut taken = lock_ignoring_poison(&self.0.taken);
        let free = self.0.places.saturating_sub(taken.all);
        if free == 0 {
            return Err(Full::All);
        }
        if let Some(client) = client {
            let own = taken.by.get(&client).copied().unwrap_or(0);
            if own >= TIMES_FREE * free {
                return Err(Full::Share(own));
            }
            taken.by.insert(client, own + 1);
        }
        taken.all += 1;
        Ok(TakenPlace {
            of: self.clone(),
            client,
        })
    }

    /// The number of places that are taken.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        lock_ignoring_poison(&self.0.taken).all
    }
}

impl Drop for TakenPlace {
    fn drop(&mut self) {
        let mut taken = lock_ignoring_poison(&self.of.0.taken);
        taken.all = taken.all.saturating_sub(1);
        let Some(client) = self.client else { return };
        match taken.by.get_mut(&client) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(taken.by.remove(&client)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u32) -> Option<Peer> {
        Some(Peer::Local(Some(number)))
    }

    fn fill(shares: &Shares, client: Option<Peer>) -> (Vec<TakenPlace>, Full) {
        let mut places = Vec::new();
        loop {
            match shares.take_place(client) {
                Ok(place) => places.push(place),
                Err(full) => return (places, full),
            }
        }
    }

    #[test]
    fn clients_that_take_all_they_can_leave_places_for_others() {
        let shares = Shares::new(2048);
        let mut taken = Vec::new();
        for number in 0..4 {
            let (places, full) = fill(&shares, client(number));
            assert!(!places.is_empty(), "client {number}");
            assert_eq!(full, Full::Share(places.len()));
            taken.push(places);
        }
        assert_eq!(taken[0].len(), 1536, "three quarters for one alone");
        assert_eq!(taken[1].len(), 384, "three quarters of the rest");
        // Who has no limit of its own gets the rest, and then all are refused.
        let (_rest, full) = fill(&shares, None);
        assert_eq!(full, Full::All);
        assert_eq!(shares.take_place(client(99)).err(), Some(Full::All));
    }

    #[test]
    fn places_are_free_again_when_they_are_dropped() {
        let shares = Shares::new(8);
        for _ in 0..3 {
            let (places, _) = fill(&shares, client(1));
            assert_eq!(places.len(), 6);
            let (rest, _) = fill(&shares, None);
            assert_eq!(rest.len(), 2);
        }
        assert_eq!(lock_ignoring_poison(&shares.0.taken).all, 0);
        assert_eq!(lock_ignoring_poison(&shares.0.taken).by.len(), 0);
    }
}
