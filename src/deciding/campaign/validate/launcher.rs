//! Checks of the launcher and its options.

use std::collections::BTreeMap;

use launcher::{BatchOptions, Hosts, LocalOptions, Oversubscribe, read_hosts};
use strict_yaml::{Field, Scalar, Shorthand};

use super::{Checked, Machine, Validator};
use crate::definition::{
    LauncherDefinition, LauncherKey, LaunchersDefinition, LocalDefinition, SimulatedDefinition,
};
use crate::{LauncherConfig, Problem, SimulatedOptions};
use vocabulary::Placement;

const OVERSUBSCRIBE: [(&str, Oversubscribe); 3] = [
    ("auto", Oversubscribe::Auto),
    ("never", Oversubscribe::Never),
    ("always", Oversubscribe::Always),
];

impl Validator<'_> {
    pub(super) fn check_launcher(
        &self,
        definition: Option<&Shorthand<Scalar, LaunchersDefinition>>,
    ) -> Checked<LauncherConfig> {
        let field = Field::from_key("launcher");
        match definition {
            None => Ok(LauncherConfig::default()),
            Some(Shorthand::Short(word)) => {
                let key = self.document.parse_word(
                    &field,
                    &word.0,
                    "launcher",
                    &LauncherKey::all_by_name(),
                )?;
                Ok(match key {
                    LauncherKey::Local => LauncherConfig::default(),
                    LauncherKey::Batch(system) => {
                        LauncherConfig::Batch(BatchOptions::for_system(system))
                    }
                    LauncherKey::Simulated => {
                        LauncherConfig::Simulated(SimulatedOptions::default())
                    }
                })
            }
            Some(Shorthand::Full(LaunchersDefinition(named))) => match named.as_slice() {
                [LauncherDefinition::Local(local)] => {
                    Ok(LauncherConfig::Local(self.check_local(local)?))
                }
                [LauncherDefinition::Batch(system, given)] => {
                    Ok(LauncherConfig::Batch(self.check_batch(*system, given)?))
                }
                [LauncherDefinition::Simulated(simulated)] => {
                    Ok(LauncherConfig::Simulated(self.check_simulated(simulated)?))
                }
                _ => Err(self.value_error(&field, Problem::NotOneLauncher)),
            },
        }
    }

    fn check_simulated(&self, definition: &SimulatedDefinition) -> Checked<SimulatedOptions> {
        let field = Field::from_key("launcher").key("simulated");
        let SimulatedDefinition {
            machine,
            placement,
            seed,
        } = definition;
        if let Some(machine) = machine {
            self.check_file_name(&field.key("machine"), machine)?;
        }
        Ok(SimulatedOptions {
            machine: machine.clone(),
            placement: self.check_placement(&field, placement)?.unwrap_or_default(),
            seed: seed.unwrap_or(0),
        })
    }

    pub(super) fn check_placement(
        &self,
        launcher: &Field,
        word: &Option<Scalar>,
    ) -> Checked<Option<Placement>> {
        let placements = Placement::ALL.map(|placement| (placement.name(), placement));
        self.check_word(&launcher.key("placement"), word, "placement", &placements)
    }

    /// The largest number of nodes of a shape; `None` without a limit.
    pub(super) fn most_nodes(&self, launcher: &LauncherConfig) -> Checked<Option<u32>> {
        let LauncherConfig::Local(local) = launcher else {
            return Ok(None);
        };
        let Some(hosts) = &local.hosts else {
            return Ok(Some(1));
        };
        // A measured campaign may be from another machine.
        if let Machine::Unknown { .. } | Machine::Other { .. } = self.machine {
            return Ok(None);
        }
        let field = Field::from_key("launcher").key("local").key("hostfile");
        let names =
            read_hosts(&hosts.file).map_err(|error| self.value_error(&field, error.into()))?;
        Ok(Some(u32::try_from(names.len()).unwrap_or(u32::MAX)))
    }

    fn check_hosts(&self, definition: &LocalDefinition) -> Checked<Option<Hosts>> {
        let field = Field::from_key("launcher").key("local");
        let placement = self.check_placement(&field, &definition.placement)?;
        let Some(file) = &definition.hostfile else {
            return match placement {
                None => Ok(None),
                Some(_) => {
                    let problem = Problem::PlacementWithoutHosts;
                    Err(self.document.error_at_key(&field.key("placement"), problem))
                }
            };
        };
        self.check_file_name(&field.key("hostfile"), file)?;
        Ok(Some(Hosts {
            file: file.clone(),
            placement: placement.unwrap_or_default(),
        }))
    }

    fn check_local(&self, definition: &LocalDefinition) -> Checked<LocalOptions> {
        let field = Field::from_key("launcher").key("local");
        let (place, word) = (field.key("oversubscribe"), &definition.oversubscribe);
        let oversubscribe =
            self.check_word(&place, word, "value of oversubscribe", &OVERSUBSCRIBE)?;
        let mut environment = BTreeMap::new();
        for (name, value) in definition.environment.iter().flatten() {
            if name.is_empty() || name.contains(['=', '\0']) {
                let problem = Problem::Variable { name: name.clone() };
                return Err(self
                    .document
                    .error_at_key(&field.key("environment").key(name), problem));
            }
            environment.insert(name.clone(), value.0.clone());
        }
        let options = definition.options.iter().flat_map(|options| &options.0);
        Ok(LocalOptions {
            options: options.map(|option| option.0.clone()).collect(),
            oversubscribe: oversubscribe.unwrap_or_default(),
            environment,
            hosts: self.check_hosts(definition)?,
        })
    }
}
