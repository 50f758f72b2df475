//! Plans: decisions about calls that were seen before.

use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;

use exec::ApplicationCall;

use crate::call::Key;
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
    pub(crate) key: Key,
    /// The parts of an `MPI_Reduce_scatter`.
    pub(crate) counts: Box<[c_int]>,
    /// The program's own handles that it depends on.
    pub(crate) own: Option<Box<UserHandles>>,
    pub(crate) way: Way,
    /// The row of the summary that its calls belong to, and the number of that row's calls.
    pub(crate) row: usize,
    pub(crate) calls: Rc<Cell<u64>>,
    /// The additional time of the library's default according to the table, in seconds.
    pub(crate) gain_seconds: f64,
    /// The size in bytes of the buffers that it keeps between calls.
    pub(crate) bytes: u64,
}

impl Plan {
    /// Whether the plan was made for these parts.
    ///
    /// Empty slices are not compared: glibc's `memcmp` uses masked loads, and an empty mask on the unmapped address
    /// of an empty slice costs a hundred nanoseconds.
    #[inline(always)]
    fn has(&self, counts: &[c_int]) -> bool {
        self.counts.len() == counts.len() && (counts.is_empty() || *self.counts == *counts)
    }

    /// Whether its handles are still valid.
    #[inline(always)]
    fn is_good(&self) -> bool {
        self.own.as_deref().is_none_or(UserHandles::is_there)
    }
}

/// The plans of one communicator, limited in number and in memory.
#[derive(Debug)]
pub(crate) struct Plans {
    places: [Option<Box<Plan>>; PLACES],
    /// The place that was searched last. A repeated call finds its plan there without a hash.
    last: usize,
    bytes: u64,
}

const BITS: u32 = 6;
const PLACES: usize = 1 << BITS;

/// The size in bytes of the buffers that the plans of one communicator may keep between calls, unless the latest plan
/// alone has larger ones.
pub(crate) const KEPT_BYTES: u64 = 64 << 20;

impl Default for Plans {
    fn default() -> Self {
        Self {
            places: [const { None }; PLACES],
            last: 0,
            bytes: 0,
        }
    }
}

impl Plans {
    /// The plan for a call, if it is known.
    #[inline(always)]
    pub(crate) fn find(&mut self, key: &Key, counts: &[c_int]) -> Option<&mut Plan> {
        let last = self.places[self.last].as_deref();
        if last.is_none_or(|plan| plan.key != *key) {
            self.last = place(key);
        }
        let plan = self.places[self.last].as_deref_mut()?;
        (plan.key == *key && plan.has(counts) && plan.is_good()).then_some(plan)
    }

    /// Stores a plan in place of one with the same index. If all plans together would keep too much memory, the
    /// largest others are dropped.
    pub(crate) fn keep(&mut self, plan: Plan) {
        let at = place(&plan.key);
        self.drop_at(at);
        while self.bytes > 0 && self.bytes.saturating_add(plan.bytes) > KEPT_BYTES {
            let bytes = |at: &usize| self.places[*at].as_deref().map_or(0, |plan| plan.bytes);
            let Some(largest) = (0..PLACES).max_by_key(bytes) else {
                break;
            };
            self.drop_at(largest);
        }
        self.bytes += plan.bytes;
        self.places[at] = Some(Box::new(plan));
    }

    fn drop_at(&mut self, at: usize) {
        self.bytes -= self.places[at].take().map_or(0, |plan| plan.bytes);
    }
}

#[inline(always)]
fn place(key: &Key) -> usize {
    (key.hash() >> (u64::BITS - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use exec::RawCall;
    use mpi::ffi;
    use schedule::Collective;

    use super::{KEPT_BYTES, Plan, Plans, Way};
    use crate::call::{Key, significant};

    fn key(count: i32) -> Key {
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
            calls: Rc::default(),
            gain_seconds: 0.0,
            bytes,
        }
    }

    /// Keeps plans of these sizes one after the other, and returns which of them are kept in the end.
    fn kept(sizes: &[u64]) -> Vec<usize> {
        let mut plans = Plans::default();
        for (count, bytes) in (1..).zip(sizes) {
            plans.keep(plan(count, *bytes));
        }
        let numbered = (1..).zip(0..sizes.len());
        let found = numbered.filter(|(count, _)| plans.find(&key(*count), &[]).is_some());
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
            plans.keep(plan(1, bytes));
            assert_eq!(plans.bytes, bytes);
        }
    }
}
