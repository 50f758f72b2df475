//! The check of a whole table, from its points to the outcome.

use std::time::{Duration, Instant};

use table::{Deployment, Table};
use tuner::SearchPaths;
use vocabulary::{Datatype, Library, Operator};

use crate::{
    CheckOptions, Checked, GuardError, LaunchMeasurer, LaunchWatch, Point, Probing, Rivals,
    Sources, TestCaller, TestSetup, TestSetupOptions, TestWarning, add_probes, check_points,
    table_points,
};

/// What a check is to measure, and what it tolerates.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckRequest {
    /// The decisions to check.
    pub deployment: Deployment,
    /// The largest number of points beside the probes; those with most at stake are measured.
    pub cells: usize,
    /// The probes to measure in addition.
    pub probing: Probing,
    /// As [`CheckOptions::materiality`]; the campaign's if absent.
    pub materiality: Option<f64>,
    /// As [`CheckOptions::tolerance`].
    pub tolerance: f64,
    /// The library and the launches.
    pub setup: TestSetupOptions,
}

/// The outcome of checking a table.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckOutcome {
    /// The library that was measured.
    pub library: Library,
    /// The reason, as a clause, why runners-up are not known; `None` if they are.
    pub rivals_unknown: Option<String>,
    /// The result at each point.
    pub checked: Checked,
    /// The time that measuring took.
    pub took: Duration,
}

/// Checks whether a table still holds: measures the points with most at stake and probes again, as [`check_points()`]
/// does, with the runners-up in the table's store and in launches like those of its campaign. The `caller` receives
/// warnings, and watches the launches.
///
/// # Errors
/// If the table has no point to measure for the deployment; if its store cannot be read; if something that launches
/// need is missing; those of [`check_points()`]; and those of the caller.
pub fn check_table<Caller: TestCaller>(
    mut table: Table,
    sources: Sources,
    request: &CheckRequest,
    places: &SearchPaths,
    caller: &mut Caller,
) -> Result<CheckOutcome, Caller::Error> {
    // What `validate` found slower is not in force, so there is nothing to check.
    turn_back_refuted_rules(&mut table, &sources, caller);
    let Sources {
        campaign, store, ..
    } = sources;
    let elements = (campaign.datatype, campaign.commuting_operator());
    let points = points_to_check(&table, request, elements)?;
    // Tables do not name the runners-up; their store does.
    let rivals = Rivals::find_in_store(&table, &store, request.deployment, &points)?;
    let options = CheckOptions {
        launches: request.setup.launches,
        materiality: request.materiality.unwrap_or(campaign.materiality),
        tolerance: request.tolerance,
    };
    // Whatever distinguishes these launches from the table's is said before they begin, since they take long.
    let setup = TestSetup::new(&table, campaign, &points, &request.setup, places)?;
    for warning in setup.warnings(&table) {
        caller.warn(warning);
    }
    let LaunchWatch { mut observer, stop } = caller.watch_launches()?;
    let started = Instant::now();
    let mut launches = LaunchMeasurer::new(&setup.at, &mut *observer, &stop);
    let checked = check_points(&points, &rivals, &mut launches, &options);
    // The observer may occupy a terminal until it is dropped.
    drop(observer);
    // If launches failed, this keeps their logs, which the error names.
    let library = setup.at.library.clone();
    let checked = setup.close_with_outcome(checked)?;
    Ok(CheckOutcome {
        library,
        rivals_unknown: rivals.unknown_because,
        checked,
        took: started.elapsed(),
    })
}

/// Turns rules back to the default that verdicts in the table or in its store refute.
fn turn_back_refuted_rules(table: &mut Table, sources: &Sources, caller: &mut impl TestCaller) {
    if let Some(store) = sources.store.path()
        && let Err(error) = tuner::add_stored_verdicts(table, store)
    {
        caller.warn(TestWarning::UnreadVerdicts(error));
    }
    table.turn_back_refuted();
}

/// The points with most at stake, and the probes.
fn points_to_check(
    table: &Table,
    request: &CheckRequest,
    elements: (Datatype, Operator),
) -> Result<Vec<Point>, GuardError> {
    let deployment = request.deployment;
    // Only measured sizes have a time in the table to compare with, so thresholds are left to `validate`.
    let mut points = table_points(table, deployment, elements, false);
    if points.is_empty() {
        let deployment = deployment.into();
        return Err(GuardError::NothingToMeasure { deployment });
    }
    points.truncate(request.cells);
    add_probes(&mut points, table, deployment, elements, request.probing);
    Ok(points)
}
