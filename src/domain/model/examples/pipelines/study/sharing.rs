//! One rank on a node compared with several that share the node's link.

use model::Machine;

use super::cluster::Cluster;
use super::contestants::{OTHERS, PIPELINED, run};
use super::table::Table;
use super::wording::{factor, greatest, least, length, list, microseconds};
use super::{Answer, Fallible, hydra, reference};

/// Ranks on each of the nodes.
pub(crate) const RANKS_PER_NODE: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Lengths of vectors in elements.
const ELEMENTS: [u64; 3] = [1 << 10, 1 << 18, 1 << 23];

const NODES: u32 = 36;

/// One algorithm with one length, on more and more ranks.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    machine: String,
    pub(crate) id: &'static str,
    pub(crate) elements: u64,
    /// Seconds for each of [`RANKS_PER_NODE`].
    pub(crate) shared: Vec<f64>,
    /// The seconds if every rank had its own link.
    pub(crate) alone: Vec<f64>,
}

impl Row {
    pub(crate) fn new(machine: &Machine, id: &'static str, elements: u64) -> Fallible<Self> {
        let mut unshared = machine.clone();
        unshared.injection_beta = None;
        let seconds = |either: &Machine| -> Fallible<Vec<f64>> {
            let clusters = RANKS_PER_NODE.map(|ranks| Cluster::new(either, NODES, ranks));
            let times = clusters.iter().map(|cluster| run(cluster, id, elements));
            times.map(|time| Ok(time?.seconds)).collect()
        };
        Ok(Self {
            machine: machine.name.clone(),
            id,
            elements,
            shared: seconds(machine)?,
            alone: seconds(&unshared)?,
        })
    }

    pub(crate) fn cells(&self) -> Vec<String> {
        let names = [&self.machine, &length(self.elements), self.id].map(str::to_owned);
        let times = self.shared.iter().map(|seconds| microseconds(*seconds));
        let end = [self.growth(), self.slow_down()].map(factor);
        names.into_iter().chain(times).chain(end).collect()
    }

    /// The time with the most ranks on a node divided by that with one.
    fn growth(&self) -> f64 {
        self.last() / self.shared.first().copied().unwrap_or(f64::NAN)
    }

    /// The largest factor by which sharing lengthens the time.
    fn slow_down(&self) -> f64 {
        let ratios = self.shared.iter().zip(&self.alone);
        ratios
            .map(|(shared, alone)| shared / alone)
            .fold(1.0, f64::max)
    }

    fn last(&self) -> f64 {
        self.shared.last().copied().unwrap_or(f64::NAN)
    }
}

fn rows(machine: &Machine) -> Fallible<Vec<Row>> {
    let ids: Vec<_> = PIPELINED.into_iter().chain(OTHERS).collect();
    let pairs = ELEMENTS
        .iter()
        .flat_map(|elements| ids.iter().map(|id| (*id, *elements)));
    pairs
        .map(|(id, elements)| Row::new(machine, id, elements))
        .collect()
}

/// Sentences on the longest vector.
fn of_longest(rows: &[Row]) -> Fallible<String> {
    let longest = ELEMENTS[ELEMENTS.len() - 1];
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| row.elements == longest)
        .cloned()
        .collect();
    let first = |row: &Row| row.shared[0];
    let [one, most] = [least(&rows, first), least(&rows, Row::last)];
    let (one, most) = (one.ok_or("no rows")?, most.ok_or("no rows")?);
    let pipelines: Vec<_> = rows
        .iter()
        .filter(|row| PIPELINED.contains(&row.id))
        .cloned()
        .collect();
    let growth = greatest(&pipelines, Row::growth).ok_or("no rows")?;
    let pipeline = least(&pipelines, Row::last).ok_or("no rows")?;
    let ranks = RANKS_PER_NODE[RANKS_PER_NODE.len() - 1];
    let winners = if one.id == most.id {
        format!("{} is fastest with 1 rank a node and with {ranks}", one.id)
    } else {
        format!(
            "{} is fastest with 1 rank a node and {} with {ranks}",
            one.id, most.id
        )
    };
    Ok(format!(
        "{winners}, and {} is the fastest pipeline with {ranks}; the pipelines take up to {} times as \
         long with {ranks} as with 1 ({})",
        pipeline.id,
        factor(growth.growth()),
        growth.id
    ))
}

/// The algorithms that the shared link delays by more than 1 % in any case.
fn delayed(rows: &[Row]) -> String {
    let ids = PIPELINED.into_iter().chain(OTHERS);
    let slow = |id: &&str| {
        let mut of = rows.iter().filter(|row| row.id == *id);
        of.any(|row| row.slow_down() > 1.01)
    };
    list(&ids.filter(slow).collect::<Vec<_>>())
}

pub(crate) fn answer() -> Fallible<Answer> {
    let (on_hydra, on_reference) = (rows(&hydra()?)?, rows(&reference()?)?);
    let mut header = vec!["machine".to_owned(), "vector".into(), "algorithm".into()];
    header.extend(RANKS_PER_NODE.map(|ranks| format!("{NODES}x{ranks} us")));
    header.extend(["last/first".to_owned(), "by sharing".into()]);
    let mut table = Table::new(3, &header);
    for row in on_hydra.iter().chain(&on_reference) {
        table.row(row.cells());
    }
    let longest = length(ELEMENTS[ELEMENTS.len() - 1]);
    let all: Vec<_> = on_hydra.iter().chain(&on_reference).cloned().collect();
    let worst = greatest(&all, Row::slow_down).ok_or("no rows")?;
    let summary = format!(
        "Of {longest} on 36 nodes of hydra, {}; the shared link delays {} by more than 1 %.",
        of_longest(&on_hydra)?,
        delayed(&on_hydra)
    );
    let sentences = format!(
        "{summary} On the reference machine, {}; the shared link delays {} there. It costs most on {}, \
         {} of {}: {} times the time without sharing.",
        of_longest(&on_reference)?,
        delayed(&on_reference),
        worst.machine,
        worst.id,
        length(worst.elements),
        factor(worst.slow_down())
    );
    let body = format!(
        "Nodes are filled by core; all ranks of a node share its link in either direction. Every rank \
         has a vector of its own, so more ranks reduce more data. *by sharing*: the time with the shared \
         link divided by that with a link for every rank, where it is largest. Pipelines have the lemma's \
         blocks.\n\n{table}"
    );
    Ok(Answer {
        question: "One or several ranks on a node?",
        summary,
        sentences,
        body,
    })
}
