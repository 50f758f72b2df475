//! Pairs of partners among a power of two of positions: in each of `log2 P` steps, every position exchanges with one other.
//!
//! Position 0 has a message, and in steps 0, 1, ... all positions that have it send it to their partners: it reaches
//! every position once; the steps on its way are the position's *path*. Two partners of a step have the same path
//! before that step, so they may halve what is left to both: positions with paths that begin alike hold neighbouring
//! blocks, if the block of a position is its path read with the first step as the highest bit.

/// Which positions are partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// Positions that differ in the bit of the step: distances 1, 2, 4, ...
    Binary,
    /// An even one and the odd one at distance 1, -1, 3, -5, 11, ..., cyclically: two thirds of the distances of
    /// [`Pairing::Binary`], as the digits of a number in base -2 alternate (De Sensi et al. 2025).
    Bine,
}

impl Pairing {
    /// The partner of a position in a step.
    pub(crate) fn partner_position(self, position: u32, step: u32, steps: u32) -> u32 {
        match self {
            Self::Binary => position ^ (1 << step),
            Self::Bine => {
                let distance = (1 - (-2_i64).pow(step + 1)) / 3;
                let signed = if position.is_multiple_of(2) {
                    distance
                } else {
                    -distance
                };
                (i64::from(position) + signed).rem_euclid(1 << steps) as u32
            }
        }
    }

    /// The block of a position.
    pub(crate) fn block_of_position(self, position: u32, steps: u32) -> u32 {
        let path = match self {
            Self::Binary => position,
            Self::Bine => steps_from_first(position, steps, 1),
        };
        in_reverse(path, steps)
    }

    /// The position of a block.
    pub(crate) fn position_of_block(self, block: u32, steps: u32) -> u32 {
        let path = in_reverse(block, steps);
        let taken = (0..steps).filter(|step| path >> step & 1 == 1);
        taken.fold(0, |position, step| {
            self.partner_position(position, step, steps)
        })
    }
}

/// The lowest `bits` bits of a number in the opposite order.
fn in_reverse(number: u32, bits: u32) -> u32 {
    match bits {
        0 => 0,
        _ => number.reverse_bits() >> (u32::BITS - bits),
    }
}

/// The steps on the way from position 0 to another one by Bine's partners, as bits, if the sign of the distance
/// in the lowest of them is `sign`; signs alternate.
///
/// Three times the position is the sum of `sign (1 - (-2)^(step+1))` over these steps, which are found from the
/// lowest digit on; whether the highest is one of them follows from their number, odd for odd positions.
fn steps_from_first(position: u32, steps: u32, mut sign: i64) -> u32 {
    let odd = position % 2;
    let mut rest = (3 * i64::from(position) - i64::from(odd)) / 2;
    let (mut path, last) = (0_u32, steps.saturating_sub(1));
    for step in 0..last {
        if rest % 2 != 0 {
            path |= 1 << step;
            rest -= sign;
            sign = -sign;
        }
        rest /= -2;
    }
    path | ((path.count_ones() % 2) ^ odd) << last
}

/// The place of a position in the Bine tree below position 0: the steps run from the farthest partners to the
/// nearest, and every position that has the message hands it on in each step after the one in which it came.
pub(crate) struct BineBranch {
    /// The position that it comes from; none of position 0.
    pub(crate) parent: Option<u32>,
    /// The positions that it goes to, in this order.
    pub(crate) children: Vec<u32>,
}

impl BineBranch {
    pub(crate) fn new(position: u32, steps: u32) -> Self {
        // The last step on the way has the lowest number; as many signs before it alternate from 1.
        let sign = if position.is_multiple_of(2) { -1 } else { 1 };
        let arrival = match position {
            0 => steps,
            _ => steps_from_first(position, steps, sign).trailing_zeros(),
        };
        let partner = |step| Pairing::Bine.partner_position(position, step, steps);
        Self {
            parent: (position > 0).then(|| partner(arrival)),
            children: (0..arrival).rev().map(partner).collect(),
        }
    }
}
