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
    /// An estimate of the memory that it may keep, in bytes.
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
    bytes: u64,
}

const BITS: u32 = 6;
const PLACES: usize = 1 << BITS;

/// The scratch memory in bytes that the plans of one communicator may keep between calls.
pub(crate) const KEPT_BYTES: u64 = 64 << 20;

impl Default for Plans {
    fn default() -> Self {
        Self {
            places: [const { None }; PLACES],
            bytes: 0,
        }
    }
}

impl Plans {
    /// The plan for a call, if it is known.
    #[inline(always)]
    pub(crate) fn find(&mut self, key: &Key, counts: &[c_int]) -> Option<&mut Plan> {
        let plan = self.places[place(key)].as_deref_mut()?;
        (plan.key == *key && plan.has(counts) && plan.is_good()).then_some(plan)
    }

    /// Stores a plan in place of one with the same index. If all plans together would keep too much memory, the
    /// others are dropped; if this plan alone does, it is not stored.
    pub(crate) fn keep(&mut self, plan: Plan) {
        if plan.bytes > KEPT_BYTES {
            return;
        }
        let at = place(&plan.key);
        self.bytes -= self.places[at].take().map_or(0, |plan| plan.bytes);
        if self.bytes + plan.bytes > KEPT_BYTES {
            *self = Self::default();
        }
        self.bytes += plan.bytes;
        self.places[at] = Some(Box::new(plan));
    }
}

#[inline(always)]
fn place(key: &Key) -> usize {
    (key.hash() >> (u64::BITS - BITS)) as usize
}
