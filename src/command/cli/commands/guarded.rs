//! Common parts of the verbs that measure a table again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use answers::MeasuredMachine;
use guard::{
    GuardError, LaunchWatch, Misplaced, NamedSources, Point, PointKind, Probing, Sources,
    TestCaller, TestSetupOptions, TestWarning, TestedOn,
};
use schemars::JsonSchema;
use serde::Serialize;
use table::{Deployment, Operators, Table};
use tuner::NamedFile;
use vocabulary::units::format_counted;
use vocabulary::{CommShape, Warning};

use super::campaign::search_paths;
use super::in_force::warn_of_unread_verdicts;
use super::lookup::{warn_of_cpu, warn_of_networks, warn_of_simulation};
use super::{CliError, Console};
use crate::events::EventsArg;
use crate::interrupt;
use crate::progress::ProgressDisplay;
use crate::values;

/// The arguments that name a table and say how it is measured.
#[derive(Debug, clap::Args)]
pub(super) struct TableArgs {
    /// The decision table
    #[arg(value_name = "TABLE")]
    pub(super) path: PathBuf,
    /// The campaign with the launcher's options; by default the one in the table's store, if only you can have written
    /// that and the campaign measures into it
    #[arg(long, value_name = "CAMPAIGN.yaml")]
    campaign: Option<PathBuf>,
    /// The store with the measurements, for runners-up and verdicts; by default that of the campaign if the table was
    /// made with it, or else the one that the table names, if only you can have written that
    #[arg(long, value_name = "STORE")]
    store: Option<PathBuf>,
    /// Use no store: compare with no runner-up, and keep no verdicts in a store
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
    /// The decisions to measure: those for colltune, or those for the library's own settings
    #[arg(long, value_parser = values::deployment_parser(), default_value = "colltune")]
    pub(super) deployment: Deployment,
    /// Time that all launches may take, as in 5m; by default the campaign's budget
    #[arg(long, value_name = "DURATION", value_parser = vocabulary::units::parse_seconds)]
    budget: Option<f64>,
    /// Also accept another version of the library, or another simulated machine, than the table's
    #[arg(long)]
    pub(super) any_version: bool,
    /// The number of additional probes, sizes drawn at random between measured ones; by default a third of `--cells`,
    /// or without `--cells` one for every four gaps between measured sizes, and at least four for each collective and
    /// shape
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1000))]
    probes: Option<u32>,
    /// The seed from which probes are drawn, to measure the same probes again; by default a new one
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Write the results to this file, in Markdown
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) events: EventsArg,
}

