//! What one part of the program writes as JSON and another one reads: a key that both do not have is a compile error.
//!
//! The command line prints events ([`TuningEvent`]) and outcomes; the service reads those of its tasks, keeps them, and
//! passes them on to pages and programs. Everything that a reader does not need passes unchanged ([`PrintedEvent`]).
//! The service's interface over HTTP carries tasks, releases, manifests and tokens, and the client reads them.
//!
//! - A reader ignores keys that it does not know, since the writer may be a later version.
//! - In an event or outcome, a key that is lacking has the value that says nothing, since what is stored may be from an
//!   earlier version. Parts that say nothing without one of their keys are absent as a whole ([`MadeTable`],
//!   [`ReportOutcome`]). What a command measured or submitted ([`Measured`], [`SubmittedLaunch`]) is read when the command
//!   ends and never later: its keys are required, and a job that cannot be read is an error. In an answer over HTTP, the
//!   keys that the interface's document calls required are required.
//! - A request to the service is the exception: it refuses keys that it does not know, so that a wrong key is an error
//!   and not a default. A request that it repeats in an answer is read like the rest of the answer.
//! - The words for states, kinds, channels, actions and scopes are those of the interface's version; a word that is not
//!   among them is an error. Only the state of a job may be a later word ([`JobStateName::Unknown`]).

mod agents;
mod digest;
mod events;
mod findings;
mod jobs;
mod outcomes;
mod page;
mod problem;
mod releases;
mod schedules;
mod tasks;
mod tokens;
mod usage;
mod webhooks;

pub use agents::{
    AgentCampaign, AgentCampaigns, ClaimId, ClaimRequest, ClaimedTask, Completed, Completion,
    Heartbeat, HeartbeatAnswer, ListedMachine, LogChunk, MachineAgent,
};
pub use digest::Digest;
pub use events::{LastLine, OutputLine, PrintedEvent, TuningEvent};
pub use findings::{
    ChangeControl, FindingCause, FindingNote, FindingState, FoundChange, ListedFinding,
    TrendFinding, TrendQuantity, Triage,
};
pub use jobs::{JobStateName, LaunchState, Measured, SubmittedJob, SubmittedLaunch};
pub use outcomes::{
    CheckFindings, CheckedPoints, JudgementCounts, MadeTable, MeasuredDeployment, MeasuredMachine,
    PointVerdict, ReportOutcome, SLOWER_MACHINE_CODE, Speedups, TableVerdict, TrendOutcome,
    TrendPoint, TunedFiles, ValidateFindings, ValidatedPoints, without_points,
};
pub use page::Page;
pub use problem::ProblemAnswer;
pub use releases::{
    ChannelKey, Gate, GateState, Manifest, Release, ReleaseAction, ReleaseChannel, ReleaseRequest,
};
pub use schedules::{
    PauseRequest, Schedule, ScheduleDefinition, ScheduleEvents, SchedulePause, ScheduledChannel,
};
pub use tasks::{LogPart, Overrides, Task, TaskId, TaskKind, TaskRequest, TaskState};
pub use tokens::{MadeToken, NewToken, Scope, TokenRow};
pub use usage::{MachineTraffic, TableTraffic, TrafficTable, UsageReceipt};
pub use webhooks::{MadeWebhook, NewWebhook, Webhook, WebhookEvent};
