//! The verbs that work on a campaign, without MPI.

use campaign::Campaign;
use store::Store;

use crate::made;
use crate::run::{Place, keys};

#[test]
fn init_writes_a_campaign_that_plan_accepts() {
    let place = Place::with_mpirun("exit 1");
    // It asks for the library's own algorithms, which the measuring program lists.
    place.add_driver("echo '[]'");
    let ran = place.run(&["init"]).good();
    assert!(
        ran.out.contains("colltune tune campaign.yaml"),
        "{}",
        ran.out
    );
    let written = place.read("campaign.yaml");
    assert!(written.contains("library: openmpi\n"), "{written}");
    let plan = place.run(&["plan", "campaign.yaml", "--json", "--quiet"]);
    assert_eq!(plan.code, Some(0), "{}", plan.err);
    assert_eq!(plan.json()["name"], "my-machine");

    place.write("campaign.yaml", "mine");
    place
        .run(&["init"])
        .bad(2, &["campaign.yaml already exists", "--force"]);
    assert_eq!(place.read("campaign.yaml"), "mine");
    let elsewhere = ["init", "--output", "tuning/other.yaml", "--quiet"];
    // A folder with a wrong name is not created.
    place.run(&elsewhere).bad(2, &["tuning/other.yaml"]);
    assert!(!place.path("tuning").exists());
    std::fs::create_dir(place.path("tuning")).unwrap();
    place.run(&elsewhere).good();
    assert_eq!(place.read("tuning/other.yaml"), written);
    place.run(&["init", "--force"]).good();
    assert_eq!(place.read("campaign.yaml"), written);
}

#[test]
fn the_printed_reference_is_a_campaign() {
    let place = Place::new();
    let printed = place.run(&["init", "--reference"]).good().out;
    assert!(place.files().is_empty());
    let campaign = campaign::Campaign::parse(&printed, "reference.yaml".as_ref()).unwrap();
    assert_eq!(campaign.name, "reference");
}

#[test]
fn plan_works_without_a_store_and_leaves_none() {
    let place = Place::with_mpirun("exit 1");
    place.write("campaign.yaml", made::CAMPAIGN);
    let before = place.files();
    insta::assert_snapshot!(place.run(&["plan", "campaign.yaml"]).good().out);
    assert_eq!(place.files(), before);
}

#[test]
fn plan_counts_stored_measurements() {
    let place = made::place();
    insta::assert_snapshot!(place.run(&["plan", "campaign.yaml"]).good().out);
    let plan = place
        .run(&["plan", "campaign.yaml", "--json"])
        .good()
        .json();
    assert_eq!(
        keys(&plan),
        [
            "budget_seconds",
            "calibrated",
            "candidates",
            "cells",
            "collectives",
            "confirming_seconds",
            "detectable_gains",
            "done",
            "driver",
            "estimated_node_hours",
            "estimated_seconds",
            "exhaustive_turns",
            "experiments",
            "launches",
            "launches_left",
            "least_budgets",
            "library",
            "merged",
            "name",
            "needed_budget_seconds",
            "nodes_of_jobs",
            "page",
            "report",
            "shapes",
            "spent_seconds",
            "store",
            "strategy",
            "table",
            "total",
            "turns_left",
            "warnings"
        ]
    );
    assert_eq!(plan["done"], plan["total"]);
    assert_eq!(plan["launches_left"], 0);
    assert_eq!(plan["collectives"][0]["bytes"][1], 8192);
}

#[test]
fn predicted_blocks_are_announced_until_they_are_known() {
    let place = made::place();
    let announced = "predicted block sizes, once";
    let predicting = made::CAMPAIGN.replace("predicted: false", "predicted: true");
    place.write("fresh.yaml", predicting.replace("made", "fresh"));
    let text = place.run(&["plan", "fresh.yaml"]).good().out;
    assert!(text.contains(announced), "{text}");
    place.write("campaign.yaml", predicting);
    let known_plan = place.run(&["plan", "campaign.yaml"]).good().out;
    assert!(!known_plan.contains(announced), "{known_plan}");
}

