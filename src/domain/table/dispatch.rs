//! Tables at run time: from the size of a call to a decision in a few nanoseconds.
//!
//! [`Table::lookup`] searches for the nearest shape each time. Here that is done once per communicator:
//! [`CommunicatorRules`] are the decisions of a [`Table`] for one shape and order of ranks, for every collective and
//! class of operators, and [`CommunicatorRules::decide`] neither allocates nor locks. A property test checks that both
//! give the same decisions.
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
//! # let text = include_str!("../../../tables/example.yaml");
//! # let table = Table::parse(text, "tables/example.yaml".as_ref())?;
//! let rules = CommunicatorRules::new(&table, CommShape { nodes: 1, ppn: 2 }, RankOrder::Block, false);
//! let choice = rules.decide(Collective::Allreduce, OperatorClass::Commutative, 1 << 20);
//! println!("{}", choice.candidate);
//! # Ok::<(), table::TableError>(())
//! ```

mod group;
mod rules;

pub use rules::{Choice, CommunicatorRules};