impl TableArgs {
    /// Reads the table and finds its campaign and store. Checks, before anything is measured, that outputs can be
    /// written and replace no input, including `further` outputs and, if the verb `rewrites` it, the table.
    pub(super) fn read(
        &self,
        further: &[NamedFile<'_>],
        rewrites: bool,
        console: Console,
    ) -> Result<(Table, Sources), CliError> {
        let table = Table::load(&self.path)?;
        if !table.has_rules() {
            return Err(GuardError::NoRules.into());
        }
        if table.collectives.is_empty() {
            return Err(GuardError::OnlyNonblocking.into());
        }
        warn_of_simulation(&table, console);
        // The library reads its rules on any machine, so only people can tell that a table is for another one.
        if self.deployment == Deployment::Library {
            warn_of_cpu(&table, console);
            warn_of_networks(&table, console);
        }
        let named_sources = NamedSources {
            campaign: self.campaign.as_deref(),
            store: self.store.as_deref(),
            without_store: self.no_store,
        };
        // Which programs are started follows from the campaign, so the user is told if it is not the table's.
        let sources = Sources::find_for_table(&table, &named_sources, &search_paths().homes)?;
        if let Some(why) = &sources.passed_over {
            console.warn(format_args!(
                "{why}; programs are started with the launcher's default options, unless `--campaign FILE` names a \
                 campaign."
            ));
        }
        // Launches take long, so outputs that cannot be written, or would replace inputs, are refused before.
        let campaign = &sources.campaign;
        let own = [
            ("TABLE", Some(&*self.path)),
            ("the store", sources.store.path()),
            ("`--campaign`", self.campaign.as_deref()),
        ];
        let named = campaign.input_files().iter();
        let named = named.map(|(name, path)| (&**name, Some(&**path)));
        let inputs: Vec<_> = own.into_iter().chain(named).collect();
        let export = tuner::export_path(&table.provenance.library, &self.path);
        let export = export.filter(|_| rewrites);
        let text = export.as_deref().map(tuner::companion_path);
        let outputs = [
            ("`--markdown`", self.markdown.as_deref()),
            ("the export beside TABLE", export.as_deref()),
            ("the text beside that export", text.as_deref()),
        ];
        let outputs = [&outputs[..], further].concat();
        tuner::check_outputs_differ(&outputs, &inputs)?;
        tuner::probe_outputs(&outputs)?;
        if rewrites {
            tuner::probe_outputs(&own[..1])?;
        }
        Ok((table, sources))
    }

    /// The number and the seed of probes, if `cells` limits the number of other points.
    pub(super) fn choose_probing(&self, cells: Option<u32>) -> Probing {
        let number = self.probes.or(cells.map(|cells| cells.div_ceil(3)));
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        // Short enough to type, and exact in JSON.
        let by_the_clock = || since.map_or(0, |since| since.as_micros() as u64 % 1_000_000_000);
        Probing {
            seed: self.seed.unwrap_or_else(by_the_clock),
            number: number.map(|number| number as usize),
            each_gap: false,
        }
    }

    /// The options of the setup for a test with this number of first launches.
    pub(super) fn setup_options(&self, launches: u32) -> TestSetupOptions {
        TestSetupOptions {
            any_version: self.any_version,
            budget_seconds: self.budget,
            launches,
        }
    }

    /// The time that all launches may take, if it is given.
    pub(super) fn budget_seconds(&self) -> Option<f64> {
        self.budget
    }

    /// What prints the warnings and the progress of a test.
    pub(super) fn test_caller(&self, console: Console) -> ConsoleCaller {
        ConsoleCaller {
            console,
            events: self.events,
        }
    }
}

/// Prints the warnings of a test, and the progress or the events of its launches.
pub(super) struct ConsoleCaller {
    console: Console,
    events: EventsArg,
}

impl ConsoleCaller {
    /// A caller for verbs that print no events.
    pub(super) fn without_events(console: Console) -> Self {
        let events = EventsArg::unwanted();
        Self { console, events }
    }
}

impl TestCaller for ConsoleCaller {
    type Error = CliError;

    fn warn(&mut self, warning: TestWarning) {
        let console = self.console;
        match warning {
            TestWarning::UnreadVerdicts(error) => warn_of_unread_verdicts(&error, console),
            TestWarning::OtherLibrary(table) => {
                console.warn(format_args!("the table is for {table}."));
            }
            TestWarning::Conditions(conditions) => console.warn(format_args!("{conditions}.")),
            TestWarning::ExportNote(note) => console.warn(note),
            TestWarning::UnkeptVerdicts(error) => console.warn(format_args!(
                "the verdicts are not kept in the table's store: {error}."
            )),
            TestWarning::ChangedTable(changed) => {
                console.warn(format_args!("{changed}: it does not keep the verdicts."));
            }
            TestWarning::ReadOnlyTable { path, is_refuted } => {
                let consequence = if is_refuted {
                    ": programs that read it use what was found slower"
                } else {
                    ""
                };
                console.warn(format_args!(
                    "{} cannot be written and does not keep the verdicts{consequence}.",
                    path.display()
                ));
            }
        }
    }

    fn watch_launches(&mut self) -> Result<LaunchWatch, CliError> {
        let stop = interrupt::stop_flag_with_hangup()?;
        let display = ProgressDisplay::without_store;
        let observer = self.events.make_observer(self.console, display, &stop)?;
        Ok(LaunchWatch { observer, stop })
    }
}

/// A sentence about the probes and how to measure them again; `None` if there are none.
pub(super) fn describe_probes<'p>(
    points: impl Iterator<Item = &'p Point>,
    seed: u64,
) -> Option<String> {
    match points.filter(|point| point.is_probe()).count() {
        0 => None,
        probes => Some(format!(
            "Drawn between measured sizes: {}; the same options with `--seed {seed}` draw the same.",
            format_counted(probes, "probe")
        )),
    }
}

