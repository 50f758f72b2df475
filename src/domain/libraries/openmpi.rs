//! Open MPI: its component `coll/tuned`, its MCA variables, its mpirun.

mod algorithms;
mod classic;
mod components;
mod decisions;
mod forced_components;
mod han_rules;
mod numbers;
mod parameters;
mod rows;
mod rules_files;
mod rules_json;
mod settings;
mod steering;
mod tuned;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use schedule::Collective;
use vocabulary::{Cell, NativeAlgorithm, Parameters, Placement};

use crate::{
    Assignment, AssignmentSource, ExaminedRelease, Facts, LaunchRanks, MpiLibrary, NodeSource,
    RulesFileEffect, Serving, SettingsPlaces, SteeringFindings, SteeringFormat, SteeringSetting,
};

pub use algorithms::{COLLECTIVES, Limits, SINCE_5, algorithm_limits, serves_ranks};
pub use forced_components::{
    ForcedComponent, component_in_report, find_forced_component, list_forced_components,
};

/// Open MPI.
#[derive(Debug)]
pub(crate) struct OpenMpi;

/// Whether the rules files of a release can say how many requests may be under way.
pub fn files_have_requests(version: &str) -> bool {
    classic::knows_header(crate::rules_files::release_numbers(version))
}

/// The prefix of environment variables that set control variables.
const PREFIX: &str = "OMPI_MCA_";
const ENABLING: &str = "OMPI_MCA_coll_tuned_use_dynamic_rules";

/// The frameworks with control variables that configure collectives and transports. The variables with the frameworks'
/// own names select their components.
const FRAMEWORKS: [&str; 6] = ["coll", "pml", "bml", "btl", "mtl", "mpi"];

/// A variable that 4.1 reads from freed memory, so that its value is random.
const RANDOM: &str = "pml_ucx_multi_send_nb";

/// The layers, from the top, each with its framework, the suffix of its components' variables, and its components. The
/// library closes unused components, and their variables disappear.
const LAYERS: [(&str, &str, &str, &[&str]); 3] = [
    (
        "ob1",
        "btl",
        "exclusivity",
        &[
            "self", "vader", "sm", "smcuda", "tcp", "openib", "uct", "ofi", "usnic", "ugni",
            "portals4",
        ],
    ),
    ("cm", "mtl", "priority", &["ofi", "psm", "psm2", "portals4"]),
    ("ucx", "", "", &[]),
];

const FACTS: Facts = Facts {
    name: "openmpi",
    title: "Open MPI",
    example_version: "4.1.4",
    algorithms: &algorithms::ALGORITHMS,
    formats: &[(0, "openmpi"), (6, "openmpi-json")],
    tells_operators_apart: false,
    steering_variables: &[PREFIX, "PRTE_MCA_", "HCOLL_"],
    launcher_variables: &[
        "OMPI_MCA_orte_",
        "OMPI_MCA_ess",
        "OMPI_MCA_shmem_RUNTIME",
        "OMPI_MCA_pmix",
        "OMPI_MCA_initial_wdir",
    ],
    variable_prefix: PREFIX,
    common_prefix: "",
    rules_setting: "coll_tuned_dynamic_rules_filename",
    files_setting: Some("mca_base_param_files"),
    site_folders: &[("OPAL_SYSCONFDIR", ""), ("OPAL_PREFIX", "etc")],
    early_choices: None,
    enabling_variable: Some(ENABLING),
    without_files: Some(("OMPI_MCA_mca_base_param_files", "none")),
    // Its launcher sets it if it knows that ranks outnumber cores.
    yielding_variable: Some("mpi_yield_when_idle"),
    rank_variables: &["OMPI_COMM_WORLD_RANK"],
    size_variables: &["OMPI_COMM_WORLD_SIZE"],
    launchers: &["mpirun.openmpi", "mpirun", "mpiexec.openmpi", "orterun"],
    root_variable: None,
    names_hosts: false,
    forwards_environment: false,
    binding_option: "--bind-to",
    sets_variables_by_program: true,
    reports_to_world: true,
    // The names in releases 4 and 5.
    superuser_variables: &[
        "OMPI_ALLOW_RUN_AS_ROOT",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "PRTE_ALLOW_RUN_AS_ROOT",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
    ],
    slots: " slots=",
};

