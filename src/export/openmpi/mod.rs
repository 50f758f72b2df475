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
pub use reader::{File, Row, read};

/// What lets the component read a file: [`crate::Exported::variables`].
fn variables() -> Vec<(String, Option<String>)> {
    let named = |name: &str, value: Option<&str>| {
        let name = format!("OMPI_MCA_coll_tuned_{name}");
        (name, value.map(str::to_owned))
    };
    vec![
        named("use_dynamic_rules", Some("1")),
        named("dynamic_rules_filename", None),
    ]
}

fn names(variables: Vec<(String, Option<String>)>) -> Vec<String> {
    variables.into_iter().map(|(name, _)| name).collect()
}
