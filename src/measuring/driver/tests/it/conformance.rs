//! Every algorithm of the registry, executed and compared with the expected result of its collective.

use std::collections::HashMap;
use std::num::NonZero;

use launcher::LibraryName;
use launcher::Outcome;
use schedule::{ALGORITHMS, Algorithm, Collective, Distribution, Parameter, Schedule, Unsupported};
use testkit::mpi::chosen_family;
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, Experiment, ExperimentKind, Operator, Parameters,
};
use wire::{Finish, PlannedWork, Record};

use crate::launch::{Bench, experiment, ours};

/// More ranks than cores if the library supports it; MPICH's ranks spin. This is a test of the driver; the tests of
/// `exec` try algorithms on more ranks.
fn most_ranks() -> u32 {
    match chosen_family() {
        LibraryName::OpenMpi => 7,
        LibraryName::Mpich | LibraryName::IntelMpi => 2,
    }
}

/// Elements of a call.
const ELEMENTS: [u64; 6] = [0, 1, 2, 7, 1000, 65537];

/// The candidates of a cell: the default, and every algorithm that supports it, with parameters that alternate from
/// cell to cell.
fn candidates(cell: &Cell, turn: usize) -> Vec<Candidate> {
    // An algorithm may refuse only the number of ranks.
    let serve = |algorithm: &'static Algorithm, parameters: Parameters| match Schedule::new(
        algorithm,
        &cell.schedule_request(&parameters),
    ) {
        Ok(_) => Some(ours(&algorithm.name(), parameters)),
        Err(Unsupported::OddRanks { .. }) => None,
        Err(error) => panic!("{algorithm}{parameters}: {error}"),
    };
    let of_turn = |algorithm: &'static Algorithm| {
        let all = variants(algorithm);
        // Each variant is tried with one of the sizes, for every number of ranks.
        let each = all.len().div_ceil(ELEMENTS.len());
        let chosen = all.into_iter().cycle().skip(turn * each).take(each);
        chosen.filter_map(move |parameters| serve(algorithm, parameters))
    };
    let algorithms = schedule::algorithms_of(cell.collective).flat_map(of_turn);
    [Candidate::Default].into_iter().chain(algorithms).collect()
}

/// The parameters to try: several numbers of blocks and radices, and every part of a composition once, since the parts
/// run one after the other.
fn variants(algorithm: &Algorithm) -> Vec<Parameters> {
    // The last number is more than are resolved in advance, and more than the elements of most calls.
    let blocks = choices(algorithm, Parameter::Blocks, &[1, 3, 7, 1500]);
    let radices = choices(algorithm, Parameter::Radix, &[2, 3, 64]);
    let ids = |parameter, collective| {
        let ids: Vec<&str> = schedule::part_algorithms_of(collective)
            .map(|part| part.id)
            .collect();
        choices(algorithm, parameter, &ids)
    };
    let reduces = ids(Parameter::Reduce, Collective::Reduce);
    let bcasts = ids(Parameter::Bcast, Collective::Bcast);
    let lengths = [blocks.len(), radices.len(), reduces.len(), bcasts.len()];
    let most = lengths.into_iter().max().unwrap_or(1);
    (0..most)
        .map(|turn| Parameters {
            blocks: blocks[turn % blocks.len()],
            radix: radices[turn % radices.len()],
            reduce: reduces[turn % reduces.len()].map(str::to_owned),
            bcast: bcasts[turn % bcasts.len()].map(str::to_owned),
            ..Parameters::default()
        })
        .collect()
}

/// The values of a parameter if the algorithm takes it, otherwise `None` alone.
fn choices<T: Copy>(algorithm: &Algorithm, parameter: Parameter, all: &[T]) -> Vec<Option<T>> {
    if algorithm.takes(parameter) {
        all.iter().copied().map(Some).collect()
    } else {
        vec![None]
    }
}

/// The cells of a number of ranks, each with the number of its turn.
fn cells(ranks: u32) -> Vec<(Cell, usize)> {
    let shape = CommShape {
        nodes: 1,
        ppn: ranks,
    };
    let kinds = [
        (Datatype::Int32, Operator::Sum),
        (Datatype::Int64, Operator::Max),
        (Datatype::Float32, Operator::Max),
        (Datatype::Float64, Operator::Sum),
    ];
    let mut cells = Vec::new();
    let turns = ranks as usize..;
    for ((elements, kind), turn) in ELEMENTS
        .into_iter()
        .zip(kinds.into_iter().cycle())
        .zip(turns)
    {
        for collective in Collective::ALL {
            let (datatype, operator) = if collective.is_reduction() {
                (kind.0, Some(kind.1))
            } else {
                (Datatype::Byte, None)
            };
            let bytes = if collective.has_data() {
                elements * datatype.size_bytes()
            } else {
                0
            };
            let cell = Cell {
                collective,
                shape,
                bytes,
                datatype,
                operator,
                distribution: if collective.is_irregular() {
                    Distribution::ALL[turn % Distribution::ALL.len()]
                } else {
                    Distribution::Uniform
                },
            };
            cells.push((cell, turn));
        }
    }
    cells
}

