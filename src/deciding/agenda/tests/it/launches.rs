//! The launches that follow from a campaign, from what was measured, and from the time that is left. No store takes
//! part.

use std::collections::BTreeSet;

use agenda::{Agenda, History, NextLaunch, NextStep};
use vocabulary::{Candidate, Cell, Pattern, Purpose, Subject};
use wire::PlannedWork;

use crate::bench::{Bench, bcast, compared, library, linear_is_fast_when_small, newest_round};

/// The time of a launch, in seconds, where it does not matter.
const SHORT: f64 = 1.0;

const LINEAR: &str = "bcast/linear";

fn purposes(launches: &[NextLaunch]) -> Vec<Purpose> {
    launches.iter().map(|next| next.purpose).collect()
}

/// The number of measurements of a candidate in a cell and pattern, for a purpose.
fn count(launches: &[NextLaunch], purpose: Purpose, cell: &Cell, name: &str) -> usize {
    let of_purpose = launches.iter().filter(|next| next.purpose == purpose);
    let cells = of_purpose.flat_map(compared);
    let mut candidates = cells
        .filter(|(measured, _)| measured == cell)
        .flat_map(|(_, candidates)| candidates)
        .collect::<Vec<_>>();
    candidates.retain(|candidate| candidate.algorithm() == name);
    candidates.len()
}

#[test]
fn experiments_are_made_alone_and_first() {
    let mut bench = Bench::exhaustive("confirmation: off\n");
    let first = bench.next_launch();
    assert!(
        first
            .tasks
            .iter()
            .all(|task| matches!(task.work, PlannedWork::Experiment(_)))
    );
    let ids: Vec<u32> = first.tasks.iter().map(|task| task.id).collect();
    assert!(ids.into_iter().eq(0..first.tasks.len() as u32));
    bench.carry_out(&first, SHORT);
    let second = bench.next_launch();
    assert_eq!(compared(&second).len(), second.tasks.len());
    assert_eq!(second.tasks.len(), 3);
}

#[test]
fn an_exhaustive_campaign_measures_everything_in_each_launch() {
    let mut bench = Bench::exhaustive("confirmation: off\n");
    let made = bench.carry_out_all(SHORT);
    // The experiments have a launch of their own, and are then made with the cells.
    assert_eq!(made.len(), 1 + 3);
    let rounds: Vec<u32> = made[1..].iter().map(newest_round).collect();
    assert_eq!(rounds, [0, 1, 2]);
    let agenda = bench.agenda();
    for next in &made[1..] {
        let measured: BTreeSet<(Cell, Vec<Candidate>)> = compared(next).into_iter().collect();
        let asked: BTreeSet<_> = agenda.scope.cells.iter().cloned().collect();
        assert_eq!(measured, asked);
    }
    assert_eq!(bench.next_step(), NextStep::Done);
    let progress = agenda.count_progress();
    assert_eq!(progress.done, progress.total);
    assert_eq!(
        agenda.forecast(&bench.campaign, &bench.history).turns_left,
        0
    );
}

#[test]
fn the_same_measurements_give_the_same_launch_in_any_order() {
    let mut bench = Bench::exhaustive("strategy: guided\n");
    for _ in 0..100 {
        let NextStep::Launch(next) = bench.next_step() else {
            break;
        };
        // As another process computes it, without the predictions of this one, from a store in another order.
        let mut stored = bench.history.clone();
        stored.explored.reverse();
        stored.failures.reverse();
        let again = Agenda::new(&bench.campaign, &stored, &library(), &[]).expect("an agenda");
        let step = again.next_step(&bench.campaign, &stored);
        assert_eq!(step, NextStep::Launch(next.clone()));
        bench.carry_out(&next, SHORT);
    }
    assert_eq!(bench.next_step(), NextStep::Done);
}

#[test]
fn tasks_that_an_interrupted_launch_left_come_first() {
    let mut bench = Bench::exhaustive("confirmation: off\n");
    let experiments = bench.next_launch();
    bench.carry_out(&experiments, SHORT);
    let whole = bench.next_launch();
    bench.carry_out_part(&whole, 1, SHORT);
    let rest = bench.next_launch();
    assert_eq!(compared(&rest), compared(&whole)[1..]);
    assert_eq!(newest_round(&rest), 0);
    bench.carry_out(&rest, SHORT);
    assert_eq!(compared(&bench.next_launch()).len(), 3);
    assert_eq!(newest_round(&bench.next_launch()), 1);
}

