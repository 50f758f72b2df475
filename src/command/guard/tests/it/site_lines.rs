//! Lines of a site's file are judged by all points at which they decide.

use std::path::Path;

use campaign::Campaign;
use export::LineRange;
use guard::{JudgedLine, LineVerdict, PointKind, SiteLines, ValidateOptions, validate_points};
use schedule::Collective;
use vocabulary::{Candidate, Cell, CommShape, Parameters};

use crate::VALIDATE;
use crate::script::{Script, Take};

const SHAPE: CommShape = CommShape { nodes: 1, ppn: 2 };

fn native(name: &str) -> Candidate {
    Candidate::Native {
        algorithm: format!("native:{name}"),
        parameters: Parameters::default(),
    }
}

fn range(line: usize, collective: Collective, sizes: [u64; 2], name: &str) -> LineRange {
    LineRange {
        line,
        collective,
        shape: SHAPE,
        first_bytes: sizes[0],
        last_bytes: sizes[1],
        candidate: native(name),
    }
}

fn campaign() -> Campaign {
    let text = "name: site\nlibrary: openmpi\nshapes: [1x2]\ncollectives: [barrier, bcast, allreduce]\nsizes: [64, 4K, 1M]\n";
    Campaign::parse(text, Path::new("campaign.yaml")).expect("a campaign")
}

/// Four lines of broadcasts, two that say the same about barriers, one about reductions from an odd size on, and one
/// beyond all sizes.
fn ranges() -> Vec<LineRange> {
    vec![
        range(3, Collective::Bcast, [0, 1023], "bcast/a"),
        range(4, Collective::Bcast, [1024, 8191], "bcast/b"),
        range(5, Collective::Bcast, [8192, u64::MAX], "bcast/c"),
        range(7, Collective::Barrier, [0, u64::MAX], "barrier/a"),
        range(8, Collective::Barrier, [0, u64::MAX], "barrier/a"),
        range(10, Collective::Allreduce, [4097, u64::MAX], "allreduce/a"),
        range(
            12,
            Collective::Allreduce,
            [1 << 24, u64::MAX],
            "allreduce/b",
        ),
    ]
}

/// The lines, if candidates other than the default take this share of its time.
fn judge(launches: u32, share: impl Fn(&Cell, u32) -> f64) -> Vec<JudgedLine> {
    let (ranges, campaign) = (ranges(), campaign());
    let lines = SiteLines::with_sizes_of(&ranges, &campaign);
    let mut script = Script::new(|cell: &Cell, candidate: &Candidate, launch| {
        let share = if *candidate == Candidate::Default {
            1.0
        } else {
            share(cell, launch)
        };
        if share.is_nan() {
            Take::Fails
        } else {
            Take::Seconds(share)
        }
    });
    let options = ValidateOptions {
        launches,
        ..VALIDATE
    };
    let found = validate_points(&lines.points, &mut script, &options).expect("validated");
    lines.judge_lines(&found.points, 0.02)
}

fn verdicts(judged: &[JudgedLine]) -> Vec<(usize, &'static str)> {
    let each = judged.iter();
    each.map(|found| (found.line, found.verdict.name()))
        .collect()
}

#[test]
fn points_are_the_campaigns_sizes_and_those_from_which_lines_decide() {
    let (ranges, campaign) = (ranges(), campaign());
    let lines = SiteLines::with_sizes_of(&ranges, &campaign);
    let found: Vec<_> = lines
        .points
        .iter()
        .map(|point| {
            (
                point.chosen.algorithm().to_owned(),
                point.cell.bytes,
                point.kind,
            )
        })
        .collect();
    let (measured, threshold) = (PointKind::Measured, PointKind::Threshold);
    let expected = [
        ("bcast/a", 64, measured),
        ("bcast/b", 1024, threshold),
        ("bcast/b", 4096, measured),
        ("bcast/c", 8192, threshold),
        ("bcast/c", 1 << 20, measured),
        // Two lines, one point.
        ("barrier/a", 0, measured),
        // Whole elements.
        ("allreduce/a", 4104, threshold),
        ("allreduce/a", 1 << 20, measured),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(name, bytes, kind)| (native(name).algorithm().to_owned(), bytes, kind))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_line_gains_loses_or_does_both_by_all_its_points() {
    let judged = judge(6, |cell, _| match (cell.collective, cell.bytes) {
        (Collective::Bcast, 64) => 0.5,
        (Collective::Bcast, 1024) => 0.9,
        (Collective::Bcast, 4096) => 1.5,
        (Collective::Bcast, 8192) => 1.0,
        (Collective::Bcast, _) => 2.0,
        (Collective::Barrier, _) => 1.25,
        (_, _) => 0.99,
    });
    let expected = [
        (3, "gains"),
        (4, "mixed"),
        (5, "loses"),
        (7, "loses"),
        (8, "loses"),
        // One per cent does not matter.
        (10, "same"),
        (12, "not_measured"),
    ];
    assert_eq!(verdicts(&judged), expected);
    let telling = judged[2].telling_point().expect("a point");
    let speedup = telling.speedup.expect("times");
    assert_eq!((telling.point.cell.bytes, speedup.median), (1 << 20, 0.5));
    let interval = speedup.interval;
    assert!(interval.low <= 0.5 && interval.high >= 0.5, "{interval:?}");
}

#[test]
fn nothing_is_shown_by_few_launches_or_times_that_vary() {
    let few = judge(3, |_, _| 0.5);
    assert!(
        few.iter()
            .filter(|found| found.verdict != LineVerdict::NotMeasured)
            .all(|found| found.verdict == LineVerdict::Undecided),
        "{few:?}"
    );
    let noisy = judge(6, |_, launch| if launch % 2 == 0 { 0.5 } else { 2.0 });
    assert!(
        noisy
            .iter()
            .all(|found| found.verdict != LineVerdict::Loses)
    );
    let failing = judge(6, |cell, _| {
        if cell.collective == Collective::Bcast {
            f64::NAN
        } else {
            1.0
        }
    });
    let expected = [(3, "loses"), (4, "loses"), (5, "loses"), (7, "same")];
    assert_eq!(verdicts(&failing)[..4], expected);
}
