//! The identity of a campaign.
//!
//! It is SHA-256 of a canonical text, headed by the version of the defaults (`defaults.rs`). Stores, plans and tables
//! name a campaign by it, and a store keeps the first digest that it has seen.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use launcher::{BatchOptions, Hosts, JobSpecification, LibraryChoice, LocalOptions};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use table::Confidence;

use crate::campaign::Output;
use crate::{
    Campaign, ConfirmationMode, DefaultsVersion, LauncherConfig, ParameterGrid, SimulatedOptions,
    Strategy,
};

impl Campaign {
    /// The identity of the campaign: the version of its defaults, as in `v3-`, and the SHA-256, in hexadecimal, of its
    /// canonical text.
    ///
    /// It does not depend on comments, the order of keys, the notation of values, or whether defaults are written out.
    /// With `shapes: auto` it depends on the machine.
    pub fn digest(&self) -> String {
        format!(
            "{}-{}",
            self.defaults.name(),
            files::hexadecimal(&hash_campaign(self))
        )
    }

    /// Whether measurements of both campaigns may be mixed: they start programs with the same options and environment,
    /// allow oversubscription alike, synchronise ranks in the same way, and leave caches warm or cold alike.
    ///
    /// The extent of the measurements is not compared: sizes, candidates, repetitions and budget may differ, and so may
    /// patterns of calls, whose times a store keeps apart. The machine of a simulation is not compared either, since
    /// each machine counts as its own library.
    pub fn has_same_conditions(&self, other: &Self) -> bool {
        self.conditions_digest() == other.conditions_digest()
    }

    /// The identity of the conditions that [`Campaign::has_same_conditions`] compares: SHA-256 in hexadecimal.
    ///
    /// Its text has the form and the keys of a campaign's canonical text. Verdicts in stores and tables keep the hash,
    /// so a key that is added later is written only if its value differs from its default at that time.
    pub fn conditions_digest(&self) -> String {
        let mut launcher = launcher_value(&self.launcher);
        match &self.launcher {
            LauncherConfig::Local(_) => {}
            // Each simulated machine counts as its own library.
            LauncherConfig::Simulated(_) => launcher["simulated"]["machine"] = Value::Null,
            // The division of launches into jobs, and the wall time of jobs, do not change the hash.
            LauncherConfig::Batch(options) => {
                let batch = &mut launcher[options.system.name()];
                batch["allocation"] = Value::Null;
                batch["job"]["directives"] = Value::Null;
            }
        }
        let value = json!({
            "launcher": launcher,
            "synchronisation": self.synchronisation,
            "cache": self.cache,
        });
        // The text has the version of the defaults at the time of the first verdicts.
        let text = versioned_text(DefaultsVersion::V2, value);
        files::hexadecimal(&Sha256::digest(format!("conditions {text}")))
    }

    /// The seed of random choices, such as the order of candidates: that of a simulation, or else the first bytes of
    /// the campaign's hash.
    pub fn seed(&self) -> u64 {
        match &self.launcher {
            LauncherConfig::Local(_) | LauncherConfig::Batch(_) => {
                let [a, b, c, d, e, f, g, h, ..] = hash_campaign(self);
                u64::from_be_bytes([a, b, c, d, e, f, g, h])
            }
            LauncherConfig::Simulated(options) => u64::from(options.seed),
        }
    }
}

fn hash_campaign(campaign: &Campaign) -> [u8; 32] {
    Sha256::digest(canonical_text(campaign)).into()
}

/// The canonical text of a campaign: a line with the version, and one JSON object without spaces, its keys in ascending
/// order.
///
/// Keys and words are those of campaign files. Values are the validated ones: sizes as numbers of bytes, times in
/// seconds, ranges spelled out, defaults filled in. A key without a value is not written. So a key that is added later
/// keeps the digests of older campaigns if its original default is never written: `(value !=
/// default).then_some(value)`, forever. Any other change of this text needs a new version.
///
/// Properties that do not affect measurements are left out: a job's account, wall time and start.
fn canonical_text(campaign: &Campaign) -> String {
    // All fields are named, here and below, so that a new one cannot be forgotten.
    let Campaign {
        name,
        library,
        launcher,
        shapes,
        sizes,
        distributions,
        datatype,
        operators,
        selection,
        parameters,
        strategy,
        target_regret,
        launches,
        confirmation,
        min_confidence,
        numerics,
        repetitions,
        confidence,
        materiality,
        max_regret,
        budget_seconds,
        watchdog_seconds,
        synchronisation,
        pattern,
        cache,
        extend_to_nodes,
        traffic,
        output,
        names_collectives: _,
        defaults,
        has_shared_memory: _,
        inputs: _,
        text: _,
    } = campaign;
    let (include, exclude) = selection.written_patterns();
    let shapes: Vec<String> = shapes.iter().map(ToString::to_string).collect();
    let sizes = sizes.iter().map(|(collective, of)| (collective.name(), of));
    let value = json!({
        "name": name,
        "library": library_value(library),
        "launcher": launcher_value(launcher),
        "shapes": shapes,
        "sizes": sizes.collect::<BTreeMap<_, _>>(),
        "distributions": (*distributions != Campaign::DISTRIBUTIONS)
            .then(|| distributions.iter().map(|known| known.name()).collect::<Vec<_>>()),
        "datatype": datatype.name(),
        "operator": one_or_many(operators.iter().map(|operator| operator.name())),
        "candidates": {"include": include, "exclude": exclude},
        "parameters": written_parameters(parameters, *defaults),
        "strategy": strategy.to_string(),
        // An exhaustive campaign ignores this key.
        "target_regret": (*strategy == Strategy::Guided).then_some(target_regret),
        "launches": launches,
        "confirmation": (*confirmation == ConfirmationMode::Off).then_some("off"),
        "min_confidence": (*min_confidence != Confidence::Medium).then_some(min_confidence),
        "numerics": (!numerics.is_none()).then(|| numerics.to_string()),
        "repetitions": repetitions,
        "confidence": confidence,
        "materiality": materiality,
        "max_regret": max_regret,
        "budget": budget_seconds,
        "watchdog": watchdog_seconds,
        "synchronisation": synchronisation,
        "pattern": (!pattern.is_together()).then_some(pattern.name()),
        "cache": cache,
        "extend_to": extend_to_nodes,
        "traffic": (!traffic.is_empty()).then_some(traffic),
        "output": output_value(output),
    });
    versioned_text(*defaults, value)
}

