//! Where the machine comes from.

use std::fs;
use std::path::PathBuf;

use model::Machine;
use tuner::{MachineError, Named, TunerError, keep_apart, load_machine, parse_machine};

use super::SimulateError;
use crate::commands::stored::LibraryArg;
use crate::error::CliError;

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
    /// Refuses outputs that would replace the machine.
    pub(super) fn keep(&self, outputs: &[Named<'_>]) -> Result<(), CliError> {
        let machine = [("`--machine`", self.machine.as_deref())];
        Ok(keep_apart(outputs, &machine)?)
    }

    pub(super) fn load(&self) -> Result<Machine, CliError> {
        let Some(path) = &self.machine else {
            return Ok(load_machine(None).map_err(TunerError::from)?);
        };
        let read = |source| MachineError::Read {
            path: path.clone(),
            source,
        };
        let content = fs::read(path).map_err(read).map_err(TunerError::from)?;
        if content.starts_with(STORE) {
            let fitted = self.library.analyse(path)?.found.machine.machine;
            let path = path.clone();
            return Ok(fitted.ok_or(SimulateError::NoMachine { path })?);
        }
        let text = String::from_utf8_lossy(&content);
        Ok(parse_machine(path, &text).map_err(TunerError::from)?)
    }
}
