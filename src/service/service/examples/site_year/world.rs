//! What is true of the machines in a night, which the service is to find out.

use std::error::Error;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The machines.
pub(crate) const MACHINES: [&str; 5] = ["atlas", "boreas", "cirrus", "delos", "eos"];
/// The file in which children find the world.
pub(crate) const FILE: &str = "world.json";
/// The nights of which other work disturbs the measurements, as a share.
const BUSY: f64 = 0.03;

/// What happens at a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Another release of the MPI library, as the fingerprint shows.
    Library(&'static str),
    /// Other nodes and networks, as the fingerprint shows.
    Nodes,
    /// A switch that makes all collectives 15 % slower. No fingerprint shows it.
    Switch,
    /// A firmware with which one algorithm needs twice its time.
    Firmware(&'static str),
}

/// A change of a machine.
pub(crate) struct Event {
    pub(crate) night: u32,
    pub(crate) machine: &'static str,
    pub(crate) change: Change,
}

/// The events of the year.
pub(crate) const EVENTS: [Event; 6] = [
    Event {
        night: 60,
        machine: "atlas",
        change: Change::Library("4.1.8"),
    },
    Event {
        night: 100,
        machine: "boreas",
        change: Change::Nodes,
    },
    Event {
        night: 150,
        machine: "cirrus",
        change: Change::Library("4.1.2"),
    },
    Event {
        night: 200,
        machine: "delos",
        change: Change::Switch,
    },
    Event {
        night: 240,
        machine: "eos",
        change: Change::Library("5.0.6"),
    },
    Event {
        night: 300,
        machine: "atlas",
        change: Change::Firmware("allreduce/ring"),
    },
];

impl Change {
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Library(version) => format!("update of the MPI library to {version}"),
            Self::Nodes => "other nodes and networks".to_owned(),
            Self::Switch => "a switch makes every collective 15 % slower".to_owned(),
            Self::Firmware(algorithm) => {
                format!("with a firmware `{algorithm}` takes twice its time")
            }
        }
    }
}

/// A machine in a night.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MachineState {
    pub(crate) name: String,
    pub(crate) library: String,
    pub(crate) version: String,
    pub(crate) cpu: String,
    /// The factor of all times.
    pub(crate) factor: f64,
    /// The algorithm that needs twice its time; empty for none.
    pub(crate) slow_algorithm: String,
    /// Whether other work is running.
    pub(crate) is_busy: bool,
}

/// All machines in a night.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct World {
    pub(crate) night: u32,
    pub(crate) machines: Vec<MachineState>,
}

impl World {
    /// The world after all events up to a night.
    pub(crate) fn of_night(night: u32) -> Self {
        let machines = MACHINES.map(|name| {
            let mut machine = MachineState::at_first(name);
            let mut random = fastrand::Rng::with_seed(seed_of(&[name, "busy", &night.to_string()]));
            // The tables of the first night are measured in peace.
            machine.is_busy = night > 0 && random.f64() < BUSY;
            for event in EVENTS {
                if event.machine == name && event.night <= night {
                    machine.change(event.change);
                }
            }
            machine
        });
        Self {
            night,
            machines: machines.to_vec(),
        }
    }

    pub(crate) fn store(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        files::write(&folder.join(FILE), serde_json::to_string(self)?.as_bytes())?;
        Ok(())
    }
}

impl MachineState {
    fn at_first(name: &str) -> Self {
        let (library, version) = if name == "cirrus" {
            ("mpich", "4.0.2")
        } else {
            ("openmpi", "4.1.4")
        };
        Self {
            name: name.to_owned(),
            library: library.to_owned(),
            version: version.to_owned(),
            cpu: "first nodes".to_owned(),
            factor: 1.0,
            slow_algorithm: String::new(),
            is_busy: false,
        }
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Library(version) => version.clone_into(&mut self.version),
            Change::Nodes => {
                "other nodes".clone_into(&mut self.cpu);
                self.factor *= 0.7;
            }
            Change::Switch => self.factor *= 1.15,
            Change::Firmware(algorithm) => algorithm.clone_into(&mut self.slow_algorithm),
        }
    }
}

/// A seed that depends on words alone (FNV-1a).
pub(crate) fn seed_of(words: &[&str]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// The file of a machine's campaign.
pub(crate) fn campaign_text(machine: &str) -> String {
    format!(
        "name: {machine}\nlauncher: simulated\nshapes: [4x16]\ncollectives: [bcast, reduce, allreduce]\nsizes: 64..512K x2\n"
    )
}
