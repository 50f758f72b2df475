//! The command as users run it: the real binary in folders of its own, with made-up launchers.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod agreement;
mod backups;
mod cluster;
mod damaged;
mod deployed;
mod deployed_mpi;
mod environment;
mod evaluate;
mod events;
mod exports;
mod extremes;
mod faulty;
mod guarded;
mod guarded_mpi;
mod help;
mod house;
mod import;
mod input;
mod interrupt;
mod jobs;
mod killed;
mod made;
mod mpi;
mod nesting;
mod older;
mod outputs;
mod page;
mod preloaded;
mod pulled;
mod queue;
mod recovered;
mod remote;
mod rendered;
mod results;
mod run;
mod schedules;
mod serve;
mod serving;
mod simulated;
mod simulations;
mod slurm;
mod stages;
mod strange;
mod unmodified;
