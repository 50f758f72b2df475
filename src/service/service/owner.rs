//! The token of the account that runs the service.

use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::secret::SecretToken;
use crate::tokens::{add_token, mark_revoked};
use crate::{NewToken, Scope, Service, ServiceError};

/// The token's name.
pub(crate) const OWNER: &str = "owner";
/// The token's file in the state folder.
const FILE: &str = "token";

impl Service {
    /// The token of the account that starts the service, with the scope `admin`. It is read from `STATE/token` if it
    /// is valid and the file is readable for its owner only (mode 0600). Otherwise a new token replaces it, and
    /// earlier ones are revoked.
    ///
    /// # Errors
    /// Files, SQLite, [`ServiceError::Random`].
    pub fn owner_token(&self) -> Result<SecretToken, ServiceError> {
        let path = self.configuration.state.join(FILE);
        if let Some(secret) = read_owner_file(&path)?
            && let Some(actor) = self.authenticate_token(secret.expose())?
            && actor.name == OWNER
        {
            return Ok(secret);
        }
        let secret = SecretToken::random()?;
        let new = NewToken {
            name: OWNER.to_owned(),
            scopes: vec![Scope::Admin],
            machines: Vec::new(),
            days: None,
        };
        let made = self.database.write(|transaction| {
            let query = "SELECT id FROM token WHERE name = ?1 AND revoked_at IS NULL";
            let mut before = transaction.prepare(query)?;
            let before = before.query_map([OWNER], |row| row.get(0))?;
            for id in before.collect::<Result<Vec<u64>, _>>()? {
                mark_revoked(transaction, "service", id, OWNER)?;
            }
            add_token(transaction, "service", &new, &secret)
        });
        self.token_cache.forget_all();
        made?;
        write_owner_file(&path, &secret).map_err(ServiceError::on_file("write", &path))?;
        Ok(secret)
    }
}

/// Reads the token in the owner's file; `None` if there is no file, or if others may have read it.
fn read_owner_file(path: &Path) -> Result<Option<SecretToken>, ServiceError> {
    let read = |source| ServiceError::on_file("read", path)(source);
    match files::open_regular(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(read(error)),
        Ok(file) => {
            let mode = file.metadata().map_err(read)?.permissions().mode();
            let text = files::text_of(&file).map_err(read)?;
            Ok((mode & 0o077 == 0).then(|| SecretToken(text.trim_end().to_owned())))
        }
    }
}

/// Writes the owner's file, with mode 0600 from the start.
fn write_owner_file(path: &Path, secret: &SecretToken) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut file = NamedTempFile::new_in(folder)?;
    writeln!(file, "{}", secret.expose())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
