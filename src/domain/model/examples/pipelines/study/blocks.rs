//! The gain of the lemma's best block over a fixed one.

use model::{Call, Level, predict};
use schedule::{Blocks, Parameters};

use super::cluster::{Cluster, ELEMENT_BYTES, Entry, FIXED, Outcome};
use super::contestants::{PIPELINED, entry, with_lemma};
use super::table::Table;
use super::wording::{count, factor, greatest, least, length, microseconds, percent};
use super::{Answer, Fallible, hydra};

/// Lengths of vectors in elements.
pub(crate) const ELEMENTS: [u64; 8] = [
    1 << 10,
    1 << 12,
    1 << 14,
    1 << 16,
    1 << 18,
    1 << 20,
    1 << 22,
    1 << 23,
];

/// The longest vector that is simulated on many ranks: a minute's work.
const LONGEST_ON_MANY: u64 = 1 << 20;

/// The factors on the lemma's number of blocks that are tried, as powers of the square root of two.
const TRIED: std::ops::RangeInclusive<i32> = -4..=6;

/// One algorithm with one length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) elements: u64,
    pub(crate) fixed: Outcome,
    pub(crate) lemma: Outcome,
    /// The best of several numbers of blocks, where that is affordable.
    pub(crate) found: Option<Outcome>,
    /// The gain by the closed form.
    pub(crate) expected: Option<f64>,
}

impl Row {
    pub(crate) fn new(cluster: &Cluster, id: &'static str, elements: u64) -> Fallible<Self> {
        let lemma = with_lemma(cluster, entry(id)?, elements)?;
        let outcome = cluster.run(lemma, elements)?;
        let fixed = entry(id)?.with(FIXED);
        Ok(Self {
            id,
            elements,
            fixed: cluster.run(fixed, elements)?,
            lemma: outcome,
            found: None,
            expected: expected(cluster, lemma, elements),
        })
    }

    /// The same, with a search for a better number of blocks.
    pub(crate) fn searched(cluster: &Cluster, id: &'static str, elements: u64) -> Fallible<Self> {
        let mut row = Self::new(cluster, id, elements)?;
        let mut best = row.lemma;
        for power in TRIED {
            let blocks = f64::from(row.lemma.blocks) * 2_f64.powf(f64::from(power) / 2.0);
            let blocks = Blocks::Count((blocks.round() as u32).clamp(1, elements as u32));
            let outcome = cluster.run(entry(id)?.with(blocks), elements)?;
            if outcome.seconds < best.seconds {
                best = outcome;
            }
        }
        row.found = Some(best);
        Ok(row)
    }

    /// The time with fixed blocks divided by the time with the lemma's blocks.
    pub(crate) fn gain(&self) -> f64 {
        self.fixed.seconds / self.lemma.seconds
    }

    /// The share of the time that the best blocks would save.
    fn missed(&self) -> f64 {
        let found = self.found.unwrap_or(self.lemma);
        self.lemma.seconds / found.seconds - 1.0
    }

    /// Whether the best blocks are so short that their messages do not wait for receivers.
    fn is_eager(&self, cluster: &Cluster) -> bool {
        let blocks = self.found.unwrap_or(self.lemma).blocks;
        let bytes = self.elements.div_ceil(blocks.into()) * ELEMENT_BYTES;
        [Level::Node, Level::Network].into_iter().all(|level| {
            let link = cluster.machine.link(level);
            let limit = link.and_then(|link| link.eager_limit);
            limit.is_some_and(|limit| bytes <= limit)
        })
    }

    pub(crate) fn cells(&self) -> Vec<String> {
        let mut cells = vec![
            length(self.elements),
            self.id.to_owned(),
            self.fixed.blocks.to_string(),
            microseconds(self.fixed.seconds),
            self.lemma.blocks.to_string(),
            self.elements.div_ceil(self.lemma.blocks.into()).to_string(),
            microseconds(self.lemma.seconds),
            factor(self.gain()),
            self.expected.map_or("-".to_owned(), factor),
        ];
        if let Some(found) = self.found {
            cells.extend([found.blocks.to_string(), microseconds(found.seconds)]);
        }
        cells
    }
}

/// The gain by the closed form, with the rates between nodes.
fn expected(cluster: &Cluster, lemma: Entry, elements: u64) -> Option<f64> {
    let rates = cluster.machine.rates(Level::Network)?;
    let seconds = |blocks| {
        let call = Call {
            ranks: cluster.ranks(),
            bytes: elements * ELEMENT_BYTES,
            unit_bytes: ELEMENT_BYTES,
            parameters: Parameters {
                blocks,
                ..Parameters::default()
            },
            ..Call::default()
        };
        predict(lemma.algorithm, rates, &call).map(|prediction| prediction.seconds)
    };
    Some(seconds(Some(FIXED))? / seconds(lemma.parameters.blocks)?)
}

