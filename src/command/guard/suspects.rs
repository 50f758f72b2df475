//! Suspects: points that may be slower, and the test that decides.
//!
//! The first launches find suspects by their medians alone; only the launches made for the suspects decide.
//! `tests/it/power.rs` counts false alarms and misses in 200 runs each.

use statistics::{holm_rejections, median, sign_test, values_for_sign_test};
use vocabulary::Candidate;

use crate::point::cells_to_measure;
use crate::{GuardError, LaunchTimes, Measurer, Point};

/// The largest probability of a false alarm in a whole run.
pub const LEVEL: f64 = 0.05;

/// The level of the one-sided tests: with a single suspect, they agree with the two-sided 95 % interval.
const ONE_SIDE: f64 = LEVEL / 2.0;

/// The number of deciding launches that may contradict a suspicion without clearing the suspect.
const CONTRARY: u32 = 1;

/// Whether the ratios of the first launches make a suspect: their median lies above the bound.
pub(crate) fn is_suspicious(ratios: &[f64], bound: f64) -> bool {
    median(ratios).is_some_and(|median| median > bound)
}

/// The ratios of a suspect's times to others in some launches, and the bound that they should not exceed.
#[derive(Clone)]
pub(crate) struct SuspectRatios {
    pub(crate) ratios: Vec<f64>,
    pub(crate) bound: f64,
}

/// What further launches have shown about suspects.
#[derive(Default)]
pub(crate) struct Decision {
    pub(crate) times: LaunchTimes,
    /// The number of launches requested, without those that replace others; 0 if there were no suspects.
    pub(crate) launches: u32,
    /// For each suspect, the ratios of the launches.
    pub(crate) ratios: Vec<Vec<f64>>,
    /// For each suspect, whether it is significantly slower than its bound permits.
    pub(crate) confirmed: Vec<bool>,
    /// For each suspect that is not confirmed, whether launches that lack its times might still confirm it.
    pub(crate) undecided: Vec<bool>,
}

/// Measures suspects again, to decide whether they are slower. Launches that lost times of undecided suspects are
/// replaced once, if time is left. `asked` returns a suspect's point with the other candidate to measure, `ratios` its
/// ratios in some launches with its bound.
pub(crate) fn decide_suspects<'p, Suspect>(
    suspects: &[Suspect],
    asked: impl Fn(&Suspect) -> (&'p Point, Option<&'p Candidate>),
    ratios: impl Fn(&Suspect, &LaunchTimes) -> SuspectRatios,
    measurer: &mut dyn Measurer,
) -> Result<Decision, GuardError> {
    if suspects.is_empty() {
        return Ok(Decision::default());
    }
    let launches = launches_to_decide(suspects.len());
    let mut times = measurer.measure(&cells_to_measure(suspects.iter().map(&asked)), launches)?;
    let ratios_of_all = |launch_times: &LaunchTimes| -> Vec<SuspectRatios> {
        suspects
            .iter()
            .map(|suspect| ratios(suspect, launch_times))
            .collect()
    };
    let mut found = ratios_of_all(&times);
    let open = are_undecided(&found, launches);
    let lacks = |at: &usize| launches.saturating_sub(found[*at].ratios.len() as u32);
    let lacking = (0..suspects.len()).filter(|at| open[*at]);
    let most = lacking.clone().map(|at| lacks(&at)).max();
    if let Some(most) = most.filter(|_| !times.is_out_of_time) {
        let lacking = lacking.map(|at| asked(&suspects[at]));
        times.add_later(measurer.measure(&cells_to_measure(lacking), most)?);
        found = ratios_of_all(&times);
    }
    Ok(Decision {
        launches,
        confirmed: are_confirmed(&found),
        undecided: are_undecided(&found, launches),
        ratios: found.into_iter().map(|suspect| suspect.ratios).collect(),
        times,
    })
}

/// The number of launches needed to decide about this many suspects.
fn launches_to_decide(suspects: usize) -> u32 {
    values_for_sign_test(ONE_SIDE / suspects.max(1) as f64, CONTRARY)
}

