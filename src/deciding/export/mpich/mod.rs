//! Selection files for MPICH (`MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`).
//!
//! Such a file replaces the whole of the library's own table. So a complete one is written: the table of exactly this
//! library, taken from its file, with colltune's decisions in front. The library's treatment of the file was determined
//! from its source and by running it (4.0).

mod compare;
mod guards;
mod installed;
mod reader;
mod selection;
pub(crate) mod site;
mod stock;
mod tree;

pub use selection::SelectionFile;
pub use tree::TreeNode;
