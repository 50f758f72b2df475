//! Who talks to whom: trees over ranks and foldings of them, apart from what travels along them.

pub(crate) mod branch;
pub(crate) mod circulant;
pub(crate) mod fold;
pub(crate) mod ordered;
pub(crate) mod post_order;
pub(crate) mod relay;
pub(crate) mod spanning;
pub(crate) mod timetable;
pub(crate) mod towards;
pub(crate) mod twin;
