//! MPICH: its `MPIR_CVAR` variables, its launcher Hydra.

mod algorithms;
mod rules_files;
mod selection;
mod selection_rules;
mod settings;
mod steering;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use schedule::Collective;
use vocabulary::{Cell, Parameters, Placement};

pub use algorithms::takes_parameters;

use crate::{
    Assignment, AssignmentSource, ExaminedRelease, Facts, LaunchRanks, MpiLibrary, NodeSource,
    RulesFileEffect, Serving, SteeringFindings, SteeringFormat, SteeringSetting,
};

/// MPICH.
#[derive(Debug)]
pub(crate) struct Mpich;

/// The prefixes of environment variables that set a control variable, in order of precedence.
const PREFIXES: [&str; 3] = ["MPIR_CVAR_", "MPIR_PARAM_", "MPICH_"];

/// The variable for whether devices carry out collectives: all, none, or those with their own variables set to that.
/// The tool interface may give these values as numbers, 0 to 2.
const DEVICES: &str = "MPIR_CVAR_DEVICE_COLLECTIVES";

const FACTS: Facts = Facts {
    name: "mpich",
    title: "MPICH",
    example_version: "4.0.2",
    algorithms: &algorithms::ALGORITHMS,
    formats: &[(0, "mpich")],
    tells_operators_apart: true,
    steering_variables: &["MPIR_", "MPICH_"],
    launcher_variables: &[],
    variable_prefix: "",
    common_prefix: PREFIXES[0],
    rules_setting: "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
    files_setting: None,
    site_folders: &[],
    early_choices: None,
    enabling_variable: None,
    without_files: None,
    yielding_variable: None,
    rank_variables: &["PMI_RANK", "PMIX_RANK"],
    size_variables: &["PMI_SIZE"],
    launchers: &["mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun.mpich"],
    root_variable: None,
    // Hydra places a number of ranks on each node in turn and then starts again at the first. In cyclic placement it
    // would use more hosts of a file than the shape has.
    names_hosts: true,
    forwards_environment: true,
    binding_option: "-bind-to",
    sets_variables_by_program: false,
    reports_to_world: false,
    superuser_variables: &[],
    slots: ":",
};

impl MpiLibrary for Mpich {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn runs_for_any_operator(&self, cell: &Cell, id: &str, _parameters: &Parameters) -> bool {
        algorithms::is_carried_out(cell, id)
    }

    fn is_setting(&self, control_variable: &str) -> bool {
        control_variable.starts_with(PREFIXES[0])
    }

    /// The sizes in the built-in tables of 4.0 to 5.0, and in `MPIR_CVAR_<COLLECTIVE>_..._MSG_SIZE` before.
    fn switching_sizes(&self, collective: Collective, ranks: u32) -> Vec<u64> {
        let of_all_ranks = |bytes: u64| bytes.div_ceil(u64::from(ranks.max(1)));
        match collective {
            Collective::Bcast if ranks < 8 => Vec::new(),
            Collective::Bcast if ranks.is_power_of_two() => vec![12_288, 524_288],
            Collective::Bcast => vec![12_288],
            Collective::Reduce => vec![2049],
            Collective::Allreduce => vec![9],
            Collective::Allgather if ranks.is_power_of_two() => vec![of_all_ranks(524_288)],
            Collective::Allgather => vec![of_all_ranks(81_920)],
            Collective::Allgatherv if ranks.is_power_of_two() => vec![524_288],
            Collective::Allgatherv => vec![81_920],
            Collective::ReduceScatter => vec![524_288],
            Collective::ReduceScatterBlock => vec![of_all_ranks(524_288)],
            Collective::Alltoall if ranks < 8 => vec![32_769],
            Collective::Alltoall => vec![257, 32_769],
            _ => Vec::new(),
        }
    }

