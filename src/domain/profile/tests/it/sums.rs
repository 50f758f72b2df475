//! Sums of profiles.

use profile::{CallCost, CallShape, MOST_SHAPES, Profile, Time, add_up};
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

use crate::made::{allreduce, any_profile, job, of_calls, seconds};

fn sum(profiles: &[&Profile]) -> Profile {
    let mut sum = Profile::default();
    for profile in profiles {
        sum.add_profile((*profile).clone());
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_adding_does_not_matter(
        a in any_profile(), b in any_profile(), c in any_profile()
    ) {
        let in_turn = sum(&[&a, &b, &c]);
        prop_assert_eq!(&sum(&[&c, &a, &b]), &in_turn);
        prop_assert_eq!(&sum(&[&a, &sum(&[&b, &c])]), &in_turn);
        prop_assert_eq!(&sum(&[&Profile::default(), &in_turn]), &in_turn);
    }

    #[test]
    fn a_profile_survives_its_file(profile in any_profile()) {
        let text = profile.to_json();
        prop_assert_eq!(Profile::from_json(&text).expect("a profile"), profile);
    }

    #[test]
    fn bounding_keeps_the_sums(profile in any_profile(), most in 1..8_usize) {
        let mut bounded = profile.clone();
        bounded.bound(most);
        assert!(bounded.calls.len() <= most, "{bounded:?}");
        let total = |of: &Profile| {
            let mut total = CallCost::default();
            of.calls.values().for_each(|tally| total.add_calls(tally));
            total
        };
        prop_assert_eq!(total(&bounded), total(&profile));
    }
}

#[test]
fn the_shapes_with_the_least_time_become_one() {
    let tally = |nanoseconds| CallCost {
        calls: 1,
        time: Time::from_nanoseconds(nanoseconds),
        ..CallCost::default()
    };
    let mut profile = Profile::default();
    for ranks in 0..=MOST_SHAPES as u32 {
        let mut shape = allreduce(8);
        if let Some(communicator) = &mut shape.communicator {
            communicator.ranks = ranks;
        }
        profile.add_profile(of_calls(
            "a",
            [(shape, tally(1000 - u64::from(ranks.min(999))))],
        ));
    }
    assert_eq!(profile.calls.len(), MOST_SHAPES);
    // One shape had to go for the surplus one, and another one for the place of both.
    assert_eq!(profile.calls[&CallShape::other()].calls, 2);
}

/// The names of the profiles that count in others.
fn repeated(profiles: &[(&str, &Profile)]) -> Vec<String> {
    let named = profiles
        .iter()
        .map(|(name, profile)| ((*name).to_owned(), (*profile).clone()));
    add_up(named).repeated
}

#[test]
fn what_is_there_twice_counts_once() {
    let cost = CallCost {
        calls: 4,
        time: seconds(1),
        ..CallCost::default()
    };
    let whole = of_calls("one", [(allreduce(8), cost.clone())]);
    let other = of_calls("two", [(allreduce(8), cost)]);
    let part = |number: u64| {
        let mut part = whole.clone();
        let parts = [number].into();
        part.jobs
            .insert("one".to_owned(), profile::RecordedJob { parts, ..job() });
        part
    };
    let (first, second) = (part(0), part(2));
    assert_eq!(
        repeated(&[("a", &whole), ("b", &whole), ("c", &other)]),
        ["b"]
    );
    assert_eq!(
        repeated(&[("a", &first), ("b", &second), ("c", &first)]),
        ["c"]
    );
    // The whole has the parts, whichever is read first.
    assert_eq!(
        repeated(&[("a", &first), ("b", &second), ("c", &whole)]),
        ["a", "b"]
    );
    let named =
        [("a", &whole), ("b", &other)].map(|(name, profile)| (name.to_owned(), profile.clone()));
    assert_eq!(add_up(named).profile.calls[&allreduce(8)].calls, 8);
}
