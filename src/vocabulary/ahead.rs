//! Which receives are posted before their round.

/// The fewest bytes of receives that are posted a round ahead: those are worth more than the calls
/// that they cost, for the library then need not keep the data, or the sender, waiting.
pub const AHEAD_BYTES: u64 = 8 << 10;

/// Whether the receives of a round, of `bytes` together, are posted with the round before it: if they are long
/// enough and write nothing that it uses. Rounds that move nothing are left out, and the first round of a call has
/// none before it.
///
/// `used` is all that the round before sends, receives, reads or writes, `arriving` what the receives write, and
/// `meet` tells whether two of these have memory in common.
#[inline]
pub fn is_posted_ahead<U, A>(
    bytes: u64,
    mut used: impl Iterator<Item = U>,
    arriving: impl Iterator<Item = A> + Clone,
    meet: impl Fn(&U, &A) -> bool,
) -> bool {
    bytes >= AHEAD_BYTES && !used.any(|used| arriving.clone().any(|recv| meet(&used, &recv)))
}
