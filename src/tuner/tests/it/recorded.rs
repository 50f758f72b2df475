//! Campaigns that an older version of colltune began.

use std::fs;

use campaign::{Campaign, DefaultsVersion};
use store::Store;
use tempfile::TempDir;
use tuner::{MeasurementContext, SearchPaths, as_recorded};
use vocabulary::{Through, Warning};

/// A campaign that leaves out what takes part, on a simulated machine that has all levels.
fn natural(folder: &TempDir, further: &str) -> Campaign {
    let text = format!(
        "name: natural\nlauncher: simulated\nshapes: 2x4\ncollectives: bcast\nsizes: 64K\n\
         output: {{store: '{}'}}\n{further}",
        folder.path().join("natural.db").display()
    );
    Campaign::parse(&text, "natural.yaml".as_ref()).expect("valid")
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

fn knows_nodes(campaign: &Campaign) -> bool {
    let mut families = campaign.families(&campaign.cells()[0]).into_iter();
    families.any(|family| family.algorithm.knows_nodes())
}

#[test]
fn a_campaign_keeps_the_candidates_with_which_its_store_began() {
    let folder = tempfile::tempdir().expect("a folder");
    let campaign = natural(&folder, "");
    let store = campaign.output.store.clone();
    let is_new = |campaign: &Campaign| {
        assert_eq!(campaign.transports(), [Through::Mpi, Through::Shared]);
        assert!(campaign.selection.selects_natives() && knows_nodes(campaign));
    };
    is_new(&as_recorded(campaign.clone(), &store));

    let earlier = record(&campaign);
    let continued = as_recorded(campaign.clone(), &store);
    assert_eq!(continued.digest(), earlier.digest());
    assert_eq!(continued.transports(), [Through::Mpi]);
    assert!(!continued.selection.selects_natives() && !knows_nodes(&continued));

    // Another campaign in the same store is not an earlier one.
    is_new(&as_recorded(natural(&folder, "budget: 1h\n"), &store));
    // Nor is one that has since been measured with the new defaults.
    let mut opened = Store::open(&store).expect("a store");
    let recorded = opened.record_campaign(&campaign.digest(), "natural", campaign.text());
    recorded.expect("recorded");
    is_new(&as_recorded(campaign, &store));
}

#[test]
fn a_store_elsewhere_is_recognised_by_the_files_of_its_launches() {
    let folder = tempfile::tempdir().expect("a folder");
    let campaign = natural(&folder, "");
    let earlier = campaign.clone().with_defaults(DefaultsVersion::V2);
    let launches = folder.path().join("natural.db.launches");
    fs::create_dir(&launches).expect("created");
    let file = launches.join(format!("{}.campaign.yaml", earlier.digest()));
    fs::write(file, campaign.text()).expect("written");
    let store = folder.path().join("elsewhere.db");
    assert_eq!(as_recorded(campaign, &store).digest(), earlier.digest());
}

#[test]
fn a_warning_says_which_candidates_an_older_store_leaves_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let warns = |campaign: &Campaign| {
        let at = MeasurementContext::of(campaign.clone(), None, &SearchPaths::default());
        at.expect("ready")
            .warnings
            .contains(&Warning::OlderDefaults)
    };
    let campaign = natural(&folder, "");
    assert!(!warns(&campaign));
    record(&campaign);
    assert!(warns(&campaign));

    // A campaign that names its candidates has the same ones in both versions.
    let named = natural(
        &folder,
        "candidates: bcast/chain\nparameters: {through: mpi}\n",
    );
    record(&named);
    assert!(!warns(&named));
}
