//! The properties of each MPI library: its own algorithms, variables, launcher and files.
//!
//! A library is a folder here and a row: a variant of [`LibraryName`] with its place in the table. All other crates use
//! [`MpiLibrary`]; a test checks that no other product file names a library. The algorithms of an unknown library count
//! as unordered, and have no equivalents.

mod algorithm;
mod assignments;
mod equivalents;
mod facts;
mod file_rules;
mod findings;
mod forcing;
mod handing_back;
pub mod intelmpi;
mod json;
mod launching;
pub mod mpich;
pub mod openmpi;
mod placing;
mod rules_files;
mod serving;
mod steering;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use schedule::Collective;
use vocabulary::{Cell, Library, NativeAlgorithm, Parameters};

pub use algorithm::LibraryAlgorithm;
pub use assignments::{
    AssignmentSource, OtherSettings, StrongerSetting, environment_assignments, examine_assignments,
    values_in_force,
};
pub use equivalents::{RIVALS, library_equivalent};
pub use facts::Facts;
pub use file_rules::{
    FileChoice, FileOperators, FileRules, LeftOutLine, RuleInFile, ShapeCondition,
};
pub use findings::{
    Assignment, ChoicesInLines, ExaminedRelease, FindingKind, ReadRules, SteeringFinding,
    SteeringFindings, SteeringFormat,
};
pub use forcing::{NamedEffect, effect_of_name};
pub use handing_back::{Replacement, hand_back_lines};
pub use launching::{LaunchRanks, NodeSource};
pub use placing::{
    JOB_VARIABLES, Placing, STEP_RANK_VARIABLE, STEP_SIZE_VARIABLE, STEP_WITH_LIBRARY,
    placing_of_name,
};
pub use rules_files::RulesFileEffect;
pub use serving::Serving;
pub use steering::{Condition, Effect, KnownSettings, NoEffect, SettingRole, SteeringSetting};

/// A known MPI library; it dereferences to [`MpiLibrary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LibraryName {
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
    /// Intel MPI.
    IntelMpi,
}

/// One row per library, in the order of [`LibraryName`].
const LIBRARIES: [&dyn MpiLibrary; 3] = [&openmpi::OpenMpi, &mpich::Mpich, &intelmpi::IntelMpi];

impl LibraryName {
    /// Every library, in order of preference.
    pub const ALL: [Self; LIBRARIES.len()] = [Self::OpenMpi, Self::Mpich, Self::IntelMpi];

    /// The name used in files: [`Library::name`].
    pub fn name(self) -> &'static str {
        self.facts().name
    }
}

impl Deref for LibraryName {
    type Target = dyn MpiLibrary;

    fn deref(&self) -> &Self::Target {
        LIBRARIES[*self as usize]
    }
}

/// The library with a name, as in [`Library::name`]; `None` if it is unknown.
pub fn find_library(name: &str) -> Option<LibraryName> {
    let mut all = LibraryName::ALL.into_iter();
    all.find(|library| library.name() == name)
}

/// The library with this description, the result of `MPI_Get_library_version`.
pub fn described_by(text: &str) -> Option<LibraryName> {
    let mut all = LibraryName::ALL.into_iter();
    all.find(|library| text.starts_with(library.facts().title))
}

/// Name and version of the library with a description (`MPI_Get_library_version`), such as `Open MPI v4.1.4, package:
/// ...` or `MPICH Version: 4.0.2`. An unknown library gets its first word as name.
pub fn library_from_description(text: &str) -> Library {
    let unknown = || {
        let word = text.split_whitespace().next().unwrap_or("unknown");
        let letters = word.chars().take_while(|c| c.is_alphanumeric());
        letters.collect::<String>().to_lowercase()
    };
    let known = described_by(text);
    let version = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .map(|word| word.trim_start_matches('v'))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or("unknown");
    Library {
        name: known.map_or_else(unknown, |library| library.name().to_owned()),
        version: version.to_owned(),
    }
}

/// The library with a launcher that prints this for `--version`, and its version.
pub fn launched_by(output: &str) -> Option<(LibraryName, String)> {
    let mut all = LibraryName::ALL.into_iter();
    all.find_map(|library| Some((library, library.launcher_version(output)?)))
}

/// Whether a program of this name may be the launcher of a library: one of [`Facts::launchers`], also with another suffix
/// after `.` or `-`, as in `mpiexec.hydra` and `mpirun-5`.
pub fn is_launcher(name: &str) -> bool {
    fn stem(name: &str) -> &str {
        name.split(['.', '-']).next().unwrap_or(name)
    }
    let mut known = LibraryName::ALL
        .iter()
        .flat_map(|library| library.facts().launchers);
    known.any(|known| stem(known) == stem(name))
}

