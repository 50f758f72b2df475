//! Turns a definition into a campaign: checks every value and fills in every default.

mod batch;
mod launcher;
mod library;
mod output;
mod selection;
mod shapes;
mod sizes;
mod traffic;

pub(crate) use output::{list_inputs, refuse_replaced_inputs};
pub(crate) use shapes::auto_shapes;

use std::collections::BTreeSet;

use strict_yaml::{Diagnostic, Document, Field, OneOrMany, Scalar};
use table::Numerics;
use vocabulary::bounds::REPETITIONS;
use vocabulary::defaults::{CONFIDENCE, LAUNCHES, MATERIALITY, MAX_REGRET};
use vocabulary::units::parse_seconds;
use vocabulary::{CacheState, Datatype, Operator, Pattern, Synchronisation};

use crate::LauncherConfig;
use crate::campaign::{Repetitions, TimeSlice};
use crate::definition::{Definition, ExtendDefinition, RepetitionsDefinition};
use crate::{Campaign, DefaultsVersion, Problem};

/// The most ranks on one node; more are considered a mistake.
pub(crate) const LARGEST_NODE_RANKS: u32 = 1024;
/// The most simulated ranks; more take too much memory and time.
pub(crate) const LARGEST_SIMULATED_RANKS: u32 = 1 << 20;
/// Longest vector of a call: counts in MPI calls are 32-bit integers.
pub(crate) const LARGEST_SIZE_BYTES: u64 = 1 << 30;

/// The datatypes of reductions.
const DATATYPES: [Datatype; 4] = [
    Datatype::Int32,
    Datatype::Int64,
    Datatype::Float32,
    Datatype::Float64,
];
/// The range of `launches`.
const RANGE_OF_LAUNCHES: &str = "a whole number between 1 and 1000";
const DEFAULT_TARGET_REGRET: f64 = 0.02;
const DEFAULT_BUDGET_SECONDS: f64 = 600.0;
const DEFAULT_WATCHDOG_SECONDS: f64 = 30.0;
const DEFAULT_MINIMUM: u32 = 10;
const DEFAULT_MAXIMUM: u32 = 10_000;
const DEFAULT_PRECISION: f64 = 0.03;

type Checked<T> = Result<T, Box<Diagnostic>>;

/// The context of checks.
struct Validator<'a> {
    document: &'a Document<'a>,
    machine: Machine,
}

/// The machine that a campaign is for.
#[derive(Clone, Copy)]
pub(crate) enum Machine {
    /// A machine of this many cores.
    Known { cores: u32 },
    /// Any machine; where the campaign depends on the machine, this number of cores is assumed.
    Unknown { cores: u32 },
    /// As [`Machine::Unknown`], of which no file can be read.
    Other { cores: u32 },
}

impl Machine {
    fn cores(self) -> u32 {
        match self {
            Self::Known { cores } | Self::Unknown { cores } | Self::Other { cores } => cores,
        }
    }
}

/// Names the range in an error about `launches`, since the field's type allows more; returns other errors unchanged.
pub(crate) fn name_range_of_launches(
    document: &Document<'_>,
    error: Box<Diagnostic>,
) -> Box<Diagnostic> {
    match Field::from_key("launches") {
        launches if launches == error.field => {
            document.unfit_value_error(&launches, RANGE_OF_LAUNCHES)
        }
        _ => error,
    }
}

