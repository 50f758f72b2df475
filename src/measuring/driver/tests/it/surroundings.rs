//! The environment that a launch records.

use launcher::LibraryName;
use launcher::Outcome;
use schedule::Collective;
use testkit::mpi::chosen_family;
use vocabulary::{Candidate, Warning};
use wire::{Environment, Record};

use crate::launch::Bench;
use crate::native::natives;

/// The environment that two ranks without tasks record.
fn told(variables: &[(&str, &str)]) -> Environment {
    let mut bench = Bench::new(Vec::new());
    let variables = variables.iter();
    bench.environment = variables.map(|(n, v)| (n.into(), v.into())).collect();
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    match records.into_iter().next() {
        Some(Record::Started(start)) => start.environment,
        other => panic!("{other:?}"),
    }
}

fn settings(environment: &Environment) -> &[String] {
    let mut warnings = environment.warnings.iter();
    let settings = warnings.find_map(|warning| match warning {
        Warning::SteeredDefault { settings } => Some(&settings[..]),
        _ => None,
    });
    settings.unwrap_or_default()
}

#[test]
fn launcher_binding_and_transports_are_recorded() {
    let environment = told(&[("OMPI_MCA_btl", "self,tcp")]);
    let [node] = &environment.nodes[..] else {
        panic!("{:?}", environment.nodes)
    };
    assert_eq!(environment.hosts, [node.host.as_str()]);
    assert_eq!((node.ranks(), environment.cores), (2, node.cores));
    assert!(node.cpus.iter().all(|cpus| !cpus.is_empty()) && !node.boot.is_empty());
    assert!(node.cores <= node.available, "{node:?}");
    let option = match chosen_family() {
        LibraryName::OpenMpi => "-np 2 ",
        LibraryName::Mpich | LibraryName::IntelMpi => "-n 2 ",
    };
    let launcher = &environment.launcher;
    assert!(
        launcher.contains("mpi") && launcher.contains(option),
        "{launcher}"
    );
    // If the launcher binds each rank to a core, two ranks have two cores.
    if launcher.ends_with("-bind-to core") {
        assert_eq!(
            (node.bound, node.crowded, node.cores),
            (2, 0, 2),
            "{node:?}"
        );
    }
    match chosen_family() {
        LibraryName::OpenMpi => {
            assert_eq!(environment.transports, ["pml/ob1", "btl/self", "btl/tcp"]);
        }
        LibraryName::Mpich | LibraryName::IntelMpi => {
            let device = &environment.transports[..];
            assert!(
                matches!(device, [device] if device.starts_with("ch")),
                "{device:?}"
            );
        }
    }
    assert!(environment.preset.is_empty() && settings(&environment).is_empty());
}

