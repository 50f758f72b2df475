//! A campaign with what it needs on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use campaign::launcher::{
    Discovery, Installation, LaunchError, Launcher, LocalLauncher, discover, driver_directories,
    find_driver, select,
};
use campaign::{Campaign, LibraryChoice};
use wire::{Library, Warning};

use crate::TunerError;

/// Where to look for programs; the edge of the program reads the environment, not this crate.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The search path for launchers, the value of `$PATH`.
    pub path: OsString,
    /// Further folder of drivers, the value of `$COLLTUNE_LIBDIR`.
    pub libdir: Option<OsString>,
    /// This program.
    pub executable: PathBuf,
}

impl Places {
    /// Folders in which drivers are looked for.
    pub fn driver_directories(&self) -> Vec<PathBuf> {
        driver_directories(self.libdir.as_deref(), &self.executable)
    }
}

/// What a campaign is carried out with.
pub struct Workplace {
    /// The campaign.
    pub campaign: Campaign,
    /// The library that is measured.
    pub library: Library,
    /// The measuring program for that library.
    pub driver: PathBuf,
    /// Cores of a node, where known.
    pub cores: Option<u32>,
    /// What starts it.
    pub launcher: Box<dyn Launcher>,
    /// What is known to make the numbers less trustworthy before anything ran.
    pub warnings: Vec<Warning>,
}

impl Workplace {
    /// Reads a campaign and finds what it needs. `library` is measured instead of the campaign's
    /// own choice.
    ///
    /// # Errors
    /// What is wrong with the campaign, or what is missing.
    pub fn prepare(
        path: &Path,
        library: Option<LibraryChoice>,
        places: &Places,
    ) -> Result<Self, TunerError> {
        let campaign = Campaign::load(path)?;
        // Not written into the campaign: it asks for the same measurements of whichever library,
        // so its digest must not change.
        let library = library.unwrap_or_else(|| campaign.library.clone());
        Self::of(campaign, &library, places)
    }

    fn of(campaign: Campaign, choice: &LibraryChoice, places: &Places) -> Result<Self, TunerError> {
        let directories = places.driver_directories();
        let installation = choose(choice, discover(&places.path), &directories)?;
        let library = installation.library();
        let driver = find_driver(&library, &directories)?;
        let cores = campaign::cores();
        let warnings = campaign.warnings(cores);
        let launcher = LocalLauncher::new(installation, campaign.launcher.clone(), cores);
        Ok(Self {
            campaign,
            library,
            driver,
            cores: Some(cores),
            launcher: Box::new(launcher),
            warnings,
        })
    }
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
