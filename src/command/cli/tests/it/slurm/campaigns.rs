//! Campaigns with launches in jobs of a real Slurm, without failures.

use nix::sys::signal::Signal;
use schedule::Collective;
use store::{LaunchOutcome, Store};
use table::Table;

use super::site::{CAMPAIGN, Site, wait_until};
use crate::run::Ran;

/// Asserts that a run of `tune --json` has measured everything.
pub(super) fn complete(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = ran.json();
    assert!(told["done"].as_u64() > Some(0), "{told}");
    assert_eq!(
        (&told["done"], &told["failures"]),
        (&told["total"], &0.into()),
        "{told}"
    );
}

/// The outcomes of the small campaign's launches.
pub(super) fn outcomes(site: &Site) -> Vec<LaunchOutcome> {
    let store = Store::open(&site.place.path(".colltune/small.db")).unwrap();
    let launches = store.launches().unwrap().into_iter();
    launches.filter_map(|launch| launch.outcome).collect()
}

#[test]
fn jobs_lead_to_a_table_of_two_nodes_under_openmpi() {
    let Some(site) = Site::up() else { return };
    let ran = site.run(&["tune", "small.yaml", "--json"]);
    complete(&ran);
    let runs_on = ran.err.find(" runs on ").map(|at| &ran.err[at..]);
    assert!(
        runs_on.is_some_and(|job| job.contains(&site.bed.node(2))),
        "{ran:?}"
    );

    let table = Table::load(&site.place.path("tables/small.yaml")).unwrap();
    assert_eq!(table.collectives[&Collective::Bcast][0].shape.nodes, 2);
    let report = site.place.read("reports/small.md");
    for number in [1, 2] {
        assert!(report.contains(&site.bed.node(number)), "{report}");
    }
    // One job serves both launches, and is then cancelled.
    let jobs = site.jobs();
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    for job in &jobs {
        assert_eq!(
            (&job["state"], &job["id"]),
            (&"done".into(), &jobs[0]["id"])
        );
        assert_eq!(job["nodes"], 2);
    }
    assert!(jobs[0]["measured"].as_u64() > Some(20), "{jobs:?}");
    assert_eq!(jobs[1]["measured"], 1);
    wait_until("the nodes are given back", || site.queue().is_empty());
}

#[test]
fn another_login_node_continues_the_job_of_an_interrupted_tune_under_openmpi() {
    let Some(site) = Site::up() else { return };
    let mut first = site.start(&["tune", "small.yaml"]);
    site.wait_for("small", 1, 3);
    let id = site.id();
    first.signal(Signal::SIGINT);
    let ran = first.end(&site);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let (goes_on, cancel) = (
        format!("job {id} continues"),
        format!("colltune cancel {id}"),
    );
    for part in [&goes_on, "same command", &cancel] {
        assert!(ran.err.contains(part), "no `{part}` in {}", ran.err);
    }
    assert_eq!(site.queue(), format!("{id} RUNNING\n"));

    let second = site.start_on("login2", &["tune", "small.yaml", "--json"]);
    let lease = site.place.path(".colltune/small.db.launches/lease");
    wait_until("it holds the campaign", || lease.exists());
    let refused = site.run(&["tune", "small.yaml"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let part = " on login2, since 20";
    assert!(refused.err.contains(part), "{}", refused.err);
    complete(&second.end(&site));
    assert_eq!(
        outcomes(&site),
        [LaunchOutcome::Complete, LaunchOutcome::Complete]
    );
}

#[test]
fn a_detached_command_finds_later_what_jobs_measured_under_openmpi() {
    let Some(site) = Site::up() else { return };
    for launch in 1..=2 {
        let ran = site.run(&["tune", "small.yaml", "--detach", "--json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let told = ran.json();
        assert_eq!(told["job"]["launch"], launch, "{told}");
        assert_eq!(told["job"]["submitted"], true, "{told}");
        if launch == 1 {
            site.wait_for("small", 1, 1);
            // Slurm's controller is unavailable for a while; jobs continue.
            wait_until("Slurm saves its state", || site.bed.saved_that_jobs_run());
            site.bed.kill("controller");
            let exit = ".colltune/small.db.launches/0001.alloc/0001.exit";
            wait_until("the launch ends", || site.place.path(exit).exists());
            assert_eq!(site.jobs()[0]["state"], "done");
            site.bed.restore();
        }
        wait_until("the job has ended", || {
            site.jobs()[launch - 1]["state"] == "done"
        });
    }
    let ran = site.run(&["tune", "small.yaml", "--detach", "--json"]);
    complete(&ran);
    assert_eq!(ran.json()["launches"], 0);
    assert!(site.place.path("tables/small.yaml").exists());
}

#[test]
fn two_campaigns_share_a_cluster_under_openmpi() {
    let Some(site) = Site::up() else { return };
    let other = CAMPAIGN.replace("name: small", "name: other");
    site.place.write("other.yaml", other);
    let both = ["small.yaml", "other.yaml"].map(|name| site.start(&["tune", name, "--json"]));
    for run in both {
        complete(&run.end(&site));
    }
    let jobs = site.jobs();
    let campaigns: Vec<_> = jobs.iter().map(|job| &job["campaign"]).collect();
    assert_eq!(campaigns, ["other", "other", "small", "small"]);
    assert_ne!(jobs[0]["id"], jobs[2]["id"]);
}
