//! Decisions judged at points that were held out.

use serde_json::json;

use crate::made;
use crate::run::{Place, keys};

const STORE: &str = ".colltune/made.db";

#[test]
fn evaluate_shows_regrets_beside_baselines() {
    let place = made::place();
    insta::assert_snapshot!(place.run(&["evaluate", STORE]).good().out);
    let told = place.run(&["evaluate", STORE, "--json"]).good().json();
    assert_eq!(
        keys(&told),
        ["library", "models", "name", "splits", "store"]
    );
    let split = &told["splits"][0];
    assert_eq!(
        keys(split),
        [
            "collective",
            "common",
            "decided_on",
            "held_out",
            "losses",
            "methods",
            "points"
        ]
    );
    assert_eq!(
        (&split["held_out"], &split["points"], &split["decided_on"]),
        (&json!("sizes"), &json!(1), &json!(2))
    );
    let difference = &split["common"]["difference"];
    assert_eq!(
        difference,
        &json!({"low": 0.0, "high": 0.0, "coverage": 0.95}),
        "six launches without noise"
    );
    let methods = split["methods"].as_array().unwrap();
    let names: Vec<_> = methods.iter().map(|method| &method["method"]).collect();
    assert_eq!(
        names,
        [
            "default",
            "best_single",
            "nearest_lower",
            "nearest",
            "straight_lines",
            "log_log",
            "model",
            "table"
        ]
    );
    let default = &methods[0];
    assert_eq!(
        keys(default),
        [
            "maximum",
            "mean",
            "mean_everywhere",
            "median",
            "method",
            "points",
            "within_5_percent",
            "worst"
        ]
    );
    assert_eq!(
        keys(&default["worst"]),
        ["bytes", "chosen", "collective", "nodes", "ppn", "regret"]
    );
    // 3 times the fastest instead of 2 times.
    let regret = default["worst"]["regret"].as_f64().unwrap();
    assert!((regret - 0.5).abs() < 1e-3, "{default}");
    assert_eq!(default["worst"]["bytes"], 8192);
    assert_eq!(default["within_5_percent"], 0.0);
}

/// Of two sizes on one shape, none can be held out.
#[test]
fn a_store_without_inner_points_is_refused_with_a_remedy() {
    let place = Place::new();
    place.write(
        "times.csv",
        "collective,library,algorithm,ppn,bytes,seconds\n\
         bcast,default,,4,8,3e-6\nbcast,mvapich,tree,4,8,1e-6\n\
         bcast,default,,4,64,3e-6\nbcast,mvapich,tree,4,64,1e-6\n",
    );
    let import = "import times.csv --format csv --store few.db --library mvapich-2.3 --nodes 1";
    place.run_line(import).good();
    place.run(&["evaluate", "few.db"]).bad(
        2,
        &[
            "no points of mvapich-2.3 to hold out",
            "help: measure more `sizes`",
        ],
    );
}

#[test]
fn a_table_is_judged_by_other_measurements() {
    let place = made::place();
    place
        .run(&["decide", STORE, "-o", "tables/made.yaml", "--quiet"])
        .good();
    let judge = ["evaluate", STORE, "--table", "tables/made.yaml"];
    insta::assert_snapshot!(place.run(&judge).good().out);
    let told = place.run(&[&judge[..], &["--json"]].concat()).good().json();
    let split = &told["splits"][0];
    assert_eq!(split["held_out"], "all");
    assert_eq!(split["decided_on"], json!(null));
    let library = [&judge[..], &["--deployment", "library"]].concat();
    place.run(&library).bad(
        2,
        &[
            "no points of openmpi-4.1.4 to judge a table by: this needs several candidates of \
                 deployment `library` in a cell",
            "help: measure with more `candidates`",
        ],
    );
}
