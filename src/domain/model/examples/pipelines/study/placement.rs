//! Neighbours on one node compared with neighbours on different nodes.

use super::cluster::Cluster;
use super::contestants::{OTHERS, PIPELINED, run};
use super::table::Table;
use super::wording::{count, factor, greatest, length, microseconds, nanoseconds};
use super::{Answer, Fallible, hydra, reference};
use vocabulary::Placement;

/// Lengths of vectors in elements.
const ELEMENTS: [u64; 3] = [1 << 10, 1 << 18, 1 << 23];

/// Lengths that are simulated on many ranks.
const ELEMENTS_ON_MANY: [u64; 2] = [1 << 10, 1 << 16];

/// One algorithm on one cluster with one length.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    machine: String,
    shape: String,
    ranks: u32,
    pub(crate) id: &'static str,
    pub(crate) elements: u64,
    /// Seconds with neighbours on one node.
    pub(crate) block: f64,
    /// Seconds with neighbours on different nodes.
    pub(crate) cyclic: f64,
}

impl Row {
    pub(crate) fn new(cluster: &Cluster, id: &'static str, elements: u64) -> Fallible<Self> {
        let seconds = |placement| -> Fallible<f64> {
            Ok(run(&cluster.clone().placed(placement), id, elements)?.seconds)
        };
        Ok(Self {
            machine: cluster.machine.name.clone(),
            shape: format!("{}x{}", cluster.nodes, cluster.ranks_per_node),
            ranks: cluster.ranks(),
            id,
            elements,
            block: seconds(Placement::Block)?,
            cyclic: seconds(Placement::Cyclic)?,
        })
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.cyclic / self.block
    }

    fn is_pipeline(&self) -> bool {
        PIPELINED.contains(&self.id)
    }

    pub(crate) fn cells(&self) -> Vec<String> {
        vec![
            self.machine.clone(),
            self.shape.clone(),
            length(self.elements),
            self.id.to_owned(),
            microseconds(self.block),
            microseconds(self.cyclic),
            factor(self.ratio()),
        ]
    }
}

pub(crate) fn on_few() -> Fallible<Vec<Row>> {
    let clusters = [
        Cluster::new(&hydra()?, 36, 8),
        Cluster::new(&reference()?, 36, 8),
    ];
    let ids: Vec<_> = PIPELINED.into_iter().chain(OTHERS).collect();
    rows(&clusters, &ELEMENTS, &ids)
}

fn on_many() -> Fallible<Vec<Row>> {
    let clusters = [
        Cluster::new(&hydra()?, 12_500, 8),
        Cluster::new(&reference()?, 3125, 32),
    ];
    // A ring would send ten billion messages.
    let others = OTHERS.into_iter().filter(|id| *id != "ring");
    let ids: Vec<_> = PIPELINED.into_iter().chain(others).collect();
    rows(&clusters, &ELEMENTS_ON_MANY, &ids)
}

fn rows(clusters: &[Cluster], elements: &[u64], ids: &[&'static str]) -> Fallible<Vec<Row>> {
    let mut rows = Vec::new();
    for cluster in clusters {
        for number in elements {
            for id in ids {
                rows.push(Row::new(cluster, id, *number)?);
            }
        }
    }
    Ok(rows)
}

/// The case in which the cyclic order costs most, in words.
fn worst(rows: &[Row], of: impl Fn(&Row) -> bool) -> Fallible<String> {
    let rows: Vec<_> = rows.iter().filter(|row| of(row)).cloned().collect();
    let worst = greatest(&rows, Row::ratio).ok_or("no rows")?;
    Ok(format!(
        "{} times the time ({}, {})",
        factor(worst.ratio()),
        worst.id,
        length(worst.elements)
    ))
}

pub(crate) fn answer() -> Fallible<Answer> {
    let (few, many, reference) = (on_few()?, on_many()?, reference()?);
    let mut table = Table::new(
        4,
        &[
            "machine",
            "nodes x ranks",
            "vector",
            "algorithm",
            "by core us",
            "by node us",
            "by node/by core",
        ],
    );
    let all: Vec<_> = few.iter().chain(&many).cloned().collect();
    all.iter().for_each(|row| table.row(row.cells()));
    let gains = all.iter().filter(|row| row.ratio() < 1.0).count();
    let on = |machine: &'static str, ranks: u32| {
        move |row: &Row| row.is_pipeline() && row.machine == machine && row.ranks == ranks
    };
    let on_hydra = worst(&few, on("hydra", 288))?;
    let on_reference = worst(&few, on("reference", 288))?;
    let many_ranks = many.first().map_or(0, |row| row.ranks);
    let summary = format!(
        "Dealing the ranks to the nodes in turn costs a pipeline up to {on_hydra} on 36x8 of hydra, and \
         up to {on_reference} on 36x8 of a machine on which one rank nearly fills its node's link."
    );
    let sentences = format!(
        "{summary} On {} ranks it is up to {} on hydra and up to {} on the reference machine. By node \
         is the faster placement in {gains} of {} rows; the worst of the other algorithms takes {}.",
        count(many_ranks),
        worst(&many, on("hydra", many_ranks))?,
        worst(&many, on("reference", many_ranks))?,
        all.len(),
        worst(&all, |row| !row.is_pipeline())?
    );
    let body = format!(
        "*By core*: a node is filled before the next one. *By node*: ranks are dealt to the nodes in \
         turn, so that a message between neighbours leaves the node. The machine reference is \
         tuning/machines/reference.yaml: {} ns a byte for a rank, {} for all ranks of a node \
         together. Pipelines have the lemma's blocks.\n\n{table}",
        nanoseconds(reference.network.map(|link| link.beta)),
        nanoseconds(reference.injection_beta)
    );
    Ok(Answer {
        question: "Does it matter where the ranks are?",
        summary,
        sentences,
        body,
    })
}
