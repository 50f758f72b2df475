//! The validated campaign.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use launcher::{LibraryChoice, LocalOptions, usable_cores};
use schedule::{Collective, Distribution};
use serde::{Deserialize, Serialize};
use strict_yaml::Document;
use strum_macros::Display;
use table::{Confidence, Numerics};
use vocabulary::{
    CacheState, CommShape, Datatype, Operator, Pattern, RankOrder, Synchronisation, Through,
    Warning,
};

use crate::LauncherConfig;
use crate::definition::Definition;
use crate::error::CAMPAIGN;
use crate::validate::{self, Machine};
use crate::{CampaignError, DefaultsVersion, ProgramCalls, Selection};

/// The share of a campaign's budget that is reserved for confirming choices.
const CONFIRMING_SHARE: f64 = 0.4;

/// The measurements to make; every value has been checked.
///
/// The keys of a campaign file and their defaults are described in `tuning/reference.yaml`.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The name; safe as part of a file name.
    pub name: String,
    /// The MPI library to measure.
    pub library: LibraryChoice,
    /// The launcher of the measuring program.
    pub launcher: LauncherConfig,
    /// The shapes, without duplicates, by number of ranks.
    pub shapes: Vec<CommShape>,
    /// The sizes of each collective's calls in bytes ([`vocabulary::Cell::bytes`]), ascending, not yet rounded to
    /// elements; only 0 for collectives without data.
    pub sizes: BTreeMap<Collective, Vec<u64>>,
    /// The distributions of the data in irregular collectives, at least one, without duplicates; each is measured in
    /// its own cells.
    pub distributions: Vec<Distribution>,
    /// Element type of reductions.
    pub datatype: Datatype,
    /// Operators of reductions, at least one, without duplicates; each is measured in its own cells.
    pub operators: Vec<Operator>,
    /// The algorithms that are compared with the default.
    pub selection: Selection,
    /// The parameter values of these algorithms.
    pub parameters: ParameterGrid,
    /// The share of the cells and candidates that is measured.
    pub strategy: Strategy,
    /// The regret, as a share, below which a guided search does not measure to improve a decision.
    pub target_regret: f64,
    /// The number of launches, the statistical unit, per choice.
    pub launches: u32,
    /// Whether choices are measured again in fresh launches, and only confirmed ones replace the default.
    pub confirmation: ConfirmationMode,
    /// The least confidence of deployed rules; other rules stay in the table.
    pub min_confidence: Confidence,
    /// What the bits of reductions by deployed rules must not depend on; other rules stay in the table.
    pub numerics: Numerics,
    /// The conditions under which a candidate is repeated no further.
    pub repetitions: Repetitions,
    /// Confidence with which a candidate must be faster than the default to replace it, as in 0.95; if there are too
    /// few launches to attain it, `materiality` decides alone. Also the confidence of the interval in
    /// [`Repetitions::precision`].
    pub confidence: f64,
    /// The least gain for which a candidate replaces the default: the default's time divided by the candidate's is at
    /// least 1 plus this, as in 0.05 for 1.05 times.
    pub materiality: f64,
    /// The regret accepted for a shorter table, as a share of the time at each size.
    pub max_regret: f64,
    /// The total time of all launches of the library into the store.
    pub budget_seconds: f64,
    /// The time after which a candidate's turn counts as hung.
    pub watchdog_seconds: f64,
    /// The synchronisation of ranks before each repetition.
    pub synchronisation: Synchronisation,
    /// The pattern of calls; [`Pattern::Skewed`] only with [`Synchronisation::Window`], [`Pattern::Nonblocking`] only for
    /// collectives in [`vocabulary::NONBLOCKING`] on real machines, and not [`Pattern::Overlapped`].
    pub pattern: Pattern,
    /// Whether calls may find their buffers in caches; simulated machines have none.
    pub cache: CacheState,
    /// The number of nodes up to which the model extends the table; `None` if there are no entries for shapes that were
    /// not measured.
    pub extend_to_nodes: Option<u32>,
    /// The calls of the programs that the campaign is for; empty if it is for any.
    pub traffic: Vec<ProgramCalls>,
    /// The paths of the results.
    pub output: Output,
    /// Whether the file names the collectives.
    pub(crate) names_collectives: bool,
    /// The version of the defaults for keys that the file leaves out.
    pub(crate) defaults: DefaultsVersion,
    /// Whether the ranks of a node have memory in common, as far as is known.
    pub(crate) has_shared_memory: bool,
    /// The files that the campaign is read from, each with a description.
    pub(crate) inputs: Vec<(String, PathBuf)>,
    pub(crate) text: String,
}

/// The selection of measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Strategy {
    /// Measurements that may change a decision.
    #[default]
    Guided,
    /// Every candidate in every cell in every launch.
    Exhaustive,
}

/// Whether fresh launches confirm choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmationMode {
    /// A candidate replaces the default only if fresh launches confirm it.
    #[default]
    On,
    /// No confirmation: exploring launches decide.
    Off,
}

