//! Queries to a program about itself.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Refusal;
use super::tree::ProcessTree;

/// The output streams that contain the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    /// Only standard output.
    Output,
    /// Standard output and standard error.
    Both,
}

/// The output of a program for this single argument.
pub(super) fn query_program(
    program: &Path,
    argument: &str,
    streams: Streams,
    timeout: Duration,
) -> Result<String, Refusal> {
    // A file, since a pipe may fill up, or stay open in an orphaned process.
    let mut file = tempfile::tempfile()?;
    let errors = match streams {
        Streams::Output => Stdio::null(),
        Streams::Both => file.try_clone()?.into(),
    };
    let mut command = Command::new(program);
    command
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(errors);
    let status = ProcessTree::spawn(command)?
        .wait(timeout)
        .map_err(|error| Refusal::Watch(Box::new(error)))?;
    match status {
        None => return Err(Refusal::Timeout { timeout }),
        Some(status) if !status.success() => return Err(Refusal::Failed(status)),
        Some(_) => {}
    }
    Ok(read_output(&mut file)?)
}

/// The text that a program has written to a file.
pub(super) fn read_output(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
