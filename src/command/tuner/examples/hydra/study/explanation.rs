//! An explanation of the gain of two roots.

use model::Rates;
use schedule::PipelineCost;

use super::gain::{
    BLOCK, Explanation, Factors, Gain, LONG, Pipeline, SEVERAL, gains, rates, residuals, steady,
};
use super::markdown::{microseconds, percent, table};
use super::{ELEMENT_BYTES, Fallible, Row};

/// Counts at which the gain is shown.
const SHOWN: [u64; 10] = [
    1, 250, 2500, 25_000, 87_500, 250_000, 875_000, 1_500_000, 2_500_000, 8_388_608,
];

pub(crate) fn section(rows: &[Row]) -> Fallible<String> {
    let (rates, gains) = (rates(rows, Factors::FREE)?, gains(rows)?);
    let [first, .., last] = &gains[..] else {
        return Err("no rows".into());
    };
    let parts = [
        format!(
            "## 4. Why two roots gain {:.2}, and not 1.33\n",
            last.measured
        ),
        forms()?,
        explanations(rows, first, last)?,
        short(rows, first)?,
        "### If both directions are free\n".to_owned(),
        fitted(rates, &gains)?,
        blocks(&gains, last)?,
        figures(&gains),
        "[pipelines.md](pipelines.md) has more by simulation, with two levels.\n".to_owned(),
    ];
    Ok(parts.join("\n"))
}

/// The costs of a block.
fn forms() -> Fallible<String> {
    let [one, two] = Pipeline::both()?;
    let cost = |pipeline: Pipeline| -> Fallible<String> {
        let PipelineCost { c2, g2, .. } = pipeline.lemma()?;
        Ok(format!("{c2} (alpha + beta B) + {g2} gamma B"))
    };
    let measured = Factors::of_virtual_cluster()?;
    Ok(format!(
        "By the pipelining lemma with the registry's constants for 288 ranks, each further block of B bytes \
         costs one tree {}, and two roots {}: two roots save a step and combine once more. The lemma counts a step \
         in which a rank sends and receives as one message. Half of the steps of one tree are of that kind: \
         *shifts*, in which a rank receives from a child and sends to its parent, or the other way. All steps of two \
         roots are *exchanges* with one partner. If a shift takes s times as long as a message in one direction, \
         an exchange e times, and combining no time, two roots gain 2 (1 + s) / (3 e). The paper assumes s = e = 1, \
         which makes it {:.2}. The two factors need not be alike: between the hosts of the virtual cluster \
         ([dual-root.md](dual-root.md)) s = {:.2} and e = {:.2} were measured, which would make it {:.2}.\n",
        cost(one)?,
        cost(two)?,
        Factors::FREE.gain(),
        measured.shift,
        measured.exchange,
        measured.gain(),
    ))
}

/// The explanations that are consistent with the long vectors.
fn explanations(rows: &[Row], first: &Gain, last: &Gain) -> Fallible<String> {
    let alike = Explanation::without_combining(rows, Factors::alike)?;
    let exchanges = Explanation::without_combining(rows, |exchange| Factors {
        exchange,
        ..Factors::FREE
    })?;
    let virtual_cluster = Explanation::new(rows, Factors::of_virtual_cluster()?)?;
    let by_one_element = Factors::alike(first.fixed / first.measured);
    let all = [
        Explanation::new(rows, Factors::FREE)?,
        exchanges,
        Explanation::new(rows, by_one_element)?,
        alike,
        virtual_cluster,
    ];
    let cells = |of: &Explanation| {
        let ratio = |value: f64| format!("{value:.2}");
        let mut cells = vec![
            ratio(of.factors.shift),
            ratio(of.factors.exchange),
            format!("{:.3}", of.rates.beta * 1e9),
            ratio(of.combining().abs()),
            ratio(of.gain),
        ];
        cells.extend(of.errors.map(percent));
        cells
    };
    let header = [
        "s",
        "e",
        "beta ns/B",
        "gamma/beta",
        "gain expected",
        "error: one tree",
        "two roots",
    ];
    let [free, ..] = all;
    Ok(format!(
        "**Long vectors** gain {:.2}. Several things explain that equally well: combining a byte takes {:.2} \
         times as long as sending it; or an exchange takes {:.2} times as long as a message in one direction, and a \
         shift no longer; or both take {:.2} times as long; or they take what they take between the hosts of the \
         virtual cluster, and combining {:.2} times as long as sending. For each s and e of the table beta and gamma are \
         fitted to the vectors of {LONG} elements and more, whose pipelines are full; the errors are medians over these \
         same vectors (in sample). They hardly differ: the data identify neither gamma nor the two factors, and nothing \
         here says why two roots gain {:.2}. What would: the times of exchanges, shifts, messages and combining on that \
         machine.\n\n{}",
        last.measured,
        free.combining(),
        exchanges.factors.exchange,
        alike.factors.exchange,
        virtual_cluster.combining(),
        last.measured,
        table(&header, &all.iter().map(cells).collect::<Vec<_>>()),
    ))
}

/// The fitted parameters, and the gain that they predict for long vectors.
fn fitted(rates: Rates, gains: &[Gain]) -> Fallible<String> {
    let [one, two] = Pipeline::both()?;
    let ratio = |fitted_rates: Rates| -> Fallible<f64> {
        let bytes = (BLOCK * ELEMENT_BYTES) as f64;
        Ok(steady(one, fitted_rates, bytes)? / steady(two, fitted_rates, bytes)?)
    };
    let [error_one, error_two] = residuals(gains).map(percent);
    Ok(format!(
        "With s = e = 1, one machine of one level is fitted to the closed forms of both: alpha {} us, beta {:.3} \
         ns/B, gamma {:.3} ns/B. alpha is that of the shortest vectors, since one size of block does not tell it \
         from beta. Where vectors have several blocks, the median errors are {error_one} (one tree) and {error_two} \
         (two roots), in sample. A full pipeline with blocks of 16 000 elements is then expected to gain {:.2}. The \
         best blocks and the figures below rest on this explanation.\n",
        microseconds(rates.alpha),
        rates.beta * 1e9,
        rates.gamma.ok_or("no gamma")? * 1e9,
        ratio(rates)?,
    ))
}

/// The effect of better blocks.
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

/// The parts that the closed forms do not explain.
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
        "**One element** gains {:.2}, where {:.2} is expected by the number of steps: one tree takes {}, two \
         roots {}. If the steps of two roots are exchanges here too, with nothing in one of the directions, a short \
         exchange takes {:.2} times as long as a message, the third row of the table. From 87 500 to 250 000 \
         elements two roots gain a few percent more than any row expects.\n",
        first.measured,
        first.fixed,
        step(one)?,
        step(two)?,
        first.fixed / first.measured,
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
