//! Checks of the library.

use launcher::LibraryChoice;
use libraries::LibraryName;
use strict_yaml::{Field, Scalar, Shorthand};

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
                let name = name.as_ref().map_or(Ok(None), |word| {
                    self.check_library_name(&field.key("name"), word)
                })?;
                if let Some(launcher) = launcher {
                    self.check_file_name(&field.key("launcher"), launcher)?;
                }
                Ok(LibraryChoice {
                    name,
                    version: version.clone(),
                    launcher: launcher.clone(),
                })
            }
        }
    }

    fn check_library_name(&self, field: &Field, word: &Scalar) -> Checked<Option<LibraryName>> {
        let mut known = vec![("auto", None)];
        known.extend(LibraryName::ALL.map(|library| (library.name(), Some(library))));
        self.document
            .parse_word(field, &word.0, "MPI library", &known)
    }
}
