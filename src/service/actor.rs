//! Users of the service, and what they may do.

use serde::{Deserialize, Serialize};
use strum_macros::{Display, EnumString};
use utoipa::ToSchema;

use crate::ServiceError;

/// What a token permits. No scope implies another one, except that `admin` implies all.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Scope {
    /// See everything but tokens and the audit.
    Read,
    /// Submit and cancel tasks.
    Submit,
    /// Release tables, roll back, withdraw.
    Publish,
    /// All of these, tokens, the audit, and overriding gates.
    Admin,
}

/// A person or program that was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The name of the token, `uid N` on a Unix socket, or `anonymous`.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// The machines on which it may do so; empty for all.
    pub machines: Vec<String>,
}

impl Actor {
    /// Whether the actor has a scope for a machine; `None` asks for what concerns all machines.
    pub fn may(&self, scope: Scope, machine: Option<&str>) -> bool {
        let has = self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin);
        let here = self.machines.is_empty()
            || machine.is_some_and(|name| self.machines.iter().any(|own| own == name));
        has && here
    }

    /// Requires a scope.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`].
    pub fn require(&self, scope: Scope, machine: Option<&str>) -> Result<(), ServiceError> {
        match self.may(scope, machine) {
            true => Ok(()),
            false => Err(ServiceError::Forbidden {
                scope,
                machine: machine.map(str::to_owned),
            }),
        }
    }
}
