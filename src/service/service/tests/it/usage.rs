//! What tables did for jobs.

use answers::{TrafficTable, UsageReceipt};
use jiff::Timestamp;
use profile::Time;
use profile::usage::{
    CarriedOutBy, JobOutcome, JobUsage, TableOfJob, USAGE_VERSION, UsageCalls, UsageFormat,
};
use service::{Actor, Digest, Scope, ServiceError};

use crate::bed::{Bed, actor, choosing};

/// A job that started some days ago, with a table.
fn job(id: u64, days_ago: u64, sha256: Option<&str>) -> JobUsage {
    let now = Timestamp::now().as_second().unsigned_abs();
    let row = |by, calls, time| UsageCalls {
        collective: "allreduce".to_owned(),
        by,
        calls,
        time,
    };
    let seconds = Time::from_nanoseconds(3_000_000_000);
    JobUsage {
        format: UsageFormat::default(),
        version: USAGE_VERSION,
        id: format!("{id:016x}"),
        job: Some("4711".to_owned()),
        program: "secret-solver".to_owned(),
        library: Some("openmpi-4.1.4".to_owned()),
        started: now - days_ago * 86_400,
        time: Time::default(),
        ranks: Some(4),
        outcome: match sha256 {
            Some(_) => JobOutcome::Used,
            None => JobOutcome::Unreadable,
        },
        why: None,
        table: sha256.map(|digest| TableOfJob {
            name: "night".to_owned(),
            sha256: digest.to_owned(),
            replacements: 0,
        }),
        calls: match sha256 {
            Some(_) => vec![
                row(CarriedOutBy::Table, 60, Some(seconds)),
                row(CarriedOutBy::Default, 10, None),
                row(CarriedOutBy::Shape, 30, Some(seconds)),
            ],
            None => Vec::new(),
        },
    }
}

fn lines(jobs: &[JobUsage]) -> String {
    jobs.iter().map(JobUsage::to_line).collect()
}

fn sender() -> Actor {
    actor("nodes", &[Scope::Usage])
}

fn receipt(counted: u64, repeated: u64, too_old: u64) -> UsageReceipt {
    UsageReceipt {
        counted,
        repeated,
        too_old,
    }
}

#[test]
fn jobs_count_once_by_table_and_reason() {
    let bed = Bed::new();
    let known = bed.validated(&choosing("ring"));
    bed.release(&known).expect("released");
    let service = bed.service();
    let send = |jobs: &[JobUsage]| service.add_usage(&sender(), "local", &lines(jobs));
    let first = [
        job(1, 0, Some(known.as_str())),
        job(2, 3, Some(known.as_str())),
        job(3, 1, None),
        job(4, 1, Some(&"5".repeat(64))),
        job(5, 1, Some(&"6".repeat(64))),
        job(6, 200, Some(known.as_str())),
    ];
    assert_eq!(send(&first).expect("counted"), receipt(5, 0, 1));
    // A sender that did not get the answer sends the lines again, with more.
    let again = [first[1].clone(), job(7, 0, Some(known.as_str()))];
    assert_eq!(send(&again).expect("counted"), receipt(1, 1, 0));
    let traffic = service.read_usage("local", None).expect("read");
    assert_eq!((traffic.days, traffic.kept_days), (30, 90));
    let [released, other, none] = &traffic.tables[..] else {
        panic!("{traffic:?}");
    };
    assert_eq!(released.table, TrafficTable::Known);
    assert_eq!(released.usage.sha256.as_deref(), Some(known.as_str()));
    assert_eq!(released.channels.len(), 1);
    assert_eq!(released.usage.jobs, 3);
    let coverage = &released.usage.coverage;
    assert_eq!(coverage.calls, 300);
    let shares = [
        (coverage.served_share, 0.6),
        (coverage.left_by_table_share, 0.1),
        (coverage.not_covered_share, 0.3),
        (coverage.timed_share, 0.9),
        (coverage.seconds, 18.0),
    ];
    for (found, expected) in shares {
        assert!((found - expected).abs() < 1e-9, "{coverage:?}");
    }
    // Any number of tables that are not here is one.
    assert_eq!((other.table, other.usage.jobs), (TrafficTable::Other, 2));
    assert_eq!((none.table, none.usage.jobs), (TrafficTable::None, 1));
    assert_eq!(none.usage.outcomes.get(&JobOutcome::Unreadable), Some(&1));
    // Days before are left out.
    let today = service.read_usage("local", Some(1)).expect("read");
    assert_eq!(today.tables[0].usage.jobs, 2, "{today:?}");
    assert!(service.read_usage("local", Some(0)).is_err());
    // The database does not have the names of programs.
    let database = bed.database();
    let count = |query: &str| database.query_row(query, [], |row| row.get::<_, i64>(0));
    assert_eq!(count("SELECT count(*) FROM usage_calls"), Ok(9));
    let file = std::fs::read(bed.state().join("service.db")).expect("a file");
    let log = std::fs::read(bed.state().join("service.db-wal")).unwrap_or_default();
    for content in [file, log] {
        let word = b"secret-solver";
        assert!(!content.windows(word.len()).any(|found| found == word));
    }
}

