//! What measures, and how it is started.

use std::collections::BTreeMap;

use model::Placement;

use super::{Check, Checked};
use crate::campaign::{Launching, LocalOptions, Oversubscribe, SimulatedOptions};
use crate::definition::{LauncherDefinition, LocalDefinition, SimulatedDefinition};
use crate::form::{Scalar, Shorthand};
use crate::{Field, Problem};

const OVERSUBSCRIBE: [(&str, Oversubscribe); 3] = [
    ("auto", Oversubscribe::Auto),
    ("never", Oversubscribe::Never),
    ("always", Oversubscribe::Always),
];

impl Check<'_> {
    pub(super) fn launcher(
        &self,
        definition: Option<&Shorthand<Scalar, LauncherDefinition>>,
    ) -> Checked<Launching> {
        let field = Field::of("launcher");
        match definition {
            None => Ok(Launching::default()),
            Some(Shorthand::Short(word)) => {
                let known = [
                    ("local", Launching::default as fn() -> Launching),
                    ("simulated", || {
                        Launching::Simulated(SimulatedOptions::default())
                    }),
                ];
                Ok(self.word(&field, word, "launcher", &known)?())
            }
            Some(Shorthand::Full(LauncherDefinition { local, simulated })) => {
                match (local, simulated) {
                    (Some(local), None) => Ok(Launching::Local(self.local(local)?)),
                    (None, Some(simulated)) => Ok(Launching::Simulated(self.simulated(simulated)?)),
                    _ => Err(self.error(&field, Problem::NotOneLauncher)),
                }
            }
        }
    }

    fn simulated(&self, definition: &SimulatedDefinition) -> Checked<SimulatedOptions> {
        let field = Field::of("launcher").key("simulated");
        let SimulatedDefinition {
            machine,
            placement,
            seed,
        } = definition;
        if let Some(machine) = machine {
            self.file_name(&field.key("machine"), machine)?;
        }
        let placements = Placement::ALL.map(|placement| (placement.name(), placement));
        let placement = placement
            .as_ref()
            .map(|word| self.word(&field.key("placement"), word, "placement", &placements));
        Ok(SimulatedOptions {
            machine: machine.clone(),
            placement: placement.transpose()?.unwrap_or_default(),
            seed: seed.map_or(0, |seed| seed.0),
        })
    }

    fn local(&self, definition: &LocalDefinition) -> Checked<LocalOptions> {
        let field = Field::of("launcher").key("local");
        let oversubscribe = match &definition.oversubscribe {
            None => Oversubscribe::default(),
            Some(word) => self.word(
                &field.key("oversubscribe"),
                word,
                "value of oversubscribe",
                &OVERSUBSCRIBE,
            )?,
        };
        let mut environment = BTreeMap::new();
        for (name, value) in definition.environment.iter().flatten() {
            if name.is_empty() || name.contains(['=', '\0']) {
                let problem = Problem::Variable { name: name.clone() };
                return Err(self
                    .source
                    .at_key(&field.key("environment").key(name), problem));
            }
            environment.insert(name.clone(), value.0.clone());
        }
        let options = definition.options.iter().flat_map(|options| &options.0);
        Ok(LocalOptions {
            options: options.map(|option| option.0.clone()).collect(),
            oversubscribe,
            environment,
        })
    }
}
