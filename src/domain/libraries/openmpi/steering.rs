//! The settings that steer Open MPI's collectives.

use crate::steering::{Condition, SettingRole, SteeringSetting};

use super::is_true;

/// The switch of `tuned`, read when MPI is started.
const BY_RULES: Condition = Condition {
    setting: "coll_tuned_use_dynamic_rules",
    holds: is_true,
    holds_by_default: false,
    remedy: "1",
};

/// The switch of `han` for its own file.
const BY_FILE: Condition = Condition {
    setting: "coll_han_use_dynamic_file_rules",
    holds: is_true,
    holds_by_default: false,
    remedy: "1",
};

/// The list, for 4.0 to 6.0. Settings of `tuned` that are not listed as depending on its switch, such as thresholds of
/// old releases, are taken to count without it.
pub(super) const SETTINGS: [SteeringSetting; 16] = [
    SteeringSetting::new("coll_*_verbose", SettingRole::Messages),
    SteeringSetting::new("coll", SettingRole::Component),
    SteeringSetting::new("coll_tuned_use_dynamic_rules", SettingRole::Switch),
    SteeringSetting::new("coll_tuned_dynamic_rules_filename", SettingRole::Rules)
        .depending_on(&BY_RULES),
    SteeringSetting::new("coll_tuned_*_algorithm", SettingRole::Algorithm).depending_on(&BY_RULES),
    SteeringSetting::new("coll_tuned_*_algorithm_*", SettingRole::Parameter)
        .depending_on(&BY_RULES),
    SteeringSetting::new("coll_tuned_init_*", SettingRole::Parameter).depending_on(&BY_RULES),
    SteeringSetting::new("coll_han_use_dynamic_file_rules", SettingRole::Switch),
    SteeringSetting::new("coll_han_dynamic_rules_filename", SettingRole::Rules)
        .depending_on(&BY_FILE),
    SteeringSetting::new("coll_*_priority", SettingRole::Component),
    SteeringSetting::new("coll_*_enable", SettingRole::Component),
    SteeringSetting::new("coll_*_np", SettingRole::Component),
    SteeringSetting::new("coll_*_module", SettingRole::Component),
    SteeringSetting::new("coll_*_algorithm", SettingRole::Algorithm),
    SteeringSetting::new("coll_*", SettingRole::Parameter),
    // Of the library behind the component hcoll; it has no control variables.
    SteeringSetting::new("HCOLL_*", SettingRole::Component),
];
