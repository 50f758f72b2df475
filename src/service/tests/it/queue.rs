//! The queue, with made-up children: what becomes of tasks, however these end.

mod batch;
mod campaigns;
mod endings;
mod fixture;
mod order;
mod watching;
