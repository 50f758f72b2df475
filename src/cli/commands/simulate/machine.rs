//! Where the machine comes from.

use std::fs;
use std::path::{Path, PathBuf};

use model::Machine;

use super::SimulateError;
use crate::commands::stored::LibraryArg;
use crate::error::CliError;

/// What is taken if no machine is named.
const REFERENCE: &str = include_str!("../../../../tuning/machines/reference.yaml");

/// What an SQLite file begins with.
const STORE: &[u8] = b"SQLite format 3\0";

/// The arguments that name a machine.
#[derive(Debug, clap::Args)]
pub(super) struct MachineArgs {
    /// A machine file, or a store of measurements [default: the reference machine]
    #[arg(long, short, value_name = "FILE|STORE")]
    machine: Option<PathBuf>,
    #[command(flatten)]
    library: LibraryArg,
}

impl MachineArgs {
    pub(super) fn load(&self) -> Result<Machine, CliError> {
        let reference = Path::new("tuning/machines/reference.yaml");
        let Some(path) = &self.machine else {
            return Ok(parse(reference, REFERENCE)?);
        };
        let read = |source| SimulateError::Read {
            path: path.clone(),
            source,
        };
        let content = fs::read(path).map_err(read)?;
        if content.starts_with(STORE) {
            let fitted = self.library.analyse(path)?.machine.machine;
            let path = path.clone();
            return Ok(fitted.ok_or(SimulateError::NoMachine { path })?);
        }
        Ok(parse(path, &String::from_utf8_lossy(&content))?)
    }
}

fn parse(path: &Path, text: &str) -> Result<Machine, SimulateError> {
    Machine::from_yaml(text).map_err(|error| SimulateError::File {
        path: path.to_owned(),
        error: Box::new(error),
    })
}
