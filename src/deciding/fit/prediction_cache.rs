//! A cache of predicted times.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use vocabulary::{Candidate, Cell};

/// The times already predicted with a machine. Simulating takes long, and searches and decisions repeat their queries.
/// A clone starts empty, since the machine it belongs to may be changed.
#[derive(Default)]
pub struct PredictionCache(Mutex<BTreeMap<(Cell, Candidate), Option<f64>>>);

impl PredictionCache {
    /// The time of a candidate in a cell, in seconds, computed by `predict` on the first query.
    pub(crate) fn get_or_predict(
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

impl Clone for PredictionCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Caches do not distinguish machines.
impl PartialEq for PredictionCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for PredictionCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PredictionCache")
    }
}
