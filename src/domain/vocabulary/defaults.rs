//! The defaults of the quantities by which decisions are made.

/// Confidence of intervals. It is the default of a campaign's `confidence`, with which a candidate must be faster than
/// the default to replace it. Whatever the campaign says, a decision has high confidence only if intervals attain this.
pub const CONFIDENCE: f64 = 0.95;

/// The least gain that matters: the default's time divided by the candidate's is at least 1 plus this. It is the default
/// of a campaign's `materiality`.
pub const MATERIALITY: f64 = 0.05;

/// The regret accepted for a shorter table, as a share of the time at each size: neighbouring sizes share a rule if its
/// candidate beats the default at all of them and takes at most this much longer than the best. It is the default of a
/// campaign's `max_regret`.
pub const MAX_REGRET: f64 = 0.01;

/// The launches of a campaign: its default `launches`. The interval of a median of as many values attains 96.9 %.
pub const LAUNCHES: u32 = 6;
