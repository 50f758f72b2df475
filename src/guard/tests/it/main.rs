//! Tables that are measured again: by scripts, and on simulated machines.

mod alternating;
mod confirm;
mod points;
mod power;
mod probes;
mod repair;
mod script;
mod simulation;
mod stages;

use guard::{CheckOptions, ValidateOptions};

/// How a table is checked unless a test says otherwise.
const CHECK: CheckOptions = CheckOptions {
    launches: 3,
    materiality: 0.05,
    tolerance: 0.1,
};

/// How a table is validated unless a test says otherwise.
const VALIDATE: ValidateOptions = ValidateOptions {
    launches: 6,
    materiality: 0.0,
};
