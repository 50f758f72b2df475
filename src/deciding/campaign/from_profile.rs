//! The campaign that `colltune init --profile` writes: of the calls that programs make.

use std::collections::{BTreeMap, BTreeSet};

use libraries::LibraryName;
use profile::{CallCost, CallShape, Form, Profile, SizeClass};
use schedule::Collective;
use vocabulary::{CommShape, Datatype, Operator};

/// The part of the time in communication that the campaign's calls make up at least, if a table can serve so much.
const COVERED: f64 = 0.99;

/// What a campaign of several nodes needs.
const LAUNCHER: &str = "
# The nodes: a file that lists them, or a batch system; tuning/reference.yaml has every launcher.
# launcher: {local: {hostfile: hosts}}
";

/// Calls of a profile that a campaign can measure.
#[derive(Debug)]
struct MeasurableCalls<'a> {
    collective: Collective,
    shape: CommShape,
    call: &'a CallShape,
    tally: &'a CallCost,
    /// The time without the estimated waiting for late ranks.
    seconds: f64,
}

/// A campaign of the shapes, collectives and sizes that take the most time in a profile, apart from waiting for late
/// ranks, which no table makes shorter. `None` if there are no blocking calls that a table could serve.
#[must_use]
pub fn profile_template(profile: &Profile, library: Option<&str>) -> Option<String> {
    let all = profile.calls.iter();
    let mut calls: Vec<MeasurableCalls<'_>> = all
        .filter_map(|(call, tally)| measurable(call, tally))
        .collect();
    calls.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let whole: f64 = calls.iter().map(|calls| calls.seconds).sum();
    let mut covered = 0.0;
    calls.retain(|calls| {
        let is_taken = covered < COVERED * whole;
        covered += calls.seconds;
        is_taken
    });
    if calls.is_empty() {
        return None;
    }
    let taken: f64 = calls.iter().map(|calls| calls.seconds).sum();
    let datatype = most_used_datatype(&calls);
    let operator = most_used_operator(&calls);
    let shapes: BTreeSet<CommShape> = calls.iter().map(|calls| calls.shape).collect();
    let shapes: Vec<String> = shapes.iter().map(ToString::to_string).collect();
    let collectives: BTreeSet<Collective> = calls.iter().map(|calls| calls.collective).collect();
    let names: String = collectives
        .iter()
        .map(|collective| format!("  - {collective}\n"))
        .collect();
    let library = library.unwrap_or("auto");
    let known = LibraryName::ALL.map(LibraryName::name).join(", ");
    let listed = traffic_text(&calls, datatype);
    Some(format!(
        "\
# A campaign of colltune: what the programs of a profile call.
# `colltune plan FILE` shows what it would do, `colltune tune FILE` does it.
#
# Results go to .colltune/NAME.db, tables/NAME.yaml and reports/NAME.md.
name: from-profile

# The MPI library: {known}, or auto for whichever is found.
library: {library}

# The communicator shapes: nodes x ranks per node.
shapes: [{shapes}]
{launcher}
collectives:
{names}
# The mean sizes of the calls, from each power of two to the next.
{sizes}
# The element type and the operator of most reductions.
datatype: {datatype}
operator: {operator}

# The calls take {share:.1} % of the time in blocking calls that tables can serve: in seconds of all ranks together, without the
# estimated waiting for late ranks. The budget goes first to what takes most of it, and `tune` ends with what the table would
# save of it.
traffic:
{listed}
# The time that measuring may take in all; with more time, more choices are confirmed.
budget: 10m
",
        share = 100.0 * taken / whole,
        shapes = shapes.join(", "),
        launcher = if calls.iter().any(|calls| calls.shape.nodes > 1) {
            LAUNCHER
        } else {
            ""
        },
        sizes = sizes_text(&calls, datatype),
        datatype = datatype.name(),
        operator = operator.name(),
    ))
}

/// What a campaign can measure of calls; `None` if that is nothing.
fn measurable<'a>(call: &'a CallShape, tally: &'a CallCost) -> Option<MeasurableCalls<'a>> {
    let is_blocking = call.is_served() == Some(true) && call.form == Form::Blocking;
    let collective = Collective::from_name(&call.collective).filter(|_| is_blocking)?;
    let class = call.communicator.as_ref()?;
    let shape = CommShape::try_new(class.nodes?, class.ppn?).filter(|shape| shape.ranks() > 1)?;
    let is_empty = collective.has_data() && tally.mean_bytes() < 1.0;
    let seconds = tally.time.seconds() * (1.0 - tally.waiting_share().unwrap_or(0.0));
    if is_empty || call.bytes.is_none() || seconds <= 0.0 {
        return None;
    }
    Some(MeasurableCalls {
        collective,
        shape,
        call,
        tally,
        seconds,
    })
}

