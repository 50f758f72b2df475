//! The identity of an MPI library.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An MPI library by name and version.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// The name, as in `openmpi`; `simulated` for a simulated machine.
    pub name: String,
    /// The version, as in `4.1.4`.
    pub version: String,
}

impl Library {
    /// The name used in place of a library's on simulated machines.
    pub const SIMULATED: &str = "simulated";

    /// The library with this name, `NAME-VERSION`.
    pub fn from_text(text: &str) -> Option<Self> {
        let (name, version) = text.split_once('-')?;
        let is_complete = !name.is_empty() && !version.is_empty();
        is_complete.then(|| Self {
            name: name.to_owned(),
            version: version.to_owned(),
        })
    }

    /// Whether times of this library are those of a simulated machine.
    pub fn is_simulated(&self) -> bool {
        self.name == Self::SIMULATED
    }

    /// Whether `NAME-VERSION` is the name of a file or folder, and not a path.
    pub fn is_file_name(&self) -> bool {
        !self.name.is_empty()
            && !self.name.starts_with('.')
            && ![&self.name, &self.version]
                .iter()
                .any(|text| text.contains(['/', '\0']))
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}-{}", self.name, self.version))
    }
}