/// [`MpiLibrary::combines_in_order`] of a library by its name; false for reductions of an unknown library.
pub fn combines_in_order(library: &str, collective: Collective, id: &str) -> bool {
    !collective.is_reduction()
        || find_library(library).is_some_and(|library| library.combines_in_order(collective, id))
}

/// [`MpiLibrary::takes_noncommutative`] of a library by its name; false for reductions of an unknown library.
pub fn takes_noncommutative(library: &str, collective: Collective, id: &str) -> bool {
    !collective.is_reduction()
        || find_library(library).is_some_and(|library| library.takes_noncommutative(collective, id))
}

/// Where a library looks for configuration files.
#[derive(Clone, Debug, Default)]
pub struct SettingsPlaces<'a> {
    /// The user's home.
    pub home: Option<&'a Path>,
    /// The library's launcher.
    pub launcher: Option<&'a Path>,
    /// The folder of the site's files, if a variable of [`Facts::site_folders`] names it.
    pub site_folder: Option<PathBuf>,
}

impl SettingsPlaces<'_> {
    /// The folder that environment variables name for the site's files of a library, given their values.
    pub fn site_folder_by_variables(
        library: LibraryName,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf> {
        let mut named = library.facts().site_folders.iter();
        named.find_map(|(name, below)| {
            let value = variable(name).filter(|value| !value.is_empty())?;
            // An empty path below would end the name with a slash.
            let mut folder = PathBuf::from(value);
            if !below.is_empty() {
                folder.push(below);
            }
            Some(folder)
        })
    }
}

/// The properties of an MPI library.
pub trait MpiLibrary: Debug + Sync {
    /// The properties that do not depend on the measurement.
    fn facts(&self) -> &'static Facts;

    /// Whether a forced algorithm runs in a cell: the library neither silently replaces it nor refuses it, and it is
    /// right for the cell's operator.
    fn runs_in_cell(&self, cell: &Cell, id: &str, parameters: &Parameters) -> bool {
        (cell.commutes() || self.takes_noncommutative(cell.collective, id))
            && self.runs_for_any_operator(cell, id, parameters)
    }

    /// As [`Self::runs_in_cell`], whether or not it is right for the operator.
    fn runs_for_any_operator(&self, cell: &Cell, id: &str, parameters: &Parameters) -> bool;

    /// Whether a control variable of the MPI tool interface configures collectives or transports.
    fn is_setting(&self, control_variable: &str) -> bool;

    /// How to find the name by which the library documents a control variable in the variable's description; `None` if
    /// all have the documented names.
    fn documented_name(&self) -> Option<fn(&str) -> Option<&str>> {
        None
    }

    /// The settings that steer its collectives. The first one with a control variable's name is that variable's.
    fn steering_settings(&self) -> &'static [SteeringSetting];

    /// The control variable that an environment variable sets, whether or not the library has one of that name.
    fn control_variable(&self, variable: &str) -> Option<String>;

    /// The other environment variables that set the control variable of this one, and take precedence over it.
    fn stronger_variables(&self, _variable: &str) -> Vec<String> {
        Vec::new()
    }

    /// The component of a setting if it carries out no collective, given all control variables.
    fn idle_component(&self, _setting: &str, _all: &BTreeMap<String, String>) -> Option<String> {
        None
    }

    /// What a release does with the rules file that a control variable names, given its text or the reason why it
    /// cannot be read.
    fn rules_file(&self, setting: &str, version: &str, text: Result<&str, &str>)
    -> RulesFileEffect;

    /// The formats of files that steer its collectives, in the order in which a text is tried.
    fn steering_formats(&self) -> &'static [SteeringFormat];

