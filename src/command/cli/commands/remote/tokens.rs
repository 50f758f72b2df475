use client::Ask;
use report::text_table;
use serde_json::{Value, json};

use super::{Answer, CliError, RemoteSession, array_items, text_at_pointer};

/// List, make and revoke tokens
///
/// Needs a token with the scope admin. With --make, prints only the secret, which is never shown again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune remote tokens
  (umask 077; colltune remote tokens --make nightly --scope read,submit --days 90 > nightly.token)
  colltune remote tokens --revoke 3")]
pub(super) struct TokensArgs {
    /// Make a token of this name
    #[arg(long, value_name = "NAME", requires = "scope")]
    make: Option<String>,
    /// The actions that the token permits
    #[arg(long, value_delimiter = ',', requires = "make", value_parser = ["read", "submit", "publish", "admin"])]
    scope: Vec<String>,
    /// The machines for which the token is valid; by default all
    #[arg(long, value_delimiter = ',', requires = "make")]
    machine: Vec<String>,
    /// Days after which the token expires; by default never
    #[arg(long, requires = "make")]
    days: Option<u32>,
    /// Revoke the token of this number
    #[arg(long, value_name = "ID", conflicts_with = "make")]
    revoke: Option<u64>,
}

impl TokensArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        if let Some(name) = &self.make {
            let mut body = json!({"name": name, "scopes": self.scope, "machines": self.machine});
            if let Some(days) = self.days {
                body["days"] = days.into();
            }
            let answer = asking.remote.request_json(Ask::post("/tokens", &body))?;
            return asking.print_answer(&answer, || text_at_pointer(&answer, "/secret"));
        }
        if let Some(id) = self.revoke {
            let answer = asking
                .remote
                .request_json(Ask::delete(&format!("/tokens/{id}")))?;
            return asking.print_answer(&answer, || format!("token {id} is revoked"));
        }
        let answer = asking.remote.request_json(Ask::get("/tokens"))?;
        asking.print_answer(&answer, || {
            let columns = "token> | name | scopes | machines? | expires? | revoked?";
            text_table(columns, array_items(&answer).iter().map(token_row)).to_text()
        })
    }
}

fn token_row(token: &Value) -> [String; 6] {
    [
        "/id",
        "/name",
        "/scopes",
        "/machines",
        "/expires_at",
        "/revoked_at",
    ]
    .map(|field| text_at_pointer(token, field))
}
