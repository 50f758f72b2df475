//! The campaigns of a folder, and campaigns with overrides.

use std::os::unix::fs::symlink;
use std::path::Path;

use campaign::Campaign;
use service::{Overrides, ServiceError, ServiceMachine, TaskRequest, TaskState};

use super::fixture::{Bed, CAMPAIGN, admin, tune};

fn machine(name: &str, campaigns: &[&str]) -> ServiceMachine {
    ServiceMachine {
        name: name.to_owned(),
        campaigns: campaigns
            .iter()
            .map(|&pattern| pattern.to_owned())
            .collect(),
        tasks: 1,
        node_hours: None,
        has_agent: false,
    }
}

#[test]
fn only_files_of_the_folder_that_a_machine_names_are_campaigns() {
    let mut bed = Bed::new("end");
    bed.configuration.machines = vec![
        machine("a", &["tuning/*.yaml"]),
        machine("b", &["tuning/small.yaml", "night/**/*.yaml"]),
    ];
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("out.yaml"), CAMPAIGN).unwrap();
    bed.write("other/hidden.yaml", CAMPAIGN);
    bed.write("tuning/.hidden.yaml", CAMPAIGN);
    bed.write("tuning/deeper/x.yaml", CAMPAIGN);
    bed.write("night/1/x.yaml", &CAMPAIGN.replace("small", "night"));
    bed.write("tuning/bad.yaml", "name: bad\nsizes: none\n");
    symlink(outside.path().join("out.yaml"), bed.path("tuning/out.yaml")).unwrap();
    symlink(outside.path(), bed.path("night/out")).unwrap();
    symlink(bed.path("tuning/small.yaml"), bed.path("tuning/link.yaml")).unwrap();
    let service = bed.service();
    let listed = service.list_campaigns().unwrap();
    let told: Vec<_> = listed
        .iter()
        .map(|entry| {
            (
                &*entry.path,
                entry.name.as_deref(),
                entry.machines.join(" "),
            )
        })
        .collect();
    let expected = [
        ("night/1/x.yaml", Some("night"), "b"),
        ("tuning/bad.yaml", None, "a"),
        ("tuning/link.yaml", Some("small"), "a"),
        ("tuning/small.yaml", Some("small"), "a b"),
    ];
    assert_eq!(
        told,
        expected.map(|(path, name, on)| (path, name, on.to_owned()))
    );
    let problem = listed[1].problem.as_ref().unwrap();
    assert!(problem.contains("tuning/bad.yaml:2"), "{problem}");

    let absolute = bed.path("tuning/small.yaml");
    let hostile = [
        absolute.to_str().unwrap(),
        "",
        ".",
        "tuning",
        "tuning/",
        "tuning/../tuning/small.yaml",
        "../tuning/small.yaml",
        "tuning//small.yaml",
        "./tuning/small.yaml",
        "tuning/./small.yaml",
        "tuning/small.yaml/",
        "tuning/small.yaml\0",
        "tuning/none.yaml",
        "tuning/out.yaml",
        "night/out/out.yaml",
        "tuning/.hidden.yaml",
        "tuning/deeper/x.yaml",
        "other/hidden.yaml",
        "tuning/*.yaml",
    ];
    for path in hostile {
        let read = service.read_campaign(path);
        let is_unknown = matches!(
            &read,
            Err(ServiceError::NotFound {
                kind: "campaign",
                ..
            })
        );
        assert!(is_unknown, "{path:?}: {read:?}");
    }
    // Another machine may run it.
    let request = TaskRequest {
        machine: Some("a".to_owned()),
        campaign: Some("night/1/x.yaml".to_owned()),
        ..tune("small")
    };
    let refused = service.submit_task(&admin(), &request, None);
    assert!(matches!(
        refused,
        Err(ServiceError::NotFound {
            kind: "campaign",
            ..
        })
    ));
    let without_machine = service.submit_task(&admin(), &tune("small"), None);
    assert!(matches!(
        without_machine,
        Err(ServiceError::Invalid {
            field: "machine",
            ..
        })
    ));
}