    fn steering_settings(&self) -> &'static [SteeringSetting] {
        &steering::SETTINGS
    }

    fn control_variable(&self, variable: &str) -> Option<String> {
        let mut prefixes = PREFIXES.iter();
        let name = prefixes.find_map(|prefix| variable.strip_prefix(prefix))?;
        Some(format!("{}{name}", PREFIXES[0]))
    }

    /// Of several names of one variable, the first prefix counts.
    fn stronger_variables(&self, variable: &str) -> Vec<String> {
        let Some(place) = PREFIXES
            .iter()
            .position(|prefix| variable.starts_with(prefix))
        else {
            return Vec::new();
        };
        let own = &variable[PREFIXES[place].len()..];
        let stronger = PREFIXES[..place].iter();
        stronger.map(|prefix| format!("{prefix}{own}")).collect()
    }

    fn rules_file(
        &self,
        setting: &str,
        version: &str,
        text: Result<&str, &str>,
    ) -> RulesFileEffect {
        rules_files::effect_of_file(setting, version, text)
    }

    fn steering_formats(&self) -> &'static [SteeringFormat] {
        &rules_files::FORMATS
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
        _source: AssignmentSource,
        assignments: &[Assignment],
        _all: &BTreeMap<String, String>,
        found: &mut SteeringFindings,
    ) {
        settings::examine_values(release, assignments, found);
    }

    fn goes_with_rules(&self, variable: &str) -> bool {
        let about = variable.strip_prefix(PREFIXES[0]).unwrap_or_default();
        about.ends_with("DEVICE_COLLECTIVE") || about == "DEVICE_COLLECTIVES"
    }

    /// A device may split a collective into one within each node and one between nodes, or carry it out in shared
    /// memory, before the selection file is used, as `ch4` does. The file applies to the rest.
    fn serving_components(&self, variables: &BTreeMap<String, String>) -> Vec<Serving> {
        let value_of = |name: &str| variables.get(name).map(String::as_str);
        let devices = value_of(DEVICES);
        let mut serving = Vec::new();
        for collective in Collective::ALL {
            let name = collective.name().to_uppercase();
            let own = format!("{}{name}_DEVICE_COLLECTIVE", PREFIXES[0]);
            let by_device = match (devices, value_of(&own)) {
                (None, _) => continue,
                (Some("all" | "0"), _) => true,
                (Some("none" | "1"), _) => false,
                (_, own_value) => own_value.is_some_and(|value| value != "0" && value != "false"),
            };
            let entry = Serving {
                component: if by_device {
                    "the device"
                } else {
                    "the selection file"
                }
                .to_owned(),
                collectives: vec![collective],
                over_nodes: false,
                remedy: by_device
                    .then(|| format!("{}<COLLECTIVE>_DEVICE_COLLECTIVE=0", PREFIXES[0])),
            };
            Serving::add_to(&mut serving, entry);
        }
        serving
    }

    fn transports(
        &self,
        description: &str,
        _has_variable: &mut dyn FnMut(&str) -> bool,
    ) -> Vec<String> {
        // The device with its network module, such as `ch4:ofi`.
        let lines = description.lines();
        let mut devices = lines.filter_map(|line| line.strip_prefix("MPICH Device:"));
        devices
            .next()
            .map(|device| device.trim().to_owned())
            .into_iter()
            .collect()
    }

    fn launcher_version(&self, output: &str) -> Option<String> {
        // `HYDRA build details:` and a line `Version:  4.0.2`.
        let is_it = output.contains("HYDRA") || output.to_lowercase().contains("mpich");
        let (_, rest) = output.split_once("Version:").filter(|_| is_it)?;
        crate::launching::leading_version(rest)
    }

    fn rank_arguments(&self, ranks: &LaunchRanks<'_>) -> Vec<OsString> {
        let (arguments, placement): ([OsString; 2], _) = match ranks.nodes {
            // Without `fork` hydra would go through ssh or a batch system.
            NodeSource::Here => (["-launcher".into(), "fork".into()], None),
            NodeSource::Named(names, placement) => {
                let names = names.join(",").into();
                (["-hosts".into(), names], Some(placement))
            }
            NodeSource::File(file, placement) => (["-f".into(), file.into()], Some(placement)),
            NodeSource::Job(system, placement) => {
                (["-launcher".into(), system.into()], Some(placement))
            }
        };
        let mut arguments = arguments.to_vec();
        if let Some(placement) = placement {
            let at_a_time = match placement {
                Placement::Block => ranks.shape.ppn,
                Placement::Cyclic => 1,
            };
            arguments.extend(["-ppn".into(), at_a_time.to_string().into()]);
        }
        arguments.extend(["-n".into(), ranks.shape.ranks().to_string().into()]);
        arguments
    }

    fn variable_arguments(&self, name: &str, value: &OsStr) -> Vec<OsString> {
        vec!["-genv".into(), name.into(), value.to_owned()]
    }

    fn lost_nodes(&self, printed: &[&str]) -> Option<Vec<String>> {
        let mut lines = printed.iter();
        let is_lost =
            |line: &&&str| line.contains("control_cb") && line.contains("assert (!closed)");
        lines.find(is_lost).map(|_| Vec::new())
    }
}