#[test]
fn a_wrong_line_counts_nothing_and_other_scopes_may_not_send() {
    let bed = Bed::new();
    let service = bed.service();
    let good = lines(&[job(1, 0, None)]);
    let torn = format!("{good}\n{}", &good[..40]);
    let error = service.add_usage(&sender(), "local", &torn);
    let error = error.expect_err("torn").to_string();
    assert!(
        error.starts_with("body: line 3: column 40: the line ends in the middle"),
        "{error}"
    );
    let traffic = service.read_usage("local", None).expect("read");
    assert!(traffic.tables.is_empty(), "{traffic:?}");
    let others = actor("other", &[Scope::Read, Scope::Submit, Scope::Publish]);
    let refused = service.add_usage(&others, "local", &good);
    assert!(
        matches!(&refused, Err(ServiceError::Forbidden { .. })),
        "{refused:?}"
    );
    let unknown = service.add_usage(&sender(), "none", &good);
    assert!(
        matches!(&unknown, Err(ServiceError::NotFound { .. })),
        "{unknown:?}"
    );
    // The sums stay numbers whatever is sent.
    let digest = Digest::of_bytes(b"of no table");
    for id in 10..13 {
        let mut large = job(id, 0, Some(digest.as_str()));
        large.calls[0].calls = u64::MAX;
        let counted = service.add_usage(&sender(), "local", &lines(&[large]));
        assert_eq!(counted.expect("counted"), receipt(1, 0, 0));
    }
    let full = service.read_usage("local", None).expect("read");
    assert_eq!(full.tables[0].usage.coverage.calls, (1 << 51) + 120);
}

#[test]
fn days_are_kept_as_configured() {
    let bed = Bed::with(|configuration| configuration.usage_days = 10);
    let service = bed.service();
    let text = lines(&[job(1, 9, None), job(2, 10, None), job(3, 2, None)]);
    let counted = service.add_usage(&sender(), "local", &text);
    assert_eq!(counted.expect("counted"), receipt(2, 0, 1));
    let jobs = |of: &Bed| {
        let traffic = of.service().read_usage("local", Some(60)).expect("read");
        assert_eq!(traffic.days, traffic.kept_days);
        traffic.tables.first().map_or(0, |table| table.usage.jobs)
    };
    assert_eq!(jobs(&bed), 2);
    // A start removes what a shorter time does not keep.
    let shorter = bed.restarted_with(|configuration| configuration.usage_days = 5);
    assert_eq!(jobs(&shorter), 1);
    let database = shorter.database();
    let count = "SELECT count(*) FROM usage_seen";
    assert_eq!(database.query_row(count, [], |row| row.get(0)), Ok(1));
}
