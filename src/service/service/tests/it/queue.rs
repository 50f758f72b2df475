//! The queue with fake child processes: the states of tasks for all endings of the children.

mod agents;
mod batch;
mod campaigns;
mod endings;
mod fixture;
mod order;
mod scheduled;
mod table_tasks;
mod watching;
