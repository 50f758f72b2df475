//! The library's own algorithms, forced, and mock-ups: results and names are correct.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use campaign::Campaign;
use launcher::LibraryName;
use launcher::Outcome;
use schedule::Collective;
use testkit::mpi::chosen_family;
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, Library, MOCKUPS, NativeAlgorithm, Operator, Parameters,
};
use wire::{FailureKind, PlannedWork, RULES_VARIABLE, Record};

use crate::launch::{Bench, allreduce};
use crate::trace::{Calls, function, trace, traced};

/// Numbers of ranks, and numbers of elements: fewer than ranks, not a multiple of the ranks, few and many.
fn sizes() -> (Vec<u32>, Vec<u64>) {
    match chosen_family() {
        LibraryName::OpenMpi => (vec![2, 3, 4], vec![0, 1, 3, 8, 1000, 1500, 65537]),
        // MPICH's ranks spin.
        LibraryName::Mpich | LibraryName::IntelMpi => (vec![2, 3], vec![1, 3, 20000]),
    }
}

/// The algorithms that can be forced, according to the driver.
pub(crate) fn natives(variables: &[(&str, &str)]) -> Vec<NativeAlgorithm> {
    let output = Command::new(env!("CARGO_BIN_EXE_colltune-driver"))
        .arg("--natives")
        .envs(variables.iter().copied())
        .output()
        .expect("started");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("a list")
}

fn campaign() -> Campaign {
    let text = "name: all\ncandidates: {include: ['native:*', 'mockup:*']}\n\
                parameters: {block_bytes: [1K], radix: [2], max_requests: [1]}\n";
    Campaign::parse(text, "all.yaml".as_ref()).expect("valid")
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    let (ranks, element_counts) = sizes();
    for ppn in ranks {
        for elements in &element_counts {
            for collective in Collective::ALL {
                if !collective.has_data() {
                    continue;
                }
                let (datatype, operator) = if collective.is_reduction() {
                    (Datatype::Int32, Some(Operator::Sum))
                } else {
                    (Datatype::Byte, None)
                };
                cells.push(Cell {
                    collective,
                    shape: CommShape { nodes: 1, ppn },
                    bytes: elements * datatype.size_bytes(),
                    datatype,
                    operator,
                    distribution: schedule::Distribution::Uniform,
                });
            }
        }
        cells.push(Cell {
            collective: Collective::Barrier,
            shape: CommShape { nodes: 1, ppn },
            bytes: 0,
            datatype: Datatype::Byte,
            operator: None,
            distribution: schedule::Distribution::Uniform,
        });
    }
    cells
}

/// The failures of candidates.
fn failures(records: &[Record]) -> BTreeMap<(u32, u32), FailureKind> {
    let failure = |record: &Record| match record {
        Record::Failed {
            task,
            candidate,
            kind,
            ..
        } => Some(((*task, *candidate), *kind)),
        _ => None,
    };
    records.iter().filter_map(failure).collect()
}

/// Whether all calls ran the algorithm and no other of the same collective, with its parameters. Some algorithms call
/// other collectives, and `generic` is the common part of the broadcasts.
fn is_genuine(collective: Collective, candidate: &Candidate, calls: &Calls) -> bool {
    let expected = function(collective, candidate.id());
    let parameters = candidate.parameters();
    calls.iter().all(|steps| {
        let begins = format!("{collective}/");
        let mut same = steps
            .iter()
            .filter(|step| step.function.starts_with(&begins));
        let Some(step) = same.next().filter(|step| step.function == expected) else {
            return false;
        };
        let segment = parameters
            .segment_bytes
            .and_then(|bytes| u32::try_from(bytes).ok());
        let wanted = match (collective, candidate.id()) {
            (Collective::Alltoall, _) => [parameters.max_requests, None],
            (Collective::Reduce, id) if id != "chain" => [segment, parameters.max_requests],
            _ => [segment, parameters.fanout],
        };
        let mut arguments = wanted.into_iter().zip(step.arguments);
        let has = |(asked, found): (Option<u32>, Option<u32>)| asked.is_none() || asked == found;
        same.next().is_none() && arguments.all(has)
    })
}

/// Whether MPICH ends the launch if the algorithm cannot serve the call, instead of returning an error.
fn aborts(candidate: &Candidate) -> bool {
    chosen_family() == LibraryName::Mpich
        && candidate.algorithm() == "native:reduce_scatter/noncommutative"
}

/// No measured call is in place.
fn is_for_calls_in_place(name: &str) -> bool {
    chosen_family() == LibraryName::Mpich && name.ends_with("/pairwise_sendrecv_replace")
}

