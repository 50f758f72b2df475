//! Our algorithms beside the library's own: twins, and the best of each.

mod best;

use std::collections::BTreeMap;

use campaign::twins::{RIVALS, twin};
use report::{Pair, Pairs, Ratio};
use results::{CONFIDENCE, Summary};
use schedule::Collective;
use statistics::{PairedRatio, paired_ratio};
use vocabulary::{Candidate, Cell, CommShape, Library, Subject};

/// What was measured in each cell, by collective and shape.
type Series<'a> = BTreeMap<(Collective, CommShape), BTreeMap<Cell, Vec<&'a Summary>>>;

/// All pairs for which both were measured; nothing where no algorithm of the library was forced.
pub(crate) fn of(summaries: &[Summary], library: &Library) -> Vec<Pairs> {
    let mut series: Series<'_> = BTreeMap::new();
    for summary in summaries {
        if let Subject::Cell(cell) = summary.subject {
            let cells = series.entry((cell.collective, cell.shape)).or_default();
            cells.entry(cell).or_default().push(summary);
        }
    }
    let has_natives = |cells: &BTreeMap<Cell, Vec<&Summary>>| {
        let mut all = cells.values().flatten();
        all.any(|summary| is_native(&summary.candidate))
    };
    series
        .into_iter()
        .filter(|(_, cells)| has_natives(cells))
        .map(|((collective, shape), cells)| {
            let (twins, left_twins) = twins(&cells, library);
            Pairs {
                collective,
                shape,
                twins,
                left_twins,
                best: best(&cells),
            }
        })
        .collect()
}

fn is_ours(candidate: &Candidate) -> bool {
    matches!(candidate, Candidate::Ours { .. })
}

fn is_native(candidate: &Candidate) -> bool {
    matches!(candidate, Candidate::Native { .. })
}

/// One row a candidate that has a twin, in the order of candidates; and how many points are missing
/// because one of the two left the race. Whoever leaves does so when it looks slow.
fn twins(cells: &BTreeMap<Cell, Vec<&Summary>>, library: &Library) -> (Vec<Pair>, usize) {
    let mut left = 0;
    let mut rows: BTreeMap<(&Candidate, Candidate), Vec<(u64, Ratio)>> = BTreeMap::new();
    for (cell, summaries) in cells {
        for ours in summaries {
            let Some(native) = twin(library, cell, &ours.candidate) else {
                continue;
            };
            let mut others = summaries.iter();
            let Some(theirs) = others.find(|other| other.candidate == native) else {
                continue;
            };
            if ours.counts.left_launches > 0 || theirs.counts.left_launches > 0 {
                left += 1;
            } else if let Some(ratio) = ratio(ours, theirs) {
                let row = rows.entry((&ours.candidate, native)).or_default();
                row.push((cell.bytes, ratio));
            }
        }
    }
    let pair = |((name, against), points): ((&Candidate, Candidate), _)| Pair {
        name: name.to_string(),
        against: against.to_string(),
        points,
    };
    (rows.into_iter().map(pair).collect(), left)
}

/// Ours at best against the library's at best and against its default, and rivals among ours.
fn best(cells: &BTreeMap<Cell, Vec<&Summary>>) -> Vec<Pair> {
    let is_default = |candidate: &Candidate| *candidate == Candidate::Default;
    let mut pairs = vec![
        (
            "colltune",
            "the library, forced",
            row(cells, is_ours, is_native),
        ),
        ("colltune", "default", row(cells, is_ours, is_default)),
        (
            "the library, forced",
            "default",
            row(cells, is_native, is_default),
        ),
    ];
    for (one, other) in RIVALS {
        let first = |candidate: &Candidate| candidate.algorithm() == one;
        let second = |candidate: &Candidate| candidate.algorithm() == other;
        pairs.extend([
            (one, other, row(cells, first, second)),
            (one, "the library, forced", row(cells, first, is_native)),
            (one, "default", row(cells, first, is_default)),
        ]);
    }
    let measured = pairs.into_iter().filter(|(.., points)| !points.is_empty());
    measured
        .map(|(name, against, points)| Pair {
            name: name.to_owned(),
            against: against.to_owned(),
            points,
        })
        .collect()
}

fn row(
    cells: &BTreeMap<Cell, Vec<&Summary>>,
    first: impl Fn(&Candidate) -> bool,
    second: impl Fn(&Candidate) -> bool,
) -> Vec<(u64, Ratio)> {
    let point = |(cell, summaries): (&Cell, &Vec<&Summary>)| {
        let (first, second) = (those(summaries, &first), those(summaries, &second));
        Some((cell.bytes, best::ratio(&first, &second)?))
    };
    cells.iter().filter_map(point).collect()
}

fn those<'a>(summaries: &[&'a Summary], which: impl Fn(&Candidate) -> bool) -> Vec<&'a Summary> {
    let chosen = summaries.iter().filter(|summary| which(&summary.candidate));
    chosen.copied().collect()
}

fn ratio(first: &Summary, second: &Summary) -> Option<Ratio> {
    let PairedRatio {
        median, interval, ..
    } = paired_ratio(&first.launch_medians, &second.launch_medians, CONFIDENCE)?;
    Some(Ratio {
        value: median,
        low: interval.low,
        high: interval.high,
        coverage: interval.coverage,
    })
}

#[cfg(test)]
mod tests {
    use results::{Counts, Summary};
    use statistics::{Interval, Quartiles};
    use vocabulary::{Candidate, Cell, CommShape, Datatype, Library, Parameters, Subject};

    use super::of;

