//! Lines about jobs that were given a table, and their sums.

use profile::Time;
use profile::usage::{
    COLLECTIVES, CarriedOutBy, JobOutcome, JobUsage, MOST_LINE_BYTES, TableOfJob, USAGE_VERSION,
    UsageCalls, UsageFormat, UsageSum, collective_name, collective_number,
};
use schedule::Collective;

/// A job with calls of some collectives, of which the times are known if they are given.
fn job(id: u64, table: char, calls: &[(&str, CarriedOutBy, u64, Option<u64>)]) -> JobUsage {
    let rows = calls
        .iter()
        .map(|(collective, by, calls, seconds)| UsageCalls {
            collective: (*collective).to_owned(),
            by: *by,
            calls: *calls,
            time: seconds.map(|seconds| Time::from_nanoseconds(seconds * 1_000_000_000)),
        });
    JobUsage {
        format: UsageFormat::default(),
        version: USAGE_VERSION,
        id: format!("{id:016x}"),
        job: Some("4711".to_owned()),
        program: "solver".to_owned(),
        library: Some("openmpi-4.1.4".to_owned()),
        started: 1_795_000_000 + id,
        time: Time::from_nanoseconds(12_500_000_000),
        ranks: Some(4),
        outcome: JobOutcome::Used,
        why: None,
        table: Some(TableOfJob {
            name: format!("table-{table}"),
            sha256: table.to_string().repeat(64),
            replacements: 0,
        }),
        calls: rows.collect(),
    }
}

