//! A campaign with the programs that it needs on this machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use campaign::{Campaign, DefaultsVersion, LauncherConfig, SimulatedOptions};
use launcher::{
    BatchLauncher, Discovery, Installation, LaunchError, Launcher, LibraryChoice, LocalLauncher,
    LocalOptions, check_libdir, discover_libraries, driver_directories, find_driver, list_natives,
    select_installation, takes_orders,
};
use model::MachineNeeds;
use simulated::SimulatedLauncher;
use vocabulary::{Cell, Library, NativeAlgorithm, Parameters, Warning};

use crate::machine::load_machine;
use crate::recorded::with_recorded_defaults;
use crate::store_location::{relocated_store_path, store_file};
use crate::{StateDirs, TunerError, render_job_scripts};

/// The folders in which programs are searched for; the command line takes them from its environment.
#[derive(Clone, Debug, Default)]
pub struct SearchPaths {
    /// The search path for launchers, the value of `$PATH`.
    pub path: OsString,
    /// A further folder of drivers, the value of `$COLLTUNE_LIBDIR`.
    pub libdir: Option<OsString>,
    /// The path of colltune itself.
    pub executable: PathBuf,
    /// The folders for stores that must not be on a shared file system.
    pub homes: StateDirs,
}

impl SearchPaths {
    /// The folders in which drivers are searched for.
    pub fn driver_directories(&self) -> Vec<PathBuf> {
        driver_directories(self.libdir.as_deref(), &self.executable)
    }
}

/// A campaign with all that its measurements need.
pub struct MeasurementContext {
    /// The campaign.
    pub campaign: Campaign,
    /// The library that is measured.
    pub library: Library,
    /// The measuring program for that library; `None` if the launcher needs none.
    pub driver: Option<PathBuf>,
    /// The algorithms that can be forced in the library.
    pub natives: Vec<NativeAlgorithm>,
    /// Cores of a node; `None` if unknown, as for the hosts of a file.
    pub cores: Option<u32>,
    /// The launcher of the driver.
    pub launcher: Box<dyn Launcher>,
    /// Environment variables of launches beyond those of the campaign. They are part of what is measured, so a store
    /// holds measurements with one such environment only.
    pub environment: Vec<(OsString, OsString)>,
    /// The number of calls in a repetition, for cells whose times are compared with those of another store.
    pub calls: BTreeMap<Cell, NonZero<u32>>,
    /// The path of the store, if it is not that of the campaign; launches stay beside the campaign's path.
    pub relocated: Option<PathBuf>,
    /// Warnings about conditions that are known before the first launch.
    pub warnings: Vec<Warning>,
}

impl MeasurementContext {
    /// Reads a campaign and finds the programs that it needs. `library` is measured instead of the campaign's own
    /// choice.
    ///
    /// # Errors
    /// Errors in the campaign; missing programs.
    pub fn from_campaign_file(
        path: &Path,
        library: Option<LibraryChoice>,
        places: &SearchPaths,
    ) -> Result<Self, TunerError> {
        let mut at = Self::from_campaign(Campaign::load(path)?, library, places)?;
        if !at.campaign.has_same_candidates(DefaultsVersion::CURRENT) {
            at.warnings.push(Warning::OlderDefaults);
        }
        Ok(at)
    }

    /// Like [`Self::from_campaign_file`], for a campaign that has been read.
    ///
    /// # Errors
    /// Missing programs.
    pub fn from_campaign(
        campaign: Campaign,
        library: Option<LibraryChoice>,
        places: &SearchPaths,
    ) -> Result<Self, TunerError> {
        // A campaign that an older version of colltune began keeps its candidates.
        let store = store_file(&campaign.output.store, &places.homes);
        Self::with_launcher(with_recorded_defaults(campaign, &store)?, library, places)
    }

