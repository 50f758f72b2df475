//! The columns of the data frame.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use polars::prelude::*;
use printable::{Plain, is_unprintable};
use store::{LaunchRow, StoredSample};
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, Experiment, ExperimentKind, Operator, Parameters,
    RankOrder, ServingComponent, Subject,
};
use wire::Environment;

/// A launch and its provenance, which all its rows share.
pub(crate) struct LaunchContext {
    /// The store, as it was named.
    pub(crate) store: String,
    /// The name of the campaign.
    pub(crate) campaign: String,
    pub(crate) row: LaunchRow,
    /// What the launch reported about the machine.
    pub(crate) environment: Option<Environment>,
    pub(crate) orders: BTreeMap<CommShape, RankOrder>,
}

/// Consecutive rows of one sample.
pub(crate) struct SampleRows {
    pub(crate) launch: Rc<LaunchContext>,
    pub(crate) sample: Rc<StoredSample>,
    /// The repetitions, as indices into the sample's times.
    pub(crate) repetitions: Range<usize>,
}

impl SampleRows {
    fn cell(&self) -> Option<Cell> {
        self.sample.subject.cell()
    }

    fn experiment(&self) -> Option<Experiment> {
        match self.sample.subject {
            Subject::Cell(_) => None,
            Subject::Experiment(experiment) => Some(experiment),
        }
    }

    fn shape(&self) -> CommShape {
        self.sample.subject.shape()
    }

    /// The candidate; an experiment compares none.
    fn candidate(&self) -> Option<&Candidate> {
        self.cell().map(|_| &self.sample.candidate)
    }

    fn parameters(&self) -> Parameters {
        self.sample.candidate.parameters()
    }

    /// The elements and the operator of an experiment that combines.
    fn combined_elements(&self) -> Option<(Datatype, Operator)> {
        match self.experiment()?.kind {
            ExperimentKind::Combine { datatype, operator } => Some((datatype, operator)),
            _ => None,
        }
    }

    fn datatype(&self) -> Option<Datatype> {
        match self.cell() {
            Some(cell) => Some(cell.datatype),
            None => self.combined_elements().map(|(datatype, _)| datatype),
        }
    }
}

/// A column of the data frame.
pub struct SampleColumn {
    /// Its name.
    pub name: &'static str,
    /// The meaning of its values, with the unit.
    pub meaning: &'static str,
    values: Values,
}

