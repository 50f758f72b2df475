//! Long lists, a page at a time.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The part of a list that is asked for. Lists begin with the newest row; rows are numbered from the oldest one.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Only rows with smaller numbers than this one: `next` of the page before.
    #[serde(default)]
    pub before: Option<u64>,
    /// The most rows: 1 to 200, 50 by default.
    #[serde(default)]
    pub limit: Option<u32>,
}

impl Slice {
    /// The most rows, within bounds.
    pub fn rows(self) -> u32 {
        self.limit.unwrap_or(50).clamp(1, 200)
    }

    /// What the numbers of rows must be less than, for SQL.
    pub(crate) fn end(self) -> i64 {
        let before = self.before.map(i64::try_from);
        before.and_then(Result::ok).unwrap_or(i64::MAX)
    }

    /// How many rows to ask SQL for: one more than are shown, which tells whether there is a next page.
    pub(crate) fn rows_and_one(self) -> i64 {
        i64::from(self.rows()) + 1
    }

    /// The page of what was found with [`Slice::end`] and [`Slice::rows_and_one`], by a row's number.
    pub(crate) fn page<T>(self, mut items: Vec<T>, number: impl Fn(&T) -> u64) -> Page<T> {
        let rows = self.rows() as usize;
        let is_cut = items.len() > rows;
        items.truncate(rows);
        let next = items.last().filter(|_| is_cut).map(number);
        Page { items, next }
    }
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Page<T> {
    /// The rows, newest first.
    pub items: Vec<T>,
    /// What `before` must be for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}