fn read(line: &str) -> Result<JobUsage, String> {
    JobUsage::from_line(line.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn every_collective_of_tables_has_a_number() {
    for collective in Collective::ALL {
        let number = collective_number(collective.name());
        assert!(number.is_some(), "{collective}");
    }
}

#[test]
fn a_line_is_read_as_it_was_written() {
    let whole = job(
        1,
        'a',
        &[
            ("allreduce", CarriedOutBy::Table, 14, Some(2)),
            ("ibcast", CarriedOutBy::Nonblocking, 3, None),
        ],
    );
    let line = whole.to_line();
    let text = line.strip_suffix('\n').expect("an end");
    assert!(!text.contains('\n'), "{text}");
    assert_eq!(read(text).expect(text), whole);
    // Every name is read again.
    for by in CarriedOutBy::ALL {
        assert_eq!(CarriedOutBy::from_name(by.name()), Some(by));
    }
    for outcome in JobOutcome::ALL {
        assert_eq!(JobOutcome::from_name(outcome.name()), Some(outcome));
    }
    // Long texts from outside are shortened, so that what is written can be read.
    let long = JobUsage {
        program: "ü".repeat(1000),
        job: Some("j".repeat(1000)),
        why: Some("\u{1b}w".repeat(1000)),
        ..whole
    };
    let shortened = read(long.to_line().trim_end()).expect("a line");
    assert_eq!(shortened.program.chars().count(), 256);
    assert_eq!(shortened.why.map(|why| why.chars().count()), Some(1000));
}

#[test]
fn the_longest_line_of_a_real_job_fits() {
    // Each collective is left to the library for one reason and served in two ways; three times the forms.
    let names: Vec<String> = (0..COLLECTIVES).filter_map(collective_name).collect();
    let ways = [
        CarriedOutBy::NoCommunicator,
        CarriedOutBy::Intercommunicator,
        CarriedOutBy::Table,
        CarriedOutBy::Nearest,
    ];
    let mut calls = Vec::new();
    for name in &names {
        for by in ways {
            calls.push((name.as_str(), by, u64::MAX, Some(9_999_999_999)));
        }
    }
    let line = job(1, 'a', &calls).to_line();
    assert!(line.len() <= MOST_LINE_BYTES, "{}", line.len());
}

#[test]
fn an_error_names_the_column_or_the_field() {
    let line = job(1, 'a', &[("bcast", CarriedOutBy::Table, 3, None)]).to_line();
    let line = line.trim_end();
    assert!(read(line).is_ok());
    let half = &line[..line.len() / 2];
    let columns = format!("column {}: the line ends in the middle", half.len());
    let cases = [
        (half.to_owned(), columns.as_str()),
        (String::new(), "column 0: the line ends in the middle"),
        (format!("{line}{line}"), "column "),
        ("{\"version\": 7}".to_owned(), "version 7 of the format"),
        ("{\"version\": 1}".to_owned(), "column 14: missing field"),
        (
            line.replace("colltune-usage", "mine"),
            "column 16: unknown variant",
        ),
        (line.replace("\"version\":1", "\"version\":0"), "version: "),
        (line.replace("\"bcast\"", "\"send\""), "calls.collective: "),
        (
            line.replace("\"table\",\"calls\":3", "\"luck\",\"calls\":3"),
            "column ",
        ),
        (line.replace("\"calls\":3", "\"calls\":-3"), "column "),
        (
            line.replace("\"0000000000000001\"", "\"1\""),
            "id: 16 lower-case",
        ),
        (line.replace("aaaa", "AAAA"), "table.sha256: 64 lower-case"),
        (
            line.replace("\"calls\":[", "\"more\":1,\"calls\":["),
            "column ",
        ),
        (" ".repeat(MOST_LINE_BYTES), "longer than 65536 bytes"),
    ];
    for (text, expected) in cases {
        let error = read(&text).expect_err(&text);
        assert!(error.starts_with(expected), "{error}: {text}");
    }
    let row = "{\"collective\":\"bcast\",\"by\":\"table\",\"calls\":3}";
    let twice = read(&line.replace(row, &format!("{row},{row}"))).expect_err("twice");
    assert_eq!(twice, "calls: the same collective and the same `by` twice");
    let start = line.find("{\"name\"").expect("a table");
    let end = start + line[start..].find('}').expect("its end") + 1;
    let without = line.replace(&line[start..end], "null");
    let error = read(&without).expect_err("no table");
    assert_eq!(error, "table: a table that was used is missing");
}

#[test]
fn shares_of_many_jobs_do_not_depend_on_the_order() {
    use CarriedOutBy::{Default, Nonblocking, Shape, Table};
    let jobs = [
        job(
            1,
            'a',
            &[
                ("allreduce", Table, 60, Some(6)),
                ("allreduce", Shape, 20, Some(1)),
            ],
        ),
        job(
            2,
            'a',
            &[
                ("allreduce", Default, 10, None),
                ("ibcast", Nonblocking, 10, None),
            ],
        ),
        job(3, 'b', &[("bcast", Table, 5, None)]),
        JobUsage {
            outcome: JobOutcome::Unreadable,
            table: None,
            calls: Vec::new(),
            ..job(4, 'c', &[])
        },
    ];
    let mut sum = UsageSum::default();
    jobs.iter()
        .chain([&jobs[1]])
        .for_each(|job| sum.add_job(job));
    let mut other = UsageSum::default();
    [&jobs[1]]
        .into_iter()
        .chain(jobs.iter().rev())
        .for_each(|job| other.add_job(job));
    assert_eq!(sum, other);
    let overview = sum.overview();
    assert_eq!((overview.jobs, overview.repeated_lines), (4, 1));
    assert_eq!(overview.coverage.calls, 105);
    let [first, second, unread] = &overview.tables[..] else {
        panic!("{overview:?}");
    };
    assert_eq!(first.sha256.as_deref(), Some(&*"a".repeat(64)));
    assert_eq!(first.names, ["table-a"]);
    assert_eq!(
        (first.first_started, first.last_started),
        (Some(1_795_000_001), Some(1_795_000_002))
    );
    let coverage = &first.coverage;
    assert_eq!(coverage.calls, 100);
    let shares = [
        (coverage.served_share, 0.6),
        (coverage.left_by_table_share, 0.1),
        (coverage.not_covered_share, 0.3),
        (coverage.timed_share, 0.8),
        (coverage.seconds, 7.0),
        (coverage.served_seconds_share.expect("times"), 6.0 / 7.0),
        (
            coverage.not_covered_seconds_share.expect("times"),
            1.0 / 7.0,
        ),
    ];
    for (found, expected) in shares {
        assert!((found - expected).abs() < 1e-12, "{coverage:?}");
    }
    let collectives: Vec<_> = first
        .collectives
        .iter()
        .map(|of| (of.collective.as_str(), of.coverage.calls, of.by.len()))
        .collect();
    assert_eq!(collectives, [("allreduce", 90, 3), ("ibcast", 10, 1)]);
    assert_eq!(first.by[0].by, Table);
    assert_eq!(second.coverage.served_seconds_share, None);
    assert_eq!((second.coverage.served_share, second.jobs), (1.0, 1));
    assert_eq!(unread.sha256, None);
    assert_eq!(unread.outcomes.get(&JobOutcome::Unreadable), Some(&1));
}
