//! What all series of a machine show together: over the interface, and on the page of trends.

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use service::Scope;

use crate::fixture::Site;
use crate::pages_bed::add_trend;

/// Milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
const FIRST_NIGHT: i64 = 1_764_500_000_000;

/// Adds a machine's series with a point each night, of a task of its own, in the machine's newest epoch. The times are
/// those of the choice and the default in seconds.
fn add_nights(database: &Connection, machine: i64, nights: impl Iterator<Item = [f64; 2]>) {
    let newest_epoch = "INSERT INTO measured_epoch SELECT machine, 'openmpi', max(id) FROM epoch WHERE machine = ?1";
    database.execute(newest_epoch, [machine]).unwrap();
    for (night, [seconds, default_seconds]) in (0..).zip(nights) {
        let task = "INSERT INTO task (kind, machine, request, state, reason, actor, submitted_at) \
                    VALUES ('check', ?1, '{}', 'done', '', 'me', 0)";
        database.execute(task, [machine]).unwrap();
        let point = "INSERT INTO point SELECT (SELECT max(id) FROM series WHERE machine = ?1), epoch, ?2, ?3, ?4, ?5, 0 \
                     FROM measured_epoch WHERE machine = ?1";
        let at = FIRST_NIGHT + night * DAY;
        let measured = params![
            machine,
            database.last_insert_rowid(),
            at,
            seconds,
            default_seconds
        ];
        database.execute(point, measured).unwrap();
    }
}

/// A machine that becomes slower in the last seven of fifty nights, and one that does not.
fn site_with_levels() -> Site {
    let site = Site::of_two_machines(|configuration| configuration.open_reading = false);
    let database = Connection::open(site.folder().join("service/service.db")).unwrap();
    database
        .execute(
            "INSERT INTO task (kind, machine, request, state, reason, actor, submitted_at) \
             VALUES ('check', 1, '{}', 'done', '', 'me', 0)",
            [],
        )
        .unwrap();
    add_trend(&database, "local", "bcast/chain");
    add_trend(&database, "other", "bcast/binary");
    let nights = (0..50).map(|night| match night {
        // More than 35 nights ago: not read.
        0..15 => [700.0, 10.0],
        15..43 => [1.0, 2.0],
        _ => [2.0, 3.0],
    });
    add_nights(&database, 1, nights);
    add_nights(&database, 2, std::iter::repeat_n([1.0, 2.0], 3));
    site
}

fn levels(site: &Site, bearer: &str, query: &str) -> Value {
    let asked = format!("GET /api/v1/levels{query}");
    site.send(&asked, &[bearer], "").expect(200).json()
}

fn assert_near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found / expected - 1.0).abs() < 1e-12, "{found}");
}

#[test]
fn the_last_week_is_compared_with_the_nights_before_it() {
    let site = site_with_levels();
    let bearer = site.bearer();
    let both = levels(&site, &bearer, "");
    let [local, other] = &both.as_array().unwrap()[..] else {
        panic!("{both}");
    };
    assert_eq!(
        (&local["machine"], &local["epoch"]),
        (&json!("local"), &json!(2))
    );
    assert_eq!(local["library"], "openmpi-4.1.5");
    assert_eq!(
        (&local["series"], &local["points"]),
        (&json!(1), &json!(35))
    );
    assert_eq!(local["compared_series"], 1);
    assert_near(&local["default_factor"], 1.5);
    assert_near(&local["ratio_factor"], 4.0 / 3.0);
    // The last night.
    assert_eq!(local["newest_at"], "2026-01-18T10:53:20Z");
    assert_eq!(
        (&other["machine"], &other["points"]),
        (&json!("other"), &json!(4))
    );
    assert_eq!(
        (&other["compared_series"], &other["default_factor"]),
        (&json!(0), &Value::Null)
    );
    assert_eq!(levels(&site, &bearer, "?machine=other"), json!([other]));
    assert_eq!(levels(&site, &bearer, "?machine=none"), json!([]));
    let unknown = site.send("GET /api/v1/levels?unknown=1", &[&bearer], "");
    unknown.expect(400);
}

#[test]
fn readers_of_a_machine_see_its_level_alone() {
    let site = site_with_levels();
    // What is kept in memory for others is hidden, too.
    assert_eq!(
        levels(&site, &site.bearer(), "").as_array().unwrap().len(),
        2
    );
    let token = site.token(&[Scope::Read], &["other"]);
    let seen = levels(&site, &format!("Authorization: Bearer {token}"), "");
    assert_eq!(seen.as_array().unwrap().len(), 1, "{seen}");
    assert_eq!(seen[0]["machine"], "other");
    site.send("GET /api/v1/levels", &[], "").expect(401);
}

#[test]
fn the_page_of_trends_begins_with_the_levels() {
    let site = site_with_levels();
    let page = |path: &str| {
        let bearer = site.bearer();
        site.send(&format!("GET {path}"), &[&bearer], "")
            .expect(200)
            .body
    };
    let newest = page("/trends");
    for shown in ["+50.0 %", "+33.3 %", "1 of 1", "too few points", "0 of 1"] {
        assert!(newest.contains(shown), "{shown}: {newest}");
    }
    assert!(
        newest.find("+50.0 %") < newest.find("/trends/1"),
        "{newest}"
    );
    let of_other = page("/trends?machine=other");
    assert!(!of_other.contains("+50.0 %"), "{of_other}");
    assert!(!page("/trends?before=2").contains("+50.0 %"));
}
