//! Tests of the crate `service`.

mod bed;
mod blobs;
mod publish;
mod releases;
mod versions;
