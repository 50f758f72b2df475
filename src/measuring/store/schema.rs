//! The versions of the file format.

use sqlite::FileFormat;

/// The format of stores, whose mark is "clln", for colltune.
pub(crate) const FORMAT: FileFormat = FileFormat {
    application_id: i32::from_be_bytes(*b"clln"),
    migrations: &[
        include_str!("schema/1.sql"),
        include_str!("schema/2.sql"),
        include_str!("schema/3.sql"),
        include_str!("schema/4.sql"),
        include_str!("schema/5.sql"),
        include_str!("schema/6.sql"),
        include_str!("schema/7.sql"),
    ],
};