#[test]
fn algorithms_that_users_have_forced_are_recorded() {
    let natives = natives(&[]);
    let mut of_bcast = natives.iter().filter(|n| n.collective == Collective::Bcast);
    let native = of_bcast.next().expect("an algorithm");
    let (name, enabling) = match chosen_family() {
        LibraryName::OpenMpi => (
            "OMPI_MCA_coll_tuned_bcast_algorithm",
            "OMPI_MCA_coll_tuned_use_dynamic_rules",
        ),
        LibraryName::Mpich | LibraryName::IntelMpi => ("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "UNUSED"),
    };
    let forced = [(name, native.id.as_str()), (enabling, "1")];
    let environment = told(&forced);
    assert_eq!(environment.preset, [native.full_name()]);
    assert_eq!(settings(&environment), [format!("{name}={}", native.id)]);
    // Without the second variable the first has no effect.
    if chosen_family() == LibraryName::OpenMpi {
        let without_switch = told(&forced[..1]);
        assert!(without_switch.preset.is_empty() && settings(&without_switch).is_empty());
    }
}

/// No environment variable shows these settings.
#[test]
fn settings_in_files_are_recorded_under_openmpi() {
    if chosen_family() == LibraryName::Mpich {
        return;
    }
    let home = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(home.path().join(".openmpi")).expect("made");
    let write = |text| {
        std::fs::write(home.path().join(".openmpi/mca-params.conf"), text).expect("written");
        told(&[("HOME", home.path().to_str().expect("a text"))])
    };
    let environment = write(
        "coll_tuned_use_dynamic_rules = 1\ncoll_tuned_allreduce_algorithm = 4\n\
         btl_tcp_eager_limit = 4321\n",
    );
    let variables = environment.variables.keys();
    assert!(
        !variables
            .into_iter()
            .any(|name| name.contains("coll") || name.contains("btl"))
    );
    let found = environment.settings.as_ref().expect("settings");
    let value = |name: &str| found.get(name).map(String::as_str);
    assert_eq!(value("coll_tuned_allreduce_algorithm"), Some("ring"));
    assert_eq!(value("coll_tuned_use_dynamic_rules"), Some("true"));
    assert_eq!(value("btl_tcp_eager_limit"), Some("4321"));
    assert_eq!(value("coll_tuned_bcast_algorithm"), None);
    assert_eq!(
        settings(&environment),
        ["coll_tuned_allreduce_algorithm=ring"]
    );
    assert_eq!(environment.preset, ["native:allreduce/ring"]);
    let collectives = |recorded: &Environment| {
        let settings = recorded.settings.as_ref().expect("settings");
        let names = settings.keys().filter(|name| name.starts_with("coll"));
        names.cloned().collect::<Vec<_>>()
    };
    // Without the switch that enables these settings they must have no effect, although the driver could set the switch
    // itself.
    let without_switch = write("coll_tuned_allreduce_algorithm = 4\n");
    assert_eq!(
        collectives(&without_switch),
        ["coll_tuned_allreduce_algorithm"]
    );
    assert!(without_switch.preset.is_empty() && settings(&without_switch).is_empty());
    // The variables that the driver itself sets to enable forcing are not users' settings.
    let untouched = write("");
    assert_eq!(collectives(&untouched), [] as [&str; 0]);
    assert!(untouched.preset.is_empty() && settings(&untouched).is_empty());
}

/// Files that are not there: a library that read them would ignore them, or end the program.
#[test]
fn all_files_of_rules_are_set_aside() {
    let names: &[&str] = match chosen_family() {
        LibraryName::OpenMpi => &[
            "OMPI_MCA_coll_tuned_dynamic_rules_filename",
            "OMPI_MCA_coll_han_dynamic_rules_filename",
        ],
        LibraryName::Mpich | LibraryName::IntelMpi => &[
            "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
            "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE",
            "MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE",
            "MPICH_COLL_SELECTION_TUNING_JSON_FILE",
            "MPIR_PARAM_CH4_COLL_SELECTION_TUNING_JSON_FILE",
        ],
    };
    // In another process, whose environment has them, as at a site that sets them for every job: variables of a launch
    // itself are kept.
    if names.iter().any(|name| std::env::var_os(name).is_none()) {
        let own = std::env::current_exe().expect("this program");
        let mut again = std::process::Command::new(own);
        again.args(["--exact", "surroundings::all_files_of_rules_are_set_aside"]);
        again.envs(names.iter().map(|name| (*name, "/gone/rules")));
        let output = again.output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && told.contains("test result: ok. 1 passed"),
            "{told}"
        );
        return;
    }
    let environment = told(&[]);
    assert_eq!(environment.set_aside.len(), names.len(), "{environment:?}");
    for name in names {
        let note = format!("{name}=/gone/rules is set in the environment");
        assert!(environment.set_aside.contains(&note), "{environment:?}");
        assert!(
            !environment.variables.contains_key(*name),
            "{environment:?}"
        );
    }
    assert!(settings(&environment).is_empty(), "{environment:?}");
}

/// Open MPI's file of this name overrides variables, so its rules stay in force and change the default.
#[test]
fn rules_that_nothing_overrides_are_not_set_aside_under_openmpi() {
    if chosen_family() != LibraryName::OpenMpi {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("rules.conf"), "1\n7\n1\n2 1\n0 6 0 0\n").expect("written");
    let naming = format!(
        "coll_tuned_dynamic_rules_filename = {}\n",
        path("rules.conf").display()
    );
    let with_file = |text: &str| {
        std::fs::write(path("openmpi-mca-params-override.conf"), text).expect("written");
        told(&[("OPAL_SYSCONFDIR", folder.path().to_str().expect("a text"))])
    };
    let in_force = with_file(&format!("coll_tuned_use_dynamic_rules = 1\n{naming}"));
    assert!(in_force.set_aside.is_empty(), "{:?}", in_force.set_aside);
    let setting = format!(
        "coll_tuned_dynamic_rules_filename={}",
        path("rules.conf").display()
    );
    assert_eq!(settings(&in_force), [setting]);
    // Without the switch they have no effect, and forcing algorithms must not bring them into force.
    let dormant = with_file(&naming);
    assert!(settings(&dormant).is_empty() && dormant.set_aside.is_empty());
    // Components do not depend on the switch.
    let has_algorithms = |environment: &Environment| {
        let mut natives = environment.natives.iter();
        natives.any(|native| !native.id.starts_with(Candidate::COMPONENT))
    };
    assert!(!has_algorithms(&dormant), "{:?}", dormant.natives);
    assert!(has_algorithms(&with_file("")));
}

#[test]
fn settings_by_variables_are_recorded_as_mpi_reads_them() {
    let (variable, setting, value) = match chosen_family() {
        LibraryName::OpenMpi => ("OMPI_MCA_coll_tuned_priority", "coll_tuned_priority", "31"),
        LibraryName::Mpich | LibraryName::IntelMpi => (
            "MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE",
            "MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE",
            "31",
        ),
    };
    let environment = told(&[(variable, value)]);
    let found = environment.settings.as_ref().expect("settings");
    assert_eq!(found.get(setting).map(String::as_str), Some(value));
    assert_eq!(settings(&environment), [format!("{variable}={value}")]);
    let plain = told(&[]).settings.expect("settings");
    assert!(!plain.contains_key(setting), "{plain:?}");
    if chosen_family() == LibraryName::Mpich {
        assert!(plain.is_empty(), "{plain:?}");
    }
}