#[test]
fn a_guided_campaign_takes_the_same_course_after_an_interrupt() {
    let lines = "shapes: [2x1, 4x1, 8x1]\nsizes: 1K..1M x4\nconfirmation: off\n";
    let mut bench = Bench::new(lines, linear_is_fast_when_small);
    let experiments = bench.next_launch();
    bench.carry_out(&experiments, SHORT);
    let whole = bench.next_launch();
    assert!(whole.tasks.len() > 3, "{}", whole.tasks.len());
    bench.carry_out_part(&whole, 2, SHORT);
    // The measurements so far would ask for others.
    let rest = bench.next_launch();
    assert_eq!(compared(&rest), compared(&whole)[2..]);
    // A candidate that failed since is left out.
    let (cell, candidates) = compared(&rest).remove(0);
    let failed = candidates.last().expect("a candidate").clone();
    bench.history.failures = vec![(Subject::Cell(cell), failed.clone())];
    let without = compared(&bench.next_launch()).remove(0);
    assert_eq!(without.0, cell);
    assert_eq!(without.1, candidates[..candidates.len() - 1]);
    // Without its default nothing can be compared.
    bench.history.failures = vec![(Subject::Cell(cell), Candidate::Default)];
    let others = compared(&bench.next_launch());
    assert_eq!(others, compared(&rest)[1..]);
}

#[test]
fn a_guided_campaign_measures_less_and_comes_to_an_end() {
    let lines = "shapes: [2x1, 4x1, 8x1]\nsizes: 1K..1M x4\nconfirmation: off\n";
    let mut bench = Bench::new(lines, linear_is_fast_when_small);
    let made = bench.carry_out_all(SHORT);
    assert_eq!(bench.next_step(), NextStep::Done);
    let turns: usize = made
        .iter()
        .flat_map(compared)
        .map(|(_, candidates)| candidates.len())
        .sum();
    let all = bench.agenda().exhaustive_turns();
    assert!(2 * turns as u64 <= all, "{turns} of {all}");
    // First looks at cells are short; the launches that decisions rest on are not.
    let mut first_looks = 0;
    for next in &made {
        let is_first_look = compared(next).len() == next.tasks.len() && newest_round(next) == 0;
        let is_short = next.repetition.minimum < bench.campaign.repetitions.minimum;
        assert_eq!(is_short, is_first_look, "{next:?}");
        first_looks += usize::from(is_first_look);
    }
    assert!((1..made.len() - 1).contains(&first_looks), "{first_looks}");
    for bytes in [1024, 1 << 20] {
        let measured = count(&made, Purpose::Exploring, &bcast(bytes, 8), "default");
        assert!(measured >= 3, "{measured} at {bytes}");
    }
}

#[test]
fn choices_are_confirmed_in_fresh_launches_once_nothing_is_left_to_explore() {
    let mut bench = Bench::exhaustive("");
    let made = bench.carry_out_all(SHORT);
    assert_eq!(bench.next_step(), NextStep::Done);
    let first = purposes(&made)
        .iter()
        .position(|purpose| *purpose == Purpose::Confirming)
        .expect("confirming launches");
    assert_eq!(first, 1 + 3);
    assert!(
        purposes(&made)[first..]
            .iter()
            .all(|purpose| *purpose == Purpose::Confirming)
    );
    // The candidate that is faster is tried in both patterns, as often as a sign test needs, and nothing else there.
    let small = bcast(1024, 4);
    assert_eq!(count(&made, Purpose::Confirming, &small, LINEAR), 2 * 6);
    for next in &made[first..] {
        for (cell, candidates) in compared(next) {
            assert_eq!(candidates[0], Candidate::Default);
            assert!(cell != small || candidates.len() == 2, "{candidates:?}");
        }
    }
    let patterns: BTreeSet<Pattern> = made[first].tasks.iter().map(|task| task.pattern).collect();
    assert_eq!(patterns, [Pattern::Together, Pattern::Repeated].into());
    // Where the default is the fastest, nothing is confirmed.
    let large = bcast(1 << 20, 4);
    assert_eq!(count(&made, Purpose::Confirming, &large, "default"), 0);
}

#[test]
fn launches_from_before_purposes_decide_without_confirmation() {
    let mut bench = Bench::exhaustive("");
    bench.history.has_launch_without_purpose = true;
    let made = bench.carry_out_all(SHORT);
    assert_eq!(purposes(&made), [Purpose::Exploring; 4]);
    assert!(!bench.agenda().keeps_time());
}

#[test]
fn failed_candidates_are_not_measured_again() {
    let mut bench = Bench::exhaustive("");
    let experiments = bench.next_launch();
    bench.carry_out(&experiments, SHORT);
    let (small, large) = (bcast(1024, 4), bcast(1 << 20, 4));
    let linear = compared(&bench.next_launch())
        .into_iter()
        .flat_map(|(_, candidates)| candidates)
        .find(|candidate| candidate.algorithm() == LINEAR)
        .expect("planned");
    bench.history.failures = vec![
        (Subject::Cell(small), linear),
        (Subject::Cell(large), Candidate::Default),
    ];
    let made = bench.carry_out_all(SHORT);
    assert_eq!(bench.next_step(), NextStep::Done);
    let explored = |cell, name| count(&made, Purpose::Exploring, cell, name);
    assert_eq!(explored(&small, LINEAR), 0);
    assert_eq!(explored(&small, "default"), 3);
    // Nothing can be compared with a default that fails.
    assert_eq!(explored(&large, LINEAR), 0);
    assert_eq!(count(&made, Purpose::Confirming, &small, LINEAR), 0);
}

