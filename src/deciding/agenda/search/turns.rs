//! The order in which measurements are made, for the case that time does not suffice for all.

use std::collections::{BTreeMap, VecDeque};

/// The most items of a kind in a round.
const MOST_IN_A_ROUND: f64 = 3.0;

/// Takes items of each kind in turns: in each round one of every kind, and up to three of those with most at stake; kinds
/// in ascending order, items of a kind in the given order. So if only the first items are measured, each kind has its
/// share, and those that may gain most have more. Without any stakes the shares are equal.
pub fn take_in_turns<T, K: Ord>(
    items: Vec<T>,
    kind: impl Fn(&T) -> K,
    stake: impl Fn(&K) -> f64,
) -> Vec<T> {
    let mut kinds: BTreeMap<K, VecDeque<T>> = BTreeMap::new();
    for item in items {
        kinds.entry(kind(&item)).or_default().push_back(item);
    }
    let most = kinds.keys().map(&stake).fold(0.0, f64::max);
    let in_a_round = |key: &K| -> usize {
        if most <= 0.0 {
            return 1;
        }
        let share = (stake(key) / most).clamp(0.0, 1.0);
        (1.0 + (MOST_IN_A_ROUND - 1.0) * share).round() as usize
    };
    let mut ordered = Vec::new();
    while !kinds.is_empty() {
        for (key, left) in &mut kinds {
            let count = in_a_round(key).min(left.len());
            ordered.extend(left.drain(..count));
        }
        kinds.retain(|_, left| !left.is_empty());
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::take_in_turns;

    const ITEMS: [&str; 9] = ["a1", "a2", "a3", "a4", "c1", "c2", "b1", "b2", "b3"];

    fn ordered(stake: impl Fn(&u8) -> f64) -> String {
        take_in_turns(ITEMS.to_vec(), |item| item.as_bytes()[0], stake).join(" ")
    }

    #[test]
    fn each_kind_has_an_equal_share_without_stakes() {
        assert_eq!(ordered(|_| 0.0), "a1 b1 c1 a2 b2 c2 a3 b3 a4");
        assert!(take_in_turns(Vec::<u8>::new(), |item| *item, |_| 1.0).is_empty());
    }

    #[test]
    fn kinds_with_more_at_stake_have_more_and_all_have_some() {
        let stake = |kind: &u8| match kind {
            b'a' => 0.4,
            b'b' => 0.2,
            _ => 0.0,
        };
        assert_eq!(ordered(stake), "a1 a2 a3 b1 b2 c1 a4 b3 c2");
    }
}
