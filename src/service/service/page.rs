//! Long lists, a page at a time.

use serde::Deserialize;
use utoipa::IntoParams;

use crate::Page;

/// The part of a list that a request asks for. Lists start with the newest row; numbers count from the oldest one.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Only rows with numbers below this one: `next` of the page before.
    pub before: Option<u64>,
    /// The most rows: 1 to 200, 50 by default.
    pub limit: Option<u32>,
}

impl Slice {
    /// The most rows, within bounds.
    pub fn row_limit(self) -> u32 {
        self.limit.unwrap_or(50).clamp(1, 200)
    }

    /// The exclusive upper bound of row numbers, for SQL.
    pub(crate) fn upper_bound(self) -> i64 {
        let before = self.before.map(i64::try_from);
        before.and_then(Result::ok).unwrap_or(i64::MAX)
    }

    /// The number of rows to query: one more than a page shows, to find out whether there is a next page.
    pub(crate) fn rows_to_query(self) -> i64 {
        i64::from(self.row_limit()) + 1
    }

    /// Makes the page from the rows found with [`Slice::upper_bound`] and [`Slice::rows_to_query`]; `number` gives a
    /// row's number.
    pub(crate) fn to_page<T>(self, mut items: Vec<T>, number: impl Fn(&T) -> u64) -> Page<T> {
        let rows = self.row_limit() as usize;
        let is_cut = items.len() > rows;
        items.truncate(rows);
        let next = items.last().filter(|_| is_cut).map(number);
        Page { items, next }
    }
}