#[test]
fn tune_with_nothing_left_to_measure_writes_table_and_report() {
    let place = made::place();
    let ran = place.run(&["tune", "campaign.yaml"]).good();
    insta::assert_snapshot!(ran.out);
    assert_eq!(
        place.read("tables/made.yaml"),
        place.run(&["decide", ".colltune/made.db"]).out
    );
    assert!(place.read("reports/made.md").starts_with("# "));
    let page = place
        .run(&["report", ".colltune/made.db", "--format", "html"])
        .good();
    assert_eq!(
        place.read("reports/made.html").trim_end(),
        page.out.trim_end()
    );

    // No fresh launches have confirmed the candidates that replace the default.
    let strict = place.run(&["tune", "--require-confirmed", "campaign.yaml"]);
    assert_eq!(strict.code, Some(1), "{strict:?}");

    assert_eq!(
        place.run(&["tune", "campaign.yaml", "--quiet"]).good().out,
        ""
    );
    let outcome = place
        .run(&["tune", "campaign.yaml", "--json"])
        .good()
        .json();
    assert_eq!(
        keys(&outcome),
        [
            "confirmed",
            "confirming_seconds",
            "done",
            "exhaustive_seconds",
            "export",
            "failures",
            "gain",
            "launches",
            "launching_seconds",
            "library",
            "measuring_seconds",
            "name",
            "needed_budget_seconds",
            "page",
            "report",
            "saved_seconds",
            "store",
            "table",
            "total",
            "unconfirmed",
            "warnings",
            "withheld"
        ]
    );
    assert_eq!(outcome["launches"], 0);
    assert_eq!(outcome["table"], "tables/made.yaml");
}

#[test]
fn measure_only_fills_the_store() {
    let place = made::place();
    let measured = place
        .run(&["measure", "campaign.yaml", "--json"])
        .good()
        .json();
    assert_eq!(
        keys(&measured),
        ["done", "launches", "library", "name", "store", "total"]
    );
    assert_eq!(measured["done"], measured["total"]);
    assert!(!place.path("tables").exists());
}

#[test]
fn plan_and_tune_agree_that_the_budget_is_spent() {
    let place = made::place();
    // The store holds two seconds of measuring; another budget is the same campaign.
    let dear = made::CAMPAIGN.replace("launches: 6", "launches: 9\nbudget: 1s");
    let digest = Campaign::parse(&dear, "dear.yaml".as_ref())
        .unwrap()
        .digest();
    place.write("dear.yaml", &dear);
    made::spend(&place.path(".colltune/made.db"), &digest, &dear);
    let plan = place.run(&["plan", "dear.yaml"]).good().out;
    let spent = "the budget of 1s is spent; a larger one makes the other ";
    assert!(plan.contains(spent), "{plan}");
    let ran = place.run(&["measure", "dear.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.starts_with("warning: the budget is spent with "),
        "{}",
        ran.err
    );
}

#[test]
fn more_ranks_than_cores_cause_a_warning() {
    let place = Place::with_mpirun("exit 1");
    place.write("campaign.yaml", made::CAMPAIGN.replace("1x2", "1x1000"));
    let ran = place.run(&["plan", "campaign.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.starts_with("warning: 1000 ranks shared "),
        "{}",
        ran.err
    );
    let tuned = place.run(&["tune", "campaign.yaml", "--quiet"]);
    assert!(
        tuned.err.starts_with("warning: 1000 ranks shared "),
        "{}",
        tuned.err
    );
}

#[test]
fn failed_candidates_are_measured_again_only_on_demand() {
    let place = made::place();
    let path = place.path(".colltune/made.db");
    made::fail_a_candidate(&path);
    let failures = || {
        Store::open(&path)
            .unwrap()
            .failures(&made::library())
            .unwrap()
            .len()
    };
    place.run(&["measure", "campaign.yaml"]).good();
    assert_eq!(failures(), 1);
    // Its measurements are already stored, so that nothing is left to measure then either.
    place
        .run(&["measure", "--retry-failed", "campaign.yaml"])
        .good();
    assert_eq!(failures(), 0);
}

#[test]
fn a_launch_that_dies_is_reported_in_one_line() {
    // The first launch dies in its first experiment, the second before it.
    let place = Place::with_mpirun(
        "\
case \"$*\" in *' true') exit 0;; esac
for plan; do :; done
field() { /bin/sed -E \"s/.*\\\"$1\\\":\\\"?([^\\\",]*).*/\\1/\" \"$plan\"; }
[ $(field launch) = 1 ] || exit 9
/bin/sed \"s/CAMPAIGN/$(field campaign)/\" started > \"$(field spool)\"
exit 8",
    );
    place.write("campaign.yaml", made::CAMPAIGN);
    place.write("started", made::started_and_trying("CAMPAIGN"));
    let ran = place.run(&["tune", "campaign.yaml"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    insta::assert_snapshot!(ran.err);
}
