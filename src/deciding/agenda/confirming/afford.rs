//! The selection of cells to confirm when time does not suffice for all.
//!
//! Cells that are left out keep the default, and so does a trial that is not made in time.

use std::collections::{BTreeMap, BTreeSet};

use fit::Stake;
use vocabulary::Cell;

use crate::search::shares_one_rule;

/// The share of the time that is reserved before new cells are begun, as measuring may take longer than estimated.
const RESERVE: f64 = 0.1;

/// The remaining need of a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RemainingNeed {
    /// The time of its turns, in seconds.
    pub(super) seconds: f64,
    /// The number of launches.
    pub(super) launches: u32,
    /// Whether confirming launches have measured a part of it.
    pub(super) is_begun: bool,
}

/// The cells to confirm in `left` seconds, those with most at stake first.
///
/// `stakes` are series of neighbouring sizes; `rests` has the cells that are still to be measured; each launch takes
/// `starting` seconds beside its turns. Runs of neighbouring sizes are selected one after the other, each time the one
/// with the largest average stake among those for which there is time. The stake between two sizes counts if both are
/// selected. All cells of a series that share one rule are selected together or not at all. Begun cells are finished before new ones, first those that need the fewest launches. The first cells that
/// need further launches are charged for the starts of these.
pub(super) fn affordable_cells(
    stakes: &[Vec<Stake>],
    rests: &BTreeMap<Cell, RemainingNeed>,
    starting: f64,
    left: f64,
) -> Vec<Cell> {
    let mut order = Vec::new();
    let seconds = rests.iter().map(|(cell, rest)| (*cell, rest.seconds));
    let mut state = SelectionState {
        open: seconds.collect(),
        left,
    };
    let phase = |rest: &RemainingNeed| (!rest.is_begun, rest.launches);
    let phases: BTreeSet<(bool, u32)> = rests.values().map(phase).collect();
    // The number of launches whose starts are charged.
    let mut started = 0;
    let mut is_reserved = false;
    for (is_new, launches) in phases {
        let further = launches.saturating_sub(started);
        started += further;
        state.left -= starting * f64::from(further);
        if is_new && !is_reserved {
            is_reserved = true;
            state.left -= RESERVE * left;
        }
        let is_eligible: Eligible<'_> = &|cell| {
            rests
                .get(cell)
                .is_some_and(|rest| phase(rest) <= (is_new, launches))
        };
        let best = |selection: &SelectionState, series: &Vec<Stake>| {
            selection.best_run(series, is_eligible)
        };
        let mut runs: Vec<Option<SizeRun>> = stakes.iter().map(|of| best(&state, of)).collect();
        loop {
            let found = runs
                .iter()
                .flatten()
                .reduce(|most, run| if run.worth > most.worth { run } else { most });
            let Some(taken) = found.map(|run| run.cells.clone()) else {
                break;
            };
            for cell in &taken {
                state.left -= state.open.remove(cell).unwrap_or(0.0);
            }
            for (series, run) in stakes.iter().zip(&mut runs) {
                let is_changed = series.iter().any(|stake| taken.contains(&stake.cell));
                if is_changed || run.as_ref().is_some_and(|run| run.seconds > state.left) {
                    *run = best(&state, series);
                }
            }
            order.extend(taken);
        }
    }
    order
}

/// Says whether a cell may be taken.
type Eligible<'a> = &'a dyn Fn(&Cell) -> bool;

/// Neighbouring sizes.
struct SizeRun {
    /// The cells that are not yet selected.
    cells: Vec<Cell>,
    seconds: f64,
    /// The average stake.
    worth: f64,
}

/// The cells that are not yet selected, with their times, and the time left, in seconds.
struct SelectionState {
    open: BTreeMap<Cell, f64>,
    left: f64,
}

impl SelectionState {
    /// All open cells of a series that share one rule: nothing is confirmed if any of them is left out.
    fn whole_series(&self, series: &[Stake], is_eligible: Eligible<'_>) -> Option<SizeRun> {
        let gain: f64 = series
            .iter()
            .map(|stake| stake.here + stake.up_to_next)
            .sum();
        let all = series.iter().map(|stake| stake.cell);
        let cells: Vec<Cell> = all.filter(|cell| self.open.contains_key(cell)).collect();
        let seconds: f64 = cells.iter().filter_map(|cell| self.open.get(cell)).sum();
        let is_affordable = seconds <= self.left && cells.iter().all(is_eligible);
        (gain > 0.0 && is_affordable && !cells.is_empty()).then(|| SizeRun {
            worth: gain / cells.len() as f64,
            cells,
            seconds,
        })
    }

