//! Events while measuring: what `--events` prints, a line of JSON for each.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vocabulary::CampaignProgress;

/// An event while measuring. In JSON its name is under `event`, as in
/// `{"event":"stored","progress":{"done":3,"total":12}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TuningEvent {
    /// Launches of a killed colltune were found, and their measurements were stored.
    Recovered {
        /// The number of launches.
        #[serde(default)]
        launches: usize,
    },
    /// A launch begins.
    Launch {
        /// Its number.
        #[serde(default)]
        number: u32,
        /// The progress so far.
        #[serde(default)]
        progress: CampaignProgress,
        /// The rest of the budget in seconds of wall-clock time; absent in simulations.
        left_seconds: Option<f64>,
    },
    /// A launch set aside rules that its site has deployed.
    SetAside {
        /// The settings, each as a clause.
        #[serde(default)]
        what: Vec<String>,
    },
    /// A job waits in the queue, or its reason for waiting has changed.
    Queued {
        /// The launch's number.
        #[serde(default)]
        number: u32,
        /// The batch system's id of the job.
        #[serde(default)]
        id: String,
        /// The reason in the scheduler's words, if it gives one.
        reason: Option<String>,
    },
    /// A job runs.
    Running {
        /// The launch's number.
        #[serde(default)]
        number: u32,
        /// The batch system's id of the job.
        #[serde(default)]
        id: String,
        /// The names of the nodes, if they are known.
        #[serde(default)]
        nodes: Vec<String>,
    },
    /// A launch stopped before its job's wall time was over; another one follows.
    WallTime {
        /// Its number.
        #[serde(default)]
        number: u32,
    },
    /// A measurement of one cell or experiment in one launch is stored.
    Stored {
        /// The progress so far.
        #[serde(default)]
        progress: CampaignProgress,
    },
    /// A candidate failed and is left out from now on.
    Failed {
        /// The cell or experiment.
        #[serde(default)]
        subject: String,
        /// The candidate.
        #[serde(default)]
        candidate: String,
        /// The kind of failure, by its name in stores.
        #[serde(default)]
        kind: String,
        /// The failure's message.
        #[serde(default)]
        message: String,
    },
    /// A launch ended before its plan was done; measuring continues if possible.
    Died {
        /// Its number.
        #[serde(default)]
        number: u32,
        /// The reason.
        #[serde(default)]
        message: String,
    },
    /// The new table replaces one of another library or campaign.
    Replaces {
        /// The table's file.
        #[serde(default)]
        path: String,
        /// The library of the table that is replaced.
        #[serde(default)]
        library: String,
    },
    /// The budget is spent with launches left to do.
    BudgetSpent {
        /// The progress so far.
        #[serde(default)]
        progress: CampaignProgress,
        /// The rest of the budget in seconds, if it is more than a twentieth; it does not suffice for what is left.
        left_seconds: Option<f64>,
        /// The smallest budget, in seconds, that is expected to suffice to confirm all choices, if that is known.
        needed_budget_seconds: Option<f64>,
    },
}

/// The key of an event's progress.
const PROGRESS: &str = "progress";

/// An event as another process printed it. Every key and value is kept and passed on, also those that this version does
/// not know; [`PrintedEvent::known_event`] is the event, if this version knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct PrintedEvent {
    fields: Map<String, Value>,
    known: Option<TuningEvent>,
}

impl PrintedEvent {
    /// The event; `None` if this version does not know it, or cannot read one of its values.
    pub fn known_event(&self) -> Option<&TuningEvent> {
        self.known.as_ref()
    }

    /// The measurements made and planned, if the event says them.
    pub fn progress(&self) -> Option<CampaignProgress> {
        CampaignProgress::deserialize(self.fields.get(PROGRESS)?).ok()
    }

    /// The rest of the budget in seconds, if the event says it.
    pub fn left_seconds(&self) -> Option<f64> {
        match self.known_event()? {
            TuningEvent::Launch { left_seconds, .. }
            | TuningEvent::BudgetSpent { left_seconds, .. } => *left_seconds,
            _ => None,
        }
    }

    /// Adds the progress of an earlier event, unless this one says its own.
    #[must_use]
    pub fn with_progress_of(mut self, earlier: &Self) -> Self {
        if let Some(progress) = earlier.fields.get(PROGRESS) {
            let own = self.fields.entry(PROGRESS);
            own.or_insert_with(|| progress.clone());
        }
        self
    }
}

