//! Carries out tasks as child processes.