/// The parameters; version 2 has MPI as the default transport, which is not written.
fn written_parameters(
    parameters: &ParameterGrid,
    defaults: DefaultsVersion,
) -> Cow<'_, ParameterGrid> {
    let is_default =
        parameters.through.as_deref() == Some(DefaultsVersion::V2.default_transports());
    if defaults == DefaultsVersion::V2 && is_default {
        let through = None;
        return Cow::Owned(ParameterGrid {
            through,
            ..parameters.clone()
        });
    }
    Cow::Borrowed(parameters)
}

fn versioned_text(defaults: DefaultsVersion, mut value: Value) -> String {
    drop_absent(&mut value);
    // Any crate may enable the feature by which maps keep their insertion order.
    value.sort_all_objects();
    format!("colltune campaign {}\n{value}", defaults.name())
}

/// A single word as a text, as in older campaigns, which allowed only one; several words as a list.
fn one_or_many<'a>(words: impl Iterator<Item = &'a str>) -> Value {
    let words: Vec<&str> = words.collect();
    match words[..] {
        [word] => json!(word),
        _ => json!(words),
    }
}

fn drop_absent(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, field| !field.is_null());
        map.values_mut().for_each(drop_absent);
    }
}

fn library_value(library: &LibraryChoice) -> Value {
    let LibraryChoice {
        name,
        unknown_name,
        version,
        launcher,
    } = library;
    json!({
        "name": name.map(|known| known.name()).or(unknown_name.as_deref()),
        "version": version,
        "launcher": launcher.as_deref().map(path_text),
    })
}

fn launcher_value(launcher: &LauncherConfig) -> Value {
    match launcher {
        LauncherConfig::Local(options) => json!({"local": local_value(options)}),
        LauncherConfig::Batch(options) => json!({(options.system.name()): batch_value(options)}),
        LauncherConfig::Simulated(SimulatedOptions {
            machine,
            placement,
            seed,
        }) => json!({"simulated": {
            "machine": machine.as_deref().map(path_text),
            "placement": placement.name(),
            "seed": seed,
        }}),
    }
}

fn local_value(local: &LocalOptions) -> Value {
    let LocalOptions {
        options,
        oversubscribe,
        environment,
        hosts,
    } = local;
    let hosts = hosts.as_ref();
    json!({
        "options": options,
        "oversubscribe": oversubscribe,
        "environment": environment,
        "hostfile": hosts.map(|Hosts { file, .. }| path_text(file)),
        "placement": hosts.map(|Hosts { placement, .. }| placement.name()),
    })
}

fn batch_value(batch: &BatchOptions) -> Value {
    let BatchOptions {
        system: _,
        job,
        options,
        environment,
        placement,
        allocation,
        spread: _,
    } = batch;
    let JobSpecification {
        account: _,
        partition,
        qos: _,
        constraint,
        wall_time: _,
        exclusive,
        modules,
        directives,
        template,
    } = job;
    json!({
        "job": {
            "partition": partition,
            "constraint": constraint,
            "exclusive": exclusive,
            "modules": modules,
            "directives": directives,
            "template": template.as_ref().map(|template| &template.text),
        },
        "options": options,
        "environment": environment,
        "placement": placement.name(),
        "allocation": allocation,
    })
}

fn output_value(output: &Output) -> Value {
    let Output {
        store,
        table,
        report,
    } = output;
    json!({"store": path_text(store), "table": path_text(table), "report": path_text(report)})
}

/// A path as text. Paths in files are text; others exist only while a program runs.
fn path_text(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}