#[test]
fn choices_are_confirmed_when_the_time_for_exploring_is_over() {
    let mut bench = Bench::exhaustive("budget: 100s\n");
    let exploring_seconds = bench.campaign.exploring_seconds();
    let experiments = bench.next_launch();
    assert_eq!(experiments.deadline_seconds, exploring_seconds);
    bench.carry_out(&experiments, 10.0);
    let cells = bench.next_launch();
    assert_eq!(cells.deadline_seconds, exploring_seconds - 10.0);
    bench.carry_out(&cells, exploring_seconds - 10.0);
    // Two more launches were wanted.
    let confirming = bench.next_launch();
    assert_eq!(confirming.purpose, Purpose::Confirming);
    assert_eq!(confirming.deadline_seconds, 100.0 - exploring_seconds);
    assert!(
        compared(&confirming)
            .iter()
            .any(|(cell, _)| cell.bytes == 1024)
    );
}

#[test]
fn nothing_is_launched_when_the_budget_is_spent() {
    let mut bench = Bench::exhaustive("budget: 100s\n");
    let experiments = bench.next_launch();
    bench.carry_out(&experiments, 10.0);
    let cells = bench.next_launch();
    bench.carry_out(&cells, 90.0);
    let agenda = bench.agenda();
    assert_eq!(bench.next_step(), NextStep::OutOfTime);
    let progress = agenda.count_progress();
    assert!(progress.done < progress.total, "{progress:?}");
    let needed = agenda.needed_budget(&bench.campaign, &bench.history);
    assert!(needed.is_some_and(|seconds| seconds > 100.0), "{needed:?}");
    let forecast = agenda.forecast(&bench.campaign, &bench.history);
    assert_eq!((forecast.seconds, forecast.spent_seconds), (0.0, 100.0));
    // A larger budget continues.
    let mut larger = Bench::exhaustive("budget: 1000s\n");
    larger.history = bench.history;
    assert_eq!(larger.next_launch().purpose, Purpose::Exploring);
    assert_eq!(newest_round(&larger.next_launch()), 1);
}

#[test]
fn a_campaign_without_a_store_explores_however_small_its_budget_is() {
    // Less than a launch needs to start.
    let mut bench = Bench::exhaustive("launcher: local\nshapes: 1x4\nbudget: 1s\n");
    assert_eq!(bench.agenda().next_purpose(), Purpose::Confirming);
    bench.history = History::default();
    let next = bench.next_launch();
    assert_eq!(next.purpose, Purpose::Exploring);
    let progress = bench.agenda().count_progress();
    assert_eq!(progress.done, 0);
    assert!(progress.total > 0);
}

#[test]
fn jobs_of_their_own_begin_with_the_fewest_nodes() {
    let lines = "launcher: {slurm: {allocation: separate, job: {account: a}}}\n\
                 shapes: [2x1, 4x1]\nsizes: [1K, 64K]\nstrategy: exhaustive\n\
                 candidates: {include: [bcast/linear]}\nconfirmation: off\n";
    let mut bench = Bench::new(lines, linear_is_fast_when_small);
    let mut nodes = Vec::new();
    for next in bench.carry_out_all(SHORT) {
        let of_launch: BTreeSet<u32> = next
            .tasks
            .iter()
            .map(|task| task.work.shape().nodes)
            .collect();
        assert_eq!(of_launch.len(), 1, "{of_launch:?}");
        nodes.extend(of_launch);
    }
    assert!(nodes.contains(&4), "{nodes:?}");
    assert_eq!(bench.next_step(), NextStep::Done);
}

#[test]
fn a_launch_shares_the_rest_of_its_time_among_its_turns() {
    let mut bench = Bench::exhaustive(
        "launcher: local\nshapes: 1x4\nrepetitions: {slice: auto}\nconfirmation: off\nbudget: 1000s\n",
    );
    let experiments = bench.next_launch();
    bench.carry_out(&experiments, 10.0);
    let early = bench.next_launch().repetition.slice_seconds;
    // The launch takes longer than planned, so that less is left for the others.
    let cells = bench.next_launch();
    bench.carry_out(&cells, 900.0);
    let late = bench.next_launch().repetition.slice_seconds;
    assert!(late > 0.0 && late < 0.5 * early, "{late} after {early}");
}
