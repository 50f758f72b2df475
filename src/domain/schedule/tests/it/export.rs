//! The tests read traces as the simulators do, and compare them with the schedules.

use std::collections::HashMap;

use schedule::export::{Scale, ScheduleExport, TooLong};
use schedule::timeline::Timeline;
use schedule::{
    ALGORITHMS, Action, Algorithm, Distribution, Rank, Request, Schedule, find_algorithm,
};

use crate::cases::{in_blocks, schedule, supported};

const SCALE: Scale = Scale {
    unit_bytes: 4,
    combine_cost: 3,
};

/// A statement of a trace, with the statements of its rank that it waits for.
struct Statement {
    after: Vec<usize>,
    /// Sender, receiver, tag and length of the message, if the statement is one end of a message.
    message: Option<(Rank, Rank, u64, u64)>,
    work: u64,
}

/// The totals of a trace: steps on the longest path, messages, work, bytes.
#[derive(Debug, PartialEq, Eq)]
struct Total {
    steps: u64,
    messages: u64,
    work: u64,
    bytes: u64,
}

/// Runs traces: a message takes one step once both ends may begin; everything else takes no time.
fn run(ranks: &[Vec<Statement>]) -> Total {
    let mut ends: Vec<Vec<Option<u64>>> = ranks.iter().map(|own| vec![None; own.len()]).collect();
    let mut places = HashMap::new();
    for (rank, own) in ranks.iter().enumerate() {
        for (index, statement) in own.iter().enumerate() {
            if let Some(message) = statement.message {
                let both: &mut Vec<_> = places.entry(message).or_default();
                both.push((rank, index));
            }
        }
    }
    assert!(places.values().all(|both| both.len() == 2), "unmatched");
    let mut total = Total {
        steps: 0,
        messages: places.len() as u64,
        work: ranks.iter().flatten().map(|statement| statement.work).sum(),
        bytes: places.keys().map(|(.., bytes)| bytes).sum(),
    };
    let mut done = 0;
    loop {
        let before = done;
        for (own_rank, own) in ranks.iter().enumerate() {
            for (own_index, statement) in own.iter().enumerate() {
                if ends[own_rank][own_index].is_some() {
                    continue;
                }
                let begin = |rank: usize, index: usize| {
                    let after = ranks[rank][index].after.iter();
                    after
                        .map(|earlier| ends[rank][*earlier])
                        .try_fold(0, |latest: u64, end| Some(latest.max(end?)))
                };
                let both = statement
                    .message
                    .map_or(vec![(own_rank, own_index)], |m| places[&m].clone());
                let begins: Option<Vec<u64>> = both
                    .iter()
                    .map(|(rank, index)| begin(*rank, *index))
                    .collect();
                let Some(begins) = begins else { continue };
                let step = u64::from(statement.message.is_some());
                let end = begins.into_iter().max().unwrap_or(0) + step;
                for (rank, index) in both {
                    ends[rank][index] = Some(end);
                    done += 1;
                }
                total.steps = total.steps.max(end);
            }
        }
        if done == before {
            break;
        }
    }
    assert!(ends.iter().flatten().all(Option::is_some), "deadlock");
    total
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("a number: {word}"))
}

fn read_goal(text: &str, rank: Rank) -> Vec<Statement> {
    let mut lines = text.strip_prefix('\n').expect("a blank line").lines();
    assert_eq!(lines.next(), Some(format!("rank {rank} {{").as_str()));
    assert_eq!(lines.next_back(), Some("}"));
    let mut statements: Vec<Statement> = Vec::new();
    let label = |word: &str| number(word.strip_prefix('l').expect("a label")) as usize - 1;
    for line in lines {
        let mut statement = Statement {
            after: Vec::new(),
            message: None,
            work: 0,
        };
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            [of, "requires", before] => {
                assert_eq!(label(of) + 1, statements.len());
                let before = label(before);
                statements[label(of)].after.push(before);
                continue;
            }
            [_, "calc", work] => statement.work = number(work),
            [_, what, bytes, _, peer, "tag", tag] => {
                let bytes = number(bytes.strip_suffix('b').expect("bytes"));
                let (peer, tag) = (number(peer) as Rank, number(tag));
                statement.message = Some(match (what, words[3]) {
                    ("send", "to") => (rank, peer, tag, bytes),
                    ("recv", "from") => (peer, rank, tag, bytes),
                    _ => panic!("{line}"),
                });
            }
            _ => panic!("{line}"),
        }
        let label = label(words[0].strip_suffix(':').expect("a colon"));
        assert_eq!(label, statements.len());
        statements.push(statement);
    }
    assert!(!statements.is_empty());
    statements
}