    /// A candidate that took so long in three launches.
    fn summary(bytes: u64, candidate: Candidate, seconds: [f64; 3]) -> Summary {
        let cell = Cell {
            collective: schedule::Collective::Bcast,
            shape: CommShape { nodes: 1, ppn: 4 },
            bytes,
            datatype: Datatype::Byte,
            operator: None,
        };
        let [first, second, third] = seconds;
        Summary {
            subject: Subject::Cell(cell),
            candidate,
            counts: Counts {
                launches: 3,
                left_launches: 0,
                other_batches: 0,
                batch: 1,
                repetitions: 3,
                invalid: 0,
            },
            median_seconds: second,
            quartiles: Quartiles {
                lower: second,
                median: second,
                upper: second,
            },
            minimum_seconds: first,
            interval: Interval {
                low: first,
                high: third,
                coverage: 0.75,
            },
            launch_medians: vec![(1, first), (2, second), (3, third)],
        }
    }

    fn named(algorithm: &str, bytes: Option<u64>) -> Candidate {
        let algorithm = algorithm.to_owned();
        match algorithm.starts_with(Candidate::NATIVE) {
            true => Candidate::Native {
                algorithm,
                parameters: Parameters {
                    segment_bytes: bytes,
                    ..Parameters::default()
                },
            },
            false => Candidate::Ours {
                algorithm,
                parameters: Parameters {
                    block_bytes: bytes,
                    ..Parameters::default()
                },
            },
        }
    }

    fn library() -> Library {
        Library {
            name: "openmpi".to_owned(),
            version: "4.1.4".to_owned(),
        }
    }

    #[test]
    fn ratios_are_paired_in_launches_and_blocks_match() {
        let slow_second_launch = [1.0, 3.0, 1.0];
        let summaries = [
            summary(8, Candidate::Default, [1.0, 1.0, 1.0]),
            summary(
                8,
                named("bcast/chain", Some(4)),
                slow_second_launch.map(|s| 2.0 * s),
            ),
            summary(
                8,
                named("native:bcast/pipeline", Some(4)),
                slow_second_launch,
            ),
            summary(
                8,
                named("native:bcast/pipeline", Some(2)),
                [0.25, 0.25, 0.25],
            ),
        ];
        let pairs = of(&summaries, &library());
        assert_eq!(pairs.len(), 1);
        let twins = &pairs[0].twins;
        assert_eq!(twins.len(), 1, "{twins:?}");
        assert_eq!(twins[0].name, "bcast/chain[block_bytes=4]");
        assert_eq!(twins[0].against, "native:bcast/pipeline[segment_bytes=4]");
        let [(8, ratio)] = twins[0].points[..] else {
            panic!("{twins:?}");
        };
        assert_eq!([ratio.low, ratio.value, ratio.high], [2.0, 2.0, 2.0]);

        // At its best the library has the short segments, and the default is not forced.
        let best = |name: &str, against: &str| {
            let mut rows = pairs[0].best.iter();
            let row = rows.find(|row| row.name == name && row.against == against);
            row.unwrap_or_else(|| panic!("{name}")).points[0].1.value
        };
        assert_eq!(best("colltune", "the library, forced"), 8.0);
        assert_eq!(best("the library, forced", "default"), 0.25);
        assert_eq!(best("colltune", "default"), 2.0);
    }

    #[test]
    fn twins_that_left_the_race_are_left_out_and_counted() {
        let twins = |left_launches| {
            let left = |summary: Summary| Summary {
                counts: Counts {
                    left_launches,
                    ..summary.counts
                },
                ..summary
            };
            let summaries = [
                left(summary(8, named("bcast/chain", Some(4)), [2.0; 3])),
                summary(8, named("native:bcast/pipeline", Some(4)), [1.0; 3]),
                summary(64, named("bcast/chain", Some(4)), [2.0; 3]),
                summary(64, named("native:bcast/pipeline", Some(4)), [1.0; 3]),
                summary(512, named("bcast/chain", Some(4)), [1.0; 3]),
                left(summary(
                    512,
                    named("native:bcast/pipeline", Some(4)),
                    [1.5; 3],
                )),
            ];
            let pairs = of(&summaries, &library());
            let points = &pairs[0].twins[0].points;
            let sizes: Vec<u64> = points.iter().map(|(bytes, _)| *bytes).collect();
            (sizes, pairs[0].left_twins)
        };
        assert_eq!(twins(0), (vec![8, 64, 512], 0));
        assert_eq!(twins(1), (vec![64], 2));
    }

    #[test]
    fn the_best_is_not_chosen_by_the_launch_that_judges_it() {
        // By all launches the second is better, thanks to the one in which it was lucky.
        let summaries = [
            summary(8, named("bcast/chain", Some(2)), [0.9; 3]),
            summary(8, named("bcast/chain", Some(1)), [0.4, 1.2, 0.8]),
            summary(8, named("native:bcast/linear", None), [1.0; 3]),
        ];
        let ratio = |summaries: &[Summary]| {
            let pairs = of(summaries, &library());
            assert_eq!(pairs[0].best[0].against, "the library, forced");
            let (_, ratio) = pairs[0].best[0].points[0];
            ([ratio.low, ratio.value, ratio.high], ratio.coverage)
        };
        // Without that launch the first is chosen for it; for the others the second.
        assert_eq!(ratio(&summaries), ([0.8, 0.9, 1.2], 0.75));
        // A single launch has nothing but itself.
        let alone = summaries.map(|summary| Summary {
            launch_medians: summary.launch_medians[..1].to_vec(),
            ..summary
        });
        assert_eq!(ratio(&alone), ([0.4; 3], 0.0));
    }

    #[test]
    fn where_nothing_was_forced_there_are_no_pairs() {
        let summaries = [
            summary(8, Candidate::Default, [1.0; 3]),
            summary(8, named("bcast/chain", Some(4)), [2.0; 3]),
        ];
        assert!(of(&summaries, &library()).is_empty());
    }
}
