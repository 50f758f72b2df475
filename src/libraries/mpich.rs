//! MPICH: its collectives' algorithms, its `MPIR_CVAR` variables, its launcher Hydra.

mod algorithms;
mod launcher;
mod variables;

use std::ffi::{OsStr, OsString};

use vocabulary::{Cell, Parameters};

use crate::{LibraryAlgorithm, MpiLibrary, Ranks};

/// MPICH.
#[derive(Debug)]
pub(crate) struct Mpich;

impl MpiLibrary for Mpich {
    fn name(&self) -> &'static str {
        "mpich"
    }

    fn title(&self) -> &'static str {
        "MPICH"
    }

    fn algorithms(&self) -> &'static [LibraryAlgorithm] {
        &algorithms::ALGORITHMS
    }

    fn runs(&self, cell: &Cell, id: &str, _parameters: &Parameters) -> bool {
        algorithms::runs(cell, id)
    }

    fn formats(&self) -> &'static [&'static str] {
        &["mpich"]
    }

    fn format(&self, _version: &str) -> Option<&'static str> {
        Some("mpich")
    }

    fn tells_operators_apart(&self) -> bool {
        true
    }

    fn steering_variables(&self) -> &'static [&'static str] {
        &["MPIR_CVAR_", "MPICH_", "I_MPI_"]
    }

    fn launcher_variables(&self) -> &'static [&'static str] {
        &[]
    }

    fn is_setting(&self, control_variable: &str) -> bool {
        variables::is_setting(control_variable)
    }

    fn environment_variable(&self, control_variable: &str) -> String {
        control_variable.to_owned()
    }

    fn decides(&self, variable: &str, _value: &dyn Fn(&str) -> Option<String>) -> bool {
        variables::decides(variable)
    }

    fn enabling_variable(&self) -> Option<&'static str> {
        None
    }

    fn wakes_with_forcing(&self, _variable: &str) -> bool {
        false
    }

    fn without_files(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    fn yielding_variable(&self) -> Option<&'static str> {
        None
    }

    fn transports(
        &self,
        description: &str,
        _has_variable: &mut dyn FnMut(&str) -> bool,
    ) -> Vec<String> {
        // With its network module, as in `ch4:ofi`.
        let mut lines = description.lines();
        let device = lines.find_map(|line| line.strip_prefix("MPICH Device:"));
        device
            .map(|device| device.trim().to_owned())
            .into_iter()
            .collect()
    }

    fn launchers(&self) -> &'static [&'static str] {
        &["mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun.mpich"]
    }

    fn launcher_version(&self, output: &str) -> Option<String> {
        launcher::version(output)
    }

    fn names_hosts(&self) -> bool {
        true
    }

    fn rank_arguments(&self, ranks: &Ranks<'_>) -> Vec<OsString> {
        launcher::arguments(ranks)
    }

    fn binding_option(&self) -> &'static str {
        "-bind-to"
    }

    fn variable_arguments(&self, name: &str, value: &OsStr) -> Vec<OsString> {
        vec!["-genv".into(), name.into(), value.to_owned()]
    }

    fn sets_variables_by_program(&self) -> bool {
        false
    }

    fn superuser_variables(&self) -> &'static [&'static str] {
        &[]
    }

    fn slots(&self, ranks: u32) -> String {
        format!(":{ranks}")
    }

    fn lost_nodes(&self, printed: &[&str]) -> Option<Vec<String>> {
        launcher::lost_nodes(printed)
    }
}
