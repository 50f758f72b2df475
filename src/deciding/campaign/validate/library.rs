//! Checks of the library.

use launcher::LibraryChoice;
use libraries::LibraryName;
use strict_yaml::{Field, Mistake, Scalar, Shorthand};

use super::{Checked, Validator};
use crate::definition::LibraryDefinition;
use crate::{LauncherConfig, Problem};

impl Validator<'_> {
    pub(super) fn check_library(
        &self,
        definition: Option<&Shorthand<Scalar, LibraryDefinition>>,
        config: &LauncherConfig,
    ) -> Checked<LibraryChoice> {
        let field = Field::from_key("library");
        if matches!(config, LauncherConfig::Simulated(_)) && definition.is_some() {
            return Err(self.value_error(&field, Problem::SimulatedLibrary));
        }
        match definition {
            None => Ok(LibraryChoice::default()),
            Some(Shorthand::Short(word)) => Ok(LibraryChoice {
                name: self.check_library_name(&field, word)?,
                ..Default::default()
            }),
            Some(Shorthand::Full(LibraryDefinition {
                name,
                version,
                launcher,
            })) => {
                if let Some(launcher) = launcher {
                    self.check_file_name(&field.key("launcher"), launcher)?;
                }
                let is_complete = version.is_some() && launcher.is_some();
                let unknown_name = name
                    .as_ref()
                    .filter(|word| is_complete && is_unknown_name(&word.0));
                let known_name = match name {
                    Some(word) if unknown_name.is_none() => {
                        self.check_library_name(&field.key("name"), word)?
                    }
                    _ => None,
                };
                Ok(LibraryChoice {
                    name: known_name,
                    unknown_name: unknown_name.map(|word| word.0.clone()),
                    version: version.clone(),
                    launcher: launcher.clone(),
                })
            }
        }
    }

    fn check_library_name(&self, field: &Field, word: &Scalar) -> Checked<Option<LibraryName>> {
        if word.0 == "auto" {
            return Ok(None);
        }
        let mut libraries = LibraryName::ALL.into_iter();
        let found = libraries.find(|library| library.name() == word.0);
        found.map(Some).ok_or_else(|| {
            let names = LibraryName::ALL.map(|library| library.name());
            let known = std::iter::once("auto").chain(names);
            let mistake = Mistake::unknown_word("MPI library", &word.0, known).with_remedy(
                "a library that colltune does not know needs `version` and `launcher`",
            );
            self.document.error_at_value(field, mistake)
        })
    }
}

/// Whether this may be the name that `scripts/driver` gives to a library which colltune does not know.
fn is_unknown_name(word: &str) -> bool {
    let mut letters = word.chars();
    let begins_well = letters
        .next()
        .is_some_and(|first| first.is_ascii_lowercase());
    let is_word = letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    begins_well && is_word && word != "auto" && libraries::find_library(word).is_none()
}
