//! Why two roots gain what they gain, in words.

use model::Rates;
use schedule::PipelineCost;

use super::gain::{BLOCK, Gain, LONG, Pipeline, SEVERAL, gains, rates, residuals, steady};
use super::markdown::{microseconds, percent, table};
use super::{ELEMENT_BYTES, Fallible, Row};

/// Counts of which the gain is shown.
const SHOWN: [u64; 10] = [
    1, 250, 2500, 25_000, 87_500, 250_000, 875_000, 1_500_000, 2_500_000, 8_388_608,
];

pub(crate) fn section(rows: &[Row]) -> Fallible<String> {
    let (rates, gains) = (rates(rows)?, gains(rows)?);
    let [first, .., last] = &gains[..] else {
        return Err("no rows".into());
    };
    let parts = [
        format!(
            "## 4. Why two roots gain {:.2}, and not 1.33\n",
            last.measured
        ),
        forms(rates, &gains)?,
        long(rates, last)?,
        blocks(&gains, last)?,
        short(rows, first)?,
        figures(&gains),
        "[pipelines.md](pipelines.md) has more by simulation, with two levels.\n".to_owned(),
    ];
    Ok(parts.join("\n"))
}

/// What is fitted to what.
fn forms(rates: Rates, gains: &[Gain]) -> Fallible<String> {
    let [one, two] = Pipeline::both()?;
    let cost = |pipeline: Pipeline| -> Fallible<String> {
        let PipelineCost { c2, g2, .. } = pipeline.lemma()?;
        Ok(format!("{c2} (alpha + beta B) + {g2} gamma B"))
    };
    let [error_one, error_two] = residuals(gains).map(percent);
    Ok(format!(
        "By the pipelining lemma with the registry's constants for 288 ranks, each further block of B bytes \
         costs one tree {}, and two roots {}: two roots save a message and combine once more. One machine of \
         one level is fitted to the closed forms of both: alpha {} us, beta {:.3} ns/B, gamma {:.3} ns/B. alpha \
         is that of the shortest vectors, since one size of block does not tell it from beta; these two \
         follow from the vectors of {LONG} elements and more, whose pipelines are full. Where vectors have \
         several blocks, the median errors are {error_one} (one tree) and {error_two} (two roots).\n",
        cost(one)?,
        cost(two)?,
        microseconds(rates.alpha),
        rates.beta * 1e9,
        rates.gamma.ok_or("no gamma")? * 1e9,
    ))
}

/// What is expected of long vectors.
fn long(rates: Rates, last: &Gain) -> Fallible<String> {
    let [one, two] = Pipeline::both()?;
    let ratio = |rates: Rates| -> Fallible<f64> {
        let bytes = (BLOCK * ELEMENT_BYTES) as f64;
        Ok(steady(one, rates, bytes)? / steady(two, rates, bytes)?)
    };
    let free = Rates {
        gamma: Some(0.0),
        ..rates
    };
    let share = rates.gamma.ok_or("no gamma")? / rates.beta;
    Ok(format!(
        "**Long vectors.** Combining a byte takes {share:.2} times as long as sending it. If it took no time, \
         two roots would gain {:.2}; if it took as long as sending with its start-up, nothing. With this \
         gamma and blocks of 16 000 elements {:.2} is expected of a pipeline that is full, {:.2} of the \
         longest vector with all its blocks; {:.2} was measured.\n",
        ratio(free)?,
        ratio(rates)?,
        last.fixed,
        last.measured,
    ))
}

/// What better blocks would give.
fn blocks(gains: &[Gain], last: &Gain) -> Fallible<String> {
    let of = |elements: u64| -> Fallible<&Gain> {
        let mut found = gains.iter().filter(|gain| gain.elements == elements);
        Ok(found.next().ok_or("no such count")?)
    };
    let (short, middling) = (of(SEVERAL)?, of(LONG)?);
    Ok(format!(
        "**The best blocks** shorten both alike, so that the gain stays about what it is: {:.2} of the longest \
         vector. There 16 000 elements are nearly best: {:.2} times as fast with the best. For shorter \
         vectors they are too large, which leaves the pipeline empty: with {} elements best blocks are \
         expected to make two roots {:.2} times as fast, with {} elements {:.2} times.\n",
        last.best,
        last.by_blocks[1],
        middling.elements,
        middling.by_blocks[1],
        short.elements,
        short.by_blocks[1],
    ))
}

/// What the closed forms do not explain.
fn short(rows: &[Row], first: &Gain) -> Fallible<String> {
    let row = rows.iter().find(|row| row.elements == first.elements);
    let row = row.ok_or("no such count")?;
    let step = |pipeline: Pipeline| -> Fallible<String> {
        let PipelineCost { c1, c2, .. } = pipeline.lemma()?;
        let seconds = pipeline.measured(row) / (c1 + c2) as f64;
        Ok(format!(
            "{} us for each of its {} steps",
            microseconds(seconds),
            c1 + c2
        ))
    };
    let [one, two] = Pipeline::both()?;
    Ok(format!(
        "**What the model does not explain.** With one element one tree is faster, gain {:.2}, where {:.2} is \
         expected: it takes {}, two roots {}. Those of two roots are exchanges; that a short message in both \
         directions costs more than one in one direction would explain it, but one alpha cannot say so. \
         From 87 500 to 250 000 elements two roots gain a few percent more than expected.\n",
        first.measured,
        first.fixed,
        step(one)?,
        step(two)?,
    ))
}

fn figures(gains: &[Gain]) -> String {
    let header = [
        "elements",
        "gain measured",
        "expected",
        "with best blocks",
        "best block: one tree",
        "two roots",
        "faster by it: one tree",
        "two roots",
        "measured/expected: one tree",
        "two roots",
    ];
    let cells = |gain: &Gain| {
        let ratio = |value: f64| format!("{value:.2}");
        let mut cells = vec![gain.elements.to_string()];
        cells.extend([gain.measured, gain.fixed, gain.best].map(ratio));
        cells.extend(gain.blocks.map(|elements| elements.to_string()));
        cells.extend(gain.by_blocks.map(ratio));
        cells.extend(gain.errors.map(ratio));
        cells
    };
    let shown = gains.iter().filter(|gain| SHOWN.contains(&gain.elements));
    table(&header, &shown.map(cells).collect::<Vec<_>>())
}
