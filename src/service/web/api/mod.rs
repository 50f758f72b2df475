//! The interface `/api/v1`.

use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::routes::Document;

mod agents;
mod channels;
mod events;
mod findings;
mod lookup;
mod machines;
mod records;
mod schedules;
mod session;
mod tables;
mod tasks;
mod usage;
mod webhooks;

pub(crate) use self::findings::{find_visible_finding, find_visible_trend};
pub(crate) use self::schedules::find_visible_schedule;
pub(crate) use self::tables::{write_difference, write_export};

/// All routes of the interface, with their parts of the OpenAPI document.
pub(crate) fn build_router() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(machines::list_machines))
        .routes(routes!(machines::list_campaigns))
        .routes(routes!(tasks::list_tasks, tasks::submit_task))
        .routes(routes!(tasks::get_task))
        .routes(routes!(tasks::cancel_task))
        .routes(routes!(tasks::get_log_part))
        .routes(routes!(events::stream_task_events))
        .routes(routes!(events::stream_all_events))
        .routes(routes!(tables::get_table_text))
        .routes(routes!(tables::list_tables, tables::add_table))
        .routes(routes!(tables::describe_table))
        .routes(routes!(tables::diff_tables))
        .routes(routes!(tables::get_report))
        .routes(routes!(tables::export_table))
        .routes(routes!(channels::list_channels))
        .routes(routes!(channels::get_manifest))
        .routes(routes!(channels::list_releases, channels::make_release))
        .routes(routes!(channels::evaluate_gates))
        .routes(routes!(lookup::look_up_one, lookup::look_up_many))
        .routes(routes!(findings::list_findings))
        .routes(routes!(findings::get_finding, findings::decide_finding))
        .routes(routes!(findings::list_series))
        .routes(routes!(findings::list_levels))
        .routes(routes!(findings::get_trend))
        .routes(routes!(schedules::list_schedules))
        .routes(routes!(
            schedules::get_schedule,
            schedules::put_schedule,
            schedules::remove_schedule
        ))
        .routes(routes!(schedules::pause_schedule))
        .routes(routes!(schedules::resume_schedule))
        .routes(routes!(records::list_tokens, records::make_token))
        .routes(routes!(records::revoke_token))
        .routes(routes!(records::read_audit))
        .routes(routes!(webhooks::list_webhooks, webhooks::make_webhook))
        .routes(routes!(webhooks::remove_webhook))
        .routes(routes!(webhooks::test_webhook))
        .routes(routes!(agents::put_campaigns))
        .routes(routes!(agents::claim_task))
        .routes(routes!(agents::note_heartbeat))
        .routes(routes!(agents::complete_claim))
        .routes(routes!(usage::get_usage, usage::add_usage))
        .routes(routes!(session::begin_session, session::end_session))
}
