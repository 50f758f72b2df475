//! Tokens that authenticate the user.

use std::fmt;
use std::path::Path;

use crate::RemoteError;

/// The environment variable for a token.
const VARIABLE: &str = "COLLTUNE_TOKEN";

/// The longest token, in characters.
const MOST: usize = 256;

/// A token. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(...)")
    }
}

impl Token {
    /// Reads a token from a file, ignoring surrounding white space; without a file, from the environment variable
    /// `COLLTUNE_TOKEN`, if that is set and not empty.
    ///
    /// # Errors
    /// [`RemoteError::File`], [`RemoteError::Token`].
    pub fn from_file_or_environment(file: Option<&Path>) -> Result<Option<Self>, RemoteError> {
        if let Some(path) = file {
            let text = files::read_text(path).map_err(|source| RemoteError::File {
                path: path.to_owned(),
                source,
            })?;
            return Self::from_text(&text, &path.display()).map(Some);
        }
        match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            Some(value) => Self::from_text(&value.to_string_lossy(), &VARIABLE).map(Some),
            None => Ok(None),
        }
    }

    fn from_text(text: &str, place: &dyn fmt::Display) -> Result<Self, RemoteError> {
        let text = text.trim();
        let is_token =
            (1..=MOST).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if is_token {
            Ok(Self(text.to_owned()))
        } else {
            Err(RemoteError::Token {
                place: place.to_string(),
            })
        }
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}
