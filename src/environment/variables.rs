//! Environment variables that steer MPI libraries.

use std::collections::BTreeMap;
use std::ffi::OsString;

use libraries::{Facts, LibraryName};

/// Variables of these beginnings steer what MPI libraries communicate through, whichever it is.
const TRANSPORTS: [&str; 3] = ["UCX_", "FI_", "PSM2_"];

/// Whether a control variable of a library steers collectives or what they communicate with.
pub fn is_setting(name: &str) -> bool {
    let mut libraries = LibraryName::ALL.iter();
    libraries.any(|library| library.is_setting(name))
}

/// What becomes of this process's environment variables in one in which libraries have the settings
/// that they were built with: those to be removed, and those to be set.
pub fn unsettled() -> (Vec<OsString>, Vec<(&'static str, &'static str)>) {
    let names = std::env::vars_os().map(|(name, _)| name);
    let removed = names.filter(|name| steers(&name.to_string_lossy()));
    let libraries = LibraryName::ALL.iter();
    let set = libraries.filter_map(|library| library.facts().without_files);
    (removed.collect(), set.collect())
}

/// Whether an environment variable steers how MPI libraries communicate.
fn steers(name: &str) -> bool {
    let is_transport = TRANSPORTS.iter().any(|begin| name.starts_with(begin));
    is_transport || begins(name, |facts| facts.steering_variables)
}

/// Whether a name begins as some library's do.
fn begins(name: &str, with: fn(&Facts) -> &'static [&'static str]) -> bool {
    let libraries = LibraryName::ALL.iter();
    let mut beginnings = libraries.flat_map(|library| with(library.facts()));
    beginnings.any(|begin| name.starts_with(begin))
}

/// Those among the given variables that steer MPI libraries, without what launchers set themselves.
pub fn steering(variables: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let is_internal = |name: &str| begins(name, |facts| facts.launcher_variables);
    let variables = variables.into_iter();
    variables
        .filter(|(name, _)| steers(name) && !is_internal(name))
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
    let mut names = variables.keys();
    !names.any(|name| begins(name, |facts| facts.dormant_variables))
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
    let value = |wanted: &str| {
        let mut all = all.iter();
        let (.., value) = all.find(|(variable, ..)| variable == wanted)?;
        Some((*value).clone())
    };
    let decides = |name: &str| {
        LibraryName::ALL
            .iter()
            .any(|library| library.decides(name, &value))
    };
    let deciding = all.iter().filter(|(variable, ..)| decides(variable));
    deciding
        .map(|(_, name, value)| format!("{name}={value}"))
        .collect()
}

/// The environment variable that sets a control variable.
fn variable(setting: &str) -> String {
    let mut libraries = LibraryName::ALL.iter();
    let library = libraries.find(|library| library.is_setting(setting));
    library.map_or_else(
        || setting.to_owned(),
        |library| format!("{}{setting}", library.facts().variable_prefix),
    )
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
