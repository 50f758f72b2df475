//! The command of a task, and the files that it needs.

use std::path::{Path, PathBuf};
use std::process::Command;

use campaign::Campaign;

use super::plan::{TaskPlan, WaitingTask};
use crate::blobs;
use crate::modes::OWN_MODE;
use crate::tasks::with_outputs;
use crate::validations::activated_deployments;
use crate::{Digest, Service, ServiceError, TaskId, TaskKind};

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
    /// [`ServiceError::Campaign`] if the campaign can no longer be read; [`ServiceError::Conflict`] if there is none;
    /// files and SQLite.
    pub(super) fn prepare_command(
        &self,
        task: &WaitingTask,
        plan: &TaskPlan,
        order: Order,
    ) -> Result<Command, ServiceError> {
        let folder = self.task_folder(task.id);
        files::create_folder(&folder, OWN_MODE)
            .map_err(ServiceError::on_file("create", &folder))?;
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.configuration.folder);
        let campaign = self.write_campaign_file(task, &folder)?;
        if let Some(digest) = &task.digest {
            self.add_table_arguments(&mut command, task, digest, &campaign)?;
            return Ok(command);
        }
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
                if plan.in_steps {
                    tune.arg("--detach")
                } else {
                    tune
                }
            }
        };
        Ok(command)
    }

    /// Adds the arguments that measure a table. The child never takes a campaign or a store from the table, which
    /// anybody with the scope `publish` may have written: it gets the task's campaign, and uses that campaign's store if
    /// the table was made with it.
    fn add_table_arguments(
        &self,
        command: &mut Command,
        task: &WaitingTask,
        digest: &Digest,
        campaign: &Path,
    ) -> Result<(), ServiceError> {
        let table = self.read_table(digest)?;
        let deployment = match task.deployment {
            Some(deployment) => deployment,
            None => activated_deployments(&table)
                .first()
                .copied()
                .unwrap_or_default(),
        };
        command
            .arg(task.kind.to_string())
            .arg(blobs::file_path(&self.configuration.state, digest))
            .arg("--campaign")
            .arg(campaign);
        if !Campaign::load(campaign)?.has_digest(&table.provenance.campaign) {
            command.arg("--no-store");
        }
        if task.kind == TaskKind::Validate {
            // A table has the digest by which it is known.
            command.arg("--keep-table");
        }
        command.args(["--deployment", deployment.into(), "--events"]);
        Ok(())
    }

    /// Writes the campaign as it was submitted. If the task has results of its own, or measures a table of such a task,
    /// they go elsewhere: the table and the report to the folder of the task that makes them, and the store to the folder
    /// of stores, as the nodes of a batch system must be able to reach it.
    fn write_campaign_file(
        &self,
        task: &WaitingTask,
        folder: &Path,
    ) -> Result<PathBuf, ServiceError> {
        let Some(campaign) = task.campaign else {
            return Err(ServiceError::Conflict(
                "an earlier version of the service submitted this task without a campaign; submit it again".to_owned(),
            ));
        };
        let (text, path, digest): (String, String, String) = self.database.read(|connection| {
            let row = connection.query_row(
                "SELECT text, path, digest FROM campaign WHERE id = ?1",
                [campaign],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )?;
            Ok(row)
        })?;
        let maker = match &task.digest {
            _ if task.has_own_results => Some(task.id),
            Some(table) => self.maker_with_own_results(&task.machine, table, campaign)?,
            None => None,
        };
        let text = match maker {
            None => text,
            Some(id) => {
                let digest: String = digest.chars().rev().take(8).collect();
                let store = format!(".colltune/task-{id}-{digest}.db");
                // Relative if possible, because the table and the report quote these names.
                let (root, near) = (&self.configuration.folder, self.task_folder(id));
                let near = near.strip_prefix(root).unwrap_or(&near);
                let [table, report] = ["table.yaml", "report.md"].map(|name| near.join(name));
                with_outputs(&text, &path, Path::new(&store), &table, &report)?
            }
        };
        let file = folder.join("campaign.yaml");
        files::write(&file, text.as_bytes()).map_err(ServiceError::on_file("write", &file))?;
        Ok(file)
    }
}

/// The file name of the page that a `report` task makes in its folder.
pub(super) const REPORT: &str = "report.html";
