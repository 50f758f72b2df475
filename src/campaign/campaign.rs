//! The validated campaign.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use launcher::{LibraryChoice, LocalOptions, cores};
use schedule::Collective;
use serde::{Deserialize, Serialize};
use strict_yaml::Document;
use strum_macros::Display;
use table::Confidence;
use vocabulary::{
    CacheState, CommShape, Datatype, Operator, Pattern, RankOrder, Synchronisation, Through,
    Warning,
};

use crate::LauncherConfig;
use crate::definition::Definition;
use crate::error::CAMPAIGN;
use crate::validate::{self, Machine};
use crate::{CampaignError, Selection, digest};

/// The share of a campaign's budget that is kept for confirming choices.
const CONFIRMING_SHARE: f64 = 0.4;

/// What is to be measured, and how; every value has been checked.
///
/// The keys of a campaign file and their defaults are described in `tuning/reference.yaml`.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The name; safe as part of a file name.
    pub name: String,
    /// The MPI library that is measured.
    pub library: LibraryChoice,
    /// What measures.
    pub launcher: LauncherConfig,
    /// The shapes, without duplicates, by number of ranks.
    pub shapes: Vec<CommShape>,
    /// The collectives with the lengths of their calls in bytes ([`vocabulary::Cell::bytes`]), ascending,
    /// not yet rounded to elements; 0 alone where nothing is moved.
    pub sizes: BTreeMap<Collective, Vec<u64>>,
    /// Element type of reductions.
    pub datatype: Datatype,
    /// Operators of reductions, each of which is measured in cells of its own: at least one, without
    /// duplicates.
    pub operators: Vec<Operator>,
    /// The algorithms that are compared with the default.
    pub selection: Selection,
    /// The parameter values that they are given.
    pub parameters: ParameterGrid,
    /// How much of this is measured.
    pub strategy: Strategy,
    /// The regret of a decision at which a better one is not worth a measurement to a guided search,
    /// as a share.
    pub target_regret: f64,
    /// Launches that choices are to rest on: the statistical unit.
    pub launches: u32,
    /// Whether choices are measured again in fresh launches, and only what these confirm replaces the default.
    pub confirmation: ConfirmationMode,
    /// The least confidence of rules that are deployed; others stay in the table.
    pub min_confidence: Confidence,
    /// When a candidate has been repeated often enough.
    pub repetitions: Repetitions,
    /// Whether candidates that are slower for certain are not measured to the end.
    pub racing: bool,
    /// Confidence with which a candidate must be faster than the default to replace it, as in
    /// 0.95; with too few launches to attain it, `materiality` decides alone. Also that of the
    /// interval in [`Repetitions::precision`].
    pub confidence: f64,
    /// How much faster than the default a candidate must be to replace it: the default's time
    /// divided by the candidate's is at least 1 plus this, as in 0.05 for 1.05 times.
    pub materiality: f64,
    /// What a shorter table may cost, as a share of the time at each size.
    pub max_regret: f64,
    /// Time that all launches of the library into the store may take.
    pub budget_seconds: f64,
    /// How long one candidate's turn may last before it counts as hung.
    pub watchdog_seconds: f64,
    /// How ranks are brought to a common start.
    pub synchronisation: Synchronisation,
    /// How calls follow each other; [`Pattern::Skewed`] with [`Synchronisation::Window`] alone.
    pub pattern: Pattern,
    /// Whether calls may find their buffers in caches; simulated machines have none.
    pub cache: CacheState,
    /// Nodes up to which the table is extended by the model; absent if it says nothing of shapes that were
    /// not measured.
    pub extend_to_nodes: Option<u32>,
    /// Where results go.
    pub output: Output,
    /// The files that it is read from, with what names them.
    pub(crate) inputs: Vec<(String, PathBuf)>,
    pub(crate) text: String,
}

/// How much of a campaign is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Strategy {
    /// What may change a decision.
    #[default]
    Guided,
    /// Every candidate in every cell in every launch.
    Exhaustive,
}

/// Whether fresh launches confirm what is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmationMode {
    /// A candidate replaces the default only where they confirm it.
    #[default]
    On,
    /// Nothing is confirmed; exploring launches decide.
    Off,
}

