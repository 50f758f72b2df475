//! Plans: decisions about calls that were seen before.
//!
//! A communicator keeps the plans of up to 128 calls, eight for each of 16 values of the key's hash, so that calls
//! which a program makes in turn are not planned anew. MPI may reuse the handle of a freed object for another one, so a
//! plan also records what became of the program's own handles (`user_handles.rs`).

use std::ffi::c_int;
use std::ops::Range;
use std::sync::Arc;

use exec::{ApplicationCall, PartCounts};

use crate::call::CallKey;
use crate::threads::CallCounter;
use crate::user_handles::UserHandles;

/// The way a call is carried out.
#[derive(Debug)]
pub(crate) enum Way {
    /// The library carries it out.
    PassOn,
    /// One of our algorithms carries it out.
    Ours(Box<ApplicationCall>),
}

/// A decision about a call.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) key: CallKey,
    /// The parts of an `MPI_Reduce_scatter`.
    pub(crate) counts: Box<[c_int]>,
    /// The program's own handles that it depends on.
    pub(crate) own: Option<Box<UserHandles>>,
    pub(crate) way: Way,
    /// The row of the summary that its calls belong to, and the number of that row's calls.
    pub(crate) row: usize,
    pub(crate) calls: Arc<CallCounter>,
    /// The additional time of the library's default according to the table, in seconds.
    pub(crate) gain_seconds: f64,
    /// The size in bytes of the buffers that it keeps between calls.
    pub(crate) bytes: u64,
    /// The distance of the input from the output, in bytes, at which both are the same memory and the library refuses
    /// the call; only in collectives with parts, since the key has the same addresses.
    pub(crate) refused_distance: Option<isize>,
}

impl Plan {
    /// Whether the plan was made for a call like this one.
    #[inline(always)]
    fn is_for(&self, key: &CallKey, counts: PartCounts<'_>) -> bool {
        self.key == *key && counts.are_same_as(&self.counts)
    }

    /// Whether its handles are still valid.
    #[inline(always)]
    fn has_valid_handles(&self) -> bool {
        self.own.as_deref().is_none_or(UserHandles::is_there)
    }
}

/// The plans of one communicator, limited in number and in memory.
///
/// The hash of a call's key chooses a set of places, so that calls which a program makes in turn keep their plans even
/// if some of them have the same hash: planning takes longer than many of the calls. If a set is full, a further call
/// takes the place of the plan that was stored first.
#[derive(Debug)]
pub(crate) struct Plans {
    /// The sets one after the other, each from the latest plan to the earliest.
    places: [Option<Box<Plan>>; SETS * SET_PLACES],
    /// The index of the plan that was found or stored last. A repeated call finds its plan there without a hash.
    last: usize,
    bytes: u64,
}

const SET_BITS: u32 = 4;
const SETS: usize = 1 << SET_BITS;

/// The number of places of a set: as many as a cache line has addresses.
const SET_PLACES: usize = 8;

/// The size in bytes of the buffers that the plans of one communicator may keep between calls, unless the latest plan
/// alone has larger ones.
pub(crate) const KEPT_BYTES: u64 = 64 << 20;

impl Default for Plans {
    fn default() -> Self {
        Self {
            places: [const { None }; SETS * SET_PLACES],
            last: 0,
            bytes: 0,
        }
    }
}

impl Plans {
    /// The plan for a call, if it is known.
    #[inline(always)]
    pub(crate) fn find_plan(&mut self, key: &CallKey, counts: PartCounts<'_>) -> Option<&mut Plan> {
        let last = self.places[self.last].as_deref();
        if last.is_none_or(|plan| !plan.is_for(key, counts)) {
            self.last = self.find_index(key, counts)?;
        }
        let plan = self.places[self.last].as_deref_mut()?;
        plan.has_valid_handles().then_some(plan)
    }

    /// The index of a call's plan.
    fn find_index(&self, key: &CallKey, counts: PartCounts<'_>) -> Option<usize> {
        let is_for = |plan: &Plan| plan.is_for(key, counts);
        set_of(key).find(|at| self.places[*at].as_deref().is_some_and(is_for))
    }

    /// Stores a plan, in place of one for the same call or, if the set is full, of its earliest. If all plans together
    /// would keep too much memory, the largest others are dropped. Plans for calls that cannot be recognised are not
    /// stored.
    pub(crate) fn store_plan(&mut self, plan: Plan) {
        if plan.key.is_large() {
            return;
        }
        let set = set_of(&plan.key);
        let at = self.find_index(&plan.key, PartCounts::Int(&plan.counts));
        let at = at.or_else(|| set.clone().find(|place| self.places[*place].is_none()));
        let at = at.unwrap_or(set.end - 1);
        self.drop_at(at);
        while self.bytes > 0 && self.bytes.saturating_add(plan.bytes) > KEPT_BYTES {
            let bytes = |place: &usize| {
                self.places[*place]
                    .as_deref()
                    .map_or(0, |stored| stored.bytes)
            };
            let Some(largest) = (0..self.places.len()).max_by_key(bytes) else {
                break;
            };
            self.drop_at(largest);
        }
        self.bytes += plan.bytes;
        self.places[at] = Some(Box::new(plan));
        self.places[set.start..=at].rotate_right(1);
        self.last = set.start;
    }

    fn drop_at(&mut self, at: usize) {
        self.bytes -= self.places[at].take().map_or(0, |plan| plan.bytes);
    }
}