/// What one entry of `traffic` is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EntryKey {
    collective: Collective,
    shape: CommShape,
    size: Option<SizeClass>,
}

/// The calls of an entry of `traffic`.
#[derive(Clone, Debug, Default)]
struct EntrySum {
    cost: CallCost,
    seconds: f64,
}

/// The entries of `traffic`, those with the most seconds first.
fn traffic_text(calls: &[MeasurableCalls<'_>], datatype: Datatype) -> String {
    let mut sums: BTreeMap<EntryKey, EntrySum> = BTreeMap::new();
    for of_shape in calls {
        let key = EntryKey {
            collective: of_shape.collective,
            shape: of_shape.shape,
            size: of_shape.call.bytes,
        };
        let sum = sums.entry(key).or_default();
        sum.cost.add_calls(of_shape.tally);
        sum.seconds += of_shape.seconds;
    }
    let mut entries: Vec<(EntryKey, EntrySum)> = sums.into_iter().collect();
    entries.sort_by(|(_, one), (_, other)| other.seconds.total_cmp(&one.seconds));
    let line = |(key, sum): &(EntryKey, EntrySum)| {
        let EntryKey {
            collective, shape, ..
        } = key;
        let bytes = if collective.has_data() {
            let bytes = measured_bytes(*collective, &sum.cost, datatype);
            format!("bytes: {bytes}, ")
        } else {
            String::new()
        };
        let (count, seconds) = (sum.cost.calls, sum.seconds);
        format!(
            "  - {{collective: {collective}, shape: {shape}, {bytes}calls: {count}, seconds: {seconds:.9}}}\n"
        )
    };
    entries.iter().map(line).collect()
}

/// The size at which a campaign measures calls: their mean length, of whole elements.
fn measured_bytes(collective: Collective, cost: &CallCost, datatype: Datatype) -> u64 {
    let unit = if collective.is_reduction() {
        datatype.size_bytes()
    } else {
        1
    };
    (cost.mean_bytes().round() as u64).next_multiple_of(unit)
}

/// The key `sizes`, or nothing without collectives that have sizes.
fn sizes_text(calls: &[MeasurableCalls<'_>], datatype: Datatype) -> String {
    let mut classes: BTreeMap<Collective, BTreeMap<SizeClass, CallCost>> = BTreeMap::new();
    for MeasurableCalls {
        collective,
        call,
        tally,
        ..
    } in calls.iter().filter(|calls| calls.collective.has_data())
    {
        if let Some(class) = call.bytes {
            let of_collective = classes.entry(*collective).or_default();
            of_collective.entry(class).or_default().add_calls(tally);
        }
    }
    if classes.is_empty() {
        return String::new();
    }
    let mut text = "sizes:\n".to_owned();
    for (collective, of_collective) in classes {
        let sizes: BTreeSet<u64> = of_collective
            .values()
            .map(|tally| measured_bytes(collective, tally, datatype))
            .collect();
        let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        text += &format!("  {collective}: [{}]\n", sizes.join(", "));
    }
    text
}

/// The datatype that campaigns have in which most time is spent in reductions.
fn most_used_datatype(calls: &[MeasurableCalls<'_>]) -> Datatype {
    let known = [
        Datatype::Float64,
        Datatype::Float32,
        Datatype::Int32,
        Datatype::Int64,
    ];
    most_used(calls, known, |call, datatype| {
        call.datatype.as_deref() == Some(datatype.name())
    })
}

/// The same of operators.
fn most_used_operator(calls: &[MeasurableCalls<'_>]) -> Operator {
    let is_used = |call: &CallShape, operator: Operator| match operator {
        Operator::Noncommutative => call.operator.as_deref() == Some("noncommutative"),
        known => call.operator.as_deref() == Some(known.name()),
    };
    most_used(calls, Operator::ALL, is_used)
}

/// The one of some that most time is spent with; the first one if that is none.
fn most_used<T: Copy, const N: usize>(
    calls: &[MeasurableCalls<'_>],
    known: [T; N],
    is_used: impl Fn(&CallShape, T) -> bool,
) -> T {
    let seconds_with = |one: T| -> f64 {
        let used = calls.iter().filter(|calls| is_used(calls.call, one));
        used.map(|used_calls| used_calls.seconds).sum()
    };
    let mut most = known[0];
    for one in known {
        if seconds_with(one) > seconds_with(most) {
            most = one;
        }
    }
    most
}
