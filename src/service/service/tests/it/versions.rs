//! Versions of tables.

use std::fs;

use service::{Scope, ServiceError, ServiceMachine, Slice, Version};

use crate::bed::{Bed, MACHINE, actor, choosing, publisher, table};

fn all(bed: &Bed) -> Vec<Version> {
    let page = bed.service().list_versions(None, None, Slice::default());
    page.expect("versions").items
}

#[test]
fn a_table_is_stored_once_and_has_a_parent() {
    let bed = Bed::new();
    let first = bed.added(&choosing("chain"));
    let second = bed.added(&choosing("pipeline"));
    bed.added(&table("other", "chain", "confirmed: true"));
    bed.added(&choosing("chain"));
    let versions = all(&bed);
    let found: Vec<(&str, Option<_>)> = versions
        .iter()
        .map(|version| (&*version.name, version.parent.as_ref()))
        .collect();
    assert_eq!(
        found,
        [("other", None), ("night", Some(&first)), ("night", None)]
    );
    assert_eq!(versions[1].digest, second);
    assert_eq!(
        (&*versions[1].machine, &*versions[1].library),
        (MACHINE, "openmpi-4.1.4")
    );
    let slice = Slice {
        before: Some(versions[0].id),
        limit: Some(1),
    };
    let page = bed
        .service()
        .list_versions(Some(MACHINE), None, slice)
        .expect("versions");
    assert_eq!(page.items, versions[1..2]);
    assert_eq!(page.next, Some(versions[1].id));
    let none = bed
        .service()
        .list_versions(Some("other"), None, Slice::default());
    assert!(none.expect("versions").items.is_empty());
}

#[test]
fn texts_that_are_no_tables_are_refused() {
    let bed = Bed::new();
    let good = choosing("chain");
    let refused = |text: &str| {
        let error = bed.service().add_table(&publisher(), MACHINE, text);
        error.expect_err("refused")
    };
    let error = refused("format: colltune-table 2\nname: x\n");
    assert!(matches!(error, ServiceError::Table(_)), "{error}");
    let unknown_candidate = refused(&good.replace("native:bcast/chain", "bcast/none"));
    assert!(
        unknown_candidate.to_string().contains("table.yaml"),
        "{unknown_candidate}"
    );
    // The library becomes the name of a folder.
    for name in ["../x", "x/y", "..", "x y"] {
        let invalid_name = refused(
            &good
                .replace("name: openmpi", &format!("name: {name}"))
                .replace("native:bcast/chain", "default")
                .replace(
                    "speedup: 2.0, confidence: high, confirmed: true",
                    "confidence: high",
                ),
        );
        assert!(
            matches!(
                invalid_name,
                ServiceError::Invalid {
                    field: "provenance.library",
                    ..
                }
            ),
            "{invalid_name}"
        );
    }
    let long = good.clone() + &"#".repeat(17 << 20);
    let too_long = refused(&long);
    assert!(
        matches!(too_long, ServiceError::Invalid { field: "table", .. }),
        "{too_long}"
    );

    let reader = actor("ann", &[Scope::Read, Scope::Submit]);
    let forbidden = bed
        .service()
        .add_table(&reader, MACHINE, &good)
        .expect_err("refused");
    assert!(
        matches!(forbidden, ServiceError::Forbidden { .. }),
        "{forbidden}"
    );
    let unknown_machine = bed
        .service()
        .add_table(&publisher(), "other", &good)
        .expect_err("refused");
    assert!(
        matches!(
            unknown_machine,
            ServiceError::NotFound {
                kind: "machine",
                ..
            }
        ),
        "{unknown_machine}"
    );
    assert!(all(&bed).is_empty());
    assert!(!bed.state().join("blobs").exists());
}

#[test]
fn tables_of_the_folder_are_found() {
    let bed = Bed::closed(|_| {});
    let tables = bed.folder().join("tables");
    fs::create_dir(&tables).expect("made");
    fs::write(tables.join("night.yaml"), choosing("chain")).expect("written");
    fs::write(tables.join("notes.yaml"), "a: 1\n").expect("written");
    fs::write(tables.join("night.yaml.bak"), choosing("pipeline")).expect("written");
    let bed = bed.opened();
    let names =
        |asked_bed: &Bed| -> Vec<String> { all(asked_bed).into_iter().map(|v| v.name).collect() };
    assert_eq!(names(&bed), ["night"]);
    assert!(bed.service().list_problems().is_empty());
    // A second search finds nothing new.
    let bed = bed.restarted();
    assert_eq!(names(&bed), ["night"]);
    assert_eq!(all(&bed)[0].task, None);
}

/// Among several machines a table belongs to the one on which its campaign may run.
#[test]
fn a_table_of_the_folder_belongs_to_the_machine_of_its_campaign() {
    let bed = Bed::closed(|configuration| {
        let machine = |name: &str, campaigns: &str| ServiceMachine {
            name: name.to_owned(),
            campaigns: vec![campaigns.to_owned()],
            tasks: 1,
            node_hours: None,
            has_agent: false,
        };
        configuration.machines = vec![
            machine("one", "tuning/one*.yaml"),
            machine("two", "tuning/two.yaml"),
        ];
    });
    let write = |path: &str, text: &str| {
        let path = bed.folder().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    let campaign = |name: &str| {
        format!(
            "name: {name}\nlibrary: auto\nshapes: auto\ncollectives: [bcast]\nsizes: 8..64 x8\nlaunches: 6\n\
             budget: 10s\n"
        )
    };
    for name in ["one", "two"] {
        write(&format!("tuning/{name}.yaml"), &campaign(name));
        write(
            &format!("tables/{name}.yaml"),
            &table(name, "chain", "confirmed: true"),
        );
    }
    write(
        "tables/three.yaml",
        &table("three", "chain", "confirmed: true"),
    );
    let bed = bed.opened();
    let campaigns = bed.service().list_campaigns().expect("campaigns");
    assert!(
        campaigns.iter().all(|entry| entry.problem.is_none()),
        "{campaigns:?}"
    );
    let mut found: Vec<(String, String)> =
        all(&bed).into_iter().map(|v| (v.name, v.machine)).collect();
    found.sort();
    let expected = ["one", "two"].map(|name| (name.to_owned(), name.to_owned()));
    assert_eq!(found, expected);
}