/// A bench with all cells; each has the default and all candidates that a campaign may request.
fn everything(campaign: &Campaign, natives: &[NativeAlgorithm]) -> Bench {
    let mut bench = Bench::new(Vec::new());
    let library = &bench.plan.library;
    // For an unknown library no candidate is left out.
    let unknown = Library {
        name: "unknown".to_owned(),
        ..library.clone()
    };
    let candidates = |cell: &Cell| {
        let taken = campaign.foreign_candidates(cell, library, natives);
        let mut all = campaign.foreign_candidates(cell, &unknown, natives);
        all.retain(|candidate| !aborts(candidate) || taken.contains(candidate));
        [vec![Candidate::Default], all].concat()
    };
    let work = cells().into_iter().map(|cell| PlannedWork::Compare {
        candidates: candidates(&cell),
        cell,
    });
    let work = work.collect();
    bench.set_work(work);
    bench
}

#[test]
fn native_algorithms_and_mockups_are_right_and_carry_their_names() {
    let natives = natives(&[]);
    assert!(natives.len() > 15, "{natives:?}");
    let campaign = campaign();
    let mut bench = everything(&campaign, &natives);
    let is_traced = chosen_family() == LibraryName::OpenMpi;
    if is_traced {
        trace(&mut bench);
    } else {
        // Otherwise MPICH's ranks spin, for a time slice if they outnumber cores.
        bench.environment = vec![("MPIR_CVAR_POLLS_BEFORE_YIELD".into(), "10".into())];
    }
    let (exit, records) = bench.run(sizes().0.into_iter().max().unwrap_or(1));
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let Some(Record::Started(start)) = records.first() else {
        panic!("{records:?}")
    };
    assert_eq!(start.environment.natives, natives);
    let failed = failures(&records);
    let calls = is_traced.then(|| traced(&bench));
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for task in &bench.plan.tasks {
        let PlannedWork::Compare { cell, candidates } = &task.work else {
            panic!("only comparisons were asked for")
        };
        let taken = campaign.foreign_candidates(cell, &bench.plan.library, &natives);
        for (index, candidate) in (0..).zip(candidates) {
            let key = (task.id, index);
            let failure = failed.get(&key);
            let is_native = matches!(candidate, Candidate::Native { .. });
            // Libraries report that they cannot serve a call. A result is never wrong.
            assert!(
                failure.is_none() || (is_native && failure == Some(&FailureKind::MpiError)),
                "{candidate} in {cell}: {failure:?}"
            );
            // Without data a library may run no algorithm.
            if is_native && (cell.bytes > 0 || !cell.collective.has_data()) {
                let ran = calls.as_ref().and_then(|calls| calls.get(&key));
                let is_itself = if is_traced {
                    ran.is_some_and(|ran| is_genuine(cell.collective, candidate, ran))
                } else {
                    true
                };
                // No name is wrong, and no candidate is left out unnecessarily.
                assert_eq!(
                    failure.is_none() && is_itself,
                    taken.contains(candidate),
                    "{candidate} in {cell}: {failure:?}, ran {ran:?}"
                );
            }
            if failure.is_none() && (!is_native || taken.contains(candidate)) {
                seen.insert(candidate.algorithm().to_owned());
            }
        }
    }
    // Components have launches of their own.
    let is_component = |native: &&NativeAlgorithm| native.id.starts_with(Candidate::COMPONENT);
    let algorithms = natives.iter().filter(|native| !is_component(native));
    let names = algorithms.map(NativeAlgorithm::full_name);
    let names = names.filter(|name| !is_for_calls_in_place(name));
    for name in names.chain(MOCKUPS.iter().map(vocabulary::Mockup::full_name)) {
        assert!(seen.contains(&name), "{name} never had its turn");
    }
}

/// A component of Open MPI is measured only in a launch in which the library reports that it uses it.
#[test]
fn components_of_openmpi_are_measured_only_where_the_library_uses_them() {
    if chosen_family() != LibraryName::OpenMpi {
        return;
    }
    let listed = natives(&[]);
    let names: BTreeSet<String> = listed.iter().map(NativeAlgorithm::full_name).collect();
    let check = |variables: &[(&str, &str)], id: &str, fault: Option<&str>| {
        let algorithm = format!("native:allreduce/component_{id}");
        assert!(names.contains(&algorithm), "{names:?}");
        let candidate = Candidate::Native {
            algorithm,
            parameters: Parameters::default(),
        };
        let mut bench = Bench::new(vec![allreduce(2, 4000, vec![candidate])]);
        let variables = variables.iter();
        bench
            .environment
            .extend(variables.map(|(name, value)| ((*name).into(), (*value).into())));
        let (exit, records) = bench.run(2);
        assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
        let failed = records.iter().find_map(|record| match record {
            Record::Failed { message, .. } => Some(message.clone()),
            _ => None,
        });
        match fault {
            None => {
                assert_eq!(failed, None, "{id}");
                let is_done = |record: &Record| matches!(record, Record::Done(_));
                assert!(records.iter().any(is_done), "{records:?}");
            }
            Some(fault) => {
                let message = failed.expect("a failure");
                assert!(message.contains(fault), "{id}: {message}");
            }
        }
        // The report does not fill the log of the launch.
        let log = std::fs::read_to_string(bench.path("log")).unwrap_or_default();
        assert!(!log.contains("comm_select"), "{log}");
    };
    let sm = ("OMPI_MCA_coll_sm_priority", "99");
    let basic = ("OMPI_MCA_coll_basic_priority", "99");
    check(&[sm], "sm", None);
    check(&[basic], "basic", None);
    // Otherwise the times would be those of `tuned`, or of the component that was forced.
    check(&[], "basic", Some("only in launches with"));
    check(&[basic], "sm", Some("only in launches with"));
    // On one node `han` declines.
    let han = ("OMPI_MCA_coll_han_priority", "99");
    check(&[han], "han", Some("did not use the component"));
}

