//! Two ways to fold the ranks to a power of two.

use model::{Level, Line, Machine, PostAhead};
use schedule::Cost;

use super::changed;
use super::pipelines::cluster::Cluster;
use super::pipelines::contestants::named;
use super::pipelines::table::Table;
use super::pipelines::wording::{factor, length};
use super::pipelines::{Fallible, hydra, reference};
use vocabulary::Placement;

/// Nodes and ranks per node, with one level and with two; no total is a power of two.
pub(crate) const ONE_LEVEL: [(u32, u32); 4] = [(1, 3), (1, 12), (3, 1), (36, 1)];
const TWO_LEVELS: [(u32, u32); 2] = [(3, 8), (36, 8)];

/// Lengths of vectors in elements.
const ELEMENTS: [u64; 7] = [1, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 18, 1 << 23];

/// Factors by which an exchange takes longer than a message in one direction.
pub(crate) const EXCHANGES: [f64; 5] = [1.0, 1.1, 1.25, 1.5, 2.0];

/// A long vector.
pub(crate) const LONG: u64 = 1 << 23;

const KINDS: [&str; 2] = ["reduce/rabenseifner_unbalanced", "reduce/rabenseifner"];

/// The time of the unbalanced fold divided by that of the balanced one.
pub(crate) fn gain(cluster: &Cluster, elements: u64) -> Fallible<f64> {
    let mut seconds = [0.0; 2];
    for (time, name) in seconds.iter_mut().zip(KINDS) {
        *time = cluster.run(named(name)?, elements)?.seconds;
    }
    Ok(seconds[0] / seconds[1])
}

/// The same by the closed forms, for vectors so long that start-ups do not matter.
pub(crate) fn expected(ranks: u32, gamma_to_beta: f64) -> Fallible<f64> {
    let mut times = [0.0; 2];
    for (time, name) in times.iter_mut().zip(KINDS) {
        let Some(Cost::Fixed {
            moved, combined, ..
        }) = named(name)?.algorithm.cost(ranks)
        else {
            return Err(format!("{name} has no closed form").into());
        };
        *time = moved as f64 + combined as f64 * gamma_to_beta;
    }
    Ok(times[0] / times[1])
}

/// `gamma/beta` of a level.
pub(crate) fn combining(machine: &Machine, level: Level) -> Fallible<f64> {
    let gamma = machine.gamma.ok_or("no gamma")?;
    Ok(gamma / machine.link(level).ok_or("no link")?.beta)
}

/// Bytes from which on the balanced fold is expected to be faster: `2 alpha / gamma`.
pub(crate) fn break_even(machine: &Machine, level: Level) -> Fallible<f64> {
    let gamma = machine.gamma.ok_or("no gamma")?;
    Ok(2.0 * machine.link(level).ok_or("no link")?.alpha / gamma)
}

/// Bytes from which on the balanced fold is faster in simulation, found by bisection.
pub(crate) fn crossing(cluster: &Cluster) -> Fallible<u64> {
    let (mut low, mut high) = (1, LONG);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if gain(cluster, middle)? > 1.0 {
            high = middle
        } else {
            low = middle
        }
    }
    Ok(4 * high)
}

/// A machine on which no message is eager.
pub(crate) fn without_eager(machine: &Machine) -> Machine {
    changed(machine, |link| link.eager_limit = None)
}

/// A machine on which messages take `factor` times as long while two ranks exchange them.
pub(crate) fn with_exchanges(machine: &Machine, factor: f64) -> Machine {
    changed(machine, |link| {
        let line = link.line_for_size(0);
        link.lines = vec![Line {
            exchange: Some(factor),
            ..line
        }];
    })
}

fn against_the_formula() -> Fallible<Table> {
    let header = [
        "machine",
        "ranks",
        "gamma/beta",
        "gain of 32 MiB: formula",
        "simulated",
        "gains from: formula",
        "simulated, none eager",
        "simulated",
    ];
    let mut table = Table::new(2, &header);
    for machine in [hydra()?, reference()?] {
        let none_eager = without_eager(&machine);
        for (nodes, ranks) in ONE_LEVEL {
            let level = Level::of_nodes(nodes);
            let on = |either| Cluster::new(either, nodes, ranks);
            let ratio = combining(&machine, level)?;
            table.row(vec![
                machine.name.clone(),
                format!("{nodes}x{ranks}"),
                factor(ratio),
                factor(expected(nodes * ranks, ratio)?),
                factor(gain(&on(&machine), LONG)?),
                format!("{:.0} B", break_even(&machine, level)?),
                format!("{} B", crossing(&on(&none_eager))?),
                format!("{} B", crossing(&on(&machine))?),
            ]);
        }
    }
    Ok(table)
}

