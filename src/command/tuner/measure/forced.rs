//! Launches for those of the library's algorithms that can be forced only when MPI starts.
//!
//! Such a launch measures what the same environment variables force, right after the launch that measures everything else,
//! and counts as a part of it: its samples have the same number, so that times are compared within it.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Instant;

use store::Store;
use vocabulary::{Candidate, Library, Pattern, Subject};
use wire::{Finish, Plan, PlannedTask, PlannedWork};

use super::Measuring;
use crate::TunerError;
use crate::launch::{FollowedLaunch, LaunchEnd, RunningLaunch};
use crate::node_request::NodeRequest;

/// The tasks of algorithms that the same environment variables force.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ForcedTasks {
    /// The variables and their values; at least one.
    pub(super) variables: Vec<(String, String)>,
    /// The tasks, each with one candidate.
    pub(super) tasks: Vec<PlannedTask>,
}

/// Takes the candidates that need launches of their own out of tasks. What is left has the default, with which they are
/// compared.
pub(super) fn take_forced_tasks(library: &Library, tasks: &mut [PlannedTask]) -> Vec<ForcedTasks> {
    let Some(known) = libraries::find_library(&library.name) else {
        return Vec::new();
    };
    let mut next_id = tasks.iter().map(|task| task.id + 1).max().unwrap_or(0);
    let mut forced: BTreeMap<Vec<(String, String)>, Vec<PlannedTask>> = BTreeMap::new();
    for task in tasks.iter_mut() {
        let PlannedWork::Compare {
            cell: compared,
            candidates,
        } = &mut task.work
        else {
            continue;
        };
        let cell = *compared;
        let variables_of = |candidate: &Candidate| {
            if candidate.is_native() {
                let parameters = candidate.parameters();
                known.forcing_variables(cell.collective, candidate.id(), &parameters)
            } else {
                Vec::new()
            }
        };
        let (own, others): (Vec<Candidate>, Vec<Candidate>) = std::mem::take(candidates)
            .into_iter()
            .partition(|candidate| !variables_of(candidate).is_empty());
        *candidates = others;
        if own.is_empty() {
            continue;
        }
        if !candidates.contains(&Candidate::Default) {
            candidates.insert(0, Candidate::Default);
        }
        for candidate in own {
            let of_variables = forced.entry(variables_of(&candidate)).or_default();
            of_variables.push(PlannedTask {
                id: next_id,
                round: task.round,
                pattern: task.pattern,
                calls: task.calls,
                work: PlannedWork::Compare {
                    cell,
                    candidates: vec![candidate],
                },
            });
            next_id += 1;
        }
    }
    let groups = forced.into_iter();
    groups
        .map(|(variables, of_variables)| ForcedTasks {
            variables,
            tasks: of_variables,
        })
        .collect()
}

/// Gives tasks the numbers of calls per repetition that the default had in this launch, since only times with equal
/// numbers are compared.
fn take_over_calls(
    store: &Store,
    launch: u32,
    forced: &mut [ForcedTasks],
) -> Result<(), TunerError> {
    let mut calls: BTreeMap<(Subject, Pattern), NonZero<u32>> = BTreeMap::new();
    for stored in store.samples_of_launch(launch)? {
        if let (Candidate::Default, Some(batch)) = (&stored.candidate, NonZero::new(stored.batch)) {
            calls.insert((stored.subject, stored.pattern), batch);
        }
    }
    for task in forced.iter_mut().flat_map(|group| &mut group.tasks) {
        if let PlannedWork::Compare { cell, .. } = &task.work {
            let known = calls.get(&(Subject::Cell(*cell), task.pattern));
            task.calls = task.calls.or(known.copied());
        }
    }
    Ok(())
}

impl Measuring<'_> {
    /// Makes the launches of forced algorithms after the launch of `plan`, which has ended as `followed` says; returns
    /// how all of them ended together.
    pub(super) fn launch_forced_tasks(
        &mut self,
        plan: &Plan,
        mut forced: Vec<ForcedTasks>,
        nodes: NodeRequest,
        followed: FollowedLaunch,
        begin: Instant,
    ) -> Result<FollowedLaunch, TunerError> {
        if !matches!(
            followed,
            FollowedLaunch::Ended(Ok(LaunchEnd::Finished(Finish::Complete)))
        ) {
            return Ok(followed);
        }
        take_over_calls(&self.store, plan.launch, &mut forced)?;
        for (group, place) in forced.into_iter().zip(1..) {
            let spent = begin.elapsed().as_secs_f64();
            let left = plan.deadline_seconds.map(|deadline| deadline - spent);
            if left.is_some_and(|left_seconds| left_seconds <= 0.0) {
                return Ok(FollowedLaunch::Ended(Ok(LaunchEnd::Finished(
                    Finish::Deadline,
                ))));
            }
            let own = Plan {
                spool: part_of_launch(&plan.spool, place),
                deadline_seconds: left,
                // There is nothing to be slower than.
                racing: None,
                tasks: group.tasks,
                ..plan.clone()
            };
            super::remove_old_spool(&own.spool)?;
            let progress = self.campaign_progress()?;
            let mut launch = RunningLaunch::new(&own, &mut self.store, self.observer, progress);
            launch.suspects = std::mem::take(&mut self.suspects);
            launch.forcing = group.variables;
            let ended = launch.start_and_follow(self.at, nodes, self.watch, self.stop);
            self.suspects = std::mem::take(&mut launch.suspects);
            match ended {
                FollowedLaunch::Ended(Ok(LaunchEnd::Finished(Finish::Complete))) => {}
                // The failure of the candidate is stored, unless it is only suspected, or something else ended the launch.
                FollowedLaunch::Ended(Ok(LaunchEnd::Died { message, .. })) => {
                    let number = plan.launch;
                    self.observer
                        .notice(&answers::TuningEvent::Died { number, message });
                }
                other => return Ok(other),
            }
        }
        Ok(followed)
    }
}