const HEADER: [&str; 11] = [
    "vector",
    "algorithm",
    "fixed: blocks",
    "us",
    "lemma: blocks",
    "elements each",
    "us",
    "gain",
    "closed form",
    "best found: blocks",
    "us",
];

/// The table on the paper's 288 ranks.
pub(crate) fn on_hydra() -> Fallible<Vec<Row>> {
    let cluster = Cluster::new(&hydra()?, 36, 8);
    rows(&ELEMENTS, |id, elements| {
        Row::searched(&cluster, id, elements)
    })
}

fn rows(elements: &[u64], row: impl Fn(&'static str, u64) -> Fallible<Row>) -> Fallible<Vec<Row>> {
    let pairs = elements
        .iter()
        .flat_map(|elements| PIPELINED.map(|id| (id, *elements)));
    pairs.map(|(id, number)| row(id, number)).collect()
}

fn table(header: &[&str], rows: &[Row]) -> Table {
    let mut table = Table::new(2, header);
    rows.iter().for_each(|row| table.row(row.cells()));
    table
}

/// The lengths that are too long to simulate on many ranks.
fn closed_forms(many: &Cluster) -> Fallible<Table> {
    let mut table = Table::new(2, &["vector", "algorithm", "lemma: blocks", "closed form"]);
    for elements in ELEMENTS.into_iter().filter(|n| *n > LONGEST_ON_MANY) {
        for id in PIPELINED {
            let lemma = with_lemma(many, entry(id)?, elements)?;
            let blocks = match lemma.parameters.blocks {
                Some(blocks) => blocks.block_count(elements).to_string(),
                None => "-".to_owned(),
            };
            let gain = expected(many, lemma, elements).map_or("-".to_owned(), factor);
            table.row(vec![length(elements), id.to_owned(), blocks, gain]);
        }
    }
    Ok(table)
}

fn place(row: &Row) -> String {
    format!("{} of {}", row.id, length(row.elements))
}

pub(crate) fn answer() -> Fallible<Answer> {
    let (few, paper) = (on_hydra()?, Cluster::new(&hydra()?, 36, 8));
    let many = Cluster::new(&hydra()?, 12_500, 8);
    let lengths: Vec<_> = ELEMENTS
        .into_iter()
        .filter(|n| *n <= LONGEST_ON_MANY)
        .collect();
    let large = rows(&lengths, |id, elements| Row::new(&many, id, elements))?;
    let extremes = |rows: &[Row]| -> Fallible<(Row, Row)> {
        let [low, high] = [least(rows, Row::gain), greatest(rows, Row::gain)];
        Ok((*low.ok_or("no rows")?, *high.ok_or("no rows")?))
    };
    let ((low, high), (low_many, high_many)) = (extremes(&few)?, extremes(&large)?);
    let missed = greatest(&few, Row::missed).ok_or("no rows")?;
    let off: Vec<_> = few.iter().filter(|row| row.missed() > 0.01).collect();
    let ranks = count(many.ranks());
    let summary = format!(
        "The lemma's block is up to {} times as fast as the fixed one on 288 ranks ({}), and up to {} \
         times on {ranks} ranks ({}).",
        factor(high.gain()),
        place(&high),
        factor(high_many.gain()),
        place(&high_many)
    );
    let sentences = format!(
        "On 288 ranks the fixed block takes {} times the lemma's time where it is worst ({}), and {} \
         times where it is best ({}); on {ranks} ranks {} times ({}) and {} times ({}). Looking for \
         better blocks by simulation, around the lemma's, helps most with {}, where the lemma's blocks \
         take {} longer than the best ones found. They take over 1 % longer in {} of {} rows; in {} of \
         these the better blocks are eager on all levels, of which the lemma knows nothing.",
        factor(high.gain()),
        place(&high),
        factor(low.gain()),
        place(&low),
        factor(high_many.gain()),
        place(&high_many),
        factor(low_many.gain()),
        place(&low_many),
        place(missed),
        percent(missed.missed()),
        off.len(),
        few.len(),
        off.iter().filter(|row| row.is_eager(&paper)).count()
    );
    let body = format!(
        "The fixed block has 16 000 elements, 64 000 bytes; the lemma takes alpha and beta between \
         nodes. *gain* is the fixed block's time divided by the lemma's, *closed form* what the lemma \
         itself expects of it: one level, no eager messages. The best block was looked for from a \
         quarter to eight times the lemma's number of blocks, in steps of the square root of two.\n\n\
         36 nodes of 8 ranks:\n\n{}\n\
         12 500 nodes of 8 ranks, up to what takes a minute to simulate:\n\n{}\n\
         Longer vectors on 12 500 nodes of 8 ranks, by the closed form alone:\n\n{}",
        table(&HEADER, &few),
        table(&HEADER[..9], &large),
        closed_forms(&many)?
    );
    Ok(Answer {
        question: "What does the best block gain over the fixed one?",
        summary,
        sentences,
        body,
    })
}
