//! Agreed starts on clocks that are wrong: a preloaded library makes them so.

use std::ffi::OsString;
use std::process::Command;

use campaign::LibraryName;
use campaign::launcher::Outcome;
use wire::{Candidate, LaunchStart, Measurement, Record, Synchronisation, Work};

use crate::launch::{Bench, allreduce, family};

/// A launch of small allreduces with clocks that are wrong in this way, by the variables of `skew.c`.
fn launch(ranks: u32, work: Vec<Work>, way: Synchronisation, skew: &[(&str, f64)]) -> Vec<Record> {
    let mut bench = Bench::new(work);
    bench.plan.synchronisation = way;
    bench.plan.repetition.minimum = 500;
    bench.plan.repetition.maximum = 500;
    bench.plan.repetition.slice_seconds = 1.0;
    let source = bench.path("skew.c");
    std::fs::write(&source, include_str!("skew.c")).expect("written");
    let library = bench.path("libskew.so");
    let mpicc = std::env::var_os("MPICC").unwrap_or_else(|| OsString::from("mpicc"));
    let status = Command::new(mpicc)
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status()
        .expect("the compiler runs");
    assert!(status.success());
    bench.environment = vec![("LD_PRELOAD".into(), library.into())];
    let variables = skew.iter();
    bench
        .environment
        .extend(variables.map(|(name, value)| (name.into(), value.to_string().into())));
    let (exit, records) = bench.run(ranks);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    records
}

fn start(records: &[Record]) -> &LaunchStart {
    match &records[0] {
        Record::Started(start) => start,
        other => panic!("{other:?} is first"),
    }
}

fn measurements(records: &[Record]) -> Vec<&Measurement> {
    let done = records.iter().filter_map(|record| match record {
        Record::Done(done) => Some(&done.measurements[0]),
        _ => None,
    });
    done.collect()
}

#[test]
fn try_mpi_window() {
    for way in [Synchronisation::Barrier, Synchronisation::Window] {
        for skew in [&[][..], &[("SKEW_OFFSET", 60.0), ("SKEW_DRIFT", 50e-6)]] {
            let work = vec![
                allreduce(2, 8, vec![Candidate::Default]),
                allreduce(2, 65536, vec![Candidate::Default]),
            ];
            let t = std::time::Instant::now();
            let records = launch(2, work, way, skew);
            println!("{way:?} {skew:?} {:?}", t.elapsed());
            println!("{:?}", start(&records).environment.clocks);
            for r in &records {
                if let Record::Done(d) = r {
                    println!("{}", d.elapsed_seconds);
                }
            }
            for m in measurements(&records) {
                println!(
                    "{} raw, {} invalid, median {:e} residual {:?} {:?}",
                    m.seconds.len(),
                    m.invalid.len(),
                    {
                        let mut s = m.seconds.clone();
                        s.sort_by(f64::total_cmp);
                        s[s.len() / 2]
                    },
                    m.residual_seconds,
                    &m.invalid[..m.invalid.len().min(20)]
                );
            }
        }
    }
}
