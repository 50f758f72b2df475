//! Gathers, by contributions, ranks and mapping.

use model::Machine;
use schedule::{Blocks, Collective, Parameter};

use super::pipelines::cluster::Cluster;
use super::pipelines::contestants::named;
use super::pipelines::table::Table;
use super::pipelines::wording::{factor, microseconds, size};
use super::pipelines::{Fallible, hydra, reference};
use super::{findings, settings};
use vocabulary::Placement;

pub(crate) const TREES: [&str; 4] = ["binary", "binary_chunked", "binomial", "mst"];
pub(crate) const STARS: [&str; 3] = ["linear", "linear_nonblocking", "linear_sync"];
pub(crate) const RINGS: [&str; 2] = ["ring", "ring_accumulate"];

/// Nodes, with 16 ranks each.
const NODES: [u32; 6] = [1, 2, 4, 8, 16, 32];
pub(crate) const RANKS_PER_NODE: u32 = 16;
pub(crate) const MOST_NODES: u32 = 32;

/// Bytes per rank.
pub(crate) const SHORT: u64 = 1 << 10;
pub(crate) const LONG: u64 = 1 << 20;

/// Bytes of all ranks together.
const TOGETHER: u64 = 1 << 20;

/// The chunk size of the algorithms that take chunks.
const CHUNK: u64 = 64 << 10;

/// All gathers that neither know nodes nor have a radix, as in the published measurements.
pub(crate) fn ids() -> Vec<&'static str> {
    schedule::parts_of(Collective::Gather)
        .filter(|algorithm| !algorithm.takes(Parameter::Radix))
        .map(|algorithm| algorithm.id)
        .collect()
}

/// The seconds of a gather of `bytes` per rank.
pub(crate) fn seconds(cluster: &Cluster, id: &str, bytes: u64) -> Fallible<f64> {
    let entry = named(&format!("gather/{id}"))?;
    let entry = match entry.algorithm.takes(Parameter::Blocks) {
        true => entry.with(Blocks::Size(CHUNK)),
        false => entry,
    };
    let in_bytes = Cluster {
        unit_bytes: 1,
        ..cluster.clone()
    };
    Ok(in_bytes.run(entry, bytes)?.seconds)
}

/// The time of the fastest of these algorithms.
pub(crate) fn best(cluster: &Cluster, ids: &[&str], bytes: u64) -> Fallible<f64> {
    let mut best = f64::INFINITY;
    for id in ids {
        best = best.min(seconds(cluster, id, bytes)?);
    }
    Ok(best)
}

/// The best time of the other algorithms divided by the best time of these.
fn lead(cluster: &Cluster, of: &[&str], bytes: u64) -> Fallible<f64> {
    let others: Vec<_> = ids().into_iter().filter(|id| !of.contains(id)).collect();
    Ok(best(cluster, &others, bytes)? / best(cluster, of, bytes)?)
}

fn ratio(cluster: &Cluster, [slow, fast]: [&[&str]; 2], bytes: u64) -> Fallible<f64> {
    Ok(best(cluster, slow, bytes)? / best(cluster, fast, bytes)?)
}

fn found() -> Fallible<Table> {
    let few = |at: &Cluster| Cluster::new(&at.machine, 1, RANKS_PER_NODE);
    findings(
        &settings(MOST_NODES, RANKS_PER_NODE)?,
        &[
            ("1 KiB: trees win", "best linear/best tree", &|at| {
                ratio(at, [&STARS, &TREES], SHORT)
            }),
            (
                "1 KiB: binomial is the best",
                "best other/binomial",
                &|at| lead(at, &["binomial"], SHORT),
            ),
            (
                "1 MiB: linear is competitive or best",
                "best tree/best linear",
                &|at| ratio(at, [&TREES, &STARS], LONG),
            ),
            ("1 KiB: rings do not win", "best ring/best other", &|at| {
                Ok(1.0 / lead(at, &RINGS, SHORT)?)
            }),
            ("1 MiB: rings do not win", "best ring/best other", &|at| {
                Ok(1.0 / lead(at, &RINGS, LONG)?)
            }),
            (
                "16 ranks, 1 MiB: binary beats binomial",
                "binomial/binary",
                &|at| ratio(&few(at), [&["binomial"], &["binary"]], LONG),
            ),
        ],
    )
}

/// The times on increasing numbers of ranks, in block order.
fn scaling(machine: &Machine, bytes: impl Fn(u32) -> u64) -> Fallible<Table> {
    let mut header = vec!["algorithm".to_owned()];
    header.extend(NODES.map(|nodes| format!("{nodes}x{RANKS_PER_NODE} us")));
    header.push("last/first".to_owned());
    let mut table = Table::new(1, &header);
    for id in ids() {
        let mut times = Vec::new();
        for nodes in NODES {
            let cluster = Cluster::new(machine, nodes, RANKS_PER_NODE);
            times.push(seconds(&cluster, id, bytes(cluster.ranks()))?);
        }
        let growth = times[times.len() - 1] / times[0];
        let cells = times.into_iter().map(microseconds).chain([factor(growth)]);
        table.row(std::iter::once(id.to_owned()).chain(cells).collect());
    }
    Ok(table)
}

