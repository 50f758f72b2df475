//! A campaign with what it needs on this machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use campaign::{Campaign, LauncherConfig, SimulatedOptions};
use launcher::{
    BatchLauncher, Discovery, Installation, LaunchError, Launcher, LibraryChoice, LocalLauncher,
    LocalOptions, discover, driver_directories, find_driver, list_natives, select, takes_orders,
};
use simulated::SimulatedLauncher;
use vocabulary::{Cell, Library, NativeAlgorithm, Warning};

use crate::machine::{check_suffices, load_machine};
use crate::store_location::relocated;
use crate::{StateDirs, TunerError, scripts};

/// Where to look for programs; the edge of the program reads the environment, not this crate.
#[derive(Clone, Debug, Default)]
pub struct SearchPaths {
    /// The search path for launchers, the value of `$PATH`.
    pub path: OsString,
    /// Further folder of drivers, the value of `$COLLTUNE_LIBDIR`.
    pub libdir: Option<OsString>,
    /// The path of colltune itself.
    pub executable: PathBuf,
    /// Where stores may go that must not be on a file system that hosts share.
    pub homes: StateDirs,
}

impl SearchPaths {
    /// Folders in which drivers are looked for.
    pub fn driver_directories(&self) -> Vec<PathBuf> {
        driver_directories(self.libdir.as_deref(), &self.executable)
    }
}

/// What a campaign is carried out with.
pub struct MeasurementContext {
    /// The campaign.
    pub campaign: Campaign,
    /// The library that is measured.
    pub library: Library,
    /// The measuring program for that library; absent where the launcher needs none.
    pub driver: Option<PathBuf>,
    /// What the library lets one force.
    pub natives: Vec<NativeAlgorithm>,
    /// Cores of a node, where known: those of this machine say nothing of the hosts of a file.
    pub cores: Option<u32>,
    /// What starts it.
    pub launcher: Box<dyn Launcher>,
    /// Variables that launches have in their environment beyond those of the campaign, which say what
    /// is measured and not how: a store holds measurements with one such environment only.
    pub environment: Vec<(OsString, OsString)>,
    /// The calls of a repetition in cells where launches of another store had so many, with which this one's are
    /// compared.
    pub calls: BTreeMap<Cell, NonZero<u32>>,
    /// Where the store is if not where the campaign says: launches are beside that path all the same.
    pub relocated: Option<PathBuf>,
    /// What is known before anything ran to make the numbers less trustworthy, or jobs useless.
    pub warnings: Vec<Warning>,
}

impl MeasurementContext {
    /// Reads a campaign and finds what it needs. `library` is measured instead of the campaign's
    /// own choice.
    ///
    /// # Errors
    /// What is wrong with the campaign, or what is missing.
    pub fn prepare(
        path: &Path,
        library: Option<LibraryChoice>,
        places: &SearchPaths,
    ) -> Result<Self, TunerError> {
        Self::of(Campaign::load(path)?, library, places)
    }

    /// The same for a campaign that has been read.
    ///
    /// # Errors
    /// What is missing.
    pub fn of(
        campaign: Campaign,
        library: Option<LibraryChoice>,
        places: &SearchPaths,
    ) -> Result<Self, TunerError> {
        match campaign.launcher.clone() {
            LauncherConfig::Local(options) => {
                let here = launcher::cores();
                let cores = cores_of_nodes(&options, here);
                let warnings = campaign.warnings(cores);
                let at = Self::of_library(campaign, library, places, |installation| {
                    Box::new(LocalLauncher::new(installation, options, here))
                })?;
                Ok(Self {
                    cores,
                    warnings,
                    ..at
                })
            }
            LauncherConfig::Batch(options) => {
                let relocated = relocated(&campaign, &places.homes);
                let (name, path) = (campaign.name.clone(), places.path.clone());
                let at = Self::of_library(campaign, library, places, |installation| {
                    Box::new(BatchLauncher::new(installation, options, name, path))
                })?;
                let mut at = Self { relocated, ..at };
                // A template that cannot be filled in is an error where a script is needed.
                let scripts = scripts(&at, None).unwrap_or_default();
                if !scripts.iter().all(|script| takes_orders(&script.text)) {
                    at.warnings.push(Warning::IdleJobs);
                }
                Ok(at)
            }
            LauncherConfig::Simulated(_) if library.is_some() => Err(TunerError::NoLibraryToChoose),
            LauncherConfig::Simulated(options) => Self::simulated(campaign, &options),
        }
    }

