use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  colltune completions bash > ~/.local/share/bash-completion/completions/colltune
  source <(colltune completions zsh)";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "colltune", &mut text);
        console.print(String::from_utf8_lossy(&text).trim_end())?;
        Ok(Answer::Good)
    }
}
