//! The sizes between those of a campaign at which choices are confirmed.

use std::collections::BTreeSet;

use fit::{Confirmation, DecideOptions, Exploration, FreshMeasurements, summarise_samples};
use schedule::Collective;
use table::Deployment;
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, Operator, Parameters, Pattern, Sample, Subject,
};

use crate::synthetic::{ours, sample};

/// The sizes at which a broadcast that is twice as fast as the default at 8K and 16K is tried.
fn tried(library: &str, ppn: u32) -> Vec<u64> {
    let cell_of_bytes = |bytes| Cell {
        collective: Collective::Bcast,
        shape: CommShape { nodes: 1, ppn },
        bytes,
        datatype: Datatype::Float64,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    };
    let grid = [cell_of_bytes(8 << 10), cell_of_bytes(16 << 10)];
    let chosen = ours("bcast/mst", None);
    let mut samples = Vec::new();
    for launch in 1..=6 {
        for cell in grid {
            for (candidate, seconds) in [(&Candidate::Default, 2e-5), (&chosen, 1e-5)] {
                let subject = Subject::Cell(cell);
                samples.push(sample(launch, subject, candidate, vec![seconds; 3]));
            }
        }
    }
    let summaries = summarise_samples(&samples, Pattern::Together).expect("times");
    let options = DecideOptions::default();
    let exploration = Exploration {
        library,
        summaries: &summaries,
        failures: &[],
        machine: None,
        options: &options,
        grid: &grid,
    };
    let fresh = FreshMeasurements::from_samples(&[(Pattern::Together, Vec::new())], &[], &options)
        .expect("times");
    let confirmation = Confirmation::from_fresh_launches(exploration, &fresh);
    let trials = confirmation.open.iter();
    let sizes: BTreeSet<u64> = trials.map(|trial| trial.cell.bytes).collect();
    sizes.into_iter().collect()
}

/// MPICH switches algorithms at 12288 bytes from 8 ranks on.
#[test]
fn a_probe_lies_where_the_library_is_known_to_switch_algorithms() {
    assert_eq!(tried("mpich", 8), [8192, 12288, 16384]);
    assert_eq!(tried("mpich", 4), [8192, 11592, 16384]);
    assert_eq!(tried("unknown", 8), [8192, 11592, 16384]);
}

const SIZES: [u64; 3] = [8 << 10, 16 << 10, 32 << 10];

fn at(bytes: u64) -> Cell {
    Cell {
        collective: Collective::Bcast,
        shape: CommShape { nodes: 1, ppn: 4 },
        bytes,
        datatype: Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    }
}

fn native(number: u64) -> Candidate {
    Candidate::Native {
        algorithm: format!("native:bcast/number_{number}"),
        parameters: Parameters::default(),
    }
}

