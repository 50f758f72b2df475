use client::Ask;
use report::grid;
use serde_json::{Value, json};

use super::{Answer, Asking, CliError, rows, text};

/// List, make and revoke tokens
///
/// Needs a token with the scope admin. With --make, prints only the secret, which is never shown again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune remote tokens
  (umask 077; colltune remote tokens --make nightly --scope read,submit --days 90 > nightly.token)
  colltune remote tokens --revoke 3")]
pub(super) struct Args {
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

impl Args {
    pub(super) fn run(&self, asking: &Asking) -> Result<Answer, CliError> {
        if let Some(name) = &self.make {
            let mut body = json!({"name": name, "scopes": self.scope, "machines": self.machine});
            if let Some(days) = self.days {
                body["days"] = days.into();
            }
            let answer = asking.remote.json(Ask::post("/tokens", &body))?;
            return asking.print(&answer, || text(&answer, "/secret"));
        }
        if let Some(id) = self.revoke {
            let answer = asking.remote.json(Ask::delete(&format!("/tokens/{id}")))?;
            return asking.print(&answer, || format!("token {id} is revoked"));
        }
        let answer = asking.remote.json(Ask::get("/tokens"))?;
        asking.print(&answer, || {
            let columns = "token> | name | scopes | machines? | expires? | revoked?";
            grid(columns, rows(&answer).iter().map(row)).text()
        })
    }
}

fn row(token: &Value) -> [String; 6] {
    [
        "/id",
        "/name",
        "/scopes",
        "/machines",
        "/expires_at",
        "/revoked_at",
    ]
    .map(|at| text(token, at))
}
