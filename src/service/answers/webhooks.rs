//! Webhooks: addresses that the service tells of events.

use serde::{Deserialize, Serialize};
use strum_macros::{Display, EnumString, IntoStaticStr};
use utoipa::ToSchema;

/// What a webhook is told of; also the `type` of its messages.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    ToSchema,
)]
pub enum WebhookEvent {
    /// A finding began, or was opened again.
    #[serde(rename = "finding.opened")]
    #[strum(serialize = "finding.opened")]
    FindingOpened,
    /// A finding was accepted, fixed or found to be invalid.
    #[serde(rename = "finding.closed")]
    #[strum(serialize = "finding.closed")]
    FindingClosed,
    /// A schedule paused itself.
    #[serde(rename = "schedule.paused")]
    #[strum(serialize = "schedule.paused")]
    SchedulePaused,
    /// A table was released.
    #[serde(rename = "release.release")]
    #[strum(serialize = "release.release")]
    Released,
    /// A channel was rolled back.
    #[serde(rename = "release.rollback")]
    #[strum(serialize = "release.rollback")]
    RolledBack,
    /// The table of a channel was withdrawn.
    #[serde(rename = "release.withdraw")]
    #[strum(serialize = "release.withdraw")]
    Withdrawn,
    /// A task failed.
    #[serde(rename = "task.failed")]
    #[strum(serialize = "task.failed")]
    TaskFailed,
    /// A person tests the webhook. It is sent whatever events were chosen.
    #[serde(rename = "test")]
    #[strum(serialize = "test")]
    Test,
}

impl WebhookEvent {
    /// The events that a webhook can choose.
    pub const CHOICES: [Self; 7] = [
        Self::FindingOpened,
        Self::FindingClosed,
        Self::SchedulePaused,
        Self::Released,
        Self::RolledBack,
        Self::Withdrawn,
        Self::TaskFailed,
    ];
}

/// A request for a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// The address: `https://HOST[:PORT]/PATH`.
    pub url: String,
    /// The events; empty for all.
    #[serde(default)]
    pub events: Vec<WebhookEvent>,
    /// The machines whose events are sent; empty for all.
    #[serde(default)]
    pub machines: Vec<String>,
}

/// A webhook without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// Its number.
    pub id: u64,
    /// The address.
    pub url: String,
    /// The events; empty for all.
    pub events: Vec<WebhookEvent>,
    /// The machines; empty for all.
    pub machines: Vec<String>,
    /// When it was made.
    #[schema(value_type = String)]
    pub created_at: jiff::Timestamp,
    /// The user who made it.
    pub created_by: String,
    /// The number of its messages that wait.
    pub waiting: u64,
    /// The number of its messages that stayed undelivered after the last attempt, within the last 30 days.
    pub failed: u64,
    /// The time of the last message that arrived, within the last 30 days.
    #[schema(value_type = Option<String>)]
    pub delivered_at: Option<jiff::Timestamp>,
    /// The reason why the newest message has not arrived.
    pub problem: Option<String>,
}

/// A new webhook with its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MadeWebhook {
    /// The secret with which messages are signed, as Standard Webhooks write it: `whsec_` and Base64. It is not shown
    /// again.
    pub secret: String,
    /// The webhook.
    #[serde(flatten)]
    pub webhook: Webhook,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_the_same_words_in_json_and_for_people() {
        for event in WebhookEvent::CHOICES
            .into_iter()
            .chain([WebhookEvent::Test])
        {
            assert_eq!(json!(event), event.to_string());
            assert_eq!(event.to_string().parse(), Ok(event));
        }
    }

    #[test]
    fn webhooks_are_read_as_they_are_written() {
        let made = MadeWebhook {
            secret: "whsec_AA==".to_owned(),
            webhook: Webhook {
                id: 1,
                url: "https://site.example/hook".to_owned(),
                events: vec![WebhookEvent::TaskFailed],
                machines: vec!["hydra".to_owned()],
                created_at: "2026-11-29T02:00:00Z".parse().expect("a time"),
                created_by: "ann".to_owned(),
                waiting: 2,
                failed: 0,
                delivered_at: None,
                problem: Some("no answer within 10 s".to_owned()),
            },
        };
        let text = serde_json::to_string(&made).expect("JSON");
        let read: MadeWebhook = serde_json::from_str(&text).expect("readable");
        assert_eq!(read, made);
        let strict = json!({"url": "https://site.example", "secret": "x"});
        assert!(NewWebhook::deserialize(&strict).is_err());
    }
}
