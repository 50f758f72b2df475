//! What became of the year, as Markdown, and whether that is good.

use std::collections::BTreeMap;

use service::{FindingCause, ListedFinding};

use crate::world::{Change, EVENTS, Event};

/// The largest database, in bytes.
const MOST_BYTES: u64 = 200 << 20;
/// The nights after a change within which it is to be found, and a table of another library or machine released.
const SOON: u32 = 14;
/// One false finding is tolerated in as many looks: those of a year at 100 series, each night.
const LOOKS_OF_A_FALSE_FINDING: f64 = 100.0 * 365.0;

/// What the service or the person did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Released,
    HeldBack,
    RolledBack,
    Resumed,
    Decided,
}

/// An act at a machine.
pub(crate) struct Deed {
    pub(crate) night: u32,
    pub(crate) machine: String,
    pub(crate) act: Act,
    pub(crate) what: String,
}

/// A finding, by night.
pub(crate) struct Found {
    pub(crate) finding: ListedFinding,
    pub(crate) night: u32,
}

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) nights: u32,
    pub(crate) deeds: Vec<Deed>,
    pub(crate) findings: Vec<Found>,
    /// The tasks in each state.
    pub(crate) tasks: BTreeMap<String, u64>,
    pub(crate) series: usize,
    pub(crate) series_each_night: usize,
    pub(crate) problems: Vec<String>,
    pub(crate) database_bytes: u64,
}

impl Report {
    pub(crate) fn print(&self) {
        println!("What happened, and what the service did about it (the first night is 0):\n");
        println!("| night | machine | change | answer |\n| --: | --- | --- | --- |");
        for event in self.events() {
            let answer = self.answer_to(event).map_or_else(
                || format!("none within {SOON} nights"),
                |(night, what)| format!("{what}, {} nights later", night - event.night),
            );
            let Event {
                night,
                machine,
                change,
            } = event;
            println!("| {night} | {machine} | {} | {answer} |", change.describe());
        }
        println!("\nFindings:\n");
        println!(
            "| night | machine | cause | | changes | state |\n| --: | --- | --- | --- | --: | --- |"
        );
        for Found { finding, night } in &self.findings {
            let direction = if finding.slower { "slower" } else { "faster" };
            let ListedFinding {
                machine,
                cause,
                changes,
                state,
                ..
            } = finding;
            println!("| {night} | {machine} | {cause} | {direction} | {changes} | {state} |");
        }
        println!("\nReleases, and decisions about findings:\n");
        println!("| night | machine | |\n| --: | --- | --- |");
        for Deed {
            night,
            machine,
            what,
            ..
        } in &self.deeds
        {
            println!("| {night} | {machine} | {what} |");
        }
        let tasks: Vec<String> = self
            .tasks
            .iter()
            .map(|(state, count)| format!("{count} {state}"))
            .collect();
        println!(
            "\n{} nights; {} series, {} looked at each night; tasks: {}; findings without a change: {} (tolerated: {}); \
             database: {:.1} MiB.",
            self.nights,
            self.series,
            self.series_each_night,
            tasks.join(", "),
            self.false_findings(),
            self.tolerated_findings(),
            self.database_bytes as f64 / f64::from(1 << 20),
        );
        for problem in &self.problems {
            println!("Problem: {problem}");
        }
    }

    /// Whether every change was answered, false findings are as rare as promised, and the database is small.
    pub(crate) fn is_good(&self) -> bool {
        let has_time = |event: &&Event| event.night + SOON < self.nights;
        self.events()
            .filter(has_time)
            .all(|event| self.answer_to(event).is_some())
            && self.false_findings() <= self.tolerated_findings()
            && self.database_bytes <= MOST_BYTES
            && self.problems.is_empty()
    }

    fn events(&self) -> impl Iterator<Item = &'static Event> {
        EVENTS.iter().filter(|event| event.night < self.nights)
    }

    /// The night and the kind of the answer to an event.
    fn answer_to(&self, event: &Event) -> Option<(u32, &'static str)> {
        let is_soon = |night: u32| (event.night..=event.night + SOON).contains(&night);
        let acted = |act: Act| {
            let of_event = |deed: &&Deed| deed.machine == event.machine && is_soon(deed.night);
            let mut deeds = self.deeds.iter().filter(of_event);
            deeds.find(|deed| deed.act == act).map(|deed| deed.night)
        };
        match event.change {
            Change::Library(_) | Change::Nodes => {
                acted(Act::Released).map(|night| (night, "a new table is in production"))
            }
            Change::Firmware(_) => {
                acted(Act::RolledBack).map(|night| (night, "the table is rolled back"))
            }
            Change::Switch => {
                let found = self
                    .findings
                    .iter()
                    .find(|found| is_soon(found.night) && belongs_to(found, event));
                found.map(|found| (found.night, "found"))
            }
        }
    }

    /// The number of findings that no event explains.
    fn false_findings(&self) -> usize {
        let is_explained = |found: &Found| self.events().any(|event| belongs_to(found, event));
        self.findings
            .iter()
            .filter(|found| !is_explained(found))
            .count()
    }

    fn tolerated_findings(&self) -> usize {
        let looks = self.series_each_night as f64 * f64::from(self.nights);
        (looks / LOOKS_OF_A_FALSE_FINDING).ceil() as usize
    }
}

/// Whether an event is the reason of a finding. What a fingerprint shows is no finding.
fn belongs_to(found: &Found, event: &Event) -> bool {
    let cause = match event.change {
        Change::Switch => FindingCause::Machine,
        Change::Firmware(_) => FindingCause::Algorithm,
        Change::Library(_) | Change::Nodes => return false,
    };
    // Changes of series with more noise may be found some weeks later.
    let is_after = found.night >= event.night && found.night < event.night + 3 * SOON;
    let finding = &found.finding;
    finding.machine == event.machine && finding.cause == cause && finding.slower && is_after
}