/// The parameter values that algorithms are given; serialized as digests have them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParameterGrid {
    /// Block sizes of pipelined algorithms, ascending.
    pub block_bytes: Vec<u64>,
    /// Whether the block size that the model predicts is added.
    pub predicted: bool,
    /// Radices of trees, ascending.
    pub radix: Vec<u32>,
    /// Ids of inner reduces of compositions.
    pub reduce: Vec<String>,
    /// Ids of inner broadcasts of compositions.
    pub bcast: Vec<String>,
    /// What carries messages within nodes; MPI if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<Vec<Through>>,
}

/// When a candidate has been repeated often enough within a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetitions {
    /// Repetitions that are always taken.
    pub minimum: u32,
    /// Repetitions after which a candidate stops in any case.
    pub maximum: u32,
    /// Stop when the interval of the median is narrower than this share of it.
    pub precision: f64,
    /// Measuring time after which a candidate stops once it has its minimum.
    pub slice: TimeSlice,
}

/// The measuring time of a candidate's turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeSlice {
    /// Its share of the budget.
    Auto,
    /// A fixed time.
    Seconds(f64),
}

/// Where results go; relative paths count from the working directory.
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
    /// The report as a page with pictures, beside the other one; the same path if that is a page.
    pub fn page(&self) -> PathBuf {
        self.report.with_extension("html")
    }
}

impl Campaign {
    /// What a shorter table may cost unless a campaign says otherwise: neighbouring sizes share a rule
    /// if its candidate beats the default at all of them and takes at most 1 % longer than the best.
    pub const DEFAULT_MAX_REGRET: f64 = 0.01;

    /// Reads a campaign file for this machine.
    ///
    /// # Errors
    /// [`CampaignError::Read`], or what is wrong with the file and where.
    pub fn load(path: &Path) -> Result<Self, CampaignError> {
        let read = |source| CampaignError::Read {
            path: path.to_owned(),
            source,
        };
        Self::parse(&files::read_text(path).map_err(read)?, path)
    }

    /// Reads a campaign for this machine from the text of the file `path`, which errors name and no output may
    /// replace.
    ///
    /// # Errors
    /// What is wrong with the text and where.
    pub fn parse(text: &str, path: &Path) -> Result<Self, CampaignError> {
        Self::parse_for(text, path, cores())
    }

    /// Reads a campaign that was measured before, perhaps on another machine, from the text that
    /// its store has kept.
    ///
    /// Any number of ranks is accepted, even with `oversubscribe: never`, and any number of nodes if
    /// it names a host file, which may be gone. Job specifications and templates it has kept. `shapes: auto` means what it means on this machine,
    /// so that the digest may be another than when it was measured.
    ///
    /// # Errors
    /// What is wrong with the text and where, if it was written for a colltune that read campaigns
    /// in another way.
    pub fn parse_stored(text: &str) -> Result<Self, CampaignError> {
        let place = Path::new("(stored campaign)");
        Self::parse_on(text, place, Machine::Unknown { cores: cores() })
    }

    /// Reads a campaign for a machine of this many cores.
    ///
    /// # Errors
    /// What is wrong with the text and where.
    pub fn parse_for(text: &str, path: &Path, cores: u32) -> Result<Self, CampaignError> {
        Self::parse_on(text, path, Machine::Known { cores })
    }

    fn parse_on(text: &str, path: &Path, machine: Machine) -> Result<Self, CampaignError> {
        let document = Document::parse(&CAMPAIGN, path, text)?;
        let definition: Definition = document.read()?;
        let mut campaign = validate::campaign(&document, &definition, text, machine)?;
        campaign.inputs = validate::inputs(path, &definition, &campaign);
        // What has been measured is only read.
        if let Machine::Known { .. } = machine {
            validate::keep_inputs(&document, &campaign)?;
        }
        Ok(campaign)
    }

    /// The file as it was read, with what it names of jobs (`job`, `template`) in the place of the names.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The files that it is read from and that it names, each with what names it, such as "`launcher.local.hostfile`".
    pub fn inputs(&self) -> &[(String, PathBuf)] {
        &self.inputs
    }

    /// The identity of the campaign: `v2-` and SHA-256, in hexadecimal, of what it asks for.
    ///
    /// Comments, the order of keys, the way a value is written and defaults written out make no
    /// difference; a machine on which `shapes: auto` means something else does.
    pub fn digest(&self) -> String {
        digest::digest(self)
    }

