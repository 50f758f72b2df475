pub(super) mod call;
mod export;
pub(super) mod list;
pub(super) mod show;
pub(super) mod verify;

use schedule::{ALGORITHMS, Algorithm};

pub(crate) use call::{LengthOption, unsupported_help};

use super::simulate::SimulateError;
use super::{Answer, CliError, Console};
use crate::args::verbs;

/// List, show, verify and export the algorithms
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune schedule list --collective allreduce
  colltune schedule show allreduce/dual_root --ranks 6 --blocks 3
  colltune schedule verify --all --ranks 1..64
  colltune schedule export bcast/binomial --ranks 16 --bytes 64K --format goal")]
pub(crate) struct ScheduleArgs {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Console:
    List(list::ScheduleListArgs),
    Show(show::ScheduleShowArgs),
    Verify(verify::ScheduleVerifyArgs),
    Export(export::ScheduleExportArgs),
}

impl ScheduleArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        self.verb.run(console)
    }
}

/// The number of units (elements in reductions, bytes elsewhere) of a call.
pub(super) fn whole_units(bytes: u64, unit_bytes: u64) -> Result<u64, SimulateError> {
    if bytes.is_multiple_of(unit_bytes) {
        Ok(bytes / unit_bytes)
    } else {
        Err(SimulateError::PartOfElement {
            bytes,
            element_bytes: unit_bytes,
        })
    }
}

/// The algorithm with a full name, or with a bare id that only one collective has.
pub(super) fn find_algorithm(name: &str) -> Result<&'static Algorithm, CliError> {
    if let Some(algorithm) = schedule::find_algorithm(name) {
        return Ok(algorithm);
    }
    let bare: Vec<&Algorithm> = ALGORITHMS.iter().filter(|a| a.id == name).collect();
    match bare[..] {
        [only] => Ok(only),
        [] => {
            let names: Vec<String> = ALGORITHMS.iter().map(Algorithm::name).collect();
            let similar = strict_yaml::nearest_name(name, names.iter().map(String::as_str));
            Err(CliError::UnknownAlgorithm {
                name: name.to_owned(),
                similar: similar.map(str::to_owned),
            })
        }
        _ => Err(CliError::AmbiguousAlgorithm {
            id: name.to_owned(),
            names: bare.into_iter().map(Algorithm::name).collect(),
        }),
    }
}
