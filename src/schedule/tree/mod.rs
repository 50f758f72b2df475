//! Who talks to whom: trees over ranks, apart from what travels along them.

pub(crate) mod binomial;
pub(crate) mod ordered;
pub(crate) mod post_order;
pub(crate) mod relay;
pub(crate) mod spanning;
pub(crate) mod towards;
