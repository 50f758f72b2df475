//! The algorithms inside the library, listed and forced through the tool interface.

mod mpich;
mod openmpi;

use libraries::LibraryName;
use vocabulary::{Candidate, NativeAlgorithm, Parameters};

use crate::tool::{Switched, Tool, Variable};
use crate::{Call, Communicator, ExecError, LibraryCall};

/// An algorithm of the library.
#[derive(Clone, Debug)]
struct Listed {
    algorithm: NativeAlgorithm,
    /// The value of the control variable that forces it.
    number: i32,
}

/// Lets algorithms be forced that the library would not let one force otherwise, and leaves
/// everything else as it is. To be called first of all: before MPI or the tool interface is opened,
/// and before other threads are started.
///
/// Open MPI heeds its control variables only under `coll_tuned_use_dynamic_rules`, which is read at
/// start. Where no rules file is named and no algorithm forced, its decisions remain what they are:
/// if the environment has any other setting of `coll/tuned`, this must not be called.
pub fn allow_forcing() {
    for variable in enabling_variables() {
        change_environment(variable, Some("1"));
    }
}

/// Sets an environment variable of this process, or removes it. No other thread may read the environment meanwhile.
pub fn change_environment(name: &str, value: Option<&str>) {
    // SAFETY: no other thread may read the environment meanwhile: the caller's.
    unsafe {
        match value {
            Some(value) => std::env::set_var(name, value),
            None => std::env::remove_var(name),
        }
    }
}

/// A file of rules that the library would read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesInFiles {
    /// The control variable that names it.
    pub setting: &'static str,
    /// The file.
    pub file: String,
    /// The library's files of settings, which may name it, as the library lists them.
    pub settings: String,
}

/// How the library is steered before MPI is started, by the environment and by its files of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartSettings {
    /// The file of rules that it would read; none of a library that reads no files of settings.
    pub rules: Option<RulesInFiles>,
    /// Whether algorithms that are forced have an effect: Open MPI has a switch for that, which [`allow_forcing`] turns
    /// on.
    is_forcing_allowed: bool,
    /// Whether algorithms are forced.
    is_any_forced: bool,
}

impl StartSettings {
    /// Asks the library. Call it before MPI is started.
    ///
    /// # Errors
    ///
    /// If the tool interface reports one.
    pub fn ask() -> Result<Self, ExecError> {
        let mut found = Self {
            rules: None,
            is_forcing_allowed: true,
            is_any_forced: false,
        };
        // Others have no such switch. MPICH, which reads no files of settings, must not be asked: once its tool
        // interface is closed, it forgets its variables.
        let library = libraries::described_by(&crate::library_text());
        let facts = library.map(|library| library.facts());
        let Some((facts, settings)) = facts.and_then(|facts| Some((facts, facts.files_setting?)))
        else {
            return Ok(found);
        };
        let tool = Tool::open()?;
        let text = |name: &str| match tool.variable(name)? {
            Some(variable) => variable.read_text(),
            None => Ok(String::new()),
        };
        let file = text(facts.rules_setting)?;
        if !file.is_empty() {
            found.rules = Some(RulesInFiles {
                setting: facts.rules_setting,
                file,
                settings: text(settings)?,
            });
        }
        found.is_forcing_allowed = openmpi::is_forcing_allowed(&tool)?;
        found.is_any_forced = openmpi::is_any_forced(&tool)?;
        Ok(found)
    }

    /// Whether something is set that would have an effect only if forcing were allowed: an algorithm that is forced, or
    /// the file of rules if that is not `set_aside`.
    pub fn is_forced_in_vain(&self, set_aside: bool) -> bool {
        let has_rules = self.rules.is_some() && !set_aside;
        !self.is_forcing_allowed && (self.is_any_forced || has_rules)
    }
}

/// The environment variables that [`allow_forcing`] sets.
pub fn enabling_variables() -> impl Iterator<Item = &'static str> {
    let libraries = LibraryName::ALL.into_iter();
    libraries.filter_map(|library| library.facts().enabling_variable)
}

/// The algorithms that the library lets one force, in the order of collectives and as the library
/// lists them. Needs no `MPI_Init`.
///
/// None where forcing would have no effect: under Open MPI if [`allow_forcing`] was not called, or
/// if a file of rules is loaded, which comes first.
///
/// # Errors
///
/// If the tool interface reports one.
pub fn natives() -> Result<Vec<NativeAlgorithm>, ExecError> {
    let listed = list(&Tool::open()?)?.into_iter();
    Ok(listed.map(|listed| listed.algorithm).collect())
}

/// The algorithms of [`natives`] that users have forced already, in the environment or a file of settings:
/// they are what the default is.
///
/// # Errors
///
/// If the tool interface reports one.
pub fn preset() -> Result<Vec<NativeAlgorithm>, ExecError> {
    let tool = Tool::open()?;
    let mut preset = Vec::new();
    for Listed { algorithm, number } in list(&tool)? {
        let name = match openmpi::is_it(&tool)? {
            true => openmpi::name(algorithm.collective, ""),
            false => mpich::name(algorithm.collective),
        };
        if required(&tool, &name)?.read()? == number {
            preset.push(algorithm);
        }
    }
    Ok(preset)
}

fn list(tool: &Tool) -> Result<Vec<Listed>, ExecError> {
    let mut listed = openmpi::list(tool)?;
    listed.extend(mpich::list(tool)?);
    Ok(listed)
}

/// A collective as one of the library's algorithms carries it out.
#[derive(Debug)]
pub struct NativeCall {
    call: LibraryCall,
    way: Way,
}

/// How the algorithm is forced.
#[derive(Debug)]
enum Way {
    /// Open MPI: for as long as this communicator lives.
    Communicator(Communicator),
    /// MPICH: while these have these values.
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
        let listed = list(&tool)?.into_iter().find(|listed| {
            listed.algorithm.collective == call.collective && listed.algorithm.name() == algorithm
        });
        let listed = listed.ok_or_else(|| ExecError::NoSuchNative(algorithm.to_owned()))?;
        let wanted = Parameters {
            segment_bytes: parameters
                .segment_bytes
                .filter(|_| listed.algorithm.takes_segments),
            fanout: parameters.fanout.filter(|_| listed.algorithm.takes_fanout),
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
        let way = match openmpi::is_it(&tool)? {
            true => Way::Communicator(openmpi::duplicate(&tool, communicator, &listed, &wanted)?),
            false => Way::Switches(mpich::switches(&tool, &listed)?),
        };
        Ok(Self { call, way })
    }

    /// Forces the algorithm until the value is dropped, where that is not so all the time. Other
    /// collectives must not be called meanwhile.
    pub(crate) fn force(
        &self,
    ) -> Result<(&LibraryCall, Option<&Communicator>, Switched<'_>), ExecError> {
        let mut switched = Switched::default();
        match &self.way {
            Way::Communicator(communicator) => Ok((&self.call, Some(communicator), switched)),
            Way::Switches(switches) => {
                for (variable, value) in switches {
                    switched.set(variable, *value)?;
                }
                Ok((&self.call, None, switched))
            }
        }
    }
}

/// A variable that must be there.
fn required(tool: &Tool, name: &str) -> Result<Variable, ExecError> {
    let found = tool.variable(name)?;
    found.ok_or_else(|| ExecError::NoVariable(name.to_owned()))
}
