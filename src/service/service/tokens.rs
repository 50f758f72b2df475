//! Tokens and the sessions of browsers.

use std::time::Duration;

use printable::is_unprintable;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::json;

use crate::database::{json_column, now_milliseconds, query_rows, timestamp_column, to_timestamp};
use crate::owner::OWNER;
use crate::secret::{SecretHash, SecretToken, SessionHolder};
use crate::{Actor, NewToken, Scope, Service, ServiceError, TokenRow, audit};

/// The lifetime of a session.
const SESSION: Duration = Duration::from_secs(12 * 60 * 60);
/// The most sessions of a token; a new one ends the oldest.
const MOST_SESSIONS: u32 = 16;
/// The most valid tokens.
const MOST_TOKENS: u32 = 500;
/// The most tokens that are listed: valid ones first.
const MOST_LISTED: u32 = 1000;
/// The longest validity of a token, in days.
const MOST_DAYS: u32 = 3660;
const DAY_MILLISECONDS: i64 = 86_400_000;
/// Names that the audit uses for other actors, so requested tokens cannot have them; the same holds for `uid N` and
/// `schedule NAME`.
const RESERVED: [&str; 3] = [OWNER, "anonymous", "service"];

impl Service {
    /// Makes a token. Needs the scope `admin`. At most 500 tokens are valid at a time.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`], [`ServiceError::Invalid`], [`ServiceError::Random`]; [`ServiceError::Conflict`]
    /// if a valid token has this name, or there are too many; SQLite.
    pub fn make_token(
        &self,
        actor: &Actor,
        new: &NewToken,
    ) -> Result<(SecretToken, TokenRow), ServiceError> {
        actor.require_scope(Scope::Admin, None)?;
        self.check_token(new)?;
        let secret = SecretToken::random()?;
        let made = self.database.write(|transaction| {
            refuse_more(transaction, &new.name)?;
            add_token(transaction, &actor.name, new, &secret)
        });
        self.token_cache.forget_all();
        Ok((secret, made?))
    }

    /// Lists at most 1000 tokens: those that are not revoked before the others, each group from the newest on. Needs
    /// the scope `admin`.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; SQLite.
    pub fn list_tokens(&self, actor: &Actor) -> Result<Vec<TokenRow>, ServiceError> {
        actor.require_scope(Scope::Admin, None)?;
        self.database.read(|connection| {
            let query = "SELECT id, name, scopes, machines, created_at, created_by, expires_at, revoked_at \
                         FROM token ORDER BY revoked_at IS NOT NULL, id DESC LIMIT ?1";
            query_rows(connection, query, [MOST_LISTED], token_row)
        })
    }

    /// Revokes a token and ends its sessions. Needs the scope `admin`. Revoking again is no error.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`], [`ServiceError::NotFound`]; SQLite.
    pub fn revoke_token(&self, actor: &Actor, id: u64) -> Result<(), ServiceError> {
        actor.require_scope(Scope::Admin, None)?;
        let revoked = self.database.write(|transaction| {
            let query = "SELECT name, revoked_at FROM token WHERE id = ?1";
            let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            // A number that no row can have is not found either.
            let id_of_row = i64::try_from(id).unwrap_or(-1);
            let found = transaction.query_row(query, [id_of_row], row).optional()?;
            let (name, revoked_at): (String, Option<i64>) =
                found.ok_or_else(|| ServiceError::not_found("token", id))?;
            match revoked_at {
                Some(_) => Ok(()),
                None => mark_revoked(transaction, &actor.name, id, &name),
            }
        });
        self.token_cache.forget_all();
        revoked
    }

    /// The actor of a token; `None` if it is unknown, expired or revoked. Hashes are compared in constant time.
    /// Tokens are cached: the database is read only after a token was made or revoked, or a session began or ended.
    ///
    /// # Errors
    /// SQLite.
    pub fn authenticate_token(&self, secret: &str) -> Result<Option<Actor>, ServiceError> {
        let known = self.token_cache.find_token(&self.database, secret)?;
        Ok(known.map(|token| token.actor))
    }

