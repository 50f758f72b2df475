//! The settings that steer Intel MPI's collectives, by the names of their environment variables.

use crate::steering::{SettingRole, SteeringSetting};

const fn parameter_named(pattern: &'static str) -> SteeringSetting {
    SteeringSetting::new(pattern, SettingRole::Parameter)
}

/// The list, for 2021. `I_MPI_ADJUST_<COLLECTIVE>` selects presets; longer names belong to one preset's parts.
pub(super) const SETTINGS: [SteeringSetting; 9] = [
    SteeringSetting::new(super::TUNING_FILE, SettingRole::Rules),
    SteeringSetting::new("I_MPI_TUNING", SettingRole::Rules),
    SteeringSetting::new("I_MPI_TUNING_BIN_PATH", SettingRole::Component),
    SteeringSetting::new("I_MPI_TUNING_MODE", SettingRole::Component),
    SteeringSetting::new("I_MPI_TUNING_*_DUMP", SettingRole::Messages),
    SteeringSetting::new("I_MPI_ADJUST_*_LIST", SettingRole::Component),
    SteeringSetting::new("I_MPI_ADJUST_*", SettingRole::Algorithm),
    parameter_named("I_MPI_TUNING_*"),
    parameter_named("I_MPI_COLL_*"),
];
