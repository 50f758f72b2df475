//! The content of a report. Times are seconds, sizes are bytes.

use std::fmt;

use schedule::Collective;
use table::{Operators, Provenance, Rule};
use vocabulary::units::format_seconds;
use vocabulary::{Candidate, CommShape, Datatype, Operator, Subject};
use wire::{Environment, FailureKind, Shares};

use crate::Repetitions;
use crate::cells::{Basis, BlockTime, CellResult};
use crate::text::grouped;

/// Everything that a report says.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Name of the campaign.
    pub name: String,
    /// What is known at all.
    pub basis: Basis,
    /// What the decisions rest on, warnings included: the same as in the table.
    pub provenance: Provenance,
    /// What the last launch reported about where it ran.
    pub environment: Environment,
    /// What measuring has cost.
    pub cost: MeasuringCost,
    /// How ranks came to common starts, if that is known.
    pub starts: Option<Starts>,
    /// What to know of repetitions.
    pub repetitions: Repetitions,
    /// The machine as the model sees it.
    pub parameters: Vec<MachineParameter>,
    /// What was compared, one entry a collective, shape and operator class.
    pub comparisons: Vec<Comparison>,
    /// Every cell with its candidates, ascending by cell and operators.
    pub cells: Vec<CellResult>,
    /// Algorithms of colltune against the library's own; empty where none of those was forced.
    pub pairs: Vec<Pairs>,
    /// What the model expected, beside what was measured.
    pub curves: Vec<ModelCurve>,
    /// Candidates that failed.
    pub failures: Vec<Failure>,
}

/// Times of one against times of another, for one collective and communicator shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// The collective.
    pub collective: Collective,
    /// The ranks.
    pub shape: CommShape,
    /// Algorithms that do the same, each row with the same parameters.
    pub twins: Vec<Pair>,
    /// How many points of twins are left out, as one of the two left the race in some launch, where
    /// its time is known less well and rather too long.
    pub left_twins: usize,
    /// The best of several, whatever they do, chosen for each launch by the times of the others.
    pub best: Vec<Pair>,
}

/// One against another over the sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// What is compared.
    pub name: String,
    /// With what.
    pub against: String,
    /// Its time divided by the other's, paired inside launches, by ascending size in bytes.
    pub points: Vec<(u64, Ratio)>,
}

/// One algorithm's times in one shape, measured and expected.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCurve {
    /// Which, with its parameters but for the blocks.
    pub algorithm: String,
    /// Where.
    pub shape: CommShape,
    /// By ascending size.
    pub points: Vec<Expected>,
}

/// A measured time beside the expected one.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Length of the call, as in [`vocabulary::Cell::bytes`].
    pub bytes: u64,
    /// The fastest member of the algorithm.
    pub candidate: Candidate,
    /// Its median time.
    pub measured_seconds: f64,
    /// What the model says.
    pub expected_seconds: f64,
}

impl Expected {
    /// The measured time divided by the expected one.
    pub fn ratio(&self) -> f64 {
        self.measured_seconds / self.expected_seconds
    }
}

/// What measuring has cost, over all launches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuringCost {
    /// Wall-clock seconds, warm-up and synchronisation included.
    pub seconds: f64,
    /// Cells with at least one measurement.
    pub cells: usize,
    /// Raw repetitions.
    pub repetitions: u64,
    /// Seconds of `seconds` within the calls whose times are kept.
    pub call_seconds: f64,
    /// Where it went, if that is known.
    pub shares: Option<Shares>,
    /// How often a candidate left the race of a cell in a launch.
    pub left: u64,
    /// About how much longer measuring would have taken without that.
    pub saved_seconds: f64,
    /// What a guided search spared; absent if everything was measured.
    pub search: Option<SearchCost>,
}

/// What measuring everything would have cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchCost {
    /// About how long it would have taken.
    pub exhaustive_seconds: f64,
    /// Nodes that each launch held.
    pub nodes: u32,
}

/// How ranks were brought to common starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Starts {
    /// By a dissemination barrier before each repetition.
    Barrier,
    /// At times that they agreed upon, on a global clock.
    Windows {
        /// Repetitions for which a rank was late, or that overran into the next one.
        invalid: u64,
        /// Repetitions, these included.
        repetitions: u64,
        /// By how much the ranks' clocks disagreed at most.
        residual_seconds: f64,
    },
}

impl fmt::Display for Starts {
    /// As a clause.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Barrier => f.write_str("by a dissemination barrier"),
            Self::Windows {
                invalid,
                repetitions,
                residual_seconds,
            } => write!(
                f,
                "at times agreed upon on a global clock; {} of {} repetitions invalid, clocks apart \
                 by at most {}",
                grouped(*invalid),
                grouped(*repetitions),
                format_seconds(*residual_seconds)
            ),
        }
    }
}

/// A fitted parameter of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineParameter {
    /// As in `alpha (node)`.
    pub name: String,
    /// Its value, or why there is none.
    pub estimate: Estimate,
}