    /// Whether a text is a digest of the version that [`Campaign::digest`] gives. Digests of different
    /// versions cannot be compared: compare what their campaigns' texts give.
    pub fn is_current_digest(text: &str) -> bool {
        digest::is_current(text)
    }

    /// Whether measurements of both campaigns may be mixed: they start programs with the same options,
    /// in the same environment, with the same leave to oversubscribe, synchronise ranks in the same
    /// way, and leave caches warm or cold alike.
    ///
    /// What is measured and for how long makes no difference: sizes, candidates, repetitions, budget and the
    /// like may differ, and so may patterns of calls, whose times a store keeps apart. Of simulations, the
    /// machine is not compared: each machine is a library of its own.
    pub fn same_conditions(&self, other: &Self) -> bool {
        self.conditions() == other.conditions()
    }

    /// The identity of what [`Campaign::same_conditions`] compares: SHA-256 in hexadecimal.
    pub fn conditions(&self) -> String {
        digest::conditions(self)
    }

    /// The order in which ranks will stand on their nodes, as far as the options of the launcher tell: further
    /// options of the user's may say otherwise.
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
        match options.is_empty() {
            true => placement.order(),
            false => RankOrder::Unknown,
        }
    }

    /// The first of the operators that commutes; a sum if none does.
    pub fn commuting_operator(&self) -> Operator {
        let mut operators = self.operators.iter().copied();
        operators
            .find(|operator| operator.commutes())
            .unwrap_or(Operator::Sum)
    }

    /// The part of the budget that launches may take to explore, in seconds. The rest confirms choices.
    pub fn exploring_seconds(&self) -> f64 {
        match self.confirmation {
            ConfirmationMode::On => (1.0 - CONFIRMING_SHARE) * self.budget_seconds,
            ConfirmationMode::Off => self.budget_seconds,
        }
    }

    /// The patterns of calls in which choices are confirmed: the campaign's own, then the others that programs
    /// call in most.
    pub fn confirming_patterns(&self) -> Vec<Pattern> {
        let usual = [Pattern::Together, Pattern::Repeated];
        let others = usual.into_iter().filter(|usual| *usual != self.pattern);
        std::iter::once(self.pattern).chain(others).collect()
    }

    /// Whether times are those of a simulated machine, and so is the time that a budget is about.
    pub fn is_simulated(&self) -> bool {
        matches!(self.launcher, LauncherConfig::Simulated(_))
    }

    /// What may carry messages of our algorithms within nodes.
    pub fn transports(&self) -> &[Through] {
        self.parameters
            .through
            .as_deref()
            .unwrap_or(&[Through::Mpi])
    }

    /// What is drawn from where something is left to chance, such as the order of candidates.
    pub fn seed(&self) -> u64 {
        match &self.launcher {
            LauncherConfig::Local(_) | LauncherConfig::Batch(_) => digest::seed(self),
            LauncherConfig::Simulated(options) => u64::from(options.seed),
        }
    }

    /// The smallest shape that holds all others: what one launch needs for all cells.
    pub fn largest_shape(&self) -> CommShape {
        let smallest = CommShape { nodes: 1, ppn: 1 };
        self.shapes.iter().fold(smallest, |held, shape| CommShape {
            nodes: held.nodes.max(shape.nodes),
            ppn: held.ppn.max(shape.ppn),
        })
    }

    /// The shapes that the table is extended to, beyond the largest number of nodes with as many ranks each:
    /// powers of two, three times powers of two, and the last number asked for.
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
        let nodes: BTreeSet<u32> = steps.filter(|nodes| *nodes < last).chain([last]).collect();
        let beyond = largest.into_iter().flat_map(|(ppn, largest)| {
            let beyond = nodes.iter().filter(move |nodes| **nodes > largest);
            beyond.map(move |&nodes| CommShape { nodes, ppn })
        });
        beyond.collect()
    }

    /// What makes the campaign's numbers less trustworthy if ranks share nodes of this many cores;
    /// absent where that is unknown, as for the hosts of a file.
    pub fn warnings(&self, cores: Option<u32>) -> Vec<Warning> {
        let ranks = self.shapes.iter().map(|shape| shape.ppn).max().unwrap_or(0);
        let too_few = cores.filter(|cores| ranks > *cores).into_iter();
        too_few
            .map(|cores| Warning::Oversubscribed { ranks, cores })
            .collect()
    }
}
