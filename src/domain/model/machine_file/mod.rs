//! Machine files: what their text means, what campaigns need of a machine, and how a fitted machine is written.
//!
//! Everything here is about texts: a caller reads the file and hands over what it found
//! ([`Machine::from_read_text`]), or writes the text that it is given ([`FittedMachine::machine_file`]). The ranges of
//! parameters are in `validity.rs`, the needs of campaigns in `needs.rs`, the writer in `write.rs`.
//!
//! [`FittedMachine::machine_file`]: crate::FittedMachine::machine_file

pub(crate) mod needs;
pub(crate) mod write;

use std::io;
use std::path::{Path, PathBuf};

use explained::Explained;
use strict_yaml::{Diagnostic, Document, Field, Kind, Problem};
use thiserror::Error;
use vocabulary::CommShape;

use crate::{InvalidMachine, Machine};

/// The documented reference machine.
const REFERENCE_PATH: &str = "tuning/machines/reference.yaml";

/// Where people find the meaning of a key.
const EXPLANATION: &str = "tuning/machines/reference.yaml explains every key";

const KIND: Kind = Kind {
    name: "a machine file",
    start: "begin with `name: ...`; tuning/machines/reference.yaml explains every key",
    reference: Some(EXPLANATION),
};

/// A machine that cannot be simulated.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum MachineError {
    /// The caller could not read the file.
    #[error("cannot read the machine {}: {source}", path.display())]
    #[help("name a machine file, such as {REFERENCE_PATH}")]
    Read { path: PathBuf, source: io::Error },
    /// The file has a mistake.
    #[error(transparent)]
    File(#[from] Box<Diagnostic>),
    /// A campaign needs a parameter that the machine does not have.
    #[error("the machine `{machine}` has no `{key}`, which {needed_by} needs")]
    #[help("add it; {EXPLANATION}")]
    Lacks {
        machine: String,
        /// The key that is absent.
        key: &'static str,
        needed_by: String,
    },
    /// A campaign puts more ranks on a node than it holds.
    #[error("a node of the machine `{machine}` holds {ranks_per_node} ranks, not those of {shape}")]
    #[help("change `shapes` in the campaign, or `ranks_per_node` in the machine file")]
    NodeTooSmall {
        machine: String,
        ranks_per_node: u32,
        shape: CommShape,
    },
}

impl Machine {
    /// The file of the reference machine, which explains every key.
    pub const REFERENCE: &str = include_str!("../../../../tuning/machines/reference.yaml");

    /// The machine of [`Machine::REFERENCE`].
    ///
    /// # Errors
    /// The errors of [`Machine::parse`]; none as long as the tests pass.
    pub fn parse_reference() -> Result<Self, Box<Diagnostic>> {
        Self::parse(Self::REFERENCE, Path::new(REFERENCE_PATH))
    }

    /// The machine of the file at `path`, from what the caller found when it read that file.
    ///
    /// # Errors
    /// [`MachineError::Read`] if the caller could not read the file, [`MachineError::File`] if it has a mistake.
    pub fn from_read_text(found: io::Result<String>, path: &Path) -> Result<Self, MachineError> {
        let text = found.map_err(|source| MachineError::Read {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self::parse(&text, path)?)
    }

    /// Reads a machine file, which is YAML with the machine's own keys; errors name `path`.
    ///
    /// # Errors
    /// The first mistake: bad syntax, unknown or missing keys, values of the wrong kind or out of
    /// range.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Box<Diagnostic>> {
        let document = Document::parse(&KIND, path, text)?;
        let machine: Self = document.read_values()?;
        machine.validate().map_err(|invalid| {
            let keys = invalid.key().split('.').filter(|key| !key.is_empty());
            let field = keys.fold(Field::default(), |field, key| field.key(key));
            document.error_at_value(&field, invalid)
        })?;
        Ok(machine)
    }

    /// Reads the text of a machine file.
    ///
    /// # Errors
    /// The errors of [`Machine::parse`].
    pub fn from_yaml(text: &str) -> Result<Self, Box<Diagnostic>> {
        Self::parse(text, Path::new("(machine)"))
    }
}

impl Problem for InvalidMachine {
    fn help(&self) -> String {
        EXPLANATION.to_owned()
    }
}