fn gains() -> Fallible<Table> {
    let placed = |placement| TWO_LEVELS.map(|(nodes, ranks)| (nodes, ranks, placement));
    let mut header = vec!["machine".to_owned(), "vector".into()];
    let mut shapes = ONE_LEVEL
        .map(|(nodes, ranks)| (nodes, ranks, Placement::Block))
        .to_vec();
    header.extend(ONE_LEVEL.map(|(nodes, ranks)| format!("{nodes}x{ranks}")));
    for placement in Placement::ALL {
        shapes.extend(placed(placement));
        header.extend(TWO_LEVELS.map(|(nodes, ranks)| format!("{nodes}x{ranks}, {placement}")));
    }
    let mut table = Table::new(2, &header);
    for machine in [hydra()?, reference()?] {
        for elements in ELEMENTS {
            let mut cells = vec![machine.name.clone(), length(elements)];
            for (nodes, ranks, placement) in &shapes {
                let cluster = Cluster::new(&machine, *nodes, *ranks).placed(*placement);
                cells.push(factor(gain(&cluster, elements)?));
            }
            table.row(cells);
        }
    }
    Ok(table)
}

fn exchanges() -> Fallible<Table> {
    let mut header = vec!["machine".to_owned(), "ranks".into()];
    header.push("even at d of: formula".to_owned());
    header.extend(EXCHANGES.map(|times| format!("d = {times:.2}")));
    let mut table = Table::new(2, &header);
    for machine in [hydra()?, reference()?] {
        for (nodes, ranks) in [(1, 12), (36, 1)] {
            let ratio = combining(&machine, Level::of_nodes(nodes))?;
            let mut cells = vec![machine.name.clone(), format!("{nodes}x{ranks}")];
            cells.push(factor(1.0 + ratio));
            for times in EXCHANGES {
                let cluster = Cluster::new(&with_exchanges(&machine, times), nodes, ranks);
                cells.push(factor(gain(&cluster, LONG)?));
            }
            table.row(cells);
        }
    }
    Ok(table)
}

/// The gains on 3 nodes of 8 ranks of the reference machine in cyclic order, with shared links and without.
pub(crate) fn by_sharing() -> Fallible<[f64; 2]> {
    let shared = reference()?;
    let alone = Machine {
        injection_beta: None,
        injection_gap: None,
        rails: None,
        post_ahead: PostAhead::None,
        ..shared.clone()
    };
    let of = |machine: &Machine| gain(&Cluster::new(machine, 3, 8).placed(Placement::Cyclic), LONG);
    Ok([of(&shared)?, of(&alone)?])
}

pub(crate) fn report() -> Fallible<String> {
    let [shared, alone] = by_sharing()?.map(factor);
    let sections = [
        "Where the number of ranks p is not a power of two, Rabenseifner's reduce first folds r = p - P ranks away, P \
         being the next lower power of two. The classic fold sends whole vectors from r ranks to their neighbours, \
         which combine them: alpha + beta m + gamma m. The balanced fold, which Kurnosov proposed to MPICH in 2017, lets \
         the two of a pair exchange halves, combine a half each, and one hand in its half: 2 alpha + beta m + gamma \
         m/2. His comment credits it to Rabenseifner and to Thakur, Rabenseifner and Gropp (2005), after whom MPICH \
         had the classic fold. So the costs say that the time of combining in the fold halves, that of bytes does not, and that it takes a message \
         more. `rabenseifner` folds in balance, as Open MPI's reduce 7 does; `rabenseifner_unbalanced` does not, as \
         MPICH's reduce_scatter_gather. Elements have 4 bytes; a *gain* is the time of rabenseifner_unbalanced \
         divided by that of rabenseifner."
            .to_owned(),
        format!(
            "## 1. The formula, on one level\n\n\
             By the formula the balanced fold is faster from 2 alpha/gamma bytes on, and of long vectors gains what \
             (3 beta + 2 gamma) / (3 beta + 1.5 gamma) is on many ranks, and more on few. \
             The simulations agree about long vectors. They agree about where the gain begins on 3 ranks, and on \
             more if no message is eager; eager messages may move it to vectors of up to twice the length.\n\n{}",
            against_the_formula()?
        ),
        format!(
            "## 2. Gains by length, ranks and mapping\n\n\
             Short vectors lose, for there is a message more: most on 3x1, where 1 KiB takes reference 0.77 times as \
             long unbalanced. Long ones gain up to 1.09 on hydra and 1.23 on \
             reference, which combines slowly beside its links. With cyclic placement the gain is gone on \
             reference: the two of a pair are on different nodes, and in balance they send each other 1.5 m bytes \
             instead of m, over links that nodes share. Of 32 MiB on 3x8, {shared}; if no link were shared, \
             {alone}.\n\n{}",
            gains()?
        ),
        format!(
            "## 3. If an exchange costs more than a message\n\n\
             The formula counts the exchange of halves as one message of a half. If it takes d times as long as \
             a message one way, the balanced fold costs (d-1)/2 beta m more, and is even at d = 1 + gamma/beta. \
             Gains of 32 MiB; all exchanges take d times as long, also those after the fold, which are the same \
             in both. Reports on measurements say in their section on the machine what d is there. Where combining \
             is quick beside the network, as with gamma/beta = 0.05, balance gains nothing from d = 1.05 on.\n\n{}",
            exchanges()?
        ),
    ];
    Ok(super::report(
        "folding",
        "Folding to a power of two: in balance or not",
        &sections,
    ))
}
