//! The offset between two clocks, from an exchange of messages.

use super::Nanoseconds;

/// A message to another clock and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The time when the message was sent, on the asking clock.
    pub sent: Nanoseconds,
    /// The time when it was answered, on the other clock.
    pub answered: Nanoseconds,
    /// The time when the answer had arrived, on the asking clock.
    pub received: Nanoseconds,
}

/// The difference between two clocks at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The time, on the asking clock.
    pub at: Nanoseconds,
    /// The other clock's time minus the asking one's.
    pub offset: Nanoseconds,
    /// The largest error of the offset: the whole round trip may have been spent in one direction.
    pub half_round_trip: Nanoseconds,
}

impl Offset {
    /// The offset by the exchange with the shortest round trip, which bounds it most closely (Cristian 1989,
    /// "Probabilistic clock synchronization"); `None` without exchanges.
    pub fn by_shortest(exchanges: &[Exchange]) -> Option<Self> {
        let shortest = exchanges
            .iter()
            .min_by_key(|exchange| exchange.received.saturating_sub(exchange.sent))?;
        let half_round_trip = (shortest.received.saturating_sub(shortest.sent) + 1) / 2;
        let at = shortest.sent + half_round_trip;
        Some(Self {
            at,
            offset: shortest.answered - at,
            half_round_trip,
        })
    }

    /// Whether both may be the same clock: the answer was read after the message was sent and before the answer
    /// arrived.
    pub fn may_be_none(&self) -> bool {
        self.offset.abs() <= self.half_round_trip
    }
}