    /// The run of a series with the largest average stake; `None` if nothing is at stake or there is no time.
    fn best_run(&self, series: &[Stake], is_eligible: Eligible<'_>) -> Option<SizeRun> {
        if shares_one_rule(series.first()?.cell.collective) {
            return self.whole_series(series, is_eligible);
        }
        // Cells that are finished or selected.
        let is_settled: Vec<bool> = series
            .iter()
            .map(|stake| !self.open.contains_key(&stake.cell))
            .collect();
        // The stake between a size and the next.
        let between = |low: usize| series[low].up_to_next;
        let mut best: Option<(f64, f64, usize, usize)> = None;
        for first in (0..series.len()).filter(|first| !is_settled[*first]) {
            let (mut gain, mut seconds, mut sizes) = (0.0, 0.0, 0.0);
            if first > 0 && is_settled[first - 1] {
                gain += between(first - 1);
            }
            for last in first..series.len() {
                let stake = &series[last];
                if last > first && !(is_settled[last - 1] && is_settled[last]) {
                    gain += between(last - 1);
                }
                if is_settled[last] {
                    continue;
                }
                gain += stake.here;
                sizes += 1.0;
                seconds += self.open.get(&stake.cell).copied().unwrap_or(0.0);
                if !is_eligible(&stake.cell) || seconds > self.left {
                    break;
                }
                let joins = last + 1 < series.len() && is_settled[last + 1];
                let gain = gain + if joins { between(last) } else { 0.0 };
                let worth = gain / sizes;
                if gain > 0.0 && best.is_none_or(|(most, ..)| worth > most) {
                    best = Some((worth, seconds, first, last));
                }
            }
        }
        let (worth, seconds, first, last) = best?;
        let cells = (first..=last).filter(|place| !is_settled[*place]);
        Some(SizeRun {
            cells: cells.map(|place| series[place].cell).collect(),
            seconds,
            worth,
        })
    }
}

#[cfg(test)]
mod tests {
    use schedule::Collective;
    use vocabulary::{CommShape, Datatype};

    use super::*;

    fn cell(bytes: u64) -> Cell {
        Cell {
            collective: Collective::Bcast,
            shape: CommShape { nodes: 4, ppn: 1 },
            bytes,
            datatype: Datatype::Byte,
            operator: None,
            distribution: schedule::Distribution::Uniform,
        }
    }

    /// A series of sizes, with what is at stake at each and up to the next.
    fn series(stakes: &[(u64, f64, f64)]) -> Vec<Stake> {
        let stake = |&(bytes, here, up_to_next): &(u64, f64, f64)| Stake {
            cell: cell(bytes),
            call_seconds: None,
            here,
            up_to_next,
        };
        stakes.iter().map(stake).collect()
    }

    fn sizes(
        stakes: &[(u64, f64, f64)],
        seconds: &[(u64, f64)],
        begun: &[u64],
        left: f64,
    ) -> Vec<u64> {
        let rests = seconds.iter().map(|(bytes, seconds)| {
            let rest = RemainingNeed {
                seconds: *seconds,
                launches: 1,
                is_begun: begun.contains(bytes),
            };
            (cell(*bytes), rest)
        });
        let taken = affordable_cells(&[series(stakes)], &rests.collect(), 0.0, left);
        let mut sizes: Vec<u64> = taken.iter().map(|cell| cell.bytes).collect();
        sizes.sort_unstable();
        sizes
    }

    /// Five sizes, with probes between them; most is at stake between the last two.
    const STAKES: [(u64, f64, f64); 7] = [
        (8, 0.1, 0.5),
        (16, 0.0, 0.5),
        (32, 0.1, 0.5),
        (64, 0.0, 0.5),
        (128, 0.2, 1.0),
        (256, 0.0, 1.0),
        (512, 0.2, 0.0),
    ];

    fn alike(seconds: f64) -> Vec<(u64, f64)> {
        STAKES.iter().map(|(bytes, ..)| (*bytes, seconds)).collect()
    }

    #[test]
    fn sizes_are_selected_with_the_probes_between_them() {
        assert_eq!(sizes(&STAKES, &alike(1.0), &[], 4.0), [128, 256, 512]);
        assert_eq!(
            sizes(&STAKES, &alike(1.0), &[], 6.0),
            [32, 64, 128, 256, 512]
        );
        assert_eq!(sizes(&STAKES, &alike(1.0), &[], 8.0).len(), 7);
        assert_eq!(sizes(&STAKES, &alike(1.0), &[], 0.5), [0_u64; 0]);
    }