/// All candidates that a campaign requests, the library's and ours, give the right result and run the algorithm that
/// they name. The library's algorithms that a campaign leaves out give wrong results, are refused, or run another
/// algorithm.
#[test]
fn candidates_for_operators_that_do_not_commute_combine_in_order_under_mpi() {
    let natives = natives(&[]);
    let text = "name: all\ncandidates: {include: ['*', 'native:*']}\n\
                parameters: {block_bytes: [1K], radix: [2]}\n";
    let campaign = Campaign::parse(text, "all.yaml".as_ref()).expect("valid");
    let mut bench = Bench::new(Vec::new());
    let library = bench.plan.library.clone();
    let is_traced = chosen_family() == LibraryName::OpenMpi;
    let ranks: &[u32] = if is_traced { &[3, 4] } else { &[2, 3] };
    let mut work = Vec::new();
    for &ppn in ranks {
        for (elements, datatype) in [(1, Datatype::Int32), (1000, Datatype::Float64)] {
            for collective in Collective::ALL {
                let cell = Cell {
                    collective,
                    shape: CommShape { nodes: 1, ppn },
                    bytes: elements * datatype.size_bytes(),
                    datatype,
                    operator: Some(Operator::Noncommutative),
                    distribution: schedule::Distribution::Uniform,
                };
                if !collective.is_reduction() {
                    continue;
                }
                let mut candidates = campaign.candidates(&cell, &|_| None).distinct;
                candidates.extend(campaign.foreign_candidates(&cell, &library, &natives));
                if is_traced {
                    // The candidates that are left out; MPICH may abort for some of them.
                    let sum = Cell {
                        operator: Some(Operator::Sum),
                        ..cell
                    };
                    let all = campaign.foreign_candidates(&sum, &library, &natives);
                    let left_out = all.into_iter().filter(|other| !candidates.contains(other));
                    let left_out: Vec<Candidate> = left_out.collect();
                    candidates.extend(left_out);
                }
                work.push(PlannedWork::Compare { cell, candidates });
            }
        }
    }
    bench.set_work(work);
    if is_traced {
        trace(&mut bench);
    } else {
        // Otherwise MPICH's ranks spin, for a time slice if they outnumber cores.
        bench.environment = vec![("MPIR_CVAR_POLLS_BEFORE_YIELD".into(), "10".into())];
    }
    let (exit, records) = bench.run(ranks[1]);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let failed = failures(&records);
    let calls = is_traced.then(|| traced(&bench));
    let (mut right, mut wrong, mut something_else) = (0, 0, BTreeSet::new());
    for task in &bench.plan.tasks {
        let PlannedWork::Compare { cell, candidates } = &task.work else {
            panic!("only comparisons were asked for")
        };
        let taken = campaign.foreign_candidates(cell, &library, &natives);
        for (index, candidate) in (0..).zip(candidates) {
            let key = (task.id, index);
            let is_native = matches!(candidate, Candidate::Native { .. });
            let is_itself = match &calls {
                Some(calls) if is_native => calls
                    .get(&key)
                    .is_some_and(|ran| is_genuine(cell.collective, candidate, ran)),
                _ => true,
            };
            if !is_native || taken.contains(candidate) {
                assert_eq!(failed.get(&key), None, "{candidate} in {cell}");
                assert!(is_itself, "{candidate} in {cell} is another one");
                right += 1;
            } else if failed.get(&key) == Some(&FailureKind::WrongResult) {
                wrong += 1;
            } else if !is_itself {
                something_else.insert(candidate.algorithm());
            }
        }
    }
    assert!(right > 40, "{right}");
    if is_traced {
        assert!(wrong > 4, "{wrong}");
        let known = [
            "native:allreduce/rabenseifner",
            "native:reduce/rabenseifner",
            "native:reduce_scatter_block/recursive_halving",
        ];
        for name in known {
            assert!(something_else.contains(name), "{something_else:?}");
        }
    }
}

