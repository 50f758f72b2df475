//! The length of windows.

use benchmarking::clocks::{JudgedSeries, Pace, Readings, RepetitionTimes, Windows, judge_series};
use fastrand::Rng;
use vocabulary::Pattern;

/// Two ranks that keep to windows; rank 1 is disturbed now and then, and plans reach it late.
struct Ranks {
    now: i64,
    rng: Rng,
    call: Box<dyn FnMut(&mut Rng) -> i64>,
    plan_takes: i64,
}

impl Ranks {
    fn series(&mut self, windows: &Windows, calls: usize) -> Vec<RepetitionTimes> {
        let mut free = self.now + self.plan_takes;
        let spans = (0..calls)
            .map(|repetition| {
                let ready = free;
                let begin = ready.max(windows.start_of_repetition(repetition));
                free = begin + (self.call)(&mut self.rng);
                let readings = Readings {
                    ready,
                    begin,
                    timed: begin,
                    end: free,
                };
                windows.times_of_rank(repetition, 0, readings)
            })
            .collect();
        self.now = free + 1000;
        spans
    }

    fn turn(&mut self, pace: &mut Pace, calls: usize) -> (Windows, JudgedSeries) {
        let calls = calls.min(pace.most_calls());
        let windows = pace.plan_windows(self.now, 0.0, 0.0);
        let spans = self.series(&windows, calls);
        let punctuality_seconds = windows.punctuality_seconds();
        let judged = judge_series(
            &spans,
            Pattern::Together,
            punctuality_seconds,
            windows.length,
        );
        pace.adapt_to_series(&spans, judged.invalid.len());
        (windows, judged)
    }
}

fn ranks(call: impl FnMut(&mut Rng) -> i64 + 'static, plan_takes: i64) -> Ranks {
    Ranks {
        now: 0,
        rng: Rng::with_seed(7),
        call: Box::new(call),
        plan_takes,
    }
}

/// After warming up few repetitions are invalid, and windows are not much longer than calls.
fn check(call: fn(&mut Rng) -> i64, plan_takes: i64, most_invalid: usize, most_length: i64) {
    let mut ranks = ranks(call, plan_takes);
    let mut pace = Pace::default();
    ranks.turn(&mut pace, 1);
    for _ in 0..7 {
        ranks.turn(&mut pace, 25);
    }
    let mut invalid = 0;
    let mut taken = 0;
    while taken < 2000 {
        let (windows, judged) = ranks.turn(&mut pace, 100);
        assert!(windows.length <= most_length, "{windows:?}");
        invalid += judged.invalid.len();
        taken += judged.seconds.len();
    }
    assert!(invalid <= most_invalid, "{invalid} of {taken}");
}

#[test]
fn windows_fit_the_calls() {
    // Calls are steady, have a tail, or take ten times as long once in fifty, from a microsecond to seconds.
    check(|_| 1000, 20_000, 0, 3600);
    check(|rng| 2000 + rng.i64(0..500), 20_000, 0, 6000);
    let outliers: fn(&mut Rng) -> i64 = |rng| match rng.u32(0..50) {
        0 => 20_000,
        _ => 2000,
    };
    check(outliers, 20_000, 400, 20_000);
    check(|_| 3_000_000_000, 20_000, 0, 4_600_000_000);
}

/// One of four repetitions loses milliseconds to other work, as on a busy machine. Windows must not grow so much that
/// more is lost while waiting.
#[test]
fn windows_do_not_grow_with_disturbances() {
    let busy: fn(&mut Rng) -> i64 = |rng| match rng.u32(0..4) {
        0 => 6_000_000,
        _ => 15_000,
    };
    check(busy, 20_000, 1900, 130_000);
}

/// Every sixteenth call takes two milliseconds, in which a series of short calls would end. Wherever the first slow call
/// is, a third of the repetitions is valid, as in turns of 25 requested repetitions.
#[test]
fn slow_calls_spoil_few_short_ones() {
    for phase in 0..16 {
        let mut place = phase;
        let mut pace = Pace::default();
        let mut ranks = ranks(
            move |_| {
                place += 1;
                if place % 16 == 0 { 2_000_000 } else { 5000 }
            },
            20_000,
        );
        let (mut invalid, mut taken) = (0, 0);
        while taken < 2000 {
            let (_, judged) = ranks.turn(&mut pace, 200);
            invalid += judged.invalid.len();
            taken += judged.seconds.len();
        }
        let valid = taken - invalid;
        assert!(3 * valid >= taken, "phase {phase}: {valid} of {taken}");
    }
}

#[test]
fn series_become_long_again_after_a_disturbance() {
    let mut disturbed = 40;
    let mut ranks = ranks(
        move |_| {
            disturbed -= 1;
            if disturbed > 0 && disturbed % 2 == 0 {
                2_000_000
            } else {
                5000
            }
        },
        20_000,
    );
    let mut pace = Pace::default();
    let lengths = (0..60).map(|_| {
        ranks.turn(&mut pace, 200);
        pace.most_calls()
    });
    let lengths: Vec<usize> = lengths.collect();
    assert!(lengths[59] > 40, "{lengths:?}");
}

#[test]
fn plans_are_made_early_enough() {
    // Plans take two milliseconds to arrive, so nearly every series begins with a late repetition.
    let mut ranks = ranks(|_| 5000, 2_000_000);
    let mut pace = Pace::default();
    let late: Vec<bool> = (0..12)
        .map(|_| ranks.turn(&mut pace, 25).1.invalid.contains(&0))
        .collect();
    assert!(late[0], "the first cannot know");
    let late = late.iter().filter(|late| **late).count();
    assert!(late <= 4, "{late} of 12");
}

#[test]
fn a_rank_with_a_wrong_clock_does_not_wait_for_ever() {
    let pace = Pace::default();
    let windows = pace.plan_windows(0, 0.0, 0.0);
    assert_eq!(
        pace.plan_windows(0, 0.0, 1e-3).length,
        windows.length + 1_000_000
    );
    let longest = pace.longest_wait(&windows);
    assert!(
        longest > windows.length && longest < 10_000_000,
        "{longest}"
    );
}
