//! Tasks that measure a table: what they start follows from the campaigns of the folder, never from the table.

use campaign::Campaign;
use service::{Digest, ServiceError, ServiceMachine, TaskKind, TaskRequest};

use super::fixture::{Bed, CAMPAIGN, admin, tune};

/// A table that was uploaded, whose provenance names this campaign and any readable file as its store.
fn uploaded(bed: &mut Bed, campaign: &str) -> Digest {
    let text = bed
        .read("tables/small.yaml")
        .replace("campaign: 9f86d081", &format!("campaign: {campaign}"))
        .replace("store: .colltune/small.db", "store: /srv/evil.db");
    assert!(text.contains("/srv/evil.db"), "{text}");
    let version = bed.service().add_table(&admin(), "local", &text);
    version.expect("added").digest
}

fn validate(table: &Digest, campaign: Option<&str>) -> TaskRequest {
    TaskRequest {
        kind: TaskKind::Validate,
        machine: Some("local".to_owned()),
        campaign: campaign.map(str::to_owned),
        table: Some(table.clone()),
        ..tune("small")
    }
}

/// A campaign of real launches of Open MPI with this name.
fn of_openmpi(name: &str) -> String {
    format!("name: {name}\nlibrary: openmpi\nshapes: [1x2]\ncollectives: [bcast]\nsizes: 64\n")
}

/// Submits a task, waits for its end, and returns the arguments of its child after the table.
fn arguments(bed: &mut Bed, request: &TaskRequest) -> String {
    let id = bed.submit(request).task.id;
    bed.ended(id);
    let call = bed.calls().pop().expect("a call");
    let (_, arguments) = call
        .strip_prefix("validate ")
        .and_then(|call| call.split_once(' '))
        .expect("a table");
    let folder = bed.path("state/tasks").display().to_string();
    arguments.replace(&folder, "TASKS")
}

#[track_caller]
fn check_refused(bed: &mut Bed, request: &TaskRequest, expected: &str) {
    let refused = bed.service().submit_task(&admin(), request, None);
    match refused.expect_err("refused") {
        ServiceError::Invalid { field, problem } => {
            assert_eq!(field, "campaign");
            assert!(problem.contains(expected), "{problem}");
        }
        ServiceError::NotFound { kind, .. } => assert_eq!(kind, expected),
        other => panic!("{other}"),
    }
    assert!(bed.calls().is_empty(), "{:?}", bed.calls());
}

#[test]
fn a_table_without_a_campaign_of_the_machine_is_not_measured() {
    let mut bed = Bed::new("exit 2");
    let table = uploaded(&mut bed, "unknown");
    // The folder's only campaign is of a simulated machine.
    check_refused(
        &mut bed,
        &validate(&table, None),
        "none measures openmpi-4.1.4",
    );
    for (name, text) in [("one", of_openmpi("one")), ("two", of_openmpi("two"))] {
        bed.write(&format!("tuning/{name}.yaml"), &text);
    }
    let named = "name one of those that measure openmpi-4.1.4: tuning/one.yaml, tuning/two.yaml";
    check_refused(&mut bed, &validate(&table, None), named);
    bed.write("elsewhere/three.yaml", &of_openmpi("three"));
    for outside in ["elsewhere/three.yaml", "/srv/evil.yaml", "../evil.yaml"] {
        check_refused(&mut bed, &validate(&table, Some(outside)), "campaign");
    }
}

#[test]
fn an_uploaded_table_is_measured_with_a_campaign_of_the_folder_and_without_a_store() {
    let mut bed = Bed::new("exit 2");
    let table = uploaded(&mut bed, "unknown");
    bed.write("tuning/one.yaml", &of_openmpi("one"));
    let expected = |id| {
        format!(
            "--campaign TASKS/{id}/campaign.yaml --no-store --keep-table --deployment colltune --events"
        )
    };
    let only = validate(&table, None);
    assert_eq!(arguments(&mut bed, &only), expected(1));
    assert_eq!(bed.read("state/tasks/1/campaign.yaml"), of_openmpi("one"));
    let named = validate(&table, Some("tuning/small.yaml"));
    assert_eq!(arguments(&mut bed, &named), expected(2));
    assert_eq!(bed.read("state/tasks/2/campaign.yaml"), CAMPAIGN);
}

#[test]
fn a_table_that_a_campaign_of_the_machine_made_is_measured_with_it() {
    let mut bed = Bed::new("exit 2");
    let text = of_openmpi("two");
    for (name, campaign_text) in [("one", &of_openmpi("one")), ("two", &text)] {
        bed.write(&format!("tuning/{name}.yaml"), campaign_text);
    }
    let digest = Campaign::parse(&text, "two.yaml".as_ref())
        .expect("valid")
        .digest();
    let table = uploaded(&mut bed, &digest);
    // The campaign's own store is then used, not the one that the table names.
    let arguments = arguments(&mut bed, &validate(&table, None));
    assert_eq!(
        arguments,
        "--campaign TASKS/1/campaign.yaml --keep-table --deployment colltune --events"
    );
    assert_eq!(bed.read("state/tasks/1/campaign.yaml"), text);
}

/// The table of a task with overrides is in a store of the task's own.
#[test]
fn a_table_that_was_made_with_overrides_is_measured_with_its_own_store() {
    let mut bed = Bed::new("case $1 in tune) end;; *) exit 2;; esac");
    let mut request = tune("small");
    request.overrides.sizes = Some("128".to_owned());
    let id = bed.submit(&request).task.id;
    let made = bed.ended(id).made.expect("a table");
    arguments(&mut bed, &validate(&made, None));
    let (tuned, measured) = ("state/tasks/1/campaign.yaml", "state/tasks/2/campaign.yaml");
    assert_eq!(bed.read(measured), bed.read(tuned));
    assert!(bed.read(measured).contains(".colltune/task-1-"));
}

#[test]
fn a_campaign_that_the_machine_may_no_longer_run_does_not_measure_its_tables() {
    let mut bed = Bed::new("case $1 in tune) end;; *) exit 2;; esac");
    let id = bed.tune("small");
    let made = bed.ended(id).made.expect("a table");
    bed.stop();
    bed.configuration.machines = vec![ServiceMachine {
        name: "local".to_owned(),
        campaigns: vec!["night/*.yaml".to_owned()],
        tasks: 1,
        node_hours: None,
        has_agent: false,
    }];
    let refused = bed
        .service()
        .submit_task(&admin(), &validate(&made, None), None);
    let message = refused.expect_err("refused").to_string();
    assert!(message.contains("none measures openmpi-4.1.4"), "{message}");
}
