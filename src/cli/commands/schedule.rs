mod call;
mod export;
mod list;
mod show;
mod verify;

use schedule::{ALGORITHMS, Algorithm, Collective};

use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;

/// Look at the algorithms: the catalogue, one algorithm's rounds, proofs, traces
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(list::Args),
    Show(show::Args),
    Verify(verify::Args),
    Export(export::Args),
}

const EXAMPLES: &str = "\
Examples:
  colltune schedule list --collective allreduce
  colltune schedule show allreduce/dual_root --ranks 6 --blocks 3
  colltune schedule verify --all --ranks 1..64
  colltune schedule export bcast/binomial --ranks 16 --bytes 64K --format goal";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        match &self.verb {
            Verb::List(args) => args.run(console),
            Verb::Show(args) => args.run(console),
            Verb::Verify(args) => args.run(console),
            Verb::Export(args) => args.run(console),
        }
    }
}

/// The algorithm of a full name, or of a bare id that only one collective has.
pub(super) fn named(name: &str) -> Result<&'static Algorithm, CliError> {
    if let Some(algorithm) = schedule::find(name) {
        return Ok(algorithm);
    }
    let of = name.split_once('/').map_or(name, |(of, _)| of);
    if let Ok(collective) = of.parse::<Collective>()
        && !collective.has_algorithms()
    {
        return Err(CliError::NoSchedules { collective });
    }
    let bare: Vec<&Algorithm> = ALGORITHMS.iter().filter(|a| a.id == name).collect();
    match bare[..] {
        [only] => Ok(only),
        [] => {
            let names = ALGORITHMS.iter().map(Algorithm::name);
            let similarity = |known: &String| {
                let id = known.split_once('/').map_or(known.as_str(), |(_, id)| id);
                strsim::jaro_winkler(name, known).max(strsim::jaro_winkler(name, id))
            };
            let likeliest = names
                .map(|known| (similarity(&known), known))
                .filter(|(similarity, _)| *similarity > 0.8)
                .max_by(|a, b| a.0.total_cmp(&b.0));
            Err(CliError::UnknownAlgorithm {
                name: name.to_owned(),
                similar: likeliest.map(|(_, known)| known),
            })
        }
        _ => Err(CliError::AmbiguousAlgorithm {
            id: name.to_owned(),
            names: bare.into_iter().map(Algorithm::name).collect(),
        }),
    }
}
