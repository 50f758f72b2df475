//! Decision tables at run time: from the size of a call to a decision in a few nanoseconds.
//!
//! [`table::Table::lookup`] reads well and looks for the nearest shape each time. Here that is done
//! once a communicator: [`CommunicatorRules`] are what a [`table::Table`] says about one shape, for
//! every collective and class of operators, and [`CommunicatorRules::decide`] neither allocates nor
//! locks. Both say the same, which a property test checks.
//!
//! ```
//! use dispatch::CommunicatorRules;
//! use schedule::Collective;
//! use table::{OperatorClass, Table};
//! use vocabulary::CommShape;
//!
//! # let text = include_str!("../../tables/example.yaml");
//! # let table = Table::parse(text, "tables/example.yaml".as_ref())?;
//! let rules = CommunicatorRules::new(&table, CommShape { nodes: 1, ppn: 2 });
//! let choice = rules.decide(Collective::Allreduce, OperatorClass::Commutative, 1 << 20);
//! println!("{}", choice.candidate);
//! # Ok::<(), table::TableError>(())
//! ```

mod group;
mod rules;

pub use rules::{Choice, CommunicatorRules};
