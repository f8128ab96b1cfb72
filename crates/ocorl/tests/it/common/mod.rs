//! What several tests share.

pub(crate) mod cart_pole_data;
pub(crate) mod episodes;