    /// The file of the store.
    pub fn store(&self) -> &Path {
        let named = &self.campaign.output.store;
        self.relocated.as_deref().unwrap_or(named)
    }

    fn simulated(campaign: Campaign, options: &SimulatedOptions) -> Result<Self, TunerError> {
        let machine = load_machine(options.machine.as_deref())?;
        check_suffices(&machine, &campaign)?;
        let launcher = SimulatedLauncher::new(machine.clone(), options.placement)?;
        Ok(Self {
            library: launcher.library().clone(),
            driver: None,
            natives: Vec::new(),
            cores: None,
            environment: Vec::new(),
            calls: BTreeMap::new(),
            relocated: None,
            warnings: vec![Warning::Simulated {
                machine: machine.name.clone(),
            }],
            launcher: Box::new(launcher),
            campaign,
        })
    }

    /// Takes a library that the campaign can measure here, or the one that is asked for instead.
    fn of_library(
        campaign: Campaign,
        library: Option<LibraryChoice>,
        places: &SearchPaths,
        launcher: impl FnOnce(Installation) -> Box<dyn Launcher>,
    ) -> Result<Self, TunerError> {
        // Not written into the campaign: it asks for the same measurements of whichever library,
        // so its digest must not change.
        let choice = library.as_ref().unwrap_or(&campaign.library);
        let directories = places.driver_directories();
        let installation = choose(choice, discover(&places.path), &directories)?;
        let library = installation.library();
        let driver = find_driver(&library, &directories)?;
        // Asking takes a moment.
        let natives = match campaign.selection.selects_natives() {
            true => list_natives(&driver)?,
            false => Vec::new(),
        };
        Ok(Self {
            campaign,
            library,
            driver: Some(driver),
            natives,
            cores: None,
            launcher: launcher(installation),
            environment: Vec::new(),
            calls: BTreeMap::new(),
            relocated: None,
            warnings: Vec::new(),
        })
    }
}

/// Cores that a node of the launcher has at most, if it has `here` on this machine.
fn cores_of_nodes(options: &LocalOptions, here: u32) -> Option<u32> {
    options.hosts.is_none().then_some(here)
}

/// The installation that the campaign asks for; where it leaves a choice, one with a driver.
fn choose(
    choice: &LibraryChoice,
    found: Discovery,
    directories: &[PathBuf],
) -> Result<Installation, LaunchError> {
    let ready = Discovery {
        installations: found
            .installations
            .iter()
            .filter(|installation| find_driver(&installation.library(), directories).is_ok())
            .cloned()
            .collect(),
        ..Discovery::default()
    };
    select(choice, &ready).or_else(|_| select(choice, &found))
}

#[cfg(test)]
mod tests {
    use launcher::{Hosts, LocalOptions};
    use model::Placement;

    use super::cores_of_nodes;

    #[test]
    fn this_machine_bounds_no_nodes_but_itself() {
        let here = LocalOptions::default();
        assert_eq!(cores_of_nodes(&here, 4), Some(4));
        let elsewhere = LocalOptions {
            hosts: Some(Hosts {
                file: "hosts".into(),
                placement: Placement::default(),
            }),
            ..here
        };
        assert_eq!(cores_of_nodes(&elsewhere, 4), None);
    }
}
