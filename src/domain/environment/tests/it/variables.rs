//! Variables that affect MPI libraries, and those that change their choices.

use std::collections::BTreeMap;

use environment::variables::{
    deciding_settings, is_setting, may_force, only_configuring, rules_variables,
};

fn variables(names: &[(&str, &str)]) -> BTreeMap<String, String> {
    only_configuring(
        names
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned())),
    )
}

#[test]
fn settings_of_mpi_are_kept_and_variables_that_launchers_set_are_not() {
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
fn settings_that_change_the_default_are_reported() {
    let check = |given: &[(&str, &str)], expected: &[&str]| {
        assert_eq!(deciding_settings(&variables(given), None, None), expected);
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
fn settings_without_variables_are_reported_too() {
    let check = |variables: &[(&str, &str)], settings: &[(&str, &str)], expected: &[&str]| {
        let map = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            pairs.collect::<BTreeMap<_, _>>()
        };
        let found = deciding_settings(&map(variables), Some(&map(settings)), None);
        assert_eq!(found, expected);
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
    // A setting in a variable is reported once.
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
    // The library does not have this component.
    check(&[("OMPI_MCA_coll_hcoll_enable", "0")], &[], &[]);
    let threshold = ("MPIR_CVAR_BCAST_SHORT_MSG_SIZE", "1");
    check(&[], &[threshold], &["MPIR_CVAR_BCAST_SHORT_MSG_SIZE=1"]);
}

#[test]
fn only_settings_of_collectives_and_transports_are_reported() {
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

#[test]
fn files_of_rules_are_reported_with_their_other_settings() {
    let check = |given: &[(&str, &str)], expected: &[&str]| {
        let found = rules_variables(&variables(given));
        assert_eq!(found.keys().collect::<Vec<_>>(), expected);
    };
    let file = (
        "OMPI_MCA_coll_tuned_dynamic_rules_filename",
        "/etc/rules.conf",
    );
    let enabled = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
    check(&[file, enabled], &[file.0]);
    check(&[enabled], &[]);
    let components = ("OMPI_MCA_coll", "^han");
    check(&[file, components], &[components.0, file.0]);
    check(&[components], &[]);
    let selection_file = (
        "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
        "/etc/selection.json",
    );
    let [devices, bcast] = [
        ("MPIR_CVAR_DEVICE_COLLECTIVES", "percoll"),
        ("MPIR_CVAR_BCAST_DEVICE_COLLECTIVE", "0"),
    ];
    let forced = ("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "tree");
    check(
        &[selection_file, devices, bcast, forced],
        &[bcast.0, selection_file.0, devices.0],
    );
    // Without a file they are the user's own settings.
    check(&[devices, bcast, forced], &[]);
    check(&[(selection_file.0, ""), devices], &[selection_file.0]);
}
