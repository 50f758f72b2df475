//! Tests of exports through the public interface; real libraries have their say in `cli`.

mod c_header;
mod deploy;
mod json;
mod mpich;
mod openmpi;
mod policy;
mod released;
mod sample;
