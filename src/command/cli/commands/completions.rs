use clap::CommandFactory;
use clap_complete::Shell;

use super::{Answer, CliError, Console};
use crate::args::Cli;

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune completions bash > ~/.local/share/bash-completion/completions/colltune
  source <(colltune completions zsh)")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "colltune", &mut text);
        console.print(String::from_utf8_lossy(&text).trim_end())?;
        Ok(Answer::Good)
    }
}
