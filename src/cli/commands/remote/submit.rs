use client::{Ask, Task};
use serde_json::{Map, Value, json};

use super::tasks::{described, followed};
use super::{Answer, Asking, CliError};

/// Submit a task
///
/// Campaigns are those of the service's own folder, named by their paths in it. A task of a campaign that is
/// queued or measured already waits for that one and takes its result.
///
/// With --wait, exits as the task's own verb does: 0, or 1 if a validation or check says "no", or another code if it
/// failed; 3 if it was cancelled.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// What to do
    #[arg(value_name = "KIND", value_parser = ["tune", "validate", "check", "report"])]
    kind: String,
    /// The machine; may be left out where the service has one
    #[arg(long)]
    machine: Option<String>,
    /// The campaign, by its path in the service's folder: for tune and report
    #[arg(long, value_name = "PATH")]
    campaign: Option<String>,
    /// The digest of the table: for validate and check
    #[arg(long, value_name = "DIGEST")]
    table: Option<String>,
    /// The budget, as in 10m; by default the campaign's
    #[arg(long, value_name = "DURATION")]
    budget: Option<String>,
    /// The sizes, as in `64,16K` or `8..1M x8`; by default the campaign's
    #[arg(long)]
    sizes: Option<String>,
    /// The collectives; by default the campaign's
    #[arg(long, value_delimiter = ',')]
    collectives: Option<Vec<String>>,
    /// Only the campaign's shapes with one of these numbers of nodes
    #[arg(long, value_delimiter = ',')]
    nodes: Option<Vec<u32>>,
    /// A word of your own for this request: sent again, it adds no second task
    #[arg(long)]
    key: Option<String>,
    /// Follow the task to its end
    #[arg(long)]
    wait: bool,
}

const EXAMPLES: &str = "\
Examples:
  colltune remote submit tune --campaign tuning/night.yaml --budget 10m --wait
  colltune remote submit validate --machine cluster --table DIGEST --key nightly-2026-11-20 --json";

impl Args {
    pub(super) fn run(&self, asking: &Asking) -> Result<Answer, CliError> {
        let body = self.request();
        let mut ask = Ask::post("/tasks", &body);
        if let Some(key) = &self.key {
            ask = ask.header("idempotency-key", key);
        }
        let (answer, task): (Value, Task) = asking.remote.read(ask)?;
        match self.wait {
            true => followed(asking, task.id),
            false => asking.print(&answer, || described(&task)),
        }
    }

    fn request(&self) -> Value {
        let given = |fields: &[(&str, Option<Value>)]| {
            let fields = fields.iter().cloned();
            let fields = fields.filter_map(|(name, value)| Some((name.to_owned(), value?)));
            Value::Object(fields.collect::<Map<_, _>>())
        };
        let text = |text: &Option<String>| text.clone().map(Value::from);
        given(&[
            ("kind", text(&Some(self.kind.clone()))),
            ("machine", text(&self.machine)),
            ("campaign", text(&self.campaign)),
            ("table", text(&self.table)),
            (
                "overrides",
                Some(given(&[
                    ("budget", text(&self.budget)),
                    ("sizes", text(&self.sizes)),
                    (
                        "collectives",
                        self.collectives.as_ref().map(|all| json!(all)),
                    ),
                    ("nodes", self.nodes.as_ref().map(|all| json!(all))),
                ])),
            ),
        ])
    }
}