/// The time in cyclic order divided by the time in block order.
pub(crate) fn by_mapping(machine: &Machine, id: &str, bytes: u64) -> Fallible<f64> {
    let cluster = Cluster::new(machine, MOST_NODES, RANKS_PER_NODE);
    let cyclic = cluster.clone().placed(Placement::Cyclic);
    Ok(seconds(&cyclic, id, bytes)? / seconds(&cluster, id, bytes)?)
}

fn mapping() -> Fallible<Table> {
    let machines = [hydra()?, reference()?];
    let mut header = vec!["algorithm".to_owned()];
    for machine in &machines {
        header.extend([SHORT, LONG].map(|bytes| format!("{}, {}", machine.name, size(bytes))));
    }
    let mut table = Table::new(1, &header);
    for id in ids() {
        let mut cells = vec![id.to_owned()];
        for machine in &machines {
            for bytes in [SHORT, LONG] {
                cells.push(factor(by_mapping(machine, id, bytes)?));
            }
        }
        table.row(cells);
    }
    Ok(table)
}

pub(crate) fn report() -> Fallible<String> {
    let hydra = hydra()?;
    let sections = [
        "Donninelli compared gathers by trees, by rings, and straight to the root. At 1 KiB a rank trees win and \
         scale, and the library's binomial tree is the best; from about 1 MiB a rank on linear gathers are \
         competitive or the best; rings that store and forward never win; and on 16 ranks the binary tree beat the \
         library's binomial tree, which was suspected to come from how that splits messages above 1 MiB. How many \
         nodes there were is not known here, and none of the findings known here is about a total that stays the \
         same on more ranks, or about mapping: for these, sections 3 and 4 have simulations alone."
            .to_owned(),
        format!(
            "## 1. Do the simulations say the same?\n\n\
             Ratios of simulated times on 32 nodes of 16 ranks, in the last row on one node; above 1 the simulation \
             agrees. Trees are binary, binary_chunked, binomial and mst; linear are linear, linear_nonblocking and linear_sync; \
             rings are ring and ring_accumulate. Where an algorithm takes chunks, they have 64 KiB.\n\n{}\n\
             Four of the five findings hold, if linear gathers count as competitive that are 3 % behind; binomial is \
             even where mst takes the same time, and of 1 MiB on hydra a ring is less than a percent behind. That on 16 \
             ranks binary beat binomial does not hold: simulated, binomial is faster from 1 KiB to 4 MiB a rank. This \
             fits the suspicion that the library's way of splitting messages was the cause, and does not prove it: \
             the simulation has no such splitting.",
            found()?
        ),
        format!(
            "## 2. Weak scaling: the same contribution of each rank\n\n\
             On hydra, block placement. In every gather the root's port receives (p-1) m bytes; what algorithms differ \
             in is the rest. Of 1 KiB a rank, taking a message costs the root more than its bytes, and the root of a \
             binomial tree takes L messages instead of p-1. Of 1 MiB that is nothing, and all that keep the root's \
             port busy all the time are equally fast: linear, ring and binomial are within a percent. The root of a \
             binomial tree receives what other children have while the last one still collects the other half, in all \
             (p-1) m; in a binary tree both children collect halves before they send them, level by level, in all \
             about 2 p m.\n\n\
             1 KiB a rank:\n\n{}\n1 MiB a rank:\n\n{}\n\
             The simulation is kind to rings: a rank passes on what has arrived without any cost but its ports' time, \
             and is never late, which p-1 ranks one after the other will hardly be on a real machine.",
            scaling(&hydra, |_| SHORT)?,
            scaling(&hydra, |_| LONG)?
        ),
        format!(
            "## 3. Strong scaling: the same total\n\n\
             On hydra, block placement, 1 MiB at the root whatever the number of ranks. The binomial tree hardly \
             notices more ranks; linear gathers and rings pay for a message more with each.\n\n{}",
            scaling(&hydra, |ranks| TOGETHER / u64::from(ranks))?
        ),
        format!(
            "## 4. Mapping\n\n\
             The time with neighbours on different nodes divided by that with neighbours on one node, on 32 nodes \
             of 16 ranks. Straight to the root it hardly matters: as many ranks are on other nodes. For trees and \
             rings it does on reference, where one rank nearly fills the link that its node's ranks share: with \
             neighbours on different nodes, all of a node's ranks pass on what others contributed, over that link; less so where chunks overlap. Then \
             linear gathers are the fastest of 1 MiB. On hydra links are not full, and mapping moves trees by a few \
             percent.\n\n{}",
            mapping()?
        ),
    ];
    Ok(super::report(
        "gather",
        "Gathers: trees, rings and straight to the root",
        &sections,
    ))
}