/// Checks a definition and fills in the defaults for a machine.
///
/// # Errors
/// The first invalid value, with its place.
pub(crate) fn check_definition(
    document: &Document<'_>,
    definition: &Definition,
    text: &str,
    machine: Machine,
) -> Result<Campaign, Box<Diagnostic>> {
    let validator = Validator { document, machine };
    let name = validator.check_name(&definition.name)?;
    let launcher = validator.check_launcher(definition.launcher.as_ref())?;
    let library = validator.check_library(definition.library.as_ref(), &launcher)?;
    let selection = validator.check_selection(definition.candidates.as_ref())?;
    let pattern = validator.check_pattern(definition, &launcher)?;
    let collectives = validator.check_collectives(
        definition.collectives.as_ref(),
        &selection,
        &launcher,
        pattern,
    )?;
    let shapes = validator.check_shapes(definition.shapes.as_ref(), &launcher)?;
    let distributions =
        validator.check_distributions(definition.distributions.as_ref(), &collectives)?;
    let sizes = definition.sizes.as_ref();
    Ok(Campaign {
        sizes: validator.check_sizes(sizes, &collectives, &shapes, &distributions)?,
        distributions,
        shapes,
        parameters: validator.check_parameters(definition.parameters.as_ref(), pattern)?,
        strategy: definition.strategy.unwrap_or_default(),
        target_regret: validator.check_share(
            "target_regret",
            definition.target_regret,
            DEFAULT_TARGET_REGRET,
        )?,
        launches: validator.check_launches(definition.launches)?,
        confirmation: definition.confirmation.unwrap_or_default(),
        min_confidence: definition.min_confidence.unwrap_or_default(),
        numerics: validator.check_numerics(definition.numerics.as_ref())?,
        repetitions: validator.check_repetitions(definition.repetitions.as_ref())?,
        confidence: validator.check_share("confidence", definition.confidence, CONFIDENCE)?,
        materiality: validator.check_share("materiality", definition.materiality, MATERIALITY)?,
        max_regret: validator.check_share("max_regret", definition.max_regret, MAX_REGRET)?,
        budget_seconds: validator.duration_or_default(
            "budget",
            &definition.budget,
            DEFAULT_BUDGET_SECONDS,
        )?,
        watchdog_seconds: validator.duration_or_default(
            "watchdog",
            &definition.watchdog,
            DEFAULT_WATCHDOG_SECONDS,
        )?,
        pattern,
        synchronisation: definition.synchronisation.unwrap_or_default(),
        cache: validator.check_cache(definition.cache, &launcher)?,
        extend_to_nodes: validator.check_extension(definition.extend_to.as_ref())?,
        traffic: validator.check_traffic(definition.traffic.as_ref())?,
        output: validator.check_output(&name, definition.output.as_ref())?,
        name,
        library,
        selection,
        datatype: validator.check_datatype(&definition.datatype)?,
        operators: validator.check_operators(definition.operator.as_ref())?,
        names_collectives: definition.collectives.is_some(),
        defaults: DefaultsVersion::CURRENT,
        // Messages of nonblocking calls do not go through it.
        has_shared_memory: !pattern.is_nonblocking(),
        inputs: Vec::new(),
        text: batch::text_with_job(document, &launcher, text),
        launcher,
    })
}

