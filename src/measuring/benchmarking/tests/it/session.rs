//! One launch, from the text of its plan to the last record.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use benchmarking::{LaunchSession, PlanError, Spool, SpoolError, TaskRunner, parse_plan};
use serde_json::{Value, json};
use vocabulary::{Library, RankOrder};
use wire::{Environment, Finish, Plan, PlannedTask, Record, TaskDone, WIRE_VERSION, exit_code};

/// The JSON of a plan with two tasks.
fn plan_json() -> Value {
    let task = |id: u32| {
        json!({"id": id, "round": 0, "work": {"experiment": {
            "kind": "ping_pong", "shape": {"nodes": 1, "ppn": 2}, "bytes": 8}}})
    };
    json!({
        "version": WIRE_VERSION, "campaign": "digest", "launch": 3, "seed": 1,
        "library": {"name": "openmpi", "version": "4.1.4"}, "spool": "spool.jsonl",
        "watchdog_seconds": 30.0,
        "repetition": {"minimum": 1, "maximum": 2, "precision": 0.1, "confidence": 0.95, "slice_seconds": 1.0},
        "tasks": [task(7), task(8)],
    })
}

fn plan() -> Plan {
    parse_plan(plan_json().to_string().as_bytes()).expect("a plan")
}

#[test]
fn the_version_is_checked_before_anything_else() {
    assert_eq!(plan().tasks.len(), 2);
    // Whatever else another version has, it is named, in every measuring program.
    for (text, version) in [
        (json!({"version": 99, "work": []}).to_string(), 99),
        (json!({"version": 1_u64 << 40}).to_string(), u32::MAX),
        (
            json!({"version": WIRE_VERSION - 1}).to_string(),
            WIRE_VERSION - 1,
        ),
    ] {
        let refused = parse_plan(text.as_bytes()).expect_err("refused");
        assert!(
            matches!(refused, PlanError::Version(found) if found == version),
            "{text}: {refused}"
        );
        assert_eq!(refused.exit_code(), exit_code::PLAN);
    }
    let mut unknown = plan_json();
    unknown["later"] = json!(1);
    for text in ["", "{\"version\": 1, ", "{}", "[]", &unknown.to_string()] {
        let refused = parse_plan(text.as_bytes()).expect_err("refused");
        assert!(matches!(refused, PlanError::Parse(_)), "{text}: {refused}");
        assert_eq!(refused.exit_code(), exit_code::PLAN);
    }
}

#[test]
fn a_plan_for_another_library_is_refused() {
    let found = Library {
        name: "openmpi".to_owned(),
        version: "5.0.0".to_owned(),
    };
    let plan = plan();
    let refused = LaunchSession::new(&plan, &found, Spool::default()).expect_err("refused");
    assert_eq!(refused.exit_code(), exit_code::LIBRARY);
    let text = refused.to_string();
    assert!(text.contains("4.1.4") && text.contains("5.0.0"), "{text}");
}

/// A file that counts writes, and from some write on is full.
#[derive(Clone, Default)]
struct Output {
    writes: Arc<Mutex<Vec<String>>>,
    most_writes: Option<usize>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut writes = self.writes.lock().expect("no panic");
        if Some(writes.len()) == self.most_writes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        writes.push(String::from_utf8(bytes.to_vec()).expect("text"));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output {
    /// A spool with this output.
    fn to_spool(&self) -> Spool {
        let spool = Spool::default();
        let output = self.clone();
        spool
            .open_with(Path::new("spool.jsonl"), |_| Ok(output))
            .expect("opened");
        spool
    }

    /// The records; each was written at once, as a line.
    fn records(&self) -> Vec<Record> {
        let writes = self.writes.lock().expect("no panic");
        let read = |line: &String| {
            assert!(
                line.ends_with('\n') && line.matches('\n').count() == 1,
                "{line}"
            );
            serde_json::from_str(line).expect("a record")
        };
        writes.iter().map(read).collect()
    }
}

/// The reason why a scripted launch ends early.
#[derive(Debug)]
enum Ended {
    Spool(SpoolError),
    Task(u32),
}

impl From<SpoolError> for Ended {
    fn from(error: SpoolError) -> Self {
        Self::Spool(error)
    }
}

/// What a task uses until it ends, like a communicator: notes how many records there were when it was released.
struct Resource<'a> {
    output: &'a Output,
    steps: &'a mut Vec<String>,
}

impl Drop for Resource<'_> {
    fn drop(&mut self) {
        let records = self.output.records().len();
        self.steps.push(format!("release after {records} records"));
    }
}

/// Each task takes ten seconds.
#[derive(Default)]
struct Script {
    /// The spool's file.
    output: Output,
    now_seconds: f64,
    fails_at: Option<u32>,
    /// The tasks in which this rank takes no part.
    idle: Vec<u32>,
    steps: Vec<String>,
}

impl TaskRunner for Script {
    type Error = Ended;

    fn may_begin(&mut self, deadline_seconds: f64) -> Result<bool, Ended> {
        Ok(self.now_seconds < deadline_seconds)
    }

