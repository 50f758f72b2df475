//! Open MPI: what its component `coll/tuned` lists, its MCA variables, its mpirun.

mod algorithms;
mod launcher;
mod variables;

use std::ffi::{OsStr, OsString};

use vocabulary::{Cell, Parameters};

use crate::{LibraryAlgorithm, MpiLibrary, Ranks};

pub use algorithms::{COLLECTIVES, Limits, limits, serves};

/// Open MPI.
#[derive(Debug)]
pub(crate) struct OpenMpi;

impl MpiLibrary for OpenMpi {
    fn name(&self) -> &'static str {
        "openmpi"
    }

    fn title(&self) -> &'static str {
        "Open MPI"
    }

    fn algorithms(&self) -> &'static [LibraryAlgorithm] {
        &algorithms::ALGORITHMS
    }

    fn runs(&self, cell: &Cell, id: &str, parameters: &Parameters) -> bool {
        algorithms::runs(cell, id, parameters)
    }

    fn formats(&self) -> &'static [&'static str] {
        &["openmpi", "openmpi-json"]
    }

    fn format(&self, version: &str) -> Option<&'static str> {
        let major: u32 = version.split('.').next()?.parse().ok()?;
        Some(self.formats()[usize::from(major >= 6)])
    }

    fn tells_operators_apart(&self) -> bool {
        false
    }

    fn steering_variables(&self) -> &'static [&'static str] {
        &["OMPI_MCA_", "PRTE_MCA_", "HCOLL_"]
    }

    fn launcher_variables(&self) -> &'static [&'static str] {
        &variables::LAUNCHER_INTERNAL
    }

    fn is_setting(&self, control_variable: &str) -> bool {
        variables::is_setting(control_variable)
    }

    fn environment_variable(&self, control_variable: &str) -> String {
        format!("OMPI_MCA_{control_variable}")
    }

    fn decides(&self, variable: &str, value: &dyn Fn(&str) -> Option<String>) -> bool {
        variables::decides(variable, value)
    }

    fn enabling_variable(&self) -> Option<&'static str> {
        Some(variables::ENABLING)
    }

    fn wakes_with_forcing(&self, variable: &str) -> bool {
        variable.starts_with(variables::DECIDING)
    }

    fn without_files(&self) -> Option<(&'static str, &'static str)> {
        Some(("OMPI_MCA_mca_base_param_files", "none"))
    }

    fn yielding_variable(&self) -> Option<&'static str> {
        Some("mpi_yield_when_idle")
    }

    fn transports(
        &self,
        _description: &str,
        has_variable: &mut dyn FnMut(&str) -> bool,
    ) -> Vec<String> {
        variables::transports(has_variable)
    }

    fn launchers(&self) -> &'static [&'static str] {
        &["mpirun.openmpi", "mpirun", "mpiexec.openmpi"]
    }

    fn launcher_version(&self, output: &str) -> Option<String> {
        launcher::version(output)
    }

    fn names_hosts(&self) -> bool {
        false
    }

    fn rank_arguments(&self, ranks: &Ranks<'_>) -> Vec<OsString> {
        launcher::arguments(ranks)
    }

    fn binding_option(&self) -> &'static str {
        "--bind-to"
    }

    fn variable_arguments(&self, name: &str, value: &OsStr) -> Vec<OsString> {
        let mut pair = OsString::from(name);
        pair.push("=");
        pair.push(value);
        vec!["-x".into(), pair]
    }

    fn sets_variables_by_program(&self) -> bool {
        true
    }

    fn superuser_variables(&self) -> &'static [&'static str] {
        &launcher::SUPERUSER
    }

    fn slots(&self, ranks: u32) -> String {
        format!(" slots={ranks}")
    }

    fn lost_nodes(&self, printed: &[&str]) -> Option<Vec<String>> {
        launcher::lost_nodes(printed)
    }
}
