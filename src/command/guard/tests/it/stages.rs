//! First launches, suspects, and their confirmation.

use guard::{
    Baseline, CheckOptions, CheckVerdict, Checked, CheckedPoint, GuardError, Judgement, Misplaced,
    Point, PointState, Rivals, ValidateOptions, check_points, table_points, validate_points,
};
use table::Deployment;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Operator, RankOrder};

use crate::script::{Script, Take, table};
use crate::{CHECK, VALIDATE};

fn all() -> Vec<Point> {
    let elements = (Datatype::Float64, Operator::Sum);
    let mut points = table_points(&table(), Deployment::Library, elements, false);
    points.retain(|point| !point.keeps_default());
    points
}

/// The time in the table.
fn recorded(cell: &Cell, candidate: &Candidate) -> f64 {
    let points = table().collectives[&cell.collective][0].measured.clone();
    let found = points
        .iter()
        .find(|point| point.bytes == cell.bytes)
        .expect("measured");
    match candidate {
        Candidate::Default => found.default_seconds,
        _ => found.seconds,
    }
}

/// A check in which every candidate takes its time in the table, times a factor.
fn checked(factor: impl Fn(&Cell, &Candidate, u32) -> f64) -> (Checked, Vec<(Vec<u64>, u32)>) {
    let seconds = |cell: &Cell, candidate: &Candidate, launch| {
        Take::Seconds(recorded(cell, candidate) * factor(cell, candidate, launch))
    };
    let mut script = Script::new(seconds);
    let rivals = Rivals::default();
    let checked = check_points(&all(), &rivals, &mut script, &CHECK).expect("checked");
    (checked, script.asked)
}

#[test]
fn an_unchanged_table_is_measured_once() {
    let (checked, asked) = checked(|_, _, _| 1.0);
    assert!(checked.still_holds() == Some(true) && checked.further_launches == 0);
    assert_eq!(asked, [(vec![1024, 4096, 65536, 1 << 20], 3)]);
}

#[test]
fn a_suspect_that_is_not_slower_again_is_cleared() {
    // Slow in the first three launches only.
    let unlucky = |cell: &Cell, candidate: &Candidate, launch| {
        if cell.bytes == 4096 && *candidate != Candidate::Default && launch <= 3 {
            1.3
        } else {
            1.0
        }
    };
    let (checked, asked) = checked(unlucky);
    assert_eq!(checked.still_holds(), Some(true));
    // One suspicion is decided by 9 launches.
    assert_eq!(asked[1..], [(vec![4096], 9)]);
    let point = checked
        .points
        .iter()
        .find(|p| p.point.cell.bytes == 4096)
        .expect("the point");
    let [finding] = point.findings[..] else {
        panic!("{point:?}");
    };
    assert_eq!(
        (finding.against, finding.is_confirmed, finding.launches),
        (Baseline::Recorded, false, 9)
    );
}

#[test]
fn a_slower_algorithm_is_distinguished_from_a_slower_machine() {
    let reasons = |factor: fn(&Cell, &Candidate, u32) -> f64| {
        let (checked, _) = checked(factor);
        assert_eq!(checked.still_holds(), Some(false));
        let reasons = checked
            .points
            .iter()
            .flat_map(|point| point.regression_reasons());
        reasons.collect::<Vec<String>>().join("\n")
    };
    let algorithm = reasons(|_, candidate, _| match candidate.id() {
        "b" => 1.2,
        _ => 1.0,
    });
    assert_eq!(algorithm.lines().count(), 2, "{algorithm}");
    assert!(
        algorithm.contains("native:bcast/b takes 1.20 times its time in the table"),
        "{algorithm}"
    );
    assert!(
        algorithm.contains("this algorithm became slower"),
        "{algorithm}"
    );
    let machine = reasons(|_, _, _| 1.2);
    assert_eq!(machine.lines().count(), 4, "{machine}");
    assert!(
        machine.contains("the library or the machine became slower"),
        "{machine}"
    );
    let verdict = |factor: fn(&Candidate) -> f64| {
        let (found, _) = checked(|_, candidate, _| factor(candidate));
        assert_eq!(found.still_holds(), Some(false), "{found:?}");
        found.verdict()
    };
    assert_eq!(verdict(|_| 1.2), CheckVerdict::SlowerMachine);
    // One algorithm that alone became slower makes the table wrong, whatever else did.
    let one_more = |candidate: &Candidate| match candidate.id() {
        "b" => 1.9,
        _ => 1.2,
    };
    assert_eq!(verdict(one_more), CheckVerdict::Wrong);
    // Both are slower, the algorithm far more.
    let both = reasons(|_, candidate, _| match candidate {
        Candidate::Default => 1.3,
        _ => 2.0,
    });
    let told = "launches; the default takes 1.30 times its time in the table";
    assert!(
        both.contains(told) && !both.contains("became slower"),
        "{both}"
    );
    // The default's time explains a part of it only.
    let partly = reasons(|_, candidate, _| match candidate {
        Candidate::Default => 1.25,
        _ => 1.5,
    });
    assert!(!partly.contains("became slower"), "{partly}");
    // It is as fast as before, but the default is better now.
    let default = reasons(|_, candidate, _| match candidate {
        Candidate::Default => 0.1,
        _ => 1.0,
    });
    assert!(default.contains("times the default"), "{default}");
}

