//! What tables did for jobs.

use profile::usage::TableUsageOverview;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ChannelKey;

/// What became of the lines about jobs in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageReceipt {
    /// The number of jobs that were counted.
    pub counted: u64,
    /// The number of those that had been counted before.
    pub repeated: u64,
    /// The number of those that started before the days that are kept.
    pub too_old: u64,
}

/// Which table jobs used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrafficTable {
    /// One that the machine has here.
    Known,
    /// Others.
    Other,
    /// None was read.
    None,
}

/// What one table did for a machine's jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TableTraffic {
    /// Which table it is.
    pub table: TrafficTable,
    /// The channels in which it is the current table.
    pub channels: Vec<ChannelKey>,
    /// Its digest in `sha256`, jobs, calls and shares, as `colltune schema usage` describes the entries of `tables`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub usage: TableUsageOverview,
}

/// What tables did for a machine's jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MachineTraffic {
    /// The machine.
    pub machine: String,
    /// The number of days, up to today, on which the jobs started.
    pub days: u32,
    /// The number of days that are kept.
    pub kept_days: u32,
    /// By table: first those that are current in a channel, then by the number of calls.
    pub tables: Vec<TableTraffic>,
}
