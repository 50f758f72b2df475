//! Gathers, by contributions, ranks and mapping.

use model::Machine;
use schedule::{Blocks, Collective, Parameter};

use super::pipelines::cluster::Cluster;
use super::pipelines::contestants::named;
use super::pipelines::table::Table;
use super::pipelines::wording::{factor, microseconds, size};
use super::pipelines::{Fallible, hydra, reference};
use super::{Named, findings};
use vocabulary::Placement;

/// The document's gathers by our names: straight to the root, along its ring, along its tree, and the library's along
/// the binomial tree. The library's linear gather sends the messages of `linear`.
pub(crate) const STARS: [&str; 2] = ["linear", "linear_nonblocking"];
pub(crate) const RING: [&str; 1] = ["ring_blocking"];
pub(crate) const TREES: [&str; 2] = ["binary", "binomial"];
/// The gathers that the document describes, but left out of its results.
const LEFT_OUT: [&str; 2] = ["ring_accumulate", "binary_repeated"];

/// The document's nodes and ranks on each.
pub(crate) const NODES: u32 = 2;
const RANKS_PER_NODE: [u32; 5] = [8, 16, 32, 64, 128];
/// The same of its comparison by bytes.
pub(crate) const BY_BYTES: [u32; 3] = [8, 32, 128];

/// Bytes per rank.
pub(crate) const SHORT: u64 = 1 << 10;
pub(crate) const MIDDLING: u64 = 10 << 10;
pub(crate) const LONG: u64 = 1 << 20;
const BYTES: [u64; 5] = [SHORT, MIDDLING, 100 << 10, LONG, 4 << 20];

/// Nodes beyond the document's, with as many ranks on each as a finding about 16 ranks has.
const MANY_NODES: [u32; 6] = [1, 2, 4, 8, 16, 32];
pub(crate) const MOST_NODES: u32 = 32;
pub(crate) const RANKS_ON_MANY: u32 = 16;

/// Bytes of all ranks together.
const TOGETHER: u64 = 1 << 20;

/// The chunk size of the algorithms that take chunks.
const CHUNK: u64 = 64 << 10;

/// All gathers that neither know nodes nor have a radix.
pub(crate) fn ids() -> Vec<&'static str> {
    schedule::part_algorithms_of(Collective::Gather)
        .filter(|algorithm| !algorithm.takes(Parameter::Radix))
        .map(|algorithm| algorithm.id)
        .collect()
}

/// The gathers with which the document has results.
fn published() -> Vec<&'static str> {
    STARS.into_iter().chain(RING).chain(TREES).collect()
}