#[test]
fn small_changes_are_no_regressions_even_if_significant() {
    let (checked, _) = checked(|_, candidate, _| match candidate {
        Candidate::Default => 1.0,
        _ => 1.09,
    });
    assert_eq!(checked.still_holds(), Some(true));
}

#[test]
fn failures_are_regressions_and_missing_measurements_are_not() {
    let mut script = Script::new(
        |cell: &Cell, candidate: &Candidate, _| match candidate.id() {
            "b" if cell.bytes == 65536 => Take::Fails,
            _ if cell.bytes == 4096 => Take::Nothing,
            _ => Take::Seconds(recorded(cell, candidate)),
        },
    );
    let rivals = Rivals::default();
    let checked = check_points(&all(), &rivals, &mut script, &CHECK).expect("checked");
    let of = |bytes| {
        checked
            .points
            .iter()
            .find(|p| p.point.cell.bytes == bytes)
            .expect("a point")
    };
    assert!(
        of(65536).is_regression() && of(65536).regression_reasons()[0].contains("fails (crash")
    );
    assert!(!of(4096).is_measured() && !of(4096).is_regression() && of(1024).is_measured());

    let mut nothing = Script::new(|_: &Cell, _: &Candidate, _| Take::Nothing);
    let refused = check_points(&all(), &rivals, &mut nothing, &CHECK);
    assert!(
        matches!(refused, Err(GuardError::NothingMeasured)),
        "{refused:?}"
    );
}

#[test]
fn validating_distinguishes_faster_slower_and_equal_points() {
    let mut script = Script::new(|cell: &Cell, candidate: &Candidate, launch| {
        let wobble = if launch % 2 == 0 { 1.02 } else { 0.98 };
        Take::Seconds(match (cell.bytes, candidate) {
            (_, Candidate::Default) => 1.0,
            (1024, _) => 0.5,
            (4096, _) => wobble,
            // Seems slower in the first launches only.
            (65536, _) if launch <= 6 => 1.1,
            (65536, _) => wobble,
            _ => 1.01,
        })
    });
    let validated = validate_points(&all(), &mut script, &VALIDATE).expect("validated");
    let judged = |bytes| {
        let mut points = validated.points.iter();
        points
            .find(|p| p.point.cell.bytes == bytes)
            .map(|p| p.judgement.clone())
    };
    assert_eq!(judged(1024), Some(Judgement::Faster));
    assert_eq!(judged(4096), Some(Judgement::Same));
    assert_eq!(judged(65536), Some(Judgement::Same));
    assert_eq!(judged(1 << 20), Some(Judgement::Slower));
    // Two suspects are decided by 10 launches.
    assert_eq!(script.asked[1..], [(vec![65536, 1 << 20], 10)]);
    assert!(!validated.is_never_wrong());
    let summary = validated.speedup_summary().expect("measured");
    assert_eq!(summary.best, 2.0);
    assert!(
        summary.worst < 1.0 && summary.geometric_mean > 1.1,
        "{summary:?}"
    );
}

