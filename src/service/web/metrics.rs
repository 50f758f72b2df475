//! `/metrics`, for Prometheus.

use std::time::Duration;

use axum::extract::State;
use axum::http::{Method, StatusCode, header};
use axum::response::IntoResponse;
use prometheus::core::Collector;
use prometheus::{GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, Opts, TextEncoder};
use service::{Service, ServiceError};

use crate::{App, Problem, Visitor};

/// Metrics that are updated at each request.
#[derive(Debug)]
pub(crate) struct Metrics {
    requests: IntCounterVec,
    seconds: HistogramVec,
}

impl Metrics {
    /// # Errors
    /// Wrong names of metrics: a defect of this crate.
    pub(crate) fn new() -> prometheus::Result<Self> {
        let requests = Opts::new(
            "colltune_http_requests_total",
            "Requests that were answered.",
        );
        let buckets = vec![
            0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0,
        ];
        let help = "Seconds from the headers of a request to those of its response.";
        let seconds = HistogramOpts::new("colltune_http_request_seconds", help).buckets(buckets);
        Ok(Self {
            requests: IntCounterVec::new(requests, &["method", "route", "status"])?,
            seconds: HistogramVec::new(seconds, &["route"])?,
        })
    }

    /// Counts a request. Routes are patterns, so the number of labels is bounded.
    pub(crate) fn count_request(
        &self,
        method: &Method,
        route: &str,
        status: StatusCode,
        took: Duration,
    ) {
        let method = match *method {
            Method::GET
            | Method::HEAD
            | Method::POST
            | Method::PUT
            | Method::PATCH
            | Method::DELETE => method.as_str(),
            _ => "other",
        };
        let labels = [method, route, status.as_str()];
        self.requests.with_label_values(&labels).inc();
        let seconds = self.seconds.with_label_values(&[route]);
        seconds.observe(took.as_secs_f64());
    }
}

/// Answers `/metrics`.
pub(crate) async fn answer_metrics(
    State(app): State<App>,
    visitor: Visitor,
) -> Result<impl IntoResponse, Problem> {
    visitor.require_read(None)?;
    let mut gauges = app.run_reading(read_gauges).await?;
    let pulled = app.shared.pulls.batch_age();
    gauges.push(Gauge {
        name: "colltune_pull_batch_age_seconds",
        help: "Seconds since pulls were last recorded.",
        labels: &[],
        rows: pulled
            .map(|age| (Vec::new(), age.as_secs_f64()))
            .into_iter()
            .collect(),
    });
    let text =
        encode_metrics(&app.shared.metrics, gauges).map_err(|error| Problem::internal(&error))?;
    let media = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, media)], text))
}

/// A gauge with the values of its labels and its value in each row.
struct Gauge {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    rows: Vec<(Vec<String>, f64)>,
}

/// The service's gauges.
fn read_gauges(service: &Service) -> Result<Vec<Gauge>, ServiceError> {
    let counts = service.task_counts()?.into_iter();
    let tasks =
        counts.map(|(machine, state, count)| (vec![machine, state.to_string()], count as f64));
    let (mut node_seconds, mut limits) = (Vec::new(), Vec::new());
    let mut silences = Vec::new();
    let now = jiff::Timestamp::now();
    for machine in &service.configuration().machines {
        let spent = service.node_seconds_this_month(&machine.name)?;
        node_seconds.push((vec![machine.name.clone()], spent));
        let limit = machine.node_hours.map(|hours| hours * 3600.0);
        limits.extend(limit.map(|limit| (vec![machine.name.clone()], limit)));
        if machine.has_agent
            && let Some(agent) = service.find_agent(&machine.name)?
        {
            let silence = now.duration_since(agent.heard_at).as_secs_f64().max(0.0);
            silences.push((vec![machine.name.clone()], silence));
        }
    }
    let (mut sequences, mut ages) = (Vec::new(), Vec::new());
    for release in service.newest_releases()? {
        let key = release.key;
        let labels = vec![key.machine, key.library, key.channel.to_string()];
        let age = now.duration_since(release.at);
        sequences.push((labels.clone(), release.sequence as f64));
        ages.push((labels, age.as_secs_f64().max(0.0)));
    }
    let findings = service.finding_counts()?.into_iter();
    let findings =
        findings.map(|(machine, state, count)| (vec![machine, state.to_string()], count as f64));
    let messages = service.message_counts()?.into_iter();
    let messages = messages.map(|(state, count)| (vec![state], count as f64));
    let (mut paused, mut failures) = (Vec::new(), Vec::new());
    for schedule in service.list_schedules(None, None)? {
        let machine = schedule.definition.task.machine.unwrap_or_default();
        let labels = vec![machine, schedule.name];
        paused.push((labels.clone(), f64::from(schedule.paused.is_some())));
        failures.push((labels, schedule.failures.into()));
    }
    let of_schedule = &["machine", "schedule"];
    let channel = &["machine", "library", "channel"];
    Ok(vec![
        Gauge {
            name: "colltune_findings",
            help: "Findings.",
            labels: &["machine", "state"],
            rows: findings.collect(),
        },
        Gauge {
            name: "colltune_webhook_messages",
            help: "Messages of webhooks; delivered and undelivered ones are counted for 30 days.",
            labels: &["state"],
            rows: messages.collect(),
        },
        Gauge {
            name: "colltune_schedule_paused",
            help: "Whether a schedule is paused.",
            labels: of_schedule,
            rows: paused,
        },
        Gauge {
            name: "colltune_schedule_failures",
            help: "Tasks of a schedule that failed one after the other, up to the newest one.",
            labels: of_schedule,
            rows: failures,
        },
        Gauge {
            name: "colltune_agent_silence_seconds",
            help: "Seconds since the agent of a machine was last heard, to 20 s; none if it was never heard.",
            labels: &["machine"],
            rows: silences,
        },
        Gauge {
            name: "colltune_node_seconds_limit",
            help: "Node-seconds in a calendar month after which no further task begins.",
            labels: &["machine"],
            rows: limits,
        },
        Gauge {
            name: "colltune_tasks",
            help: "Tasks.",
            labels: &["machine", "state"],
            rows: tasks.collect(),
        },
        Gauge {
            name: "colltune_node_seconds_this_month",
            help: "Node-seconds used by tasks in this calendar month (UTC).",
            labels: &["machine"],
            rows: node_seconds,
        },
        Gauge {
            name: "colltune_release_sequence",
            help: "Number of the newest release of a channel.",
            labels: channel,
            rows: sequences,
        },
        Gauge {
            name: "colltune_release_age_seconds",
            help: "Seconds since the newest release of a channel.",
            labels: channel,
            rows: ages,
        },
        Gauge {
            name: "colltune_problems",
            help: "Problems with the service's files and database; the overview and standard error list them.",
            labels: &[],
            rows: vec![(Vec::new(), service.list_problems().len() as f64)],
        },
    ])
}

fn encode_metrics(metrics: &Metrics, gauges: Vec<Gauge>) -> prometheus::Result<String> {
    let mut families = metrics.requests.collect();
    families.extend(metrics.seconds.collect());
    for Gauge {
        name,
        help,
        labels,
        rows,
    } in gauges
    {
        let gauge = GaugeVec::new(Opts::new(name, help), labels)?;
        for (values, value) in rows {
            gauge.get_metric_with_label_values(&values)?.set(value);
        }
        families.extend(gauge.collect());
    }
    families.retain(|family| !family.get_metric().is_empty());
    TextEncoder::new().encode_to_string(&families)
}
