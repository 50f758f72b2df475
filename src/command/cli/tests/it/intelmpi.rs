//! A campaign with Intel MPI, whose presets are forced in launches of their own.

use std::collections::BTreeSet;

use store::Store;
use vocabulary::{Candidate, Library, Pattern};

use crate::cluster::Cluster;
use crate::exports::launch;
use crate::mpi::{command, place_with, wait};
use crate::run::{Place, Ran};

const CAMPAIGN: &str = "
collectives: [bcast]
shapes: [1x2]
sizes: [64, 64K]
candidates: {include: [bcast/binomial, 'native:bcast/preset_1', 'native:bcast/preset_3']}
parameters: {through: mpi}
strategy: exhaustive
confirmation: off
repetitions: {minimum: 10, maximum: 100, slice: 10ms}
launches: 2
";

/// Tunes with Intel MPI first on the path.
fn tune(place: &Place, mpi: &launch::Library) -> Ran {
    let mut folders = vec![mpi.mpirun.parent().unwrap().to_owned()];
    folders.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let mut tune = command(place, &["tune", "campaign.yaml", "--json"]);
    tune.env("PATH", std::env::join_paths(folders).unwrap());
    tune.stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    wait(place, tune.spawn().unwrap())
}

#[test]
fn presets_are_measured_in_the_launches_of_the_default() {
    let (Some(place), Some(mpi)) = (
        place_with("intelmpi", CAMPAIGN),
        launch::Library::intel_with_driver(),
    ) else {
        return;
    };
    let ran = tune(&place, &mpi);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let outcome = ran.json();
    assert_eq!(outcome["done"], outcome["total"], "{}", ran.err);
    let library: Library = serde_json::from_value(outcome["library"].clone()).unwrap();
    assert_eq!(library.name, "intelmpi");

    let store = Store::open(&place.path(".colltune/real.db")).unwrap();
    assert!(store.failures(&library).unwrap().is_empty(), "{}", ran.err);
    let samples = store.samples(&library, Pattern::Together).unwrap();
    let names: BTreeSet<String> = samples.iter().map(|s| s.candidate.to_string()).collect();
    let all = [
        "bcast/binomial",
        "default",
        "native:bcast/preset_1",
        "native:bcast/preset_3",
    ];
    assert_eq!(names, BTreeSet::from(all.map(str::to_owned)));
    // Times of one launch are compared, so they are of equally many calls.
    for sample in &samples {
        let default = samples.iter().find(|other| {
            other.launch == sample.launch
                && other.subject == sample.subject
                && other.candidate == Candidate::Default
        });
        assert_eq!(default.map(|default| default.batch), Some(sample.batch));
    }
    // Every candidate was measured at both sizes in both launches; the others are experiments on the machine.
    let measured: BTreeSet<_> = samples
        .iter()
        .filter_map(|sample| {
            let cell = sample.subject.cell()?;
            Some((sample.launch, cell.bytes, sample.candidate.to_string()))
        })
        .collect();
    assert_eq!(measured.len(), 2 * 2 * all.len());
}

/// Its launcher starts ranks on other hosts with the variables of the campaign, and the hosts are different nodes.
#[test]
fn presets_are_measured_on_several_hosts_under_intelmpi() {
    let Some(mpi) = launch::Library::intel_with_driver() else {
        return;
    };
    let Some(cluster) = Cluster::up() else { return };
    let campaign = CAMPAIGN
        .replace("[1x2]", "[2x1, 2x2]")
        .replace("[64, 64K]", "[64]")
        .replace(", 'native:bcast/preset_3'", "")
        .replace("launches: 2", "launches: 1");
    let Some(place) = place_with("intelmpi", &(cluster.intelmpi_launcher() + &campaign)) else {
        return;
    };
    let ran = tune(&place, &mpi);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let outcome = ran.json();
    assert_eq!(outcome["failures"], 0, "{outcome} {}", ran.err);
    let library: Library = serde_json::from_value(outcome["library"].clone()).unwrap();
    let store = Store::open(&place.path(".colltune/real.db")).unwrap();
    let samples = store.samples(&library, Pattern::Together).unwrap();
    let measured: BTreeSet<(String, String)> = samples
        .iter()
        .filter_map(|sample| {
            let cell = sample.subject.cell()?;
            Some((cell.shape.to_string(), sample.candidate.to_string()))
        })
        .collect();
    let all = ["bcast/binomial", "default", "native:bcast/preset_1"];
    let expected = ["2x1", "2x2"].into_iter().flat_map(|shape| {
        let of_shape = all.iter();
        of_shape.map(move |candidate| (shape.to_owned(), (*candidate).to_owned()))
    });
    assert_eq!(measured, expected.collect());
    let report = place.read("reports/real.md");
    assert!(report.contains("nodes are one machine, whose"), "{report}");
}
