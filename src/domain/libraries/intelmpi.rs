//! Intel MPI, which derives from MPICH: presets by number in `I_MPI_ADJUST` variables, its launcher Hydra.

pub(crate) mod adjust;
mod presets;
mod steering;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use schedule::Collective;
use vocabulary::{Cell, Parameters};

use crate::{
    Assignment, AssignmentSource, ExaminedRelease, Facts, LaunchRanks, LibraryName, MpiLibrary,
    RulesFileEffect, Serving, SteeringFindings, SteeringFormat, SteeringSetting,
};

pub use presets::{adjusting_variable, preset_id, preset_number};

/// Intel MPI.
#[derive(Debug)]
pub(crate) struct IntelMpi;

/// The beginning of the names of its environment variables.
const PREFIX: &str = "I_MPI_";

/// Names the file of decisions that replaces the one that the library ships. An empty value leaves it without any
/// (seen in 2021.19).
const TUNING_FILE: &str = "I_MPI_TUNING_BIN";

/// Whether ranks are bound to cores. The launcher accepts MPICH's option for that, and ignores it (seen in 2021.19).
const PINNING: &str = "I_MPI_PIN";

const FACTS: Facts = Facts {
    name: "intelmpi",
    title: "Intel(R) MPI Library",
    example_version: "2021.19.0",
    algorithms: &[],
    formats: &[(0, "intelmpi")],
    tells_operators_apart: false,
    steering_variables: &[PREFIX],
    // What the library finds out about the machine, and passes on to ranks.
    launcher_variables: &[
        "I_MPI_BIND_WIN_ALLOCATE",
        "I_MPI_HYDRA_",
        "I_MPI_INFO_",
        "I_MPI_INTERNAL_",
        "I_MPI_MPIRUN",
        "I_MPI_PIN",
        "I_MPI_RETURN_WIN_",
        "I_MPI_ROOT",
    ],
    variable_prefix: "",
    common_prefix: PREFIX,
    rules_setting: TUNING_FILE,
    files_setting: None,
    site_folders: &[],
    early_choices: Some(adjust::PREFIX),
    enabling_variable: None,
    without_files: None,
    yielding_variable: None,
    rank_variables: &["PMI_RANK"],
    size_variables: &["PMI_SIZE"],
    launchers: &["mpiexec.hydra", "mpirun", "mpiexec"],
    root_variable: Some("I_MPI_ROOT"),
    // As with MPICH's Hydra, from which its launcher derives.
    names_hosts: true,
    forwards_environment: true,
    binding_option: "-bind-to",
    sets_variables_by_program: false,
    reports_to_world: false,
    superuser_variables: &[],
    slots: ":",
};

impl MpiLibrary for IntelMpi {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    /// The library replaces a preset that cannot run, and does not say so: what is measured and deployed is the setting.
    fn runs_for_any_operator(&self, _cell: &Cell, id: &str, _parameters: &Parameters) -> bool {
        preset_number(id).is_some()
    }

    fn is_setting(&self, control_variable: &str) -> bool {
        control_variable.starts_with(PREFIX)
    }

    fn documented_name(&self) -> Option<fn(&str) -> Option<&str>> {
        // `...@Alias:# I_MPI_ADJUST_BCAST @Default:# -1`.
        Some(|description| {
            description
                .split_once("@Alias:#")?
                .1
                .split_whitespace()
                .next()
        })
    }

    fn steering_settings(&self) -> &'static [SteeringSetting] {
        &steering::SETTINGS
    }

    /// The tool interface names most variables as MPICH does; [`Self::documented_name`] is that of the environment variable.
    fn control_variable(&self, variable: &str) -> Option<String> {
        variable.starts_with(PREFIX).then(|| variable.to_owned())
    }

    fn rules_file(
        &self,
        _setting: &str,
        _version: &str,
        text: Result<&str, &str>,
    ) -> RulesFileEffect {
        match text {
            // A binary format, which is not published.
            Ok(_) => RulesFileEffect::Read(Some("in place of the file that the library ships")),
            Err(why) => RulesFileEffect::Ignored(format!("it cannot be read: {why}")),
        }
    }

    fn steering_formats(&self) -> &'static [SteeringFormat] {
        &[]
    }

    fn examine_values(
        &self,
        _release: &ExaminedRelease<'_>,
        _source: AssignmentSource,
        assignments: &[Assignment],
        _all: &BTreeMap<String, String>,
        found: &mut SteeringFindings,
    ) {
        for Assignment { line, name, value } in assignments {
            if name.starts_with(adjust::PREFIX) {
                adjust::examine_adjustment(*line, name, value, found);
            }
        }
    }

    fn forcing_variables(
        &self,
        collective: Collective,
        id: &str,
        _parameters: &Parameters,
    ) -> Vec<(String, String)> {
        let number = preset_number(id);
        let variable = number.map(|number| (adjusting_variable(collective), number.to_string()));
        variable.into_iter().collect()
    }

    fn serving_components(&self, _variables: &BTreeMap<String, String>) -> Vec<Serving> {
        Vec::new()
    }

    fn transports(
        &self,
        _description: &str,
        _has_variable: &mut dyn FnMut(&str) -> bool,
    ) -> Vec<String> {
        Vec::new()
    }

    fn launcher_version(&self, output: &str) -> Option<String> {
        // `Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929 (id: 1821d9b)`.
        let (_, rest) = output.split_once(FACTS.title)?;
        let (_, rest) = rest.split_once("Version ")?;
        crate::launching::leading_version(rest)
    }

    fn rank_arguments(&self, ranks: &LaunchRanks<'_>) -> Vec<OsString> {
        LibraryName::Mpich.rank_arguments(ranks)
    }

    fn binding_arguments(&self, is_bound: bool) -> Vec<OsString> {
        let value = if is_bound { "1" } else { "0" };
        self.variable_arguments(PINNING, OsStr::new(value))
    }

    fn variable_arguments(&self, name: &str, value: &OsStr) -> Vec<OsString> {
        LibraryName::Mpich.variable_arguments(name, value)
    }

    fn lost_nodes(&self, printed: &[&str]) -> Option<Vec<String>> {
        LibraryName::Mpich.lost_nodes(printed)
    }
}
