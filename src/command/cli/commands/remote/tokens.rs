use answers::{NewToken, Scope, TokenRow};
use client::Ask;
use jiff::Timestamp;
use report::text_table;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, CliError, RemoteSession};
use crate::values;

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
    #[arg(long, value_delimiter = ',', requires = "make", value_parser = values::scope_parser())]
    scope: Vec<Scope>,
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

/// What is read of a [`answers::MadeToken`]: the secret is never shown again, so it must not be lost because a later
/// service says something of the token that this version does not understand.
#[derive(Deserialize)]
struct MadeSecret {
    secret: String,
}

impl TokensArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        if let Some(name) = &self.make {
            let body = json!(NewToken {
                name: name.clone(),
                scopes: self.scope.clone(),
                machines: self.machine.clone(),
                days: self.days,
            });
            let ask = Ask::post("/tokens", &body);
            if asking.json {
                let answer = asking.remote.request_json(ask)?;
                return asking.print_answer(&answer, String::new);
            }
            let (answer, made): (Value, MadeSecret) = asking.remote.request_as(ask)?;
            return asking.print_answer(&answer, || made.secret);
        }
        if let Some(id) = self.revoke {
            let answer = asking
                .remote
                .request_json(Ask::delete(&format!("/tokens/{id}")))?;
            return asking.print_answer(&answer, || format!("token {id} is revoked"));
        }
        let (answer, tokens): (Value, Vec<TokenRow>) =
            asking.remote.request_as(Ask::get("/tokens"))?;
        asking.print_answer(&answer, || {
            let columns = "token> | name | scopes | machines? | expires? | revoked?";
            text_table(columns, tokens.iter().map(token_row)).to_text()
        })
    }
}

fn token_row(token: &TokenRow) -> [String; 6] {
    let scopes: Vec<&str> = token.scopes.iter().map(<&str>::from).collect();
    let time = |at: Option<Timestamp>| at.map_or_else(String::new, |at| at.to_string());
    [
        token.id.to_string(),
        token.name.clone(),
        scopes.join(", "),
        token.machines.join(", "),
        time(token.expires_at),
        time(token.revoked_at),
    ]
}
