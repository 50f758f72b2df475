//! Secrets of tokens and sessions. The database stores their hashes; a cache in memory lets a request be
//! authenticated in microseconds, without writing.

use std::collections::HashMap;
use std::fmt;
use std::sync::{PoisonError, RwLock, TryLockError};

use rusqlite::Connection;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

use crate::database::{Database, json_column, now_milliseconds};
use crate::tokens::scopes_column;
use crate::{Actor, ServiceError};

const PREFIX: &str = "colltune_";
const SECRET_BYTES: usize = 32;

/// The secret of a token or session, shown once: `colltune_` and 64 hexadecimal digits. `Debug` does not show it.
#[derive(Clone)]
pub struct SecretToken(pub(crate) String);

impl SecretToken {
    /// The secret as text.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Makes a secret of 256 random bits.
    pub(crate) fn random() -> Result<Self, ServiceError> {
        let mut bytes = [0; SECRET_BYTES];
        getrandom::fill(&mut bytes).map_err(ServiceError::Random)?;
        Ok(Self(format!("{PREFIX}{}", files::hexadecimal(&bytes))))
    }
}

impl fmt::Debug for SecretToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretToken(...)")
    }
}

/// Compares in constant time.
impl PartialEq for SecretToken {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for SecretToken {}

/// Who may use a session, beside having its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionHolder {
    /// Anyone: the secret goes over TLS only.
    Anyone,
    /// A user of the service's host, as the kernel names the user of a connection. Browsers send cookies to every port
    /// of a host, so other users of the host may get to know the secret.
    User(u32),
}

/// SHA-256 of a secret. Secrets are random, so neither a salt nor a slow hash is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SecretHash(pub(crate) [u8; 32]);

/// The part of a hash used as the key of a map; the whole hash is then compared in constant time.
type Selector = [u8; 16];

