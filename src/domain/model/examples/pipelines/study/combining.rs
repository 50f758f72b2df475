//! The three pipelines as combining becomes slower relative to sending.

use model::Level;
use schedule::{Blocks, Cost};

use super::cluster::Cluster;
use super::contestants::{PIPELINED, entry, run};
use super::table::Table;
use super::wording::{factor, greatest, length, list, microseconds};
use super::{Answer, Fallible, hydra};

/// Gamma divided by beta.
pub(crate) const RATIOS: [f64; 6] = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0];

/// A medium and a long vector, in elements.
pub(crate) const ELEMENTS: [u64; 2] = [1 << 16, 1 << 23];

/// Ranks of the paper.
const RANKS: u32 = 288;

/// The cost of a byte of a long vector once the pipeline is full, in multiples of beta.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steady {
    /// `c2 + g2 gamma/beta`.
    pub(crate) expected: f64,
    pub(crate) simulated: f64,
}

/// For a start-up time of nothing and one level, so that only the steady state counts: the time that
/// more blocks of the same size add.
pub(crate) fn steady(id: &str, ratio: f64) -> Fallible<Steady> {
    const BETA: f64 = 1e-9;
    const BLOCK: u64 = 1000;
    let cluster = Cluster::flat(RANKS, 0.0, BETA, ratio * BETA);
    let entry = entry(id)?;
    let Some(Cost::Pipelined { lemma, .. }) = entry.algorithm.cost(RANKS) else {
        return Err(format!("{id} has no closed form").into());
    };
    let seconds = |blocks: u32| -> Fallible<f64> {
        let with = entry.with(Blocks::Count(blocks));
        Ok(cluster.run(with, BLOCK * u64::from(blocks))?.seconds)
    };
    let bytes = (100 * BLOCK * super::cluster::ELEMENT_BYTES) as f64;
    Ok(Steady {
        expected: lemma.c2 as f64 + lemma.g2 as f64 * ratio,
        simulated: (seconds(200)? - seconds(100)?) / (bytes * BETA),
    })
}

/// The paper's machine with another gamma.
pub(crate) fn hydra_with(ratio: f64) -> Fallible<Cluster> {
    let mut machine = hydra()?;
    let network = machine.link(Level::Network).ok_or("no network")?;
    machine.gamma = Some(ratio * network.beta);
    Ok(Cluster::new(&machine, 36, 8))
}

/// The times of the three with the lemma's blocks, in the order of [`PIPELINED`].
pub(crate) fn times(ratio: f64, elements: u64) -> Fallible<[f64; 3]> {
    let cluster = hydra_with(ratio)?;
    let mut times = [0.0; 3];
    for (time, id) in times.iter_mut().zip(PIPELINED) {
        *time = run(&cluster, id, elements)?.seconds;
    }
    Ok(times)
}

/// The algorithms in the order of their times, the fastest first.
pub(crate) fn order(times: [f64; 3]) -> [&'static str; 3] {
    let mut order = [0, 1, 2];
    order.sort_by(|a, b| times[*a].total_cmp(&times[*b]));
    order.map(|index: usize| PIPELINED[index])
}

pub(crate) fn cells(elements: u64, ratio: f64, times: [f64; 3]) -> Vec<String> {
    let [pipelined, doubly, dual] = times;
    let mut cells = vec![length(elements), factor(ratio)];
    cells.extend(times.map(microseconds));
    cells.extend([pipelined / dual, pipelined / doubly, dual / doubly].map(factor));
    cells.push(order(times)[0].to_owned());
    cells
}

/// The ratio from which on the first of two is slower, if it is faster without combining and slower
/// at the largest ratio.
pub(crate) fn crossing(first: usize, second: usize, elements: u64) -> Fallible<Option<f64>> {
    let is_faster = |ratio| -> Fallible<bool> {
        let times = times(ratio, elements)?;
        Ok(times[first] < times[second])
    };
    let (mut low, mut high) = (RATIOS[0], RATIOS[RATIOS.len() - 1]);
    if !is_faster(low)? || is_faster(high)? {
        return Ok(None);
    }
    while high - low > 0.005 {
        let middle = (low + high) / 2.0;
        if is_faster(middle)? {
            low = middle
        } else {
            high = middle
        }
    }
    Ok(Some((low + high) / 2.0))
}

