//! Environment variables that steer MPI libraries.

use std::collections::BTreeMap;

/// Variables of these beginnings steer how MPI libraries communicate.
const STEERING: [&str; 9] = [
    "OMPI_MCA_",
    "MPIR_CVAR_",
    "MPICH_",
    "UCX_",
    "FI_",
    "PSM2_",
    "I_MPI_",
    "PRTE_MCA_",
    "HCOLL_",
];

/// Set by Open MPI's launcher for its own purposes.
const LAUNCHER_INTERNAL: [&str; 5] = [
    "OMPI_MCA_orte_",
    "OMPI_MCA_ess",
    "OMPI_MCA_shmem_RUNTIME",
    "OMPI_MCA_pmix",
    "OMPI_MCA_initial_wdir",
];

/// Open MPI's own decisions are steered by variables of this beginning, which, but for the priority,
/// matter only if the last one is set.
const DECIDING: &str = "OMPI_MCA_coll_tuned_";
const PRIORITY: &str = "OMPI_MCA_coll_tuned_priority";
const ENABLING: &str = "OMPI_MCA_coll_tuned_use_dynamic_rules";

/// Other variables of Open MPI that choose who carries out collectives.
const CHOOSING: [&str; 2] = ["OMPI_MCA_coll", "HCOLL_"];

/// MPICH's thresholds and algorithms are variables about a collective; each has one of these words,
/// also where parts differ in size, for neighbours, and where a scan excludes the rank itself.
const COLLECTIVES: [&str; 8] = [
    "BCAST", "REDUCE", "GATHER", "SCATTER", "ALLTOALL", "BARRIER", "SCAN", "COLL",
];

/// Intel MPI's.
const ADJUSTING: &str = "I_MPI_ADJUST_";

/// Of Open MPI's control variables, those of these frameworks steer collectives and what they
/// communicate with. The frameworks' own names choose their components.
const FRAMEWORKS: [&str; 6] = ["coll", "pml", "bml", "btl", "mtl", "mpi"];

/// All control variables of other libraries begin like this.
const CONTROLLING: [&str; 2] = ["MPIR_CVAR_", "I_MPI_"];

/// Open MPI 4.1 reads this one from memory that has been given back: it says something else each time.
const RANDOM: &str = "pml_ucx_multi_send_nb";

/// Where Open MPI looks for files of settings, and that it shall look for none.
const NO_FILES: (&str, &str) = ("OMPI_MCA_mca_base_param_files", "none");

/// Whether a control variable of a library steers collectives or what they communicate with.
pub fn is_setting(name: &str) -> bool {
    let framework = name.split('_').next().unwrap_or_default();
    let steers = FRAMEWORKS.contains(&framework);
    (steers && name != RANDOM) || CONTROLLING.iter().any(|begin| name.starts_with(begin))
}

/// What becomes of this process's environment variables in one in which libraries have the settings
/// that they were built with: those to be removed, and one to be set.
pub fn unsettled() -> (Vec<std::ffi::OsString>, (&'static str, &'static str)) {
    let names = std::env::vars_os().map(|(name, _)| name);
    let steers = |name: &std::ffi::OsString| {
        let name = name.to_string_lossy();
        STEERING.iter().any(|begin| name.starts_with(begin))
    };
    (names.filter(steers).collect(), NO_FILES)
}

/// Those among the given variables that steer MPI libraries, without what launchers set themselves.
pub fn steering(variables: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let begins = |name: &str, with: &[&str]| with.iter().any(|begin| name.starts_with(begin));
    variables
        .into_iter()
        .filter(|(name, _)| begins(name, &STEERING) && !begins(name, &LAUNCHER_INTERNAL))
        .collect()
}

/// The same of this process. Names and values that are no text are left out.
pub fn of_this_process() -> BTreeMap<String, String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    steering(texts)
}

/// Whether the library's algorithms may be made forcible: that must not bring settings to life that
/// somebody has made and that have no effect on the default as it is.
pub fn may_force(variables: &BTreeMap<String, String>) -> bool {
    !variables.keys().any(|name| name.starts_with(DECIDING))
}

/// Settings, as `NAME=value`, that change which algorithms the library chooses by itself: environment
/// variables, and control variables that have other values than those that the library was built with
/// though no environment variable says so.
pub fn deciding(
    variables: &BTreeMap<String, String>,
    settings: &BTreeMap<String, String>,
) -> Vec<String> {
    let told = variables
        .iter()
        .map(|(name, value)| (name.clone(), name, value));
    let silent = settings
        .iter()
        .map(|(name, value)| (variable(name), name, value))
        .filter(|(variable, ..)| !variables.contains_key(variable));
    let all: Vec<_> = told.chain(silent).collect();
    let is_enabled = all
        .iter()
        .any(|(variable, _, value)| variable == ENABLING && is_true(value));
    let deciding = all
        .iter()
        .filter(|(variable, ..)| decides(variable, is_enabled));
    deciding
        .map(|(_, name, value)| format!("{name}={value}"))
        .collect()
}

/// The environment variable that sets a control variable.
fn variable(setting: &str) -> String {
    match CONTROLLING.iter().any(|begin| setting.starts_with(begin)) {
        true => setting.to_owned(),
        false => format!("OMPI_MCA_{setting}"),
    }
}

