//! The effects of settings, and of files of rules that settings name.

use std::collections::BTreeMap;

use libraries::{Effect, KnownSettings, LibraryName, NoEffect, RulesFileEffect, SettingRole};

const RULES: &str = "coll_tuned_dynamic_rules_filename";

fn library(name: &str) -> LibraryName {
    libraries::find_library(name).expect("known")
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// The control variables of Open MPI 4.1 that matter here, with their built-in values.
const OPEN_MPI: [(&str, &str); 10] = [
    ("coll", ""),
    ("coll_basic_priority", "10"),
    ("coll_han_bcast_segsize", "65536"),
    ("coll_han_dynamic_rules_filename", ""),
    ("coll_han_priority", "0"),
    ("coll_han_use_dynamic_file_rules", "false"),
    ("coll_tuned_alltoall_algorithm", "ignore"),
    (RULES, ""),
    ("coll_tuned_priority", "30"),
    ("coll_tuned_use_dynamic_rules", "false"),
];

const MPICH: [(&str, &str); 5] = [
    ("MPIR_CVAR_BCAST_DEVICE_COLLECTIVE", "1"),
    ("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "0"),
    ("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE", ""),
    ("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE", ""),
    ("MPIR_CVAR_DEVICE_COLLECTIVES", "2"),
];

/// The effect of the first of these variables, in a library whose control variables the others change, too.
fn effect(name: &str, built_in: &[(&str, &str)], variables: &[(&str, &str)]) -> Effect {
    let library = library(name);
    let variables = variables.iter();
    let given: Vec<(&str, &str)> = variables.copied().collect();
    let mut all = map(built_in);
    let mut changed = BTreeMap::new();
    for (variable, value) in &given {
        let setting = library.control_variable(variable);
        if let Some(old) = setting.as_ref().and_then(|setting| all.get_mut(setting))
            && old != value
        {
            *old = (*value).to_owned();
            changed.extend(setting.map(|setting| (setting, (*value).to_owned())));
        }
    }
    let known = KnownSettings {
        variables: &map(&given),
        all: Some(&all),
        changed: Some(&changed),
    };
    let (variable, value) = given[0];
    library.variable_effect(variable, value, &known)
}

fn open_mpi(variables: &[(&str, &str)]) -> Effect {
    let named: Vec<(String, &str)> = variables
        .iter()
        .map(|(name, value)| (format!("OMPI_MCA_{name}"), *value))
        .collect();
    let named: Vec<(&str, &str)> = named
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    effect("openmpi", &OPEN_MPI, &named)
}

#[track_caller]
fn resembles(effect: &Effect, expected: &[&str]) {
    let Effect::Nothing(NoEffect::NoSuchSetting { similar }) = effect else {
        panic!("{effect:?}");
    };
    assert_eq!(similar, expected);
}

#[test]
fn misspelt_settings_have_no_effect() {
    let switch = "coll_tuned_use_dynamic_rules";
    resembles(&open_mpi(&[("use_dynamic_rules", "1")]), &[switch]);
    resembles(
        &open_mpi(&[("coll_tuned_use_dynamic_rule", "1")]),
        &[switch],
    );
    resembles(
        &open_mpi(&[("coll_tuned_dynamic_rules_file", "/a")]),
        &[RULES],
    );
    let both = ["coll_han_dynamic_rules_filename", RULES];
    resembles(&open_mpi(&[("dynamic_rules_filename", "/a")]), &both);
    resembles(&open_mpi(&[("coll_hcoll_enable", "0")]), &[]);
    let settings = effect(
        "openmpi",
        &OPEN_MPI,
        &[("PRTE_MCA_coll_tuned_priority", "50")],
    );
    resembles(&settings, &["coll_tuned_priority"]);
    let unrelated = Effect::Nothing(NoEffect::Unrelated);
    assert_eq!(open_mpi(&[("orte_base_help_aggregate", "0")]), unrelated);
    let mpich = |name| effect("mpich", &MPICH, &[(name, "binomial")]);
    let bcast = "MPIR_CVAR_BCAST_INTRA_ALGORITHM";
    resembles(&mpich("MPIR_BCAST_INTRA_ALGORITHM"), &[bcast]);
    resembles(&mpich("MPIR_CVAR_BCAST_INTRA_ALGORITHMS"), &[bcast]);
    // Of Intel MPI, which derives from MPICH.
    assert_eq!(mpich("I_MPI_ADJUST_BCAST"), unrelated);
}

#[test]
fn settings_without_their_switch_have_no_effect() {
    let needs = |effect: Effect, setting: &str| match effect {
        Effect::Nothing(NoEffect::Unmet(needed)) => assert_eq!(needed.setting, setting),
        other => panic!("{other:?}"),
    };
    let switch = ("coll_tuned_use_dynamic_rules", "true");
    let (file, forced) = ((RULES, "/a"), ("coll_tuned_alltoall_algorithm", "pairwise"));
    for dormant in [file, forced] {
        needs(open_mpi(&[dormant]), switch.0);
        needs(open_mpi(&[dormant, (switch.0, "0")]), switch.0);
        assert_eq!(open_mpi(&[dormant, switch]), Effect::Steers);
        let enables = Effect::Enables(vec![dormant.0.to_owned()]);
        assert_eq!(open_mpi(&[switch, dormant]), enables);
    }
    assert_eq!(
        open_mpi(&[switch]),
        Effect::Nothing(NoEffect::NothingToEnable)
    );
    let (han_file, han_switch) = (
        ("coll_han_dynamic_rules_filename", "/a"),
        ("coll_han_use_dynamic_file_rules", "true"),
    );
    needs(open_mpi(&[han_file]), han_switch.0);
    let devices = "MPIR_CVAR_DEVICE_COLLECTIVES";
    let compositions = ("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE", "/a");
    assert_eq!(effect("mpich", &MPICH, &[compositions]), Effect::Steers);
    needs(
        effect("mpich", &MPICH, &[compositions, (devices, "none")]),
        devices,
    );
    let one = ("MPIR_CVAR_BCAST_DEVICE_COLLECTIVE", "0");
    assert_eq!(effect("mpich", &MPICH, &[one]), Effect::Steers);
    needs(effect("mpich", &MPICH, &[one, (devices, "all")]), devices);
}

#[test]
fn settings_of_a_component_without_collectives_have_no_effect() {
    let switch = ("coll_han_use_dynamic_file_rules", "true");
    let settings = [
        ("coll_han_dynamic_rules_filename", "/a"),
        ("coll_han_bcast_segsize", "1024"),
    ];
    for setting in settings {
        let idle = Effect::Nothing(NoEffect::Idle("han".to_owned()));
        assert_eq!(open_mpi(&[setting, switch]), idle);
        let serves = ("coll_han_priority", "35");
        assert_eq!(open_mpi(&[setting, switch, serves]), Effect::Steers);
        assert_eq!(open_mpi(&[setting, switch, serves, ("coll", "^han")]), idle);
    }
}

#[test]
fn built_in_values_have_no_effect() {
    let built_in = |value: &str| Effect::Nothing(NoEffect::BuiltIn(Some(value.to_owned())));
    assert_eq!(open_mpi(&[("coll_tuned_priority", "30")]), built_in("30"));
    let mpich = |variable, value| effect("mpich", &MPICH, &[(variable, value)]);
    let bcast = "MPIR_CVAR_BCAST_INTRA_ALGORITHM";
    assert_eq!(mpich(bcast, "0"), built_in("0"));
    assert_eq!(mpich(bcast, "1"), Effect::Steers);
    // Other names of the same variable.
    assert_eq!(mpich("MPICH_BCAST_INTRA_ALGORITHM", "1"), Effect::Steers);
    assert_eq!(
        mpich("MPIR_PARAM_BCAST_INTRA_ALGORITHM", "1"),
        Effect::Steers
    );
    assert_eq!(
        open_mpi(&[(RULES, ""), ("coll_tuned_use_dynamic_rules", "1")]),
        built_in("")
    );
}

#[test]
fn every_file_of_rules_is_known_by_each_of_its_names() {
    let names = [
        ("OMPI_MCA_coll_tuned_dynamic_rules_filename", true),
        ("OMPI_MCA_coll_han_dynamic_rules_filename", true),
        ("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE", true),
        ("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE", true),
        ("MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE", true),
        (
            "MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE_GPU",
            true,
        ),
        ("MPICH_CH4_COLL_SELECTION_TUNING_JSON_FILE", true),
        ("MPIR_PARAM_COLL_SELECTION_TUNING_JSON_FILE", true),
        ("MPIR_CVAR_COLL_SELECTION_JSON_FILE", true),
        ("MPIR_CVAR_BCAST_INTRA_ALGORITHM", false),
        ("OMPI_MCA_coll_tuned_use_dynamic_rules", false),
    ];
    for (name, expected) in names {
        let mut all = LibraryName::ALL.into_iter();
        assert_eq!(
            all.any(|library| library.names_rules(name)),
            expected,
            "{name}"
        );
    }
    for library in LibraryName::ALL {
        let exported = library.facts().rules_setting;
        assert!(library.rules_settings().any(|name| name == exported));
        for setting in library.rules_settings() {
            let listed = library.steering_setting(setting).expect("listed");
            assert_eq!(listed.role, SettingRole::Rules, "{setting}");
            assert!(library.names_rules(&library.environment_variable(setting)));
        }
    }
}

#[track_caller]
fn reads(version: &str, text: &str, fault: Option<&str>) {
    match (
        library("openmpi").rules_file(RULES, version, Ok(text)),
        fault,
    ) {
        (RulesFileEffect::Read(None), None) => {}
        (RulesFileEffect::Ignored(why), Some(fault)) => assert!(why.contains(fault), "{why}"),
        (found, _) => panic!("{version}: {found:?} for {text}"),
    }
}

const ROWS: &str = "1 # collective\n7 # bcast\n1 # size\n2 2\n0 6 0 0\n1024 1 0 0\n";

#[test]
fn open_mpi_ignores_files_with_an_error() {
    reads("4.1.4", ROWS, None);
    reads("4.1.4", &format!("# a comment 9\n{ROWS} 77"), None);
    reads("4.1.4", "", Some("empty"));
    reads(
        "4.1.4",
        "# nothing\n",
        Some("line 2: it ends where the number of collectives"),
    );
    reads(
        "4.1.4",
        "1 7 1 2 1 4 6 0 0",
        Some("the first message size is 4"),
    );
    reads(
        "4.1.4",
        "1\n7\n1\n2 2\n0 6 0 0\n1024 1 0",
        Some("line 6: it ends where a segment size"),
    );
    reads("4.1.4", "1 22", Some("there is no collective 22"));
    reads("4.1.4", "23", Some("23 collectives are more than 22"));
    reads("4.1.4", "1 7 1 2 1 0 -6 0 0", Some("an algorithm is -6"));
    // A leading 0 makes numbers octal: 08 is 0 and 8, and shifts what follows.
    reads("4.1.4", "1 7 1 2 1 0 6 0 010", None);
    reads("4.1.4", "08", None);
}

#[test]
fn the_second_version_needs_a_release_that_knows_it() {
    let second = "rule-file-version-2\n1\n3\n1\n4 2\n0 0 0 0\n512 4 0 0 64\n";
    for version in ["4.1.8", "5.0.7", "5.1.0"] {
        reads(version, second, None);
        reads(version, ROWS, None);
    }
    for version in ["4.0.7", "4.1.4", "4.1.7", "5.0.6"] {
        reads(
            version,
            second,
            Some("this release does not know its first line"),
        );
    }
    // The header must be the very first text.
    reads(
        "5.0.8",
        &format!("# a comment\n{second}"),
        Some("the number of collectives is -2"),
    );
}

#[test]
fn open_mpi_says_nothing_about_files_that_are_not_there() {
    for setting in [RULES, "coll_han_dynamic_rules_filename"] {
        let found = library("openmpi").rules_file(setting, "4.1.4", Err("No such file"));
        assert!(matches!(found, RulesFileEffect::Ignored(why) if why.contains("No such file")));
    }
}

#[test]
fn mpich_ends_programs_over_faulty_files() {
    let layers = ["", "CH4_", "CH4_POSIX_"];
    let setting = layers.map(|layer| format!("MPIR_CVAR_{layer}COLL_SELECTION_TUNING_JSON_FILE"));
    let check = |layer: usize, text: Result<&str, &str>, fault: &str| match library("mpich")
        .rules_file(&setting[layer], "4.0.2", text)
    {
        RulesFileEffect::EndsPrograms(why) => assert!(why.contains(fault), "{why}"),
        RulesFileEffect::Read(_) => assert_eq!(fault, ""),
        found => panic!("{found:?}"),
    };
    for layer in [0, 1] {
        check(layer, Err("No such file"), "No such file");
        check(layer, Ok(""), "not JSON");
        check(layer, Ok("nonsense"), "not JSON");
        check(layer, Ok("[]"), "no object");
    }
    check(0, Ok("{}"), "no entry for bcast");
    check(1, Ok("{}"), "");
    check(2, Err("No such file"), "");
    let names = schedule::Collective::ALL;
    let rows = names.map(|of| {
        format!(
            "\"collective = {}\": {{\"algorithm=MPIR_A\": {{}}}}",
            of.name()
        )
    });
    let complete = format!("{{\"comm_type=intra\": {{{}}}}}", rows.join(", "));
    check(0, Ok(&complete), "");
}
