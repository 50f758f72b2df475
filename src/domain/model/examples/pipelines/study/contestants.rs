//! The algorithms that are compared.

use model::{Call, Level, predict_best};
use schedule::{Blocks, Parameter, Parameters};

use super::Fallible;
use super::cluster::{Cluster, ELEMENT_BYTES, Entry, Outcome};

/// Two ways to pipeline, as in the paper's question, and the second way with one root instead of two.
pub(crate) const PIPELINED: [&str; 3] = ["pipelined_tree", "doubly_pipelined_tree", "dual_root"];

/// The algorithms that libraries use instead.
pub(crate) const OTHERS: [&str; 3] = ["ring", "rabenseifner", "recursive_doubling"];

/// An allreduce with the default of every parameter.
pub(crate) fn entry(id: &str) -> Fallible<Entry> {
    named(&format!("allreduce/{id}"))
}

/// An algorithm by its full name, with the default of every parameter.
pub(crate) fn named(name: &str) -> Fallible<Entry> {
    let algorithm =
        schedule::find_algorithm(name).ok_or_else(|| format!("{name} is not registered"))?;
    Ok(Entry {
        algorithm,
        parameters: Parameters::default(),
    })
}

/// The algorithm with the blocks that the pipelining lemma gives it, if it takes any.
pub(crate) fn with_lemma(cluster: &Cluster, entry: Entry, elements: u64) -> Fallible<Entry> {
    if !entry.algorithm.takes(Parameter::Blocks) {
        return Ok(entry);
    }
    let level = cluster.setting().topology.only_level(cluster.ranks());
    let rates = cluster.machine.rates(level.unwrap_or(Level::Network));
    let call = Call {
        ranks: cluster.ranks(),
        bytes: elements * ELEMENT_BYTES,
        unit_bytes: ELEMENT_BYTES,
        parameters: entry.parameters,
        ..Call::default()
    };
    let best = rates.and_then(|rates| predict_best(entry.algorithm, rates, &call));
    let best = best.ok_or_else(|| format!("{} has no closed form", entry.algorithm.id))?;
    Ok(entry.with(Blocks::Count(best.blocks)))
}

/// The time with the lemma's blocks.
pub(crate) fn run(cluster: &Cluster, id: &str, elements: u64) -> Fallible<Outcome> {
    Ok(cluster.run(with_lemma(cluster, entry(id)?, elements)?, elements)?)
}
