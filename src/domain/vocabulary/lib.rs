//! The vocabulary of all stages: cells, candidates, experiments, samples and units.
//!
//! A [`Candidate`] is measured in a [`Cell`], on a communicator of a [`CommShape`], which gives a [`Sample`]. All types
//! are written to files or read from them; this crate neither measures nor decides. Times are in seconds, sizes in
//! bytes.
#![doc = ""]
#![doc = include_str!("glossary.md")]

mod ahead;
mod alike;
pub mod bounds;
mod candidate;
mod cell;
pub mod defaults;
mod error_kind;
mod experiment;
mod library;
mod method;
mod mockup;
mod node;
mod order;
mod placement;
mod progress;
mod sample;
mod serving;
mod shell;
pub mod units;
mod warning;
mod world;

pub use ahead::{AHEAD_BYTES, is_posted_ahead};
pub use alike::out_of_order;
pub use candidate::{Candidate, CandidateParts, NativeAlgorithm, Parameters, Through};
pub use cell::{Cell, CommShape, Datatype, Operator, collective_name, read_distributions};
pub use error_kind::ErrorKind;
pub use experiment::{Experiment, ExperimentKind};
pub use library::Library;
pub use method::{
    CacheState, Elimination, NONBLOCKING, Pattern, Purpose, Racing, Repetition, Synchronisation,
};
pub use mockup::{MOCKUPS, Mockup};
pub use node::Node;
pub use order::{RankOrder, RankPlace};
pub use placement::Placement;
pub use progress::CampaignProgress;
pub use sample::{Sample, Subject};
pub use schedule::Distribution;
pub use serving::ServingComponent;
pub use shell::quote_for_shell;
pub use warning::Warning;
pub use world::World;
