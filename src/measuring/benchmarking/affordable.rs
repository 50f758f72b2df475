//! Whether a cell can afford a candidate.

use vocabulary::Repetition;

use crate::Race;

/// Shorter calls are always affordable: the least number of repetitions is short.
const LONG_SECONDS: f64 = 1.0;

/// The most slices of measuring time that a single call may take.
const SLICES: f64 = 10.0;

/// The factor from which a candidate is hopelessly slower than another one.
const TIMES_SLOWER: f64 = 20.0;

/// The additional factor for a first call, which may be slow for other reasons, such as connections that are made. A
/// candidate that is even slower is not called again.
const FIRST_CALL: f64 = 10.0;

/// Whether a candidate is left out after one call because its cell cannot afford the least number of repetitions: a
/// call takes more than a second and ten slices, and twenty times as long as one of the fastest candidate so far.
/// Without a fastest candidate none is left out: all of them may be slow, as with large vectors on slow networks, and
/// one of them must be measured.
pub fn is_too_slow(call_seconds: f64, fastest_seconds: f64, wanted: &Repetition) -> bool {
    let most_seconds = LONG_SECONDS
        .max(SLICES * wanted.slice_seconds)
        .max(TIMES_SLOWER * fastest_seconds);
    call_seconds > most_seconds
}

/// As [`is_too_slow`], for the very first call. It must be ten times slower still, and costs only this call; other
/// candidates are called again.
pub fn is_hopeless(call_seconds: f64, fastest_seconds: f64, wanted: &Repetition) -> bool {
    is_too_slow(call_seconds / FIRST_CALL, fastest_seconds, wanted)
}

/// Whether all calls of an entrant so far took longer than the cell can afford, as is possible for the default, or for
/// one that was admitted before faster ones. It is then not repeated further.
pub(crate) fn is_unaffordable(
    race: &Race,
    entrant: usize,
    fastest_seconds: f64,
    wanted: &Repetition,
) -> bool {
    let calls = race.progress(entrant).seconds();
    let is_slow = |call: &f64| is_too_slow(*call, fastest_seconds, wanted);
    !calls.is_empty() && calls.iter().all(is_slow)
}
