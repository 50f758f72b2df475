//! The diagnosis of `colltune doctor`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use channel::{SegmentError, SegmentLayout, SharedSegment, why_unreadable};
use environment::{
    frequency_governor, judge_environment, kernel_release, others_running, own_cpus, shared_memory,
    variables,
};
use launcher::{
    check_libdir, discover_libraries, find_driver, find_unknown_drivers, list_settings,
    list_variables,
};
use libraries::Serving;
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::units::format_bytes;
use vocabulary::{Library, Node};
use wire::Environment;

use crate::SearchPaths;
use crate::steering::{self, LibraryAnswers, SettingEffect};

/// The result of [`diagnose_machine`].
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The environment that ranks started now would find, with warnings about measuring in it. `cores` are those that
    /// this process may use.
    pub environment: Environment,
    /// What each of the environment's variables does to the choice of algorithms, by its name.
    pub effects: BTreeMap<String, SettingEffect>,
    /// Hardware threads that this process may use.
    pub threads: u32,
    /// The networks of this machine ([`environment::find_networks`]); empty if unknown.
    pub networks: Vec<String>,
    /// The shared memory that a process may use, in bytes, or the reason why there is none.
    pub shared_memory: Result<u64, String>,
    /// The reason why ranks may not read each other's memory, as they do for some long messages.
    pub unreadable_memory: Option<String>,
    /// The MPI libraries.
    pub libraries: Vec<DriverFound>,
    /// The libraries that colltune does not know and that have a measuring program.
    pub unknown_libraries: Vec<UnknownDriverFound>,
    /// Programs named like launchers that cannot be used.
    pub unusable: Vec<UnusableLauncher>,
    /// Folders searched for launchers.
    pub searched: Vec<PathBuf>,
    /// Advice, as full sentences.
    pub advice: Vec<String>,
}

/// A program that cannot be used.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct UnusableLauncher {
    /// The program.
    pub launcher: PathBuf,
    /// The reason.
    pub reason: String,
}

/// An MPI library and whether its measuring program is built.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct DriverFound {
    /// Name and version.
    #[serde(flatten)]
    pub library: Library,
    /// Its mpirun or mpiexec.
    pub launcher: PathBuf,
    /// Its measuring program; null if it is not built.
    pub driver: Option<PathBuf>,
    /// Control variables of the library whose values in this process's environment are not the library's defaults, by
    /// name; null without a measuring program, or if the library refuses to start with these settings.
    pub settings: Option<BTreeMap<String, LibrarySetting>>,
    /// The components of the library that have the highest priority for collectives, by its control variables in this
    /// process's environment; empty without a measuring program.
    pub serving: Vec<Serving>,
}

/// The measuring program of a library that colltune does not know. Its launcher is not searched for: campaigns name it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct UnknownDriverFound {
    /// Name and version.
    #[serde(flatten)]
    pub library: Library,
    /// Its measuring program.
    pub driver: PathBuf,
}

/// A control variable whose value is not the library's default.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LibrarySetting {
    /// Its value.
    pub value: String,
    /// The place where it is set: `environment`, or a file; null if unknown.
    pub place: Option<String>,
    /// Whether it affects the library's choice of algorithms.
    pub decides: bool,
    /// Why it does, or does not, if its name does not show that.
    pub reason: Option<String>,
}

impl Diagnosis {
    /// The names of the environment variables that affect the choice of algorithms.
    pub fn deciding_variables(&self) -> Vec<&str> {
        let effects = self.effects.iter();
        let deciding = effects.filter(|(_, effect)| effect.decides);
        deciding.map(|(name, _)| name.as_str()).collect()
    }

    /// Why variables of the environment affect the choice of algorithms or do not, by their names, where these do not
    /// show it.
    pub fn variable_reasons(&self) -> BTreeMap<&str, &str> {
        let effects = self.effects.iter();
        let reasons =
            effects.filter_map(|(name, effect)| Some((name.as_str(), effect.reason.as_deref()?)));
        reasons.collect()
    }

    /// Whether at least one library can be measured.
    pub fn can_measure(&self) -> bool {
        let is_built = |found: &DriverFound| found.driver.is_some();
        self.libraries.iter().any(is_built) || !self.unknown_libraries.is_empty()
    }
}

