//! Tests of the crate `agent`: an agent and a service, each in a folder of its own, with a proxy between them.

mod bed;
mod cuts;
mod tasks;
