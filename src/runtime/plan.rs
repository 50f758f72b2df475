//! What has been decided about calls that have been seen before.

use std::ffi::c_int;

use exec::ApplicationCall;

use crate::call::Key;
use crate::user_handles::UserHandles;

/// How a call is carried out.
#[derive(Debug)]
pub(crate) enum Way {
    /// The library carries it out.
    PassOn,
    /// An algorithm of ours carries it out.
    Ours(Box<ApplicationCall>),
}

/// What has been decided about a call.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) key: Key,
    /// The parts of an `MPI_Reduce_scatter`.
    pub(crate) counts: Box<[c_int]>,
    /// What it relies on that the program may free.
    pub(crate) own: Option<Box<UserHandles>>,
    pub(crate) way: Way,
    /// Where its calls are counted.
    pub(crate) row: usize,
    /// How much longer the library's default takes, by the table's times.
    pub(crate) gain_seconds: f64,
    /// Memory that it may hold, an estimate.
    pub(crate) bytes: u64,
}

impl Plan {
    /// Whether it was made for these parts.
    ///
    /// Two empty slices are not compared: glibc's `memcmp` reads through masks, and a mask of nothing
    /// on the address that an empty slice has, where no memory is, costs a hundred nanoseconds.
    #[inline(always)]
    fn has(&self, counts: &[c_int]) -> bool {
        self.counts.len() == counts.len() && (counts.is_empty() || *self.counts == *counts)
    }

    /// Whether its handles are still what they were.
    #[inline(always)]
    fn is_good(&self) -> bool {
        self.own.as_deref().is_none_or(UserHandles::is_there)
    }
}

/// Plans of one communicator: as many as there are places, and no more memory than allowed.
#[derive(Debug)]
pub(crate) struct Plans {
    places: [Option<Box<Plan>>; PLACES],
    bytes: u64,
}

const BITS: u32 = 6;
const PLACES: usize = 1 << BITS;

/// Bytes of scratch memory that the plans of one communicator may keep between calls.
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
    /// The plan for a call, if there is one.
    #[inline(always)]
    pub(crate) fn find(&mut self, key: &Key, counts: &[c_int]) -> Option<&mut Plan> {
        let plan = self.places[place(key)].as_deref_mut()?;
        (plan.key == *key && plan.has(counts) && plan.is_good()).then_some(plan)
    }

    /// Keeps a plan, in place of one that stands where it goes; of all others too if they would hold
    /// too much memory together, and not at all if it alone does.
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