/// Examines libraries, launchers, drivers, cores, the timer, other load, and the settings of MPI.
pub fn diagnose_machine(places: &SearchPaths) -> Diagnosis {
    let found = discover_libraries(&places.path);
    let libdir = check_libdir(places.libdir.as_deref());
    // Without the folder no other verb uses the programs elsewhere.
    let directories = match &libdir {
        Ok(()) => places.driver_directories(),
        Err(_) => Vec::new(),
    };
    let given = variables::of_this_process();
    let mut asked = Vec::new();
    let mut libraries = Vec::new();
    for installation in &found.installations {
        let library = installation.library();
        let driver = find_driver(&library, &directories).ok();
        let all = driver.as_deref().map(list_variables).unwrap_or_default();
        let changed = driver.as_deref().and_then(list_settings);
        let answers = LibraryAnswers {
            name: installation.name,
            library: library.clone(),
            launcher: installation.launcher.clone(),
            has_program: driver.is_some(),
            all,
            changed,
        };
        libraries.push(DriverFound {
            library,
            launcher: installation.launcher.clone(),
            settings: answers.changed_settings(&given),
            serving: match driver {
                Some(_) => installation.name.serving_components(&answers.all),
                None => Vec::new(),
            },
            driver,
        });
        asked.push(answers);
    }
    let effects = steering::effects_by_variable(&asked, &given);
    let settings = steering::settings_in_force(&asked, &libraries, &given);
    let (environment, node) = examine_environment(settings, &effects);
    let unknown_libraries: Vec<_> = find_unknown_drivers(&directories)
        .into_iter()
        .map(|(library, driver)| UnknownDriverFound { library, driver })
        .collect();
    let mut advice = Vec::new();
    if libraries.is_empty() && unknown_libraries.is_empty() {
        advice.push(
            "No MPI library was found: install one (on Debian `apt-get install openmpi-bin \
             libopenmpi-dev`), or load its module."
                .to_owned(),
        );
    }
    advice.extend(advise_on_machine(&libraries, environment.cores));
    advice.extend(unknown_libraries.iter().map(advise_on_unknown));
    if let Err(error) = libdir {
        let help = error.help().unwrap_or_default();
        advice.push(format!("{error}: {help}."));
    }
    advice.extend(steering::advise_on_settings(&asked, &given));
    let unusable = found.unusable.iter().map(|found| UnusableLauncher {
        launcher: found.launcher.clone(),
        reason: found.reason.to_string(),
    });
    Diagnosis {
        environment,
        effects,
        threads: node.threads,
        networks: node.networks,
        shared_memory: probe_shared_memory(),
        unreadable_memory: why_unreadable(),
        unusable: unusable.collect(),
        searched: found.searched.clone(),
        libraries,
        unknown_libraries,
        advice,
    }
}

/// What campaigns must say of a library that colltune does not know.
fn advise_on_unknown(found: &UnknownDriverFound) -> String {
    let Library { name, version } = &found.library;
    format!(
        "colltune does not know {name}: campaigns name it with its version and its launcher, as in `library: {{name: {name}, \
         version: {version}, launcher: /path/of/mpirun}}`."
    )
}

/// Creates and opens a segment of shared memory as ranks do for channels; returns the limit in bytes.
fn probe_shared_memory() -> Result<u64, String> {
    let value = std::env::var_os(shared_memory::VARIABLE);
    let limit = shared_memory::limit_from_value(value.as_deref());
    let limit = limit.ok_or_else(|| {
        let value = value.unwrap_or_default();
        format!(
            "{} is {value:?}, not {}",
            shared_memory::VARIABLE,
            shared_memory::EXPECTED
        )
    })?;
    if limit == 0 {
        return Err(format!("{}=0 switches it off", shared_memory::VARIABLE));
    }
    let layout = SegmentLayout::within_limit(2, usize::try_from(limit).unwrap_or(usize::MAX));
    let layout = layout.ok_or_else(|| {
        let limit = format_bytes(limit);
        format!(
            "{}={limit} is too little for two ranks",
            shared_memory::VARIABLE
        )
    })?;
    let text = |error: SegmentError| error.to_string();
    let segment = SharedSegment::create(layout.bytes()).map_err(text)?;
    SharedSegment::open(&segment.ticket()).map_err(text)?;
    Ok(limit)
}

/// The environment with the settings of its libraries, and this machine as a node.
fn examine_environment(
    settings: BTreeMap<String, String>,
    effects: &BTreeMap<String, SettingEffect>,
) -> (Environment, Node) {
    let node = environment::this_node(vec![own_cpus()], Some(environment::usable_cores()));
    let clock = statistics::clock::examine_clock();
    let mut found = Environment {
        colltune: env!("CARGO_PKG_VERSION").to_owned(),
        hosts: vec![node.host.clone()],
        cores: environment::usable_cores(),
        cpu: node.cpu.clone(),
        kernel: kernel_release(),
        governor: frequency_governor(),
        load: others_running(),
        timer_resolution_seconds: clock.resolution_seconds,
        timer_overhead_seconds: clock.overhead_seconds,
        variables: variables::of_this_process(),
        settings: Some(settings),
        ..Environment::default()
    };
    found.warnings = judge_environment(&environment_as_measured(&found, effects));
    (found, node)
}

/// The environment without the rules that launches set aside, and without variables that are known to have no effect.
fn environment_as_measured(
    environment: &Environment,
    effects: &BTreeMap<String, SettingEffect>,
) -> Environment {
    let mut measured = environment.clone();
    let rules = variables::rules_variables(&environment.variables);
    let has_no_effect = |name: &String| {
        let effect = effects.get(name);
        effect.is_some_and(|effect| !effect.decides && effect.reason.is_some())
    };
    measured
        .variables
        .retain(|name, _| !rules.contains_key(name) && !has_no_effect(name));
    if let Some(settings) = &mut measured.settings {
        settings.retain(|name, _| {
            !steering::is_rules_setting(name)
                && !rules.contains_key(&variables::variable_of_setting(name))
        });
    }
    measured
}

fn advise_on_machine(libraries: &[DriverFound], cores: u32) -> Vec<String> {
    let mut advice = Vec::new();
    for found in libraries.iter().filter(|found| found.driver.is_none()) {
        advice.push(format!(
            "The measuring program for {} is not built: run `make driver MPICC=...` with its \
             mpicc.",
            found.library
        ));
    }
    if cores < 2 {
        advice.push(
            "Only one core may be used: two ranks would share it, and their times would mean little; give \
             this process more cores."
                .to_owned(),
        );
    }
    advice
}
