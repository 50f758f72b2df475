//! Selection files for MPICH (`MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`).
//!
//! Such a file replaces the whole of the library's own table, so a complete one is written: that of the
//! very library, taken from its file, with the table's decisions in front. What the library does with it
//! was found by reading it and by running it (4.0).

mod compare;
mod guards;
mod installed;
mod reader;
mod selection;
mod stock;
mod tree;

pub use selection::SelectionFile;
pub use tree::TreeNode;