impl Validator<'_> {
    fn value_error(&self, field: &Field, problem: Problem) -> Box<Diagnostic> {
        self.document.error_at_value(field, problem)
    }

    fn check_name(&self, name: &str) -> Checked<String> {
        let usable = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if begins && name.len() <= 64 && name.chars().all(usable) {
            Ok(name.to_owned())
        } else {
            let name = name.to_owned();
            Err(self.value_error(&Field::from_key("name"), Problem::Name { name }))
        }
    }

    /// One of several known words, if one is given.
    fn check_word<T: Copy>(
        &self,
        field: &Field,
        word: &Option<Scalar>,
        what: &str,
        known: &[(&str, T)],
    ) -> Checked<Option<T>> {
        word.as_ref()
            .map(|given| self.document.parse_word(field, &given.0, what, known))
            .transpose()
    }

    /// Several known words of a nonempty list, each once.
    fn check_words<T: Copy + Ord>(
        &self,
        field: &Field,
        words: &OneOrMany<Scalar>,
        what: &str,
        known: &[(&str, T)],
    ) -> Checked<BTreeSet<T>> {
        let words = self.nonempty_entries(field, words)?.iter().enumerate();
        words
            .map(|(index, word)| {
                self.document
                    .parse_word(&field.index(index), &word.0, what, known)
            })
            .collect()
    }

    /// The entries of a nonempty list.
    fn nonempty_entries<'g, T>(&self, field: &Field, given: &'g OneOrMany<T>) -> Checked<&'g [T]> {
        if given.0.is_empty() {
            Err(self.value_error(field, Problem::EmptyList))
        } else {
            Ok(&given.0)
        }
    }

    fn check_extension(&self, value: Option<&ExtendDefinition>) -> Checked<Option<u32>> {
        match value.map(|given| given.nodes) {
            None => Ok(None),
            Some(nodes @ 2..=LARGEST_SIMULATED_RANKS) => Ok(Some(nodes)),
            Some(_) => {
                let field = Field::from_key("extend_to").key("nodes");
                Err(self
                    .document
                    .unfit_value_error(&field, "a number between 2 and 1048576"))
            }
        }
    }

    fn check_launches(&self, value: Option<u32>) -> Checked<u32> {
        match value {
            None => Ok(LAUNCHES),
            Some(value @ 1..=1000) => Ok(value),
            Some(_) => Err(self
                .document
                .unfit_value_error(&Field::from_key("launches"), RANGE_OF_LAUNCHES)),
        }
    }

    fn check_share(&self, key: &str, value: Option<f64>, default: f64) -> Checked<f64> {
        self.check_share_at(&Field::from_key(key), value, default)
    }

    /// A share between 0 and 1, both excluded.
    fn check_share_at(&self, field: &Field, value: Option<f64>, default: f64) -> Checked<f64> {
        match value {
            None => Ok(default),
            Some(value) if value > 0.0 && value < 1.0 => Ok(value),
            Some(_) => {
                let expected = "a share between 0 and 1, as in 0.05 for 5 %";
                Err(self.document.unfit_value_error(field, expected))
            }
        }
    }

    fn duration_or_default(&self, key: &str, value: &Option<Scalar>, default: f64) -> Checked<f64> {
        value.as_ref().map_or(Ok(default), |text| {
            self.parse_duration(&Field::from_key(key), text)
        })
    }

    /// A duration.
    fn parse_duration(&self, field: &Field, text: &Scalar) -> Checked<f64> {
        parse_seconds(&text.0).map_err(|error| self.value_error(field, error.into()))
    }

    fn check_datatype(&self, word: &Option<Scalar>) -> Checked<Datatype> {
        let known = DATATYPES.map(|datatype| (datatype.name(), datatype));
        let given = self.check_word(&Field::from_key("datatype"), word, "datatype", &known)?;
        Ok(given.unwrap_or(Datatype::Float64))
    }

    fn check_operators(&self, words: Option<&OneOrMany<Scalar>>) -> Checked<Vec<Operator>> {
        let field = Field::from_key("operator");
        let Some(words) = words else {
            return Ok(vec![Operator::Sum]);
        };
        let known = Operator::ALL.map(|operator| (operator.name(), operator));
        let mut operators = Vec::new();
        for word in self.nonempty_entries(&field, words)? {
            let operator = self
                .document
                .parse_word(&field, &word.0, "operator", &known)?;
            // Tables have two classes of operators; one operator of each represents its class.
            let alike = |other: &Operator| other.commutes() == operator.commutes();
            if operators.iter().any(alike) {
                let wanted = "one operator that commutes, one that does not, or one of each";
                return Err(self.document.unfit_value_error(&field, wanted));
            }
            operators.push(operator);
        }
        Ok(operators)
    }

    fn check_pattern(
        &self,
        definition: &Definition,
        launcher: &LauncherConfig,
    ) -> Checked<Pattern> {
        let field = Field::from_key("pattern");
        let pattern = definition.pattern.unwrap_or_default();
        let synchronisation = definition.synchronisation.unwrap_or_default();
        match (pattern, synchronisation) {
            // Ranks agree on arrival times by a global clock.
            (Pattern::Skewed, Synchronisation::Barrier) => {
                Err(self.value_error(&field, Problem::SkewedAtBarrier))
            }
            (Pattern::Overlapped, _) => Err(self.value_error(&field, Problem::OverlappedAlone)),
            (Pattern::Nonblocking, _) if matches!(launcher, LauncherConfig::Simulated(_)) => {
                Err(self.value_error(&field, Problem::SimulatedNonblocking))
            }
            (pattern, _) => Ok(pattern),
        }
    }

    /// Requirements hold together; `none` stands alone.
    fn check_numerics(&self, given: Option<&OneOrMany<Scalar>>) -> Checked<Numerics> {
        let Some(words) = given else {
            return Ok(Numerics::default());
        };
        // The first word is `none`.
        let known = if words.0.len() == 1 {
            &Numerics::WORDS[..]
        } else {
            &Numerics::WORDS[1..]
        };
        let named = self.check_words(&Field::from_key("numerics"), words, "numerics", known)?;
        Ok(named
            .into_iter()
            .fold(Numerics::default(), Numerics::combined_with))
    }

    fn check_cache(
        &self,
        cache: Option<CacheState>,
        launcher: &LauncherConfig,
    ) -> Checked<CacheState> {
        match (cache.unwrap_or_default(), launcher) {
            // Simulated machines have no caches, so the times would be labelled wrongly.
            (CacheState::Cold, LauncherConfig::Simulated(_)) => {
                Err(self.value_error(&Field::from_key("cache"), Problem::SimulatedCache))
            }
            (cache, _) => Ok(cache),
        }
    }

    fn check_repetitions(
        &self,
        definition: Option<&RepetitionsDefinition>,
    ) -> Checked<Repetitions> {
        let field = Field::from_key("repetitions");
        let given = definition.cloned().unwrap_or_default();
        let minimum = given.minimum.unwrap_or(DEFAULT_MINIMUM);
        let maximum = given.maximum.unwrap_or(DEFAULT_MAXIMUM.max(minimum));
        for (key, value) in [("minimum", minimum), ("maximum", maximum)] {
            if !REPETITIONS.contains(value) {
                let field = field.key(key);
                return Err(self
                    .document
                    .unfit_value_error(&field, &REPETITIONS.to_string()));
            }
        }
        if minimum > maximum {
            // The maximum is from the file, since the default is never below the minimum.
            let problem = Problem::MinimumAboveMaximum { minimum, maximum };
            return Err(self.value_error(&field.key("maximum"), problem));
        }
        let slice = match &given.slice {
            None => TimeSlice::Auto,
            Some(text) if text.0 == "auto" => TimeSlice::Auto,
            Some(text) => TimeSlice::Seconds(self.parse_duration(&field.key("slice"), text)?),
        };
        let precision =
            self.check_share_at(&field.key("precision"), given.precision, DEFAULT_PRECISION)?;
        Ok(Repetitions {
            minimum,
            maximum,
            precision,
            slice,
            racing: given.racing.unwrap_or(true),
        })
    }
}
