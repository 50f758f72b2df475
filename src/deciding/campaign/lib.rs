//! Reads campaign files and validates them.
//!
//! A [`Campaign`] is read from strict YAML, where every mistake is an error with file, line, field and remedy. It lists
//! its [cells](Campaign::cells), [candidates](Campaign::candidates) and [experiments](Campaign::experiments). This
//! crate knows neither how programs are started nor how results are stored.
//!
//! ```
//! let text = "name: small\ncollectives: [bcast]\nshapes: [1x2]\nsizes: 8..64 x8\n";
//! let campaign = campaign::Campaign::parse(text, "small.yaml".as_ref())?;
//! assert_eq!(campaign.cells().len(), 2);
//! # Ok::<(), campaign::CampaignError>(())
//! ```
//!
//! # What makes a campaign the same
//!
//! A campaign's digest names it in stores, plans and tables (`digest.rs`). The fixtures of released versions in the
//! tests of `cli` hold a store, tables, a machine file and a job folder that every later version must read and
//! continue.

mod campaign;
mod candidates;
mod cells;
mod defaults;
mod definition;
mod digest;
mod error;
mod experiments;
mod from_profile;
mod launching;
mod natives;
mod problem;
mod template;
mod traffic;
mod validate;

pub use campaign::{
    Campaign, ConfirmationMode, Output, ParameterGrid, Repetitions, Strategy, TimeSlice,
};
pub use candidates::{Candidates, Family, Selection};
pub use defaults::DefaultsVersion;
pub use error::CampaignError;
pub use from_profile::profile_template;
pub use launching::{LauncherConfig, SimulatedOptions};
pub(crate) use problem::Problem;
pub use template::{REFERENCE, init_template};
pub use traffic::ProgramCalls;
