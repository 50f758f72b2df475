//! Sign tests, one or many at a time.

/// The probability with which at least `above` of `count` independent values lie above a bound that each
/// lies above with probability one half at most: the sign test of "the median does not lie above the
/// bound", whatever the distribution. 1 without values.
pub fn sign_test(above: u32, count: u32) -> f64 {
    let above = above.min(count);
    // The sum goes from all of them down to `above`, in logarithms, since 2^-n vanishes for large n.
    let mut ln_term = -f64::from(count) * std::f64::consts::LN_2;
    let mut tail = ln_term.exp();
    for below in 1..=count - above {
        ln_term += (f64::from(count - below + 1) / f64::from(below)).ln();
        tail += ln_term.exp();
    }
    tail.min(1.0)
}

/// The fewest values from which a sign test can reach `level` with `contrary` of them on the other side.
/// `level` is positive.
pub fn values_for_sign_test(level: f64, contrary: u32) -> u32 {
    let suffices = |count: &u32| sign_test(count - contrary, *count) <= level;
    (contrary + 1..).find(suffices).unwrap_or(u32::MAX)
}

/// The hypotheses that are refuted if the probability of refuting any true one is to be at most
/// `level`, however they depend on each other (Holm 1979): the smallest probability is compared with
/// `level / n`, the next with `level / (n - 1)`, up to the first that is larger.
pub fn holm(probabilities: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut refuted = vec![false; probabilities.len()];
    for (place, left) in order.into_iter().zip((1..=probabilities.len()).rev()) {
        if probabilities[place] > level / left as f64 {
            break;
        }
        refuted[place] = true;
    }
    refuted
}
