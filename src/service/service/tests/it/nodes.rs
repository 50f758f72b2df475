//! Nodes' requests for tables, and the record of their pulls.

use std::time::Duration;

use service::{ChannelKey, ReleaseAction, ReleaseChannel, ServiceError};

use crate::bed::{Bed, MACHINE, choosing, production};

#[test]
fn nodes_keep_tables_that_running_jobs_may_use() {
    let bed = Bed::new();
    let [a, b, c] = ["chain", "pipeline", "binary"].map(|a| bed.validated(&choosing(a)));
    let keep = |asked_bed: &Bed| {
        asked_bed
            .service()
            .channel_manifest(&production())
            .expect("a manifest")
            .keep
    };
    let on_disk = |asked_bed: &Bed| -> Vec<String> {
        let versions = export::deploy::list_all_versions(&asked_bed.channel())
            .expect("versions")
            .into_iter();
        let digest = |version: export::deploy::DeployedVersion| {
            std::fs::read_to_string(version.folder.join("digest")).expect("readable")
        };
        let mut digests: Vec<_> = versions.map(|v| digest(v).trim_end().to_owned()).collect();
        digests.sort();
        digests
    };
    let sorted = |digests: &[&service::Digest]| {
        let mut digests: Vec<_> = digests.iter().map(|digest| digest.to_string()).collect();
        digests.sort();
        digests
    };
    for digest in [&a, &b, &c] {
        bed.release(digest).expect("released");
    }
    assert_eq!(keep(&bed), [c.clone(), b.clone(), a.clone()]);
    bed.act(ReleaseAction::Rollback, None, None)
        .expect("rolled back");
    assert_eq!(keep(&bed), [b.clone(), c.clone(), a.clone()]);
    let bed = bed.restarted();
    assert_eq!(keep(&bed), [b.clone(), c.clone(), a.clone()]);
    assert_eq!(on_disk(&bed), sorted(&[&a, &b, &c]));

    // If no job runs longer than a second, earlier tables are unused after two.
    let mut bed = bed.restarted_with(|new| new.longest_wall_time = Duration::from_secs(1));
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(keep(&bed), std::slice::from_ref(&b));
    bed.release(&a).expect("released");
    assert_eq!(keep(&bed)[0], a);
    assert!(!on_disk(&bed).contains(&c.to_string()));
    assert!(on_disk(&bed).contains(&a.to_string()));
    std::thread::sleep(Duration::from_millis(2100));
    bed = bed.restarted();
    assert_eq!(on_disk(&bed), sorted(&[&a]));
}

/// As when the system's clock is set ahead by a year after a release, or was a year behind when it was made.
#[test]
fn tables_in_use_are_kept_if_the_clock_is_set() {
    let mut bed = Bed::new();
    let [a, b] = ["chain", "pipeline"].map(|algorithm| bed.validated(&choosing(algorithm)));
    bed.release(&a).expect("released");
    bed.release(&b).expect("released");
    let kept = [b.clone(), a.clone()];
    let database = bed.database();
    let of_triggers = "SELECT sql FROM sqlite_schema WHERE name = 'release_is_final'";
    let trigger: String = database
        .query_row(of_triggers, [], |row| row.get(0))
        .expect("a trigger");
    let year = 365 * 86_400_000_i64;
    let date = bed.channel().join("history");
    let lines = std::fs::read_to_string(&date).expect("a history");
    for (change, distance) in [("-", year), ("+", 2 * year)] {
        let moved = format!(
            "DROP TRIGGER release_is_final; UPDATE release SET at = at {change} {distance}; {trigger}"
        );
        database.execute_batch(&moved).expect("changed");
        std::fs::write(&date, lines.replace("20", "19")).expect("written");
        bed = bed.restarted();
        let manifest = bed
            .service()
            .channel_manifest(&production())
            .expect("a manifest");
        assert_eq!(manifest.keep, kept, "{change}");
        let versions = export::deploy::list_all_versions(&bed.channel()).expect("versions");
        assert_eq!(versions.len(), 2, "{change}");
    }
    // A release prunes as well.
    let c = bed.validated(&choosing("binary"));
    bed.release(&c).expect("released");
    let manifest = bed
        .service()
        .channel_manifest(&production())
        .expect("a manifest");
    assert_eq!(manifest.keep, [c, b, a]);
}

#[test]
fn pulls_are_recorded() {
    let bed = Bed::new();
    let [a, b] = ["chain", "pipeline"].map(|algorithm| bed.validated(&choosing(algorithm)));
    let note = |client: &str, digest| bed.service().note_pull(&production(), client, digest);
    note("n1", &a).expect("noted");
    note("n2", &a).expect("noted");
    note("n2", &a).expect("noted");
    note("n1", &b).expect("noted");
    let mut found: Vec<_> = bed
        .service()
        .list_pulls(&production())
        .expect("pulls")
        .into_iter()
        .map(|pull| (pull.client, pull.digest))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [("n1".to_owned(), b.clone()), ("n2".to_owned(), a.clone())]
    );
    for client in ["", "a\nb", &"x".repeat(256)] {
        let error = note(client, &a).expect_err("refused");
        assert!(
            matches!(
                error,
                ServiceError::Invalid {
                    field: "client",
                    ..
                }
            ),
            "{error}"
        );
    }
    let elsewhere = ChannelKey {
        channel: ReleaseChannel::Canary,
        ..production()
    };
    assert!(
        bed.service()
            .list_pulls(&elsewhere)
            .expect("pulls")
            .is_empty()
    );
    assert_eq!(elsewhere.machine, MACHINE);
}
