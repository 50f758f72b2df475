//! The feed of events, as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use printable::Plain;
use service::{FeedItem, Notice, TaskId};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::tasks::find_visible_task;
use crate::extract::{Path, header_text};
use crate::pools::refuse_full;
use crate::shares::TakenPlace;
use crate::{App, Peer, Problem, Visitor};

/// The interval of the comments that are sent while there are no events; they detect dead connections.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The interval at which the visitor's token or session is checked while there are no events. Before each event it is
/// checked anyway.
const CHECK: Duration = Duration::from_secs(1);

/// All events: `task`, `progress`, `release`, each with a JSON object.
///
/// After a reconnect, events since `Last-Event-ID` come first. If some of them are no longer kept, the event `lost`
/// comes instead: the client must reload what it shows. The stream ends when the token or session with which it was
/// requested ends.
#[utoipa::path(
    get, path = "/api/v1/events", tag = "tasks",
    params(("Last-Event-ID" = Option<String>, Header)),
    responses(
        (status = 200, body = FeedItem, content_type = "text/event-stream"),
        (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 429, description = "Too many event streams of this client", body = Problem),
        (status = 503, description = "Too many event streams", body = Problem),
    )
)]
pub(crate) async fn stream_all_events(
    State(app): State<App>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    visitor.require_read(None)?;
    open_event_stream(app, visitor, &headers, None)
}

/// The events of a task, as long as the token or session with which they were requested is valid.
#[utoipa::path(
    get, path = "/api/v1/tasks/{id}/events", tag = "tasks",
    params(("id" = u64, Path), ("Last-Event-ID" = Option<String>, Header)),
    responses(
        (status = 200, body = FeedItem, content_type = "text/event-stream"),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
        (status = 429, description = "Too many event streams of this client", body = Problem),
        (status = 503, description = "Too many event streams", body = Problem),
    )
)]
pub(crate) async fn stream_task_events(
    State(app): State<App>,
    visitor: Visitor,
    headers: HeaderMap,
    Path(id): Path<TaskId>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    find_visible_task(&app, &visitor, id).await?;
    open_event_stream(app, visitor, &headers, Some(id))
}

fn open_event_stream(
    app: App,
    visitor: Visitor,
    headers: &HeaderMap,
    task: Option<TaskId>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + use<>>, Problem> {
    let place = app.shared.streams.take_place(Peer::current_client());
    let place = place.map_err(|full| {
        refuse_full(full, "event streams are open").retry_after(Duration::from_secs(10))
    })?;
    let last = header_text(headers, &HeaderName::from_static("last-event-id"))?;
    // The service sends only valid numbers. An invalid one counts as 0, so the client gets the event `lost`.
    let after = last.map(|last| last.trim().parse().unwrap_or(0));
    let (missed, receiver) = app.service.feed().listen_after(after);
    let mut checks = interval(CHECK);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let state = Listening {
        task,
        is_lost: missed.is_none(),
        waiting: missed.unwrap_or_default().into(),
        receiver,
        ending: app.shared.ending.clone(),
        checks,
        app,
        visitor,
        _place: place,
    };
    let events = stream::unfold(state, |mut state| async {
        let event = state.next_event().await?;
        Some((Ok(event), state))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

struct Listening {
    /// The task to which the events are restricted; `None` for all events.
    task: Option<TaskId>,
    waiting: VecDeque<FeedItem>,
    is_lost: bool,
    receiver: broadcast::Receiver<FeedItem>,
    ending: watch::Receiver<bool>,
    app: App,
    visitor: Visitor,
    checks: Interval,
    _place: TakenPlace,
}

/// What comes next on an event stream.
enum StreamStep {
    Send(Event),
    /// Nothing, but time has passed.
    Check,
    End,
}

impl Listening {
    /// The next event; `None` at the end, which also comes when the visitor's token or session has ended.
    async fn next_event(&mut self) -> Option<Event> {
        loop {
            let step = self.wait_for_step().await;
            if matches!(step, StreamStep::End) || !self.visitor.is_still_valid(&self.app).await {
                return None;
            }
            if let StreamStep::Send(event) = step {
                return Some(event);
            }
        }
    }

    async fn wait_for_step(&mut self) -> StreamStep {
        loop {
            if std::mem::take(&mut self.is_lost) {
                return StreamStep::Send(Event::default().event("lost").data("{}"));
            }
            let item = match self.waiting.pop_front() {
                Some(item) => item,
                None => tokio::select! {
                    received = self.receiver.recv() => match received {
                        Ok(item) => item,
                        Err(RecvError::Lagged(_)) => {
                            self.is_lost = true;
                            continue;
                        }
                        Err(RecvError::Closed) => return StreamStep::End,
                    },
                    _ = self.checks.tick() => return StreamStep::Check,
                    _ = self.ending.wait_for(|ends| *ends) => return StreamStep::End,
                },
            };
            if let Some(event) = self.event_of_item(&item) {
                return StreamStep::Send(event);
            }
        }
    }

    /// The event to send, unless it belongs to another task.
    fn event_of_item(&self, item: &FeedItem) -> Option<Event> {
        let (name, of) = match &item.notice {
            Notice::Task { task } => ("task", Some(task.id)),
            Notice::Progress { task, .. } => ("progress", Some(*task)),
            Notice::Release { .. } => ("release", None),
        };
        if self.task.is_some() && self.task != of {
            return None;
        }
        let event = Event::default().event(name).id(item.id.to_string());
        let text = serde_json::to_string(item).ok()?;
        Some(event.data(Plain(text).to_string()))
    }
}