/// Whether these are components only, which are chosen by other settings than those that force algorithms of `tuned`.
fn are_components(natives: &[NativeAlgorithm]) -> bool {
    natives
        .iter()
        .all(|native| native.id.starts_with("component_"))
}

/// The calls of the default in each task.
fn defaults(bench: &Bench) -> BTreeMap<u32, Calls> {
    let traced = traced(bench).into_iter();
    let defaults = traced.filter(|((_, candidate), _)| *candidate == 0);
    defaults.map(|((task, _), calls)| (task, calls)).collect()
}

#[test]
fn forcing_does_not_change_the_default_of_openmpi() {
    if chosen_family() != LibraryName::OpenMpi {
        return;
    }
    let natives = natives(&[]);
    let campaign = campaign();
    let run = |variables: &[(&str, &str)], forcing: bool| {
        let mut bench = Bench::new(Vec::new());
        let library = bench.plan.library.clone();
        let of = |cell: &Cell| {
            if forcing {
                campaign.foreign_candidates(cell, &library, &natives)
            } else {
                Vec::new()
            }
        };
        let work = cells().into_iter().map(|cell| PlannedWork::Compare {
            candidates: [vec![Candidate::Default], of(&cell)].concat(),
            cell,
        });
        bench.set_work(work.collect());
        trace(&mut bench);
        let variables = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        bench.environment.extend(variables);
        let (exit, records) = bench.run(4);
        assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
        let Some(Record::Started(start)) = records.into_iter().next() else {
            panic!("nothing was recorded")
        };
        (defaults(&bench), start.environment)
    };
    // If users have set what counts only with forcing, nothing is changed.
    let steered = [("OMPI_MCA_coll_tuned_init_tree_fanout", "4")];
    let (alone, environment) = run(&steered, false);
    assert!(are_components(&environment.natives));
    let (beside_natives, forcing_environment) = run(&[], true);
    assert_eq!(forcing_environment.natives, natives);
    let ours = |name: &String| name.starts_with("OMPI_MCA_coll_");
    assert!(
        !forcing_environment.variables.keys().any(ours),
        "{forcing_environment:?}"
    );
    assert_eq!(alone.len(), cells().len());
    for (task, calls) in &alone {
        assert_eq!(calls, &beside_natives[task], "task {task}");
    }
    let ran: BTreeSet<String> = alone
        .into_values()
        .flatten()
        .flatten()
        .map(|step| step.function)
        .collect();
    // The default is the library's decision, which depends on ranks and bytes.
    assert!(ran.len() > 12, "{ran:?}");
}

#[test]
fn algorithms_that_cannot_be_forced_are_not_listed() {
    match chosen_family() {
        LibraryName::OpenMpi => {
            let rules = [
                ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
                ("OMPI_MCA_coll_tuned_dynamic_rules_filename", "/dev/null"),
            ];
            assert!(natives(&rules[..1]).len() > 30);
            // A site's rules are set aside; those of a launch take precedence over forcing.
            assert!(natives(&rules).len() > 30);
            assert!(natives(&rules[1..]).len() > 30);
            let asked = [&rules[..], &[(RULES_VARIABLE, rules[1].0)]].concat();
            assert!(are_components(&natives(&asked)));
        }
        LibraryName::Mpich | LibraryName::IntelMpi => assert!(natives(&[]).len() > 15),
    }
}

#[test]
fn unknown_natives_and_mockups_fail_alone() {
    let segments = Parameters {
        segment_bytes: Some(64),
        ..Parameters::default()
    };
    let native = |algorithm: &str, parameters: &Parameters| Candidate::Native {
        algorithm: algorithm.to_owned(),
        parameters: parameters.clone(),
    };
    let mockup = |algorithm: &str| Candidate::Mockup {
        algorithm: algorithm.to_owned(),
    };
    let known = "native:allreduce/recursive_doubling";
    let candidates = vec![
        native("native:allreduce/nonesuch", &Parameters::default()),
        native("native:bcast/binomial", &Parameters::default()),
        native(known, &segments),
        mockup("mockup:allreduce/nonesuch"),
        mockup("mockup:bcast/scatter+allgather"),
        Candidate::Foreign {
            algorithm: "elsewhere:allreduce/ring".to_owned(),
            parameters: Parameters::default(),
        },
        native(known, &Parameters::default()),
        Candidate::Default,
    ];
    let (exit, records) = Bench::new(vec![allreduce(2, 64, candidates)]).run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let expected = (0..6).map(|candidate| ((0, candidate), FailureKind::Unsupported));
    assert_eq!(failures(&records), expected.collect());
}