/// The confirmation after exploring launches at the first and the last size, with three candidates of its own each,
/// that are twice as fast as the default.
fn confirmation<T>(fresh: &[Sample], see: impl FnOnce(Confirmation<'_>) -> T) -> T {
    let mut samples = Vec::new();
    for launch in 1..=6 {
        for (bytes, first) in [(SIZES[0], 0), (SIZES[2], 3)] {
            let subject = Subject::Cell(at(bytes));
            samples.push(sample(launch, subject, &Candidate::Default, vec![2e-5; 3]));
            for number in first..first + 3 {
                samples.push(sample(launch, subject, &native(number), vec![1e-5; 3]));
            }
        }
    }
    let summaries = summarise_samples(&samples, Pattern::Together).expect("times");
    let options = DecideOptions::default();
    let exploration = Exploration {
        library: "unknown",
        summaries: &summaries,
        failures: &[],
        machine: None,
        options: &options,
        grid: &SIZES.map(at),
    };
    let fresh =
        FreshMeasurements::from_samples(&[(Pattern::Together, fresh.to_vec())], &[], &options)
            .expect("times");
    see(Confirmation::from_fresh_launches(exploration, &fresh))
}

/// Campaigns into one store may reduce with different operators, and then a series has points of both. A probe has the
/// operator of the point below it when fresh launches measured it, and stays a point when sizes are added around it.
#[test]
fn former_probes_count_with_each_operator_of_their_series() {
    let reduce = |bytes, operator| Cell {
        collective: Collective::Allreduce,
        datatype: Datatype::Float64,
        operator: Some(operator),
        ..at(bytes)
    };
    let explored = [
        reduce(8 << 10, Operator::Sum),
        reduce(16 << 10, Operator::Max),
        reduce(32 << 10, Operator::Sum),
    ];
    let chosen = ours("allreduce/ring", None);
    let measured = |cells: &[Cell], launches: u32| {
        let mut samples = Vec::new();
        for launch in 1..=launches {
            for subject in cells.iter().copied().map(Subject::Cell) {
                for (candidate, seconds) in [(&Candidate::Default, 2e-5), (&chosen, 1e-5)] {
                    samples.push(sample(launch, subject, candidate, vec![seconds; 3]));
                }
            }
        }
        samples
    };
    let summaries = summarise_samples(&measured(&explored, 6), Pattern::Together).expect("times");
    let options = DecideOptions::default();
    let exploration = Exploration {
        library: "unknown",
        summaries: &summaries,
        failures: &[],
        machine: None,
        options: &options,
        grid: &[],
    };
    for (operator, counts) in [
        (Operator::Sum, true),
        (Operator::Max, true),
        (Operator::Noncommutative, false),
    ] {
        let former = reduce(20_000, operator);
        let samples = measured(&[former], 2);
        let fresh = FreshMeasurements::from_samples(&[(Pattern::Together, samples)], &[], &options);
        let fresh = fresh.expect("times");
        let confirmation = Confirmation::from_fresh_launches(exploration, &fresh);
        let trial = confirmation.open.iter().find(|trial| trial.cell == former);
        assert_eq!(
            trial.map(|trial| trial.done),
            counts.then_some(2),
            "{operator:?}"
        );
    }
}

#[test]
fn a_size_that_was_not_explored_tries_as_few_candidates_as_others() {
    let mut samples = Vec::new();
    let mut tried: BTreeSet<(u64, Candidate)> = BTreeSet::new();
    // All candidates are slower than the default in each launch.
    loop {
        let open = confirmation(&samples, |confirmation| confirmation.open.clone());
        if open.is_empty() {
            break;
        }
        for trial in open {
            for candidate in &trial.candidates {
                let is_default = *candidate == Candidate::Default;
                let seconds = if is_default { 1e-5 } else { 2e-5 };
                let subject = Subject::Cell(trial.cell);
                let of_launch = |launch| sample(launch, subject, candidate, vec![seconds; 3]);
                if is_default || tried.insert((trial.cell.bytes, candidate.clone())) {
                    samples.extend((1..=6).map(of_launch));
                }
            }
        }
    }
    for bytes in SIZES {
        let here = tried.iter().filter(|(size, _)| *size == bytes);
        assert_eq!(here.count(), 3, "{bytes}: {tried:?}");
    }
}

#[test]
fn times_below_the_resolution_of_the_timer_confirm_nothing() {
    let chosen = |times: [f64; 6]| {
        let subject = Subject::Cell(at(SIZES[0]));
        let of_launch = |(launch, seconds): (u32, f64)| {
            [(Candidate::Default, 2e-5), (native(0), seconds)]
                .map(|(candidate, seconds)| sample(launch, subject, &candidate, vec![seconds; 3]))
        };
        let samples: Vec<Sample> = (1..).zip(times).flat_map(of_launch).collect();
        let decisions = confirmation(&samples, |confirmation| {
            confirmation.decisions(Deployment::Library)
        });
        let mut here = decisions.into_iter();
        let here = here.find(|decision| decision.cell.bytes == SIZES[0]);
        here.expect("decided").chosen
    };
    assert_eq!(chosen([1e-5; 6]), native(0));
    let some = [0.0, 0.0, 0.0, 0.0, 1e-5, 1e-5];
    assert_eq!(chosen(some), Candidate::Default);
}

/// The candidate between the middle size, where the first candidate is confirmed, and the last one, where another is, if
/// the first gains `gain` there in exploring launches and `refuted` says whether fresh launches refuted it there.
fn up_to_the_last_size(gain: f64, refuted: bool) -> Candidate {
    let [first, other] = [native(0), native(1)];
    let default = Candidate::Default;
    let mut explored = Vec::new();
    let mut fresh = Vec::new();
    for launch in 1..=6 {
        let add = |to: &mut Vec<Sample>, bytes: u64, times: &[(&Candidate, f64)]| {
            for (candidate, seconds) in times {
                let subject = Subject::Cell(at(bytes));
                to.push(sample(launch, subject, candidate, vec![*seconds; 3]));
            }
        };
        let low = [(&default, 2e-5), (&first, 1e-5), (&other, 3e-5)];
        let high = [(&default, 2e-5), (&first, 2e-5 / gain), (&other, 0.5e-5)];
        add(&mut explored, SIZES[0], &low);
        add(&mut explored, SIZES[2], &high);
        add(&mut fresh, SIZES[0], &low[..2]);
        add(&mut fresh, SIZES[1], &low);
        add(&mut fresh, SIZES[2], &[high[0], high[2]]);
        if refuted {
            add(&mut fresh, SIZES[2], &[(&first, 3e-5)]);
        }
    }
    let summaries = summarise_samples(&explored, Pattern::Together).expect("times");
    let options = DecideOptions::default();
    let exploration = Exploration {
        library: "unknown",
        summaries: &summaries,
        failures: &[],
        machine: None,
        options: &options,
        grid: &[at(SIZES[0]), at(SIZES[2])],
    };
    let fresh = FreshMeasurements::from_samples(&[(Pattern::Together, fresh)], &[], &options)
        .expect("times");
    let confirmation = Confirmation::from_fresh_launches(exploration, &fresh);
    let decisions = confirmation.decisions(Deployment::Colltune);
    let chosen: Vec<&Candidate> = decisions.iter().map(|decision| &decision.chosen).collect();
    assert_eq!(chosen, [&first, &first, &other]);
    assert_eq!(decisions[0].up_to_next, Some(first));
    decisions[1].up_to_next.clone().expect("not the last size")
}

#[test]
fn a_choice_extends_to_a_size_with_another_choice_where_it_is_far_faster_than_the_default() {
    assert_eq!(up_to_the_last_size(1.5, false), native(0));
    assert_eq!(up_to_the_last_size(1.11, false), native(0));
    assert_eq!(up_to_the_last_size(1.08, false), Candidate::Default);
    assert_eq!(up_to_the_last_size(1.5, true), Candidate::Default);
}
