//! Positions numbered with digits of up to a given radix, the lowest digit first.

/// The radix of every digit, of which the product is the number of positions for `ranks`, at least two.
///
/// All ranks have positions if their number is a product of numbers up to `radix`. Otherwise there are
/// `d radix^t` positions, `d < radix`, as many as possible and more than half of the ranks.
pub(crate) fn digits(radix: u32, ranks: u32) -> Vec<u32> {
    bounded_factors(radix, ranks).unwrap_or_else(|| {
        let (mut digits, mut rest) = (Vec::new(), ranks);
        while rest >= radix {
            digits.push(radix);
            rest /= radix;
        }
        digits.extend((rest > 1).then_some(rest));
        digits
    })
}

/// Numbers up to `radix` of which `ranks` is the product, the largest first.
fn bounded_factors(radix: u32, ranks: u32) -> Option<Vec<u32>> {
    let most = ranks.ilog2() as usize;
    let (mut factors, mut rest) = (Vec::with_capacity(most), ranks);
    while rest > 1 {
        let factor = (2..=radix.min(rest))
            .rev()
            .find(|d| rest.is_multiple_of(*d))?;
        factors.push(factor);
        rest /= factor;
    }
    Some(factors)
}
