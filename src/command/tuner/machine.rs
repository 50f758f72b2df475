//! Machine files are read for `model`, which knows what they mean, and given what was fitted, which it writes.

use std::path::Path;

use model::{
    FittedMachine, Machine, MachineError, NotedEstimate, ParameterFinding, ParameterNote,
    SegmentNote,
};
use results::{Estimate, ParameterEstimate};

use crate::CampaignAnalysis;

/// Reads a machine file, or the reference machine if there is no path.
///
/// # Errors
/// [`MachineError::Read`], [`MachineError::File`].
pub fn load_machine(path: Option<&Path>) -> Result<Machine, MachineError> {
    match path {
        Some(path) => Machine::from_read_text(files::read_text(path), path),
        None => Ok(Machine::parse_reference()?),
    }
}

impl CampaignAnalysis {
    /// The machine as a file ([`FittedMachine::machine_file`]). `None` if there is no level whose `alpha` and `beta`
    /// are both known.
    pub fn machine_file(&self) -> Option<String> {
        let fit = &self.found.machine;
        let mut machine = fit.machine.clone()?;
        // A file has one cost of combining; where datatypes and operators have several, `gamma` must do.
        let mut lines_of_operators = fit.combining.values();
        machine.combining = match (lines_of_operators.next(), lines_of_operators.next()) {
            (Some(lines), None) => lines.clone(),
            _ => Vec::new(),
        };
        let segments = fit.segments.iter().map(|segment| SegmentNote {
            level: segment.level,
            from_bytes: segment.from_bytes,
            to_bytes: segment.to_bytes,
            alpha: note_parameter(&segment.alpha),
            beta: note_parameter(&segment.beta),
        });
        let fitted = FittedMachine {
            machine: &machine,
            measurements: &self.origin.name,
            library: &self.origin.library,
            parameters: fit.parameters.iter().map(note_parameter).collect(),
            segments: segments.collect(),
        };
        Some(fitted.machine_file())
    }
}

/// What a machine file says about a parameter.
fn note_parameter(parameter: &ParameterEstimate) -> ParameterNote {
    let finding = match parameter.usable_estimate() {
        Some(estimate) => ParameterFinding::Used(note_estimate(estimate)),
        None => ParameterFinding::Unused {
            reason: parameter.status.to_string(),
            estimate: parameter.estimate.map(note_estimate),
        },
    };
    ParameterNote {
        name: parameter.name.clone(),
        unit: parameter.unit,
        finding,
    }
}

fn note_estimate(estimate: Estimate) -> NotedEstimate {
    NotedEstimate {
        value: estimate.value,
        low: estimate.low,
        high: estimate.high,
        residual: estimate.residual,
    }
}
