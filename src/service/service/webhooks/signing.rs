//! The secrets of webhooks, and signatures as Standard Webhooks have them.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::ServiceError;

/// The key's file in the state folder. Backups do not have it.
const FILE: &str = "webhook-key";
/// What secrets begin with.
const PREFIX: &str = "whsec_";
const KEY_BYTES: usize = 32;
/// The most bytes of its file that are read.
const MOST_KEY_BYTES: u64 = 1024;

/// The key from which the secrets of all webhooks are made. `Debug` does not show it.
pub(super) struct SigningKey([u8; KEY_BYTES]);

/// The secret of a webhook. `Debug` does not show it.
pub(super) struct WebhookSecret([u8; 32]);

impl SigningKey {
    /// Reads the key, or makes one if there is none, or if others may have read it. Of concurrent calls, each might make
    /// another one.
    ///
    /// # Errors
    /// Files, [`ServiceError::Random`].
    pub(super) fn read_or_make(state: &Path) -> Result<Self, ServiceError> {
        if let Some(key) = Self::read(state)? {
            return Ok(key);
        }
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(ServiceError::Random)?;
        let path = state.join(FILE);
        write_key(&path, &key).map_err(ServiceError::on_file("write", &path))?;
        Ok(Self(key))
    }

    /// Reads the key; `None` if there is none, or if others may have read it.
    ///
    /// # Errors
    /// Files.
    pub(super) fn read(state: &Path) -> Result<Option<Self>, ServiceError> {
        let path = state.join(FILE);
        let on_file = |source| ServiceError::on_file("read", &path)(source);
        let file = match files::open_regular(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(on_file)?,
        };
        let mode = file.metadata().map_err(on_file)?.permissions().mode();
        let bytes = files::bytes_of(&file, MOST_KEY_BYTES).map_err(on_file)?;
        let key = <[u8; KEY_BYTES]>::try_from(&*bytes).ok();
        Ok(key.filter(|_| mode & 0o077 == 0).map(Self))
    }

    /// The secret of the webhook with this salt.
    pub(super) fn derive_secret(&self, salt: &[u8]) -> WebhookSecret {
        WebhookSecret(authenticate(&self.0, &[salt]))
    }
}

impl WebhookSecret {
    /// SHA-256 of the secret, to recognise it.
    pub(super) fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }

    /// The secret as receivers are given it.
    pub(super) fn to_text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.0))
    }

    /// The value of `webhook-signature`.
    pub(super) fn sign(&self, name: &str, timestamp: i64, body: &str) -> String {
        sign_message(&self.0, name, timestamp, body)
    }
}

fn sign_message(secret: &[u8], name: &str, timestamp: i64, body: &str) -> String {
    let timestamp = timestamp.to_string();
    let parts = [name, ".", &timestamp, ".", body].map(str::as_bytes);
    format!("v1,{}", STANDARD.encode(authenticate(secret, &parts)))
}

/// HMAC-SHA256 of some parts.
fn authenticate(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // A key of any length is one.
    let Ok(mut code) = Hmac::<Sha256>::new_from_slice(key) else {
        return [0; 32];
    };
    for part in parts {
        code.update(part);
    }
    code.finalize().into_bytes().into()
}

/// A random salt.
pub(super) fn random_salt() -> Result<[u8; 16], ServiceError> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(ServiceError::Random)?;
    Ok(salt)
}

/// The value of `webhook-id` of a new message.
pub(super) fn random_message_name() -> Result<String, ServiceError> {
    Ok(format!("msg_{}", files::hexadecimal(&random_salt()?)))
}

/// Writes the key's file, with mode 0600 from the start, so that it outlives a crash of the host as its webhooks do.
fn write_key(path: &Path, key: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(key)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the documentation of Standard Webhooks' libraries.
    #[test]
    fn signatures_are_those_of_standard_webhooks() {
        let secret = STANDARD
            .decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
            .expect("Base64");
        let signature = sign_message(
            &secret,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn the_key_is_kept_unless_others_may_have_read_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let secret = || {
            let key = SigningKey::read_or_make(folder.path()).expect("a key");
            key.derive_secret(b"salt").to_text()
        };
        let first = secret();
        assert_eq!(secret(), first);
        assert_eq!(first.len(), PREFIX.len() + 44);
        let open = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(folder.path().join(FILE), open).expect("changed");
        assert_ne!(secret(), first);
    }
}