/// The places of the set that a call belongs to.
#[inline(always)]
fn set_of(key: &CallKey) -> Range<usize> {
    let start = SET_PLACES * (key.hash() >> (u64::BITS - SET_BITS)) as usize;
    start..start + SET_PLACES
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use exec::{PartCounts, RawCall};
    use mpi::ffi;
    use schedule::Collective;

    use super::{KEPT_BYTES, Plan, Plans, SET_PLACES, Way, set_of};
    use crate::call::{CallKey, significant};

    fn key(count: impl Into<i64>) -> CallKey {
        // SAFETY: a constant of the library.
        let datatype = unsafe { ffi::RSMPI_INT32_T };
        let (send, recv) = (std::ptr::null(), std::ptr::null_mut());
        let call = RawCall::new(Collective::Bcast, send, recv, count, datatype);
        significant(call, 0).1
    }

    fn plan(count: i32, bytes: u64) -> Plan {
        Plan {
            key: key(count),
            counts: Box::default(),
            own: None,
            way: Way::PassOn,
            row: 0,
            calls: Arc::default(),
            gain_seconds: 0.0,
            bytes,
            refused_distance: None,
        }
    }

    /// Keeps plans of these sizes one after the other, and returns which of them are kept in the end.
    fn kept(sizes: &[u64]) -> Vec<usize> {
        let mut plans = Plans::default();
        for (count, bytes) in (1..).zip(sizes) {
            plans.store_plan(plan(count, *bytes));
        }
        let numbered = (1..).zip(0..sizes.len());
        let found = numbered.filter(|(count, _)| {
            plans
                .find_plan(&key(*count), PartCounts::Int(&[]))
                .is_some()
        });
        let found: Vec<usize> = found.map(|(_, place)| place).collect();
        let bytes: u64 = found.iter().map(|place| sizes[*place]).sum();
        assert_eq!(plans.bytes, bytes, "{sizes:?}");
        found
    }

    #[test]
    fn the_largest_plans_give_way_to_the_latest() {
        const THIRD: u64 = KEPT_BYTES / 3;
        assert_eq!(kept(&[THIRD, THIRD, THIRD]), [0, 1, 2]);
        assert_eq!(kept(&[THIRD, 2 * THIRD, 0, THIRD]), [0, 2, 3]);
        assert_eq!(kept(&[0, THIRD, KEPT_BYTES]), [0, 2]);
        assert_eq!(kept(&[0, THIRD, 2 * KEPT_BYTES]), [0, 2]);
        assert_eq!(kept(&[2 * KEPT_BYTES, THIRD, THIRD]), [1, 2]);
    }

    #[test]
    fn a_plan_replaces_that_of_the_same_call() {
        let mut plans = Plans::default();
        for bytes in [KEPT_BYTES, 2 * KEPT_BYTES, 5] {
            plans.store_plan(plan(1, bytes));
            assert_eq!(plans.bytes, bytes);
        }
    }

    /// Counts whose calls belong to one set.
    fn together() -> impl Iterator<Item = i32> {
        (1..).filter(|count| set_of(&key(*count)) == set_of(&key(1)))
    }

    #[test]
    fn calls_of_the_same_set_keep_their_plans() {
        let mut plans = Plans::default();
        for count in together().take(SET_PLACES) {
            plans.store_plan(plan(count, 1));
        }
        for count in together()
            .take(SET_PLACES)
            .chain(together().take(SET_PLACES))
        {
            assert!(
                plans.find_plan(&key(count), PartCounts::Int(&[])).is_some(),
                "{count}"
            );
        }
        assert_eq!(plans.bytes, SET_PLACES as u64);
    }

    #[test]
    fn the_earliest_plan_of_a_full_set_gives_way() {
        let mut plans = Plans::default();
        for count in together().take(SET_PLACES + 2) {
            plans.store_plan(plan(count, 1));
        }
        let is_kept = |count: i32| plans.find_plan(&key(count), PartCounts::Int(&[])).is_some();
        let kept: Vec<bool> = together().take(SET_PLACES + 2).map(is_kept).collect();
        assert_eq!(kept[..2], [false; 2]);
        assert_eq!(kept[2..], [true; SET_PLACES]);
        assert_eq!(plans.bytes, SET_PLACES as u64);
    }

    #[test]
    fn calls_whose_counts_no_int_holds_have_no_plans() {
        let large = key((1_i64 << 32) + 5);
        let mut plans = Plans::default();
        plans.store_plan(plan(5, 0));
        plans.store_plan(Plan {
            key: large,
            ..plan(5, 0)
        });
        assert!(plans.find_plan(&key(5), PartCounts::Int(&[])).is_some());
        assert!(plans.find_plan(&large, PartCounts::Int(&[])).is_none());
    }

    #[test]
    fn large_parts_are_compared_as_numbers() {
        let mut plans = Plans::default();
        plans.store_plan(Plan {
            counts: Box::new([1, 2]),
            ..plan(3, 0)
        });
        let mut is_found =
            |parts: &[i64]| plans.find_plan(&key(3), PartCounts::Large(parts)).is_some();
        assert!(is_found(&[1, 2]));
        for others in [&[2, 1][..], &[1, 2 + (1 << 32)], &[1], &[1, 2, 3]] {
            assert!(!is_found(others), "{others:?}");
        }
        let large = [1, 1 << 31];
        assert_eq!(PartCounts::Large(&large).as_int(), None);
    }

    #[test]
    fn reduce_scatters_with_other_parts_have_plans_of_their_own() {
        let mut plans = Plans::default();
        let parts: [Box<[i32]>; 2] = [Box::new([1, 2]), Box::new([2, 1])];
        for counts in parts.clone() {
            plans.store_plan(Plan {
                counts,
                ..plan(3, 0)
            });
        }
        for counts in &parts {
            let found = plans
                .find_plan(&key(3), PartCounts::Int(counts))
                .expect("a plan");
            assert_eq!(found.counts, *counts);
        }
        assert!(plans.find_plan(&key(3), PartCounts::Int(&[3, 0])).is_none());
    }
}
