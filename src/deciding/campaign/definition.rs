//! The campaign file as written: keys and forms, without further checks.
//!
//! Every key but the name is optional here, since `validate` has all defaults.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use launcher::{BATCH_SYSTEMS, BatchSystem};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use strict_yaml::{Argument, OneOrMany, Scalar, Shorthand};
use table::Confidence;
use vocabulary::{CacheState, Pattern, Synchronisation};

use crate::{ConfirmationMode, Strategy};

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) library: Option<Shorthand<Scalar, LibraryDefinition>>,
    pub(crate) launcher: Option<Shorthand<Scalar, LaunchersDefinition>>,
    pub(crate) shapes: Option<OneOrMany<Shorthand<Scalar, ShapeDefinition>>>,
    pub(crate) collectives: Option<OneOrMany<Scalar>>,
    pub(crate) sizes: Option<SizesDefinition>,
    pub(crate) distributions: Option<OneOrMany<Scalar>>,
    pub(crate) datatype: Option<Scalar>,
    pub(crate) operator: Option<OneOrMany<Scalar>>,
    pub(crate) candidates: Option<Shorthand<OneOrMany<Scalar>, CandidatesDefinition>>,
    pub(crate) parameters: Option<ParametersDefinition>,
    pub(crate) strategy: Option<Strategy>,
    pub(crate) target_regret: Option<f64>,
    pub(crate) launches: Option<u32>,
    pub(crate) confirmation: Option<ConfirmationMode>,
    pub(crate) min_confidence: Option<Confidence>,
    pub(crate) numerics: Option<OneOrMany<Scalar>>,
    pub(crate) repetitions: Option<RepetitionsDefinition>,
    pub(crate) confidence: Option<f64>,
    pub(crate) materiality: Option<f64>,
    pub(crate) max_regret: Option<f64>,
    pub(crate) budget: Option<Scalar>,
    pub(crate) watchdog: Option<Scalar>,
    pub(crate) synchronisation: Option<Synchronisation>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) cache: Option<CacheState>,
    pub(crate) extend_to: Option<ExtendDefinition>,
    pub(crate) traffic: Option<Vec<TrafficDefinition>>,
    pub(crate) output: Option<OutputDefinition>,
}

impl Definition {
    /// The separate file of the job specification, if there is one.
    pub(crate) fn job_file(&self) -> Option<&Path> {
        let Some(Shorthand::Full(LaunchersDefinition(named))) = &self.launcher else {
            return None;
        };
        named.iter().find_map(|named| match named {
            LauncherDefinition::Batch(_, batch) => match &batch.job {
                Some(Shorthand::Short(path)) => Some(Path::new(&path.0)),
                _ => None,
            },
            _ => None,
        })
    }
}

/// Sizes for all collectives, or by collective with `default` for the others.
pub(crate) type SizesDefinition = Shorthand<OneOrMany<Scalar>, BTreeMap<String, OneOrMany<Scalar>>>;

/// `library`, spelled out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LibraryDefinition {
    pub(crate) name: Option<Scalar>,
    pub(crate) version: Option<String>,
    pub(crate) launcher: Option<PathBuf>,
}

/// `launcher`, spelled out: the definition of each named launcher.
#[derive(Clone, Debug)]
pub(crate) struct LaunchersDefinition(pub(crate) Vec<LauncherDefinition>);

#[derive(Clone, Debug)]
pub(crate) enum LauncherDefinition {
    Local(LocalDefinition),
    Batch(&'static dyn BatchSystem, Box<BatchDefinition>),
    Simulated(SimulatedDefinition),
}

/// The name of a launcher.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LauncherKey {
    Local,
    Batch(&'static dyn BatchSystem),
    Simulated,
}

impl LauncherKey {
    /// All launchers, by name.
    pub(crate) fn all_by_name() -> Vec<(&'static str, Self)> {
        let batch = BATCH_SYSTEMS.map(|system| (system.name(), Self::Batch(system)));
        let mut all = vec![("local", Self::Local)];
        all.extend(batch);
        all.push(("simulated", Self::Simulated));
        all
    }
}

pub(crate) static LAUNCHERS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    LauncherKey::all_by_name()
        .into_iter()
        .map(|(name, _)| name)
        .collect()
});