/// The seconds of a gather of `bytes` per rank.
pub(crate) fn seconds(cluster: &Cluster, id: &str, bytes: u64) -> Fallible<f64> {
    let entry = named(&format!("gather/{id}"))?;
    let entry = if entry.algorithm.takes(Parameter::Blocks) {
        entry.with(Blocks::Size(CHUNK))
    } else {
        entry
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

/// The time of some gathers divided by that of others, of each the best.
pub(crate) fn ratio(cluster: &Cluster, [slow, fast]: [&[&str]; 2], bytes: u64) -> Fallible<f64> {
    Ok(best(cluster, slow, bytes)? / best(cluster, fast, bytes)?)
}

/// The best time of the document's other gathers divided by the best time of these.
pub(crate) fn lead(cluster: &Cluster, of: &[&str], bytes: u64) -> Fallible<f64> {
    let others: Vec<_> = published()
        .into_iter()
        .filter(|id| !of.contains(id))
        .collect();
    ratio(cluster, [&others, of], bytes)
}

/// The seconds of the gathers along the binary tree of all chunks, each of which begins when all ranks have finished the
/// one before.
pub(crate) fn runs_apart(cluster: &Cluster, bytes: u64) -> Fallible<f64> {
    let runs = bytes / CHUNK;
    Ok(runs as f64 * seconds(cluster, "binary", CHUNK)?)
}

/// Both machines with numbers of ranks on the document's nodes, in block order.
pub(crate) fn set_ups() -> Fallible<Vec<Named>> {
    let mut all = Vec::new();
    for machine in [hydra()?, reference()?] {
        all.extend(BY_BYTES.map(|ranks| {
            let name = format!("{}, {NODES}x{ranks}", machine.name);
            (name, Cluster::new(&machine, NODES, ranks))
        }));
    }
    Ok(all)
}

fn found() -> Fallible<Table> {
    let gap = |at: &Cluster, bytes| ratio(at, [&STARS, &TREES], bytes);
    findings(
        &set_ups()?,
        &[
            ("1 KiB: trees win", "best linear/best tree", &|at| {
                gap(at, SHORT)
            }),
            ("1 KiB: binary beats linear", "linear/binary", &|at| {
                ratio(at, [&["linear"], &["binary"]], SHORT)
            }),
            (
                "1 KiB: binomial is the best",
                "best other/binomial",
                &|at| lead(at, &["binomial"], SHORT),
            ),
            ("1 KiB: the ring loses to linear", "ring/linear", &|at| {
                ratio(at, [&RING, &["linear"]], SHORT)
            }),
            (
                "10 KiB: the gap shrinks",
                "linear/tree, 1 KiB/10 KiB",
                &|at| Ok(gap(at, SHORT)? / gap(at, MIDDLING)?),
            ),
            (
                "1 MiB: linear is competitive",
                "best tree/best linear",
                &|at| ratio(at, [&TREES, &STARS], LONG),
            ),
            ("1 MiB: the ring does not win", "ring/best other", &|at| {
                Ok(1.0 / lead(at, &RING, LONG)?)
            }),
            ("1 MiB: binary beats binomial", "binomial/binary", &|at| {
                ratio(at, [&["binomial"], &["binary"]], LONG)
            }),
            (
                "1 MiB: chunks do not help",
                "binary_repeated/binary",
                &|at| ratio(at, [&["binary_repeated"], &["binary"]], LONG),
            ),
            (
                "the same, each run after the last",
                "runs of binary/binary",
                &|at| Ok(runs_apart(at, LONG)? / seconds(at, "binary", LONG)?),
            ),
        ],
    )
}

/// The times on increasing numbers of ranks, in block order.
fn scaling(ids: &[&str], clusters: &[Cluster], bytes: impl Fn(u32) -> u64) -> Fallible<Table> {
    let mut header = vec!["algorithm".to_owned()];
    let shape = |cluster: &Cluster| format!("{}x{} us", cluster.nodes, cluster.ranks_per_node);
    header.extend(clusters.iter().map(shape));
    header.push("last/first".to_owned());
    let mut table = Table::new(1, &header);
    for id in ids {
        let mut times = Vec::new();
        for cluster in clusters {
            times.push(seconds(cluster, id, bytes(cluster.ranks()))?);
        }
        let growth = times[times.len() - 1] / times[0];
        let cells = times.into_iter().map(microseconds).chain([factor(growth)]);
        table.row(std::iter::once((*id).to_owned()).chain(cells).collect());
    }
    Ok(table)
}

/// A ratio between two gathers: the slower one if it is above 1, and the other one.
type Pair = (&'static str, &'static str);

/// Ratios of times by ranks and bytes, on both machines.
fn ratios(pairs: &[Pair], sizes: &[u64]) -> Fallible<Table> {
    let mut header = vec!["ratio".to_owned(), "bytes a rank".to_owned()];
    let set_ups = set_ups()?;
    header.extend(set_ups.iter().map(|(name, _)| name.clone()));
    let mut table = Table::new(2, &header);
    for (slow, fast) in pairs {
        for bytes in sizes {
            let mut cells = vec![format!("{slow}/{fast}"), size(*bytes)];
            for (_, at) in &set_ups {
                cells.push(factor(ratio(at, [&[slow], &[fast]], *bytes)?));
            }
            table.row(cells);
        }
    }
    Ok(table)
}

/// The time in cyclic order divided by the time in block order.
pub(crate) fn by_mapping(machine: &Machine, id: &str, bytes: u64) -> Fallible<f64> {
    let cluster = Cluster::new(machine, MOST_NODES, RANKS_ON_MANY);
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
    let on_two = RANKS_PER_NODE.map(|ranks| Cluster::new(&hydra, NODES, ranks));
    let on_many = MANY_NODES.map(|nodes| Cluster::new(&hydra, nodes, RANKS_ON_MANY));
    let described: Vec<_> = published().into_iter().chain(LEFT_OUT).collect();
    let weak = |bytes| scaling(&described, &on_two, |_| bytes);
    let sections = [
        "Donninelli (Gather operation using p2p communication) compared gathers on two nodes of the cluster ORFEO with AMD \
         EPYC processors: 16 to 256 processes, spread evenly over both nodes and mapped by core; averages of 10 to \
         10 000 repetitions after a warm-up, beside Open MPI's linear and binomial gathers. His gathers, and their names \
         here: straight to the root, which receives in rank order (linear) or posts all receives (linear_nonblocking); a \
         ring, each rank of which receives one contribution into its only buffer and sends it on, in turn \
         (ring_blocking); a binary tree (binary). A ring that accumulates (ring_accumulate) and the tree in chunks, run \
         once for each (binary_repeated), are described, but left out of his results: the chunks did not perform well. \
         A ring with buffered sends, which overlaps both, failed on his machine.\n\n\
         He found, with the same bytes of each process on more processes, which is *weak scaling*: at 1 KB trees scale, \
         only the library's binomial tree is better than his, ring and straight gather are close to each other and \
         slower than the library's linear one; at 10 KB the gap shrinks; at 1 MB linear gathers are competitive. With \
         more bytes on the same 16, 64 or 256 processes, which he calls strong scaling: on 16 the straight gather is \
         good, the ring is not, and the binary tree beats the binomial one, with an oddity beyond 1 MB that was suspected \
         to come from splitting; on 64 and 256 the same with less difference. Open MPI's linear gather sends the \
         messages of his straight one, so why it is faster cannot be simulated; its binomial one is binomial here."
            .to_owned(),

        format!("## 1. Do the simulations say the same?\n\n\
             Ratios of simulated times on 2 nodes in block order; above 1 the simulation agrees. Trees are binary and \
             binomial, linear are linear and linear_nonblocking, the ring is ring_blocking. Chunks have 64 KiB. In the \
             last row each run of the tree begins when all ranks have finished the one before.\n\n{}\n\
             The findings on trees and linear gathers hold: of 1 KiB a rank the best tree takes 0.69, 0.53 and 0.46 \
             times as long as the best linear gather on 2x8, 2x32 and 2x128 of hydra, of 1 MiB as long. binomial is the \
             best but on 2x8 of reference, where binary is 3 % faster. The ring does not win; that it is close to the \
             linear gather at 1 KiB holds less well, it takes a third to a half longer.\n\n\
             Two findings do not reproduce. Of 1 MiB binary does not beat binomial: it takes 1.5 to 1.9 times as long on \
             hydra and 1.4 to 1.8 times on reference. This fits the suspicion that the library's way of splitting \
             messages was the cause, and does not prove it: the simulation has no such splitting. And chunks help: \
             although each rank sends a chunk before it receives the next one, its children collect their next chunk \
             meanwhile. If nothing of a run overlapped the next one, chunks would gain nothing and cost up to 2 %. What the \
             document's program did between runs is not known here.",
            found()?
        ),
        format!(
            "## 2. Weak scaling: the same contribution of each rank\n\n\
             On hydra, block placement. In every gather the root's port receives (p-1) m bytes; what algorithms differ \
             in is the rest. Of 1 KiB a rank, taking a message costs the root more than its bytes, and the root of a \
             binomial tree takes L messages instead of p-1. Of 1 MiB that is nothing, and all that keep the root's \
             port busy all the time are equally fast: linear and binomial are within a percent. The root of a \
             binomial tree receives what other children have while the last one still collects the other half, in all \
             (p-1) m; in a binary tree both children collect halves before they send them, level by level, in all \
             about 2 p m. The root of the blocking ring waits for its neighbour in every second step if messages are too \
             long to be eager, from 10 KiB on.\n\n\
             1 KiB a rank:\n\n{}\n10 KiB a rank:\n\n{}\n1 MiB a rank:\n\n{}",
            weak(SHORT)?,
            weak(MIDDLING)?,
            weak(LONG)?
        ),
        format!(
            "## 3. By bytes, on the same ranks\n\n\
             What the document calls strong scaling. On 16 ranks as on more, the linear gather is good from 10 KiB on \
             hydra and 100 KiB on reference, and the ring is not. binary is ahead of binomial at 1 KiB on 2x8 of \
             reference alone, and nothing happens beyond 1 MiB. binomial gains on binary as the \
             ranks increase; in the document binary's lead became smaller.\n\n{}",
            ratios(
                &[
                    ("ring_blocking", "linear"),
                    ("linear", "binary"),
                    ("binomial", "binary"),
                    ("binary_repeated", "binary"),
                ],
                &BYTES
            )?
        ),
        format!(
            "## 4. What overlap is worth\n\n\
             ring receives a contribution while it sends the one before, binary_chunked a chunk; ring_blocking and \
             binary_repeated do one after the other, as in the document. Of 1 MiB the ring with overlap is as fast as \
             linear, the one without takes nearly twice as long; of 1 KiB, which is eager, both are the same. The \
             simulation is kind to the ring with overlap: a rank passes on what has arrived without any cost but its ports' time, and is never late, \
             which p-1 ranks one after the other will hardly be on a real machine. For trees in chunks it hardly \
             matters: a child of the root needs twice the time of its half to receive and to send it, and in that time \
             the root receives both halves.\n\n{}",
            ratios(
                &[
                    ("ring_blocking", "ring"),
                    ("ring", "linear"),
                    ("binary_repeated", "binary_chunked"),
                    ("binary", "binary_chunked"),
                    ("binary_chunked", "linear"),
                ],
                &[SHORT, LONG]
            )?
        ),
        format!(
            "## 5. Beyond the document: the same total on more nodes\n\n\
             On hydra, block placement, 1 MiB at the root whatever the number of ranks, 16 of them on each node. The \
             binomial tree hardly notices more ranks; linear gathers and rings pay for a message more with each. On 16 \
             nodes a contribution has 4 KiB and is eager, so the blocking ring is as fast as the other one from there \
             on.\n\n{}",
            scaling(&ids(), &on_many, |ranks| TOGETHER / u64::from(ranks))?
        ),
        format!(
            "## 6. Beyond the document: mapping\n\n\
             The time with neighbours on different nodes divided by that with neighbours on one node, on 32 nodes \
             of 16 ranks. Straight to the root it hardly matters: as many ranks are on other nodes. For trees and \
             rings it does on reference, where one rank nearly fills the link that its node's ranks share: with \
             neighbours on different nodes, all of a node's ranks pass on what others contributed, over that link; \
             less so where chunks overlap. Then linear gathers are the fastest of 1 MiB. On hydra links are not full, \
             and mapping moves trees by a few percent.\n\n{}",
            mapping()?
        ),
    ];
    Ok(super::report(
        "gather",
        "Gathers: trees, rings and straight to the root",
        &sections,
    ))
}
