//! The settings that steer MPICH's collectives.

use crate::steering::{Condition, SettingRole, SteeringSetting};

/// Devices carry out collectives, unless they are switched off for all of them.
const BY_DEVICES: Condition = Condition {
    setting: super::DEVICES,
    holds: |value| !["none", "1"].contains(&value),
    holds_by_default: true,
    remedy: "percoll",
};

/// Each collective has its own switch.
const ONE_BY_ONE: Condition = Condition {
    setting: super::DEVICES,
    holds: |value| ["percoll", "2"].contains(&value),
    holds_by_default: true,
    remedy: "percoll",
};

const fn rules_file(pattern: &'static str) -> SteeringSetting {
    SteeringSetting::new(pattern, SettingRole::Rules)
}

const fn parameter_named(pattern: &'static str) -> SteeringSetting {
    SteeringSetting::new(pattern, SettingRole::Parameter)
}

/// The list, for 4.0 to 5.0.
///
/// There are three selection files: of algorithms, of the compositions of parts within nodes and between them (`CH4`),
/// and of algorithms within nodes (`POSIX`). From 4.3 on the last two are also there for buffers on accelerators.
pub(super) const SETTINGS: [SteeringSetting; 18] = [
    rules_file("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"),
    rules_file("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE").depending_on(&BY_DEVICES),
    rules_file("MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE").depending_on(&BY_DEVICES),
    rules_file("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE_GPU").depending_on(&BY_DEVICES),
    rules_file("MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE_GPU").depending_on(&BY_DEVICES),
    // Of releases to come.
    rules_file("MPIR_CVAR_*COLL_SELECTION*JSON_FILE*"),
    SteeringSetting::new(super::DEVICES, SettingRole::Component),
    SteeringSetting::new("MPIR_CVAR_*_DEVICE_COLLECTIVE", SettingRole::Component)
        .depending_on(&ONE_BY_ONE),
    SteeringSetting::new("MPIR_CVAR_*_COMPOSITION", SettingRole::Component)
        .depending_on(&BY_DEVICES),
    SteeringSetting::new("MPIR_CVAR_*_ALGORITHM", SettingRole::Algorithm),
    // Thresholds and algorithms. The words also cover collectives with parts of different sizes, neighbourhood
    // collectives and exclusive scans.
    parameter_named("MPIR_CVAR_*BCAST*"),
    parameter_named("MPIR_CVAR_*REDUCE*"),
    parameter_named("MPIR_CVAR_*GATHER*"),
    parameter_named("MPIR_CVAR_*SCATTER*"),
    parameter_named("MPIR_CVAR_*ALLTOALL*"),
    parameter_named("MPIR_CVAR_*BARRIER*"),
    parameter_named("MPIR_CVAR_*SCAN*"),
    parameter_named("MPIR_CVAR_*COLL*"),
];
