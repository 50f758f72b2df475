//! The verbs, one file each: arguments, whose doc comments are the help text, and code.

pub(crate) mod audit;
pub(crate) mod backup;
mod campaign;
pub(crate) mod cancel;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod decide;
pub(crate) mod deploy;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod evaluate;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod jobs;
pub(crate) mod lookup;
pub(crate) mod man;
pub(crate) mod measure;
pub(crate) mod plan;
pub(crate) mod pull;
pub(crate) mod remote;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod samples;
pub(crate) mod schedule;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod tune;
pub(crate) mod validate;

mod connection;
mod detached;
mod guarded;
mod in_force;
mod launches;
mod owner;
mod policy;
mod query;
mod stored;
mod supervised;

use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;
