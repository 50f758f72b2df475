//! Lookups without a lock under loom, which tries all interleavings and all values that a load may see.

use loom::sync::Arc;
use loom::thread;

use steady::SteadyPair;

#[path = "../../steady.rs"]
mod steady;

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
}

/// The keys of two communicators: the second one takes the place of the first, whose key a third one gets.
const FIRST: u64 = 7;
const SECOND: u64 = 8;

/// Looks a key up while the pair changes twice, and checks that the value is one that the key has had.
fn check(key: u64, values: &'static [usize]) {
    let mut model = loom::model::Builder::new();
    // All interleavings with up to this many switches where a thread could go on.
    model.preemption_bound = Some(3);
    model.check(move || {
        let pair = Arc::new(SteadyPair::new(FIRST, 1));
        let changed = Arc::clone(&pair);
        let writer = thread::spawn(move || {
            changed.replace(SECOND, 2);
            changed.replace(FIRST, 3);
        });
        let found = pair.find_value(key);
        assert!(
            found.is_none_or(|value| values.contains(&value)),
            "{found:?}"
        );
        writer.join().expect("it ends");
        assert_eq!(pair.find_value(FIRST), Some(3));
        assert_eq!(pair.current(), (FIRST, 3));
    });
}

#[test]
fn a_state_is_never_found_by_the_key_of_another() {
    check(FIRST, &[1, 3]);
    check(SECOND, &[2]);
}

/// A state that has been removed is not found by a thread that knows about it.
#[test]
fn a_removed_state_is_not_found_afterwards() {
    loom::model(|| {
        let pair = Arc::new(SteadyPair::new(FIRST, 1));
        let changed = Arc::clone(&pair);
        let writer = thread::spawn(move || changed.replace(0, 0));
        writer.join().expect("it ends");
        assert_eq!(pair.find_value(FIRST), None);
    });
}
