//! Open MPI's MCA variables.

/// The environment variable that makes the variables of `coll/tuned` matter; read when the library
/// starts.
pub(super) const ENABLING: &str = "OMPI_MCA_coll_tuned_use_dynamic_rules";

/// Layers of communication, what each of them works with, and what that has to work with. The library
/// closes the components that it does not use, and their control variables go with them: those that
/// are left are at work.
const LAYERS: [(&str, &str, &[&str]); 3] = [
    (
        "ob1",
        "btl",
        &[
            "self", "vader", "sm", "smcuda", "tcp", "openib", "uct", "ofi", "usnic", "ugni",
            "portals4",
        ],
    ),
    ("cm", "mtl", &["ofi", "psm", "psm2", "portals4"]),
    ("ucx", "", &[]),
];

/// Set by the launcher.
pub(super) const LAUNCHER_INTERNAL: [&str; 5] = [
    "OMPI_MCA_orte_",
    "OMPI_MCA_ess",
    "OMPI_MCA_shmem_RUNTIME",
    "OMPI_MCA_pmix",
    "OMPI_MCA_initial_wdir",
];

/// The library's own decisions are steered by variables of this beginning, which, but for the priority,
/// matter only if [`ENABLING`] is set.
pub(super) const DECIDING: &str = "OMPI_MCA_coll_tuned_";
const PRIORITY: &str = "OMPI_MCA_coll_tuned_priority";

/// Other variables that choose who carries out collectives.
const CHOOSING: [&str; 2] = ["OMPI_MCA_coll", "HCOLL_"];

/// Of the control variables, those of these frameworks steer collectives and what they communicate
/// with. The frameworks' own names choose their components.
const FRAMEWORKS: [&str; 6] = ["coll", "pml", "bml", "btl", "mtl", "mpi"];

/// 4.1 reads this one from memory that has been given back: it says something else each time.
const RANDOM: &str = "pml_ucx_multi_send_nb";

pub(super) fn is_setting(name: &str) -> bool {
    let framework = name.split('_').next().unwrap_or_default();
    FRAMEWORKS.contains(&framework) && name != RANDOM
}

pub(super) fn decides(name: &str, value: &dyn Fn(&str) -> Option<String>) -> bool {
    if name.starts_with(DECIDING) {
        let is_enabled = || value(ENABLING).is_some_and(|value| is_true(&value));
        return name == PRIORITY || (name != ENABLING && is_enabled());
    }
    CHOOSING.iter().any(|begin| name.starts_with(begin))
}

/// As the library reads truth values.
fn is_true(value: &str) -> bool {
    let value = value.trim().to_lowercase();
    let is_number = value.parse::<i64>().is_ok_and(|number| number != 0);
    is_number || ["true", "t", "yes", "y", "enabled"].contains(&value.as_str())
}

pub(super) fn transports(has_variable: &mut dyn FnMut(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (layer, framework, components) in LAYERS {
        if !has_variable(&format!("pml_{layer}_priority")) {
            continue;
        }
        found.push(format!("pml/{layer}"));
        // Every component of the one kind has the one variable, of the other kind the other.
        let sign = match framework {
            "btl" => "exclusivity",
            _ => "priority",
        };
        let mut is_used =
            |component: &&&str| has_variable(&format!("{framework}_{component}_{sign}"));
        let used = components.iter().filter(|component| is_used(component));
        found.extend(used.map(|component| format!("{framework}/{component}")));
    }
    found
}
