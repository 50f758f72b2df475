//! `/metrics`, for Prometheus.

use std::time::Duration;

use axum::extract::State;
use axum::http::{Method, StatusCode, header};
use axum::response::IntoResponse;
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
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
    pub(crate) fn count(&self, method: &Method, route: &str, status: StatusCode, took: Duration) {
        let method = match *method {
            Method::GET | Method::HEAD | Method::POST | Method::PUT | Method::DELETE => {
                method.as_str()
            }
            _ => "other",
        };
        let labels = [method, route, status.as_str()];
        self.requests.with_label_values(&labels).inc();
        let seconds = self.seconds.with_label_values(&[route]);
        seconds.observe(took.as_secs_f64());
    }
}

/// Answers `/metrics`.
pub(crate) async fn metrics(
    State(app): State<App>,
    visitor: Visitor,
) -> Result<impl IntoResponse, Problem> {
    visitor.require_read(None)?;
    let state = app.ask(Numbers::of).await?;
    let pulled = app.shared.pulls.age().map(|age| age.as_secs_f64());
    let text = text(&app.shared.metrics, &state, pulled);
    let text = text.map_err(|error| Problem::internal(&error))?;
    let media = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, media)], text))
}

type Row = (Vec<String>, f64);

/// The service's gauges, each with its labels.
struct Numbers {
    tasks: Vec<Row>,
    node_seconds: Vec<Row>,
    sequences: Vec<Row>,
    ages: Vec<Row>,
    problems: [Row; 1],
}

impl Numbers {
    fn of(service: &Service) -> Result<Self, ServiceError> {
        let counts = service.task_counts()?.into_iter();
        let tasks =
            counts.map(|(machine, state, count)| (vec![machine, state.to_string()], count as f64));
        let mut node_seconds = Vec::new();
        for machine in &service.configuration().machines {
            let spent = service.node_seconds_this_month(&machine.name)?;
            node_seconds.push((vec![machine.name.clone()], spent));
        }
        let (mut sequences, mut ages) = (Vec::new(), Vec::new());
        for release in service.channels()? {
            let key = release.key;
            let labels = vec![key.machine, key.library, key.channel.to_string()];
            let age = jiff::Timestamp::now().duration_since(release.at);
            sequences.push((labels.clone(), release.sequence as f64));
            ages.push((labels, age.as_secs_f64().max(0.0)));
        }
        Ok(Self {
            tasks: tasks.collect(),
            node_seconds,
            sequences,
            ages,
            problems: [(Vec::new(), service.problems().len() as f64)],
        })
    }
}

fn text(metrics: &Metrics, state: &Numbers, pulled: Option<f64>) -> prometheus::Result<String> {
    let channel = ["machine", "library", "channel"];
    let pulled: Vec<Row> = pulled.into_iter().map(|age| (Vec::new(), age)).collect();
    let gauges: [(&str, &str, &[&str], &[Row]); 6] = [
        (
            "colltune_tasks",
            "Tasks.",
            &["machine", "state"],
            &state.tasks,
        ),
        (
            "colltune_node_seconds_this_month",
            "Node-seconds used by tasks in this calendar month (UTC).",
            &["machine"],
            &state.node_seconds,
        ),
        (
            "colltune_release_sequence",
            "Number of the newest release of a channel.",
            &channel,
            &state.sequences,
        ),
        (
            "colltune_release_age_seconds",
            "Seconds since the newest release of a channel.",
            &channel,
            &state.ages,
        ),
        (
            "colltune_problems",
            "Problems with the service's files and database; the overview and standard error list them.",
            &[],
            &state.problems,
        ),
        (
            "colltune_pull_batch_age_seconds",
            "Seconds since pulls were last recorded.",
            &[],
            &pulled,
        ),
    ];
    let mut families = metrics.requests.collect();
    families.extend(metrics.seconds.collect());
    for (name, help, labels, rows) in gauges {
        families.extend(gauge(name, help, labels, rows)?);
    }
    families.retain(|family| !family.get_metric().is_empty());
    TextEncoder::new().encode_to_string(&families)
}

fn gauge(
    name: &str,
    help: &str,
    labels: &[&str],
    rows: &[Row],
) -> prometheus::Result<Vec<MetricFamily>> {
    let gauge = GaugeVec::new(Opts::new(name, help), labels)?;
    for (values, value) in rows {
        gauge.get_metric_with_label_values(values)?.set(*value);
    }
    Ok(gauge.collect())
}
