//! Which library is measured and how it is launched.

use std::collections::BTreeMap;

use super::{Check, Checked};
use crate::campaign::{LibraryChoice, LibraryName, LocalOptions, Oversubscribe};
use crate::definition::{LauncherDefinition, LibraryDefinition, LocalDefinition};
use crate::form::{Scalar, Shorthand};
use crate::{Field, Problem};

const OVERSUBSCRIBE: [(&str, Oversubscribe); 3] = [
    ("auto", Oversubscribe::Auto),
    ("never", Oversubscribe::Never),
    ("always", Oversubscribe::Always),
];

impl Check<'_> {
    pub(super) fn library(
        &self,
        definition: Option<&Shorthand<Scalar, LibraryDefinition>>,
    ) -> Checked<LibraryChoice> {
        let field = Field::of("library");
        match definition {
            None => Ok(LibraryChoice::default()),
            Some(Shorthand::Short(word)) => Ok(LibraryChoice {
                name: self.library_name(&field, word)?,
                ..Default::default()
            }),
            Some(Shorthand::Full(LibraryDefinition {
                name,
                version,
                launcher,
            })) => {
                let name = name
                    .as_ref()
                    .map_or(Ok(None), |word| self.library_name(&field.key("name"), word))?;
                if let Some(launcher) = launcher {
                    self.file_name(&field.key("launcher"), launcher)?;
                }
                Ok(LibraryChoice {
                    name,
                    version: version.clone(),
                    launcher: launcher.clone(),
                })
            }
        }
    }

    fn library_name(&self, field: &Field, word: &Scalar) -> Checked<Option<LibraryName>> {
        let mut known = vec![("auto", None)];
        known.extend(LibraryName::ALL.map(|library| (library.name(), Some(library))));
        self.word(field, word, "MPI library", &known)
    }

    pub(super) fn launcher(
        &self,
        definition: Option<&Shorthand<Scalar, LauncherDefinition>>,
    ) -> Checked<LocalOptions> {
        match definition {
            None => Ok(LocalOptions::default()),
            Some(Shorthand::Short(word)) => {
                let known = [("local", ())];
                self.word(&Field::of("launcher"), word, "launcher", &known)?;
                Ok(LocalOptions::default())
            }
            Some(Shorthand::Full(LauncherDefinition { local })) => self.local(local),
        }
    }

    fn local(&self, definition: &LocalDefinition) -> Checked<LocalOptions> {
        let field = Field::of("launcher").key("local");
        let oversubscribe = match &definition.oversubscribe {
            None => Oversubscribe::default(),
            Some(word) => self.word(
                &field.key("oversubscribe"),
                word,
                "value of oversubscribe",
                &OVERSUBSCRIBE,
            )?,
        };
        let mut environment = BTreeMap::new();
        for (name, value) in definition.environment.iter().flatten() {
            if name.is_empty() || name.contains(['=', '\0']) {
                let problem = Problem::Variable { name: name.clone() };
                return Err(self
                    .source
                    .at_key(&field.key("environment").key(name), problem));
            }
            environment.insert(name.clone(), value.0.clone());
        }
        let options = definition.options.iter().flat_map(|options| &options.0);
        Ok(LocalOptions {
            options: options.map(|option| option.0.clone()).collect(),
            oversubscribe,
            environment,
        })
    }
}
