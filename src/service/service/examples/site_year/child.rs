//! The programs of tasks: `colltune tune`, `check` and `validate` with invented times.
//!
//! Every night, each time of a default has a logarithm with 3 % of noise, and so has each ratio of a choice's time to it.

use std::error::Error;
use std::f64::consts::TAU;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use campaign::Campaign;
use serde_json::{Value, json};
use table::{Table, rule_at};

use crate::world::{self, MachineState, World, seed_of};

/// The standard deviation of a night.
const NOISE: f64 = 0.03;
/// The exit code if other work disturbs the answer.
const BUSY_CODE: u8 = 3;
/// The change of a time that a validation judges as slower or faster.
const MATERIALITY: f64 = 0.05;
/// The sizes that are measured: 14 powers of two.
const FIRST_BYTES: u64 = 64;
const SIZES: u32 = 14;

/// The series that a check of a machine has points for.
pub(crate) const SERIES_OF_A_MACHINE: usize = CHOICES.len() * SIZES as usize;

/// The candidates of a collective, which tables choose in turn.
const CHOICES: [[&str; 2]; 3] = [
    ["bcast/binomial", "bcast/scatter_allgather"],
    ["reduce/binomial", "reduce/rabenseifner"],
    ["allreduce/recursive_doubling", "allreduce/ring"],
];

/// Runs one of the commands that the service runs.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let world: World = serde_json::from_str(&fs::read_to_string(world::FILE)?)?;
    let command = &*arguments[0];
    let campaign_file = if command == "tune" {
        PathBuf::from(&arguments[1])
    } else {
        PathBuf::from(option(arguments, "--campaign").ok_or("no --campaign")?)
    };
    let campaign = Campaign::load(&campaign_file)?;
    let machine = world
        .machines
        .iter()
        .find(|machine| machine.name == campaign.name);
    let machine = machine.ok_or("the world has no such machine")?;
    let outcome = if command == "tune" {
        tune(machine, &campaign)?
    } else {
        let deployment = option(arguments, "--deployment").unwrap_or("colltune");
        measure(
            &world,
            machine,
            command,
            Path::new(&arguments[1]),
            deployment,
        )?
    };
    println!("{}", json!({"event": "outcome", "outcome": outcome}));
    Ok(if machine.is_busy && command == "check" {
        ExitCode::from(BUSY_CODE)
    } else {
        ExitCode::SUCCESS
    })
}

fn option<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    let place = arguments.iter().position(|argument| argument == name)?;
    arguments.get(place + 1).map(String::as_str)
}

/// Writes a table that chooses other candidates than the one before it.
fn tune(machine: &MachineState, campaign: &Campaign) -> Result<Value, Box<dyn Error>> {
    let count_file = format!("{}.tables", machine.name);
    let before: usize = fs::read_to_string(&count_file).map_or(Ok(0), |text| text.parse())?;
    fs::write(&count_file, (before + 1).to_string())?;
    let collectives: String = CHOICES
        .iter()
        .map(|candidates| {
            let candidate = candidates[before % candidates.len()];
            let collective = candidate.split('/').next().unwrap_or_default();
            let operators = if collective == "bcast" {
                ""
            } else {
                "        operators: commutative\n"
            };
            format!(
                "  {collective}:\n    message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 4\n        \
                 ppn: 16\n{operators}        rules:\n          - {{from: 0, candidate: {candidate}, speedup: 1.4, \
                 confidence: high, confirmed: true}}\n"
            )
        })
        .collect();
    let MachineState {
        name,
        library,
        version,
        cpu,
        ..
    } = machine;
    let digest = campaign.digest();
    let text = format!(
        "format: colltune-table 3\nname: {name}\nprovenance:\n  campaign: {digest}\n  store: .colltune/{name}.db\n  \
         library: {{name: {library}, version: \"{version}\"}}\n  colltune: \"0.2.0\"\n  date: \"2027-01-01\"\n  \
         hosts: [{name}]\n  cpu: {cpu}\n  launches: {}\n  warnings: []\ncollectives:\n{collectives}",
        before + 6
    );
    Table::parse(&text, &campaign.output.table)?;
    files::write(&campaign.output.table, text.as_bytes())?;
    Ok(json!({"table": campaign.output.table, "done": 42, "total": 42}))
}

/// The outcome of a check or validation.
fn measure(
    world: &World,
    machine: &MachineState,
    command: &str,
    table: &Path,
    deployment: &str,
) -> Result<Value, Box<dyn Error>> {
    let table = Table::parse(&fs::read_to_string(table)?, table)?;
    // One noise for each hour, so that the year is the same whenever it is simulated.
    let hour = (jiff::Timestamp::now().as_second() / 3600).to_string();
    let mut random = fastrand::Rng::with_seed(seed_of(&[&machine.name, command, &hour]));
    let (mut points, mut slower, mut faster) = (Vec::new(), 0, 0);
    for (collective, entries) in &table.collectives {
        for entry in entries {
            for power in 0..SIZES {
                let bytes = FIRST_BYTES << power;
                let rule = rule_at(&entry.rules, bytes).ok_or("no rule")?;
                let chosen = rule.candidate.to_string();
                let ratio = machine.ratio(&chosen, bytes);
                let default = 1e-6 * (1.0 + bytes as f64 / 4096.0) * machine.factor;
                let default_seconds = default * (NOISE * normal(&mut random)).exp();
                let seconds = default_seconds * ratio * (NOISE * normal(&mut random)).exp();
                // A validation repeats its launches until it is sure.
                let is_slower = ratio > 1.0 + MATERIALITY;
                slower += usize::from(is_slower);
                faster += usize::from(ratio < 1.0 - MATERIALITY);
                points.push(json!({
                    "collective": collective.to_string(), "nodes": 4, "ppn": 16, "bytes": bytes, "operators": if collective.is_reduction() { "commutative" } else { "any" },
                    "place": "size", "chosen": chosen, "seconds": seconds, "default_seconds": default_seconds,
                    "regression": false, "decided": !machine.is_busy,
                }));
            }
        }
    }
    let warnings: &[&str] = if machine.is_busy && command == "check" {
        &["other work was running"]
    } else {
        &[]
    };
    let MachineState {
        library,
        version,
        cpu,
        ..
    } = machine;
    Ok(json!({
        "library": format!("{library}-{version}"), "deployment": deployment, "via": if command == "check" { "" } else { "force" },
        "machine": {"cpu": cpu, "kernel": "6.1", "library_text": format!("{library} {version}"), "transports": []},
        "night": world.night, "warnings": warnings, "holds": !machine.is_busy, "slower": slower, "faster": faster,
        "same": points.len() - slower - faster, "points": points,
    }))
}

impl MachineState {
    /// The true ratio of a candidate's time to the default's.
    fn ratio(&self, candidate: &str, bytes: u64) -> f64 {
        let Self {
            name, cpu, version, ..
        } = self;
        let words = [name, cpu, version, candidate, &bytes.to_string()];
        let ratio = 0.6 + 0.3 * fastrand::Rng::with_seed(seed_of(&words)).f64();
        if candidate == self.slow_algorithm {
            2.0 * ratio
        } else {
            ratio
        }
    }
}

/// A normally distributed number (Box and Muller 1958).
fn normal(random: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (TAU * random.f64()).cos()
}