/// Whether a variable changes the library's own choice, if Open MPI's are enabled or not.
fn decides(name: &str, is_enabled: bool) -> bool {
    if name.starts_with(DECIDING) {
        return name == PRIORITY || (is_enabled && name != ENABLING);
    }
    let about = name.strip_prefix("MPIR_CVAR_").unwrap_or_default();
    CHOOSING.iter().any(|begin| name.starts_with(begin))
        || COLLECTIVES.iter().any(|word| about.contains(word))
        || name.starts_with(ADJUSTING)
}

/// As Open MPI reads truth values.
fn is_true(value: &str) -> bool {
    let value = value.trim().to_lowercase();
    let is_number = value.parse::<i64>().is_ok_and(|number| number != 0);
    is_number || ["true", "t", "yes", "y", "enabled"].contains(&value.as_str())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{deciding, is_setting, may_force, steering};

    fn variables(names: &[(&str, &str)]) -> BTreeMap<String, String> {
        steering(
            names
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned())),
        )
    }

    #[test]
    fn what_steers_mpi_is_kept_and_what_launchers_set_is_not() {
        let kept = variables(&[
            ("OMPI_MCA_btl", "self,tcp"),
            ("OMPI_MCA_orte_launch", "1"),
            ("MPIR_CVAR_POLLS_BEFORE_YIELD", "10"),
            ("HOME", "/root"),
        ]);
        let names: Vec<_> = kept.keys().collect();
        assert_eq!(names, ["MPIR_CVAR_POLLS_BEFORE_YIELD", "OMPI_MCA_btl"]);
        assert!(may_force(&kept));
    }

    #[test]
    fn settings_that_change_the_default_are_told() {
        let check = |given: &[(&str, &str)], expected: &[&str]| {
            assert_eq!(deciding(&variables(given), &BTreeMap::new()), expected);
        };
        let forced = ("OMPI_MCA_coll_tuned_bcast_algorithm", "1");
        check(&[forced], &[]);
        assert!(!may_force(&variables(&[forced])));
        let enabled = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "true");
        let disabled = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "0");
        check(&[enabled], &[]);
        check(&[forced, disabled], &[]);
        check(
            &[forced, enabled],
            &["OMPI_MCA_coll_tuned_bcast_algorithm=1"],
        );
        let priority = ("OMPI_MCA_coll_tuned_priority", "5");
        check(&[priority], &["OMPI_MCA_coll_tuned_priority=5"]);
        check(&[("OMPI_MCA_coll", "^tuned")], &["OMPI_MCA_coll=^tuned"]);
        check(
            &[("OMPI_MCA_coll_hcoll_enable", "0")],
            &["OMPI_MCA_coll_hcoll_enable=0"],
        );
        check(&[("OMPI_MCA_btl", "tcp"), ("UCX_TLS", "tcp")], &[]);
        check(
            &[("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "tree")],
            &["MPIR_CVAR_BCAST_INTRA_ALGORITHM=tree"],
        );
        check(
            &[("MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE", "1")],
            &["MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE=1"],
        );
        for name in [
            "MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE",
            "MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM",
            "MPIR_CVAR_INEIGHBOR_ALLTOALLW_INTRA_ALGORITHM",
            "MPIR_CVAR_BARRIER_INTRA_ALGORITHM",
            "MPIR_CVAR_SCAN_INTRA_ALGORITHM",
            "MPIR_CVAR_EXSCAN_INTRA_ALGORITHM",
        ] {
            check(&[(name, "1")], &[&format!("{name}=1")]);
        }
        check(&[("MPIR_CVAR_POLLS_BEFORE_YIELD", "10")], &[]);
        check(&[("I_MPI_ADJUST_BCAST", "3")], &["I_MPI_ADJUST_BCAST=3"]);
    }

    #[test]
    fn settings_without_variables_are_told_too() {
        let check = |variables: &[(&str, &str)], settings: &[(&str, &str)], expected: &[&str]| {
            let map = |pairs: &[(&str, &str)]| {
                let pairs = pairs.iter();
                let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
                pairs.collect::<BTreeMap<_, _>>()
            };
            assert_eq!(deciding(&map(variables), &map(settings)), expected);
        };
        let forced = ("coll_tuned_bcast_algorithm", "binomial");
        let enabled = ("coll_tuned_use_dynamic_rules", "true");
        check(&[], &[forced], &[]);
        let both = "coll_tuned_bcast_algorithm=binomial";
        check(&[], &[forced, enabled], &[both]);
        check(
            &[("OMPI_MCA_coll_tuned_use_dynamic_rules", "1")],
            &[forced],
            &[both],
        );
        // What a variable says is told once.
        let variable = ("OMPI_MCA_coll", "basic,self");
        check(
            &[variable],
            &[("coll", "basic,self")],
            &["OMPI_MCA_coll=basic,self"],
        );
        check(
            &[],
            &[("btl", "^openib"), ("mpi_yield_when_idle", "true")],
            &[],
        );
        let threshold = ("MPIR_CVAR_BCAST_SHORT_MSG_SIZE", "1");
        check(&[], &[threshold], &["MPIR_CVAR_BCAST_SHORT_MSG_SIZE=1"]);
    }

    #[test]
    fn settings_are_about_collectives_and_transports() {
        for name in [
            "coll",
            "coll_tuned_priority",
            "btl_tcp_eager_limit",
            "pml",
            "MPIR_CVAR_X",
        ] {
            assert!(is_setting(name), "{name}");
        }
        for name in [
            "orte_ess_num_procs",
            "pml_ucx_multi_send_nb",
            "mca_param_files",
            "collector",
            "mpool_base",
        ] {
            assert!(!is_setting(name), "{name}");
        }
    }
}