#[test]
fn suspects_that_could_not_be_measured_again_stay_suspects() {
    // Time is up after the first launches.
    let late = |launch: u32, seconds| match launch {
        ..=6 => Take::Seconds(seconds),
        _ => Take::Nothing,
    };
    let mut script = Script::new(|_: &Cell, candidate: &Candidate, launch| {
        let is_default = *candidate == Candidate::Default;
        late(launch, if is_default { 1.0 } else { 1.5 })
    });
    let validated = validate_points(&all(), &mut script, &VALIDATE).expect("validated");
    assert_eq!(validated.count_judged("undecided"), 4);
    assert!(validated.is_never_wrong());

    let mut check_script = Script::new(|cell: &Cell, candidate: &Candidate, launch| {
        late(launch, 2.0 * recorded(cell, candidate))
    });
    let options = CheckOptions {
        launches: 6,
        ..CHECK
    };
    let checked =
        check_points(&all(), &Rivals::default(), &mut check_script, &options).expect("checked");
    assert!(checked.points.iter().all(CheckedPoint::is_undecided));
    assert_eq!(checked.still_holds(), None);

    // Only two of the points are suspects: the others are decided.
    let mut partial_script = Script::new(|cell: &Cell, candidate: &Candidate, launch| {
        let factor = if cell.bytes < 65536 { 2.0 } else { 1.0 };
        late(launch, factor * recorded(cell, candidate))
    });
    let partly_checked =
        check_points(&all(), &Rivals::default(), &mut partial_script, &options).expect("checked");
    let decided = partly_checked
        .points
        .iter()
        .filter(|point| point.is_decided());
    assert_eq!((partly_checked.still_holds(), decided.count()), (None, 2));
    let open = partly_checked
        .points
        .iter()
        .flat_map(CheckedPoint::open_suspicions);
    let open: Vec<String> = open.collect();
    assert_eq!(open.len(), 2);
    assert!(
        open[0].contains("takes 2.00 times its time in the table, but there were too few"),
        "{open:?}"
    );
}

/// Launches lack times of one point, and of another all but a few of the deciding ones.
#[test]
fn lost_launches_are_replaced_and_clear_no_suspect() {
    let lost = |launch: u32| launch == 2 || launch == 5;
    let mut script =
        Script::new(
            |cell: &Cell, candidate: &Candidate, launch| match (cell.bytes, candidate) {
                (4096, _) if lost(launch) => Take::Nothing,
                (_, Candidate::Default) => Take::Seconds(1.0),
                _ => Take::Seconds(0.5),
            },
        );
    let validated = validate_points(&all(), &mut script, &VALIDATE).expect("validated");
    assert_eq!(script.asked[1..], [(vec![4096], 2)]);
    assert_eq!(validated.count_judged("faster"), 4);
    let mut launches = validated.points.iter().filter_map(|point| point.speedup);
    assert!(launches.all(|speedup| speedup.launches == 6));
    // Time is up: they are not replaced.
    let mut late = Script::new(script.seconds);
    late.is_out_of_time = true;
    let validated_late = validate_points(&all(), &mut late, &VALIDATE).expect("validated");
    assert_eq!(
        (
            late.asked.len(),
            validated_late.count_judged("too_few_launches")
        ),
        (1, 1)
    );

    // A suspect of the first three launches is faster in all but one of the nine that decide, which lacks times.
    let mut cleared_script = Script::new(|cell: &Cell, candidate: &Candidate, launch| {
        let factor = if launch <= 3 { 2.0 } else { 1.0 };
        match launch {
            4 => Take::Nothing,
            _ => Take::Seconds(factor * recorded(cell, candidate)),
        }
    });
    let checked =
        check_points(&all(), &Rivals::default(), &mut cleared_script, &CHECK).expect("checked");
    assert_eq!(
        (checked.still_holds(), checked.further_launches > 0),
        (Some(true), true)
    );

    // A point is slower in all launches; four of those that decide lack times, and are replaced.
    let seconds = |cell: &Cell, candidate: &Candidate, launch: u32| {
        let is_slow = cell.bytes == 4096 && *candidate != Candidate::Default;
        match launch {
            5..=8 => Take::Nothing,
            _ => Take::Seconds(recorded(cell, candidate) * if is_slow { 4.0 } else { 1.0 }),
        }
    };
    let mut slow_script = Script::new(seconds);
    let slow_checked =
        check_points(&all(), &Rivals::default(), &mut slow_script, &CHECK).expect("checked");
    assert_eq!(slow_checked.still_holds(), Some(false));
    let deciding = slow_checked.further_launches;
    assert_eq!(
        slow_script.asked[1..],
        [(vec![4096], deciding), (vec![4096], 4)]
    );
    let confirmed = slow_checked
        .points
        .iter()
        .flat_map(CheckedPoint::confirmed_findings);
    assert!(
        confirmed
            .map(|finding| finding.launches)
            .all(|count| count == deciding)
    );
}

