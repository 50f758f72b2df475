//! Rules for Open MPI's component `coll/tuned`.
//!
//! What the component does with a rules file was found by reading it and by running it (4.1, 5.0).
//! It drops a file that it does not like without a word, replaces algorithms that do not fit a call by
//! others, also without a word, and does not know whether an operator commutes.

mod algorithms;
mod classic;
mod json;
mod plan;
mod reader;

pub use classic::Classic;
pub use json::Json;
pub use reader::{File, FileRule, read};

/// Whether the component han comes before `coll/tuned` over several nodes, unless it is left out.
fn has_han_first(version: &str) -> bool {
    crate::choices::series(version).is_some_and(|series| series >= (5, 0))
}

/// What must be known to deploy a list of components.
const ONE_LIST: &str =
    "`coll` is one list: if the site sets it too, join both values, as in `^hcoll,han`.";

/// What lets the component read a file. A variable without a value names the file.
const OWN: [(&str, Option<&str>); 2] = [
    ("OMPI_MCA_coll_tuned_use_dynamic_rules", Some("1")),
    ("OMPI_MCA_coll_tuned_dynamic_rules_filename", None),
];

/// What lets the component of a release read a file: [`crate::Exported::variables`].
fn variables(version: &str) -> Vec<(String, Option<String>)> {
    let han = has_han_first(version).then_some(("OMPI_MCA_coll", Some("^han")));
    let variables = OWN.into_iter().chain(han);
    variables
        .map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
        .collect()
}

/// The variables that only exported files need; for `coll`, a site may have a value of its own.
fn own_variables() -> Vec<String> {
    OWN.map(|(name, _)| name.to_owned()).to_vec()
}
