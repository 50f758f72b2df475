//! A year of a site in simulation: five machines whose tables are checked every night, three updates of MPI libraries,
//! two changes of hardware and one of an algorithm's speed. Prints what the service found and when, what was released and
//! rolled back, and the size of the database, as Markdown.
//!
//! usage: scripts/site-year [NIGHTS]
//!
//! The service is the real one: schedules, queue, trends, findings, gates, releases. Simulated are the clock (libfaketime,
//! which the script loads), the programs that tasks run (this program itself, see `child`), and the person who decides
//! about tables and findings (`operator`).
//!
//! Exits with 1 if a change was not answered within two weeks, if more findings have no change as their reason than
//! trends promise, or if the database has more than 200 MiB.

mod child;
mod operator;
mod report;
mod world;

use std::error::Error;
use std::fs;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::ToSpan;
use jiff::civil::{DateTime, date};
use service::{Configuration, Service, ServiceMachine};

use crate::operator::Operator;
use crate::report::Report;
use crate::world::{MACHINES, World};

/// The first night.
const BEGIN: DateTime = date(2027, 1, 1).at(2, 0, 0, 0);
/// The hours of a night at which schedules are looked at.
const HOURS: i64 = 5;
/// The factor by which the queue's waiting times are shortened.
const HASTE: u32 = 1000;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // The service runs this program for its tasks.
    if ["check", "validate", "tune"].contains(&arguments.first().map_or("", String::as_str)) {
        return child::run(&arguments);
    }
    let nights = arguments.first().map_or(Ok(365), |text| text.parse())?;
    let report = simulate(nights)?;
    report.print();
    Ok(if report.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn simulate(nights: u32) -> Result<Report, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let root = fs::canonicalize(folder.path())?;
    for machine in MACHINES {
        files::write(
            &root.join(format!("tuning/{machine}.yaml")),
            world::campaign_text(machine).as_bytes(),
        )?;
    }
    let mut configuration = Configuration::for_folder(&root)?;
    configuration.state = root.join("service");
    configuration.machines = MACHINES.map(machine_entry).to_vec();

    set_clock(0, 0)?;
    let service = Service::open(configuration, std::env::current_exe()?)?;
    service.divide_waiting_times(HASTE);
    let stop = AtomicBool::new(false);
    let report = std::thread::scope(|scope| {
        scope.spawn(|| service.run_tasks(&stop));
        let report = run_nights(&service, nights);
        stop.store(true, Ordering::Relaxed);
        report
    });
    let mut report = report.map_err(|error| -> Box<dyn Error> { error.into() })?;
    report.database_bytes = fs::metadata(root.join("service/service.db"))?.len();
    Ok(report)
}

/// Errors are texts, as they leave a scope of threads.
fn run_nights(service: &Arc<Service>, nights: u32) -> Result<Report, String> {
    let mut operator = Operator::new(service);
    let mut run = |night: u32| -> Result<(), Box<dyn Error>> {
        World::of_night(night).store(&service.configuration().folder)?;
        for hour in 0..HOURS {
            set_clock(night, hour)?;
            operator.attend(night)?;
        }
        Ok(())
    };
    for night in 0..nights {
        run(night).map_err(|error| format!("night {night}: {error}"))?;
    }
    operator.report(nights).map_err(|error| error.to_string())
}

fn machine_entry(name: &str) -> ServiceMachine {
    ServiceMachine {
        name: name.to_owned(),
        campaigns: vec![format!("tuning/{name}.yaml")],
        tasks: 1,
        node_hours: None,
        has_agent: false,
    }
}

/// Sets the clock of this process and its children.
fn set_clock(night: u32, hour: i64) -> Result<(), Box<dyn Error>> {
    let now = BEGIN.checked_add(i64::from(night).days().hours(hour))?;
    let file = std::env::var_os("FAKETIME_TIMESTAMP_FILE").ok_or("run scripts/site-year")?;
    fs::write(file, format!("@{}", now.strftime("%Y-%m-%d %H:%M:%S")))?;
    let seen = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    if seen.date() != now.date() {
        return Err(
            format!("the clock says {seen} instead of {now}: is libfaketime loaded?").into(),
        );
    }
    Ok(())
}
