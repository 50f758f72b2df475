//! The choice of the next task.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread::Scope;
use std::time::Instant;

use rusqlite::params;

use super::meter::Meter;
use super::plan::{RunsOn, TaskPlan, WaitingTask};
use super::steps::Stepping;
use super::{ActiveTask, ITS_TURN, QueueState};
use crate::database::now_milliseconds;
use crate::{Service, ServiceError, ServiceMachine, TaskId, TaskKind};

impl Service {
    /// Starts every task that can start, the oldest first, and records what the others wait for.
    pub(super) fn start_ready_tasks<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<(), ServiceError> {
        let waiting = self.database.read(WaitingTask::read_all)?;
        let mut accounts = HashMap::new();
        let mut reasons = Vec::new();
        for task in waiting {
            let state = self.runner.lock_state();
            let is_due_later = |retry: &super::Retry| retry.due > Instant::now();
            let is_later = state.retries.get(&task.id).is_some_and(is_due_later);
            if state.active.contains_key(&task.id) || is_later && !task.cancel_asked {
                continue;
            }
            drop(state);
            if self.has_agent(&task.machine) {
                if task.cancel_asked {
                    self.settle_cancelled(task.id, "cancelled before it began")?;
                    continue;
                }
                let reason = self.agent_obstacle(&task, &mut accounts)?;
                if reason != task.reason {
                    reasons.push((task.id, reason));
                }
                continue;
            }
            let plan = self.cached_plan(&task)?;
            if task.cancel_asked && !plan.in_steps {
                self.settle_cancelled(task.id, "cancelled; what was measured is kept")?;
            } else if let Some(outcome) = task.outcome.as_ref().filter(|_| !task.cancel_asked) {
                self.settle_stored(&task, outcome)?;
            } else {
                match self.find_obstacle(&task, &plan, &mut accounts)? {
                    None => self.start_task(scope, task, plan)?,
                    Some(reason) if reason != task.reason => reasons.push((task.id, reason)),
                    Some(_) => {}
                }
            }
        }
        self.store_reasons(&reasons)
    }

    /// The plan of a task, computed once.
    fn cached_plan(&self, task: &WaitingTask) -> Result<TaskPlan, ServiceError> {
        if let Some(plan) = self.runner.lock_state().plans.get(&task.id) {
            return Ok(plan.clone());
        }
        let campaign = self
            .database
            .read(|connection| task.read_campaign(connection))?;
        let plan = TaskPlan::for_task(task, campaign.as_ref(), &self.configuration.folder);
        let mut state = self.runner.lock_state();
        state.plans.insert(task.id, plan.clone());
        Ok(plan)
    }

    /// The reason why a task cannot start now; `None` if it can.
    fn find_obstacle(
        &self,
        task: &WaitingTask,
        plan: &TaskPlan,
        accounts: &mut HashMap<String, f64>,
    ) -> Result<Option<String>, ServiceError> {
        // The task's jobs are cancelled regardless of other running tasks.
        if task.cancel_asked {
            return Ok(None);
        }
        let Ok(machine) = self.configuration.find_machine(&task.machine) else {
            let name = &task.machine;
            return Ok(Some(format!(
                "the configuration has no machine `{name}` any more; add it, or cancel the task"
            )));
        };
        if let Some(schedule) = &task.schedule
            && let Some(reason) = self.schedule_obstacle(schedule)?
        {
            return Ok(Some(reason));
        }
        if let Some(reason) = busy_reason(&self.runner.lock_state(), task, plan, machine) {
            return Ok(Some(reason));
        }
        self.node_hours_obstacle(task, machine, accounts)
    }

    /// The reason why a task cannot start now because its machine has used up its node-hours; `None` if it can.
    pub(super) fn node_hours_obstacle(
        &self,
        task: &WaitingTask,
        machine: &ServiceMachine,
        accounts: &mut HashMap<String, f64>,
    ) -> Result<Option<String>, ServiceError> {
        let Some(limit) = machine.node_hours.filter(|_| task.kind != TaskKind::Report) else {
            return Ok(None);
        };
        let taken = match accounts.get(&machine.name) {
            Some(taken) => *taken,
            None => self.node_seconds_this_month(&machine.name)?,
        };
        accounts.insert(machine.name.clone(), taken);
        let is_over = taken / 3600.0 >= limit;
        Ok(is_over.then(|| {
            format!(
                "{} has used its {limit} node-hours of this month; further tasks start next month, or with a larger \
                 `node_hours`",
                machine.name
            )
        }))
    }

