//! Which characters a text may show, and texts without the others.
//!
//! Terminals, editors and browsers obey some characters instead of showing them, and show nothing for others. Texts from
//! files, programs and networks leave colltune only with such characters escaped, in messages, JSON, Markdown, HTML and
//! logs alike; names that may not have them are refused by the same rule, [`is_unprintable`].

mod quote;
mod unprintable;

pub use quote::{MOST_QUOTED, Plain, on_one_line, quoted, shortened};
pub use unprintable::is_unprintable;
