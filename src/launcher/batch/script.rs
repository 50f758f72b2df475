//! The script of a job, from a template.

use std::path::Path;
use std::time::Duration;

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
use serde::Serialize;
use vocabulary::quote;

use super::order::Folder;
use super::{expression, place};
use crate::LaunchError;
use crate::{BatchOptions, Template};

const SERVE: &str = include_str!("../../../jobs/templates/serve.sh.j2");

/// The shortest and the longest time before its end in which a job begins no measurement any more.
const LEAST_MARGIN: Duration = Duration::from_secs(30);
const MOST_MARGIN: Duration = Duration::from_secs(300);
/// The margin in between, as a part of the wall time.
const MARGIN_PART: u32 = 20;
/// A launch is not begun if there is less time to measure.
const LEAST_MEASURING: Duration = Duration::from_secs(60);

/// The longest template: the engine counts lines and columns with 16 bits.
const MOST_BYTES: usize = 32 << 10;

/// What a script is made for.
pub(super) struct Purpose<'a> {
    pub(super) campaign: &'a str,
    pub(super) nodes: u32,
    pub(super) ppn: u32,
    pub(super) driver: &'a str,
    pub(super) folder: &'a Folder,
    /// How long a job waits for another order.
    pub(super) idle: Duration,
    pub(super) launch: Launch,
}

/// The launcher's command lines.
pub(super) struct Launch {
    /// The command line that binds ranks to cores.
    pub(super) bound: Vec<String>,
    /// The command line that leaves ranks to the kernel, if it is another one.
    pub(super) unbound: Option<Vec<String>>,
    /// What is exported.
    pub(super) environment: Vec<Variable>,
    /// What follows a host in a file of hosts.
    pub(super) slots: String,
}

/// An environment variable.
#[derive(Serialize)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: String,
}

/// How a job's wall time is spent.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// All of it.
    wall: u64,
    /// What is left at its end for what is under way.
    margin: u64,
    /// What must be left before the margin for a launch to be begun.
    least: u64,
}

impl Times {
    pub(super) fn of(wall: Duration) -> Self {
        let margin = (wall / MARGIN_PART)
            .clamp(LEAST_MARGIN, MOST_MARGIN)
            .min(wall / 2);
        let least = LEAST_MEASURING.min((wall - margin) / 2);
        Self {
            wall: wall.as_secs(),
            margin: margin.as_secs(),
            least: least.as_secs(),
        }
    }

    /// The same, in which launches may begin.
    pub(super) fn least(self) -> Duration {
        Duration::from_secs(self.least)
    }
}

/// Renders the script of a job.
///
/// # Errors
/// [`LaunchError::Template`].
pub(super) fn render(options: &BatchOptions, purpose: &Purpose<'_>) -> Result<String, LaunchError> {
    let job = &options.job;
    let times = Times::of(job.wall_time);
    let launch = &purpose.launch;
    let known = context! {
        campaign => purpose.campaign,
        nodes => purpose.nodes,
        ppn => purpose.ppn,
        account => job.account,
        partition => job.partition,
        qos => job.qos,
        constraint => job.constraint,
        exclusive => job.exclusive,
        modules => job.modules,
        directives => job.directives,
        wall_time => options.system.wall_time(times.wall),
        wall_seconds => times.wall,
        margin_seconds => times.margin,
        least_seconds => times.least,
        idle_seconds => purpose.idle.as_secs(),
        driver => purpose.driver,
        allocation => place::text(purpose.folder.path().into())?,
        hostfile => place::text(purpose.folder.hosts().into())?,
        output => place::text(purpose.folder.output().into())?,
        slots => launch.slots,
        launch => launch.bound,
        launch_unbound => launch.unbound,
        environment => launch.environment,
    };
    let serve = fill(Path::new("serve.sh.j2"), SERVE, known.clone())?;
    let whole = context! { serve => serve.trim_end(), ..known };
    match &job.template {
        Some(Template { file, text }) => {
            let file = file.as_deref().unwrap_or(Path::new("(template)"));
            fill(file, text, whole)
        }
        None => {
            let system = options.system.words();
            let file = format!("{}.sh.j2", system.name);
            fill(Path::new(&file), system.template, whole)
        }
    }
}

/// Reads a template without filling it in.
///
/// # Errors
/// The line and what is wrong there.
pub fn check_syntax(text: &str) -> Result<(), (usize, String)> {
    if text.len() > MOST_BYTES {
        return Err((1, format!("it has more than {MOST_BYTES} bytes")));
    }
    if let Some(line) = expression::too_long(text) {
        let most = expression::MOST_OPERATORS;
        return Err((
            line,
            format!("an expression with more than {most} operators"),
        ));
    }
    engine().template_from_str(text).map(drop).map_err(blame)
}

/// Whether a job with this script takes orders: it has what `{{ serve }}` stands for.
pub fn takes_orders(script: &str) -> bool {
    let first = SERVE.lines().next();
    first.is_some_and(|line| script.contains(line))
}

fn fill(file: &Path, text: &str, known: Value) -> Result<String, LaunchError> {
    let engine = engine();
    let template = engine.template_from_str(text);
    template
        .and_then(|template| template.render(known))
        .map_err(|error| {
            let (line, message) = blame(error);
            LaunchError::Template {
                path: file.to_owned(),
                line,
                message,
            }
        })
}

/// The line, what is wrong there and with what.
fn blame(error: minijinja::Error) -> (usize, String) {
    let mut message = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let source = error.template_source().zip(error.range());
    if let Some(text) = source.and_then(|(source, range)| source.get(range)) {
        message.push_str(&format!(", in `{}`", text.trim()));
    }
    (error.line().unwrap_or(1), message)
}

fn engine() -> Environment<'static> {
    let mut engine = Environment::new();
    // So that errors know which part of the template they are about.
    engine.set_debug(true);
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_auto_escape_callback(|_| AutoEscape::None);
    engine.set_keep_trailing_newline(true);
    engine.set_trim_blocks(true);
    engine.set_lstrip_blocks(true);
    engine.add_filter("sh", |text: &str| quote(text));
    engine
}
