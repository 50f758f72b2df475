//! The state and the work of `colltune serve`: tasks that measure, tables by digest, releases of tables to channels,
//! tokens and an audit. This crate does not use HTTP.
//!
//! ```text
//! STATE/service.db        tasks, schedules, versions, validations, trends, findings, releases, tokens, webhooks, audit (SQLite; authoritative)
//! STATE/lock              locked by the only service that uses the folder
//! STATE/token             the token of the account that runs the service
//! STATE/webhook-key       the key of the secrets of webhooks
//! STATE/blobs/sha256/…    tables by digest; never changed
//! STATE/tasks/N/          log of task N, and its campaign
//! STATE/channels/MACHINE/LIBRARY/CHANNEL/   what `export::deploy` writes: versions, `current`
//! ```
//!
//! A [`Service`] is opened with a [`Configuration`]. [`Service::run_tasks`] starts tasks as child processes of the same
//! executable until it is stopped. Each request of a person or program has an [`Actor`]. This crate, not its caller,
//! checks the actor's scopes.

mod actor;
mod audit;
mod backup;
mod blobs;
mod campaigns;
mod clock;
mod configuration;
mod database;
mod disk;
mod error;
mod feed;
mod findings;
mod gates;
mod levels;
mod modes;
mod owner;
mod page;
mod priority;
mod problems;
mod publish;
mod releases;
mod runner;
mod schedules;
mod schema;
mod secret;
mod served;
mod service;
mod tasks;
mod tokens;
mod trends;
mod usage;
mod validations;
mod versions;
mod webhooks;

pub use actor::Actor;
pub use answers::{
    AgentCampaign, AgentCampaigns, ChangeControl, ChannelKey, ClaimId, ClaimRequest, ClaimedTask,
    Completed, Completion, Digest, FindingCause, FindingNote, FindingState, FoundChange, Gate,
    GateState, Heartbeat, HeartbeatAnswer, ListedFinding, ListedMachine, LogChunk, LogPart,
    MachineAgent, Manifest, NewToken, NewWebhook, Overrides, Page, PauseRequest, Release,
    ReleaseAction, ReleaseChannel, ReleaseRequest, Schedule, ScheduleDefinition, ScheduleEvents,
    SchedulePause, ScheduledChannel, Scope, Task, TaskId, TaskKind, TaskRequest, TaskState,
    TokenRow, TrendFinding, TrendQuantity, Triage, Webhook, WebhookEvent,
};
pub use audit::AuditRow;
pub use backup::{restore_backup, write_backup};
pub use campaigns::CampaignEntry;
pub use configuration::{Configuration, Listen, ServiceMachine, Tls};
pub use database::lock_ignoring_poison;
pub use error::ServiceError;
pub use feed::{Feed, FeedItem, Notice};
pub use findings::FindingFilter;
pub use levels::TrendLevel;
pub use page::Slice;
pub use priority::lower_priority;
pub use releases::Pull;
pub use schedules::{ExpectedRevision, ScheduleTag};
pub use secret::{SecretToken, SessionHolder};
pub use service::Service;
pub use tasks::{HeldClaim, Submitted, TaskFilter};
pub use trends::{Epoch, MeasuredNight, Trend, TrendSeries};
pub use validations::{Validation, activated_deployments};
pub use versions::Version;
pub use webhooks::OutgoingMessage;
