//! Where results go.

use std::path::{Component, Path, PathBuf};
use strict_yaml::Field;

use super::{Check, Checked};
use crate::Problem;
use crate::campaign::Output;
use crate::definition::OutputDefinition;

impl Check<'_> {
    pub(super) fn output(
        &self,
        name: &str,
        definition: Option<&OutputDefinition>,
    ) -> Checked<Output> {
        let field = Field::of("output");
        let given = definition.cloned().unwrap_or_default();
        let default = |folder: &str, extension: &str| {
            PathBuf::from(folder).join(name).with_extension(extension)
        };
        let files = [
            ("store", given.store, default(".colltune", "db")),
            ("table", given.table, default("tables", "yaml")),
            ("report", given.report, default("reports", "md")),
        ];
        for (key, given, _) in &files {
            if let Some(path) = given {
                self.file_name(&field.key(key), path)?;
            }
        }
        // Those that are given come last: an error is about something that is written.
        let mut keys: Vec<_> = files.iter().collect();
        keys.sort_by_key(|(_, given, _)| given.is_some());
        let path = |(_, given, default): &(_, Option<PathBuf>, PathBuf)| {
            given.clone().unwrap_or_else(|| default.clone())
        };
        for (place, key) in keys.iter().enumerate() {
            let same = |other: &&&_| normalised(&path(other)) == normalised(&path(key));
            if let Some((other, _, _)) = keys[..place].iter().find(same) {
                let problem = Problem::SamePath {
                    path: path(key),
                    other,
                };
                return Err(self.error(&field.key(key.0), problem));
            }
        }
        let [store, table, report] = files.map(|file| path(&file));
        let output = Output {
            store,
            table,
            report,
        };
        self.page(&field, &output)?;
        Ok(output)
    }

    /// Refuses a page, which is written beside the report and nobody names, in the place of others.
    fn page(&self, field: &Field, output: &Output) -> Checked<()> {
        let page = normalised(&output.page());
        for (key, path) in [("store", &output.store), ("table", &output.table)] {
            if normalised(path) == page {
                let problem = Problem::SamePath {
                    path: path.clone(),
                    other: "report, as a page",
                };
                return Err(self.error(&field.key(key), problem));
            }
        }
        Ok(())
    }

    /// Refuses a path that is empty or ends in no name.
    pub(super) fn file_name(&self, field: &Field, path: &Path) -> Checked<()> {
        match path.file_name() {
            Some(_) => Ok(()),
            None => {
                let path = path.to_owned();
                Err(self.error(field, Problem::NoFileName { path }))
            }
        }
    }
}

/// The path without steps that lead nowhere.
fn normalised(path: &Path) -> PathBuf {
    let mut normalised = PathBuf::new();
    for step in path.components() {
        match step {
            Component::CurDir => {}
            Component::ParentDir if normalised.file_name().is_some() => {
                normalised.pop();
            }
            step => normalised.push(step),
        }
    }
    normalised
}
