//! Predictions that were made already.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use vocabulary::{Candidate, Cell};

/// The times that a machine was asked for: simulating takes long, and searches and decisions ask again and
/// again. A clone begins anew, since what it is a part of may be changed.
#[derive(Default)]
pub struct Foreseen(Mutex<BTreeMap<(Cell, Candidate), Option<f64>>>);

impl Foreseen {
    /// The time of a candidate in a cell, in seconds: `predict` says it the first time.
    pub(crate) fn seconds(
        &self,
        cell: &Cell,
        candidate: &Candidate,
        predict: impl FnOnce() -> Option<f64>,
    ) -> Option<f64> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (*cell, candidate.clone());
        *known.entry(key).or_insert_with(predict)
    }
}

impl Clone for Foreseen {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// What follows from a machine makes no difference between two.
impl PartialEq for Foreseen {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Foreseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Foreseen")
    }
}
