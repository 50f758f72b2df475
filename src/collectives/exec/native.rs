//! The algorithms inside the library, listed and forced through the tool interface.
//!
//! Which algorithms the library lets one force is read from the library itself, through the MPI tool interface. What it
//! does not reveal is in its row in the crate `libraries`: which algorithms combine in the order of ranks, which take a
//! segment size or a fanout, and which the library silently replaces by another. The library's default is always
//! measured as users run it.
//!
//! How algorithms are forced differs between libraries, so each has a file here. A test traces the functions inside
//! Open MPI and checks that no sample has a wrong name.

mod components;
mod intelmpi;
mod mpich;
mod openmpi;

use libraries::LibraryName;
use libraries::openmpi::find_forced_component;
use vocabulary::{Candidate, NativeAlgorithm, Parameters};

use crate::tool::{Switched, Tool, Variable};
use crate::{Call, Communicator, ExecError, LibraryCall};

pub use components::{Components, read_component_choices};

/// An algorithm of the library.
#[derive(Clone, Debug)]
struct ListedAlgorithm {
    algorithm: NativeAlgorithm,
    /// The value of the control variable that forces it.
    number: i32,
}

/// Enables forcing of algorithms in libraries that must be prepared for it; changes nothing else. Must be called before
/// MPI or the tool interface is opened, and before other threads are started.
///
/// Open MPI obeys its control variables only under `coll_tuned_use_dynamic_rules`, which is read at the start. As
/// long as no rules file is named and no algorithm forced, its decisions do not change. Must not be called if the
/// environment has any other setting of `coll/tuned`.
pub fn allow_forcing() {
    for variable in enabling_variables() {
        change_environment(variable, Some("1"));
    }
}

/// Sets or removes an environment variable of this process. No other thread may read the environment meanwhile.
pub fn change_environment(name: &str, value: Option<&str>) {
    // SAFETY: the caller promises that no other thread reads the environment meanwhile.
    unsafe {
        match value {
            Some(value) => std::env::set_var(name, value),
            None => std::env::remove_var(name),
        }
    }
}

/// A rules file that the library would read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesInFiles {
    /// The control variable that names it.
    pub setting: &'static str,
    /// The file.
    pub file: String,
    /// The library's settings files, which may name it, as listed by the library.
    pub settings: String,
}

/// The configuration of the library before MPI is started, from the environment and from its settings files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartSettings {
    /// The files of rules that it would read; empty for a library without settings files.
    pub rules: Vec<RulesInFiles>,
    /// Whether forcing an algorithm has an effect. Open MPI has a switch for that, which [`allow_forcing`] turns on.
    is_forcing_allowed: bool,
    /// Whether algorithms are forced.
    is_any_forced: bool,
}

impl StartSettings {
    /// Queries the library. Must be called before MPI is started.
    ///
    /// # Errors
    ///
    /// If the tool interface reports an error.
    pub fn query_library() -> Result<Self, ExecError> {
        let mut found = Self {
            rules: Vec::new(),
            is_forcing_allowed: true,
            is_any_forced: false,
        };
        // Other libraries have no such switch. MPICH, which reads no settings files, must not be queried: it loses
        // its variables when its tool interface is closed.
        let library = libraries::described_by(&crate::library_text());
        let Some((library, settings)) =
            library.and_then(|library| Some((library, library.facts().files_setting?)))
        else {
            return Ok(found);
        };
        let tool = Tool::open()?;
        let text = |name: &str| match tool.find_variable(name)? {
            Some(variable) => variable.read_text(),
            None => Ok(String::new()),
        };
        for setting in library.rules_settings() {
            let file = text(setting)?;
            if !file.is_empty() {
                found.rules.push(RulesInFiles {
                    setting,
                    file,
                    settings: text(settings)?,
                });
            }
        }
        found.is_forcing_allowed = openmpi::is_forcing_allowed(&tool)?;
        found.is_any_forced = openmpi::is_any_forced(&tool)?;
        Ok(found)
    }

    /// Whether there are settings that would have an effect only if forcing were allowed: a forced algorithm, or a
    /// rules file of the component that obeys forcing.
    pub fn is_forced_in_vain(&self) -> bool {
        let is_own = |setting: &str| {
            let mut libraries = LibraryName::ALL.iter();
            libraries.any(|library| library.facts().rules_setting == setting)
        };
        let mut rules = self.rules.iter();
        let has_rules = rules.any(|rules| is_own(rules.setting));
        !self.is_forcing_allowed && (self.is_any_forced || has_rules)
    }

    /// Whether the library would read a file that a setting names.
    pub fn names_rules(&self, setting: &str) -> bool {
        self.rules.iter().any(|rules| rules.setting == setting)
    }
}

/// The environment variables that [`allow_forcing`] sets.
pub fn enabling_variables() -> impl Iterator<Item = &'static str> {
    let libraries = LibraryName::ALL.into_iter();
    libraries.filter_map(|library| library.facts().enabling_variable)
}

