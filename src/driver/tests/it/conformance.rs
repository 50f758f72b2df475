//! Every algorithm of the registry, executed and compared with what the collective must give.

use campaign::LibraryName;
use campaign::launcher::Outcome;
use schedule::{ALGORITHMS, Algorithm, Collective, Parameter, of};
use wire::{
    Candidate, Cell, CommShape, Datatype, ExperimentKind, Finish, Operator, Parameters, Record,
    Work,
};

use crate::launch::{Bench, experiment, family, ours};

/// More ranks than cores, as far as the library bears it: MPICH's ranks spin.
fn most_ranks() -> u32 {
    match family() {
        LibraryName::OpenMpi => 7,
        LibraryName::Mpich => 3,
    }
}

/// The parameters worth trying: several numbers of blocks; every part of a composition once, since
/// the verifier has gone through all pairs.
fn candidates(algorithm: &'static Algorithm) -> Vec<Candidate> {
    let blocks = match algorithm.takes(Parameter::Blocks) {
        // The last is more than are resolved beforehand, and more than there are elements.
        true => vec![Some(1), Some(3), Some(7), Some(1500)],
        false => vec![None],
    };
    let named = |blocks, reduce, bcast| {
        let parameters = Parameters {
            blocks,
            reduce,
            bcast,
            block_bytes: None,
        };
        ours(&algorithm.name(), parameters)
    };
    if !algorithm.takes(Parameter::Reduce) {
        return blocks.into_iter().map(|b| named(b, None, None)).collect();
    }
    let ids = |collective| of(collective).map(|part| Some(part.id.to_owned()));
    let reduces: Vec<_> = ids(Collective::Reduce).collect();
    let bcasts: Vec<_> = ids(Collective::Bcast).collect();
    (0..reduces.len().max(bcasts.len()))
        .map(|part| {
            let reduce = reduces[part % reduces.len()].clone();
            named(Some(3), reduce, bcasts[part % bcasts.len()].clone())
        })
        .collect()
}

fn cells(ranks: u32) -> Vec<Cell> {
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
    for (elements, kind) in [0, 1, 2, 7, 1000, 65537]
        .into_iter()
        .zip(kinds.into_iter().cycle())
    {
        for collective in Collective::ALL {
            let (datatype, operator) = match collective.is_reduction() {
                true => (kind.0, Some(kind.1)),
                false => (Datatype::Byte, None),
            };
            let bytes = elements * datatype.size_bytes();
            cells.push(Cell {
                collective,
                shape,
                bytes,
                datatype,
                operator,
            });
        }
    }
    cells
}

#[test]
fn every_algorithm_gives_the_result_of_its_collective() {
    let most = most_ranks();
    let work: Vec<Work> = (1..=most)
        .flat_map(cells)
        .map(|cell| {
            let ours = ALGORITHMS
                .iter()
                .filter(|a| a.collective == cell.collective);
            let candidates = [Candidate::Default]
                .into_iter()
                .chain(ours.flat_map(candidates));
            Work::Compare {
                cell,
                candidates: candidates.collect(),
            }
        })
        .collect();
    let bench = Bench::new(work);
    let (exit, records) = bench.run(most);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let mut measured = 0;
    for record in &records {
        match record {
            Record::Failed { .. } => panic!("{record:?}"),
            Record::Done(done) => {
                let Work::Compare { cell, candidates } = &bench.plan.tasks[done.task as usize].work
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

#[test]
fn experiments_give_plausible_times() {
    let combine = ExperimentKind::Combine {
        datatype: Datatype::Float64,
        operator: Operator::Sum,
    };
    let kinds = [ExperimentKind::PingPong, ExperimentKind::Exchange, combine];
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
    let medians: Vec<f64> = records
        .iter()
        .filter_map(|record| match record {
            Record::Done(done) => statistics::median(&done.measurements[0].seconds),
            _ => None,
        })
        .collect();
    assert_eq!(medians.len(), 6);
    for pair in medians.chunks(2) {
        // A megabyte takes longer than a 128th of it, and neither takes a second.
        assert!(
            pair[0] > 0.0 && pair[0] < pair[1] && pair[1] < 1.0,
            "{medians:?}"
        );
    }
}