/// The fewest launches that can show a difference at one point.
pub fn fewest_launches() -> u32 {
    values_for_sign_test(ONE_SIDE, 0)
}

/// Whether each suspect is significantly slower, by its bound and the ratios of the deciding launches.
///
/// Each test's hypothesis is that the median ratio does not exceed the bound. [`LEVEL`] is the level of all tests
/// together, on both sides.
fn are_confirmed(suspects: &[SuspectRatios]) -> Vec<bool> {
    let probability = |SuspectRatios { ratios, bound }: &SuspectRatios| {
        let above = ratios.iter().filter(|ratio| *ratio > bound).count();
        sign_test(above as u32, ratios.len() as u32)
    };
    let probabilities: Vec<f64> = suspects.iter().map(probability).collect();
    holm_rejections(&probabilities, ONE_SIDE)
}

/// Whether each suspect lacks some of the `launches` that decide, and the missing ones might still show it as slower.
fn are_undecided(suspects: &[SuspectRatios], launches: u32) -> Vec<bool> {
    let launches = launches as usize;
    let mut at_worst = suspects.to_vec();
    for SuspectRatios { ratios, .. } in &mut at_worst {
        ratios.resize(launches.max(ratios.len()), f64::INFINITY);
    }
    let confirmable = are_confirmed(&at_worst);
    let found = suspects
        .iter()
        .zip(are_confirmed(suspects))
        .zip(confirmable);
    found
        .map(|((suspect, is), may_be)| !is && may_be && suspect.ratios.len() < launches)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{
        LEVEL, SuspectRatios, are_confirmed, are_undecided, is_suspicious, launches_to_decide,
    };

    #[test]
    fn suspects_need_no_significance() {
        assert!(is_suspicious(&[1.2, 0.9, 1.1], 1.05));
        assert!(!is_suspicious(&[1.2, 0.9, 1.04], 1.05));
        assert!(!is_suspicious(&[], 1.05));
    }

    #[test]
    fn the_requested_number_of_launches_can_decide_and_one_less_cannot() {
        for suspects in [1, 3, 30] {
            let launches = launches_to_decide(suspects) as usize;
            let all = |count| {
                let mut ratios = vec![1.1; count];
                // One launch may contradict the suspicion.
                ratios[0] = 0.9;
                vec![
                    SuspectRatios {
                        ratios,
                        bound: 1.05
                    };
                    suspects
                ]
            };
            assert!(
                are_confirmed(&all(launches)).iter().all(|is| *is),
                "{suspects}"
            );
            assert!(
                are_confirmed(&all(launches - 1)).iter().all(|is| !is),
                "{suspects}"
            );
        }
    }

    #[test]
    fn one_suspect_is_slower_if_its_interval_lies_above_the_bound() {
        let launches = launches_to_decide(1) as usize;
        for contrary in 0..=2 {
            let mut ratios = vec![1.1; launches];
            ratios[..contrary].fill(0.9);
            let interval = statistics::median_interval(&ratios, 1.0 - LEVEL).expect("values");
            assert_eq!(
                are_confirmed(&[SuspectRatios { ratios, bound: 1.0 }]),
                [interval.low > 1.0],
                "{contrary}"
            );
        }
    }

    #[test]
    fn missing_launches_leave_a_suspect_open_only_if_they_could_confirm_it() {
        let launches = launches_to_decide(1);
        let open = |ratios: Vec<f64>| {
            are_undecided(
                &[SuspectRatios {
                    ratios,
                    bound: 1.05,
                }],
                launches,
            )[0]
        };
        assert!(open(Vec::new()) && open(vec![2.0]) && open(vec![2.0, 0.9, 2.0]));
        // More than one contrary launch clears it; all launches decide.
        assert!(!open(vec![0.9, 2.0, 0.9]));
        assert!(!open(vec![2.0; launches as usize]));
    }

    #[test]
    fn ratios_at_the_bound_and_missing_ones_are_not_slower() {
        assert_eq!(
            are_confirmed(&[vec![1.05; 20], Vec::new()].map(|ratios| SuspectRatios {
                ratios,
                bound: 1.05
            })),
            [false, false]
        );
    }
}