    /// As [`Self::authenticate_token`], without waiting for anything; `None` if the database must be read.
    pub fn authenticate_token_from_memory(&self, secret: &str) -> Option<Option<Actor>> {
        let known = self.token_cache.find_token_in_memory(secret)?;
        Some(known.map(|token| token.actor))
    }

    /// Begins a browser session for a token. Returns the session's secret and how long it is valid (12 hours, or
    /// until the token expires); `None` if the token is unknown, expired or revoked. Only `holder` can use the session.
    /// A token has at most 16 sessions: a further one ends the oldest.
    ///
    /// # Errors
    /// SQLite, [`ServiceError::Random`].
    pub fn begin_session(
        &self,
        secret: &str,
        holder: SessionHolder,
    ) -> Result<Option<(SecretToken, Duration)>, ServiceError> {
        let Some(token) = self.token_cache.find_token(&self.database, secret)? else {
            return Ok(None);
        };
        let session = SecretToken::random()?;
        let begins = now_milliseconds();
        let longest = begins.saturating_add(SESSION.as_millis() as i64);
        let ends = token.expires_at.map_or(longest, |at| at.min(longest));
        let begun = self.database.write(|transaction| {
            transaction.execute("DELETE FROM session WHERE expires_at <= ?1", [begins])?;
            transaction.execute(
                "DELETE FROM session WHERE hash IN (SELECT hash FROM session WHERE token = ?1 \
                 ORDER BY expires_at DESC LIMIT -1 OFFSET ?2)",
                params![token.id, MOST_SESSIONS - 1],
            )?;
            transaction.execute(
                "INSERT INTO session (hash, token, expires_at) VALUES (?1, ?2, ?3)",
                params![
                    SecretHash::of_session(session.expose(), holder).0,
                    token.id,
                    ends
                ],
            )?;
            Ok(())
        });
        self.token_cache.forget_all();
        begun?;
        let holds = Duration::from_millis(ends.saturating_sub(begins).max(0).unsigned_abs());
        Ok(Some((session, holds)))
    }

    /// The actor of a session, as [`Self::authenticate_token`]; `None` also if the session has another holder.
    ///
    /// # Errors
    /// SQLite.
    pub fn authenticate_session(
        &self,
        secret: &str,
        holder: SessionHolder,
    ) -> Result<Option<Actor>, ServiceError> {
        self.token_cache
            .find_session(&self.database, secret, holder)
    }

    /// As [`Self::authenticate_session`], without waiting for anything; `None` if the database must be read.
    pub fn authenticate_session_from_memory(
        &self,
        secret: &str,
        holder: SessionHolder,
    ) -> Option<Option<Actor>> {
        self.token_cache.find_session_in_memory(secret, holder)
    }

    /// Ends a session. An unknown or ended session, or one of another holder, is no error.
    ///
    /// # Errors
    /// SQLite.
    pub fn end_session(&self, secret: &str, holder: SessionHolder) -> Result<(), ServiceError> {
        if self.authenticate_session(secret, holder)?.is_none() {
            return Ok(());
        }
        let delete = "DELETE FROM session WHERE hash = ?1";
        let hash = SecretHash::of_session(secret, holder);
        let ended = self.database.execute(delete, [hash.0]);
        self.token_cache.forget_all();
        ended.map(drop)
    }

    fn check_token(&self, new: &NewToken) -> Result<(), ServiceError> {
        let invalid = |field, problem: String| Err(ServiceError::invalid(field, problem));
        let name = new.name.as_str();
        if name.trim() != name
            || !(1..=64).contains(&name.chars().count())
            || name.contains(is_unprintable)
        {
            let problem = "write 1 to 64 printable characters, without spaces around them";
            return invalid("name", problem.to_owned());
        }
        if RESERVED.contains(&name) || name.starts_with("uid ") || name.starts_with("schedule ") {
            let problem = format!("`{name}` is reserved; choose another name");
            return invalid("name", problem);
        }
        if new.scopes.is_empty() {
            let problem = "name at least one of read, submit, publish, agent, usage and admin";
            return invalid("scopes", problem.to_owned());
        }
        let machines = &self.configuration.machines;
        let is_known = |machine_name: &&String| {
            machines
                .iter()
                .any(|machine| machine.name == **machine_name)
        };
        if let Some(unknown) = new
            .machines
            .iter()
            .find(|machine_name| !is_known(machine_name))
        {
            let known: Vec<&str> = machines.iter().map(|m| m.name.as_str()).collect();
            let known = known.join(", ");
            let problem = format!("there is no machine `{unknown}`; these are known: {known}");
            return invalid("machines", problem);
        }
        match new.days {
            Some(days) if !(1..=MOST_DAYS).contains(&days) => {
                let problem = format!(
                    "write 1 to {MOST_DAYS}, or leave it out for a token that does not expire"
                );
                invalid("days", problem)
            }
            _ => Ok(()),
        }
    }
}

