//! The script of a job, from a template.

use std::path::Path;
use std::time::Duration;

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
use serde::Serialize;
use vocabulary::quote_for_shell;

use super::order::JobFolder;
use super::{expression, place};
use crate::LaunchError;
use crate::{BatchOptions, Template};

const SERVE: &str = include_str!("../../../../jobs/templates/serve.sh.j2");

/// The shortest and the longest margin: the time before its end in which a job begins no more measurements.
const LEAST_MARGIN: Duration = Duration::from_secs(30);
const MOST_MARGIN: Duration = Duration::from_secs(300);
/// The wall time is divided by this number to get a margin between these two.
const MARGIN_PART: u32 = 20;
/// The time for measuring that must be left for a launch to begin.
const LEAST_MEASURING: Duration = Duration::from_secs(60);

/// The longest template: the engine counts lines and columns with 16 bits.
const MOST_BYTES: usize = 32 << 10;

/// The input of a script.
pub(super) struct Purpose<'a> {
    pub(super) campaign: &'a str,
    pub(super) nodes: u32,
    pub(super) ppn: u32,
    pub(super) driver: &'a str,
    pub(super) folder: &'a JobFolder,
    /// The time that a job waits for another order.
    pub(super) idle: Duration,
    pub(super) launch: LaunchCommands,
}

/// The launcher's command lines.
pub(super) struct LaunchCommands {
    /// The command line that binds ranks to cores.
    pub(super) bound: Vec<String>,
    /// The command line that leaves the placement on cores to the kernel, if it differs.
    pub(super) unbound: Option<Vec<String>>,
    /// The exported variables.
    pub(super) environment: Vec<Variable>,
    /// The prefix of variables that are removed, since the library would read them before a program could.
    pub(super) early_choices: Option<&'static str>,
    /// Those of them that options name, which stay.
    pub(super) early_choices_in_options: Vec<String>,
    /// The text after a host in a host file.
    pub(super) slots: String,
}

/// An environment variable.
#[derive(Serialize)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: String,
    /// Whether it lists folders, which modules add to.
    pub(super) is_list: bool,
}

/// The division of a job's wall time, in seconds.
#[derive(Clone, Copy)]
pub(super) struct WallTimeDivision {
    /// The whole wall time.
    wall: u64,
    /// The time at its end in which running measurements may finish.
    margin: u64,
    /// The least time before the margin that must be left for a launch to begin.
    least: u64,
}

impl WallTimeDivision {
    pub(super) fn from_wall_time(wall: Duration) -> Self {
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

    /// The least wall time in which a launch may begin.
    pub(super) fn least_for_launch(self) -> Duration {
        Duration::from_secs(self.least)
    }
}

/// Renders the script of a job.
pub(super) fn render_from_template(
    options: &BatchOptions,
    purpose: &Purpose<'_>,
) -> Result<String, LaunchError> {
    let job = &options.job;
    let times = WallTimeDivision::from_wall_time(job.wall_time);
    let launch = &purpose.launch;
    // The same words are known to our scripts and to those of a site.
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
        allocation => place::utf8_text(purpose.folder.path().into())?,
        hostfile => place::utf8_text(purpose.folder.hosts_path().into())?,
        output => place::utf8_text(purpose.folder.output_path().into())?,
        slots => launch.slots,
        launch => launch.bound,
        launch_unbound => launch.unbound,
        environment => launch.environment,
        early_choices => launch.early_choices.unwrap_or_default(),
        early_choices_in_options => launch.early_choices_in_options,
    };
    // The part that starts launches is ours in every script, also in one from a site's template.
    let serve = fill_template(Path::new("serve.sh.j2"), SERVE, known.clone())?;
    let whole = context! { serve => serve.trim_end(), ..known };
    match &job.template {
        Some(Template { file, text }) => {
            let file = file.as_deref().unwrap_or(Path::new("(template)"));
            fill_template(file, text, whole)
        }
        None => {
            let system = options.system.words();
            let file = format!("{}.sh.j2", system.name);
            fill_template(Path::new(&file), system.template, whole)
        }
    }
}

/// Parses a template without rendering it.
///
/// # Errors
/// The line and the problem there.
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
    template_engine()
        .template_from_str(text)
        .map(drop)
        .map_err(line_and_text)
}

/// Whether a job with this script takes orders: it contains the text for `{{ serve }}`.
pub fn takes_orders(script: &str) -> bool {
    let first = SERVE.lines().next();
    first.is_some_and(|line| script.contains(line))
}

fn fill_template(file: &Path, text: &str, known: Value) -> Result<String, LaunchError> {
    let engine = template_engine();
    let template = engine.template_from_str(text);
    template
        .and_then(|template| template.render(known))
        .map_err(|error| {
            let (line, message) = line_and_text(error);
            LaunchError::Template {
                path: file.to_owned(),
                line,
                message,
            }
        })
}

/// The line and the text of an error.
fn line_and_text(error: minijinja::Error) -> (usize, String) {
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

fn template_engine() -> Environment<'static> {
    let mut engine = Environment::new();
    // So that errors have the part of the template that they concern.
    engine.set_debug(true);
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_auto_escape_callback(|_| AutoEscape::None);
    engine.set_keep_trailing_newline(true);
    engine.set_trim_blocks(true);
    engine.set_lstrip_blocks(true);
    engine.add_filter("sh", |text: &str| quote_for_shell(text));
    engine
}
