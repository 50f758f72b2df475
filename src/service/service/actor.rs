//! Users of the service, and what they may do.

use crate::{Scope, ServiceError};

/// An authenticated person or program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The name of the token, `uid N` on a Unix socket, or `anonymous`.
    pub name: String,
    /// The scopes of the actor.
    pub scopes: Vec<Scope>,
    /// The machines for which the scopes hold; empty for all.
    pub machines: Vec<String>,
}

impl Actor {
    /// Whether the actor has a scope for a machine, or for all machines if `machine` is `None`.
    pub fn has_scope(&self, scope: Scope, machine: Option<&str>) -> bool {
        let has = self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin);
        let here = self.machines.is_empty()
            || machine.is_some_and(|name| self.machines.iter().any(|own| own == name));
        has && here
    }

    /// Requires a scope.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`].
    pub fn require_scope(&self, scope: Scope, machine: Option<&str>) -> Result<(), ServiceError> {
        if self.has_scope(scope, machine) {
            Ok(())
        } else {
            Err(ServiceError::Forbidden {
                scope,
                machine: machine.map(str::to_owned),
            })
        }
    }
}
