//! The order in which measurements are made, for the case that time does not suffice for all.

use std::collections::{BTreeMap, VecDeque};

/// Takes items of each kind in turns: the first of each kind, then the second of each, and so on; kinds in ascending
/// order, items of a kind in the given order. So if only the first items are measured, each kind has its share.
pub fn take_in_turns<T, K: Ord>(items: Vec<T>, kind: impl Fn(&T) -> K) -> Vec<T> {
    let mut kinds: BTreeMap<K, VecDeque<T>> = BTreeMap::new();
    for item in items {
        kinds.entry(kind(&item)).or_default().push_back(item);
    }
    let mut ordered = Vec::new();
    while !kinds.is_empty() {
        ordered.extend(kinds.values_mut().filter_map(VecDeque::pop_front));
        kinds.retain(|_, left| !left.is_empty());
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::take_in_turns;

    #[test]
    fn each_kind_has_its_share_of_the_first_items() {
        let items = vec!["a1", "a2", "a3", "c1", "b1", "b2"];
        let ordered = take_in_turns(items, |item| item.as_bytes()[0]);
        assert_eq!(ordered, ["a1", "b1", "c1", "a2", "b2", "a3"]);
        assert!(take_in_turns(Vec::<u8>::new(), |item| *item).is_empty());
    }
}
