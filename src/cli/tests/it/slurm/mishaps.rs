//! Campaigns whose launches are jobs of a real Slurm, when something goes wrong.

use nix::sys::signal::{Signal, kill};
use store::Outcome;

use super::campaigns::{complete, outcomes};
use super::site::{CAMPAIGN, Site, wait_until};

#[test]
fn what_a_cancelled_job_measured_is_kept_under_openmpi() {
    let Some(site) = Site::up() else { return };
    let follower = site.start(&["tune", "small.yaml"]);
    site.wait_for("small", 1, 3);
    let id = site.id();
    let ran = site.run(&["cancel", "small.yaml", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = &ran.json()[0];
    assert_eq!(told["cancelled"], serde_json::json!([id]), "{told}");
    assert!(told["done"].as_u64() >= Some(3), "{told}");
    assert_eq!(site.queue(), "");
    assert!(site.ranks().is_empty());

    let follower = follower.end(&site);
    assert_eq!(follower.code, Some(3), "{follower:?}");
    assert!(follower.err.contains("cancelled"), "{}", follower.err);
    assert_eq!(site.jobs()[0]["state"], "cancelled");
    // Once more makes no difference.
    let again = site.run(&["cancel", &id, "--json"]);
    assert_eq!(again.json()[0]["cancelled"], serde_json::json!([]));
    assert_eq!(again.json()[0]["done"], told["done"]);
    site.run(&["cancel", "9999"])
        .bad(2, &["no job 9999", "colltune jobs"]);

    complete(&site.run(&["tune", "small.yaml", "--json"]));
    assert_eq!(outcomes(&site).len(), 3);
}

#[test]
fn a_job_whose_wall_time_is_over_is_followed_by_another_under_openmpi() {
    let Some(site) = Site::up() else { return };
    let run = site.start(&["tune", "small.yaml", "--json"]);
    site.wait_for("small", 1, 3);
    // Slurm looks at limits now and then; until it does, nothing goes on.
    for rank in site.ranks() {
        kill(rank, Signal::SIGSTOP).unwrap();
    }
    let job = format!("JobId={}", site.id());
    let update = ["scontrol", "update", &job, "EndTime=now+1"];
    site.bed.run(&site.place.path(""), &update).good();
    let ran = run.end(&site);
    complete(&ran);
    assert!(ran.err.contains("wall time was over"), "{}", ran.err);
    assert_eq!(site.jobs()[0]["state"], "wall_time");
    assert!(matches!(outcomes(&site)[0], Outcome::Died { .. }));
}

#[test]
fn ranks_that_are_killed_cost_their_launch_and_nothing_else_under_openmpi() {
    let Some(site) = Site::up() else { return };
    let run = site.start(&["tune", "small.yaml", "--json"]);
    site.wait_for("small", 1, 3);
    wait_until("there are ranks", || site.ranks().len() == 2);
    kill(site.ranks()[1], Signal::SIGKILL).unwrap();
    let ran = run.end(&site);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("launch 1 ended early"), "{}", ran.err);
    assert_eq!(
        site.jobs()[0]["id"],
        site.jobs()[1]["id"],
        "the job is still good"
    );
}

#[test]
fn what_slurm_refuses_is_said_in_its_words_under_openmpi() {
    let Some(site) = Site::up() else { return };
    let campaign = CAMPAIGN.replace("partition: debug", "partition: nonsense");
    site.place.write("small.yaml", campaign);
    let ran = site.run(&["tune", "small.yaml"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
    let words = "invalid partition specified: nonsense";
    assert!(ran.err.contains(words), "{}", ran.err);
    let all = ["squeue", "-h", "-t", "all"];
    let queue = site.bed.run(&site.place.path(""), &all).good().out;
    assert_eq!(queue, "");
    // Corrected, it goes on.
    site.place.write("small.yaml", CAMPAIGN);
    complete(&site.run(&["tune", "small.yaml", "--json"]));
}
