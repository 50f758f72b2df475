use answers::{NewWebhook, Webhook, WebhookEvent};
use client::Ask;
use report::text_table;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, CliError, RemoteSession};
use crate::values;

/// List, make, test and remove webhooks, which the service tells of events
///
/// Messages are signed as Standard Webhooks are. Needs a token with the scope admin. With --make, prints only the secret
/// of the signatures, which is never shown again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune remote webhooks
  (umask 077; colltune remote webhooks --make https://chat.site/hook --event finding.opened,schedule.paused > hook.secret)
  colltune remote webhooks --test 3
  colltune remote webhooks --remove 3")]
pub(super) struct WebhooksArgs {
    /// Make a webhook of this address
    #[arg(long, value_name = "URL")]
    make: Option<String>,
    /// The events of which it is told; by default all
    #[arg(long, value_delimiter = ',', requires = "make", value_parser = values::webhook_event_parser())]
    event: Vec<WebhookEvent>,
    /// The machines of whose events it is told; by default all
    #[arg(long, value_delimiter = ',', requires = "make")]
    machine: Vec<String>,
    /// Send a message to the webhook of this number
    #[arg(long, value_name = "ID", conflicts_with = "make")]
    test: Option<u64>,
    /// Remove the webhook of this number, with its messages
    #[arg(long, value_name = "ID", conflicts_with_all = ["make", "test"])]
    remove: Option<u64>,
}

/// What is read of a [`answers::MadeWebhook`]: the secret is never shown again.
#[derive(Deserialize)]
struct MadeSecret {
    secret: String,
}

impl WebhooksArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        if let Some(url) = &self.make {
            let body = json!(NewWebhook {
                url: url.clone(),
                events: self.event.clone(),
                machines: self.machine.clone(),
            });
            let ask = Ask::post("/webhooks", &body);
            if asking.json {
                let answer = asking.remote.request_json(ask)?;
                return asking.print_answer(&answer, String::new);
            }
            let (answer, made): (Value, MadeSecret) = asking.remote.request_as(ask)?;
            return asking.print_answer(&answer, || made.secret);
        }
        if let Some(id) = self.test {
            let path = format!("/webhooks/{id}/test");
            let answer = asking.remote.request_json(Ask::post(&path, &json!({})))?;
            return asking.print_answer(&answer, || {
                format!("a message to webhook {id} is on its way; `colltune remote webhooks` says whether it arrived")
            });
        }
        if let Some(id) = self.remove {
            let path = format!("/webhooks/{id}");
            let answer = asking.remote.request_json(Ask::delete(&path))?;
            return asking.print_answer(&answer, || format!("webhook {id} is removed"));
        }
        let (answer, webhooks): (Value, Vec<Webhook>) =
            asking.remote.request_as(Ask::get("/webhooks"))?;
        asking.print_answer(&answer, || {
            let columns = "webhook> | address | events? | machines? | waiting> | undelivered> | arrived? | problem?";
            text_table(columns, webhooks.iter().map(webhook_row)).to_text()
        })
    }
}

fn webhook_row(webhook: &Webhook) -> [String; 8] {
    let events: Vec<&str> = webhook.events.iter().map(<&str>::from).collect();
    let delivered = webhook.delivered_at.map(|at| at.to_string());
    [
        webhook.id.to_string(),
        webhook.url.clone(),
        events.join(", "),
        webhook.machines.join(", "),
        webhook.waiting.to_string(),
        webhook.failed.to_string(),
        delivered.unwrap_or_default(),
        webhook.problem.clone().unwrap_or_default(),
    ]
}
