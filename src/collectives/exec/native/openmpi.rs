//! Open MPI, component `coll/tuned`: one variable per collective, read when a communicator is created.
//!
//! So each of the library's algorithms that is a candidate has a communicator of its own, made while the variable named
//! it.

use libraries::LibraryName;
use schedule::Collective;
use vocabulary::Parameters;

use super::{ListedAlgorithm, required_variable};
use crate::tool::{Switched, Tool, Variable};
use crate::{Communicator, ExecError};

/// The built-in decision.
const AUTOMATIC: i32 = 0;

/// The variable for a collective's algorithm, or for a property of it such as `_of`.
pub(super) fn algorithm_variable(collective: Collective, what: &str) -> String {
    format!("coll_tuned_{}_algorithm{what}", collective)
}

/// Whether the library is Open MPI.
pub(super) fn is_open_mpi(tool: &Tool) -> Result<bool, ExecError> {
    let variable = tool.find_variable(&algorithm_variable(Collective::Bcast, ""))?;
    Ok(variable.is_some())
}

pub(super) fn list_algorithms(tool: &Tool) -> Result<Vec<ListedAlgorithm>, ExecError> {
    if !is_heeded(tool)? {
        return Ok(Vec::new());
    }
    let mut listed = Vec::new();
    for collective in Collective::ALL {
        let variable = tool.find_variable(&algorithm_variable(collective, ""))?;
        // That of allgatherv can only be set before the library starts.
        let Some(variable) = variable.filter(|variable| variable.is_writable) else {
            continue;
        };
        let items = variable.items.iter();
        let algorithms = items.filter(|(number, _)| *number != AUTOMATIC);
        listed.extend(algorithms.map(|(number, id)| ListedAlgorithm {
            algorithm: LibraryName::OpenMpi.describe_algorithm(collective, id),
            number: *number,
        }));
    }
    Ok(listed)
}

/// Whether forcing has an effect; rules of a file would take precedence.
fn is_heeded(tool: &Tool) -> Result<bool, ExecError> {
    let Some(enabled) = tool.find_variable("coll_tuned_use_dynamic_rules")? else {
        return Ok(false);
    };
    let file = match tool.find_variable("coll_tuned_dynamic_rules_filename")? {
        Some(file) => file.read_text()?,
        None => String::new(),
    };
    Ok(enabled.read_number()? != 0 && file.is_empty())
}

/// Whether forced algorithms and rules files have an effect.
pub(super) fn is_forcing_allowed(tool: &Tool) -> Result<bool, ExecError> {
    match tool.find_variable("coll_tuned_use_dynamic_rules")? {
        Some(allowed) => Ok(allowed.read_number()? != 0),
        None => Ok(true),
    }
}

/// Whether an algorithm of a collective is forced.
pub(super) fn is_any_forced(tool: &Tool) -> Result<bool, ExecError> {
    for collective in Collective::ALL {
        if let Some(variable) = tool.find_variable(&algorithm_variable(collective, ""))?
            && variable.read_number()? != AUTOMATIC
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A communicator on which the algorithm carries out the collective, and the library's own decisions all others, as
/// some algorithms call other collectives. Collective; `parameters` must be those that reach the algorithm.
pub(super) fn duplicate_with_forcing(
    tool: &Tool,
    communicator: &Communicator,
    listed: &ListedAlgorithm,
    parameters: &Parameters,
) -> Result<Communicator, ExecError> {
    refuse_han(tool, communicator)?;
    let collective = listed.algorithm.collective;
    let mut settings: Vec<(Variable, i32)> = Vec::new();
    for other in Collective::ALL {
        // If a release lacks a variable, or cannot change it, that collective cannot be forced.
        let variable = tool.find_variable(&algorithm_variable(other, ""))?;
        let Some(variable) = variable.filter(|variable| variable.is_writable) else {
            continue;
        };
        let number = if other == collective {
            listed.number
        } else {
            AUTOMATIC
        };
        settings.push((variable, number));
    }
    let too_large = |_| ExecError::TooLarge {
        bytes: parameters.segment_bytes.unwrap_or(u64::MAX),
    };
    if let Some(bytes) = parameters.segment_bytes {
        let bytes = i32::try_from(bytes).map_err(too_large)?;
        settings.push((
            required_variable(tool, &algorithm_variable(collective, "_segmentsize"))?,
            bytes,
        ));
    }
    if let Some(fanout) = parameters.fanout {
        let fanout = i32::try_from(fanout).map_err(too_large)?;
        settings.push((
            required_variable(tool, &algorithm_variable(collective, "_chain_fanout"))?,
            fanout,
        ));
    }
    if let Some(requests) = parameters.max_requests {
        let requests = i32::try_from(requests).map_err(too_large)?;
        settings.push((
            required_variable(tool, &algorithm_variable(collective, "_max_requests"))?,
            requests,
        ));
    }
    let mut switched = Switched::default();
    for (variable, value) in &settings {
        switched.set_variable(variable, *value)?;
    }
    let duplicate = communicator.duplicate()?;
    switched.restore()?;
    Ok(duplicate)
}

/// From 5.0 on the component `han` handles collectives over several nodes before `tuned` does.
fn refuse_han(tool: &Tool, communicator: &Communicator) -> Result<(), ExecError> {
    let priority =
        |component: &str| match tool.find_variable(&format!("coll_{component}_priority"))? {
            Some(priority) => priority.read_number(),
            None => Ok(i32::MIN),
        };
    if priority("han")? > priority("tuned")? && communicator.node()?.size() < communicator.size() {
        return Err(ExecError::Shadowed("coll/han"));
    }
    Ok(())
}
