//! `check`, `validate` and `tune` on real MPI where rules are deployed for every job of the site.

use std::fs;

use schedule::Collective;
use store::Store;
use table::{Confidence, Rule};
use vocabulary::{Candidate, Pattern, Subject};

use crate::guarded_mpi::{CAMPAIGN, TABLE, native, set_rules};
use crate::mpi::{assert_no_process_left, command, place_with, wait};
use crate::run::{Place, Ran, driver_of};

/// A classic file of rules: every broadcast of 1000 bytes and more goes through a pipeline of 256 bytes.
const PIPELINE: &str = "1\n7\n1\n0\n2\n0 0 0 0\n1000 3 0 256\n";

/// A place in which a library is measured under the settings of a site.
struct Site {
    place: Place,
    variables: Vec<(String, String)>,
    /// The note that names the overridden settings.
    told: String,
}

impl Site {
    fn run(&self, args: &[&str]) -> Ran {
        let mut command = command(&self.place, args);
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        let ran = wait(&self.place, command.spawn().unwrap());
        let note = format!("note: {} and is overridden for measuring\n", self.told);
        assert_eq!(ran.err.matches(&note).count(), 1, "no `{note}`: {ran:?}");
        ran
    }

    /// Measures the campaign, and writes a table with only these rules for every deployment.
    fn tune(&self, collective: Collective, rules: Vec<Rule>) {
        let tuned = self.run(&["tune", "campaign.yaml", "--json"]);
        assert_eq!(tuned.code, Some(0), "{tuned:?}");
        let library = serde_json::from_value(tuned.json()["library"].clone()).unwrap();
        let store = Store::open(&self.place.path(".colltune/real.db")).unwrap();
        let counts = store.launch_counts(&library, Pattern::Together).unwrap();
        let is_native = |((subject, candidate), _): &((Subject, Candidate), u32)| {
            matches!(subject, Subject::Cell(_)) && matches!(candidate, Candidate::Native { .. })
        };
        let natives = counts.into_iter().filter(is_native).count();
        assert!(natives > 3, "{natives} natives were measured");
        set_rules(&self.place, collective, rules);
    }

    /// The speed-up that `validate` finds for the exported table at a size; `None` if no two launches can be compared.
    fn speedup(&self, bytes: u64) -> Option<f64> {
        let ran = self.run(&[
            "validate",
            TABLE,
            "--deployment",
            "library",
            "--launches",
            "4",
            "--probes",
            "0",
            "--json",
        ]);
        let found = ran.json();
        assert_eq!(found["via"], "export");
        let points = found["points"].as_array().unwrap();
        let point = points.iter().find(|point| point["bytes"] == bytes);
        let point = point.unwrap_or_else(|| panic!("{found}"));
        point["speedup"].as_f64()
    }

