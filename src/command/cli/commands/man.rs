use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::{Answer, CliError, Console};
use crate::args::Cli;

/// Print the manual page
///
/// One page with all verbs, in the format of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune man > ~/.local/share/man/man1/colltune.1
  colltune man | man -l -")]
pub(crate) struct ManArgs {}

impl ManArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        // Writing to memory fails only for lack of memory.
        let page = render_page().map_err(CliError::Output)?;
        console.print(String::from_utf8_lossy(&page).trim_end())?;
        Ok(Answer::Good)
    }
}

fn render_page() -> io::Result<Vec<u8>> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for verb in command.get_subcommands() {
        render_verb(verb, &mut page)?;
    }
    render_examples(&man, "EXAMPLES AND EXIT CODES", &mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// A section for a verb and for each verb below it.
fn render_verb(verb: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    if verb.get_name() == "help" {
        return Ok(());
    }
    let name = verb.get_bin_name().unwrap_or(verb.get_name());
    page.extend(format!(".SH {}\n", name.to_uppercase()).bytes());
    let man = Man::new(verb.clone());
    let mut sections = Vec::new();
    man.render_synopsis_section(&mut sections)?;
    man.render_description_section(&mut sections)?;
    if verb.get_subcommands().next().is_none() {
        man.render_options_section(&mut sections)?;
    }
    render_examples(&man, "EXAMPLES", &mut sections)?;
    // Sections of the verb's own page are subsections here.
    let sections = String::from_utf8_lossy(&sections).replace(".SH ", ".SS ");
    page.extend(sections.bytes());
    verb.get_subcommands()
        .try_for_each(|verb| render_verb(verb, page))
}

/// The text after the options of a help text.
fn render_examples(man: &Man, heading: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let mut section = Vec::new();
    man.render_extra_section(&mut section)?;
    let section = String::from_utf8_lossy(&section).replacen("EXTRA", heading, 1);
    page.extend(section.bytes());
    Ok(())
}