    /// Finds the programs that the campaign's launcher needs.
    fn with_launcher(
        campaign: Campaign,
        library: Option<LibraryChoice>,
        places: &SearchPaths,
    ) -> Result<Self, TunerError> {
        match campaign.launcher.clone() {
            LauncherConfig::Local(options) => {
                let here = launcher::usable_cores();
                let cores = cores_of_nodes(&options, here);
                let warnings = campaign.oversubscription_warnings(cores);
                let at = Self::with_library(campaign, library, places, |installation| {
                    Box::new(LocalLauncher::new(installation, options, here))
                })?;
                Ok(Self {
                    cores,
                    warnings,
                    ..at
                })
            }
            LauncherConfig::Batch(options) => {
                let relocated = relocated_store_path(&campaign, &places.homes);
                let (name, path) = (campaign.name.clone(), places.path.clone());
                let at = Self::with_library(campaign, library, places, |installation| {
                    Box::new(BatchLauncher::new(installation, options, name, path))
                })?;
                let mut at = Self { relocated, ..at };
                // A job is one launch.
                at.natives
                    .retain(|native| !is_forced_at_start(&at.library, native));
                // A template that cannot be filled in is reported when a script is needed.
                let scripts = render_job_scripts(&at, None).unwrap_or_default();
                if !scripts.iter().all(|script| takes_orders(&script.text)) {
                    at.warnings.push(Warning::IdleJobs);
                }
                Ok(at)
            }
            LauncherConfig::Simulated(_) if library.is_some() => Err(TunerError::NoLibraryToChoose),
            LauncherConfig::Simulated(options) => Self::with_simulator(campaign, &options),
        }
    }

    /// The file of the store.
    pub fn store_path(&self) -> &Path {
        let named = &self.campaign.output.store;
        self.relocated.as_deref().unwrap_or(named)
    }

    fn with_simulator(campaign: Campaign, options: &SimulatedOptions) -> Result<Self, TunerError> {
        let machine = load_machine(options.machine.as_deref())?;
        let campaign = match machine.shared {
            Some(_) => campaign,
            None => campaign.without_shared_memory(),
        };
        machine.check_suffices(&MachineNeeds {
            shapes: &campaign.shapes,
            transports: campaign.transports(),
            collectives: campaign.sizes.keys().copied().collect(),
        })?;
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

    /// Prepares the measurement of the given library, or else of the campaign's choice.
    fn with_library(
        campaign: Campaign,
        chosen_library: Option<LibraryChoice>,
        places: &SearchPaths,
        launcher: impl FnOnce(Installation) -> Box<dyn Launcher>,
    ) -> Result<Self, TunerError> {
        // The choice is not written into the campaign, whose digest must not depend on it.
        let choice = chosen_library.as_ref().unwrap_or(&campaign.library);
        let directories = places.driver_directories();
        let installation =
            choose_installation(choice, discover_libraries(&places.path), &directories)?;
        let library = installation.library();
        check_libdir(places.libdir.as_deref())?;
        let driver = find_driver(&library, &directories)?;
        // Only if needed, since starting the driver takes a moment.
        let natives = if campaign.selection.selects_natives() {
            list_natives(&driver)?
        } else {
            Vec::new()
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

/// Whether one of the library's algorithms needs launches of its own.
fn is_forced_at_start(library: &Library, native: &NativeAlgorithm) -> bool {
    let known = libraries::find_library(&library.name);
    known.is_some_and(|known_library| {
        let variables =
            known_library.forcing_variables(native.collective, &native.id, &Parameters::default());
        !variables.is_empty()
    })
}

/// The cores of a node: `here` if ranks run on this machine, otherwise unknown.
fn cores_of_nodes(options: &LocalOptions, here: u32) -> Option<u32> {
    options.hosts.is_none().then_some(here)
}

/// The installation that the campaign asks for, preferably one with a driver.
fn choose_installation(
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
    select_installation(choice, &ready).or_else(|_| select_installation(choice, &found))
}

#[cfg(test)]
mod tests {
    use launcher::{Hosts, LocalOptions};
    use vocabulary::Placement;

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