/// The values of a column: one for all rows of a run, or one for each row.
enum Values {
    /// A text.
    Text(fn(&SampleRows) -> Option<Cow<'_, str>>),
    /// A whole number. All are signed, since differences of unsigned numbers go wrong in programs that read them.
    Whole(fn(&SampleRows) -> Option<u64>),
    /// A real number.
    Real(fn(&SampleRows) -> Option<f64>),
    /// A time of day, in seconds since the Unix epoch.
    Date(fn(&SampleRows) -> Option<i64>),
    /// The number of the repetition.
    Repetition,
    /// The time of the repetition.
    Seconds,
    /// Whether the repetition is valid.
    Valid,
}

const fn text_column(
    name: &'static str,
    meaning: &'static str,
    value: fn(&SampleRows) -> Option<Cow<'_, str>>,
) -> SampleColumn {
    SampleColumn {
        name,
        meaning,
        values: Values::Text(value),
    }
}

const fn integer_column(
    name: &'static str,
    meaning: &'static str,
    value: fn(&SampleRows) -> Option<u64>,
) -> SampleColumn {
    SampleColumn {
        name,
        meaning,
        values: Values::Whole(value),
    }
}

const fn other_column(name: &'static str, meaning: &'static str, values: Values) -> SampleColumn {
    SampleColumn {
        name,
        meaning,
        values,
    }
}

/// All columns, in their order. No name is a reserved word of SQL.
pub const COLUMNS: [SampleColumn; 44] = [
    text_column("store", "path of the store, as it was given", |run| {
        known_text(&run.launch.store)
    }),
    text_column("campaign", "name of the campaign or the import", |run| {
        known_text(&run.launch.campaign)
    }),
    text_column(
        "library",
        "name of the MPI library, as in `openmpi`",
        |run| known_text(&run.launch.row.library.name),
    ),
    text_column("version", "version of the MPI library", |run| {
        known_text(&run.launch.row.library.version)
    }),
    text_column(
        "colltune",
        "version of colltune that measured or imported",
        |run| known_text(&run.launch.environment.as_ref()?.colltune),
    ),
    text_column(
        "hosts",
        "names of the hosts in the order of ranks, separated by commas; null if unknown",
        |run| {
            let hosts = run.launch.environment.as_ref()?.hosts.join(",");
            (!hosts.is_empty()).then_some(Cow::Owned(hosts))
        },
    ),
    text_column(
        "cpu",
        "CPU model of the first of these hosts; null if unknown",
        |run| known_text(&run.launch.environment.as_ref()?.cpu),
    ),
    integer_column(
        "launch",
        "number of the launch, the statistical unit, within its store, from 1",
        |run| Some(run.launch.row.number.into()),
    ),
    text_column(
        "purpose",
        "purpose of the launch: `exploring` or `confirming`",
        |run| {
            let purpose = run.launch.row.purpose;
            Some(Cow::Borrowed(
                purpose.map_or("exploring", |purpose| purpose.name()),
            ))
        },
    ),
    other_column(
        "started",
        "begin of the launch in UTC; for imports, the time of the import",
        Values::Date(|run| Some(run.launch.row.started_unix_seconds)),
    ),
    integer_column(
        "measurement",
        "number of the measurement in its launch, from 1: rows with the same one are of candidates that took turns",
        |run| Some(u64::from(run.sample.measurement) + 1),
    ),
    text_column("shape", "nodes and ranks on each, as in `4x2`", |run| {
        Some(Cow::Owned(run.shape().to_string()))
    }),
    integer_column("nodes", "number of nodes", |run| {
        Some(run.shape().nodes.into())
    }),
    integer_column("ppn", "ranks on each node", |run| {
        Some(run.shape().ppn.into())
    }),
    text_column(
        "rank_order",
        "order of the ranks on the nodes: `block`, `cyclic` or `other`; null if unknown",
        |run| {
            let order = run.launch.orders.get(&run.shape())?.if_known()?;
            Some(Cow::Borrowed(order.name()))
        },
    ),
    text_column(
        "collective",
        "the collective; null for experiments on the machine",
        |run| Some(Cow::Borrowed(run.cell()?.collective.name())),
    ),
    text_column(
        "experiment",
        "kind of the experiment, as in `ping_pong`; null for collectives",
        |run| Some(Cow::Borrowed(run.experiment()?.kind.name())),
    ),
    integer_column(
        "bytes",
        "size of the call in bytes, as under [Units](reference.md#units); of an experiment, of its message or vector",
        |run| {
            Some(match run.sample.subject {
                Subject::Cell(cell) => cell.bytes,
                Subject::Experiment(experiment) => experiment.bytes,
            })
        },
    ),
    text_column(
        "datatype",
        "type of the elements; `byte` where nothing is combined; null for experiments that combine nothing",
        |run| Some(Cow::Borrowed(run.datatype()?.name())),
    ),
    text_column(
        "operator",
        "operator of the reduction; null where nothing is combined",
        |run| {
            let of_cell = run.cell().and_then(|cell| cell.operator);
            let operator = of_cell.or_else(|| Some(run.combined_elements()?.1));
            Some(Cow::Borrowed(operator?.name()))
        },
    ),
    text_column(
        "distribution",
        "distribution of the data over the parts or blocks of an irregular collective, as in `uniform`; null for others",
        |run| {
            let cell = run.cell().filter(|cell| cell.collective.is_irregular());
            Some(Cow::Borrowed(cell?.distribution.name()))
        },
    ),
    text_column(
        "candidate",
        "full name of the candidate with its parameters, unique within a call; null for experiments",
        |run| Some(Cow::Owned(run.candidate()?.to_string())),
    ),
    text_column(
        "algorithm",
        "name of the candidate without its parameters; null for experiments",
        |run| Some(Cow::Borrowed(run.candidate()?.algorithm())),
    ),
    text_column(
        "component",
        "component of the library that carries out the call, if the candidate is one, or by its priority if it is the \
         default, as in `tuned`; null for others, and if unknown",
        |run| {
            if let Some(forced) = run.candidate()?.forced_component() {
                return Some(Cow::Borrowed(forced));
            }
            let is_default = matches!(run.candidate()?, Candidate::Default | Candidate::Placebo);
            let components = &run.launch.environment.as_ref()?.components;
            let collective = run.cell().filter(|_| is_default)?.collective;
            let serving = ServingComponent::find_serving(components, collective, run.shape())?;
            known_text(serving)
        },
    ),
    integer_column(
        "block_bytes",
        "parameter of the candidate: size of a pipeline block in bytes",
        |run| run.parameters().block_bytes,
    ),
    integer_column(
        "blocks",
        "parameter of the candidate: number of pipeline blocks",
        |run| run.parameters().blocks.map(u64::from),
    ),
    integer_column(
        "radix",
        "parameter of the candidate: radix of a tree",
        |run| run.parameters().radix.map(u64::from),
    ),
    text_column(
        "reduce",
        "parameter of the candidate: inner reduce of a composed algorithm",
        |run| run.parameters().reduce.map(Cow::Owned),
    ),
    text_column(
        "bcast",
        "parameter of the candidate: inner broadcast of a composed algorithm",
        |run| run.parameters().bcast.map(Cow::Owned),
    ),
    text_column(
        "node",
        "parameter of the candidate: phase within nodes",
        |run| run.parameters().node.map(Cow::Owned),
    ),
    text_column(
        "network",
        "parameter of the candidate: phase between nodes",
        |run| run.parameters().network.map(Cow::Owned),
    ),
    integer_column(
        "leaders_per_node",
        "parameter of the candidate: ranks of a node that exchange data with other nodes",
        |run| run.parameters().leaders_per_node.map(u64::from),
    ),
    integer_column(
        "max_requests",
        "parameter of the candidate: sends, and receives, of a rank that may be under way at the same time",
        |run| run.parameters().max_requests.map(u64::from),
    ),
    integer_column(
        "segment_bytes",
        "parameter of the candidate: size of a native algorithm's segment in bytes",
        |run| run.parameters().segment_bytes,
    ),
    integer_column(
        "fanout",
        "parameter of the candidate: children in a native algorithm's tree, or its chains",
        |run| run.parameters().fanout.map(u64::from),
    ),
    text_column(
        "through",
        "transport of messages within nodes, `mpi` or `shared`, for colltune's algorithms and experiments",
        |run| {
            let of_experiment = run.experiment().map(|experiment| experiment.through);
            let of_ours = || Some(run.candidate()?.as_ours()?.1.through);
            Some(Cow::Borrowed(of_experiment.or_else(of_ours)?.name()))
        },
    ),
    text_column(
        "pattern",
        "pattern of the calls: `together`, `repeated`, `skewed`, `nonblocking` or `overlapped`; null for experiments",
        |run| {
            run.cell()?;
            Some(Cow::Borrowed(run.sample.pattern.name()))
        },
    ),
    integer_column(
        "warmup_calls",
        "calls before the first repetition, which were not timed",
        |run| Some(run.sample.warmup.into()),
    ),
    integer_column("batch", "calls in a repetition", |run| {
        Some(run.sample.batch.into())
    }),
    other_column(
        "residual_seconds",
        "largest disagreement of the ranks' clocks in seconds; null without a global clock",
        Values::Real(|run| run.sample.residual_seconds),
    ),
    integer_column(
        "left_after_round",
        "round of turns after which the candidate left early because another was faster; null if it stayed",
        |run| Some(run.sample.left?.round.into()),
    ),
    other_column(
        "repetition",
        "number of the repetition within its candidate's measurement, from 1, in the order they were taken",
        Values::Repetition,
    ),
    other_column(
        "seconds",
        "time of a call in seconds: that of the repetition divided by `batch`",
        Values::Seconds,
    ),
    other_column(
        "valid",
        "whether the repetition counts: false if a rank was late for the common start, or too slow for the next one",
        Values::Valid,
    ),
];

/// A text, unless it is empty, which means unknown.
fn known_text(text: &str) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(Cow::Borrowed(text))
}

