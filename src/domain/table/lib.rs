//! Decision tables: which candidate to use for a collective, communicator shape, operator class,
//! deployment and message size.
//!
//! A [`Table`] is read from a YAML file made for review: [`Table::load`] returns a table whose every rule can be
//! carried out, or an error that names the line to change. [`Table::lookup`] answers a [`Query`], [`dispatch`] does so
//! in a few nanoseconds; [`Table::save`] writes a file that reads back equal. Sizes are bytes, times are seconds in
//! memory and microseconds in the file.
//!
//! ```
//! use schedule::Collective;
//! use table::{Deployment, OperatorClass, Query, Table};
//! use vocabulary::{CommShape, RankOrder};
//!
//! let text = r#"
//! format: colltune-table 3
//! name: example
//! provenance:
//!   campaign: 9f86d081
//!   store: .colltune/example.db
//!   library: {name: openmpi, version: "4.1.4"}
//!   colltune: "0.1.0"
//!   date: "2026-11-20"
//!   hosts: [n1]
//!   cpu: Some CPU
//!   launches: 6
//!   warnings: []
//! collectives:
//!   allreduce:
//!     message_size: bytes of one rank's vector
//!     shapes:
//!       - nodes: 1
//!         ppn: 2
//!         rules:
//!           - {from: 0, candidate: default, confidence: high}
//!           - {from: 1500, candidate: allreduce/dual_root, block_bytes: 64K, speedup: 1.3, confidence: high}
//! "#;
//! let table = Table::parse(text, "tables/example.yaml".as_ref())?;
//! let decision = table.lookup(&Query {
//!     collective: Collective::Allreduce,
//!     shape: CommShape { nodes: 1, ppn: 2 },
//!     order: RankOrder::Unknown,
//!     bytes: 1 << 20,
//!     operators: OperatorClass::Commutative,
//!     deployment: Deployment::Colltune,
//! });
//! assert_eq!(decision.candidate.to_string(), "allreduce/dual_root[block_bytes=64K]");
//! assert_eq!(decision.rule.to_string(), "allreduce, 1x2, from 1500 bytes");
//! # Ok::<(), table::TableError>(())
//! ```
//!
//! # Which rule answers
//!
//! A query for a measured shape and size gets the rule of that shape (`lookup.rs`). Between measured shapes of one
//! family the rules are interpolated (`between.rs`); in all other cases the nearest shape answers, with low confidence.
//! [`dispatch`] makes the same entry once for each communicator.
//!
//! # Which rules are in force
//!
//! Reading a table marks the parts of rules that its verdicts refute (`repair.rs`), and no [`Policy`] deploys them: at
//! run time, in exports, in deployed folders or in reports. The command line adds the verdicts of the store first,
//! since ranks read no stores. A policy, or the campaign through the table, may require that the bits of sums do not depend
//! on the placement of ranks or on the size (`numerics.rs`). Before a release, the service demands a validation of that very table, of what is in
//! force by its verdicts.

mod between;
mod candidate_times;
mod covers;
mod decimal;
mod diff;
pub mod dispatch;
mod emit;
mod envelope;
mod error;
mod file;
mod interpolate;
mod json;
mod lookup;
mod nonblocking;
mod numerics;
mod other;
mod parse;
mod policy;
mod problem;
mod repair;
mod rule;
mod scalar;
mod types;
mod verdict;
mod verdicts;

pub use between::leave_needed_times;
pub use candidate_times::CandidateTimes;
pub use covers::{Deployment, Deployments, OperatorClass, Operators, RuleSource};
pub use diff::{
    Change, ChosenRange, DefaultChange, Diff, Group, OnlyIn, Origin, Side, TableComparison,
};
pub use envelope::{index_of_lowest, lowest_line_changes};
pub use error::TableError;
pub use json::DecisionJson;
pub use lookup::{Decision, Query, RulePlace, ShapeMatch, rule_at};
pub use numerics::{Lacks, LargestLoss, Numerics, NumericsCost, UnknownNumerics};
pub use policy::{Lack, Policy, Usage, Withheld};
pub(crate) use problem::Problem;
pub use problem::unknown_collective;
pub use repair::{TurnedBack, turn_back};
pub use rule::parameter_names;
pub use types::{
    Confidence, FORMAT_VERSION, MeasuredPoint, Provenance, Rule, ShapeRules, Table, message_size,
    round_for_table,
};
pub use verdict::{Found, Verdict};
pub use vocabulary::out_of_order;