/// The parameter values of algorithms, serialized as in digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParameterGrid {
    /// Block sizes of pipelined algorithms, ascending.
    pub block_bytes: Vec<u64>,
    /// Whether the model's predicted block size is added.
    pub predicted: bool,
    /// Radices of trees, ascending.
    pub radix: Vec<u32>,
    /// Numbers of requests that a rank may have under way, ascending; `None` for the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<Vec<u32>>,
    /// Ids of inner reduces of compositions.
    pub reduce: Vec<String>,
    /// Ids of inner broadcasts of compositions.
    pub bcast: Vec<String>,
    /// The named transports of messages within nodes; `None` for the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<Vec<Through>>,
}

impl ParameterGrid {
    /// The numbers of requests that are tried by default.
    pub const MAX_REQUESTS: [u32; 6] = [1, 2, 4, 8, 16, 32];

    /// The numbers of requests that are tried.
    pub fn max_requests(&self) -> &[u32] {
        self.max_requests.as_deref().unwrap_or(&Self::MAX_REQUESTS)
    }
}

/// The conditions under which a candidate is repeated no further within a launch. Serialized in digests of campaigns:
/// a new field must be left out where it has its default, so that old digests do not change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Repetitions {
    /// Repetitions that are always taken.
    pub minimum: u32,
    /// The largest number of repetitions.
    pub maximum: u32,
    /// The width of the median's interval, as a share of the median, below which a candidate stops.
    pub precision: f64,
    /// Measuring time after which a candidate stops if it has its minimum.
    pub slice: TimeSlice,
    /// Whether candidates that are significantly slower are eliminated early.
    pub racing: bool,
}

/// The measuring time of a candidate's turn. Serialized in digests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum TimeSlice {
    /// An equal share of the budget for each turn.
    #[serde(rename = "auto")]
    Auto,
    /// A fixed time.
    #[serde(untagged)]
    Seconds(f64),
}

/// The paths of the results; relative ones start at the working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The store of samples.
    pub store: PathBuf,
    /// The decision table.
    pub table: PathBuf,
    /// The report: Markdown, unless its name ends in `.html`.
    pub report: PathBuf,
}

impl Output {
    /// The path of the report as a page with pictures, beside the report; the report's own path if it is a page.
    pub fn report_page(&self) -> PathBuf {
        self.report.with_extension("html")
    }
}

impl Campaign {
    /// The distributions of a campaign that names none.
    pub const DISTRIBUTIONS: [Distribution; 2] = [Distribution::Uniform, Distribution::Skewed];

    /// The distributions of a collective's data: uniform alone, unless it is irregular.
    pub fn distributions_of(&self, collective: Collective) -> &[Distribution] {
        if collective.is_irregular() {
            &self.distributions
        } else {
            &[Distribution::Uniform]
        }
    }

    /// Reads a campaign file for this machine.
    ///
    /// # Errors
    /// [`CampaignError::Read`], or the first mistake with its place.
    pub fn load(path: &Path) -> Result<Self, CampaignError> {
        let read = |source| CampaignError::Read {
            path: path.to_owned(),
            source,
        };
        Self::parse(&files::read_text(path).map_err(read)?, path)
    }

    /// Reads a campaign for this machine from the text of the file `path`. Errors name the file, and no output may
    /// replace it.
    ///
    /// # Errors
    /// The first mistake with its place.
    pub fn parse(text: &str, path: &Path) -> Result<Self, CampaignError> {
        Self::parse_for(text, path, usable_cores())
    }

    /// Reads a campaign that was measured before, perhaps on another machine, from the text in its store, with the
    /// defaults of the version of the digest under which the store has it.
    ///
    /// Any number of ranks is accepted, even with `oversubscribe: never`, and any number of nodes if the campaign names
    /// a host file, which may no longer exist. The text includes job specifications and templates. `shapes: auto` is
    /// evaluated on this machine, so the digest may differ from that at the time of measuring.
    ///
    /// # Errors
    /// The first mistake with its place, if the text follows the rules of another version of colltune.
    pub fn parse_stored(text: &str, digest: &str) -> Result<Self, CampaignError> {
        let place = Path::new("(stored campaign)");
        let campaign = Self::parse_on(
            text,
            place,
            Machine::Unknown {
                cores: usable_cores(),
            },
        )?;
        Ok(campaign.with_defaults(DefaultsVersion::of_digest(digest)))
    }

    /// Reads a campaign of another host from its text, which must include job specifications and templates: no file is
    /// read that it names. As for [`Self::parse_stored`], the digest may differ from that on the other host.
    ///
    /// # Errors
    /// The first mistake with its place.
    pub fn parse_elsewhere(text: &str, path: &Path) -> Result<Self, CampaignError> {
        let cores = usable_cores();
        Self::parse_on(text, path, Machine::Other { cores })
    }