/// A text with unprintable characters escaped, since a file in a text format may be shown on a terminal.
fn escape_unprintable(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains(is_unprintable) {
        Cow::Owned(Plain(text).to_string())
    } else {
        text
    }
}

impl SampleColumn {
    /// The type of the values in a file.
    pub(crate) fn data_type(&self) -> DataType {
        match self.values {
            Values::Text(_) => DataType::String,
            Values::Whole(_) | Values::Repetition => DataType::Int64,
            Values::Real(_) | Values::Seconds => DataType::Float64,
            Values::Date(_) => DataType::Datetime(TimeUnit::Milliseconds, None),
            Values::Valid => DataType::Boolean,
        }
    }

    /// The name of the type, for documentation.
    pub fn type_name(&self) -> &'static str {
        match self.values {
            Values::Text(_) => "text",
            Values::Whole(_) | Values::Repetition => "whole number",
            Values::Real(_) | Values::Seconds => "number",
            Values::Date(_) => "time",
            Values::Valid => "true or false",
        }
    }

    /// The column of the rows of these runs.
    pub(crate) fn build_column(&self, runs: &[SampleRows]) -> PolarsResult<Column> {
        let name = PlSmallStr::from_static(self.name);
        let column = match self.values {
            Values::Text(value) => {
                let rows = runs.iter().map(|run| run.repetitions.len()).sum();
                let mut texts = StringChunkedBuilder::new(name, rows);
                for run in runs {
                    let value = value(run).map(escape_unprintable);
                    for _ in run.repetitions.clone() {
                        texts.append_option(value.as_deref());
                    }
                }
                texts.finish().into_column()
            }
            Values::Whole(value) => {
                let numbers = repeat_for_rows(runs, |run| {
                    value(run).and_then(|value| i64::try_from(value).ok())
                });
                Column::new(name, numbers)
            }
            Values::Real(value) => Column::new(name, repeat_for_rows(runs, value)),
            Values::Date(value) => {
                let milliseconds = repeat_for_rows(runs, |run| value(run)?.checked_mul(1000));
                Column::new(name, milliseconds).cast(&self.data_type())?
            }
            Values::Repetition => {
                let numbers = runs.iter().flat_map(|run| run.repetitions.clone());
                Column::new(
                    name,
                    numbers.map(|index| index as i64 + 1).collect::<Vec<_>>(),
                )
            }
            Values::Seconds => {
                let times = runs
                    .iter()
                    .flat_map(|run| &run.sample.seconds[run.repetitions.clone()]);
                Column::new(name, times.copied().collect::<Vec<_>>())
            }
            Values::Valid => {
                let valid = runs.iter().flat_map(|run| {
                    let is_valid = |index| !is_among(&run.sample.invalid, index);
                    run.repetitions.clone().map(is_valid)
                });
                Column::new(name, valid.collect::<Vec<_>>())
            }
        };
        Ok(column)
    }
}

/// A run's value for each of its rows.
fn repeat_for_rows<T: Copy>(
    runs: &[SampleRows],
    value: impl Fn(&SampleRows) -> Option<T>,
) -> Vec<Option<T>> {
    let rows = runs.iter().flat_map(|run| {
        let value = value(run);
        run.repetitions.clone().map(move |_| value)
    });
    rows.collect()
}

/// Whether an index is among ascending ones.
fn is_among(indices: &[u32], index: usize) -> bool {
    u32::try_from(index).is_ok_and(|index| indices.binary_search(&index).is_ok())
}
