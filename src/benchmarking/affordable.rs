//! Whether a cell can afford a candidate at all.

use vocabulary::Repetition;

use crate::Race;

/// Shorter calls are always afforded: the least number of repetitions is over soon.
const LONG_SECONDS: f64 = 1.0;

/// The most slices of measuring time that a single call may use up.
const SLICES: f64 = 10.0;

/// A candidate that takes this many times as long as another one has no chance.
const TIMES_SLOWER: f64 = 20.0;

/// A first call may be slow for other reasons, such as connections that are made. A candidate
/// that is too slow by this factor is not called again to find out.
const FIRST_CALL: f64 = 10.0;

/// Whether a candidate is to be left out after one call because its cell cannot afford the least
/// number of repetitions: a call lasts more than a second and ten slices, and twenty times as long as
/// one of the fastest candidate so far. Where none is known no candidate is left out: all of them may be
/// slow, as are large vectors on slow networks, and one of them must be measured.
pub fn is_too_slow(call_seconds: f64, fastest_seconds: f64, wanted: &Repetition) -> bool {
    let most_seconds = LONG_SECONDS
        .max(SLICES * wanted.slice_seconds)
        .max(TIMES_SLOWER * fastest_seconds);
    call_seconds > most_seconds
}

/// The same of the very first call. Only one that is ten times too slow counts: it costs that one
/// call and no more; others are called once again.
pub fn is_hopeless(call_seconds: f64, fastest_seconds: f64, wanted: &Repetition) -> bool {
    is_too_slow(call_seconds / FIRST_CALL, fastest_seconds, wanted)
}

/// Whether all calls of an entrant so far took longer than the cell can afford, as those of the
/// default may, or of one that was admitted before faster ones: it is not to be repeated further.
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