/// Refuses a new token if a valid token has its name, or if [`MOST_TOKENS`] tokens are valid.
fn refuse_more(transaction: &Transaction<'_>, name: &str) -> Result<(), ServiceError> {
    let query = "SELECT count(*), count(*) FILTER (WHERE name = ?1) FROM token \
                 WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)";
    let counts = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (all, same): (u32, u32) =
        transaction.query_row(query, params![name, now_milliseconds()], counts)?;
    if same > 0 {
        return Err(ServiceError::Conflict(format!(
            "there is a token `{name}` already; choose another name, or revoke that one first"
        )));
    }
    if all >= MOST_TOKENS {
        return Err(ServiceError::Conflict(format!(
            "there are {all} tokens; revoke those that are not used"
        )));
    }
    Ok(())
}

/// Adds a checked token.
pub(crate) fn add_token(
    transaction: &Transaction<'_>,
    by: &str,
    new: &NewToken,
    secret: &SecretToken,
) -> Result<TokenRow, ServiceError> {
    let mut scopes = new.scopes.clone();
    scopes.sort_unstable_by_key(|scope| *scope as u8);
    scopes.dedup();
    let mut machines = new.machines.clone();
    machines.sort_unstable();
    machines.dedup();
    let created_at = now_milliseconds();
    let expires_at = new
        .days
        .map(|days| created_at.saturating_add(i64::from(days) * DAY_MILLISECONDS));
    transaction.execute(
        "INSERT INTO token (name, hash, scopes, machines, created_at, created_by, expires_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            new.name,
            SecretHash::of_secret(secret.expose()).0,
            json!(scopes).to_string(),
            json!(machines).to_string(),
            created_at,
            by,
            expires_at
        ],
    )?;
    let row = TokenRow {
        id: transaction.last_insert_rowid().unsigned_abs(),
        name: new.name.clone(),
        scopes,
        machines,
        created_at: to_timestamp(created_at)?,
        created_by: by.to_owned(),
        expires_at: expires_at.map(to_timestamp).transpose()?,
        revoked_at: None,
    };
    let details = json!({
        "id": row.id, "scopes": row.scopes, "machines": row.machines, "expires_at": row.expires_at,
    });
    audit::record_action(transaction, by, "token.create", &new.name, &details)?;
    Ok(row)
}

/// Revokes a valid token and ends its sessions.
pub(crate) fn mark_revoked(
    transaction: &Transaction<'_>,
    by: &str,
    id: u64,
    name: &str,
) -> Result<(), ServiceError> {
    let update = "UPDATE token SET revoked_at = ?2 WHERE id = ?1";
    transaction.execute(update, params![id, now_milliseconds()])?;
    transaction.execute("DELETE FROM session WHERE token = ?1", [id])?;
    audit::record_action(transaction, by, "token.revoke", name, &json!({ "id": id }))
}

fn token_row(row: &Row<'_>) -> rusqlite::Result<TokenRow> {
    Ok(TokenRow {
        id: row.get(0)?,
        name: row.get(1)?,
        scopes: scopes_column(row, 2)?,
        machines: json_column(row, 3)?,
        created_at: to_timestamp(row.get(4)?)?,
        created_by: row.get(5)?,
        expires_at: timestamp_column(row, 6)?,
        revoked_at: timestamp_column(row, 7)?,
    })
}

/// The scopes of a token, without those that this version does not know.
pub(crate) fn scopes_column(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<Scope>> {
    let names: Vec<String> = json_column(row, column)?;
    Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
}