    #[test]
    fn begun_cells_are_finished_first() {
        assert_eq!(sizes(&STAKES, &alike(1.0), &[8, 16, 32], 3.5), [8, 16, 32]);
        let five = sizes(&STAKES, &alike(1.0), &[8, 16, 32], 6.0);
        assert!(
            five.len() == 5 && five.starts_with(&[8, 16, 32]),
            "{five:?}"
        );
    }

    #[test]
    fn begun_cells_are_charged_only_for_the_launches_that_they_need() {
        const LAUNCHES: u32 = 7;
        let sizes = [(8, 3.0, 0.0), (16, 2.0, 0.0), (32, 1.0, 0.0)];
        let (starting, turn) = (2.0, 2.8);
        let mut left = 60.0;
        let mut done_by_cell: BTreeMap<Cell, u32> =
            sizes.map(|(bytes, ..)| (cell(bytes), 0)).into();
        for launch in 0..LAUNCHES {
            let rest = |done: u32| RemainingNeed {
                seconds: f64::from(LAUNCHES - done) * turn,
                launches: LAUNCHES - done,
                is_begun: done > 0,
            };
            let open = done_by_cell.iter().filter(|(_, done)| **done < LAUNCHES);
            let rests = open.map(|(cell, done)| (*cell, rest(*done))).collect();
            let taken = affordable_cells(&[series(&sizes)], &rests, starting, left);
            let taken: BTreeSet<Cell> = taken.into_iter().collect();
            assert_eq!(taken, [cell(8), cell(16)].into(), "launch {launch}");
            left -= starting + turn * taken.len() as f64;
            for cell in taken {
                *done_by_cell.entry(cell).or_default() += 1;
            }
        }
        assert!(left > 0.0, "{left}");
    }

    #[test]
    fn new_cells_are_charged_for_further_launches() {
        let rest = |launches: u32, is_begun: bool| RemainingNeed {
            seconds: 1.0,
            launches,
            is_begun,
        };
        let rests = [(cell(8), rest(1, true)), (cell(16), rest(3, false))].into();
        let stakes = [series(&[(8, 1.0, 0.0), (16, 1.0, 0.0)])];
        let taken = |left: f64| affordable_cells(&stakes, &rests, 2.0, left).len();
        // A begun cell needs 1 start, and both need 3; a tenth is reserved.
        assert_eq!([2.9, 3.0, 8.8, 9.0].map(taken), [0, 1, 1, 2]);
    }

    #[test]
    fn finished_cells_cost_nothing_and_count_as_neighbours() {
        let rest = [(8, 1.0), (16, 1.0), (32, 1.0), (256, 1.0), (512, 1.0)];
        assert_eq!(sizes(&STAKES, &rest, &[], 2.5), [256, 512]);
    }

    #[test]
    fn cells_that_take_too_long_leave_time_for_others() {
        let mut seconds = alike(1.0);
        for dear in &mut seconds[4..] {
            dear.1 = 10.0;
        }
        assert_eq!(sizes(&STAKES, &seconds, &[], 35.0), [64, 128, 256, 512]);
        assert_eq!(sizes(&STAKES, &seconds, &[], 12.0), [8, 16, 32, 64]);
    }

    /// Half of the cells that share one rule confirm nothing, so another shape gets the time.
    #[test]
    fn cells_that_share_one_rule_are_selected_together() {
        let shared = |ppn, bytes| Cell {
            collective: Collective::Gatherv,
            shape: CommShape { nodes: 1, ppn },
            ..cell(bytes)
        };
        let stakes = [(2, 1.0, 4), (4, 0.5, 2)].map(|(ppn, here, count): (u32, f64, u32)| {
            let stake = |place| Stake {
                cell: shared(ppn, 8_u64 << place),
                call_seconds: None,
                here,
                up_to_next: 0.0,
            };
            (0..count).map(stake).collect::<Vec<Stake>>()
        });
        let rests: BTreeMap<Cell, RemainingNeed> = stakes
            .iter()
            .flatten()
            .map(|stake| {
                let rest = RemainingNeed {
                    seconds: 1.0,
                    launches: 1,
                    is_begun: false,
                };
                (stake.cell, rest)
            })
            .collect();
        let taken = |left| {
            let taken = affordable_cells(&stakes, &rests, 0.0, left);
            let shapes: Vec<u32> = taken.iter().map(|cell| cell.shape.ppn).collect();
            shapes
        };
        assert_eq!(taken(3.5), [4, 4]);
        assert_eq!(taken(5.0), [2, 2, 2, 2]);
        assert_eq!(taken(1.5), [0_u32; 0]);
    }

    #[test]
    fn nothing_is_selected_without_a_stake() {
        assert!(sizes(&[(8, 0.0, 0.0), (16, 0.0, 0.0)], &[(8, 1.0)], &[], 9.0).is_empty());
    }
}