    fn carry_out_task(
        &mut self,
        task: &PlannedTask,
        record: impl FnOnce(TaskDone) -> Result<(), SpoolError>,
    ) -> Result<(), Ended> {
        self.steps.push(format!("task {}", task.id));
        if self.fails_at == Some(task.id) {
            return Err(Ended::Task(task.id));
        }
        self.now_seconds += 10.0;
        if self.idle.contains(&task.id) {
            return Ok(());
        }
        let _resource = Resource {
            output: &self.output,
            steps: &mut self.steps,
        };
        Ok(record(TaskDone {
            task: task.id,
            order: RankOrder::default(),
            elapsed_seconds: 10.0,
            spent: None,
            measurements: Vec::new(),
        })?)
    }

    fn end_task(&mut self) -> Result<(), Ended> {
        let records = self.output.records().len();
        self.steps.push(format!("end after {records} records"));
        Ok(())
    }
}

/// Carries out a plan by a script, and describes the records.
fn carry_out(plan: &Plan, script: &mut Script) -> (Result<(), Ended>, String) {
    let output = script.output.clone();
    let session = LaunchSession::new(plan, &plan.library, output.to_spool()).expect("begun");
    let result = session
        .record_start(5, Environment::default())
        .map_err(Ended::from)
        .and_then(|()| session.carry_out_tasks(script));
    let describe = |record: &Record| match record {
        Record::Started(start) => {
            format!("{} {} {}", start.campaign, start.launch, start.unix_seconds)
        }
        Record::Done(done) => format!("done {}", done.task),
        Record::Finished {
            reason: Finish::Complete,
        } => "complete".to_owned(),
        Record::Finished {
            reason: Finish::Deadline,
        } => "deadline".to_owned(),
        other => format!("{other:?}"),
    };
    let records: Vec<String> = output.records().iter().map(describe).collect();
    (result, records.join(", "))
}

#[test]
fn tasks_are_recorded_in_the_plans_order_until_the_deadline() {
    let mut plan = plan();
    for (deadline_seconds, expected) in [
        (None, "digest 3 5, done 7, done 8, complete"),
        (Some(10.5), "digest 3 5, done 7, done 8, complete"),
        (Some(10.0), "digest 3 5, done 7, deadline"),
        (Some(0.0), "digest 3 5, deadline"),
    ] {
        plan.deadline_seconds = deadline_seconds;
        let (result, records) = carry_out(&plan, &mut Script::default());
        result.expect("carried out");
        assert_eq!(records, expected);
    }
}

#[test]
fn a_task_is_recorded_before_anything_is_released_and_ranks_meet_afterwards() {
    let mut script = Script::default();
    let (result, _) = carry_out(&plan(), &mut script);
    result.expect("carried out");
    // The first record is that of the start.
    let expected = [
        "task 7",
        "release after 2 records",
        "end after 2 records",
        "task 8",
        "release after 3 records",
        "end after 3 records",
    ];
    assert_eq!(script.steps, expected);
}

#[test]
fn ranks_meet_after_each_task_also_if_they_take_no_part() {
    let mut script = Script {
        idle: vec![7],
        ..Script::default()
    };
    let (result, records) = carry_out(&plan(), &mut script);
    result.expect("carried out");
    assert_eq!(records, "digest 3 5, done 8, complete");
    let expected = [
        "task 7",
        "end after 1 records",
        "task 8",
        "release after 2 records",
        "end after 2 records",
    ];
    assert_eq!(script.steps, expected);
}

#[test]
fn a_launch_that_fails_has_no_last_record() {
    let mut script = Script {
        fails_at: Some(8),
        ..Script::default()
    };
    let (result, records) = carry_out(&plan(), &mut script);
    assert!(matches!(result, Err(Ended::Task(8))), "{result:?}");
    assert_eq!(records, "digest 3 5, done 7");

    let full = Output {
        most_writes: Some(2),
        ..Output::default()
    };
    let mut refused_script = Script {
        output: full,
        ..Script::default()
    };
    let (refused, records_before) = carry_out(&plan(), &mut refused_script);
    let Err(Ended::Spool(error)) = refused else {
        panic!("{refused:?}");
    };
    let text = error.to_string();
    assert!(
        text.starts_with("cannot append to the spool spool.jsonl: "),
        "{text}"
    );
    assert_eq!(records_before, "digest 3 5, done 7");
}

#[test]
fn a_spool_is_shared_dropped_or_closed() {
    let finished = Record::Finished {
        reason: Finish::Complete,
    };
    // Other ranks have no file.
    Spool::default().write_record(&finished).expect("dropped");
    let output = Output::default();
    let spool = output.to_spool();
    let shared = spool.clone();
    shared.write_record(&finished).expect("written");
    spool.close();
    assert!(shared.is_closed());
    let refused = shared.write_record(&finished);
    assert!(matches!(refused, Err(SpoolError::Closed)), "{refused:?}");
    assert_eq!(output.records(), [finished]);
    // A launch that was ended before it began makes no file.
    let opened = spool.open_with(Path::new("late"), |path| -> io::Result<Output> {
        panic!("{path:?} was opened")
    });
    opened.expect("nothing to do");
    let absent = Spool::default().open_with(Path::new("absent"), |_| {
        Err::<Output, _>(io::ErrorKind::NotFound.into())
    });
    let text = absent.expect_err("refused").to_string();
    assert!(
        text.starts_with("cannot append to the spool absent: "),
        "{text}"
    );
}