impl MpiLibrary for OpenMpi {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn runs_for_any_operator(&self, cell: &Cell, id: &str, parameters: &Parameters) -> bool {
        match find_forced_component(id) {
            Some(forced) => forced.accepts_cell(cell),
            None => algorithms::is_carried_out(cell, id, parameters),
        }
    }

    fn forcing_variables(
        &self,
        _collective: Collective,
        id: &str,
        parameters: &Parameters,
    ) -> Vec<(String, String)> {
        find_forced_component(id).map_or_else(Vec::new, |forced| forced.variables(parameters))
    }

    fn forceable_components(&self, variables: &BTreeMap<String, String>) -> Vec<NativeAlgorithm> {
        list_forced_components(variables)
    }

    fn reporting_variables(
        &self,
        variables: &BTreeMap<String, String>,
        descriptor: i32,
    ) -> Vec<(String, String)> {
        forced_components::reporting_variables(variables, descriptor)
    }

    fn is_setting(&self, control_variable: &str) -> bool {
        let framework = control_variable.split('_').next().unwrap_or_default();
        FRAMEWORKS.contains(&framework) && control_variable != RANDOM
    }

    fn steering_settings(&self) -> &'static [SteeringSetting] {
        &steering::SETTINGS
    }

    fn control_variable(&self, variable: &str) -> Option<String> {
        variable.strip_prefix(PREFIX).map(str::to_owned)
    }

    fn idle_component(&self, setting: &str, all: &BTreeMap<String, String>) -> Option<String> {
        components::idle_component(setting, all)
    }

    fn rules_file(
        &self,
        setting: &str,
        version: &str,
        text: Result<&str, &str>,
    ) -> RulesFileEffect {
        match text {
            Err(why) => RulesFileEffect::Ignored(format!("it cannot be read: {why}")),
            Ok(text) => rules_files::effect_of_file(setting, version, text),
        }
    }

    fn steering_formats(&self) -> &'static [SteeringFormat] {
        &rules_files::FORMATS
    }

    fn default_settings_files(&self, places: &SettingsPlaces<'_>) -> Vec<PathBuf> {
        let own = places
            .home
            .map(|home| home.join(".openmpi/mca-params.conf"));
        let of_site = files_of_site("openmpi-mca-params.conf", places);
        own.into_iter().chain(of_site).collect()
    }

    /// `mca_base_override_param_file`, which has a constant value.
    fn overriding_settings_files(&self, places: &SettingsPlaces<'_>) -> Vec<PathBuf> {
        files_of_site("openmpi-mca-params-override.conf", places)
    }

    fn known_settings(&self, version: &str) -> BTreeMap<String, String> {
        settings::known_settings(version)
    }

    fn may_have_setting(&self, control_variable: &str) -> bool {
        settings::may_have_setting(control_variable)
    }

    fn examine_values(
        &self,
        release: &ExaminedRelease<'_>,
        source: AssignmentSource,
        assignments: &[Assignment],
        all: &BTreeMap<String, String>,
        found: &mut SteeringFindings,
    ) {
        let name_of = |assignment: &Assignment| match source {
            AssignmentSource::Parameters => Some(assignment.name.clone()),
            AssignmentSource::Environment => self.control_variable(&assignment.name),
        };
        parameters::examine_values(release, assignments, all, name_of, found);
    }

    /// `coll` is deployed with rules files, to exclude the [`components`] that come before `tuned`.
    fn goes_with_rules(&self, variable: &str) -> bool {
        variable == "OMPI_MCA_coll"
    }

    fn serving_components(&self, variables: &BTreeMap<String, String>) -> Vec<Serving> {
        components::serving_components(variables)
    }

    fn transports(
        &self,
        _description: &str,
        has_variable: &mut dyn FnMut(&str) -> bool,
    ) -> Vec<String> {
        let mut found = Vec::new();
        for (layer, framework, sign, components) in LAYERS {
            if !has_variable(&format!("pml_{layer}_priority")) {
                continue;
            }
            found.push(format!("pml/{layer}"));
            for component in components {
                if has_variable(&format!("{framework}_{component}_{sign}")) {
                    found.push(format!("{framework}/{component}"));
                }
            }
        }
        found
    }

    fn launcher_version(&self, output: &str) -> Option<String> {
        // 4: `mpirun.openmpi (OpenRTE) 4.1.4`; 5: `mpirun (Open MPI) 5.0.6`.
        let mut products = ["(OpenRTE)", "(Open MPI)"].iter();
        let (_, rest) = products.find_map(|name| output.split_once(name))?;
        crate::launching::leading_version(rest)
    }

    fn rank_arguments(&self, ranks: &LaunchRanks<'_>) -> Vec<OsString> {
        let number = ranks.shape.ranks().to_string();
        let mut arguments: Vec<OsString> = vec!["-np".into(), number.into()];
        let placement = match ranks.nodes {
            NodeSource::Here => None,
            NodeSource::Named(names, placement) => {
                arguments.extend(["--host".into(), names.join(",").into()]);
                Some(placement)
            }
            NodeSource::File(file, placement) => {
                arguments.extend(["--hostfile".into(), file.into()]);
                Some(placement)
            }
            NodeSource::Job(_, placement) => Some(placement),
        };
        if let Some(placement) = placement {
            // Nodes are filled in their order; the placement determines only the numbering of their ranks.
            let order = match placement {
                Placement::Block => "slot",
                Placement::Cyclic => "node",
            };
            let map = format!("ppr:{}:node", ranks.shape.ppn);
            arguments.extend(["--map-by".into(), map.into()]);
            arguments.extend(["--rank-by".into(), order.into()]);
            // Remote ranks see only those variables of mpirun's environment that it is told to pass on.
            for name in ranks.passed_on {
                arguments.extend(["-x".into(), name.clone()]);
            }
        }
        if ranks.may_crowd {
            arguments.push("--oversubscribe".into());
        }
        arguments
    }

    fn variable_arguments(&self, name: &str, value: &OsStr) -> Vec<OsString> {
        let mut pair = OsString::from(name);
        pair.push("=");
        pair.push(value);
        vec!["-x".into(), pair]
    }

    fn lost_nodes(&self, printed: &[&str]) -> Option<Vec<String>> {
        let mut lines = printed.iter();
        lines.find(|line| line.contains("lost communication with a remote daemon"))?;
        let remote = printed
            .iter()
            .filter(|line| line.trim_start().starts_with("Remote daemon:"));
        let names = remote.filter_map(|line| line.split_once(" on node "));
        Some(names.map(|(_, name)| name.trim().to_owned()).collect())
    }
}

/// The places of a configuration file of the site: in distributions, it lies in `/etc/openmpi`.
fn files_of_site(name: &str, places: &SettingsPlaces<'_>) -> Vec<PathBuf> {
    if let Some(folder) = &places.site_folder {
        return vec![folder.join(name)];
    }
    let prefix = places
        .launcher
        .and_then(Path::parent)
        .and_then(Path::parent);
    let below = prefix.map(|prefix| prefix.join("etc").join(name));
    let distributed = Path::new("/etc/openmpi").join(name);
    below.into_iter().chain([distributed]).collect()
}

/// Parses a truth value as the library does.
fn is_true(value: &str) -> bool {
    let value = value.trim().to_lowercase();
    let is_number = value.parse::<i64>().is_ok_and(|number| number != 0);
    is_number || ["true", "t", "yes", "y", "enabled"].contains(&value.as_str())
}
