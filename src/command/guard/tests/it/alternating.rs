//! Launches with and without a table: their environments, and the comparisons between them.

use std::ffi::OsString;
use std::num::NonZero;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use guard::{
    Activation, AlternatingMeasurer, Judgement, ValidateOptions, table_points, validate_points,
};
use launcher::{Job, LaunchError, Launcher, Running};
use schedule::Collective;
use simulated::SimulatedLauncher;
use table::Deployment;
use tuner::{MeasurementContext, SearchPaths, Silent};
use vocabulary::{Datatype, Operator};
use wire::Plan;

use crate::simulation::{Tuned, machine, tuned};

/// A machine on which launches with a table use other algorithms.
struct Switched {
    without: SimulatedLauncher,
    with: SimulatedLauncher,
    /// Whether each launch had the table.
    launches: Arc<Mutex<Vec<bool>>>,
}

impl Launcher for Switched {
    fn start(&self, job: &Job) -> Result<Box<dyn Running>, LaunchError> {
        let has_table = job.environment == variables();
        assert!(
            has_table || job.environment.is_empty(),
            "{:?}",
            job.environment
        );
        let plan = std::fs::read(&job.plan).expect("a plan");
        let plan: Plan = serde_json::from_slice(&plan).expect("a plan");
        let mut launches = self.launches.lock().expect("launches");
        // The first launch chooses the number of calls in a repetition, and all others use it.
        let chosen = (!launches.is_empty()).then_some(NonZero::<u32>::MIN);
        assert!(
            plan.tasks.iter().all(|task| task.calls == chosen),
            "{plan:?}"
        );
        launches.push(has_table);
        if has_table {
            self.with.start(job)
        } else {
            self.without.start(job)
        }
    }
}

fn variables() -> Vec<(OsString, OsString)> {
    vec![("TABLE".into(), "/in/place".into())]
}

fn workplace(
    tuned: &Tuned,
    with: SimulatedLauncher,
) -> (MeasurementContext, Arc<Mutex<Vec<bool>>>) {
    let folder = tuned.folder.path();
    let campaign = folder.join("campaign.yaml");
    let mut at = MeasurementContext::from_campaign_file(&campaign, None, &SearchPaths::default())
        .expect("a workplace");
    let launches = Arc::default();
    at.launcher = Box::new(Switched {
        without: machine(),
        with,
        launches: Arc::clone(&launches),
    });
    at.campaign.output.store = folder.join("scratch/measured.db");
    (at, launches)
}

#[test]
fn the_default_with_the_table_is_compared_with_that_without() {
    let tuned = tuned();
    let elements = (Datatype::Float64, Operator::Sum);
    let mut points = table_points(&tuned.table, Deployment::Colltune, elements, false);
    points.retain(|point| {
        let is_short_bcast = point.cell.collective == Collective::Bcast && point.cell.bytes == 64;
        is_short_bcast && !point.keeps_default()
    });
    assert_eq!(points.len(), 2, "{points:?}");
    let deployed = Activation {
        environment: variables(),
        notes: Vec::new(),
    };
    let options = ValidateOptions {
        launches: 6,
        materiality: 0.0,
        material_loss: 0.05,
    };
    let judged = |with| {
        let (mut at, launches) = workplace(&tuned, with);
        let (mut silent, stop) = (Silent, AtomicBool::new(false));
        let mut turns = AlternatingMeasurer::new(&mut at, &deployed, &mut silent, &stop);
        let validated = validate_points(&points, &mut turns, &options).expect("validated");
        std::fs::remove_dir_all(tuned.folder.path().join("scratch")).expect("removed");
        let launches = launches.lock().expect("launches").clone();
        (validated, launches)
    };
    // The default's algorithm for short broadcasts.
    let default = "bcast/binomial";
    let (slower, launches) = judged(machine().with_slowed_algorithm(default, 1.5));
    assert!(
        slower
            .points
            .iter()
            .all(|point| point.judgement == Judgement::Slower),
        "{slower:?}"
    );
    // Six pairs, and ten for two suspects. Launches with and without the table come first in turns.
    assert_eq!(launches.len(), 2 * (6 + 10));
    assert_eq!(launches[..6], [true, false, false, true, true, false]);
    let ratio = slower.points[0].speedup.expect("measured").median;
    assert!((1.0 / ratio - 1.5).abs() < 0.1, "{ratio}");
    let (faster, faster_launches) = judged(machine().with_slowed_algorithm(default, 0.5));
    assert!(
        faster
            .points
            .iter()
            .all(|point| point.judgement == Judgement::Faster),
        "{faster:?}"
    );
    assert_eq!(faster_launches.len(), 2 * 6);
}
