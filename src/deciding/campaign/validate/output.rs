//! Checks of the paths of results.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use launcher::{BatchOptions, LocalOptions};
use strict_yaml::{Document, Field};

use super::{Checked, Validator};
use crate::campaign::Output;
use crate::definition::{Definition, OutputDefinition};
use crate::{Campaign, LauncherConfig, Problem};

/// The longest name of a file on Linux.
const LONGEST_NAME_BYTES: usize = 255;

impl Validator<'_> {
    pub(super) fn check_output(
        &self,
        name: &str,
        definition: Option<&OutputDefinition>,
    ) -> Checked<Output> {
        let field = Field::from_key("output");
        let written = definition.cloned().unwrap_or_default();
        let default_path = |folder: &str, extension: &str| {
            PathBuf::from(folder).join(name).with_extension(extension)
        };
        let files = [
            ("store", written.store, default_path(".colltune", "db")),
            ("table", written.table, default_path("tables", "yaml")),
            ("report", written.report, default_path("reports", "md")),
        ];
        for (key, given, _) in &files {
            if let Some(path) = given {
                self.check_file_name(&field.key(key), path)?;
            }
        }
        // Given paths come last, so that an error is about a path in the file.
        let mut keys: Vec<_> = files.iter().collect();
        keys.sort_by_key(|(_, given, _)| given.is_some());
        let path = |(_, given, default): &(_, Option<PathBuf>, PathBuf)| {
            given.clone().unwrap_or_else(|| default.clone())
        };
        for (place, key) in keys.iter().enumerate() {
            let same = |other: &&&_| files::is_same(&path(other), &path(key));
            if let Some((other, _, _)) = keys[..place].iter().find(same) {
                let problem = Problem::SamePath {
                    path: path(key),
                    other,
                };
                return Err(self.value_error(&field.key(key.0), problem));
            }
        }
        let [store, table, report] = files.map(|file| path(&file));
        let output = Output {
            store,
            table,
            report,
        };
        self.check_page(&field, &output)?;
        Ok(output)
    }

    /// Refuses outputs with the path of the report's page, which is written beside the report without being named.
    fn check_page(&self, field: &Field, output: &Output) -> Checked<()> {
        let page = output.report_page();
        for (key, path) in [("store", &output.store), ("table", &output.table)] {
            if files::is_same(path, &page) {
                let problem = Problem::SamePath {
                    path: path.clone(),
                    other: "report, as a page",
                };
                return Err(self.value_error(&field.key(key), problem));
            }
        }
        Ok(())
    }

    /// Refuses a path that no file can have.
    pub(super) fn check_file_name(&self, field: &Field, path: &Path) -> Checked<()> {
        let whole = path.as_os_str().as_encoded_bytes();
        let problem = match path.file_name().map(OsStr::as_encoded_bytes) {
            _ if whole.contains(&0) => Problem::NulInPath {
                path: path.to_string_lossy().into_owned(),
            },
            Some(name) if name.len() > LONGEST_NAME_BYTES => {
                Problem::LongFileName { bytes: name.len() }
            }
            Some(name) if whole.ends_with(name) => return Ok(()),
            _ => Problem::NoFileName {
                path: path.to_owned(),
            },
        };
        Err(self.value_error(field, problem))
    }
}

/// The files from which a campaign in the file `path` is read, each with a description.
pub(crate) fn list_inputs(
    campaign_path: &Path,
    definition: &Definition,
    campaign: &Campaign,
) -> Vec<(String, PathBuf)> {
    let mut inputs = vec![("the campaign".to_owned(), campaign_path.to_owned())];
    let mut add = |key: &str, path: Option<&Path>| {
        inputs.extend(path.map(|path| (format!("`{key}`"), path.to_owned())));
    };
    add("library.launcher", campaign.library.launcher.as_deref());
    match &campaign.launcher {
        LauncherConfig::Local(LocalOptions { hosts, .. }) => {
            let hosts = hosts.as_ref().map(|hosts| &*hosts.file);
            add("launcher.local.hostfile", hosts);
        }
        LauncherConfig::Simulated(options) => {
            add("launcher.simulated.machine", options.machine.as_deref());
        }
        LauncherConfig::Batch(BatchOptions { system, job, .. }) => {
            let job_file = format!("launcher.{}.job", system.name());
            add(&job_file, definition.job_file());
            let template = job.template.as_ref();
            let template = template.and_then(|template| template.file.as_deref());
            add(&format!("{job_file}.template"), template);
        }
    }
    inputs
}

/// Refuses outputs that would replace an input of the campaign, under any name.
pub(crate) fn refuse_replaced_inputs(document: &Document<'_>, campaign: &Campaign) -> Checked<()> {
    let Output {
        store,
        table,
        report,
    } = &campaign.output;
    let page = campaign.output.report_page();
    let outputs = [
        ("store", store),
        ("table", table),
        ("report", report),
        ("report", &page),
    ];
    for (key, path) in outputs {
        let mut inputs = campaign.inputs.iter();
        if let Some((input, _)) = inputs.find(|(_, input)| files::is_same(path, input)) {
            let problem = Problem::PathOfInput {
                path: path.clone(),
                key,
                input: input.clone(),
            };
            return Err(document.error_at_value(&Field::from_key("output").key(key), problem));
        }
    }
    Ok(())
}
