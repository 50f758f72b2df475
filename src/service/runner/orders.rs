//! The command of a task, and the files that it needs.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use campaign::Campaign;

use super::plan::{Plan, Waiting};
use crate::blobs;
use crate::tasks::with_outputs;
use crate::validations::activated;
use crate::{Service, ServiceError, TaskId, TaskKind};

/// The work of a task's child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Do the whole task, or its next step.
    Work,
    /// Cancel the task's jobs.
    Cancel,
}

impl Service {
    /// The folder of a task's log and files.
    pub(crate) fn task_folder(&self, id: TaskId) -> PathBuf {
        self.configuration.state.join("tasks").join(id.to_string())
    }

    /// Writes the files of a task and returns its command. The working directory is the project folder, which paths
    /// in campaigns are relative to.
    ///
    /// # Errors
    /// [`ServiceError::Campaign`] if the campaign can no longer be read; files and SQLite.
    pub(super) fn command(
        &self,
        task: &Waiting,
        plan: &Plan,
        order: Order,
    ) -> Result<Command, ServiceError> {
        let folder = self.task_folder(task.id);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(ServiceError::file("create", &folder))?;
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.configuration.folder);
        if let Some(digest) = &task.digest {
            let table = blobs::place(&self.configuration.state, digest);
            let deployment = match task.deployment {
                Some(deployment) => deployment,
                None => activated(&self.table(digest)?)
                    .first()
                    .copied()
                    .unwrap_or_default(),
            };
            command.arg(task.kind.to_string()).arg(table);
            command.args(["--deployment", deployment.into(), "--events"]);
            return Ok(command);
        }
        let campaign = self.campaign_file(task, &folder)?;
        match (order, task.kind) {
            (Order::Cancel, _) => command.arg("cancel").arg(campaign).arg("--json"),
            (Order::Work, TaskKind::Report) => {
                let store = Campaign::load(&campaign)?.output.store;
                let output = folder.join(REPORT);
                let report = command.arg("report").arg(store);
                report
                    .args(["--format", "html", "--quiet", "--output"])
                    .arg(output)
            }
            (Order::Work, _) => {
                let tune = command.arg("tune").arg(campaign).arg("--events");
                match plan.in_steps {
                    true => tune.arg("--detach"),
                    false => tune,
                }
            }
        };
        Ok(command)
    }

    /// Writes the campaign as it was submitted. If it has overrides, its results go elsewhere: the table and the
    /// report to the task's folder, and the store to the folder of stores, as the nodes of a batch system must be
    /// able to reach it.
    fn campaign_file(&self, task: &Waiting, folder: &Path) -> Result<PathBuf, ServiceError> {
        let (text, path, digest): (String, String, String) = self.database.read(|connection| {
            let row = connection.query_row(
                "SELECT text, path, digest FROM campaign WHERE id = ?1",
                [task.campaign],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )?;
            Ok(row)
        })?;
        let text = match task.has_overrides {
            false => text,
            true => {
                let digest: String = digest.chars().rev().take(8).collect();
                let store = format!(".colltune/task-{}-{digest}.db", task.id);
                // Relative if possible, because the table and the report quote these names.
                let root = &self.configuration.folder;
                let near = folder.strip_prefix(root).unwrap_or(folder);
                let [table, report] = ["table.yaml", "report.md"].map(|name| near.join(name));
                with_outputs(&text, &path, Path::new(&store), &table, &report)?
            }
        };
        let file = folder.join("campaign.yaml");
        files::write(&file, text.as_bytes()).map_err(ServiceError::file("write", &file))?;
        Ok(file)
    }
}

/// The file name of the page that a `report` task makes in its folder.
pub(super) const REPORT: &str = "report.html";
