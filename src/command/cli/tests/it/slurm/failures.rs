//! Campaigns with launches in jobs of a real Slurm, with failures.

use nix::sys::signal::{Signal, kill};
use store::LaunchOutcome;

use super::campaigns::outcomes;
use super::site::{CAMPAIGN, Site};

#[test]
fn measurements_are_kept_when_a_job_or_its_ranks_are_killed_under_openmpi() {
    let Some(site) = Site::up() else { return };
    let follower = site.start(&["tune", "small.yaml"]);
    site.wait_for("small", 1, 3);
    // A killed rank ends its launch; the job can serve another one.
    kill(site.ranks()[1], Signal::SIGKILL).unwrap();
    site.wait_for("small", 2, 3);
    let jobs = site.jobs();
    assert_eq!(jobs[0]["state"], "failed");
    assert_eq!(jobs[0]["id"], jobs[1]["id"]);
    let id = site.id();
    let ran = site.run(&["cancel", "small.yaml", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = &ran.json()[0];
    assert_eq!(told["cancelled"], serde_json::json!([id]), "{told}");
    assert!(told["done"].as_u64() >= Some(6), "{told}");
    assert_eq!(site.queue(), "");
    assert!(site.ranks().is_empty());

    let follower = follower.end(&site);
    assert_eq!(follower.code, Some(3), "{follower:?}");
    assert!(follower.err.contains("cancelled"), "{}", follower.err);
    let early = "launch 1 ended early";
    assert!(follower.err.contains(early), "{}", follower.err);
    assert_eq!(site.jobs()[1]["state"], "cancelled");
    // Cancelling again changes nothing.
    let again = site.run(&["cancel", &id, "--json"]);
    assert_eq!(again.json()[0]["cancelled"], serde_json::json!([]));
    assert_eq!(again.json()[0]["done"], told["done"]);
    site.run(&["cancel", "9999"])
        .bad(2, &["no job 9999", "colltune jobs"]);

    let finished = site.run(&["tune", "small.yaml", "--json"]).json();
    assert_eq!(finished["done"], finished["total"], "{finished}");
    // At most the killed rank's candidate: Open MPI says that a rank died, but not what killed it.
    assert!(finished["failures"].as_u64() <= Some(1), "{finished}");
    assert_eq!(outcomes(&site).len(), 4);
}

#[test]
fn another_job_follows_one_that_reached_its_wall_time_under_openmpi() {
    let Some(site) = Site::up() else { return };
    let mut run = site.start(&["tune", "small.yaml"]);
    site.wait_for("small", 1, 3);
    // Slurm checks limits only from time to time; until then nothing happens.
    for rank in site.ranks() {
        kill(rank, Signal::SIGSTOP).unwrap();
    }
    let job = format!("JobId={}", site.id());
    let update = ["scontrol", "update", &job, "EndTime=now+1"];
    site.bed.run(&site.place.path(""), &update).good();
    // Another job continues measuring, without a further command.
    site.wait_for("small", 2, 1);
    let jobs = site.jobs();
    assert_eq!(
        (&jobs[0]["state"], &jobs[1]["state"]),
        (&"wall_time".into(), &"running".into())
    );
    run.signal(Signal::SIGTERM);
    let ran = run.end(&site);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.err.contains("reached its wall time"), "{}", ran.err);
    assert!(matches!(outcomes(&site)[0], LaunchOutcome::Died { .. }));
}

#[test]
fn errors_quote_why_slurm_refuses_a_job_under_openmpi() {
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
    // The corrected campaign continues.
    site.place.write("small.yaml", CAMPAIGN);
    let detached = site.run(&["measure", "small.yaml", "--detach", "--json"]);
    assert_eq!(detached.json()["job"]["launch"], 2, "{detached:?}");
    site.run(&["cancel", "small.yaml"]).good();
    assert_eq!(site.queue(), "");
}
