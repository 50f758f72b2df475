//! The states of jobs by their files, without a batch system.

use serde_json::json;

use crate::made;
use crate::run::{Place, keys};

const SUBMISSION: &str = r#"{
  "system": "slurm", "id": "4711", "name": "made-0001-x", "submitted": 1795319889, "nodes": 2,
  "script": "DIR/0001.alloc/script.sh", "output": "DIR/0001.alloc/output", "allocation": "DIR/0001.alloc"
}"#;

/// A folder with a campaign of which one launch was a job.
fn place() -> Place {
    let place = made::place();
    let folder = ".colltune/made.db.launches";
    let whole = place.path(folder).display().to_string();
    let submission = SUBMISSION.replace("DIR", &whole);
    place.write(&format!("{folder}/0001.job.json"), submission);
    place.write(&format!("{folder}/0001.alloc/0001.begun"), "");
    place.write(&format!("{folder}/0001.alloc/0001.exit"), "0\n");
    let done = "{\"record\":\"done\",\"task\":0,\"elapsed_seconds\":1.0,\"measurements\":[]}\n";
    let torn = "{\"record\":\"done\",\"ta";
    place.write(&format!("{folder}/0001.spool"), [done, done, torn].concat());
    place
}

#[test]
fn jobs_are_listed_by_their_files() {
    let place = place();
    let all = place.run(&["jobs"]).good();
    insta::assert_snapshot!(all.out);
    let told = place
        .run(&["jobs", "campaign.yaml", "--json"])
        .good()
        .json();
    let job = &told[0];
    assert_eq!(
        keys(job),
        [
            "campaign",
            "code",
            "id",
            "launch",
            "measured",
            "nodes",
            "on",
            "output",
            "reason",
            "script",
            "state",
            "submitted"
        ]
    );
    let of = |key: &str| job[key].clone();
    assert_eq!(
        [of("id"), of("state"), of("measured"), of("on")],
        [json!("4711"), json!("done"), json!(2), json!([])]
    );
    // The job has not ended, and there is no batch system to query.
    let exit = ".colltune/made.db.launches/0001.alloc/0001.exit";
    std::fs::remove_file(place.path(exit)).unwrap();
    assert_eq!(
        place.run(&["jobs", "--json"]).good().json()[0]["state"],
        "unknown"
    );
}

#[test]
fn without_jobs_there_is_nothing_to_list_or_cancel() {
    let place = made::place();
    assert_eq!(place.run(&["jobs"]).good().out, "no jobs\n");
    assert_eq!(place.run(&["jobs", "--json"]).good().json(), json!([]));
    let ended = place.run(&["cancel", "campaign.yaml", "--json"]).good();
    let told = ended.json();
    assert_eq!(told[0]["cancelled"], json!([]));
    assert_eq!(
        (&told[0]["campaign"], &told[0]["taken_in"]),
        (&json!("made"), &json!(0))
    );
    assert_eq!(told[0]["done"], told[0]["total"]);
    let text = place.run(&["cancel", "campaign.yaml"]).good().out;
    assert!(text.starts_with("made: no job waits or runs; "), "{text}");
    place
        .run(&["cancel", "4711"])
        .bad(2, &["there is no job 4711", "`colltune jobs` lists"]);
    Place::new()
        .run(&["cancel", "4711"])
        .bad(2, &["there is no job 4711: no job was submitted here"]);
    Place::new()
        .run(&["cancel", "absent.yaml"])
        .bad(2, &["absent.yaml"]);
}

#[test]
fn only_jobs_continue_without_the_command() {
    let place = made::place();
    for verb in ["tune", "measure"] {
        place
            .run(&[verb, "campaign.yaml", "--detach"])
            .bad(2, &["only batch jobs continue", "--detach"]);
    }
}

#[test]
fn the_error_about_a_lock_names_its_holder_and_the_time() {
    let place = place();
    let slurm = made::CAMPAIGN.to_owned() + "launcher: {slurm: {}}\n";
    place.write("campaign.yaml", slurm);
    let lease = "77 login2 1795000000000000000\n";
    place.write(".colltune/made.db.launches/lease", lease);
    place
        .run(&["tune", "campaign.yaml"])
        .bad(3, &["process 77 on login2, since 2026-11-18 11:06:40 UTC"]);
}
