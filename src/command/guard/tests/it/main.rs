//! Tables are measured again, by scripts and on simulated machines.

mod alternating;
mod confirm;
mod listener;
mod points;
mod power;
mod probes;
mod programs;
mod repair;
mod script;
mod simulation;
mod site_lines;
mod stages;
mod whole_checks;
mod whole_validations;

use guard::{CheckOptions, ValidateOptions};

/// The options of checks in most tests.
const CHECK: CheckOptions = CheckOptions {
    launches: 3,
    materiality: 0.05,
    tolerance: 0.1,
};

/// The options of validations in most tests.
const VALIDATE: ValidateOptions = ValidateOptions {
    launches: 6,
    materiality: 0.0,
    material_loss: 0.05,
};
