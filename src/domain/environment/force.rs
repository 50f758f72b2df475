//! The differences between systems despite which a table is used.

use std::ffi::OsStr;
use std::fmt;

/// The variable that names them.
pub const VARIABLE: &str = "COLLTUNE_FORCE";

/// A description of its valid values.
pub const EXPECTED: &str = "1 for all differences between systems, 0 for none, or some of library, version, cpu, \
                            networks, accelerators, nonblocking, progress, separated by commas";

/// The differences despite which a table is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Force {
    /// It was made for another library. This includes the version.
    pub library: bool,
    /// It was made for another version of the library.
    pub version: bool,
    /// It was made for another type of CPU.
    pub cpu: bool,
    /// It was made on other networks.
    pub networks: bool,
    /// A rank has loaded a driver of accelerators; then no buffer of a collective may be in device memory.
    pub accelerators: bool,
    /// It was made for blocking collectives: nonblocking ones of the same kind use its rules, too. Not among all
    /// differences between systems, since it is none.
    pub nonblocking: bool,
    /// Nonblocking collectives are served although the library lets us make progress only in calls that test requests or
    /// wait for them; then the program must not block in any other call while such a collective is under way. Likewise.
    pub progress: bool,
}

impl Force {
    /// None of them.
    pub const NONE: Self = Self {
        library: false,
        version: false,
        cpu: false,
        networks: false,
        accelerators: false,
        nonblocking: false,
        progress: false,
    };

    /// All differences between systems.
    pub const ALL: Self = Self {
        library: true,
        version: true,
        cpu: true,
        networks: true,
        accelerators: true,
        ..Self::NONE
    };

    /// The differences that a value of the variable names; `None` if it is not valid. Words that say yes name all.
    pub fn from_value(value: Option<&OsStr>) -> Option<Self> {
        match value {
            None => Some(Self::NONE),
            Some(value) => value.to_str()?.parse().ok(),
        }
    }

    /// The differences, one bit for each.
    pub fn difference_bits(self) -> u64 {
        let Self {
            library,
            version,
            cpu,
            networks,
            accelerators,
            nonblocking,
            progress,
        } = self;
        let systems = [library, version, cpu, networks, accelerators];
        let flags = systems.into_iter().chain([nonblocking, progress]);
        flags.fold(0, |bits, flag| bits << 1 | u64::from(flag))
    }
}

impl std::str::FromStr for Force {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut force = Self::NONE;
        for name in text.split(',').map(str::trim) {
            match name {
                "" | "0" | "no" | "false" | "none" => {}
                "1" | "yes" | "true" | "all" => {
                    force = Self {
                        nonblocking: force.nonblocking,
                        progress: force.progress,
                        ..Self::ALL
                    }
                }
                "library" => {
                    force.library = true;
                    force.version = true;
                }
                "version" => force.version = true,
                "cpu" => force.cpu = true,
                "networks" => force.networks = true,
                "accelerators" => force.accelerators = true,
                "nonblocking" => force.nonblocking = true,
                "progress" => force.progress = true,
                _ => return Err(format!("`{name}` is none of these: {EXPECTED}")),
            }
        }
        Ok(force)
    }
}

impl fmt::Display for Force {
    /// As a value of the variable.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return to.write_str("1");
        }
        let named = [
            ("library", self.library),
            ("version", self.version && !self.library),
            ("cpu", self.cpu),
            ("networks", self.networks),
            ("accelerators", self.accelerators),
            ("nonblocking", self.nonblocking),
            ("progress", self.progress),
        ];
        let names: Vec<&str> = named
            .iter()
            .filter(|(_, is_named)| *is_named)
            .map(|(name, _)| *name)
            .collect();
        if names.is_empty() {
            return to.write_str("0");
        }
        to.write_str(&names.join(","))
    }
}