    /// Starts a task, unless it has been cancelled.
    fn start_task<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        task: WaitingTask,
        plan: TaskPlan,
    ) -> Result<(), ServiceError> {
        let (id, in_steps, is_cancelled) = (task.id, plan.in_steps, task.cancel_asked);
        let reason = match task.kind {
            _ if is_cancelled => "is being cancelled",
            TaskKind::Tune if in_steps => "checks its jobs",
            TaskKind::Tune => "measures",
            TaskKind::Validate => "measures the table against the default",
            TaskKind::Check => "measures whether the table still holds",
            TaskKind::Report => "writes the report",
        };
        // From here on a cancellation finds the task among the active ones.
        let busy_nodes = match plan.runs_on {
            RunsOn::Here if task.kind != TaskKind::Report => plan.nodes,
            _ => 0.0,
        };
        let active = ActiveTask {
            signals: Arc::default(),
            meter: Arc::new(Mutex::new(Meter::new(busy_nodes))),
            cancel: is_cancelled,
            interrupted_at: None,
            stepping: in_steps.then(Stepping::default),
            task,
            plan,
        };
        self.runner.lock_state().active.insert(id, active);
        let begun = self.database.write(|transaction| {
            let changed = transaction.execute(
                "UPDATE task SET state = 'running', reason = ?2, started_at = coalesce(started_at, ?3), \
                 attempts = attempts + 1, not_before = NULL, exit_code = NULL, outcome = NULL \
                 WHERE id = ?1 AND state = 'waiting' AND cancel_asked = ?4",
                params![id, reason, now_milliseconds(), is_cancelled],
            )?;
            Ok(changed == 1)
        });
        if !matches!(begun, Ok(true)) {
            self.runner.lock_state().active.remove(&id);
            return begun.map(|_| ());
        }
        self.announce_tasks(&[id]);
        if !in_steps {
            scope.spawn(move || self.carry_out_task(id));
        }
        Ok(())
    }

    fn store_reasons(&self, reasons: &[(TaskId, String)]) -> Result<(), ServiceError> {
        if reasons.is_empty() {
            return Ok(());
        }
        self.database.write(|transaction| {
            let mut update = transaction.prepare_cached(
                "UPDATE task SET reason = ?2 WHERE id = ?1 AND state = 'waiting'",
            )?;
            for (id, reason) in reasons {
                update.execute(params![id, reason])?;
            }
            Ok(())
        })?;
        let ids: Vec<TaskId> = reasons.iter().map(|(id, _)| *id).collect();
        self.announce_tasks(&ids);
        Ok(())
    }
}

/// The reason why a task cannot start beside the running ones; `None` if it can.
fn busy_reason(
    state: &QueueState,
    task: &WaitingTask,
    plan: &TaskPlan,
    machine: &ServiceMachine,
) -> Option<String> {
    let mut active_tasks = state.active.iter();
    let of_store =
        active_tasks.find(|(_, active)| plan.store.is_some() && active.plan.store == plan.store);
    if let Some((other, active)) = of_store {
        // Readers of one machine do not see the tasks of another one.
        let which = if active.task.machine == task.machine {
            format!("task {other}")
        } else {
            "a task of another machine".to_owned()
        };
        return Some(format!(
            "waits for {which}, which measures into the same store"
        ));
    }
    let others = state.active.values();
    let others = others.filter(|active| active.plan.runs_on == plan.runs_on);
    let (others, most) = match plan.runs_on {
        RunsOn::Here => (others.count(), 1),
        RunsOn::Batch => {
            let of_machine = others.filter(|active| active.task.machine == task.machine);
            (of_machine.count(), machine.tasks as usize)
        }
    };
    (others >= most).then(|| ITS_TURN.to_owned())
}