#[test]
fn every_algorithm_returns_the_result_of_its_collective() {
    let most = most_ranks();
    let work: Vec<PlannedWork> = (1..=most)
        .flat_map(cells)
        .map(|(cell, turn)| PlannedWork::Compare {
            cell,
            candidates: candidates(&cell, turn),
        })
        .collect();
    assert_everything_has_a_turn(&work);
    let bench = Bench::new(work);
    let (exit, records) = bench.run(most);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let mut measured = 0;
    for record in &records {
        match record {
            Record::Failed { .. } => panic!("{record:?}"),
            Record::Done(done) => {
                let PlannedWork::Compare { cell, candidates } =
                    &bench.plan.tasks[done.task as usize].work
                else {
                    panic!("only comparisons were asked for")
                };
                assert_eq!(done.measurements.len(), candidates.len(), "{cell}");
                assert!(
                    done.measurements
                        .iter()
                        .all(|m| m.seconds.iter().all(|s| *s > 0.0))
                );
                measured += 1;
            }
            _ => {}
        }
    }
    assert_eq!(measured, bench.plan.tasks.len());
    assert_eq!(
        records.last(),
        Some(&Record::Finished {
            reason: Finish::Complete
        })
    );
}

/// Asserts that every algorithm and every possible part is tried.
fn assert_everything_has_a_turn(work: &[PlannedWork]) {
    let mut seen: HashMap<String, Vec<Parameters>> = HashMap::new();
    for planned in work {
        if let PlannedWork::Compare { candidates, .. } = planned {
            for candidate in candidates {
                let known = seen.entry(candidate.algorithm().to_owned()).or_default();
                known.push(candidate.parameters());
            }
        }
    }
    for algorithm in ALGORITHMS {
        let seen = seen.get(&algorithm.name());
        for variant in variants(algorithm) {
            let has_turn = seen.is_some_and(|seen| seen.contains(&variant));
            assert!(has_turn, "{algorithm}{variant}");
        }
    }
}

#[test]
fn experiments_among_several_ranks_give_plausible_times() {
    let check = |ranks: u32, ppn: u32, kinds: &[(ExperimentKind, u32)]| {
        let on = |(kind, nodes), bytes| {
            let shape = CommShape { nodes, ppn };
            PlannedWork::Experiment(Experiment {
                kind,
                shape,
                bytes,
                through: vocabulary::Through::Mpi,
            })
        };
        let sizes = [1 << 13, 1 << 20];
        let work = kinds
            .iter()
            .flat_map(|kind| sizes.map(|bytes| on(*kind, bytes)));
        let mut bench = Bench::new(work.collect());
        bench.plan.pretended_ppn = NonZero::new(ppn);
        bench.plan.repetition.minimum = 10;
        bench.plan.repetition.maximum = 20;
        let (exit, records) = bench.run(ranks);
        assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
        let medians = medians(&records);
        assert_eq!(medians.len(), 2 * kinds.len());
        assert!(
            medians.iter().all(|seconds| (1e-7..1.0).contains(seconds)),
            "{medians:?}"
        );
    };
    let all = [
        (ExperimentKind::Shift, 3),
        (ExperimentKind::FanOut, 3),
        (ExperimentKind::FanIn, 3),
        (ExperimentKind::Injection, 2),
    ];
    check(3, 1, &all);
    if most_ranks() >= 4 {
        check(4, 2, &[(ExperimentKind::Injection, 2)]);
    }
}

#[test]
fn only_a_long_message_waits_for_a_late_receiver() {
    let late = |bytes| experiment(ExperimentKind::Late, 2, bytes);
    let mut bench = Bench::new(vec![late(64), late(4 << 20)]);
    bench.plan.repetition.minimum = 20;
    bench.plan.repetition.maximum = 50;
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let [short, long] = medians(&records)[..] else {
        panic!("{records:?}");
    };
    let late_seconds = ExperimentKind::LATE_SECONDS;
    assert!(
        short < 0.5 * late_seconds && long > 0.9 * late_seconds,
        "{short} {long}"
    );
}

/// The recorded time is that of a message; a call has many messages.
#[test]
fn a_burst_takes_no_longer_than_its_slice() {
    let mut bench = Bench::new(vec![experiment(ExperimentKind::Burst, 2, 1)]);
    bench.plan.repetition.minimum = 5;
    bench.plan.repetition.maximum = 1000;
    bench.plan.repetition.slice_seconds = 0.02;
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let calls = records.iter().find_map(|record| match record {
        Record::Done(done) => done.measurements.first(),
        _ => None,
    });
    let calls = calls.expect("measured");
    let message = medians(&records)[0];
    let messages = f64::from(calls.batch * ExperimentKind::BURST) * calls.seconds.len() as f64;
    // Warm-up may have been several times slower or faster.
    assert!(
        messages * message < 0.1,
        "{messages} messages of {message} s"
    );
}

fn medians(records: &[Record]) -> Vec<f64> {
    records
        .iter()
        .filter_map(|record| match record {
            Record::Done(done) => statistics::median(&done.measurements[0].seconds),
            _ => None,
        })
        .collect()
}

#[test]
fn experiments_give_plausible_times() {
    let combine = ExperimentKind::Combine {
        datatype: Datatype::Float64,
        operator: Operator::Sum,
    };
    let kinds = [
        ExperimentKind::PingPong,
        ExperimentKind::Exchange,
        ExperimentKind::Burst,
        combine,
        ExperimentKind::Copy,
    ];
    let sizes = [1 << 13, 1 << 20];
    let work = kinds
        .into_iter()
        .flat_map(|kind| sizes.map(|bytes| experiment(kind, 2, bytes)))
        .collect();
    let mut bench = Bench::new(work);
    bench.plan.repetition.minimum = 20;
    bench.plan.repetition.maximum = 200;
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let medians = medians(&records);
    assert_eq!(medians.len(), 10);
    for pair in medians.chunks(2) {
        // A megabyte takes longer than a 128th of it, and neither takes a second.
        assert!(
            pair[0] > 0.0 && pair[0] < pair[1] && pair[1] < 1.0,
            "{medians:?}"
        );
    }
}
