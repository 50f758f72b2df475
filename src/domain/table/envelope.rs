//! The lowest of several straight lines.
//!
//! Its crossings are thresholds of rules, in logarithms of size and time: between measured shapes here, and between
//! measured sizes in the crate `fit`.

/// The places between the low end (0) and the high end (1) at which another line becomes the lowest, each with the
/// index of that line, in ascending order. A line is given by its values at both ends; a line with an unknown value is
/// ignored. `first` is the line that is the lowest at the low end.
pub fn lowest_line_changes(lines: &[Option<[f64; 2]>], first: usize) -> Vec<(f64, usize)> {
    let mut changes = Vec::new();
    let (mut at, mut lowest) = (0.0, first);
    while let Some(Some([low, high])) = lines.get(lowest) {
        let crossing = |(place, line): (usize, &Option<[f64; 2]>)| {
            let [above, below] = [(*line)?[0] - low, high - (*line)?[1]];
            let share = above / (above + below);
            let is_later = below > 0.0 && above + below > 0.0 && share >= at;
            (is_later && place != lowest).then_some((share, above + below, place))
        };
        let others = lines.iter().enumerate().filter_map(crossing);
        // If several lines cross at the same place, the steepest is the lowest behind it.
        let next = others.min_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let Some((share, _, place)) = next else {
            break;
        };
        changes.push((share, place));
        (at, lowest) = (share, place);
    }
    changes
}

/// The index of the lowest known value; of equal ones, the first.
pub fn index_of_lowest(values: impl Iterator<Item = Option<f64>>) -> Option<usize> {
    let known = values
        .enumerate()
        .filter_map(|(place, value)| Some((place, value?)));
    let lowest = known.min_by(|a, b| a.1.total_cmp(&b.1));
    lowest.map(|(place, _)| place)
}
