//! The folders of channels, written by `export::deploy`; rebuilt from the database at start.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use export::Options;
use export::deploy::{self, PreparedDeployment};
use jiff::Timestamp;
use table::Table;

use crate::database::now_milliseconds;
use crate::modes;
use crate::releases::parse_channel_library;
use crate::{ChannelKey, Digest, Service, ServiceError};

/// The most tables of the folder that are read.
const MOST_TABLES: usize = 1000;

impl Service {
    /// The folder of a channel: versions, and the link `current`.
    pub fn channel_folder(&self, key: &ChannelKey) -> PathBuf {
        let channels = self.channels_folder();
        let channel = key.channel.to_string();
        channels.join(&key.machine).join(&key.library).join(channel)
    }

    fn channels_folder(&self) -> PathBuf {
        self.configuration.state.join("channels")
    }

    /// Writes a table as a version of a channel's folder and repairs the folder; the version is not yet current.
    pub(crate) fn prepare_version(
        &self,
        key: &ChannelKey,
        digest: &Digest,
        table: &Table,
        who: &str,
    ) -> Result<PreparedDeployment, ServiceError> {
        let library = parse_channel_library(&key.library)
            .ok_or_else(|| ServiceError::not_found("channel", key))?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let format = export::format_read_by(&library);
        let libdir = std::env::var_os("COLLTUNE_LIBDIR");
        let folders = launcher::driver_directories(libdir.as_deref(), &self.executable);
        let preload = launcher::find_preloaded(&library, &folders).ok();
        let options = Options {
            version: Some(library.version.clone()),
            ..Options::with_installed(format, &library.version, &path)
        };
        self.open_channels(key)?;
        let request = deploy::DeployRequest {
            table,
            options: &options,
            confirmed_only: true,
            preload: preload.as_deref(),
            replace: false,
            who,
            release: Some(deploy::ServiceRelease {
                digest: digest.as_str(),
                module: &key.channel.to_string(),
            }),
        };
        let prepared = deploy::prepare_deployment(&request, &self.channel_folder(key));
        self.disk.note_refusal(prepared.map_err(ServiceError::from))
    }

    /// Lets all users go to the folder of a channel, as far as it exists; a copy of the state may have lost the modes.
    fn open_channels(&self, key: &ChannelKey) -> Result<(), ServiceError> {
        let channels = self.channels_folder();
        let folder = self.channel_folder(key);
        for ancestor in folder.ancestors().skip(1) {
            if !ancestor.starts_with(&channels) {
                break;
            }
            if ancestor.is_dir() {
                let opened = modes::set_mode_of(ancestor, 0o755);
                opened.map_err(ServiceError::on_file("open to all users", ancestor))?;
            }
        }
        Ok(())
    }

    /// Removes versions that no job can use any more, after a channel's table was published.
    pub(crate) fn prune_after_publishing(&self, key: &ChannelKey) {
        let pruned = self.prune_channel(key);
        let problem = pruned
            .err()
            .map(|error| format!("old tables of {key} are still in its folder: {error}"));
        self.problems.note_problem(key.to_string(), problem);
    }

    fn prune_channel(&self, key: &ChannelKey) -> Result<(), ServiceError> {
        let keep = self.channel_manifest(key)?.keep;
        let keep: Vec<&str> = keep.iter().map(Digest::as_str).collect();
        // Versions that were current without a row, as of a release that failed, only have a date.
        let longest = self.configuration.longest_wall_time.as_millis();
        let since = now_milliseconds().saturating_sub(i64::try_from(longest).unwrap_or(i64::MAX));
        let since = Timestamp::from_millisecond(since).unwrap_or(Timestamp::MIN);
        deploy::prune_versions(&self.channel_folder(key), since, &keep)?;
        Ok(())
    }

    /// Brings a channel's folder in line with its newest release; a failure is recorded as a problem.
    pub(crate) fn restore_channel(&self, key: &ChannelKey) {
        let restored = match self.channel_manifest(key) {
            Ok(manifest) => self.publish_again(key, &manifest.digest),
            Err(_) => remove_current_link(&self.channel_folder(key)),
        };
        let problem = restored
            .err()
            .map(|error| format!("the folder of {key} is not up to date: {error}"));
        self.problems.note_problem(key.to_string(), problem);
    }

