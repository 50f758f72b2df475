//! Damages every kind of file that colltune reads, and runs every verb that reads it; see `scripts/torture`.

mod fixture;
mod mutation;
mod snapshot;
mod trial;
mod verbs;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Parser;
use fixture::Fixture;
use trial::{Finding, Trial};

/// Damages files by a seed, runs the verbs that read them, and keeps the findings
#[derive(Debug, Parser)]
struct Args {
    /// The number of cases
    #[arg(default_value_t = 2500)]
    cases: u64,
    /// The same seed gives the same cases; by default a new one
    #[arg(long)]
    seed: Option<u64>,
    /// Run this case alone, and keep its folder
    #[arg(long)]
    case: Option<u64>,
    /// The folder for the folders of findings
    #[arg(long, default_value = "target/torture")]
    keep: PathBuf,
}

/// The most findings of one kind that are shown and kept.
const SHOWN: usize = 3;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args = Args::parse();
    let seed = args.seed.unwrap_or_else(new_seed);
    let fixture = Fixture::new()?;
    let trial = Trial::new(&fixture, seed, &args.keep);
    if let Some(case) = args.case {
        let findings = trial.run(case, true)?;
        show(&findings);
        return Ok(code(findings.is_empty()));
    }
    let next = AtomicU64::new(0);
    let kinds: Mutex<BTreeMap<String, usize>> = Mutex::default();
    let work = || -> Result<(), Box<dyn Error + Send + Sync>> {
        loop {
            let case = next.fetch_add(1, Ordering::Relaxed);
            if case >= args.cases {
                return Ok(());
            }
            let failed = |error| format!("case {case} of seed {seed} cannot be run: {error}");
            let mut findings = trial.run(case, false).map_err(failed)?;
            let mut kinds = kinds.lock().map_err(|error| error.to_string())?;
            findings.retain(|finding| {
                let known = kinds.entry(finding.kind()).or_default();
                *known += 1;
                *known <= SHOWN
            });
            if !findings.is_empty() {
                trial.run(case, true)?;
                show(&findings);
            }
        }
    };
    let workers = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(4);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| match worker.join() {
                Ok(ended) => ended.map_err(|error| error.to_string()),
                Err(_) => Err("a worker has panicked".to_owned()),
            })
    })?;
    let kinds = kinds.into_inner()?;
    println!(
        "seed {seed}: {} cases, {} findings",
        args.cases,
        kinds.values().sum::<usize>()
    );
    for (kind, count) in &kinds {
        println!("{count:6}  {kind}");
    }
    Ok(code(kinds.is_empty()))
}

fn code(is_good: bool) -> ExitCode {
    ExitCode::from(u8::from(!is_good))
}

fn show(findings: &[Finding]) {
    for finding in findings {
        println!("{finding}\n");
    }
}

fn new_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(1, |now| now.as_secs())
}
