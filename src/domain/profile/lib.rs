//! Profiles: what the collectives of programs cost, by communicator and form of call.
//!
//! `libcolltune.so` records a [`Profile`] of each job, and the command line reads it. A profile has the job (`job.rs`)
//! and a [`CallCost`] (`cost.rs`) for each [`CallShape`] (`shape.rs`). Profiles add up ([`Profile::add_profile`]): those of the
//! nodes of one job in a tree when it ends, those of many jobs when they are read. The sum does not depend on the order,
//! because times are whole nanoseconds ([`Time`]).
//!
//! # Bounded size
//!
//! A profile has at most [`MOST_SHAPES`] shapes. When there are more, those with the least time become one that is called
//! `other` ([`CallShape::other`]): nothing is lost from the sums, and memory does not grow with the length of a job.
//!
//! # Waiting
//!
//! A rank that comes early waits inside the collective for the one that comes last, and no algorithm helps there. The
//! recorder compares the times at which ranks arrive in some of the calls, so a tally has the time in these calls and the
//! part of it before the last rank came. [`CallCost::waiting_share`] extends that to all calls of the shape.
//!
//! # Tables in use
//!
//! The module [`usage`] is about another kind of file: lines about jobs that were given a table.
//!
//! # The file
//!
//! JSON, with a line for each shape (`file.rs`). A reader refuses what it does not know, with the line and the column.

mod cost;
mod file;
mod job;
mod overview;
mod shape;
mod sum;
mod time;
pub mod usage;

pub use cost::CallCost;
pub use file::{FORMAT, ProfileError, VERSION};
pub use job::{ComparedRanks, RecordedJob};
pub use overview::{JobsOverview, Overview, ShapeOverview};
pub use shape::{CallShape, CommunicatorClass, Form, MadeBy, Root, SizeClass};
pub use sum::{AddedUp, add_up};
pub use time::Time;

use std::collections::BTreeMap;

/// The most shapes of a profile.
pub const MOST_SHAPES: usize = 4096;

/// What the collectives of some jobs cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The jobs, or the parts of them, by their identities.
    pub jobs: BTreeMap<String, RecordedJob>,
    /// The calls of all ranks.
    pub calls: BTreeMap<CallShape, CallCost>,
}

impl Profile {
    /// Adds another profile of other jobs, or of other ranks of the same job. The sum does not depend on the order.
    pub fn add_profile(&mut self, other: Self) {
        for (id, job) in other.jobs {
            match self.jobs.get_mut(&id) {
                Some(known) => known.add_ranks(&job),
                None => {
                    self.jobs.insert(id, job);
                }
            }
        }
        for (shape, tally) in other.calls {
            self.add_calls(shape, &tally);
        }
        self.bound(MOST_SHAPES);
    }

    /// Adds calls of a shape.
    pub fn add_calls(&mut self, shape: CallShape, tally: &CallCost) {
        self.calls.entry(shape).or_default().add_calls(tally);
    }

    /// Lets the shapes with the least time become [`CallShape::other`] until there are no more than `most`.
    pub fn bound(&mut self, most: usize) {
        if self.calls.len() <= most {
            return;
        }
        let mut by_time: Vec<(Time, CallShape)> = self
            .calls
            .iter()
            .map(|(shape, tally)| (tally.time, shape.clone()))
            .filter(|(_, shape)| *shape != CallShape::other())
            .collect();
        by_time.sort_unstable();
        // One place is for the others together.
        let surplus = by_time.len().saturating_sub(most.saturating_sub(1));
        for (_, shape) in by_time.into_iter().take(surplus) {
            if let Some(tally) = self.calls.remove(&shape) {
                self.add_calls(CallShape::other(), &tally);
            }
        }
    }
}