#[test]
fn rules_for_another_order_of_ranks_are_not_judged() {
    let shape = CommShape { nodes: 2, ppn: 2 };
    let flat = CommShape { nodes: 4, ppn: 1 };
    let mut all = all();
    for (point, point_shape) in all.iter_mut().zip([shape, shape, flat, shape]) {
        point.cell.shape = point_shape;
        point.order = RankOrder::Block;
    }
    all[1].order = RankOrder::Unknown;
    // Everything is twice as slow as the default.
    let seconds = |_: &Cell, candidate: &Candidate, _| {
        Take::Seconds(if *candidate == Candidate::Default {
            1.0
        } else {
            2.0
        })
    };
    let validated = |points: &[Point], order| {
        let mut script = Script::new(seconds);
        script
            .orders
            .extend([(shape, order), (flat, RankOrder::Block)]);
        validate_points(points, &mut script, &VALIDATE)
    };
    let same = validated(&all, RankOrder::Block).expect("validated");
    assert_eq!((same.points.len(), same.misplaced.len()), (4, 0));
    let other = validated(&all, RankOrder::Cyclic).expect("validated");
    let of = |points: &[Misplaced]| points.iter().map(|m| m.point.clone()).collect::<Vec<_>>();
    assert_eq!(of(&other.misplaced), [all[0].clone(), all[3].clone()]);
    assert!(other.misplaced.iter().all(|m| m.found == RankOrder::Cyclic));
    assert_eq!(other.count_judged("slower"), 2);
    let refused = validated(&all[..1], RankOrder::Cyclic);
    assert!(
        matches!(refused, Err(GuardError::OtherOrder { .. })),
        "{refused:?}"
    );

    let mut script = Script::new(seconds);
    script.orders.insert(shape, RankOrder::Other);
    let options = CheckOptions {
        tolerance: 1e9,
        ..CHECK
    };
    let checked = check_points(&all, &Rivals::default(), &mut script, &options).expect("checked");
    assert_eq!((checked.points.len(), checked.misplaced.len()), (2, 2));
    assert!(checked.points.iter().all(CheckedPoint::is_regression));
}

#[test]
fn too_few_launches_are_no_verdict() {
    let validated = |launches, ratio: f64| {
        let mut script = Script::new(|_: &Cell, candidate: &Candidate, _| {
            Take::Seconds(if *candidate == Candidate::Default {
                1.0
            } else {
                ratio
            })
        });
        let options = ValidateOptions {
            launches,
            ..VALIDATE
        };
        let validated = validate_points(&all(), &mut script, &options).expect("validated");
        (validated.count_judged("too_few_launches"), validated)
    };
    for launches in [1, 5] {
        for ratio in [0.5, 1.0] {
            let (too_few, validated) = validated(launches, ratio);
            assert_eq!(too_few, 4, "{launches} {ratio}");
            assert!(validated.speedup_summary().is_none(), "{launches} {ratio}");
            // Nothing is wrong.
            let mut points = validated.points.iter();
            assert!(points.all(|point| !point.is_wrong()));
        }
    }
    assert_eq!(validated(6, 0.5).1.count_judged("faster"), 4);
    assert_eq!(validated(6, 1.0).1.count_judged("same"), 4);
    // Suspects are measured again, in enough launches.
    assert_eq!(validated(1, 1.5).1.count_judged("slower"), 4);
}

/// Times of a choice that is as fast as the default on a machine with much other work, and vary by 20 %.
fn noisy(cell: &Cell, candidate: &Candidate, launch: u32) -> Take {
    Take::Seconds(match (cell.bytes, candidate) {
        (4096, Candidate::Native { .. }) if launch.is_multiple_of(2) => 1.2,
        (4096, Candidate::Native { .. }) => 0.8,
        _ => 1.0,
    })
}

