//! The reader of machine files.

use std::path::Path;

use strict_yaml::{Diagnostic, Document, Field, Kind, Problem};

use crate::{InvalidMachine, Machine};

const KIND: Kind = Kind {
    name: "a machine file",
    start: "begin with `name: ...`; tuning/machines/reference.yaml explains every key",
    reference: Some("tuning/machines/reference.yaml explains every key"),
};

impl Machine {
    /// The file of the reference machine, which explains every key.
    pub const REFERENCE: &str = include_str!("../../../tuning/machines/reference.yaml");

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
        "tuning/machines/reference.yaml explains every key".to_owned()
    }
}