    /// Reads a campaign for a machine of this many cores.
    ///
    /// # Errors
    /// The first mistake with its place.
    pub fn parse_for(text: &str, path: &Path, cores: u32) -> Result<Self, CampaignError> {
        Self::parse_on(text, path, Machine::Known { cores })
    }

    fn parse_on(text: &str, path: &Path, machine: Machine) -> Result<Self, CampaignError> {
        let document = Document::parse(&CAMPAIGN, path, text)?;
        let definition: Definition = document
            .read_values()
            .map_err(|error| validate::name_range_of_launches(&document, error))?;
        let mut campaign = validate::check_definition(&document, &definition, text, machine)?;
        campaign.inputs = validate::list_inputs(path, &definition, &campaign);
        // Outputs of a measured campaign are only read.
        if let Machine::Known { .. } = machine {
            validate::refuse_replaced_inputs(&document, &campaign)?;
        }
        Ok(campaign)
    }

    /// The text of the file, with the contents of the job files that it names (`job`, `template`) in place of their
    /// names.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The files that the campaign is read from or names, each with a description such as "`launcher.local.hostfile`".
    pub fn input_files(&self) -> &[(String, PathBuf)] {
        &self.inputs
    }

    /// The order of ranks on nodes by the campaign's placement; unknown if further options of the user may change it.
    pub fn rank_order(&self) -> RankOrder {
        let (placement, options) = match &self.launcher {
            LauncherConfig::Simulated(options) => return options.placement.order(),
            LauncherConfig::Batch(options) => (options.placement, &options.options),
            LauncherConfig::Local(LocalOptions {
                hosts: Some(hosts),
                options,
                ..
            }) => (hosts.placement, options),
            LauncherConfig::Local(_) => return RankOrder::Unknown,
        };
        if options.is_empty() {
            placement.order()
        } else {
            RankOrder::Unknown
        }
    }

    /// The first operator that commutes; a sum if there is none.
    pub fn commuting_operator(&self) -> Operator {
        let mut operators = self.operators.iter().copied();
        operators
            .find(|operator| operator.commutes())
            .unwrap_or(Operator::Sum)
    }

    /// The part of the budget for exploring launches, in seconds. The rest is for confirming choices.
    pub fn exploring_seconds(&self) -> f64 {
        match self.confirmation {
            ConfirmationMode::On => (1.0 - CONFIRMING_SHARE) * self.budget_seconds,
            ConfirmationMode::Off => self.budget_seconds,
        }
    }

    /// The patterns of calls in which choices are confirmed: the campaign's own, then the other patterns that programs
    /// use most.
    pub fn confirming_patterns(&self) -> Vec<Pattern> {
        let usual = if self.pattern.is_nonblocking() {
            [Pattern::Nonblocking, Pattern::Overlapped]
        } else {
            [Pattern::Together, Pattern::Repeated]
        };
        let others = usual.into_iter().filter(|usual| *usual != self.pattern);
        std::iter::once(self.pattern).chain(others).collect()
    }

    /// Whether the times, and the time that the budget limits, are those of a simulated machine.
    pub fn is_simulated(&self) -> bool {
        matches!(self.launcher, LauncherConfig::Simulated(_))
    }

    /// The smallest shape that contains all others: the shape of a launch for all cells.
    pub fn largest_shape(&self) -> CommShape {
        let smallest = CommShape { nodes: 1, ppn: 1 };
        self.shapes.iter().fold(smallest, |held, shape| CommShape {
            nodes: held.nodes.max(shape.nodes),
            ppn: held.ppn.max(shape.ppn),
        })
    }

    /// The shapes that the table is extended to, beyond the largest measured number of nodes with as many ranks per
    /// node: powers of two, three times powers of two, and the largest requested number.
    pub fn extended_shapes(&self) -> Vec<CommShape> {
        let Some(last) = self.extend_to_nodes else {
            return Vec::new();
        };
        let mut largest: BTreeMap<u32, u32> = BTreeMap::new();
        for CommShape { nodes, ppn } in &self.shapes {
            let known = largest.entry(*ppn).or_default();
            *known = (*nodes).max(*known);
        }
        let steps = (0..31).flat_map(|k| [1_u32 << k, 3_u32 << k >> 1]);
        let all_nodes: BTreeSet<u32> = steps.filter(|nodes| *nodes < last).chain([last]).collect();
        let beyond = largest.into_iter().flat_map(|(ppn, largest)| {
            let beyond = all_nodes.iter().filter(move |nodes| **nodes > largest);
            beyond.map(move |&nodes| CommShape { nodes, ppn })
        });
        beyond.collect()
    }

    /// Warnings if a node has more ranks than this many cores; `None` if the number is unknown, as for hosts of a file.
    pub fn oversubscription_warnings(&self, cores: Option<u32>) -> Vec<Warning> {
        let ranks = self.shapes.iter().map(|shape| shape.ppn).max().unwrap_or(0);
        let too_few = cores.filter(|cores| ranks > *cores).into_iter();
        too_few
            .map(|available| Warning::Oversubscribed {
                ranks,
                cores: available,
            })
            .collect()
    }
}