impl<'de> Deserialize<'de> for LauncherKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let given = String::deserialize(from)?;
        let mut all = LauncherKey::all_by_name().into_iter();
        all.find_map(|(name, key)| (name == given).then_some(key))
            .ok_or_else(|| Error::unknown_field(&given, &LAUNCHERS))
    }
}

impl<'de> Deserialize<'de> for LaunchersDefinition {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = LaunchersDefinition;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                use LauncherDefinition::{Batch, Local, Simulated};
                let mut named = Vec::new();
                while let Some(key) = map.next_key()? {
                    named.push(match key {
                        LauncherKey::Local => Local(map.next_value()?),
                        LauncherKey::Batch(system) => Batch(system, map.next_value()?),
                        LauncherKey::Simulated => Simulated(map.next_value()?),
                    });
                }
                Ok(LaunchersDefinition(named))
            }
        }
        from.deserialize_any(Reader)
    }
}

/// `launcher.SYSTEM`, by the name of a batch system.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchDefinition {
    pub(crate) job: Option<Shorthand<Scalar, JobDefinition>>,
    pub(crate) options: Option<OneOrMany<Argument>>,
    pub(crate) environment: Option<BTreeMap<String, Argument>>,
    pub(crate) placement: Option<Scalar>,
    pub(crate) allocation: Option<Scalar>,
    pub(crate) spread: Option<Scalar>,
}

/// A job specification, in a separate file or under `job`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobDefinition {
    pub(crate) account: Option<Scalar>,
    #[serde(alias = "queue")]
    pub(crate) partition: Option<Scalar>,
    pub(crate) qos: Option<Scalar>,
    pub(crate) constraint: Option<Scalar>,
    pub(crate) wall_time: Option<Scalar>,
    pub(crate) exclusive: Option<bool>,
    pub(crate) modules: Option<OneOrMany<Scalar>>,
    pub(crate) directives: Option<OneOrMany<Scalar>>,
    pub(crate) template: Option<Shorthand<Scalar, TemplateDefinition>>,
}

/// `template`, spelled out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TemplateDefinition {
    pub(crate) text: String,
}

/// `launcher.simulated`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SimulatedDefinition {
    pub(crate) machine: Option<PathBuf>,
    pub(crate) placement: Option<Scalar>,
    pub(crate) seed: Option<u32>,
}

/// `launcher.local`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LocalDefinition {
    pub(crate) hostfile: Option<PathBuf>,
    pub(crate) placement: Option<Scalar>,
    pub(crate) options: Option<OneOrMany<Argument>>,
    pub(crate) oversubscribe: Option<Scalar>,
    pub(crate) environment: Option<BTreeMap<String, Argument>>,
}

/// One entry of `shapes`, spelled out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShapeDefinition {
    pub(crate) nodes: Option<u32>,
    pub(crate) ppn: OneOrMany<u32>,
}

/// `candidates`, spelled out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CandidatesDefinition {
    pub(crate) include: Option<OneOrMany<Scalar>>,
    pub(crate) exclude: Option<OneOrMany<Scalar>>,
}

/// `parameters`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParametersDefinition {
    pub(crate) block_bytes: Option<OneOrMany<Scalar>>,
    pub(crate) predicted: Option<bool>,
    pub(crate) radix: Option<OneOrMany<u32>>,
    pub(crate) max_requests: Option<OneOrMany<u32>>,
    pub(crate) reduce: Option<OneOrMany<Scalar>>,
    pub(crate) bcast: Option<OneOrMany<Scalar>>,
    pub(crate) through: Option<OneOrMany<Scalar>>,
}

/// `repetitions`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RepetitionsDefinition {
    pub(crate) minimum: Option<u32>,
    pub(crate) maximum: Option<u32>,
    pub(crate) precision: Option<f64>,
    pub(crate) racing: Option<bool>,
    pub(crate) slice: Option<Scalar>,
}

/// `extend_to`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtendDefinition {
    pub(crate) nodes: u32,
}

/// One entry of `traffic`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrafficDefinition {
    pub(crate) collective: Scalar,
    pub(crate) shape: Scalar,
    pub(crate) bytes: Option<Scalar>,
    pub(crate) calls: Option<u64>,
    pub(crate) seconds: f64,
}

/// `output`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputDefinition {
    pub(crate) store: Option<PathBuf>,
    pub(crate) table: Option<PathBuf>,
    pub(crate) report: Option<PathBuf>,
}
