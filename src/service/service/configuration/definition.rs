//! `service.yaml` as it is written: its keys and their types. Values are checked in `check`.

use std::path::PathBuf;

use serde::Deserialize;
use strict_yaml::{Argument, Kind, OneOrMany, Scalar};

use super::Tls;

pub(super) const KIND: Kind = Kind {
    name: "the configuration of a service",
    start: "write keys such as `listen: 127.0.0.1:7878`; tuning/service.yaml shows all keys",
    reference: Some("tuning/service.yaml shows every key in use"),
};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Definition {
    pub(super) folder: Option<PathBuf>,
    pub(super) state: Option<PathBuf>,
    pub(super) listen: Option<Scalar>,
    pub(super) tls: Option<Tls>,
    pub(super) behind_proxy: Option<bool>,
    pub(super) names: Option<OneOrMany<String>>,
    pub(super) open_reading: Option<bool>,
    pub(super) machines: Option<Vec<MachineDefinition>>,
    pub(super) gates: Option<GatesDefinition>,
    pub(super) longest_wall_time: Option<Scalar>,
    pub(super) usage: Option<UsageDefinition>,
    pub(super) time_zone: Option<String>,
    pub(super) webhooks: Option<WebhooksDefinition>,
}

/// An entry of `machines`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MachineDefinition {
    pub(super) name: Argument,
    pub(super) campaigns: Option<OneOrMany<String>>,
    pub(super) tasks: Option<u32>,
    pub(super) node_hours: Option<f64>,
    pub(super) agent: Option<bool>,
}

/// The keys of `webhooks`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WebhooksDefinition {
    pub(super) private_addresses: Option<bool>,
}

/// The keys of `usage`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsageDefinition {
    pub(super) days: Option<u32>,
}

/// The keys of `gates`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GatesDefinition {
    pub(super) validation_days: Option<u32>,
}