fn with(overrides: Overrides) -> TaskRequest {
    TaskRequest {
        overrides,
        ..tune("small")
    }
}

#[test]
fn overrides_change_the_named_keys_and_the_outputs() {
    let mut bed = Bed::new("end");
    let text = "\
# A comment.
name: small
sizes:  # of all
  bcast: [8, 64]
launcher:
  simulated: {machine: machines/one.yaml}
shapes: [2x2, 4x2, 4x1]
budget: 1m   # short
collectives:
  - bcast

output: {table: tables/production.yaml}";
    bed.write("tuning/small.yaml", text);
    let id = bed
        .submit(&with(Overrides {
            budget: Some("30s".to_owned()),
            sizes: Some("8..64 x8, 1K".to_owned()),
            collectives: Some(vec!["allreduce".to_owned(), "bcast".to_owned()]),
            nodes: Some(vec![4, 16]),
        }))
        .task
        .id;
    assert_eq!(bed.ended(id).state, TaskState::Done);
    let file = bed.path("state/tasks/1/campaign.yaml");
    let changed = Campaign::load(&file).unwrap();
    let before = Campaign::load(&bed.path("tuning/small.yaml")).unwrap();
    assert_eq!(changed.budget_seconds, 30.0);
    let shapes: Vec<String> = changed.shapes.iter().map(ToString::to_string).collect();
    assert_eq!(shapes, ["4x1", "4x2"]);
    let collectives: Vec<&str> = changed.sizes.keys().map(|c| c.name()).collect();
    assert_eq!(collectives, ["bcast", "allreduce"]);
    assert!(changed.sizes.values().all(|sizes| sizes == &[8, 64, 1024]));
    assert_eq!(changed.launcher, before.launcher);
    assert_eq!(changed.output.table, Path::new("state/tasks/1/table.yaml"));
    assert_eq!(changed.output.report, Path::new("state/tasks/1/report.md"));
    let store = changed.output.store.to_str().unwrap();
    assert!(store.starts_with(".colltune/task-1-"), "{store}");
    assert_eq!(bed.calls(), [format!("tune {} --events", file.display())]);

    // Without overrides the campaign stays the same.
    let unchanged_id = bed.tune("small");
    bed.ended(unchanged_id);
    let same = Campaign::load(&bed.path("state/tasks/2/campaign.yaml")).unwrap();
    assert_eq!(same.digest(), before.digest());
}

#[test]
fn overrides_that_give_an_invalid_campaign_are_refused() {
    let mut bed = Bed::new("end");
    let service = bed.service();
    let refused = |overrides: Overrides| {
        let error = service
            .submit_task(&admin(), &with(overrides), None)
            .unwrap_err();
        error.to_string()
    };
    let budget = |text: &str| Overrides {
        budget: Some(text.to_owned()),
        ..Overrides::default()
    };
    assert!(refused(budget("soon")).contains("`remote submit --budget`"));
    assert!(
        refused(budget("1m\noutput: {table: /etc/passwd}")).contains("`remote submit --budget`")
    );
    assert!(refused(budget("1m\"\nname: other")).contains("`remote submit --budget`"));
    assert!(refused(budget(&"1".repeat(1001))).contains("1000 characters"));
    let error = refused(Overrides {
        nodes: Some(vec![3]),
        ..Overrides::default()
    });
    assert!(error.contains("2x2, 4x2"), "{error}");
    let collectives_error = refused(Overrides {
        collectives: Some(vec!["bcast, allreduce".to_owned()]),
        ..Overrides::default()
    });
    assert!(
        collectives_error.contains("`remote submit --collectives`"),
        "{collectives_error}"
    );
    bed.write(
        "tuning/small.yaml",
        "{name: small, launcher: simulated, shapes: [2x2]}",
    );
    assert!(refused(budget("1m")).contains("braces"));
}