/// Warns of what makes the results of launches worth less.
pub(super) fn warn_of_conditions<'a>(
    conditions: impl IntoIterator<Item = &'a Warning>,
    console: Console,
) {
    for condition in conditions {
        console.warn(format_args!("{condition}."));
    }
}

/// Sentences, without a full stop, about points that were not judged because ranks were placed in another order.
pub(super) fn describe_misplaced(misplaced: &[Misplaced]) -> Vec<String> {
    let mut points: BTreeMap<_, usize> = BTreeMap::new();
    for Misplaced { point, found } in misplaced {
        *points
            .entry((point.cell.shape, point.order, found))
            .or_default() += 1;
    }
    let sentences = points.into_iter().map(|((shape, order, found), points)| {
        format!(
            "on {shape} the launches placed ranks in {found} order, but the table's rules are for {order} order: \
             points not judged: {points}"
        )
    });
    sentences.collect()
}

/// What was measured, for JSON.
pub(super) fn measured_machine(tested_on: Option<&TestedOn>) -> Option<MeasuredMachine> {
    let TestedOn {
        cpu,
        kernel,
        library_text,
        transports,
    } = tested_on?.clone();
    Some(MeasuredMachine {
        cpu,
        kernel,
        library_text,
        transports,
    })
}

/// A point for JSON.
#[derive(JsonSchema, Serialize)]
pub(super) struct PointParts {
    /// Name of the collective, as in `allreduce`.
    #[schemars(schema_with = "vocabulary::collective_name::list_in_schema")]
    collective: &'static str,
    #[serde(flatten)]
    shape: CommShape,
    /// Size of the call in bytes.
    bytes: u64,
    /// The distribution of the data of an irregular collective, as in `skewed`; null for others.
    distribution: Option<&'static str>,
    /// The operators of the entry of the table; `any` for collectives that combine nothing.
    operators: Operators,
    /// The reason for measuring at this size.
    place: PointKind,
    /// The rules that decide, in words.
    rule: String,
    /// The full name of the table's choice.
    chosen: String,
}

impl PointParts {
    pub(super) fn from_point(point: &Point) -> Self {
        Self {
            collective: point.cell.collective.name(),
            shape: point.cell.shape,
            bytes: point.cell.bytes,
            distribution: distribution_name(point),
            operators: point.operators,
            place: point.kind,
            rule: point_rules(point),
            chosen: point.chosen.to_string(),
        }
    }
}

/// The name of the distribution of an irregular collective's data.
fn distribution_name(point: &Point) -> Option<&'static str> {
    let cell = &point.cell;
    cell.collective
        .is_irregular()
        .then(|| cell.distribution.name())
}

/// The collective, the shape, the operators and the distribution of a point, without its size.
pub(super) fn place_name(point: &Point) -> String {
    place_name_with_bytes(point, "")
}

fn place_name_with_bytes(point: &Point, bytes: &str) -> String {
    let cell = &point.cell;
    let mut name = format!("{} {}{bytes}", cell.collective, cell.shape);
    if point.operators != Operators::Any {
        name += &format!(", {}", point.operators);
    }
    if let Some(distribution) = distribution_name(point) {
        name += &format!(", {distribution}");
    }
    name
}

/// A point in a few words, as in `allreduce 1x2 5003, commutative (probe)`.
pub(super) fn point_name(point: &Point) -> String {
    let cell = &point.cell;
    let bytes = vocabulary::units::format_bytes(cell.bytes);
    let bytes = cell.collective.has_data().then(|| format!(" {bytes}"));
    let mut name = place_name_with_bytes(point, &bytes.unwrap_or_default());
    if point.is_probe() {
        name += " (probe)";
    }
    name
}

/// The rules that decide at a point.
pub(super) fn point_rules(point: &Point) -> String {
    let rules = point.rules.iter().map(ToString::to_string);
    rules.collect::<Vec<_>>().join("; ")
}

/// A time, or a dash.
pub(super) fn seconds_or_dash(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), vocabulary::units::format_seconds)
}