impl SecretHash {
    pub(crate) fn of_secret(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// The hash under which a session is stored. It depends on the session's holder, so that the secret alone does not
    /// find the session.
    pub(crate) fn of_session(secret: &str, holder: SessionHolder) -> Self {
        match holder {
            SessionHolder::Anyone => Self::of_secret(secret),
            SessionHolder::User(uid) => Self::of_secret(&format!("{secret} of the user {uid}")),
        }
    }

    fn selector(&self) -> Selector {
        let mut selector = [0; 16];
        selector.copy_from_slice(&self.0[..16]);
        selector
    }

    fn is_equal(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// A token that has not been revoked.
#[derive(Clone, Debug)]
pub(crate) struct KnownToken {
    pub(crate) id: u64,
    pub(crate) actor: Actor,
    /// The time at which the token expires, in milliseconds since 1970.
    pub(crate) expires_at: Option<i64>,
}

/// A cache of the valid tokens and sessions of the database. It is emptied whenever they change, and filled from the
/// database by the next query. `tokens.rs` limits their numbers.
#[derive(Debug, Default)]
pub(crate) struct TokenCache(RwLock<Option<Keys>>);

#[derive(Debug)]
struct Keys {
    /// The time at which they were read, in milliseconds since 1970. Those that had expired then are left out.
    read_at: i64,
    tokens: HashMap<Selector, StoredToken>,
    sessions: HashMap<Selector, StoredSession>,
}

#[derive(Debug)]
struct StoredToken {
    hash: SecretHash,
    token: KnownToken,
}

#[derive(Debug)]
struct StoredSession {
    hash: SecretHash,
    /// The selector of its token.
    token_selector: Selector,
    /// The time at which it ends, in milliseconds since 1970.
    expires_at: i64,
}

impl TokenCache {
    /// Empties the cache. Must be called after each change of the database, so that later requests see it.
    pub(crate) fn forget_all(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The token with this secret, unless it is unknown, expired or revoked.
    pub(crate) fn find_token(
        &self,
        database: &Database,
        secret: &str,
    ) -> Result<Option<KnownToken>, ServiceError> {
        if is_secret(secret) {
            self.answer_or_read(database, token_with_hash(SecretHash::of_secret(secret)))
        } else {
            Ok(None)
        }
    }

    /// As [`Self::find_token`], without waiting; `None` if that needs the database.
    pub(crate) fn find_token_in_memory(&self, secret: &str) -> Option<Option<KnownToken>> {
        if is_secret(secret) {
            self.try_answer(token_with_hash(SecretHash::of_secret(secret)))
        } else {
            Some(None)
        }
    }

    /// The actor of the session with this secret and holder; `None` if it is unknown or has ended, or if its token is
    /// not valid.
    pub(crate) fn find_session(
        &self,
        database: &Database,
        secret: &str,
        holder: SessionHolder,
    ) -> Result<Option<Actor>, ServiceError> {
        if is_secret(secret) {
            self.answer_or_read(
                database,
                session_with_hash(SecretHash::of_session(secret, holder)),
            )
        } else {
            Ok(None)
        }
    }

    /// As [`Self::find_session`], without waiting; `None` if that needs the database.
    pub(crate) fn find_session_in_memory(
        &self,
        secret: &str,
        holder: SessionHolder,
    ) -> Option<Option<Actor>> {
        if is_secret(secret) {
            self.try_answer(session_with_hash(SecretHash::of_session(secret, holder)))
        } else {
            Some(None)
        }
    }

    /// The answer of the cache; `None` if the cache is empty or out of date, or another thread fills it at the moment.
    fn try_answer<T>(&self, question: impl Fn(&Keys) -> Option<T>) -> Option<Option<T>> {
        let keys = match self.0.try_read() {
            Err(TryLockError::WouldBlock) => return None,
            Err(TryLockError::Poisoned(keys)) => keys.into_inner(),
            Ok(keys) => keys,
        };
        let keys = keys.as_ref().filter(|keys| keys.are_known());
        keys.map(question)
    }

    fn answer_or_read<T>(
        &self,
        database: &Database,
        question: impl Fn(&Keys) -> Option<T>,
    ) -> Result<Option<T>, ServiceError> {
        let cached_keys = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = cached_keys.as_ref().filter(|keys| keys.are_known()) {
            return Ok(question(keys));
        }
        drop(cached_keys);
        let mut keys = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Read under the write lock, so that a concurrent `forget_all` cannot be missed.
        let read = match keys.take().filter(Keys::are_known) {
            Some(keys) => keys,
            None => database.read(Keys::from_database)?,
        };
        Ok(question(keys.insert(read)))
    }
}

fn token_with_hash(hash: SecretHash) -> impl Fn(&Keys) -> Option<KnownToken> {
    move |keys| keys.token_if_valid(&hash.selector(), |known| known.is_equal(&hash))
}

fn session_with_hash(hash: SecretHash) -> impl Fn(&Keys) -> Option<Actor> {
    move |keys| {
        let session = keys.sessions.get(&hash.selector())?;
        if session.hash.is_equal(&hash) && now_milliseconds() < session.expires_at {
            let token = keys.token_if_valid(&session.token_selector, |_| true)?;
            Some(token.actor)
        } else {
            None
        }
    }
}

impl Keys {
    /// Whether all valid ones are known: the clock has not been set back since.
    fn are_known(&self) -> bool {
        self.read_at <= now_milliseconds()
    }

    fn from_database(connection: &Connection) -> Result<Self, ServiceError> {
        let read_at = now_milliseconds();
        let mut tokens = HashMap::new();
        let mut selectors = HashMap::new();
        let query = "SELECT id, hash, name, scopes, machines, expires_at FROM token \
                     WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?1)";
        let mut statement = connection.prepare_cached(query)?;
        let mut rows = statement.query([read_at])?;
        while let Some(row) = rows.next()? {
            let hash = SecretHash(row.get(1)?);
            let token = KnownToken {
                id: row.get(0)?,
                actor: Actor {
                    name: row.get(2)?,
                    scopes: scopes_column(row, 3)?,
                    machines: json_column(row, 4)?,
                },
                expires_at: row.get(5)?,
            };
            selectors.insert(token.id, hash.selector());
            tokens.insert(hash.selector(), StoredToken { hash, token });
        }
        let mut sessions = HashMap::new();
        let session_query = "SELECT hash, token, expires_at FROM session WHERE expires_at > ?1";
        let mut session_statement = connection.prepare_cached(session_query)?;
        let mut session_rows = session_statement.query([read_at])?;
        while let Some(row) = session_rows.next()? {
            let hash = SecretHash(row.get(0)?);
            if let Some(token) = selectors.get(&row.get(1)?) {
                let session = StoredSession {
                    hash,
                    token_selector: *token,
                    expires_at: row.get(2)?,
                };
                sessions.insert(hash.selector(), session);
            }
        }
        Ok(Self {
            read_at,
            tokens,
            sessions,
        })
    }

    fn token_if_valid(
        &self,
        selector: &Selector,
        is_right: impl Fn(&SecretHash) -> bool,
    ) -> Option<KnownToken> {
        let StoredToken { hash, token } = self.tokens.get(selector)?;
        let holds = token.expires_at.is_none_or(|at| now_milliseconds() < at);
        (is_right(hash) && holds).then(|| token.clone())
    }
}

/// Whether a text has the form of a secret.
fn is_secret(text: &str) -> bool {
    text.strip_prefix(PREFIX)
        .is_some_and(|digits| digits.len() == 2 * SECRET_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens that had expired by the wrong clock are valid again.
    #[test]
    fn what_was_read_before_the_clock_was_set_back_is_read_again() {
        let keys = |read_at| Keys {
            read_at,
            tokens: HashMap::new(),
            sessions: HashMap::new(),
        };
        let secret = SecretToken::random().expect("random");
        let recall = |read_at| {
            let cache = TokenCache(RwLock::new(Some(keys(read_at))));
            let token = cache.find_token_in_memory(secret.expose());
            let session = cache.find_session_in_memory(secret.expose(), SessionHolder::Anyone);
            (token.is_some(), session.is_some())
        };
        assert_eq!(
            recall(now_milliseconds()),
            (true, true),
            "unknown, and no more"
        );
        assert_eq!(recall(now_milliseconds() + 3_600_000), (false, false));
    }
}
