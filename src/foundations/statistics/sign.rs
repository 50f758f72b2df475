//! Sign tests, one or many at a time.

/// The sign test of the hypothesis that the median does not lie above a bound, whatever the distribution: the
/// probability that at least `above` of `count` independent values exceed the bound, if each does so with probability
/// one half. 1 if there are no values.
pub fn sign_test(above: u32, count: u32) -> f64 {
    let above = above.min(count);
    // The sum goes from `count` down to `above`, in logarithms, since 2^-n underflows for large n.
    let mut ln_term = -f64::from(count) * std::f64::consts::LN_2;
    let mut tail = ln_term.exp();
    for below in 1..=count - above {
        ln_term += (f64::from(count - below + 1) / f64::from(below)).ln();
        tail += ln_term.exp();
    }
    tail.min(1.0)
}

/// The fewest values with which a sign test reaches the positive `level` although `contrary` of them lie on the other
/// side.
pub fn values_for_sign_test(level: f64, contrary: u32) -> u32 {
    let suffices = |count: &u32| sign_test(count - contrary, *count) <= level;
    (contrary + 1..).find(suffices).unwrap_or(u32::MAX)
}

/// For each hypothesis, whether it is rejected when the probability of rejecting any true one may be at most `level`,
/// however the hypotheses depend on each other (Holm 1979): the smallest of the p-values `probabilities` is compared
/// with `level / n`, the next with `level / (n - 1)`, up to the first that is larger.
pub fn holm_rejections(probabilities: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut rejected = vec![false; probabilities.len()];
    for (place, left) in order.into_iter().zip((1..=probabilities.len()).rev()) {
        if probabilities[place] > level / left as f64 {
            break;
        }
        rejected[place] = true;
    }
    rejected
}
