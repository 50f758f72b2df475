//! The folders of channels on disk: what `export::deploy` writes, re-derived from the database at start.
