//! Rules for Open MPI's components `coll/tuned` and, in [`HanRules`], `coll/han`; and, in [`ComponentParameters`],
//! parameters that choose components.
//!
//! The treatment of a rules file by `coll/tuned` was determined from its source and by running it (4.1, 5.0). It silently
//! ignores an invalid file, silently replaces algorithms that do not serve a call by others, and does not know whether
//! an operator commutes.

mod algorithms;
mod classic;
mod han;
mod json;
mod parameters;
mod plan;
mod reader;
pub(crate) mod site;

pub use classic::Classic;
pub use han::{ComponentRow, HanFile, HanRules, read_han_rules};
pub use json::Json;
pub use parameters::{ComponentParameters, NodeLayout, ParameterFile, read_parameters};
pub use reader::{File, ReadRule, read_rules};

use crate::{Choices, LibraryRule};

/// The prefix of environment variables that set control variables.
const PREFIX: &str = "OMPI_MCA_";

/// Whether the component han takes precedence over `coll/tuned` on several nodes, unless it is excluded.
fn has_han_first(version: &str) -> bool {
    crate::choices::release_series(version).is_some_and(|series| series >= (5, 0))
}

/// The note on deploying a list of components.
const ONE_LIST: &str =
    "`coll` is one list: if the site sets it too, merge both values, as in `^hcoll,han`.";

/// The note on forced algorithms, whose precedence over a file differs between releases.
fn note_on_forced_algorithms(version: &str) -> &'static str {
    if has_han_first(version) {
        "An algorithm that is forced (`coll_tuned_COLLECTIVE_algorithm`) takes precedence over this file."
    } else {
        "An algorithm that is forced (`coll_tuned_COLLECTIVE_algorithm`) counts where this file leaves the \
         decision to Open MPI."
    }
}

/// The variables that make the component read a file. A variable without a value gets the file's path.
const OWN: [(&str, Option<&str>); 2] = [
    ("OMPI_MCA_coll_tuned_use_dynamic_rules", Some("1")),
    ("OMPI_MCA_coll_tuned_dynamic_rules_filename", None),
];

/// The variable that leaves out the component that precedes this one from release 5.0 on, and its value.
const HAN: (&str, &str) = ("OMPI_MCA_coll", "^han");

/// The variables that make the component of a release read a file: [`crate::Exported::variables`].
fn variables_for_release(version: &str) -> Vec<(String, Option<String>)> {
    let han = has_han_first(version).then_some((HAN.0, Some(HAN.1)));
    let variables = OWN.into_iter().chain(han);
    variables
        .map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
        .collect()
}

/// The variables that only exported files need; a site may have its own value for `coll`.
fn own_variables() -> Vec<String> {
    OWN.map(|(name, _)| name.to_owned()).to_vec()
}

/// Reductions for which components that a file could name were chosen with operators that commute.
fn note_on_operators(
    commutative: &Choices,
    is_component: impl Fn(&LibraryRule) -> bool,
) -> Option<String> {
    let all = commutative.collectives.iter();
    let reductions = all.filter(|(collective, ranks)| {
        let mut rules = ranks.iter().flat_map(|of| &of.choices);
        collective.is_reduction() && rules.any(&is_component)
    });
    let names: Vec<&str> = reductions
        .map(|(collective, _)| collective.name())
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Not written: {}, since a file cannot distinguish operators, and components were compared only for those that \
             commute; `--assume-commutative` writes them.",
            names.join(", ")
        )
    })
}
