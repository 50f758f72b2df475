//! Tokens, and what they permit.

use serde::{Deserialize, Serialize};
use strum_macros::{Display, EnumString, IntoStaticStr};
use utoipa::ToSchema;

/// A permission of a token. No scope implies another one, except that `admin` implies all.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
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
    /// Take tasks of machines as their agent, and report results.
    Agent,
    /// Send lines about jobs.
    Usage,
    /// All of these, tokens, the audit, and overriding gates.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 6] = [
        Self::Read,
        Self::Submit,
        Self::Publish,
        Self::Agent,
        Self::Usage,
        Self::Admin,
    ];
}

/// A request for a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// The name: 1 to 64 characters, different from those of all other valid tokens.
    pub name: String,
    /// The scopes.
    pub scopes: Vec<Scope>,
    /// The machines for which it is valid; empty for all.
    #[serde(default)]
    pub machines: Vec<String>,
    /// Days after which it expires, 1 to 3660; absent for never.
    pub days: Option<u32>,
}

/// A token without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TokenRow {
    /// Its number.
    pub id: u64,
    /// The name.
    pub name: String,
    /// The scopes.
    pub scopes: Vec<Scope>,
    /// The machines for which it is valid; empty for all.
    pub machines: Vec<String>,
    /// The time at which it was made.
    #[schema(value_type = String)]
    pub created_at: jiff::Timestamp,
    /// The user who made it.
    pub created_by: String,
    /// The time at which it expires.
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<jiff::Timestamp>,
    /// The time at which it was revoked.
    #[schema(value_type = Option<String>)]
    pub revoked_at: Option<jiff::Timestamp>,
}

/// A token with its secret.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MadeToken {
    /// The secret, shown only here.
    pub secret: String,
    /// The token.
    pub token: TokenRow,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_read_as_they_are_written() {
        let request = NewToken {
            name: "nightly".to_owned(),
            scopes: Scope::ALL.to_vec(),
            machines: vec!["local".to_owned()],
            days: Some(90),
        };
        let sent = json!(request);
        assert_eq!(
            sent["scopes"],
            json!(["read", "submit", "publish", "agent", "usage", "admin"])
        );
        assert_eq!(NewToken::deserialize(&sent).expect("readable"), request);
        let token = TokenRow {
            id: 3,
            name: request.name,
            scopes: request.scopes,
            machines: request.machines,
            created_at: "2026-11-20T12:00:00Z".parse().expect("a time"),
            created_by: "me".to_owned(),
            expires_at: None,
            revoked_at: Some("2026-11-21T12:00:00Z".parse().expect("a time")),
        };
        let made = MadeToken {
            secret: "colltune_x".to_owned(),
            token,
        };
        let mut answer = json!(made);
        answer["of_later_version"] = json!(1);
        answer["token"]["of_later_version"] = json!(1);
        let read = MadeToken::deserialize(&answer).expect("readable");
        assert!(read == made);
    }
}
