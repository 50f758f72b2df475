//! Campaigns that an older version of colltune began.

use std::fs;

use campaign::{Campaign, DefaultsVersion};
use store::Store;
use tempfile::TempDir;
use tuner::{MeasurementContext, SearchPaths, with_recorded_defaults};
use vocabulary::{Through, Warning};

/// A campaign that leaves out what takes part, on a simulated machine.
fn text(name: &str, folder: &TempDir, further: &str) -> String {
    format!(
        "name: {name}\nlauncher: simulated\nshapes: 2x4\ncollectives: bcast\nsizes: 64K\n\
         output: {{store: '{}'}}\n{further}",
        folder.path().join("natural.db").display()
    )
}

fn campaign(name: &str, folder: &TempDir, further: &str) -> Campaign {
    Campaign::parse(&text(name, folder, further), "a.yaml".as_ref()).expect("valid")
}

fn natural(folder: &TempDir) -> Campaign {
    campaign("natural", folder, "")
}

/// Records a campaign in its store as the older version did.
fn record(campaign: &Campaign) -> Campaign {
    let earlier = campaign.clone().with_defaults(DefaultsVersion::V2);
    let mut store = Store::open_or_create(&campaign.output.store).expect("a store");
    let digest = earlier.digest();
    let recorded = store.record_campaign(&digest, &campaign.name, campaign.text());
    recorded.expect("recorded");
    earlier
}

/// The campaign as its store has recorded it.
fn recorded(campaign: &Campaign) -> Campaign {
    with_recorded_defaults(campaign.clone(), &campaign.output.store).expect("a readable store")
}

fn knows_nodes(campaign: &Campaign) -> bool {
    let mut families = campaign.families(&campaign.cells()[0]).into_iter();
    families.any(|family| family.algorithm.knows_nodes())
}

#[track_caller]
fn assert_is_new(campaign: &Campaign) {
    assert_eq!(campaign.transports(), [Through::Mpi, Through::Shared]);
    assert!(campaign.selection.selects_natives() && knows_nodes(campaign));
}

#[track_caller]
fn assert_is_old(campaign: &Campaign) {
    assert_eq!(campaign.transports(), [Through::Mpi]);
    assert!(!campaign.selection.selects_natives() && !knows_nodes(campaign));
}

#[test]
fn a_campaign_keeps_the_candidates_with_which_its_store_began() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = natural(&folder);
    assert_is_new(&recorded(&file));

    let earlier = record(&file);
    assert_eq!(recorded(&file).digest(), earlier.digest());
    assert_is_old(&recorded(&file));
    // A larger budget, as messages advise, does not add candidates.
    assert_is_old(&recorded(&campaign("natural", &folder, "budget: 1h\n")));

    // A campaign of another name is another one.
    assert_is_new(&recorded(&campaign("other", &folder, "")));
    // So is one that was measured with the new defaults since.
    let mut store = Store::open(&file.output.store).expect("a store");
    let added = store.record_campaign(&file.digest(), "natural", file.text());
    added.expect("recorded");
    assert_is_new(&recorded(&file));
}

#[test]
fn a_store_elsewhere_is_recognised_by_the_files_of_its_launches() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = natural(&folder);
    let earlier = file.clone().with_defaults(DefaultsVersion::V2);
    let launches = folder.path().join("natural.db.launches");
    fs::create_dir(&launches).expect("created");
    let record = launches.join(format!("{}.campaign.yaml", earlier.digest()));
    fs::write(record, file.text()).expect("written");
    let store = folder.path().join("elsewhere.db");
    let continued = with_recorded_defaults(file, &store).expect("no store");
    assert_eq!(continued.digest(), earlier.digest());
}

#[test]
fn a_store_that_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = natural(&folder);
    let store = file.output.store.clone();
    fs::write(&store, "no database, but long enough to be one").expect("written");
    assert!(with_recorded_defaults(file, &store).is_err());
}

#[test]
fn a_warning_says_which_candidates_an_older_store_leaves_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.yaml");
    let warns = |further: &str| {
        fs::write(&file, text("natural", &folder, further)).expect("written");
        let at = MeasurementContext::from_campaign_file(&file, None, &SearchPaths::default());
        at.expect("ready")
            .warnings
            .contains(&Warning::OlderDefaults)
    };
    assert!(!warns(""));
    record(&natural(&folder));
    assert!(warns(""));
    // A campaign that names its candidates has the same ones in both versions.
    assert!(!warns(
        "candidates: bcast/chain\nparameters: {through: mpi}\n"
    ));
}