/// The outcome of fitting a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Estimate {
    /// The measurements determine it.
    Identified {
        /// The value, in `unit`.
        value: f64,
        /// Lower end of its interval, in `unit`.
        low: f64,
        /// Upper end of its interval, in `unit`.
        high: f64,
        /// Of the three numbers.
        unit: Unit,
        /// Typical relative error of the fit at the points that it was fitted to, as in 0.03.
        residual: f64,
    },
    /// They do not, and it was not used.
    NotIdentified {
        /// Why, as a clause.
        reason: String,
    },
}

/// Units of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Seconds per byte.
    SecondsPerByte,
    /// Bytes.
    Bytes,
    /// A factor.
    One,
}

/// Default against best candidate for one collective, communicator shape and operator class.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The collective.
    pub collective: Collective,
    /// The ranks.
    pub shape: CommShape,
    /// The operators that the decisions hold for.
    pub operators: Operators,
    /// Element type that was measured with.
    pub datatype: Datatype,
    /// Operator that was measured with; absent where nothing is combined.
    pub operator: Option<Operator>,
    /// One row a measured size, ascending.
    pub sizes: Vec<SizeRow>,
    /// The rules that follow, ascending.
    pub rules: Vec<Rule>,
    /// Where they are others: the rules for the library's own settings, by operators.
    pub library_rules: Vec<(Operators, Vec<Rule>)>,
    /// Predicted against measured block sizes.
    pub blocks: Vec<BlockRow>,
}

/// What was found at one size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeRow {
    /// Length of the call, as in [`vocabulary::Cell::bytes`].
    pub bytes: u64,
    /// Median time of the library's default.
    pub default_seconds: f64,
    /// The best other candidate, if any was measured.
    pub best: Option<Best>,
    /// What became of it.
    pub verdict: Verdict,
}

/// The best candidate beside the default.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Which.
    pub candidate: Candidate,
    /// Its median time.
    pub seconds: f64,
    /// Time of the default divided by its time, paired inside launches.
    pub speedup: Ratio,
}

/// A ratio of times with its interval over launches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The median.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability with which the interval covers the true median, as in 0.969; 0 if there is no
    /// interval, as of a single launch.
    pub coverage: f64,
}

impl Ratio {
    /// Neither faster nor slower.
    pub(crate) const ONE: Self = Self {
        value: 1.0,
        low: 1.0,
        high: 1.0,
        coverage: 0.0,
    };
}

/// Whether the best candidate went into the table, and why not. What is said about the default goes
/// by the interval of the speed-up, at the coverage that it has.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It did.
    Chosen,
    /// Another did: it beats the default, is about as fast as the fastest that does, and makes a
    /// shorter table; or the best one does not beat the default significantly.
    ChosenAlike {
        /// The one in the table.
        candidate: Candidate,
    },
    /// The default was kept: the interval includes 1, the difference may be chance.
    WithinNoise,
    /// The default was kept: the interval lies above 1, but the median gains too little to matter.
    Immaterial,
    /// The default was kept: the interval lies below 1.
    DefaultFaster,
    /// The default was kept: no one candidate is good enough for every datatype and operator
    /// measured at this size.
    TypesDisagree,
    /// The default was kept: nothing else was measured.
    NoRival,
    /// The default was kept, and only the measurements could tell why.
    Kept,
    /// Nothing was measured there: it is what the model expects.
    Expected,
}

impl Verdict {
    /// Whether something else than the default is in the table.
    pub fn replaces_default(&self) -> bool {
        matches!(self, Self::Chosen | Self::ChosenAlike { .. })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen => f.pad("chosen"),
            Self::ChosenAlike { candidate } => {
                write!(
                    f,
                    "{}{} chosen instead",
                    candidate.id(),
                    candidate.parameters()
                )
            }
            Self::WithinNoise => f.pad("default: as fast within noise"),
            Self::Immaterial => f.pad("default: immaterial"),
            Self::DefaultFaster => f.pad("default: faster"),
            Self::TypesDisagree => f.pad("default: none good for all types"),
            Self::NoRival => f.pad("default: nothing else measured"),
            Self::Kept => f.pad("default: kept"),
            Self::Expected => f.pad("not measured: by the model"),
        }
    }
}

/// The lemma's block size against the measured best one.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockRow {
    /// `collective/id`.
    pub algorithm: String,
    /// Length of the call, as in [`vocabulary::Cell::bytes`].
    pub bytes: u64,
    /// Best block size by the pipelining lemma; absent where parameters are not identified.
    pub predicted_block_bytes: Option<u64>,
    /// Best block size of those measured.
    pub measured_block_bytes: u64,
    /// Measured time with the predicted block size; absent if it was not measured.
    pub seconds_at_predicted: Option<f64>,
    /// Measured time with the measured best block size.
    pub seconds_at_measured: f64,
    /// All block sizes that were measured, ascending.
    pub points: Vec<BlockTime>,
}

/// A candidate that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Number of the launch.
    pub launch: u32,
    /// Which.
    pub candidate: Candidate,
    /// Where.
    pub subject: Subject,
    /// In which way.
    pub kind: FailureKind,
    /// What was seen.
    pub message: String,
}
