//! Communication patterns: trees of ranks and foldings, independent of the data.

pub(crate) mod branch;
pub(crate) mod circulant;
pub(crate) mod digits;
pub(crate) mod fold;
pub(crate) mod ordered;
pub(crate) mod pairing;
pub(crate) mod post_order;
pub(crate) mod relay;
pub(crate) mod spanning;
pub(crate) mod timetable;
pub(crate) mod towards;
pub(crate) mod two_trees;