/// The results stand: the table is compared with what the site's programs get.
#[test]
fn settings_that_steer_the_default_are_told() {
    let setting = "OMPI_MCA_coll=^han";
    let settings = vec![setting.to_owned()];
    let told = Some(vocabulary::Warning::SteeredDefault { settings });
    let mut script = Script::new(noisy);
    script.steering = Some(setting);
    let validated = validate_points(&all(), &mut script, &VALIDATE).expect("validated");
    assert_eq!(validated.steered, told);
    let checked = check_points(&all(), &Rivals::default(), &mut script, &CHECK).expect("checked");
    assert_eq!(checked.steered, told);
    let plain = validate_points(&all(), &mut Script::new(noisy), &VALIDATE).expect("validated");
    assert_eq!(plain.steered, None);
    assert_eq!(plain.points, validated.points);
}

#[test]
fn times_that_vary_too_much_show_nothing() {
    let mut script = Script::new(noisy);
    script.load_percent = Some(250);
    let validated = validate_points(&all(), &mut script, &VALIDATE).expect("validated");
    assert_eq!(validated.count_judged("inconclusive"), 1);
    assert_eq!(validated.count_judged("same"), validated.points.len() - 1);
    assert!(validated.is_never_wrong());
    let warning = validated.busy.expect("busy").to_string();
    assert!(
        warning.starts_with("the machine was busy (2.50"),
        "{warning}"
    );

    let mut check_script = Script::new(noisy);
    check_script.load_percent = Some(250);
    let mut unrecorded = all();
    unrecorded
        .iter_mut()
        .for_each(|point| point.recorded = None);
    let checked =
        check_points(&unrecorded, &Rivals::default(), &mut check_script, &CHECK).expect("checked");
    let wide = checked.points.iter().filter(|point| point.is_inconclusive);
    let wide: Vec<u64> = wide.map(|point| point.point.cell.bytes).collect();
    assert_eq!(wide, [4096]);
    assert!(checked.busy.is_some());
    // What seems slower may be so because of the other work; a failure is none of its effects.
    let busily = |take: fn(&Candidate) -> Take| {
        let mut busy_script =
            Script::new(move |_: &Cell, candidate: &Candidate, _| take(candidate));
        busy_script.load_percent = Some(250);
        let busy = check_points(&all(), &Rivals::default(), &mut busy_script, &CHECK);
        busy.expect("checked")
    };
    let slower = busily(|candidate| {
        Take::Seconds(if *candidate == Candidate::Default {
            1.0
        } else {
            2.0
        })
    });
    assert_eq!(slower.verdict(), CheckVerdict::Unknown);
    assert_eq!(slower.count_points_in(PointState::Regression), 0);
    let open = slower
        .points
        .iter()
        .flat_map(|point| point.open_suspicions());
    let open: Vec<String> = open.collect();
    assert!(!open.is_empty(), "{slower:?}");
    assert!(
        open.iter()
            .all(|why| why.contains("other work was running")),
        "{open:?}"
    );
    let broken = busily(|candidate| match candidate {
        Candidate::Default => Take::Seconds(1.0),
        _ => Take::Fails,
    });
    assert_eq!(broken.verdict(), CheckVerdict::Wrong);
    // Nothing is said about a machine without other work.
    let quiet = check_points(
        &unrecorded,
        &Rivals::default(),
        &mut Script::new(noisy),
        &CHECK,
    );
    assert_eq!(quiet.expect("checked").busy, None);
}

#[test]
fn points_that_are_not_measured_have_a_reason() {
    let judged = |take: fn(&Candidate) -> Take, is_out_of_time| {
        let mut script = Script::new(|cell: &Cell, candidate: &Candidate, _| match cell.bytes {
            4096 => take(candidate),
            _ => Take::Seconds(1.0),
        });
        script.is_out_of_time = is_out_of_time;
        let validated = validate_points(&all(), &mut script, &VALIDATE);
        let validated = validated.expect("validated");
        let mut points = validated.points.iter();
        let point = points.find(|p| p.point.cell.bytes == 4096);
        match &point.expect("the point").judgement {
            Judgement::NotMeasured(why) => why.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(judged(|_| Take::Nothing, true), "time was up");
    let default_fails = |candidate: &Candidate| match candidate {
        Candidate::Default => Take::Fails,
        _ => Take::Seconds(1.0),
    };
    assert_eq!(
        judged(default_fails, false),
        "the default fails (crash: on purpose)"
    );
    let alone = |candidate: &Candidate| match candidate {
        Candidate::Default => Take::Seconds(1.0),
        _ => Take::Nothing,
    };
    assert_eq!(
        judged(alone, false),
        "no launch has valid times of both the default and the chosen candidate"
    );
}
