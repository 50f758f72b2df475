//! The machine to simulate.

use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use model::{Level, Machine, SimulationError};
use tuner::{NamedFile, TunerError, check_outputs_differ, load_machine};
use vocabulary::Through;

use super::SimulateError;
use crate::commands::campaign::store_file;
use crate::commands::stored::{LibraryArg, analyse_store};
use crate::error::CliError;
use crate::values;

/// The first bytes of an SQLite file.
const STORE: &[u8] = b"SQLite format 3\0";

/// The arguments that name a machine.
#[derive(Debug, clap::Args)]
pub(super) struct MachineArgs {
    /// A machine file, or a store of measurements [default: the reference machine]
    #[arg(long, short, value_name = "FILE|STORE")]
    machine: Option<PathBuf>,
    /// The transport of messages between ranks of one node: the MPI library, or shared memory, if the machine has
    /// parameters for it
    #[arg(long, value_name = "TRANSPORT", value_parser = values::transport_parser(), default_value = "mpi")]
    through: Through,
    #[command(flatten)]
    library: LibraryArg,
}

impl MachineArgs {
    /// Refuses outputs that would replace the machine.
    pub(super) fn protect_from(&self, outputs: &[NamedFile<'_>]) -> Result<(), CliError> {
        let machine = self.machine.as_deref().map(store_file);
        Ok(check_outputs_differ(
            outputs,
            &[("`--machine`", machine.as_deref())],
        )?)
    }

    pub(super) fn load(&self) -> Result<Machine, CliError> {
        let machine = self.read_machine()?;
        match self.through {
            Through::Mpi => Ok(machine),
            Through::Shared => {
                let level = Level::Shared;
                let unknown = || SimulationError::NoLink {
                    machine: machine.name.clone(),
                    level,
                };
                let through_shared = machine.through_shared().ok_or_else(unknown);
                Ok(through_shared.map_err(SimulateError::Simulation)?)
            }
        }
    }

    fn read_machine(&self) -> Result<Machine, CliError> {
        let Some(path) = &self.machine else {
            return Ok(load_machine(None).map_err(TunerError::from)?);
        };
        // A file that cannot be read counts as a machine file, and the error says so.
        if let Some(found) = text_unless_store(path).transpose() {
            return Ok(Machine::from_read_text(found, path).map_err(TunerError::from)?);
        }
        let fitted = analyse_store(path, self.library.given_library())?
            .found
            .machine
            .machine;
        let path = path.clone();
        Ok(fitted.ok_or(SimulateError::NoMachine { path })?)
    }
}

/// The text of a machine file; `None` if the file is a store.
fn text_unless_store(path: &Path) -> io::Result<Option<String>> {
    let mut file = files::open_regular(path)?;
    let mut start = Vec::new();
    (&file).take(STORE.len() as u64).read_to_end(&mut start)?;
    if start == STORE {
        return Ok(None);
    }
    file.rewind()?;
    files::text_of(&file).map(Some)
}