    /// The configuration files that it reads unless told otherwise, the most important first.
    fn default_settings_files(&self, _places: &SettingsPlaces<'_>) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The configuration files, of those that are there, whose settings take precedence over the environment.
    fn overriding_settings_files(&self, _places: &SettingsPlaces<'_>) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The control variables of a release that is not installed, as far as they are known and concern collectives, with
    /// their built-in values where these matter.
    fn known_settings(&self, _version: &str) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Whether the library may have a control variable of this name that [`Self::known_settings`] lacks.
    fn may_have_setting(&self, _control_variable: &str) -> bool {
        true
    }

    /// Adds what is wrong with the values of settings, given the values of all settings.
    fn examine_values(
        &self,
        _release: &ExaminedRelease<'_>,
        _source: AssignmentSource,
        _assignments: &[Assignment],
        _all: &BTreeMap<String, String>,
        _found: &mut SteeringFindings,
    ) {
    }

    /// Whether an environment variable is deployed with a rules file, besides the one that names the file, so that the
    /// library applies the rules.
    fn goes_with_rules(&self, _variable: &str) -> bool {
        false
    }

    /// The components of the library that carry out collectives, by the values of its control variables before MPI is
    /// started; empty if these do not determine them.
    fn serving_components(&self, variables: &BTreeMap<String, String>) -> Vec<Serving>;

    /// Its transports, by its description of itself and its control variables.
    fn transports(
        &self,
        description: &str,
        has_variable: &mut dyn FnMut(&str) -> bool,
    ) -> Vec<String>;

    /// The version in the output of its launcher for `--version`; `None` if that is another launcher.
    fn launcher_version(&self, output: &str) -> Option<String>;

    /// The launcher's arguments for the number and the nodes of the ranks.
    fn rank_arguments(&self, ranks: &LaunchRanks<'_>) -> Vec<OsString>;

    /// The environment variables, with their values, by which one of its own algorithms is forced when MPI starts; none if
    /// it can be forced later, in a program that runs.
    fn forcing_variables(
        &self,
        _collective: Collective,
        _id: &str,
        _parameters: &Parameters,
    ) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The components that can be made to carry out collectives, as algorithms that are forced when MPI starts, by the
    /// control variables before it is started.
    fn forceable_components(&self, _variables: &BTreeMap<String, String>) -> Vec<NativeAlgorithm> {
        Vec::new()
    }

    /// The environment variables with which a launch that forces a component, according to its `variables`, reports into
    /// the open file of a descriptor which component each communicator gets; none for any other launch.
    fn reporting_variables(
        &self,
        _variables: &BTreeMap<String, String>,
        _descriptor: i32,
    ) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The launcher's arguments that bind each rank to a core, or leave ranks unbound.
    fn binding_arguments(&self, is_bound: bool) -> Vec<OsString> {
        let place = if is_bound { "core" } else { "none" };
        vec![self.facts().binding_option.into(), place.into()]
    }

    /// The launcher's arguments that set a variable for the ranks.
    fn variable_arguments(&self, name: &str, value: &OsStr) -> Vec<OsString>;

    /// The names of nodes with which the launcher has lost contact, as far as its output contains them; `None` if it
    /// has lost none.
    fn lost_nodes(&self, printed: &[&str]) -> Option<Vec<String>>;

    /// The known properties of one of its own algorithms.
    fn known_algorithm(
        &self,
        collective: Collective,
        id: &str,
    ) -> Option<&'static LibraryAlgorithm> {
        let mut all = self.facts().algorithms.iter();
        all.find(|known| known.collective == collective && known.id == id)
    }

    /// Whether one of its own algorithms itself combines in rank order, and runs for operators that do not commute;
    /// true where nothing is combined, false for an unknown algorithm.
    fn takes_noncommutative(&self, collective: Collective, id: &str) -> bool {
        let falls_through = |known: &LibraryAlgorithm| known.falls_through;
        self.combines_in_order(collective, id)
            && !self
                .known_algorithm(collective, id)
                .is_some_and(falls_through)
    }

    /// Whether one of its own algorithms is right for operators that do not commute: it combines in rank order, or
    /// leaves these operators to another algorithm that does. True where nothing is combined, false for an unknown
    /// algorithm.
    fn combines_in_order(&self, collective: Collective, id: &str) -> bool {
        let known = self.known_algorithm(collective, id);
        !collective.is_reduction() || known.is_some_and(|known| known.is_ordered)
    }

    /// The sizes, as cells count them, at which the library's own tables are known to switch to another algorithm for a
    /// communicator of this many ranks.
    fn switching_sizes(&self, _collective: Collective, _ranks: u32) -> Vec<u64> {
        Vec::new()
    }

    /// The properties of an algorithm that the library lists.
    fn describe_algorithm(&self, collective: Collective, id: &str) -> NativeAlgorithm {
        let known = self.known_algorithm(collective, id);
        NativeAlgorithm {
            collective,
            id: id.to_owned(),
            takes_segments: known.is_some_and(|known| known.takes_segments),
            takes_fanout: known.is_some_and(|known| known.takes_fanout),
            takes_requests: known.is_some_and(|known| known.takes_requests),
            is_ordered: self.combines_in_order(collective, id),
        }
    }
}