/// The steady states of all, and the largest difference between the simulation and the closed form.
fn steady_states() -> Fallible<(Table, f64)> {
    let mut header = vec!["gamma/beta".to_owned()];
    for id in PIPELINED {
        header.extend([format!("{id}: closed form"), "simulated".to_owned()]);
    }
    let mut table = Table::new(0, &header);
    let mut deviations = Vec::new();
    for ratio in RATIOS {
        let mut cells = vec![factor(ratio)];
        for id in PIPELINED {
            let steady = steady(id, ratio)?;
            cells.extend([factor(steady.expected), factor(steady.simulated)]);
            deviations.push((steady.simulated / steady.expected - 1.0).abs());
        }
        table.row(cells);
    }
    let deviation = greatest(&deviations, |deviation| *deviation).ok_or("no rows")?;
    Ok((table, *deviation))
}

const HEADER: [&str; 9] = [
    "vector",
    "gamma/beta",
    "pipelined_tree us",
    "doubly_pipelined_tree us",
    "dual_root us",
    "pipelined/dual",
    "pipelined/doubly",
    "dual/doubly",
    "fastest",
];

/// The winners at the ratios, in a sentence.
fn winners(of_length: &[(f64, [f64; 3])]) -> String {
    let mut parts: Vec<(&str, Vec<String>)> = Vec::new();
    for (ratio, times) in of_length {
        let winner = order(*times)[0];
        match parts.last_mut() {
            Some((same, ratios)) if *same == winner => ratios.push(ratio.to_string()),
            _ => parts.push((winner, vec![ratio.to_string()])),
        }
    }
    let parts = parts.iter().map(|(winner, ratios)| {
        let ratios: Vec<_> = ratios.iter().map(String::as_str).collect();
        format!("{winner} at gamma/beta = {}", list(&ratios))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn crossing_phrase(first: usize, second: usize, elements: u64) -> Fallible<String> {
    let [one, other] = [PIPELINED[first], PIPELINED[second]];
    Ok(match crossing(first, second, elements)? {
        Some(ratio) => format!("{one} is faster than {other} up to gamma/beta of about {ratio:.2}"),
        None => {
            let [low, high] = [RATIOS[0], RATIOS[RATIOS.len() - 1]];
            let words = |ratio| -> Fallible<&str> {
                let times = times(ratio, elements)?;
                Ok(if times[first] < times[second] {
                    "faster"
                } else {
                    "not faster"
                })
            };
            format!(
                "{one} is {} than {other} at gamma/beta = {low} and {} at {high}",
                words(low)?,
                words(high)?
            )
        }
    })
}

/// The ratio at which two steady states cost the same.
fn expected_crossing(one: &str, other: &str) -> Fallible<f64> {
    let lemma = |id: &str| -> Fallible<_> {
        match entry(id)?.algorithm.cost(RANKS) {
            Some(Cost::Pipelined { lemma, .. }) => Ok(lemma),
            _ => Err(format!("{id} has no closed form").into()),
        }
    };
    let (one, other) = (lemma(one)?, lemma(other)?);
    Ok((other.c2 - one.c2) as f64 / (one.g2 - other.g2) as f64)
}

pub(crate) fn answer() -> Fallible<Answer> {
    let (steady, deviation) = steady_states()?;
    let expected = expected_crossing("dual_root", "pipelined_tree")?;
    let mut table = Table::new(1, &HEADER);
    let (mut sentences, mut summary) = (Vec::new(), String::new());
    for elements in ELEMENTS {
        let mut rows = Vec::new();
        for ratio in RATIOS {
            let times = times(ratio, elements)?;
            table.row(cells(elements, ratio, times));
            rows.push((ratio, times));
        }
        let dual_and_single = crossing_phrase(2, 0, elements)?;
        sentences.push(format!(
            "Of {}, the fastest is {}; {dual_and_single}, and {}.",
            length(elements),
            winners(&rows),
            crossing_phrase(2, 1, elements)?
        ));
        summary = format!(
            "Of {} on 288 ranks, the fastest is {}; {dual_and_single} (by the steady state of the closed \
             form, {expected:.2}).",
            length(elements),
            winners(&rows)
        );
    }
    sentences.push(format!(
        "The closed form expects dual_root and pipelined_tree to change places at gamma/beta = \
         {expected:.2}, and doubly_pipelined_tree to be first whenever combining takes time; its steady \
         state and the simulated one differ by {:.0e} at most.",
        deviation.max(1e-15)
    ));
    let body = format!(
        "The cost of a byte in the steady state, in multiples of beta: what 100 more blocks of the same \
         size add on 288 ranks of a flat machine without start-up times. The closed form is `c2 + g2 \
         gamma/beta` with the constants of the pipelining lemma.\n\n{steady}\n\
         On 36 nodes of 8 ranks of the machine hydra, whose gamma is replaced by multiples of the \
         network's beta, with the lemma's blocks:\n\n{table}"
    );
    Ok(Answer {
        question: "Which pipeline wins as combining becomes slower?",
        summary,
        sentences: sentences.join(" "),
        body,
    })
}
