//! Tests of exports through the public interface; the tests of `cli` use real libraries.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod beside;
mod c_header;
mod deploy;
mod han;
mod intelmpi;
mod json;
mod modules;
mod mpich;
mod openmpi;
mod parameters;
mod policy;
mod released;
mod sample;
mod site_rules;
mod withdrawn;
mod without_sizes;
