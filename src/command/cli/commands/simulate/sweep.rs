//! The simulation of many points within a limit of time.

use std::time::Duration;

use model::SimulationError;
use vocabulary::units::format_seconds;

use super::point::{CommonCall, SimulationPoint};
use super::rows::{SimulationRow, SkippedCall};
use super::{CliError, SimulateError};

/// The most messages of a simulation that takes about ten seconds at worst.
pub(super) const MOST_MESSAGES_OF_SHORT: f64 = 2e6;

/// The end of a sweep.
pub(super) struct SweepLimit<'a> {
    /// The time after which nothing more is simulated.
    pub(super) time: Duration,
    /// The time since the sweep began.
    pub(super) elapsed: &'a dyn Fn() -> Duration,
    /// The most messages of a simulation that is not put off until the others have ended.
    pub(super) short: f64,
}

/// A report of a sweep.
pub(super) enum SweepProgress<'a> {
    /// A point is begun.
    Begun(&'a SimulationPoint),
    Simulated(&'a SimulationRow),
    LeftOut,
}

/// A point and its place in the order of simulations.
struct PlannedPoint {
    point: SimulationPoint,
    is_long: bool,
    /// The index of the point's communicator and size.
    call: usize,
    closed_form: Option<f64>,
}

/// Orders points: those with short simulations first, call by call; of a call, in the order of their closed forms, then
/// those without one.
fn order_points(
    call: &CommonCall<'_>,
    points: &[SimulationPoint],
    short: f64,
) -> Vec<PlannedPoint> {
    let mut calls = Vec::new();
    let planned = points.iter().map(|point| {
        let key = (point.ranks, point.topology, point.bytes);
        let known = calls.iter().position(|known| *known == key);
        let index = known.unwrap_or_else(|| {
            calls.push(key);
            calls.len() - 1
        });
        PlannedPoint {
            point: *point,
            is_long: call
                .expected_messages(*point)
                .is_some_and(|messages| messages > short),
            call: index,
            closed_form: call.closed_form_seconds(*point),
        }
    });
    let mut planned: Vec<PlannedPoint> = planned.collect();
    planned.sort_by(|a, b| {
        let seconds = |point: &PlannedPoint| point.closed_form.unwrap_or(f64::INFINITY);
        (a.is_long, a.call)
            .cmp(&(b.is_long, b.call))
            .then(seconds(a).total_cmp(&seconds(b)))
    });
    planned
}

/// Simulates points within a limit of time; returns the results and the points that were left out.
///
/// # Errors
/// Nothing could be simulated, or the machine lacks a parameter.
pub(super) fn simulate_within_limit(
    call: &CommonCall<'_>,
    points: &[SimulationPoint],
    limit: &SweepLimit<'_>,
    notice: &mut dyn FnMut(SweepProgress<'_>) -> Result<(), CliError>,
) -> Result<(Vec<SimulationRow>, Vec<SkippedCall>), CliError> {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    let (mut refusal, mut takes_too_long) = (None, false);
    let has_time_left = || (limit.elapsed)() < limit.time;
    for planned in order_points(call, points, limit.short) {
        let PlannedPoint {
            point, closed_form, ..
        } = planned;
        notice(SweepProgress::Begun(&point))?;
        let result = if has_time_left() {
            call.simulate(point, &has_time_left)
        } else {
            Err(SimulateError::Simulation(SimulationError::Stopped))
        };
        let error = match result {
            Ok(row) => {
                notice(SweepProgress::Simulated(&row))?;
                rows.push(row);
                continue;
            }
            Err(SimulateError::Simulation(SimulationError::Stopped)) => SimulateError::NoTime {
                name: point.algorithm.name(),
                ranks: point.ranks,
                bytes: point.bytes,
                limit: format_seconds(limit.time.as_secs_f64()),
            },
            Err(error) if error.concerns_one_algorithm() => error,
            Err(error) => return Err(error.into()),
        };
        // The closed form answers instead where the simulation would only take too long.
        let closed_form_seconds = closed_form.filter(|_| error.is_only_too_long());
        let beside = match closed_form_seconds {
            Some(seconds) => format!("; its closed form takes {}", format_seconds(seconds)),
            None if error.is_only_too_long() => "; it has no closed form".to_owned(),
            None => String::new(),
        };
        skipped.push(SkippedCall {
            algorithm: point.algorithm.id,
            ranks: point.ranks,
            bytes: point.bytes,
            reason: format!("{error}{beside}"),
            closed_form_seconds,
        });
        takes_too_long |= error.is_only_too_long();
        refusal = Some(error);
        notice(SweepProgress::LeftOut)?;
    }
    match refusal {
        Some(error) if rows.is_empty() && !takes_too_long => Err(error.into()),
        Some(_) if rows.is_empty() => Err(SimulateError::NothingSimulated {
            reasons: super::rows::distinct_reasons(&skipped).join("\n"),
        }
        .into()),
        _ => Ok((rows, skipped)),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use model::{Machine, Topology};
    use schedule::Parameters;
    use vocabulary::Placement;

    use super::*;
    use crate::commands::schedule::call::CountsArgs;

    /// Sweeps over the allreduces of these lengths on 15 nodes of 4 ranks, with a clock that advances by a second whenever it
    /// is read; returns what was noticed in order, and the result.
    fn swept(
        seconds: u64,
        short: f64,
        names: &[&str],
        bytes: &[u64],
    ) -> (Vec<String>, Vec<SkippedCall>, String) {
        let machine = "name: any\nranks_per_node: 4\nnetwork: {alpha: 3e-6, beta: 1e-9}\n\
                       node: {alpha: 1e-6, beta: 1e-10}\ninjection_beta: 1e-9\ngamma: 1e-10\n";
        let machine = Machine::from_yaml(machine).expect("a machine");
        let call = CommonCall {
            machine: &machine,
            placement: Placement::Block,
            root: 0,
            element_bytes: 4,
            parameters: Parameters::default(),
            block_bytes: None,
            counts: &CountsArgs::default(),
        };
        let topology = Topology::new(15, 4, Placement::Block);
        let sizes = bytes.iter();
        let points = sizes.flat_map(|size| {
            names.iter().map(|name| SimulationPoint {
                algorithm: schedule::find_algorithm(&format!("allreduce/{name}"))
                    .expect("registered"),
                ranks: 60,
                ppn: 4,
                topology,
                bytes: *size,
            })
        });
        let points: Vec<SimulationPoint> = points.collect();
        let read = Cell::new(0);
        let elapsed = || {
            read.set(read.get() + 1);
            Duration::from_secs(read.get())
        };
        let limit = SweepLimit {
            time: Duration::from_secs(seconds),
            elapsed: &elapsed,
            short,
        };
        let mut noticed = Vec::new();
        let found = simulate_within_limit(&call, &points, &limit, &mut |progress| {
            noticed.push(match progress {
                SweepProgress::Begun(point) => format!("begun {}", point.algorithm.id),
                SweepProgress::Simulated(row) => format!("{} of {}", row.algorithm.id, row.bytes),
                SweepProgress::LeftOut => "left out".to_owned(),
            });
            Ok(())
        });
        noticed.retain(|line| !line.starts_with("begun"));
        match found {
            Ok((_, skipped)) => (noticed, skipped, String::new()),
            Err(error) => (noticed, Vec::new(), error.to_string()),
        }
    }

    const NAMES: [&str; 5] = [
        "ring",
        "recursive_multiplying",
        "reduce_broadcast",
        "recursive_doubling",
        "rabenseifner",
    ];

    #[test]
    fn points_are_simulated_in_the_order_of_their_closed_forms() {
        let (noticed, skipped, _) = swept(u64::MAX, MOST_MESSAGES_OF_SHORT, &NAMES, &[1000, 4000]);
        let order = |bytes: u64| {
            [
                "recursive_doubling",
                "rabenseifner",
                "reduce_broadcast",
                "ring",
                // It has no closed form for this number of ranks.
                "recursive_multiplying",
            ]
            .map(|id| format!("{id} of {bytes}"))
        };
        assert_eq!(noticed, [order(1000), order(4000)].concat());
        assert!(skipped.is_empty());
    }

    #[test]
    fn long_simulations_come_last() {
        let names = ["recursive_doubling", "ring"];
        let order = |short: f64| swept(u64::MAX, short, &names, &[1 << 22, 1 << 23]).0;
        let by_closed_form = [
            "ring of 4194304",
            "recursive_doubling of 4194304",
            "ring of 8388608",
            "recursive_doubling of 8388608",
        ];
        assert_eq!(order(MOST_MESSAGES_OF_SHORT), by_closed_form);
        // The ring sends 7080 messages.
        assert_eq!(
            order(7000.0),
            [1, 3, 0, 2].map(|index| by_closed_form[index])
        );
    }

    #[test]
    fn what_does_not_fit_in_the_limit_is_left_out_with_its_closed_form() {
        // The clock is read before each point.
        let (noticed, skipped, _) = swept(3, MOST_MESSAGES_OF_SHORT, &NAMES, &[1000]);
        assert_eq!(
            noticed[..2],
            ["recursive_doubling of 1000", "rabenseifner of 1000"]
        );
        assert_eq!(noticed[2..], ["left out"; 3]);
        let ids: Vec<&str> = skipped.iter().map(|skipped| skipped.algorithm).collect();
        assert_eq!(ids, ["reduce_broadcast", "ring", "recursive_multiplying"]);
        let reason = &skipped[1].reason;
        assert!(
            reason.starts_with(
                "allreduce/ring of 1000 bytes on 60 ranks is not simulated within the limit of 3.00 s; its closed \
                 form takes "
            ),
            "{reason}"
        );
        assert!(
            skipped[1]
                .closed_form_seconds
                .is_some_and(|seconds| seconds > 1e-4)
        );
        assert!(skipped[2].reason.ends_with("; it has no closed form"));
        assert_eq!(skipped[2].closed_form_seconds, None);
    }

    #[test]
    fn nothing_simulated_is_an_error_that_names_all() {
        let (noticed, _, error) = swept(
            1,
            MOST_MESSAGES_OF_SHORT,
            &["ring", "rabenseifner"],
            &[1000],
        );
        assert_eq!(noticed, ["left out"; 2]);
        assert!(
            error.contains("allreduce/ring of") && error.contains("allreduce/rabenseifner of"),
            "{error}"
        );
    }
}
