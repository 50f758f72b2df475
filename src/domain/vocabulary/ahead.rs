//! Receives that are posted one round ahead.

/// The fewest bytes of receives that are posted one round ahead. For as many the gain exceeds the cost of the
/// additional calls, since the library need neither buffer the data nor make the sender wait.
pub const AHEAD_BYTES: u64 = 8 << 10;

/// Whether the receives of a round, of `bytes` in total, are posted with the round before it: they must be long enough
/// and write no memory that it uses. Rounds that move nothing are skipped, and the first round of a call has none
/// before it.
///
/// `used` is all memory that the round before sends, receives, reads or writes, `arriving` the memory that the receives
/// write, and `meet` tells whether two of these overlap.
#[inline]
pub fn is_posted_ahead<U, A>(
    bytes: u64,
    mut used: impl Iterator<Item = U>,
    arriving: impl Iterator<Item = A> + Clone,
    meet: impl Fn(&U, &A) -> bool,
) -> bool {
    bytes >= AHEAD_BYTES && !used.any(|used| arriving.clone().any(|recv| meet(&used, &recv)))
}