impl From<Map<String, Value>> for PrintedEvent {
    fn from(fields: Map<String, Value>) -> Self {
        let known = TuningEvent::deserialize(&fields).ok();
        Self { fields, known }
    }
}

impl From<TuningEvent> for PrintedEvent {
    fn from(event: TuningEvent) -> Self {
        // An event is an object with keys that are texts.
        let fields = match serde_json::to_value(&event) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let known = Some(event);
        Self { fields, known }
    }
}

impl From<PrintedEvent> for Map<String, Value> {
    fn from(printed: PrintedEvent) -> Self {
        printed.fields
    }
}

/// The last line of `--events`: the event `outcome`, with what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LastLine<T> {
    /// The verb has ended.
    Outcome {
        /// What `--json` prints.
        outcome: T,
    },
}

/// A line that `--events` prints, as another process reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputLine {
    /// An event.
    Event(PrintedEvent),
    /// The outcome, after which no line follows.
    Outcome(Value),
}

impl OutputLine {
    /// Reads a line; `None` if it is not an object of JSON that names an event.
    pub fn parse_line(line: &[u8]) -> Option<Self> {
        let fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
        if !fields.get("event")?.is_string() {
            return None;
        }
        match LastLine::deserialize(&fields) {
            Ok(LastLine::Outcome { outcome }) => Some(Self::Outcome(outcome)),
            Err(_) => Some(Self::Event(fields.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRESS_SO_FAR: CampaignProgress = CampaignProgress { done: 3, total: 12 };

    /// The name of an event in its line. A new event needs an arm here, and a line in [`lines`].
    fn event_name(event: &TuningEvent) -> &'static str {
        match event {
            TuningEvent::Recovered { .. } => "recovered",
            TuningEvent::Launch { .. } => "launch",
            TuningEvent::SetAside { .. } => "set_aside",
            TuningEvent::Queued { .. } => "queued",
            TuningEvent::Running { .. } => "running",
            TuningEvent::WallTime { .. } => "wall_time",
            TuningEvent::Stored { .. } => "stored",
            TuningEvent::Failed { .. } => "failed",
            TuningEvent::Died { .. } => "died",
            TuningEvent::Replaces { .. } => "replaces",
            TuningEvent::BudgetSpent { .. } => "budget_spent",
        }
    }

    /// Each event with its line.
    fn lines() -> Vec<(TuningEvent, &'static str)> {
        let progress = PROGRESS_SO_FAR;
        let text = str::to_owned;
        vec![
            (
                TuningEvent::Recovered { launches: 2 },
                r#"{"event":"recovered","launches":2}"#,
            ),
            (
                TuningEvent::Launch {
                    number: 4,
                    progress,
                    left_seconds: None,
                },
                r#"{"event":"launch","number":4,"progress":{"done":3,"total":12},"left_seconds":null}"#,
            ),
            (
                TuningEvent::SetAside {
                    what: vec![text("a rule")],
                },
                r#"{"event":"set_aside","what":["a rule"]}"#,
            ),
            (
                TuningEvent::Queued {
                    number: 4,
                    id: text("7"),
                    reason: Some(text("Priority")),
                },
                r#"{"event":"queued","number":4,"id":"7","reason":"Priority"}"#,
            ),
            (
                TuningEvent::Running {
                    number: 4,
                    id: text("7"),
                    nodes: vec![text("n1"), text("n2")],
                },
                r#"{"event":"running","number":4,"id":"7","nodes":["n1","n2"]}"#,
            ),
            (
                TuningEvent::WallTime { number: 4 },
                r#"{"event":"wall_time","number":4}"#,
            ),
            (
                TuningEvent::Stored { progress },
                r#"{"event":"stored","progress":{"done":3,"total":12}}"#,
            ),
            (
                TuningEvent::Failed {
                    subject: text("bcast 1x2 64"),
                    candidate: text("bcast/binary"),
                    kind: text("hang"),
                    message: text("it hangs"),
                },
                r#"{"event":"failed","subject":"bcast 1x2 64","candidate":"bcast/binary","kind":"hang","message":"it hangs"}"#,
            ),
            (
                TuningEvent::Died {
                    number: 4,
                    message: text("signal 9"),
                },
                r#"{"event":"died","number":4,"message":"signal 9"}"#,
            ),
            (
                TuningEvent::Replaces {
                    path: text("tables/a.yaml"),
                    library: text("openmpi-4.1.4"),
                },
                r#"{"event":"replaces","path":"tables/a.yaml","library":"openmpi-4.1.4"}"#,
            ),
            (
                TuningEvent::BudgetSpent {
                    progress,
                    left_seconds: Some(1.5),
                    needed_budget_seconds: None,
                },
                r#"{"event":"budget_spent","progress":{"done":3,"total":12},"left_seconds":1.5,"needed_budget_seconds":null}"#,
            ),
        ]
    }

    fn parse_event(line: &str) -> PrintedEvent {
        match OutputLine::parse_line(line.as_bytes()) {
            Some(OutputLine::Event(event)) => event,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn events_are_read_as_they_are_written() {
        let lines = lines();
        for (event, line) in &lines {
            assert_eq!(serde_json::to_string(event).expect("JSON"), *line);
            let printed = parse_event(line);
            assert_eq!(printed.known_event(), Some(event), "{line}");
            // Keys are sorted on the way.
            let passed_on = serde_json::to_value(&printed).expect("JSON");
            assert_eq!(passed_on, serde_json::to_value(event).expect("JSON"));
        }
        let names: std::collections::BTreeSet<&str> =
            lines.iter().map(|(event, _)| event_name(event)).collect();
        assert_eq!(names.len(), lines.len());
        assert_eq!(lines.len(), 11);
        for (event, line) in &lines {
            let begins = format!(r#"{{"event":"{}""#, event_name(event));
            assert!(line.starts_with(&begins), "{line}");
        }
    }

    #[test]
    fn events_of_other_versions_are_passed_on() {
        let later = r#"{"event":"stored","progress":{"done":3,"rate":0.5,"total":12},"why":[1]}"#;
        let printed = parse_event(later);
        let progress = PROGRESS_SO_FAR;
        assert_eq!(
            printed.known_event(),
            Some(&TuningEvent::Stored { progress })
        );
        assert_eq!(serde_json::to_string(&printed).expect("JSON"), later);

        let unknown = r#"{"event":"paused","progress":{"done":3,"total":12}}"#;
        let printed_unknown = parse_event(unknown);
        assert_eq!(printed_unknown.known_event(), None);
        assert_eq!(printed_unknown.progress(), Some(PROGRESS_SO_FAR));
        assert_eq!(
            serde_json::to_string(&printed_unknown).expect("JSON"),
            unknown
        );

        let lacking = parse_event(r#"{"event":"running"}"#);
        assert!(matches!(
            lacking.known_event(),
            Some(TuningEvent::Running { number: 0, nodes, .. }) if nodes.is_empty()
        ));
    }

    #[test]
    fn an_event_without_progress_gets_that_of_an_earlier_one() {
        let earlier = parse_event(r#"{"event":"stored","progress":{"done":3,"total":12}}"#);
        let failed = parse_event(r#"{"event":"failed","message":"no"}"#);
        assert_eq!(failed.progress(), None);
        let with_progress = failed.with_progress_of(&earlier);
        assert_eq!(with_progress.progress(), Some(PROGRESS_SO_FAR));
        let later = parse_event(r#"{"event":"stored","progress":{"done":4,"total":12}}"#);
        let own = later.with_progress_of(&earlier).progress();
        assert_eq!(own.map(|progress| progress.done), Some(4));
    }

    #[test]
    fn the_last_line_has_the_outcome() {
        let outcome = serde_json::json!({"done": 4});
        let line = serde_json::to_string(&LastLine::Outcome { outcome: &outcome }).expect("JSON");
        assert_eq!(line, r#"{"event":"outcome","outcome":{"done":4}}"#);
        assert_eq!(
            OutputLine::parse_line(line.as_bytes()),
            Some(OutputLine::Outcome(outcome))
        );
        for no_line in ["", "no json", "[]", "{}", r#"{"event":1}"#] {
            assert_eq!(
                OutputLine::parse_line(no_line.as_bytes()),
                None,
                "{no_line}"
            );
        }
    }
}