fn read_simgrid(text: &str, rank: Rank) -> Vec<Statement> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(format!("{rank} init").as_str()));
    assert_eq!(lines.next_back(), Some(format!("{rank} finalize").as_str()));
    let mut statements: Vec<Statement> = Vec::new();
    // The statements that the current one waits for, and those under way.
    let (mut after, mut under_way): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(number(words[0]), u64::from(rank));
        let mut statement = Statement {
            after: after.clone(),
            message: None,
            work: 0,
        };
        let index = statements.len();
        match words[1..] {
            ["waitall"] => {
                assert!(!under_way.is_empty(), "waits for nothing");
                after = std::mem::take(&mut under_way);
                continue;
            }
            ["compute", work] => {
                statement.work = number(work);
                if under_way.is_empty() {
                    after = vec![index]
                } else {
                    under_way.push(index)
                }
            }
            [what, peer, tag, bytes] => {
                let (peer, tag, bytes) = (number(peer) as Rank, number(tag), number(bytes));
                statement.message = Some(match what.trim_start_matches('i') {
                    "send" => (rank, peer, tag, bytes),
                    "recv" => (peer, rank, tag, bytes),
                    _ => panic!("{line}"),
                });
                if what.starts_with('i') {
                    under_way.push(index)
                } else {
                    after = vec![index]
                }
            }
            _ => panic!("{line}"),
        }
        statements.push(statement);
    }
    assert!(under_way.is_empty(), "not waited for");
    statements
}

fn totals(schedule: &Schedule) -> [Total; 2] {
    let ranks = 0..schedule.shape().ranks;
    let export = ScheduleExport::new(schedule, SCALE).unwrap();
    let goal = ranks.clone().map(|rank| {
        let text = export.goal_of_rank(rank);
        read_goal(&text, rank)
    });
    let simgrid = ranks.map(|rank| {
        let text = export.simgrid_of_rank(rank);
        read_simgrid(&text, rank)
    });
    [
        run(&goal.collect::<Vec<_>>()),
        run(&simgrid.collect::<Vec<_>>()),
    ]
}

/// A trace has the schedule's messages and dependencies, so it takes the same number of steps.
fn check(algorithm: &'static Algorithm, request: &Request<'_>) {
    let Some(schedule) = supported(algorithm, request) else {
        return;
    };
    let timeline = Timeline::new(&schedule, 1 << 20).unwrap();
    let units = timeline.messages.iter().map(|message| match message.span {
        Some(_) => message.units * SCALE.unit_bytes,
        None => 1,
    });
    let work = timeline.work.iter().map(|work| match work.action {
        Action::Combine { into, .. } => {
            let place = schedule.layout(work.rank).locate(&into);
            place.unwrap().units() * SCALE.unit_bytes * SCALE.combine_cost
        }
        _ => 0,
    });
    let expected = Total {
        steps: timeline.steps,
        messages: timeline.messages.len() as u64,
        work: work.sum(),
        bytes: units.sum(),
    };
    for total in totals(&schedule) {
        assert_eq!(total, expected, "{algorithm} {:?}", schedule.shape());
    }
}

#[test]
fn traces_agree_with_their_schedules() {
    for algorithm in ALGORITHMS {
        for ranks in [1, 2, 5, 8, 9] {
            for (units, root, distribution) in [
                (1, 0, Distribution::Uniform),
                (40, ranks - 1, Distribution::Uniform),
                (40, 0, Distribution::Sparse),
                (40, 0, Distribution::Skewed),
            ] {
                let collective = algorithm.collective;
                let has_counts = collective.has_part_counts() || collective.has_block_counts();
                if distribution != Distribution::Uniform && !has_counts {
                    continue;
                }
                let request = Request {
                    units,
                    root,
                    distribution,
                    parameters: in_blocks(algorithm, 3),
                    ..Request::among_ranks(ranks)
                };
                check(algorithm, &request);
            }
        }
    }
}

#[test]
fn messages_too_long_for_the_simulators_are_refused() {
    let algorithm = find_algorithm("gather/binomial").unwrap();
    let check = |units, expected: Option<u64>| {
        let request = Request {
            units,
            ..Request::among_ranks(4)
        };
        let schedule = schedule(algorithm, &request);
        let scale = Scale {
            unit_bytes: 1,
            combine_cost: 1,
        };
        let refused = ScheduleExport::new(&schedule, scale).err();
        assert_eq!(refused.map(|refused| refused.bytes), expected);
    };
    check(TooLong::LIMIT / 2, None);
    check(TooLong::LIMIT / 2 + 1, Some(TooLong::LIMIT + 1));
    check(TooLong::LIMIT + 1, Some(2 * (TooLong::LIMIT + 1)));
}