/// The spool of the part of a launch with this number, beside that of the whole.
fn part_of_launch(spool: &Path, place: u32) -> PathBuf {
    spool.with_extension(format!("forced-{place}.spool"))
}

#[cfg(test)]
mod tests {
    use super::take_forced_tasks;
    use vocabulary::{Candidate, Cell, CommShape, Datatype, Library, Pattern};
    use wire::{PlannedTask, PlannedWork};

    fn native(collective: &str, id: &str) -> Candidate {
        Candidate::Native {
            algorithm: format!("native:{collective}/{id}"),
            parameters: vocabulary::Parameters::default(),
        }
    }

    fn task(id: u32, bytes: u64, candidates: Vec<Candidate>) -> PlannedTask {
        let cell = Cell {
            collective: schedule::Collective::Bcast,
            shape: CommShape { nodes: 1, ppn: 2 },
            bytes,
            datatype: Datatype::Byte,
            operator: None,
            distribution: vocabulary::Distribution::Uniform,
        };
        PlannedTask {
            id,
            round: 1,
            pattern: Pattern::default(),
            calls: None,
            work: PlannedWork::Compare { cell, candidates },
        }
    }

    fn library(name: &str) -> Library {
        let (name, version) = (name.to_owned(), "1".to_owned());
        Library { name, version }
    }

    /// Each preset is in one launch with all its sizes, and the default stays to be compared with.
    #[test]
    fn algorithms_that_are_forced_at_the_start_get_launches_of_their_own() {
        let [one, two] = ["preset_1", "preset_2"].map(|id| native("bcast", id));
        let all = vec![Candidate::Default, one.clone(), two.clone()];
        let mut tasks = vec![task(3, 8, all), task(5, 64, vec![two.clone()])];
        let forced = take_forced_tasks(&library("intelmpi"), &mut tasks);
        let plain = vec![Candidate::Default];
        assert_eq!(tasks, [task(3, 8, plain.clone()), task(5, 64, plain)]);
        let variables: Vec<_> = forced.iter().map(|group| group.variables.clone()).collect();
        let preset = |number: &str| vec![("I_MPI_ADJUST_BCAST".to_owned(), number.to_owned())];
        assert_eq!(variables, [preset("1"), preset("2")]);
        assert_eq!(forced[0].tasks, [task(6, 8, vec![one])]);
        assert_eq!(
            forced[1].tasks,
            [task(7, 8, vec![two.clone()]), task(8, 64, vec![two])]
        );
    }

    /// A component with a size of segments is another launch than the component alone.
    #[test]
    fn components_and_their_settings_get_launches_of_their_own() {
        let plain = native("bcast", "component_han");
        let Candidate::Native { algorithm, .. } = &plain else {
            unreachable!()
        };
        let segmented = Candidate::Native {
            algorithm: algorithm.clone(),
            parameters: vocabulary::Parameters {
                segment_bytes: Some(8192),
                ..vocabulary::Parameters::default()
            },
        };
        let tuned = native("bcast", "binomial");
        let all = vec![
            Candidate::Default,
            tuned.clone(),
            plain.clone(),
            segmented.clone(),
        ];
        let mut tasks = vec![task(0, 8, all)];
        let forced = take_forced_tasks(&library("openmpi"), &mut tasks);
        assert_eq!(tasks, [task(0, 8, vec![Candidate::Default, tuned])]);
        let measured: Vec<_> = forced
            .iter()
            .map(|group| group.tasks[0].work.clone())
            .collect();
        let alone = |candidate| task(0, 8, vec![candidate]).work;
        assert_eq!(measured, [alone(plain), alone(segmented)]);
        let names = |place: usize| -> Vec<&str> {
            let variables = forced[place].variables.iter();
            variables.map(|(name, _)| name.as_str()).collect()
        };
        assert_eq!(names(0), ["OMPI_MCA_coll_han_priority"]);
        assert_eq!(
            names(1),
            [
                "OMPI_MCA_coll_han_priority",
                "OMPI_MCA_coll_han_bcast_segsize",
                "OMPI_MCA_coll_han_reduce_segsize",
                "OMPI_MCA_coll_han_allreduce_segsize",
            ]
        );
    }

    #[test]
    fn algorithms_that_can_be_forced_later_stay() {
        let candidates = vec![Candidate::Default, native("bcast", "binomial")];
        let mut tasks = vec![task(0, 8, candidates)];
        let before = tasks.clone();
        assert!(take_forced_tasks(&library("mpich"), &mut tasks).is_empty());
        assert!(take_forced_tasks(&library("other"), &mut tasks).is_empty());
        assert_eq!(tasks, before);
    }
}
