//! The path of a field inside a file.

use std::fmt;

/// One step of a [`Field`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into a mapping.
    Key(String),
    /// Into a list, from 0.
    Index(usize),
}

/// The path of a field, as in `parameters.block_bytes[1]`; empty for the whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field(Vec<Step>);

impl Field {
    /// A key of the file's own mapping.
    pub fn from_key(key: &str) -> Self {
        Self::default().key(key)
    }

    /// The value under `key` in this mapping.
    pub fn key(&self, key: &str) -> Self {
        self.with_step(Step::Key(key.to_owned()))
    }

    /// Entry `index` of this list.
    pub fn index(&self, index: usize) -> Self {
        self.with_step(Step::Index(index))
    }

    fn with_step(&self, step: Step) -> Self {
        self.0.iter().cloned().chain([step]).collect()
    }

    /// The steps from the whole file to this field.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The key of this value; `None` for an entry of a list.
    pub(crate) fn last_key(&self) -> Option<&str> {
        match self.0.last() {
            Some(Step::Key(key)) => Some(key),
            Some(Step::Index(_)) | None => None,
        }
    }
}

impl FromIterator<Step> for Field {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if place == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