    /// `check` finds nothing wrong, with tolerances that leave only failures to find.
    fn assert_holds(&self) {
        let ran = self.run(&[
            "check",
            TABLE,
            "--deployment",
            "library",
            "--tolerance",
            "99",
            "--materiality",
            "99",
            "--probes",
            "0",
        ]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

/// The rules of [`PIPELINE`] as rules of a table. They are slow, so that a measured speed-up shows whether they are
/// active.
fn pipelined() -> Vec<Rule> {
    vec![
        Rule::new(0, Candidate::Default, None, Confidence::High),
        native(1000, "bcast/pipeline", Some(256)),
    ]
}

fn openmpi() -> Option<Place> {
    let place = place_with("openmpi", &format!("collectives: bcast\n{CAMPAIGN}"))?;
    place.write("rules.conf", PIPELINE);
    Some(place)
}

#[test]
fn rules_that_variables_deploy_are_not_measured_under_openmpi() {
    let Some(place) = openmpi() else { return };
    let rules = place.path("rules.conf").display().to_string();
    let name = "OMPI_MCA_coll_tuned_dynamic_rules_filename";
    let site = Site {
        variables: vec![
            ("OMPI_MCA_coll_tuned_use_dynamic_rules".into(), "1".into()),
            (name.into(), rules),
        ],
        told: format!("{name}=DIR/rules.conf is set in the environment"),
        place,
    };
    site.tune(Collective::Bcast, pipelined());
    site.assert_holds();
    assert_no_process_left(&site.place);
}

#[test]
fn rules_that_a_file_of_settings_deploys_are_not_measured_under_openmpi() {
    let Some(place) = openmpi() else { return };
    let rules = place.path("rules.conf");
    let name = "coll_tuned_dynamic_rules_filename";
    let settings = format!(
        "coll_tuned_use_dynamic_rules = 1\n{name} = {}\n",
        rules.display()
    );
    place.write("home/.openmpi/mca-params.conf", settings);
    let site = Site {
        variables: vec![("HOME".into(), place.path("home").display().to_string())],
        told: format!("{name}=DIR/rules.conf is set in DIR/home/.openmpi/mca-params.conf"),
        place,
    };
    site.tune(Collective::Bcast, pipelined());
    // Without the deployed rules the default is several times as fast.
    let speedup = site.speedup(1 << 20);
    assert!(speedup.is_some_and(|speedup| speedup < 0.8), "{speedup:?}");
    assert_no_process_left(&site.place);
}

#[test]
fn a_deployed_selection_file_is_not_measured_under_mpich() {
    let Some(place) = place_with("mpich", &format!("collectives: allreduce\n{CAMPAIGN}")) else {
        return;
    };
    // MPICH's default first chooses a composition, which doubles the time of 64 bytes.
    let rules = vec![native(0, "allreduce/recursive_doubling", None)];
    let mut site = Site {
        variables: Vec::new(),
        told: String::new(),
        place,
    };
    let tuned = wait(
        &site.place,
        command(&site.place, &["tune", "campaign.yaml", "--quiet"])
            .spawn()
            .unwrap(),
    );
    assert_eq!(tuned.code, Some(0), "{tuned:?}");
    let table = set_rules(&site.place, Collective::Allreduce, rules.clone());
    let format = export::format_read_by(&table.provenance.library).unwrap();
    let search = std::env::var_os("PATH").unwrap_or_default();
    let options = export::Options {
        library: format.find_installed(&table.provenance.library.version, &search),
        ..export::Options::default()
    };
    let exported = format.render(&table, &options).unwrap();
    let file = site.place.path("selection.json");
    fs::write(&file, &exported.text).unwrap();
    for (name, value) in exported.job_environment(&file) {
        let text = |word: std::ffi::OsString| word.into_string().unwrap();
        site.variables.push((text(name), text(value)));
    }
    let others = [
        "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE",
        "MPIR_CVAR_DEVICE_COLLECTIVES",
    ];
    for name in others {
        assert!(site.variables.iter().any(|(set, _)| set == name), "{name}");
    }
    fs::remove_dir_all(site.place.path(".colltune")).unwrap();
    site.told =
        "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=DIR/selection.json is set in the environment"
            .to_owned();
    site.tune(Collective::Allreduce, rules);
    // Times differ between launches, and on a busy machine so does the number of calls that are timed together. One of
    // three attempts must show it.
    let mut seen = Vec::new();
    let mut is_faster = || {
        seen.push(site.speedup(64));
        seen[seen.len() - 1].is_some_and(|speedup| speedup > 1.15)
    };
    let is_faster = (0..3).any(|_| is_faster());
    assert!(is_faster, "{seen:?}");
    site.assert_holds();
    assert_no_process_left(&site.place);
}

/// The library that a site preloads into every program is not loaded into the programs that measure.
#[test]
fn a_preloaded_table_is_not_measured_under_openmpi() {
    let Some(place) = place_with("openmpi", &format!("collectives: bcast\n{CAMPAIGN}")) else {
        return;
    };
    let Some(driver) = driver_of("openmpi") else {
        return;
    };
    let library = driver.join("libcolltune.so");
    assert!(
        library.is_file(),
        "{} is built with the driver",
        library.display()
    );
    // A program that loads it warns that it cannot read the table.
    place.write("table.yaml", "not a table");
    let table = place.path("table.yaml").display().to_string();
    let site = Site {
        variables: vec![
            ("LD_PRELOAD".into(), library.display().to_string()),
            ("COLLTUNE_TABLE".into(), table),
        ],
        told: "COLLTUNE_TABLE=DIR/table.yaml is set in the environment".to_owned(),
        place,
    };
    site.tune(Collective::Bcast, pipelined());
    let log = site.place.read(".colltune/real.db.launches/0001.log");
    assert!(!log.contains("the library's own"), "{log}");
}
