use client::{Ask, encode_query};
use vocabulary::RankOrder;

use super::release::ChannelArgs;
use super::{Answer, CliError, RemoteSession, text_at_pointer};
use crate::commands::query::QuestionArgs;

/// Ask the released table of a channel which algorithm to use
///
/// With --json, prints the same as `colltune lookup --json`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote lookup --machine local --library openmpi-4.1.4 -c allreduce -n 1 -k 2 -b 64K")]
pub(super) struct RemoteLookupArgs {
    #[command(flatten)]
    channel: ChannelArgs,
    #[command(flatten)]
    question: QuestionArgs,
}

impl RemoteLookupArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let asked = self.question.to_query();
        let shape = asked.shape;
        let (nodes, ppn, bytes) = (
            shape.nodes.to_string(),
            shape.ppn.to_string(),
            asked.bytes.to_string(),
        );
        // A collective may have no size to decide by, and the order of ranks may be unknown: the service takes neither then.
        let mut values = vec![
            ("collective", asked.collective.name()),
            ("nodes", &nodes),
            ("ppn", &ppn),
            ("operator", asked.operators.into()),
            ("deployment", asked.deployment.into()),
        ];
        if asked.collective.decides_by_size() {
            values.push(("bytes", &bytes));
        }
        if asked.order != RankOrder::Unknown {
            values.push(("order", asked.order.name()));
        }
        let path = format!(
            "{}/lookup{}",
            self.channel.channel_address().path(),
            encode_query(&values)
        );
        let answer = asking.remote.request_json(Ask::get(&path))?;
        asking.print_answer(&answer, || {
            // In the order of `colltune lookup`, without the times.
            let fields = [
                "speedup",
                "confidence",
                "deployed",
                "reason",
                "rule",
                "shape",
            ];
            let lines = fields.iter().filter_map(|name| {
                let text = text_at_pointer(&answer, &format!("/{name}"));
                (!text.is_empty()).then(|| format!("\n  {name:<10}  {text}"))
            });
            text_at_pointer(&answer, "/candidate") + &lines.collect::<String>()
        })
    }
}