    fn publish_again(&self, key: &ChannelKey, digest: &Digest) -> Result<(), ServiceError> {
        let table = self.released_table(key)?;
        self.prepare_version(key, digest, &table, "service")?
            .make_current()?;
        self.prune_channel(key)
    }

    /// Adds the tables of the folder, reads the released tables into memory, and brings the folders of channels in line
    /// with the database; called at start. Files that cannot be read or written do not prevent the start;
    /// [`Service::list_problems`] lists them.
    pub(crate) fn restore_channels(&self) -> Result<(), ServiceError> {
        self.add_tables_of_folder()?;
        let released = self.newest_releases()?;
        for release in &released {
            self.load_channel(&release.key)?;
            self.restore_channel(&release.key);
        }
        // A release may have changed the link without committing its row.
        let known: Vec<PathBuf> = released
            .iter()
            .map(|release| self.channel_folder(&release.key))
            .collect();
        let machines = list_folders(&self.channels_folder());
        let libraries = machines.iter().flat_map(|machine| list_folders(machine));
        for folder in libraries.flat_map(|library| list_folders(&library)) {
            if !known.contains(&folder)
                && let Err(error) = remove_current_link(&folder)
            {
                let problem = format!(
                    "{} has a table that was not released: {error}",
                    folder.display()
                );
                self.problems
                    .note_problem(folder.display().to_string(), Some(problem));
            }
        }
        Ok(())
    }

    /// Adds the tables of `tables/*.yaml`, the oldest file first, to the machine of the configuration if there is only
    /// one, or else to the only machine on which the campaign of the same name may run.
    fn add_tables_of_folder(&self) -> Result<(), ServiceError> {
        let folder = self.configuration.folder.join("tables");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let mut tables: Vec<(SystemTime, PathBuf)> = paths
            .filter(|path| path.extension().is_some_and(|suffix| suffix == "yaml"))
            .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
            .collect();
        tables.sort_unstable();
        // If there are too many, read only the newest.
        let first = tables.len().saturating_sub(MOST_TABLES);
        for (_, path) in &tables[first..] {
            let Ok(text) = files::read_text(path) else {
                continue;
            };
            if !self
                .versions_with_digest(&Digest::of_bytes(text.as_bytes()))?
                .is_empty()
            {
                continue;
            }
            let taken_in = match self.machine_of_table(&text) {
                Some(machine) => self.add_found_table(&machine, &text),
                None => continue,
            };
            match taken_in {
                Err(error @ ServiceError::Database(_)) => return Err(error),
                Err(error @ (ServiceError::File { .. } | ServiceError::Deploy(_))) => {
                    let problem = format!("{} cannot be added: {error}", path.display());
                    self.problems
                        .note_problem(path.display().to_string(), Some(problem));
                }
                // Files that are not valid tables are ignored.
                _ => {}
            }
        }
        Ok(())
    }

    /// The machine that a table was made on, if it is known.
    fn machine_of_table(&self, text: &str) -> Option<String> {
        if let [machine] = &self.configuration.machines[..] {
            return Some(machine.name.clone());
        }
        let table = Table::parse(text, Path::new("table.yaml")).ok()?;
        let campaigns = self.list_campaigns().ok()?;
        let mut machines: Vec<&String> = campaigns
            .iter()
            .filter(|campaign| campaign.name.as_ref() == Some(&table.name))
            .flat_map(|campaign| &campaign.machines)
            .collect();
        machines.sort_unstable();
        machines.dedup();
        match machines[..] {
            [machine] => Some(machine.clone()),
            _ => None,
        }
    }
}

/// Removes the link `current` of a channel that has no release.
fn remove_current_link(folder: &Path) -> Result<(), ServiceError> {
    let link = folder.join(files::CURRENT);
    files::remove_current_link(folder).map_err(ServiceError::on_file("remove", &link))
}

/// The folders in a folder; none if it cannot be read.
fn list_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}
