//! Tables at run time: from the size of a call to a decision in a few nanoseconds.
//!
//! [`Table::lookup`] reads well and looks for the nearest shape each time. Here that is done once a
//! communicator: [`CommunicatorRules`] are what a [`Table`] says about one shape and order of ranks, for every
//! collective and class of operators, and [`CommunicatorRules::decide`] neither allocates nor locks.
//! Both say the same, which a property test checks.
//!
//! [`Table`]: crate::Table
//! [`Table::lookup`]: crate::Table::lookup
//!
//! ```
//! use schedule::Collective;
//! use table::dispatch::CommunicatorRules;
//! use table::{OperatorClass, Table};
//! use vocabulary::{CommShape, RankOrder};
//!
//! # let text = include_str!("../../tables/example.yaml");
//! # let table = Table::parse(text, "tables/example.yaml".as_ref())?;
//! let rules = CommunicatorRules::new(&table, CommShape { nodes: 1, ppn: 2 }, RankOrder::Block, false);
//! let choice = rules.decide(Collective::Allreduce, OperatorClass::Commutative, 1 << 20);
//! println!("{}", choice.candidate);
//! # Ok::<(), table::TableError>(())
//! ```

mod group;
mod rules;

pub use rules::{Choice, CommunicatorRules};
