//! The rows of the summary for calls that are left to the library again and again, without a lock or a text for each.

use std::sync::Arc;

use schedule::Collective;

use crate::serve::{ServedCall, left_to_library};
use crate::threads::CallCounter;
use crate::{Dispatcher, FallbackReason};

/// The rows for calls on one communicator that are left to the library although others of their collective may be ours.
#[derive(Debug, Default)]
pub(crate) struct LeftRows(Vec<LeftRow>);

#[derive(Debug)]
struct LeftRow {
    collective: Collective,
    reason: FallbackReason,
    row: usize,
    calls: Arc<CallCounter>,
}

impl LeftRows {
    fn find_row(&self, collective: Collective, reason: FallbackReason) -> Option<&LeftRow> {
        let mut known = self.0.iter();
        known.find(|left| left.collective == collective && left.reason == reason)
    }
}

impl Dispatcher {
    /// Counts a call, and leaves it to the library.
    pub(crate) fn leave_call(
        &self,
        rows: &mut LeftRows,
        collective: Collective,
        reason: FallbackReason,
    ) -> ServedCall {
        if let Some(known) = rows.find_row(collective, reason) {
            return left_to_library(known.row, &known.calls);
        }
        let (row, calls) = self.left_row(rows, collective, reason);
        left_to_library(row, &calls)
    }

    /// The row for calls that are left to the library, and the number of these.
    pub(crate) fn left_row(
        &self,
        rows: &mut LeftRows,
        collective: Collective,
        reason: FallbackReason,
    ) -> (usize, Arc<CallCounter>) {
        if let Some(known) = rows.find_row(collective, reason) {
            return (known.row, Arc::clone(&known.calls));
        }
        let row = self.passed_row(collective, reason);
        let calls = self.row_counter(row);
        rows.0.push(LeftRow {
            collective,
            reason,
            row,
            calls: Arc::clone(&calls),
        });
        (row, calls)
    }
}