/// The algorithms that can be forced, ordered by collective and then as the library lists them, apart from
/// [`Components`]. Needs no `MPI_Init`.
///
/// Empty if forcing would have no effect: under Open MPI without [`allow_forcing`], or if a rules file is loaded, as
/// that takes precedence.
///
/// # Errors
///
/// If the tool interface reports an error.
pub fn list_natives() -> Result<Vec<NativeAlgorithm>, ExecError> {
    let listed = list_all_algorithms(&Tool::open()?)?.into_iter();
    Ok(listed.map(|listed| listed.algorithm).collect())
}

/// The algorithms of [`list_natives`] that users have already forced, in the environment or a settings file. They are
/// the default.
///
/// # Errors
///
/// If the tool interface reports an error.
pub fn preset_natives() -> Result<Vec<NativeAlgorithm>, ExecError> {
    let tool = Tool::open()?;
    let mut preset = Vec::new();
    for ListedAlgorithm { algorithm, number } in list_all_algorithms(&tool)? {
        if intelmpi::is_intel_mpi() {
            if intelmpi::selected_preset(algorithm.collective) == Some(number) {
                preset.push(algorithm);
            }
            continue;
        }
        let name = if openmpi::is_open_mpi(&tool)? {
            openmpi::algorithm_variable(algorithm.collective, "")
        } else {
            mpich::algorithm_variable(algorithm.collective)
        };
        if required_variable(&tool, &name)?.read_number()? == number {
            preset.push(algorithm);
        }
    }
    Ok(preset)
}

fn list_all_algorithms(tool: &Tool) -> Result<Vec<ListedAlgorithm>, ExecError> {
    let mut listed = openmpi::list_algorithms(tool)?;
    listed.extend(mpich::list_algorithms(tool)?);
    listed.extend(intelmpi::list_algorithms(tool)?);
    Ok(listed)
}

/// A collective carried out by one of the library's algorithms.
#[derive(Debug)]
pub struct NativeCall {
    call: LibraryCall,
    way: ForcingWay,
}

/// The way the algorithm is forced.
#[derive(Debug)]
enum ForcingWay {
    /// Open MPI: on this communicator.
    Communicator(Communicator),
    /// MPICH: while these variables have these values. Intel MPI: in the whole launch, by the environment.
    Switches(Vec<(Variable, i32)>),
}

impl NativeCall {
    /// Prepares the call. Collective over the communicator.
    pub(crate) fn new(
        algorithm: &str,
        parameters: &Parameters,
        call: &Call,
        communicator: &Communicator,
    ) -> Result<Self, ExecError> {
        let tool = Tool::open()?;
        let id = algorithm.split_once('/').map_or(algorithm, |(_, id)| id);
        if let Some(forced) = find_forced_component(id) {
            let candidate = Candidate::Native {
                algorithm: algorithm.to_owned(),
                parameters: parameters.clone(),
            };
            let own = components::duplicate_with_component(
                &tool,
                communicator,
                forced,
                &candidate,
                parameters,
            )?;
            return Ok(Self {
                call: LibraryCall::new(call, communicator.rank(), communicator.size())?,
                way: ForcingWay::Communicator(own),
            });
        }
        let listed = list_all_algorithms(&tool)?.into_iter().find(|listed| {
            listed.algorithm.collective == call.collective
                && listed.algorithm.full_name() == algorithm
        });
        let listed = listed.ok_or_else(|| ExecError::NoSuchNative(algorithm.to_owned()))?;
        let wanted = Parameters {
            segment_bytes: parameters
                .segment_bytes
                .filter(|_| listed.algorithm.takes_segments),
            fanout: parameters.fanout.filter(|_| listed.algorithm.takes_fanout),
            max_requests: parameters
                .max_requests
                .filter(|_| listed.algorithm.takes_requests),
            ..Parameters::default()
        };
        if wanted != *parameters {
            let asked = Candidate::Native {
                algorithm: algorithm.to_owned(),
                parameters: parameters.clone(),
            };
            return Err(ExecError::NativeParameters(Box::new(asked)));
        }
        let call = LibraryCall::new(call, communicator.rank(), communicator.size())?;
        let way = if openmpi::is_open_mpi(&tool)? {
            ForcingWay::Communicator(openmpi::duplicate_with_forcing(
                &tool,
                communicator,
                &listed,
                &wanted,
            )?)
        } else if intelmpi::is_intel_mpi() {
            intelmpi::check_selected(&listed)?;
            ForcingWay::Switches(Vec::new())
        } else {
            ForcingWay::Switches(mpich::forcing_switches(&tool, &listed)?)
        };
        Ok(Self { call, way })
    }

    /// Forces the algorithm until the value is dropped, if it is not forced permanently. Other collectives must not
    /// be called meanwhile.
    pub(crate) fn force_algorithm(
        &self,
    ) -> Result<(&LibraryCall, Option<&Communicator>, Switched<'_>), ExecError> {
        let mut switched = Switched::default();
        match &self.way {
            ForcingWay::Communicator(communicator) => {
                Ok((&self.call, Some(communicator), switched))
            }
            ForcingWay::Switches(switches) => {
                for (variable, value) in switches {
                    switched.set_variable(variable, *value)?;
                }
                Ok((&self.call, None, switched))
            }
        }
    }
}

/// A variable that must exist.
fn required_variable(tool: &Tool, name: &str) -> Result<Variable, ExecError> {
    let found = tool.find_variable(name)?;
    found.ok_or_else(|| ExecError::NoVariable(name.to_owned()))
}
