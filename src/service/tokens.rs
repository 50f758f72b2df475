//! Tokens and the sessions of browsers.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Actor, Scope, Service, ServiceError};

/// A token that is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What it is called: 1 to 64 characters.
    pub name: String,
    /// What it permits.
    pub scopes: Vec<Scope>,
    /// On which machines; empty for all.
    #[serde(default)]
    pub machines: Vec<String>,
    /// In how many days it expires; absent for never.
    #[serde(default)]
    pub days: Option<u32>,
}

/// A token's secret, shown once: `colltune_` and 64 hexadecimal digits. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretToken(pub(crate) String);

impl SecretToken {
    /// The text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for SecretToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretToken(...)")
    }
}

/// A token without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TokenRow {
    /// Its number.
    pub id: u64,
    /// What it is called.
    pub name: String,
    /// What it permits.
    pub scopes: Vec<Scope>,
    /// On which machines; empty for all.
    pub machines: Vec<String>,
    /// When it was made.
    #[schema(value_type = String)]
    pub created_at: jiff::Timestamp,
    /// By whom.
    pub created_by: String,
    /// When it expires.
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<jiff::Timestamp>,
    /// When it was revoked.
    #[schema(value_type = Option<String>)]
    pub revoked_at: Option<jiff::Timestamp>,
}

impl Service {
    /// Makes a token. Needs the scope `admin`.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`], [`ServiceError::Invalid`], [`ServiceError::Random`].
    pub fn make_token(
        &self,
        actor: &Actor,
        new: &NewToken,
    ) -> Result<(SecretToken, TokenRow), ServiceError> {
        todo!("{actor:?} {new:?}")
    }

    /// The token of whoever starts the service, with all scopes: made anew at each start that has no configuration file,
    /// and kept in `STATE/token` (mode 0600).
    ///
    /// # Errors
    /// Files, SQLite, [`ServiceError::Random`].
    pub fn owner_token(&self) -> Result<SecretToken, ServiceError> {
        todo!()
    }

    /// All tokens. Needs the scope `admin`.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; SQLite.
    pub fn tokens(&self, actor: &Actor) -> Result<Vec<TokenRow>, ServiceError> {
        todo!("{actor:?}")
    }

    /// Revokes a token, and with it its sessions. Needs the scope `admin`. Twice is no error.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`], [`ServiceError::NotFound`].
    pub fn revoke_token(&self, actor: &Actor, id: u64) -> Result<(), ServiceError> {
        todo!("{actor:?} {id}")
    }

    /// Whose token this is; `None` if it is unknown, expired or revoked. Hashes are compared in constant time.
    ///
    /// # Errors
    /// SQLite.
    pub fn authenticate(&self, secret: &str) -> Result<Option<Actor>, ServiceError> {
        todo!("{}", secret.len())
    }

    /// Begins a session of a browser for a token: the session's secret and how long it holds (12 hours); `None` if the
    /// token is unknown, expired or revoked.
    ///
    /// # Errors
    /// SQLite, [`ServiceError::Random`].
    pub fn begin_session(
        &self,
        secret: &str,
    ) -> Result<Option<(SecretToken, Duration)>, ServiceError> {
        todo!("{}", secret.len())
    }

    /// Whose session this is, as [`Self::authenticate`].
    ///
    /// # Errors
    /// SQLite.
    pub fn session(&self, secret: &str) -> Result<Option<Actor>, ServiceError> {
        todo!("{}", secret.len())
    }

    /// Ends a session.
    ///
    /// # Errors
    /// SQLite.
    pub fn end_session(&self, secret: &str) -> Result<(), ServiceError> {
        todo!("{}", secret.len())
    }
}
